package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
)

// The files of a run.
const (
	Jobs    = "jobs.csv"
	Tasks   = "tasks.csv"
	History = "history.txt"
	Run     = "run.json"
	Plan    = "plan.json"
	Seeds   = "seeds.json"
	Sweep   = "sweep.json"
	Report  = "report.html"
	Batsim  = "batsim.csv"
)

// outputFiles are all of them.
var outputFiles = []string{Jobs, Tasks, History, Run, Plan, Seeds, Sweep, Report, Batsim}

// A Folder is a folder for output files.
type Folder struct {
	Dir   string
	Force bool // what an earlier run wrote is replaced
}

// Check returns an error if the folder is in use: if it is not empty, or with --force,
// if it has anything that no run wrote.
func (f *Folder) Check() error {
	if f.Dir == "" {
		return nil
	}
	entries, err := os.ReadDir(f.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !f.Force {
			return fmt.Errorf("folder %s is not empty; --force replaces what an earlier run wrote there", f.Dir)
		}
		if foreign := foreignEntry(f.Dir, e); foreign != "" {
			return fmt.Errorf("folder %s holds %s, which no run of sojourn wrote; choose another folder", f.Dir, foreign)
		}
	}
	return nil
}

// foreignEntry returns the path within dir of an entry that no run wrote: e itself, or
// something in it; "" if a run wrote all of it.
func foreignEntry(dir string, e fs.DirEntry) string {
	if !e.IsDir() {
		if e.Type().IsRegular() && slices.Contains(outputFiles, e.Name()) {
			return ""
		}
		return e.Name()
	}
	entries, err := os.ReadDir(filepath.Join(dir, e.Name()))
	if err != nil {
		return e.Name()
	}
	if !slices.ContainsFunc(entries, func(in fs.DirEntry) bool { return in.Name() == Run }) {
		return e.Name()
	}
	for _, in := range entries { // a run of one policy makes no folders
		if in.IsDir() || foreignEntry("", in) != "" {
			return filepath.Join(e.Name(), in.Name())
		}
	}
	return ""
}

// An Output is a folder in the making. It is written beside its place under
// another name, so that what is in its place is always complete.
type Output struct {
	to   *Folder
	dir  string // its place
	Temp string // where it is until commit, "" after that
}

// Create starts an output.
func (f *Folder) Create() (*Output, error) {
	dir, err := filepath.Abs(f.Dir) // "." has to be renamed by its name
	if err != nil {
		return nil, err
	}
	parent, base := filepath.Dir(dir), filepath.Base(dir)
	if parent == dir {
		return nil, usage.Errorf("-o %s: a file system cannot be replaced", f.Dir)
	}
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(parent, "."+base+"-*")
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", f.Dir, Cause(err))
	}
	begin(temp)
	return &Output{f, dir, temp}, os.Chmod(temp, 0o755)
}

// Commit moves the output to its place, unless the place has come into use meanwhile.
func (o *Output) Commit() error {
	if err := o.to.Check(); err != nil {
		return err
	}
	unfinished.Lock()
	defer unfinished.Unlock()
	old := o.Temp + "-old"
	err := os.Rename(o.dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(o.Temp, o.dir); err != nil {
		return errors.Join(err, os.Rename(old, o.dir))
	}
	delete(unfinished.names, o.Temp)
	o.Temp = ""
	return os.RemoveAll(old)
}

// Failed returns an error of writing the output, with the intended place of the file.
func (o *Output) Failed(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		if rest, within := strings.CutPrefix(path.Path, o.Temp); within {
			return fmt.Errorf("%s: %w", filepath.Join(o.to.Dir, rest), path.Err)
		}
	}
	return err
}

// Abandon removes the output unless it is in its place.
func (o *Output) Abandon() {
	if o.Temp != "" {
		end(o.Temp)
	}
}
