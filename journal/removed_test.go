package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// The file that is written is removed, or replaced, as by who tidies /tmp or brings a folder back from a copy: who waits is told, since the next process would not find
// what was written. With Retry the file is then written anew, and nothing is lost.
func TestRemovedFile(t *testing.T) {
	for what, harm := range map[string]func(name string) error{
		"removed": os.Remove,
		"renamed": func(name string) error { return os.Rename(name, name+".old") },
		"replaced by a copy": func(name string) error {
			data, err := os.ReadFile(name)
			return errors.Join(err, os.WriteFile(name+".new", data, 0o600), os.Rename(name+".new", name))
		},
		"replaced by less": func(name string) error {
			return errors.Join(os.WriteFile(name+".new", []byte(firstLine), 0o600), os.Rename(name+".new", name))
		},
		"removed, with all others": func(name string) error {
			list, err := filepath.Glob(filepath.Join(filepath.Dir(name), "*"))
			for _, name := range list {
				err = errors.Join(err, os.Remove(name))
			}
			return err
		},
	} {
		for _, retry := range []bool{false, true} {
			s := folderStore(t)
			j := opened(t, s, newFIFO(t), Options{Retry: retry})
			worked(t, j.Keep("before", []byte("x")))
			worked(t, j.Flush())
			worked(t, harm(s.Name(1)))
			worked(t, j.Keep("after", []byte("y")))
			if err := j.Flush(); err == nil || goesOn(j, err) != retry || !strings.Contains(err.Error(), s.Name(1)+" was removed, or replaced") {
				t.Errorf("%s, Retry %t: %v", what, retry, err)
			}
			if !retry {
				_ = j.Close()
				continue
			}
			worked(t, j.Flush())
			want := all(j)
			worked(t, j.Close())
			again, err := OpenFiles(s.(*files).dir)
			worked(t, err)
			j = opened(t, again, newFIFO(t), Options{})
			if got := all(j); got != want {
				t.Errorf("%s: the next process has\n%s\nwant\n%s", what, got, want)
			}
			worked(t, j.Close())
		}
	}
}

// A process that goes to another folder still has its journal, which it opened by a path from the folder where it was.
func TestAnotherWorkingFolder(t *testing.T) {
	for _, open := range []func(string) (Store, error){OpenFiles, FollowFiles} {
		dir := t.TempDir()
		t.Chdir(dir)
		s, err := open("journal")
		worked(t, err)
		j := opened(t, s, newFIFO(t), Options{Retry: true, SnapshotBytes: 1})
		t.Chdir(t.TempDir())
		for range 5 { // segments begin
			worked(t, j.Keep("k", []byte("x")))
			worked(t, j.Flush())
		}
		want := all(j)
		worked(t, j.Close())
		s, err = open(filepath.Join(dir, "journal"))
		worked(t, err)
		j = opened(t, s, newFIFO(t), Options{})
		if got := all(j); got != want {
			t.Errorf("it has\n%s\nwant\n%s", got, want)
		}
		worked(t, j.Close())
	}
}

// A folder is copied file by file while a process writes to it, in segments of which some have no state of their own: the copy opens, and has all that was durable
// when it was begun.
func TestCopyOfABusyFolder(t *testing.T) {
	another := func() (sojourn.Policy, error) { return newFIFO(nil), nil }
	for _, o := range []Options{{SnapshotBytes: 3000}, {SnapshotBytes: 3000, Another: another}, {SnapshotBytes: 3000, Keep: true}} {
		s := folderStore(t)
		j := opened(t, s, newFIFO(t), o)
		at := make(chan int, 1)
		at <- 0
		stop, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for n := 1; ; n++ {
				if err := errors.Join(j.Keep("n", make([]byte, n%100+1)), j.Keep("count", []byte(time.Duration(n).String())), j.Flush()); err != nil {
					t.Error(err)
					return
				}
				<-at
				at <- n
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
		for range 30 {
			least := <-at
			at <- least
			dir := t.TempDir()
			for tries := 0; ; tries++ {
				if tries == 10 {
					least = <-at // who writes waits from here on
				}
				err := os.CopyFS(dir, os.DirFS(s.(*files).dir))
				if err == nil {
					if tries >= 10 {
						at <- least
					}
					break
				}
				if tries == 100 || !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				dir = t.TempDir() // a file was removed while it was about to be copied: one copies again
			}
			c, err := OpenFiles(dir)
			worked(t, err)
			k, err := Open(c, newFIFO(t), Options{})
			if err != nil {
				t.Errorf("a copy does not open: %v", err)
				_ = c.Close()
				continue
			}
			n, err := time.ParseDuration(kept(k, "count"))
			if err != nil && least > 0 || int(n) < least {
				t.Errorf("the copy has %d records, want %d: %v", n, least, err)
			}
			worked(t, k.Close())
		}
		close(stop)
		<-ended
		worked(t, j.Close())
	}
}
