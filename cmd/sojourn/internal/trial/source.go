package trial

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/journal"
)

// A Source is a history that can be read more than once: a file, stdin, or the folder of a journal.
type Source struct {
	Name string // in messages
	open func() (io.Reader, error)
	dir  string // of a journal
}

// OpenSource finds a history. "-" is stdin, which is kept in memory.
func OpenSource(stdin io.Reader, name string) (*Source, error) {
	if name == "-" {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return nil, fmt.Errorf("stdin: %w", files.Cause(err))
		}
		return &Source{Name: "stdin", open: func() (io.Reader, error) { return bytes.NewReader(data), nil }}, nil
	}
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		s, err := OpenJournal(name)
		if err == nil {
			return &Source{Name: name, dir: name}, s.Close()
		}
		if !errors.Is(err, errNoJournal) {
			return nil, err
		}
	}
	file, err := files.Open(name) // it says what is wrong
	if err != nil {
		return nil, err
	}
	return &Source{Name: name, open: func() (io.Reader, error) { return files.Open(name) }}, file.Close()
}

var errNoJournal = errors.New("there is no segment of a journal in this folder")

// OpenJournal opens the folder of a journal for reading.
func OpenJournal(dir string) (journal.Store, error) {
	s, err := journal.ReadFiles(dir)
	if err != nil {
		return nil, err
	}
	list, err := s.Segments()
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%s: %w", dir, errNoJournal)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Entries reads the history, and checks that it is possible. What is bad in it is a
// [trace.Error].
func (s *Source) Entries() iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		for e, err := range s.entries() {
			if !yield(e, badHistory(err)) {
				return
			}
		}
	}
}

// entries reads the history, and checks that it is possible.
func (s *Source) entries() iter.Seq2[history.Entry, error] {
	return func(yield func(history.Entry, error) bool) {
		var list iter.Seq2[history.Entry, error]
		if s.dir != "" {
			store, err := OpenJournal(s.dir)
			if err != nil {
				yield(history.Entry{}, err)
				return
			}
			defer store.Close()
			list = journal.History(store)
		} else {
			r, err := s.open()
			if err != nil {
				yield(history.Entry{}, err)
				return
			}
			if c, ok := r.(io.Closer); ok {
				defer c.Close()
			}
			list = history.Read(r, s.Name)
		}
		history.Check(list)(yield)
	}
}
