package bench

import (
	"bytes"
	"encoding/json"
	"errors"
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
	file *os.File
	done map[Cell]stored
}

// Records is the file of a book.
const Records = "records.jsonl"

// Open opens the book of a folder, and makes both if need be. What a run that was killed has written in part is dropped, and so are records of
// another version of the command.
func Open(dir, version string) (*Book, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	b := &Book{version: version, done: map[Cell]stored{}}
	path := filepath.Join(dir, Records)
	data, err := os.ReadFile(path)
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
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	for line := range bytes.Lines(whole) {
		var r stored
		if json.Unmarshal(line, &r) == nil && r.Version == version {
			b.done[r.Cell] = r
		}
	}
	if b.file, err = os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o666); err != nil {
		return nil, err
	}
	if len(whole) < len(data) {
		return b, b.file.Truncate(int64(len(whole)))
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

// Add enters a record.
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
	b.done[r.Cell] = again
	_, err = b.file.Write(append(line, '\n'))
	return err
}

// Close closes the file.
func (b *Book) Close() error { return b.file.Close() }
