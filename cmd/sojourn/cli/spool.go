package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
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

// remove removes the file.
func (s *spool) remove() error {
	err := s.Close()
	os.Remove(s.Name()) // where it could not be removed before
	return err
}
