package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
)

// A Cell is a run: a policy on a trace, at a load, with what is told of sizes.
type Cell struct {
	Trace     string `json:"trace"`
	Load      string `json:"load"` // a number, or Recorded
	Estimates string `json:"estimates"`
	Policy    string `json:"policy"`
}

// What a load and estimates are besides what --load and --estimates take.
const (
	Recorded  = "recorded"  // the load that the trace has
	Requested = "requested" // the estimates are what users requested
)

// A Record is a cell that is done.
type Record struct {
	Cell
	Inputs  string          `json:"inputs"`            // the sum of the workload, the cluster, the seed, and the files that they or the policy name
	Version string          `json:"version"`           // of the command
	Refused string          `json:"refused,omitempty"` // why the policy cannot run the workload, with what it says
	Result  *report.Summary `json:"result,omitempty"`
}

// A stored is a record as it was read.
type stored struct {
	Cell
	Inputs, Version, Refused string
	Result                   json.RawMessage
}

// A Book keeps records in a file, a line each, as they are made. Its methods may be called by several goroutines.
type Book struct {
	version string

	mu   sync.Mutex
	file records
	size int64 // of the records that are whole
	done map[Cell]stored
}

// records is a file.
type records interface {
	io.WriteCloser
	Truncate(size int64) error
}

// Records is the file of a book.
const Records = "records.jsonl"

// Open opens the book of a folder, and makes both if need be. What a run that was killed has written in part is dropped, and so are records of
// another version of the command. A folder in which another program works is an error.
func Open(dir, version string) (*Book, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	b := &Book{version: version, done: map[Cell]stored{}}
	path := filepath.Join(dir, Records)
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, usage.Errorf("%s is not a file, as records of runs are", format.Visible(path))
	}
	if errors.Is(err, fs.ErrNotExist) {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		if len(entries) > 0 {
			return nil, usage.Errorf("folder %s is not empty, and has no %s of an earlier run", format.Visible(dir), Records)
		}
	} else if err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o666)
	if err != nil {
		return nil, err
	}
	if b.file = file; locked(file) {
		return nil, errors.Join(usage.Errorf("folder %s: another program works in it: wait until it has ended, or take another folder", format.Visible(dir)), file.Close())
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(whole) {
		var r stored
		if json.Unmarshal(line, &r) == nil && r.Version == version {
			b.done[r.Cell] = r
		}
	}
	if b.size = int64(len(whole)); len(whole) < len(data) {
		if err := file.Truncate(b.size); err != nil {
			return nil, errors.Join(err, file.Close())
		}
	}
	return b, nil
}

// find returns the record of a cell that was run with the same inputs.
func (b *Book) find(c Cell, inputs string) (stored, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r, ok := b.done[c]
	return r, ok && r.Inputs == inputs
}

// Add enters a record. What a full disk has let be written of it is taken back, so that the next one is whole.
func (b *Book) Add(r Record) error {
	r.Version = b.version
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var again stored
	if err := json.Unmarshal(line, &again); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	n, err := b.file.Write(append(line, '\n'))
	if err != nil {
		return errors.Join(err, b.file.Truncate(b.size))
	}
	b.size += int64(n)
	b.done[r.Cell] = again
	return nil
}

// Close closes the file.
func (b *Book) Close() error { return b.file.Close() }
