package journal

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/sojourn-sched/sojourn"
)

// A held store holds what is written until it is let go, and keeps account of Yield.
type held struct {
	*sick
	hold    chan struct{}
	states  bool  // only states of segments that have ended are held
	fails   error // of what was held
	newest  uint64
	writing int
	yields  int
	early   bool // Yield was called while something was being written
}

func (s *held) wait() error {
	s.writing++
	defer func() { s.writing-- }()
	<-s.hold
	return s.fails
}

func (s *held) Append(segment uint64, data []byte) error {
	if s.hold != nil && !s.states {
		if err := s.wait(); err != nil {
			return err
		}
	}
	return s.sick.Append(segment, data)
}

func (s *held) Create(segment uint64, data []byte) error {
	if s.hold != nil && segment < s.newest {
		if err := s.wait(); err != nil {
			return err
		}
	}
	s.newest = max(s.newest, segment)
	return s.sick.Create(segment, data)
}

func (s *held) Yield() {
	s.early = s.early || s.writing > 0
	s.yields++
	s.sick.Yield()
}

// The last error comes while something is being written: another process leads as soon as that has ended, whether or not it has succeeded, and not before. Nobody has called Close.
func TestYieldWaits(t *testing.T) {
	for _, tc := range []struct {
		what  string
		retry bool
		fails error
	}{
		{"a write", false, nil}, {"a write", true, nil}, {"a write", false, syscall.EIO}, {"a write", true, syscall.EIO},
		{"a state", false, nil}, {"a state", true, syscall.EIO},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			s, err := FollowFiles(dir)
			worked(t, err)
			x := &held{sick: &sick{shared: s.(shared)}}
			o := Options{Retry: tc.retry, SnapshotBytes: 1000, Another: func() (sojourn.Policy, error) { return newFIFO(nil), nil }}
			a := opened(t, x, newFIFO(t), o)
			b, _ := shares(t, dir, Options{})
			worked(t, a.Keep("k", []byte("x")))
			worked(t, a.Flush())
			x.hold, x.fails, x.states = make(chan struct{}), tc.fails, tc.what == "a state"
			if x.states {
				worked(t, a.Keep("l", make([]byte, 1000)))
			}
			worked(t, a.Keep("m", []byte("y")))
			go a.Flush()
			synctest.Wait()
			if x.writing == 0 {
				t.Fatalf("%s: nothing is being written", tc.what)
			}
			x.lost(ErrLocked)
			synctest.Wait()
			if err := b.Follow(); !errors.Is(err, ErrLocked) || x.yields > 0 {
				t.Errorf("%s: another process leads meanwhile: %v", tc.what, err)
			}
			close(x.hold)
			synctest.Wait()
			if x.early || x.yields != 1 {
				t.Errorf("%s that ends with %v: Yield was called %d times, and meanwhile: %v", tc.what, tc.fails, x.yields, x.early)
			}
			worked(t, b.Follow())
			if got := kept(b, "k"); got != "x" {
				t.Errorf("%s: the other one has %q, want x", tc.what, got)
			}
			worked(t, b.Close())
			_ = a.Close()
		})
	}
}

// A standby that could not take over waits for longer each time, and as at first after another process has led.
func TestTakeoverWaitsAnew(t *testing.T) {
	dir := t.TempDir()
	a, _ := shares(t, dir, Options{})
	b, sick := shares(t, dir, Options{})
	worked(t, a.Close())
	sick.create = syscall.ENOSPC
	fails := func(want int) {
		t.Helper()
		b.standby.left = 0
		if err := b.Follow(); !errors.Is(err, syscall.ENOSPC) || b.standby.left != want {
			t.Errorf("%v; it is tried again after %d calls, want %d", err, b.standby.left, want)
		}
	}
	fails(4)
	fails(8)
	fails(16)
	c, _ := shares(t, dir, Options{})
	b.standby.left = 0
	if err := b.Follow(); !errors.Is(err, ErrLocked) || errors.Is(err, syscall.ENOSPC) {
		t.Errorf("while another one leads: %v", err)
	}
	worked(t, c.Close())
	fails(4)
	worked(t, b.Close())
}
