package cli

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/sojourn-sched/sojourn/trace"
)

// A spool is a temporary file.
type spool struct{ *os.File }

// newSpool returns an empty one in a folder, "" for that of temporary files.
func newSpool(dir string) (*spool, error) {
	file, err := os.CreateTemp(dir, "sojourn-*")
	if err != nil {
		return nil, fmt.Errorf("a temporary file in %s: %w", cmp.Or(dir, os.TempDir()), cause(err))
	}
	os.Remove(file.Name()) // where an open file can be removed, nothing stays behind whatever happens
	return &spool{file}, nil
}

// Write writes to the file. Its name, which nobody knows, is not in errors.
func (s *spool) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if err != nil {
		err = fmt.Errorf("a temporary file in %s: %w", filepath.Dir(s.Name()), cause(err))
	}
	return n, err
}

// spooled writes jobs to a temporary file, and has m see them.
func spooled(jobs iter.Seq2[*sim.Job, error], o trace.WriteOptions, m *meter) (*spool, error) {
	s, err := newSpool("")
	if err != nil {
		return nil, err
	}
	if err := s.fill(jobs, o, m); err != nil {
		s.remove()
		return nil, err
	}
	return s, nil
}

// fill writes the jobs, and goes back to the beginning.
func (s *spool) fill(jobs iter.Seq2[*sim.Job, error], o trace.WriteOptions, m *meter) error {
	buf := bufio.NewWriterSize(s, 1<<16)
	w := trace.NewWriter(buf, o)
	for j, err := range jobs {
		if err != nil {
			return err
		}
		m.add(j)
		if err := w.Write(j); err != nil {
			return err
		}
	}
	if err := buf.Flush(); err != nil {
		return err
	}
	_, err := s.Seek(0, io.SeekStart)
	return err
}

// remove removes the file.
func (s *spool) remove() error {
	err := s.Close()
	os.Remove(s.Name()) // where it could not be removed before
	return err
}

// scaled returns the jobs, scaled. The nodes are numbered as h does.
func (s *spool) scaled(h *hosts, scale scaling) iter.Seq2[*sim.Job, error] {
	return func(yield func(*sim.Job, error) bool) {
		o := trace.ReadOptions{File: s.Name(), Nodes: func(name string) sojourn.NodeID { return h.ids[name] }}
		for j, err := range trace.Read(s, o) {
			if err == nil {
				err = scale(j)
			}
			if !yield(j, err) || err != nil {
				return
			}
		}
	}
}
