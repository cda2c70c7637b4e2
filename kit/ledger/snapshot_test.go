package ledger

import (
	"bytes"
	"math"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

func (l *testLedger) save() []byte {
	data, err := snapshot.Append(nil, snapshot.Header{}, l.Save)
	if err != nil {
		l.t.Fatalf("%v", err)
	}
	return data
}

func (l *testLedger) restore(data []byte) error {
	return snapshot.Restore(&l.Ledger, data, snapshot.Header{}, func() { l.Ledger = Ledger[int]{Supports: l.Supports} }, l.Restore)
}

// Restore computes everything that is not saved as it was: all counts, and for every task
// whether it is pending, held, running or done.
func TestRestoredAccountIsTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &testLedger{t: t}
		l.Supports = sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts
		l.slots(4)
		n := func(name string, n int) int { return rapid.IntRange(0, n-1).Draw(t, name) }
		live := map[sojourn.SlotID]sojourn.Assignment{}
		next := sojourn.JobID(1)
		job := func(t *rapid.T) *Job[int] {
			jobs := l.AppendJobs(nil)
			if len(jobs) == 0 {
				t.Skip("no job")
			}
			return jobs[n("job", len(jobs))]
		}
		try := func(ev sojourn.Event) {
			if ev.At = l.now; l.Check(&ev) == nil {
				l.Apply(&ev)
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				l.arrive(next, sojourn.Phase{Tasks: 1 + n("tasks", 70)}, sojourn.Phase{Tasks: 3, After: 1}, sojourn.Phase{Tasks: 2, Class: 3},
					sojourn.Phase{Tasks: 1 + n("held", 70), Needs: []int{0, 2}, Held: true})
				next++
			},
			"take": func(t *rapid.T) {
				j := job(t)
				if id, ok := l.FreeSlot(0); ok && j.sides[0].startable > 0 {
					live[id] = l.Take(j, &j.sides[0], id)
				}
			},
			"end": func(t *rapid.T) {
				id := sojourn.SlotID(n("slot", 4))
				if a, ok := live[id]; ok {
					l.end([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused}[n("kind", 3)], a)
					delete(live, id)
				}
			},
			"move": func(t *rapid.T) {
				kind := []sojourn.EventKind{sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost}[n("kind", 4)]
				try(sojourn.Event{Kind: kind, Task: sojourn.TaskID{Job: job(t).spec.ID, Phase: uint16(n("phase", 4)), Index: uint32(n("index", 4))}, Attempt: uint32(n("attempt", 3))})
			},
			"cancel": func(t *rapid.T) { try(sojourn.Event{Kind: sojourn.JobCancelled, Job: job(t).spec}) },
			"slot":   func(t *rapid.T) { try(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 3}}) },
			"node": func(t *rapid.T) {
				try(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: sojourn.NodeID(1 + n("node", 3)), Rack: 2}})
			},
			"": func(t *rapid.T) {
				data := l.save()
				r := &testLedger{t: t}
				if err := r.restore(data); (err == nil) != (l.Live() == 0) {
					t.Fatalf("restored without the features that %d jobs use: %v", l.Live(), err)
				}
				r = &testLedger{t: t}
				r.Supports = l.Supports
				if err := r.restore(data); err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(r.save(), data) {
					t.Fatal("what was restored is saved as something else")
				}
				for c := range sojourn.Class(2) {
					if r.Capacity(c) != l.Capacity(c) || !reflect.DeepEqual(freeSlots(&r.cluster, c), freeSlots(&l.cluster, c)) {
						t.Fatalf("class %d: slots differ", c)
					}
				}
				for want := range l.All() {
					got := r.ByHandle(want.handle)
					if got == nil || got != r.Job(want.spec.ID) || !sameJob(got, want) {
						t.Fatalf("restored %+v, want %+v", got, want)
					}
				}
			},
		})
	})
}

// sameJob compares everything except where the search for a startable phase begins.
func sameJob(a, b *Job[int]) bool {
	for i := range a.phases {
		p, q := &a.phases[i], &b.phases[i]
		if p.side != q.side || p.ready != q.ready || p.Done() != q.Done() || p.running != q.running || p.Pending() != q.Pending() {
			return false
		}
		for k := range uint32(a.spec.Phases[i].Tasks) {
			if p.IsPending(k) != q.IsPending(k) || p.IsDone(k) != q.IsDone(k) || a.IsHeld(i, k) != b.IsHeld(i, k) {
				return false
			}
		}
	}
	for i := range a.sides {
		s, t := a.sides[i], b.sides[i]
		s.first, s.early, t.first, t.early = 0, false, 0, false
		if s != t {
			return false
		}
	}
	return reflect.DeepEqual(a.spec, b.spec) && a.seq == b.seq && a.weight == b.weight && a.left == b.left && a.running == b.running &&
		a.cancelled == b.cancelled && a.heldTasks == b.heldTasks && len(a.more.get().tries) == len(b.more.get().tries)
}

// A ledger that could not be restored is empty, so that a policy that restores itself
// finds no jobs in it.
func TestFailedRestoreLeavesNothing(t *testing.T) {
	l := &testLedger{t: t}
	l.slots(2)
	l.arrive(1, sojourn.Phase{Tasks: 2})
	l.arrive(2, sojourn.Phase{Tasks: 2})
	data, err := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) {
		l.Save(w)
		w.Bool(true) // left over, after a good ledger
	})
	if err != nil {
		t.Fatal(err)
	}
	r := &testLedger{t: t}
	r.arrive(7, sojourn.Phase{Tasks: 1})
	if err := r.restore(data); err == nil || r.Live() != 1 || r.Job(7) == nil {
		t.Errorf("restored with bytes left over: %v, %d jobs, want an error and job 7", err, r.Live())
	}
	for last := range 2 { // a body that ends after that job
		short, err := snapshot.Append(nil, snapshot.Header{}, func(w *snapshot.Writer) {
			w.Time(5)
			w.Uint(2)
			w.Len(2)
			for i, j := range l.jobs.table.All() {
				w.Bool(true)
				if j.save(w, j.seq); int(i) == last {
					return
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		var r Ledger[int]
		err = snapshot.Restore(&r, short, snapshot.Header{}, func() { r = Ledger[int]{} }, func(from *snapshot.Reader) {
			r.Restore(from)
			for j := range r.All() {
				t.Errorf("job %d is there although the restoring failed", j.spec.ID)
			}
		})
		if err == nil {
			t.Error("half a ledger was restored")
		}
	}
}

// A revision drops a task that was done without an attempt and lost, and leaves nothing
// of it: the account and a restored one continue alike.
func TestDroppedTaskLeavesNothing(t *testing.T) {
	l := &testLedger{t: t}
	l.slots(1)
	l.arrive(1, sojourn.Phase{Tasks: 2})
	do := func(l *testLedger, ev sojourn.Event) {
		t.Helper()
		if err := l.Check(&ev); err != nil {
			t.Fatal(err)
		}
		l.Apply(&ev)
	}
	do(l, sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 1, Index: 1}})
	do(l, sojourn.Event{Kind: sojourn.OutputLost, Task: sojourn.TaskID{Job: 1, Index: 1}})
	do(l, sojourn.Event{Kind: sojourn.JobRevised, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}})
	r := &testLedger{t: t}
	if err := r.restore(l.save()); err != nil {
		t.Fatal(err)
	}
	for _, x := range []*testLedger{l, r} {
		do(x, sojourn.Event{Kind: sojourn.TaskAdopted, Task: sojourn.TaskID{Job: 1}, Attempt: 1})
	}
	if !bytes.Equal(r.save(), l.save()) {
		t.Error("an adopted attempt is counted differently after a restart")
	}
}

// Numbers that only a forger reaches cause no failure: jobs still arrive in order, tasks
// start, and the account can be saved and restored.
func TestNumbersGoOn(t *testing.T) {
	l := &testLedger{t: t}
	l.slots(2)
	l.jobs.seq = 1<<62 - 2
	j := l.arrive(1, sojourn.Phase{Tasks: 9})
	j.sides[0].started = math.MaxInt/2 - 1
	for id := range sojourn.SlotID(2) {
		l.arrive(sojourn.JobID(7-id), sojourn.Phase{Tasks: 1})
		l.Take(j, &j.sides[0], id)
		r := &testLedger{t: t}
		if err := r.restore(l.save()); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(r.save(), l.save()) {
			t.Error("a restored account saves something else")
		}
		for a := range l.All() {
			for b := range l.All() {
				if got, want := r.Job(a.spec.ID).seq < r.Job(b.spec.ID).seq, a.seq < b.seq; got != want {
					t.Errorf("job %d before job %d: %v, want %v", a.spec.ID, b.spec.ID, got, want)
				}
			}
		}
	}
}

// freeSlots returns the free slots of a class, by ID.
func freeSlots(l *cluster, c sojourn.Class) (list []sojourn.Slot) {
	for id, ok := l.FreeSlot(c); ok; id, ok = l.NextFree(c, id+1) {
		list = append(list, l.Free(id))
	}
	return list
}
