package journal

import (
	"errors"
	"os"
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

// A scripted leader does what letters say:
//
//	a  tells something and writes it    b  the same, and the segment ends
//	c  makes the state of the segment that has ended    f  cannot write it    h  cannot remove the one before
//	m  a write fails half-way, and is done anew    k  it is killed in a write, and restarts
type scripted struct {
	t       *testing.T
	options Options
	weak    *broken
	leader  *Journal
	ended   uint64 // its state is to be made
	slots   sojourn.SlotID
}

// A broken store fails as it is told to.
type broken struct {
	Store
	append, create, remove bool
}

var errBroken = errors.New("it is broken")

func (s *broken) Append(segment uint64, data []byte) error {
	if s.append {
		return errors.Join(errBroken, s.Store.Append(segment, data[:len(data)/2]))
	}
	return s.Store.Append(segment, data)
}

func (s *broken) Create(segment uint64, data []byte) error {
	if s.create {
		return errBroken
	}
	return s.Store.Create(segment, data)
}

func (s *broken) Remove(segment uint64) error {
	if s.remove {
		return errBroken
	}
	return s.Store.Remove(segment)
}

func (w *scripted) open(s Store) {
	w.weak, w.ended = &broken{Store: s}, 0
	w.leader = opened(w.t, w.weak, newFIFO(w.t), w.options)
	l := &w.leader.log
	l.compact = func(segment uint64) {
		w.ended = segment
		l.mu.Lock()
		l.making = true
		l.mu.Unlock()
	}
}

func (w *scripted) tell() {
	w.slots++
	worked(w.t, w.leader.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: w.slots}}))
}

func (w *scripted) do(what byte) {
	switch what {
	case 'a':
		w.tell()
		worked(w.t, w.leader.Write())
	case 'b':
		w.tell()
		for n := int64(0); w.ended == 0 && n < w.options.SnapshotBytes; n += 50 {
			worked(w.t, w.leader.Keep("k", make([]byte, 50)))
		}
		worked(w.t, w.leader.Write())
	case 'c', 'f', 'h':
		if w.ended == 0 {
			return
		}
		w.weak.create, w.weak.remove = what == 'f', what == 'h'
		w.leader.compact(w.ended)
		w.ended, w.weak.create, w.weak.remove = 0, false, false
	case 'm':
		w.tell()
		w.weak.append = true
		_ = w.leader.Write()
		w.weak.append = false
		worked(w.t, w.leader.Write())
	case 'k':
		s := w.weak.Store.(*files)
		list, err := s.Segments()
		worked(w.t, errors.Join(err, s.Append(list[len(list)-1], []byte("\x05ab")), s.Close()))
		again, err := OpenFiles(s.dir)
		worked(w.t, err)
		w.open(again)
	}
}

// Whatever a leader does between the reads of a standby, in every history of a few steps: when it has read undisturbed, it knows the same, and it does after taking
// over. So it need not be told the facts, nor loses anything.
func TestFollowSmallHistories(t *testing.T) {
	words := []string{""}
	for from, length := 0, 2; length > 0; length-- {
		for _, word := range words[from:] {
			for _, letter := range "abcfhmk" {
				words = append(words, word+string(letter))
			}
			from++
		}
	}
	run := func(word string, gap int) (done bool) {
		dir, err := os.MkdirTemp(memoryFolder(), "between")
		worked(t, err)
		defer os.RemoveAll(dir)
		w := &scripted{t: t, options: Options{SnapshotBytes: 1000, inline: true, Retry: true, Another: func() (sojourn.Policy, error) { return newFIFO(nil), nil }}}
		s, err := OpenFiles(dir)
		worked(t, err)
		w.open(s)
		for range 12 { // its state is shorter than the segment
			worked(t, w.leader.Keep("k", make([]byte, 50)))
		}
		w.do('a')
		other, err := FollowFiles(dir)
		worked(t, err)
		reads := 0
		x := &between{other.(shared), func() {
			if reads++; reads == gap {
				for i := range len(word) {
					w.do(word[i])
				}
			}
		}}
		standby := opened(t, x, newFIFO(t), w.options)
		w.do('a')
		for range 3 {
			if err := standby.Follow(); !errors.Is(err, ErrLocked) {
				t.Fatalf("%s before read %d: %v", word, gap, err)
			}
		}
		done = reads < gap
		x.before = func() {}
		worked(t, w.leader.Write())
		if err := standby.Follow(); !errors.Is(err, ErrLocked) || standby.standby.cold != nil {
			t.Fatalf("%s before read %d: %v, %v", word, gap, err, standby.standby.cold)
		}
		want := all(w.leader)
		if got := all(standby); got != want {
			t.Fatalf("%s before read %d: the standby has\n%s\nwant\n%s", word, gap, got, want)
		}
		files := w.weak.Store.(*files)
		worked(t, files.Close())
		worked(t, standby.Follow())
		if got := all(standby); got != want || standby.Restored().Rebuilt != nil {
			t.Fatalf("%s before read %d: after taking over it has\n%s\nwant\n%s, %v", word, gap, got, want, standby.Restored().Rebuilt)
		}
		worked(t, standby.Close())
		return done
	}
	histories := 0
	for _, word := range words[1:] {
		for gap := 1; !run(word, gap); gap++ {
			histories++
		}
	}
	t.Logf("%d histories", histories)
}
