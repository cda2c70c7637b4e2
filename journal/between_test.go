package journal

import (
	"errors"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A between store lets something happen before the calls by which a standby reads.
type between struct {
	shared
	before func()
}

func (s *between) ReadAt(segment uint64, b []byte, offset int64) (int, error) {
	s.before()
	return s.shared.ReadAt(segment, b, offset)
}

func (s *between) Read(segment uint64) ([]byte, error) {
	s.before()
	return s.shared.Read(segment)
}

func (s *between) Segments() ([]uint64, error) {
	s.before()
	return s.shared.Segments()
}

// A segment goes on, ends and gets its state between two reads of a standby, whichever they are, also those by which it begins: it misses nothing.
func TestFollowCompacted(t *testing.T) {
	for gap, done := 0, false; !done; gap++ {
		s := folderStore(t)
		o := Options{SnapshotBytes: 2000, inline: true, Another: func() (sojourn.Policy, error) { return newFIFO(nil), nil }}
		leader := opened(t, s, newFIFO(t), o)
		slots := sojourn.SlotID(0)
		write := func(records int) {
			slots++
			worked(t, leader.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slots}}))
			for range records {
				worked(t, leader.Keep("k", make([]byte, 50)))
			}
			worked(t, leader.Write())
		}
		write(25)
		other, err := FollowFiles(s.(*files).dir)
		worked(t, err)
		reads := 0
		x := &between{other.(shared), func() {
			if reads == gap {
				write(0)
				write(30)
			}
			reads++
		}}
		standby := opened(t, x, newFIFO(t), o)
		for range 3 {
			if err := standby.Follow(); !errors.Is(err, ErrLocked) || standby.standby.cold != nil {
				t.Fatalf("before read %d: %v, %v", gap, err, standby.standby.cold)
			}
		}
		done = reads <= gap
		want := all(leader)
		if got := all(standby); got != want {
			t.Errorf("before read %d: the standby has\n%s\nwant\n%s", gap, got, want)
		}
		x.before = func() {}
		worked(t, leader.Close())
		worked(t, standby.Follow())
		if got := all(standby); got != want {
			t.Errorf("before read %d: after taking over it has\n%s\nwant\n%s", gap, got, want)
		}
		worked(t, standby.Close())
	}
}

// follows opens a journal in a folder for a process that leads, and for a standby.
func follows(t *testing.T, o Options) (leader, standby *Journal) {
	t.Helper()
	dir := t.TempDir()
	leader, _ = shares(t, dir, o)
	standby, _ = shares(t, dir, Options{})
	return leader, standby
}

// The one that leads takes an earlier state back, and goes on from it: so does a standby, though the segment before is still there.
func TestFollowEarlierState(t *testing.T) {
	leader, standby := follows(t, Options{Keep: true})
	early, err := leader.AppendBinary(nil)
	worked(t, err)
	worked(t, leader.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}}))
	worked(t, leader.Write())
	if err := standby.Follow(); !errors.Is(err, ErrLocked) {
		t.Fatal(err)
	}
	worked(t, leader.UnmarshalBinary(early))
	worked(t, leader.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}}))
	want := all(leader)
	worked(t, leader.Close())
	worked(t, standby.Follow())
	if got := all(standby); got != want {
		t.Errorf("the standby has\n%s\nwant\n%s", got, want)
	}
	worked(t, standby.Close())
}

// What was attached to a job whose arrival was never written is forgotten when a standby takes over, as when Open restores it, whatever the ID.
func TestFollowNoArrival(t *testing.T) {
	leader, standby := follows(t, Options{})
	worked(t, leader.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 5, Phases: []sojourn.Phase{{Tasks: 1}}}}))
	for _, id := range []sojourn.JobID{3, 5, 7} {
		worked(t, leader.Attach(id, []byte("x")))
	}
	worked(t, leader.Close())
	worked(t, standby.Follow())
	if standby.Attached(3) != nil || standby.Attached(5) == nil || standby.Attached(7) != nil {
		t.Errorf("attached: %v, want something at job 5 alone", standby.owned)
	}
	worked(t, standby.Close())
}
