package files

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
)

// A Spool is a temporary file.
type Spool struct{ *os.File }

// NewSpool returns an empty one in a folder, "" for that of temporary files.
func NewSpool(dir string) (*Spool, error) {
	file, err := os.CreateTemp(dir, "sojourn-*")
	if err != nil {
		return nil, fmt.Errorf("a temporary file in %s: %w", cmp.Or(dir, os.TempDir()), Cause(err))
	}
	os.Remove(file.Name()) // where an open file can be removed, nothing stays behind whatever happens
	return &Spool{file}, nil
}

// Write writes to the file. Its name, which nobody knows, is not in errors.
func (s *Spool) Write(p []byte) (int, error) {
	n, err := s.File.Write(p)
	if err != nil {
		err = fmt.Errorf("a temporary file in %s: %w", filepath.Dir(s.Name()), Cause(err))
	}
	return n, err
}

// Remove removes the file.
func (s *Spool) Remove() error {
	err := s.Close()
	os.Remove(s.Name()) // where it could not be removed before
	return err
}
