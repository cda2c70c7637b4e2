package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files of a run.
const (
	jobsFile    = "jobs.csv"
	tasksFile   = "tasks.csv"
	historyFile = "history.txt"
	runFile     = "run.json"
	planFile    = "plan.json"
)

// outputFiles are all of them.
var outputFiles = []string{jobsFile, tasksFile, historyFile, runFile, planFile}

// A folder is one that files go to.
type folder struct {
	dir   string
	force bool // what an earlier run wrote is replaced
}

// check returns an error if the folder is in use: if it holds anything, or with
// --force, anything that no run wrote.
func (f *folder) check() error {
	if f.dir == "" {
		return nil
	}
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !f.force {
			return fmt.Errorf("folder %s is not empty; --force replaces what an earlier run wrote there", f.dir)
		}
		if foreign := foreignEntry(f.dir, e); foreign != "" {
			return fmt.Errorf("folder %s holds %s, which no run of sojourn wrote; choose another folder", f.dir, foreign)
		}
	}
	return nil
}

// foreignEntry returns the path within dir of what is not the work of a run: e itself,
// or something in it; "" if all of it is.
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
	if !slices.ContainsFunc(entries, func(in fs.DirEntry) bool { return in.Name() == runFile }) {
		return e.Name()
	}
	for _, in := range entries { // a run of one policy makes no folders
		if in.IsDir() || foreignEntry("", in) != "" {
			return filepath.Join(e.Name(), in.Name())
		}
	}
	return ""
}

// An output is a folder in the making. It is written beside its place under
// another name, so that what is in its place is always complete.
type output struct {
	to   *folder
	dir  string // its place
	temp string // where it is until commit, "" after that
}

// create starts an output.
func (f *folder) create() (*output, error) {
	dir, err := filepath.Abs(f.dir) // "." has to be renamed by its name
	if err != nil {
		return nil, err
	}
	parent, base := filepath.Dir(dir), filepath.Base(dir)
	if parent == dir {
		return nil, usagef("-o %s: a file system cannot be replaced", f.dir)
	}
	if err := os.MkdirAll(parent, 0o777); err != nil {
		return nil, err
	}
	temp, err := os.MkdirTemp(parent, "."+base+"-*")
	if err != nil {
		return nil, fmt.Errorf("-o %s: %w", f.dir, cause(err))
	}
	return &output{f, dir, temp}, os.Chmod(temp, 0o755)
}

// commit moves the output to its place, unless that has come into use meanwhile.
func (o *output) commit() error {
	if err := o.to.check(); err != nil {
		return err
	}
	old := o.temp + "-old"
	err := os.Rename(o.dir, old)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(o.temp, o.dir); err != nil {
		return errors.Join(err, os.Rename(old, o.dir))
	}
	o.temp = ""
	return os.RemoveAll(old)
}

// failed returns an error of writing the output: what is wrong, with the place where
// the file would have come to lie.
func (o *output) failed(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		if rest, within := strings.CutPrefix(path.Path, o.temp); within {
			return fmt.Errorf("%s: %w", filepath.Join(o.to.dir, rest), path.Err)
		}
	}
	return err
}

// abandon removes the output unless it is in its place.
func (o *output) abandon() {
	if o.temp != "" {
		os.RemoveAll(o.temp)
	}
}
