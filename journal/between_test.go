package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
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

// An ill store cannot be read while it is told so.
type ill struct {
	shared
	ill   bool
	reads int // while it is
}

func (s *ill) call() error {
	if s.ill {
		s.reads++
		return errPower
	}
	return nil
}

func (s *ill) ReadAt(segment uint64, b []byte, offset int64) (int, error) {
	if err := s.call(); err != nil {
		return 0, err
	}
	return s.shared.ReadAt(segment, b, offset)
}

func (s *ill) Read(segment uint64) ([]byte, error) {
	if err := s.call(); err != nil {
		return nil, err
	}
	return s.shared.Read(segment)
}

// A disk cannot be read for a while, from each call on by which a standby reads: it says so, goes on when it can be, does not read in vain all the time, and
// misses nothing. If the other process ends meanwhile, it takes over when it can read what there is.
func TestFollowUnreadable(t *testing.T) {
	for _, ends := range []bool{false, true} {
		for from := 0; from < 12; from++ {
			leader, standby := follows(t, Options{})
			tell := func() { worked(t, leader.Keep("k", fmt.Append(nil, leader.End()))); worked(t, leader.Write()) }
			calls := 0
			x := &ill{}
			x.shared = &between{standby.log.store.(shared), func() {
				if calls++; calls == from {
					x.ill = true
				}
			}}
			standby.standby.store, standby.log.store = x, x
			for range 4 {
				tell()
				_ = standby.Follow()
				worked(t, leader.Snapshot()) // the next segment begins
			}
			x.ill = true
			tell()
			for range 300 {
				if err := standby.Follow(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), errPower.Error()) {
					t.Fatalf("from call %d on it cannot read: %v", from, err)
				}
			}
			want := all(leader)
			if ends {
				worked(t, leader.Close())
				if err := standby.Follow(); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), errPower.Error()) {
					t.Fatalf("from call %d on it cannot read, and is to lead: %v", from, err)
				}
			}
			x.ill = false
			tries := 0
			for err := error(nil); tries <= 2*mostPause; tries++ {
				if err = standby.Follow(); err == nil || !ends && !strings.Contains(err.Error(), errPower.Error()) {
					break
				}
			}
			if got := all(standby); got != want || tries > 2*mostPause {
				t.Fatalf("from call %d on it could not read; %d calls later it has\n%s\nwant\n%s", from, tries, got, want)
			}
			if !ends {
				tell()
				_ = standby.Follow()
				want = all(leader)
				worked(t, leader.Close())
				worked(t, standby.Follow())
			}
			if got := all(standby); got != want {
				t.Errorf("from call %d on it could not read; after taking over it has\n%s\nwant\n%s", from, got, want)
			}
			worked(t, standby.Close())
		}
	}
}

// Some reads fail while a standby takes over, whichever they are: what was written since it last looked is not lost.
func TestTakeoverMissesReads(t *testing.T) {
	for i := range 12 * 8 {
		k, n := i/8, 1+i%8
		leader, standby := follows(t, Options{})
		worked(t, leader.Keep("a", []byte("x")))
		worked(t, leader.Write())
		_ = standby.Follow()
		worked(t, leader.Keep("b", []byte("y")))
		want := all(leader)
		worked(t, leader.Close())
		x := &ill{}
		calls := 0
		x.shared = standby.log.store.(shared)
		standby.standby.store, standby.log.store = &between{x, func() { x.ill = k <= calls && calls < k+n; calls++ }}, x
		for tries := 0; standby.Follow() != nil; tries++ {
			if tries > mostPause {
				t.Fatalf("%d reads from %d on fail: it does not lead", n, k)
			}
		}
		x.ill = false
		if got := all(standby); got != want {
			t.Errorf("%d reads from %d on fail: it has\n%s\nwant\n%s", n, k, got, want)
		}
		worked(t, standby.Close())
	}
}

// A state that cannot be read is not read at every call.
func TestFollowReadsSeldomInVain(t *testing.T) {
	dir := t.TempDir()
	leader, _ := shares(t, dir, Options{})
	s, err := FollowFiles(dir)
	worked(t, err)
	x := &ill{shared: s.(shared), ill: true}
	standby := opened(t, x, newFIFO(t), Options{})
	for range 3 * mostPause {
		_ = standby.Follow()
	}
	if x.reads < 10 || x.reads > 15 {
		t.Errorf("%d reads in %d calls, want one after 4 calls, 8, and so on", x.reads, 3*mostPause)
	}
	worked(t, standby.Close())
	worked(t, leader.Close())
}

// An unheard store lists segments that were removed: who was away for a while has not heard of it.
type unheard struct {
	shared
	seen map[uint64]bool
}

func (s *unheard) Segments() ([]uint64, error) {
	list, err := s.shared.Segments()
	for _, n := range list {
		s.seen[n] = true
	}
	return slices.Sorted(maps.Keys(s.seen)), err
}

func (s *unheard) Remove(segment uint64) error {
	delete(s.seen, segment)
	if err := s.shared.Remove(segment); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// A standby has not heard that segments were removed, as when connect/jetstream was not connected: it follows and takes over all the same, and the process after it
// finds nothing of them.
func TestFollowUnheardRemoves(t *testing.T) {
	for _, another := range []bool{false, true} {
		o := Options{SnapshotBytes: 300}
		if another {
			o.inline, o.Another = true, func() (sojourn.Policy, error) { return newFIFO(nil), nil }
		}
		leader, standby := follows(t, o)
		x := &unheard{standby.log.store.(shared), map[uint64]bool{}}
		standby.standby.store, standby.log.store = x, x
		for k := range 100 {
			worked(t, leader.Keep(string(rune('a'+k%7)), make([]byte, 1+k)))
			worked(t, leader.Write())
			if err := standby.Follow(); !errors.Is(err, ErrLocked) || standby.standby.cold != nil {
				t.Fatalf("another %t, record %d: %v, %v", another, k, err, standby.standby.cold)
			}
		}
		if len(x.seen) < 10 {
			t.Fatalf("it has seen %d segments: too few to show anything", len(x.seen))
		}
		want := all(leader)
		worked(t, leader.Close())
		worked(t, standby.Follow())
		worked(t, standby.Keep("k", []byte("v")))
		worked(t, standby.Flush())
		for range 10 {
			worked(t, standby.Snapshot())
			worked(t, standby.Flush())
		}
		worked(t, standby.Keep("k", nil))
		worked(t, standby.Close())
		again, _ := shares(t, x.shared.(*sick).shared.(*followed).dir, Options{})
		if got := all(again); got != want {
			t.Errorf("another %t: the process after it has\n%s\nwant\n%s", another, got, want)
		}
		worked(t, again.Close())
	}
}
