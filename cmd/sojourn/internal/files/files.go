package files

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Open opens a file. A folder is an error.
func Open(name string) (*os.File, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	if info, err := file.Stat(); err == nil && info.IsDir() {
		file.Close()
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("this is a folder, not a file")}
	}
	return file, nil
}

// Cause returns the cause of an error without the path.
func Cause(err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return path.Err
	}
	return err
}

// Replace writes a file under another name beside its place, so that the file in its
// place is always complete. If there is something in its place that is not a regular
// file, Replace writes to it.
func Replace(name string, write func(io.Writer) error) (err error) {
	var file *os.File
	if info, missing := os.Lstat(name); missing == nil && !info.Mode().IsRegular() {
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	} else {
		file, err = os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+"-*")
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, Cause(err))
	}
	beside := file.Name() != name
	if beside {
		begin(file.Name())
		defer end(file.Name())
	}
	out := bufio.NewWriter(file)
	err = cmp.Or(write(out), out.Flush())
	if beside {
		err = cmp.Or(err, file.Chmod(0o644))
	}
	err = cmp.Or(err, file.Close())
	if beside && err == nil {
		unfinished.Lock()
		err = os.Rename(file.Name(), name)
		unfinished.Unlock()
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, Cause(err))
	}
	return nil
}

// OpenOrStdin opens a file, or stdin if name is "-", and returns with it the name that
// messages use.
func OpenOrStdin(stdin io.Reader, name string) (io.ReadCloser, string, error) {
	if name == "-" {
		return io.NopCloser(stdin), "stdin", nil
	}
	file, err := Open(name)
	return file, name, err
}
