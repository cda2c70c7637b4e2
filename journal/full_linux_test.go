package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// The disk is full: the journal says so and takes nothing more, and what was flushed is there when there is space again. It
// needs the right to mount a file system.
func TestDiskFull(t *testing.T) {
	dir := mountSmall(t)
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 128<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "journal")
	open := func() *Journal {
		s, err := OpenFiles(folder)
		if err != nil {
			t.Fatal(err)
		}
		j, err := Open(s, newFIFO(t), Options{})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	arrive := func(j *Journal, id sojourn.JobID) error {
		job := &sojourn.Job{ID: id, Name: strings.Repeat("n", 1000), Phases: []sojourn.Phase{{Tasks: 1}}}
		err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		if err != nil {
			return err
		}
		return j.Flush()
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	j := open()
	var kept sojourn.JobID
	var err error
	for err == nil && kept < 1000 {
		if err = arrive(j, kept+1); err == nil {
			kept++
		}
	}
	if kept == 0 || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "open the journal again") {
		t.Fatalf("after %d jobs: %v, want no space and what to do", kept, err)
	}
	if err := arrive(j, kept+2); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("the next job: %v, want no space", err)
	}
	if err := j.Close(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	j = open()
	if got := j.MaxJob(); got != kept && got != kept+1 { // the one that did not fit may have been written in full
		t.Errorf("%d jobs are there, want %d", got, kept)
	}
	if err := arrive(j, kept+2); err != nil {
		t.Errorf("with space: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// With Retry the journal goes on by itself when there is space again, and takes none meanwhile.
func TestDiskFullForAWhile(t *testing.T) {
	dir := mountSmall(t)
	ballast, folder := filepath.Join(dir, "ballast"), filepath.Join(dir, "journal")
	if err := os.WriteFile(ballast, make([]byte, 160<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func() *Journal {
		s, err := OpenFiles(folder)
		if err != nil {
			t.Fatal(err)
		}
		j, err := Open(s, newFIFO(t), Options{Retry: true})
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	j := open()
	last := sojourn.JobID(0)
	arrive := func() error {
		last++
		if err := j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: last, Name: strings.Repeat("n", 1000), Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Fatal(err)
		}
		return j.Flush()
	}
	for arrive() == nil && last < 1000 {
	}
	for range 10 {
		if err := arrive(); !goesOn(j, err) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("at the full disk: %v", err)
		}
		if _, err := os.Stat(filepath.Join(folder, temporary)); err == nil {
			t.Fatal("a file that could not be written is left")
		}
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if err := arrive(); err != nil {
		t.Errorf("with space: %v", err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	j = open()
	if got := j.Account().Live(); got != int(last) {
		t.Errorf("%d jobs are there, want %d", got, last)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// mountSmall returns the folder of a file system of 256 KiB.
func mountSmall(t *testing.T) string {
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=256k"); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("a small file system cannot be mounted: ", err)
		}
		t.Skip("a small file system cannot be mounted: ", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// A journal that this process may not write to is not opened, and its folder is named. It can be read.
func TestReadOnlyFolder(t *testing.T) {
	dir := mountSmall(t)
	folder := filepath.Join(dir, "journal")
	s, err := OpenFiles(folder)
	if err != nil {
		t.Fatal(err)
	}
	j, err := Open(s, newFIFO(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("", dir, "", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(dir, "another")} {
		if _, err := OpenFiles(path); !errors.Is(err, syscall.EROFS) || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "may write to") {
			t.Errorf("OpenFiles: %v, want that %s may not be written to", err, path)
		}
	}
	if s, err = ReadFiles(folder); err != nil {
		t.Fatal(err)
	}
	for i, err := range Inspect(s) {
		if err != nil || i.Bytes == 0 {
			t.Errorf("Inspect: %+v, %v", i, err)
		}
	}
}
