package journal

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A saved policy counts how often it is asked for a snapshot.
type saved struct {
	*inOrder
	asked *atomic.Int64
}

func (s saved) AppendBinary(dst []byte) ([]byte, error) {
	s.asked.Add(1)
	return s.inOrder.AppendBinary(dst)
}

func newSaved(asked *atomic.Int64) (sojourn.Policy, error) {
	return saved{newFIFO(nil), asked}, nil
}

// A meter notes how many bytes a new segment begins with, and how many are written in one call.
type meter struct {
	Store
	newest         uint64
	begin, written int
}

func (m *meter) Create(n uint64, data []byte) error {
	if n > m.newest {
		m.newest, m.begin, m.written = n, max(m.begin, len(data)), max(m.written, len(data))
	}
	return m.Store.Create(n, data)
}

func (m *meter) Append(n uint64, data []byte) error {
	m.written = max(m.written, len(data))
	return m.Store.Append(n, data)
}

// No call takes a snapshot, and none writes more than what was appended since somebody waited: with Another, a call costs the
// same however many jobs there are. The journal that is left has few segments, and the same state. Without Another, calls take
// snapshots of all jobs.
func TestNoPause(t *testing.T) {
	const jobs, limit = 4000, 20_000
	for _, with := range []bool{true, false} {
		dir := t.TempDir()
		var own, others atomic.Int64
		o := Options{SnapshotBytes: limit}
		if with {
			o.Another = func() (sojourn.Policy, error) { return newSaved(&others) }
		}
		files, err := OpenFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := &meter{Store: files}
		p, err := newSaved(&own)
		if err != nil {
			t.Fatal(err)
		}
		j, err := Open(m, p, o)
		if err != nil {
			t.Fatal(err)
		}
		own.Store(0) // Open has asked
		tell := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		slot := sojourn.Slot{ID: 1}
		tell(j.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot}))
		for id := sojourn.JobID(1); id <= jobs; id++ {
			tell(j.Attach(id, []byte("what its task is to do")))
			tell(j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}}))
			if id%3 == 0 {
				a, _ := j.Assign(slot.ID)
				tell(j.Observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slot}))
				tell(j.Keep(fmt.Sprint("end of ", a.Task.Job%50), []byte("it has finished")))
			}
			if id%20 == 0 {
				tell(j.Write())
			}
		}
		tell(j.Flush())
		if with {
			j.log.mu.Lock()
			for j.log.making {
				j.log.cond.Wait()
			}
			j.log.mu.Unlock()
			if own.Load() > 0 || m.begin > 100 || m.written > limit {
				t.Errorf("%d snapshots in calls; a segment begins with %d bytes, and a call writes up to %d; want 0, at most 100, and %d", own.Load(), m.begin, m.written, limit)
			}
			if others.Load() < 3 {
				t.Errorf("%d segments were given their states", others.Load())
			}
		} else if own.Load() < 3 || m.begin < jobs*20 {
			t.Errorf("without Another: %d snapshots in calls; a segment begins with %d bytes", own.Load(), m.begin)
		}
		was, owned, kept := facts(slices.Collect(j.Account().Facts())), len(j.owned), len(j.kept)
		tell(j.Close())
		store, err := OpenFiles(dir)
		if err != nil {
			t.Fatal(err)
		}
		list, err := store.Segments()
		if most := map[bool]int{true: 2, false: 1}[with]; err != nil || len(list) > most {
			t.Errorf("segments %v are left, %v; want at most %d", list, err, most)
		}
		for g, err := range Inspect(store) {
			if err != nil || g.MaxJob != jobs && g.Number == list[len(list)-1] {
				t.Errorf("segment %d: %+v, %v", g.Number, g, err)
			}
		}
		for _, err := range History(store) {
			if err != nil {
				t.Fatal(err)
			}
		}
		p, _ = newSaved(&own)
		if j, err = Open(store, p, o); err != nil {
			t.Fatal(err)
		}
		if now := facts(slices.Collect(j.Account().Facts())); now != was || len(j.owned) != owned || len(j.kept) != kept || j.MaxJob() != jobs || j.Restored().Rebuilt != nil {
			t.Errorf("with Another %t, the journal is another one: %d and %d bytes of facts, %d of %d jobs have something attached, %d of %d keys; %+v", with, len(now), len(was), len(j.owned), owned, len(j.kept), kept, j.Restored())
		}
		tell(j.Close())
	}
}

// If Another makes no policy, or not the same one, Open says so. If it does so later, calls take the snapshots, and nothing is lost.
func TestAnother(t *testing.T) {
	var own atomic.Int64
	for name, bad := range map[string]func() (sojourn.Policy, error){
		"error": func() (sojourn.Policy, error) { return nil, errors.New("none") },
		"nil":   func() (sojourn.Policy, error) { return nil, nil },
		"other": func() (sojourn.Policy, error) { return other{newFIFO(t)}, nil },
		"in use": func() (sojourn.Policy, error) {
			p, _ := newSaved(&own)
			return p, p.Observe(sojourn.Event{Kind: sojourn.SlotAdded})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := newSaved(&own)
			if err != nil {
				t.Fatal(err)
			}
			m := newMemory()
			s, _ := openFiles(m, "dir")
			if _, err := Open(s, p, Options{Another: bad}); err == nil || !strings.Contains(err.Error(), "Options.Another") {
				t.Fatalf("Open = %v", err)
			}
			m.locked = false
			calls := 0
			another := func() (sojourn.Policy, error) {
				if calls++; calls == 1 {
					return newSaved(&own)
				}
				return bad()
			}
			j := mustOpen(t, m, p, Options{SnapshotBytes: 500, Another: another, inline: true})
			own.Store(0)
			for id := sojourn.JobID(1); id <= 200; id++ {
				if err := errors.Join(j.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}}), j.Flush()); err != nil {
					t.Fatal(err)
				}
			}
			if own.Load() == 0 {
				t.Error("no call has taken a snapshot")
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			p, _ = newSaved(&own)
			if j = mustOpen(t, m, p, Options{}); j.Account().Live() != 200 || j.Restored().Rebuilt != nil {
				t.Errorf("%d jobs, %+v", j.Account().Live(), j.Restored())
			}
		})
	}
}

// brittle is a store on which the states that are made in the background cannot be written for a while.
type brittle struct {
	Store
	full atomic.Bool
}

func (s *brittle) Create(n uint64, data []byte) error {
	if s.full.Load() {
		return errors.New("no space left")
	}
	return s.Store.Create(n, data)
}

// After a state that could not be made in the background, one call takes a snapshot, and then the background does it again.
func TestBackgroundIsTriedAgain(t *testing.T) {
	var own, others atomic.Int64
	files, err := OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &brittle{Store: files}
	p, _ := newSaved(&own)
	j, err := Open(s, p, Options{Retry: true, SnapshotBytes: 2_000, Another: func() (sojourn.Policy, error) { return newSaved(&others) }})
	if err != nil {
		t.Fatal(err)
	}
	settled := func() {
		j.log.mu.Lock()
		defer j.log.mu.Unlock()
		for j.log.making {
			j.log.cond.Wait()
		}
	}
	id := sojourn.JobID(0)
	segments := func(n uint64) { // it lets so many segments begin
		for end := j.head.segment + n; j.head.segment < end; {
			id++
			job := &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}
			for _, kind := range []sojourn.EventKind{sojourn.JobArrived, sojourn.JobCancelled} {
				if err := j.Observe(sojourn.Event{Kind: kind, Job: job}); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Flush(); err != nil {
				t.Fatal(err)
			}
			settled()
		}
	}
	segments(2)
	made := j.log.compact
	j.log.mu.Lock()
	j.log.compact = func(n uint64) { s.full.Store(true); made(n); s.full.Store(false) }
	j.log.mu.Unlock()
	segments(1)
	j.log.mu.Lock()
	j.log.compact = made
	failing := j.log.failing
	j.log.mu.Unlock()
	if !failing {
		t.Fatal("the background has not failed")
	}
	own.Store(0)
	others.Store(0)
	segments(6)
	if own.Load() != 1 || others.Load() < 3 {
		t.Errorf("after one failure %d calls have taken snapshots, and the background has made %d: want 1, and the others", own.Load(), others.Load())
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
