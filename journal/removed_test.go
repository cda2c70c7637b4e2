package journal

import (
	"errors"
	"iter"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
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
			k, err := openCopy(t, dir)
			if errors.Is(err, ErrMissing) { // a segment began after the names were read
				cutAsTold(t, err)
				k, err = openCopy(t, dir)
			}
			if err != nil {
				t.Errorf("a copy does not open: %v", err)
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

func openCopy(t *testing.T, dir string) (*Journal, error) {
	t.Helper()
	s, err := OpenFiles(dir)
	worked(t, err)
	j, err := Open(s, newFIFO(t), Options{})
	if err != nil {
		_ = s.Close()
	}
	return j, err
}

// seconds iterates over the second values.
func seconds[A, B any](pairs iter.Seq2[A, B]) iter.Seq[B] {
	return func(yield func(B) bool) {
		for _, b := range pairs {
			if !yield(b) {
				return
			}
		}
	}
}

// cutAsTold does what an error says of a newest segment that is missing.
func cutAsTold(t *testing.T, err error) {
	t.Helper()
	m := regexp.MustCompile(`cut (.*) to (\d+) bytes to go on without it$`).FindStringSubmatch(err.Error())
	if m == nil {
		t.Fatalf("what to do is not said: %v", err)
	}
	n, _ := strconv.ParseInt(m[2], 10, 64)
	worked(t, os.Truncate(m[1], n))
}

// Segments begin between the moment at which the names of the files are read and the moment at which the last of them is copied. Open, Inspect and History say
// what to do, and the copy then has all that was durable when it was begun.
func TestCopyWithoutTheNewestSegment(t *testing.T) {
	another := func() (sojourn.Policy, error) { return newFIFO(nil), nil }
	for _, o := range []Options{{SnapshotBytes: 1, Keep: true}, {SnapshotBytes: 400, Keep: true}, {SnapshotBytes: 400, Keep: true, Another: another}} {
		missing := 0
		for more := 0; more < 40; more += 4 {
			s := folderStore(t)
			j := opened(t, s, newFIFO(t), o)
			write := func(from, to int) {
				for n := from; n < to; n++ {
					worked(t, errors.Join(j.Keep("count", []byte(time.Duration(n).String())), j.Flush()))
				}
			}
			write(1, 31)
			from := s.(*files).dir
			names, err := os.ReadDir(from)
			worked(t, err)
			write(31, 31+more)
			dir := t.TempDir()
			for _, e := range names {
				data, err := os.ReadFile(filepath.Join(from, e.Name()))
				worked(t, err)
				worked(t, os.WriteFile(filepath.Join(dir, e.Name()), data, 0o600))
			}
			worked(t, j.Close())
			k, err := openCopy(t, dir)
			if errors.Is(err, ErrMissing) {
				missing++
				r, rerr := ReadFiles(dir)
				worked(t, rerr)
				for what, errs := range map[string]iter.Seq[error]{"Inspect": seconds(Inspect(r)), "History": seconds(History(r))} {
					last := error(nil)
					for last = range errs {
					}
					if last == nil || last.Error() != err.Error() {
						t.Errorf("%s says %v, Open %v", what, last, err)
					}
				}
				worked(t, r.Close())
				cutAsTold(t, err)
				k, err = openCopy(t, dir)
			}
			worked(t, err)
			if n, err := time.ParseDuration(kept(k, "count")); err != nil || n < 30 {
				t.Errorf("the copy has %d records, want 30: %v", n, err)
			}
			worked(t, k.Close())
		}
		if missing == 0 {
			t.Error("no copy lacks a segment")
		}
	}
}
