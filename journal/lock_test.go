package journal_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/sojourn-sched/sojourn/journal"
)

// A folder that a process has open is not opened by another one, whatever it is called and whoever removes the file that says so; a
// copy of it is another journal. When the process is killed, the next one has the folder at once.
func TestLock(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.Command(exe)
	child.Env = append(os.Environ(), childFolder+"="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = child.Process.Kill() }()
	if _, err := io.ReadFull(out, make([]byte, 4)); err != nil { // it has it open
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	folder, link := filepath.Join(dir, "journal"), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Skip("this user or file system can make no symbolic links: ", err)
	}
	for _, path := range []string{folder, link, link + "/../" + filepath.Base(link), folder + "/."} {
		if _, err := journal.OpenFiles(path); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("%s: %v, want that it is in use", path, err)
		}
	}
	if err := os.Remove(filepath.Join(folder, "lock")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := journal.OpenFiles(link); !errors.Is(err, journal.ErrLocked) {
			t.Errorf("without the file lock: %v, want that the folder is in use", err)
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{link, filepath.Join(copied, "journal")} {
		s, err := journal.OpenFiles(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		defer s.Close() // the copy is opened beside it
	}
}
