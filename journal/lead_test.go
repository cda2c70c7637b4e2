package journal

import (
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A sick store fails while it is told to.
type sick struct {
	shared
	lead, create, write error
	lost                func(error)
	tries               int // calls of Lead
}

func (s *sick) Lead() error {
	s.tries++
	if s.lead != nil {
		return s.lead
	}
	return s.shared.Lead()
}

func (s *sick) Create(segment uint64, data []byte) error {
	if s.create != nil {
		return s.create
	}
	return s.shared.Create(segment, data)
}

func (s *sick) Append(segment uint64, data []byte) error {
	if s.write != nil {
		return s.write
	}
	return s.shared.Append(segment, data)
}

func (s *sick) OnLost(f func(error)) { s.lost = f }

// shares opens the journal of a folder for one of several processes.
func shares(t *testing.T, dir string, o Options) (*Journal, *sick) {
	t.Helper()
	s, err := FollowFiles(dir)
	worked(t, err)
	x := &sick{shared: s.(shared)}
	return opened(t, x, newFIFO(t), o), x
}

func kept(j *Journal, key string) string { return string(maps.Collect(j.Kept())[key]) }

// leads waits until a journal leads, and says what Follow returned before.
func leads(t *testing.T, j *Journal) {
	t.Helper()
	var err error
	for range mostPause + 1000 {
		if err = j.Follow(); err == nil {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("it does not lead: %v", err)
}

// A standby that cannot take over, as on a full disk, lets another one do so, says why, and tries again until it can. So does one that cannot
// even ask for the lock, and one that finds nothing yet.
func TestTakeoverFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, _ := shares(t, dir, Options{})
		b, sick := shares(t, dir, Options{Retry: true})
		worked(t, a.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}}))
		worked(t, a.Keep("k", []byte("x")))
		worked(t, a.Flush())
		sick.lead = syscall.EMFILE
		if err := b.Follow(); !errors.Is(err, ErrLocked) || !errors.Is(err, syscall.EMFILE) || !strings.Contains(err.Error(), "too many open files") {
			t.Errorf("without descriptors: %v, want a standby that says so", err)
		}
		sick.lead = nil
		if err := b.Follow(); !errors.Is(err, ErrLocked) || errors.Is(err, syscall.EMFILE) {
			t.Errorf("with descriptors again: %v", err)
		}
		want := all(a)
		worked(t, a.Close())
		sick.create = syscall.ENOSPC
		for range 3 {
			err := b.Follow()
			if !errors.Is(err, ErrLocked) || !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "no space left") {
				t.Fatalf("on a full disk: %v, want a standby that says so", err)
			}
			if err := b.Keep("k", nil); !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("then Keep: %v", err)
			}
			b.standby.left = 0
		}
		c, _ := shares(t, dir, Options{}) // nobody holds the lock
		if got := all(c); got != want || c.Follow() != nil {
			t.Errorf("another one has\n%s\nwant\n%s", got, want)
		}
		if err := b.Follow(); !errors.Is(err, ErrLocked) || errors.Is(err, syscall.ENOSPC) {
			t.Errorf("while that one leads: %v", err)
		}
		worked(t, c.Keep("k", []byte("y")))
		want = all(c)
		worked(t, c.Close())
		sick.create = nil
		leads(t, b)
		if got := all(b); got != want {
			t.Errorf("with room again it has\n%s\nwant\n%s", got, want)
		}
		worked(t, b.Keep("k", []byte("z")))
		worked(t, b.Flush())
		worked(t, b.Close())
	})
}

// A standby that cannot take over tries it again after 4 more calls of Follow, then after 8, at the most after 2,048; and at once when
// another process has led meanwhile.
func TestTakeoverWaits(t *testing.T) {
	dir := t.TempDir()
	a, _ := shares(t, dir, Options{})
	b, sick := shares(t, dir, Options{})
	worked(t, a.Close())
	sick.create = syscall.ENOSPC
	var got []int
	for waited := 0; len(got) < 12; {
		before := sick.tries
		if err := b.Follow(); !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
		if waited++; sick.tries > before {
			got, waited = append(got, waited-1), 0
		}
	}
	want := []int{0, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 2048}
	if !slices.Equal(got, want) {
		t.Errorf("calls between tries: %d, want %d", got, want)
	}
	c, _ := shares(t, dir, Options{})
	b.standby.left = 0
	if err := b.Follow(); !errors.Is(err, ErrLocked) || errors.Is(err, syscall.ENOSPC) {
		t.Errorf("while another one leads: %v", err)
	}
	worked(t, c.Close())
	sick.create = nil
	worked(t, b.Follow())
	worked(t, b.Close())
}

// A store that has some of the methods of one that several processes have open, and not all of them, is refused: otherwise it would be written to though
// another process leads.
func TestHalfShared(t *testing.T) {
	whole, err := FollowFiles(t.TempDir())
	worked(t, err)
	leads := whole.(leader)
	for _, tc := range []struct {
		s    Store
		want string
	}{
		{struct {
			Store
			leader
		}{whole, leads}, "has Lead, but not Leader, ReadAt and Yield"},
		{struct {
			Store
			leader
			yielder
		}{Store: whole, leader: leads}, "has Lead and Yield, but not Leader and ReadAt"},
		{struct {
			Store
			named
		}{Store: whole}, "has Leader, but not Lead, ReadAt and Yield"},
	} {
		if _, err := Open(tc.s, newFIFO(t), Options{}); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want that it %s", err, tc.want)
		}
	}
	worked(t, opened(t, whole, newFIFO(t), Options{}).Close())
}

type leader interface{ Lead() error }

type yielder struct{}

func (yielder) Yield() {}

type named struct{}

func (named) Leader() string { return "" }

// Whoever asked is told once that a journal takes no more: because its store has failed for good, because another process leads though nothing is
// written here, and because it was abandoned; but not when it is closed, nor after stop. Another process leads then, though nobody has called Close.
func TestAfterFailure(t *testing.T) {
	for what, fail := range map[string]func(*Journal, *sick){
		"a failed store": func(j *Journal, s *sick) {
			s.write = syscall.EIO
			_ = j.Keep("l", nil)
			if err := j.Flush(); !errors.Is(err, syscall.EIO) {
				t.Errorf("Flush: %v", err)
			}
		},
		"another process": func(_ *Journal, s *sick) { s.lost(ErrLocked) },
		"abandoned":       func(j *Journal, _ *sick) { j.Abandon(errors.New("the driver is broken")) },
		"too much unwritten": func(j *Journal, s *sick) {
			s.write = syscall.EIO
			j.log.begins(true)
			for j.Keep("l", make([]byte, 8<<20)) == nil {
			}
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			a, sick := shares(t, dir, Options{})
			b, _ := shares(t, dir, Options{})
			told := make(chan error, 3)
			a.AfterFailure(func(err error) { told <- err })
			a.AfterFailure(func(err error) { told <- err })()
			b.AfterFailure(func(err error) { told <- err })
			worked(t, a.Keep("k", []byte("x")))
			worked(t, a.Flush())
			if what == "abandoned" {
				worked(t, a.Keep("late", []byte("x"))) // it is written all the same
			}
			fail(a, sick)
			synctest.Wait()
			if len(told) != 1 || <-told == nil {
				t.Fatalf("%s: %d were told, want one", what, len(told))
			}
			if err := a.Keep("m", nil); err == nil {
				t.Errorf("%s: then Keep has no error", what)
			}
			if err := a.Follow(); err == nil {
				t.Errorf("%s: then Follow has no error", what)
			}
			leads(t, b)
			if got := kept(b, "k") + kept(b, "late"); got != "x" && (what != "abandoned" || got != "xx") {
				t.Errorf("%s: the next one has %q", what, got)
			}
			_ = a.Close()
			worked(t, b.Keep("k", []byte("y"))) // closing a takes nothing from b
			worked(t, b.Flush())
			worked(t, b.Close())
			synctest.Wait()
			if len(told) > 0 {
				t.Errorf("%s: another one is told: %v", what, <-told)
			}
		})
	}
}

// What was appended before a journal was abandoned is written, and an error before that stays the last one.
func TestAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		a, sick := shares(t, dir, Options{})
		worked(t, a.Keep("k", []byte("x")))
		a.Abandon(errors.New("once"))
		synctest.Wait()
		a.Abandon(errors.New("twice"))
		synctest.Wait()
		if err := a.Keep("k", nil); err == nil || !strings.Contains(err.Error(), "once") {
			t.Errorf("Keep: %v, want that it was abandoned once", err)
		}
		if _, ok := a.Assign(1); ok {
			t.Error("it decides")
		}
		b, _ := shares(t, dir, Options{})
		if got := kept(b, "k"); got != "x" {
			t.Errorf("the next one has %q, want x", got)
		}
		worked(t, b.Close())
		if sick.shared.Append(1, []byte("late")) == nil {
			t.Error("the store of the first one still writes")
		}
	})
}

// A standby that was closed does not take over, and does not lock anybody out.
func TestClosedStandby(t *testing.T) {
	dir := t.TempDir()
	a, _ := shares(t, dir, Options{})
	b, _ := shares(t, dir, Options{})
	worked(t, b.Close())
	worked(t, a.Close())
	if err := b.Follow(); !errors.Is(err, ErrClosed) || errors.Is(err, ErrLocked) {
		t.Errorf("Follow: %v, want that it is closed, and not that it waits", err)
	}
	if err := b.Keep("k", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Keep: %v, want that it is closed", err)
	}
	c, _ := shares(t, dir, Options{})
	worked(t, c.Follow())
	worked(t, c.Close())
}

// A mute store answers nothing until it is let go.
type mute struct {
	Store
	wait chan struct{}
}

func (s *mute) Create(segment uint64, data []byte) error {
	<-s.wait
	return s.Store.Create(segment, data)
}

func (s *mute) Append(segment uint64, data []byte) error {
	<-s.wait
	return s.Store.Append(segment, data)
}

func (s *mute) Sync(segment uint64) error {
	<-s.wait
	return s.Store.Sync(segment)
}

// opensMute opens a journal in a folder that has kept one record, and whose disk then answers nothing.
func opensMute(t *testing.T, o Options) (*Journal, *mute) {
	s := &mute{folderStore(t), make(chan struct{})}
	close(s.wait)
	j := opened(t, s, newFIFO(t), o)
	worked(t, j.Keep("before", []byte("x")))
	worked(t, j.Flush())
	s.wait = make(chan struct{})
	return j, s
}

// A disk answers nothing any more, while somebody writes or nobody does, also when a segment is about to begin: nobody waits for it to tell the policy something, and
// what was told is there when it answers.
func TestDeadDisk(t *testing.T) {
	for _, waits := range []bool{false, true} {
		for _, size := range []int64{1, -1} {
			synctest.Test(t, func(t *testing.T) {
				j, s := opensMute(t, Options{Retry: true, SnapshotBytes: size})
				worked(t, j.Keep("k", []byte("x")))
				if waits {
					go j.Flush()
				}
				synctest.Wait()
				for range 10 {
					worked(t, j.Keep("large", make([]byte, overflow)))
				}
				synctest.Wait()
				close(s.wait)
				want := all(j)
				worked(t, j.Close())
				again, err := OpenFiles(s.Store.(*files).dir)
				worked(t, err)
				j = opened(t, again, newFIFO(t), Options{})
				if got := all(j); got != want {
					t.Errorf("then there are %d bytes, want %d", len(got), len(want))
				}
				worked(t, j.Close())
			})
		}
	}
}

// Close of a journal whose store answers nothing ends after ten seconds, and says so. What was waited for is there then. The folder is locked until the store answers after
// all.
func TestCloseOfASilentStore(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			j, s := opensMute(t, Options{Retry: true})
			worked(t, j.Keep("late", []byte("y")))
			if busy {
				go j.Flush()
			}
			dir := s.Store.(*files).dir
			begun := time.Now()
			err := j.Close()
			if !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), dir) || !strings.Contains(err.Error(), "10 s") {
				t.Errorf("Close: %v, want that %s does not answer", err, dir)
			}
			if took := time.Since(begun); took != mostSilent*time.Second {
				t.Errorf("Close takes %v", took)
			}
			if err := j.Keep("k", []byte("z")); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("then Keep: %v", err)
			}
			if _, err := OpenFiles(dir); !errors.Is(err, ErrLocked) {
				t.Errorf("the folder is opened: %v", err)
			}
			copied := t.TempDir()
			worked(t, os.CopyFS(copied, os.DirFS(dir)))
			close(s.wait)
			synctest.Wait()
			for what, dir := range map[string]string{"a copy from before": copied, "the folder": dir} {
				again, err := OpenFiles(dir)
				worked(t, err)
				k := opened(t, again, newFIFO(t), Options{})
				if kept(k, "before") != "x" || kept(k, "k") != "" {
					t.Errorf("%s has %v", what, k.kept)
				}
				worked(t, k.Close())
			}
		})
	}
}

// A fading store answers some calls more, and then nothing until it is let go.
type fading struct {
	Store
	left int
	wait chan struct{}
}

func (s *fading) call() {
	if s.left--; s.left < 0 {
		<-s.wait
	}
}

func (s *fading) Append(segment uint64, data []byte) error {
	s.call()
	return s.Store.Append(segment, data)
}

func (s *fading) Sync(segment uint64) error {
	s.call()
	return s.Store.Sync(segment)
}

func (s *fading) Close() error {
	s.call()
	return s.Store.Close()
}

// Close gives up whichever call of the store is not answered, also the last ones, which write that all is synced, and close it.
func TestCloseOfAStoreThatFallsSilent(t *testing.T) {
	silent := 0
	for answers, more := 0, true; more; answers++ {
		synctest.Test(t, func(t *testing.T) {
			s := &fading{folderStore(t), 1 << 30, make(chan struct{})}
			j := opened(t, s, newFIFO(t), Options{})
			worked(t, j.Keep("k", []byte("x")))
			s.left = answers
			if more = j.Close() != nil; more {
				silent++
			}
			if err := j.Keep("late", nil); err == nil {
				t.Errorf("after %d answers and Close, Keep does not fail", answers)
			}
			close(s.wait)
			synctest.Wait()
		})
	}
	synctest.Test(t, func(t *testing.T) { // once more waits for nobody
		j := opened(t, folderStore(t), newFIFO(t), Options{})
		worked(t, j.Close())
		begun := time.Now()
		if _ = j.Close(); time.Since(begun) > 0 {
			t.Errorf("Close of a closed journal takes %v", time.Since(begun))
		}
	})
	if silent != 5 {
		t.Errorf("Close has waited for %d calls in vain, want 5: two records and their syncs, and to close", silent)
	}
}

// A slow store needs nine seconds for each call.
type slow struct{ Store }

func (s slow) Append(segment uint64, data []byte) error {
	time.Sleep(9 * time.Second)
	return s.Store.Append(segment, data)
}

func (s slow) Sync(segment uint64) error {
	time.Sleep(9 * time.Second)
	return s.Store.Sync(segment)
}

// Close waits for a store that is slow, however long that takes in all.
func TestCloseOfASlowStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := folderStore(t)
		j := opened(t, slow{s}, newFIFO(t), Options{})
		worked(t, j.Keep("k", []byte("x")))
		begun := time.Now()
		worked(t, j.Close())
		if took := time.Since(begun); took < 27*time.Second {
			t.Errorf("it takes %v: too short to show anything", took)
		}
	})
}
