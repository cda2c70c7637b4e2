package leastwork_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A flood keeps all slots busy with tasks of a second. Three jobs of such tasks always
// wait for each slot.
type flood struct {
	t     *testing.T
	p     sojourn.Policy
	slots int
	now   sojourn.Time
	jobs  sojourn.JobID
	came  map[sojourn.JobID]sojourn.Time // of the short jobs that wait
	busy  map[sojourn.SlotID]run
}

type run struct {
	a    sojourn.Assignment
	ends sojourn.Time
}

func (f *flood) observe(ev sojourn.Event) {
	f.t.Helper()
	ev.At = f.now
	if err := f.p.Observe(ev); err != nil {
		f.t.Fatal(err)
	}
}

func (f *flood) arrive(tasks int, each time.Duration) sojourn.JobID {
	f.jobs++
	job := &sojourn.Job{ID: f.jobs, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: each}}}
	f.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	return f.jobs
}

// step fills the slots, and goes on to the next end of an attempt. It returns how many tasks of the
// long job started.
func (f *flood) step(long sojourn.JobID, each time.Duration) (started int) {
	for id := range sojourn.SlotID(f.slots) {
		if _, busy := f.busy[id]; busy {
			continue
		}
		a, ok := f.p.Assign(id)
		if !ok {
			continue
		}
		length := time.Second
		if f.now == 0 { // from then on, one slot becomes free at a time
			length += time.Duration(id) * time.Millisecond
		}
		if a.Task.Job == long {
			length = each
			started++
		}
		delete(f.came, a.Task.Job)
		f.busy[id] = run{a, f.now.Add(length)}
	}
	next := f.now
	for _, r := range f.busy {
		if next == f.now || r.ends < next {
			next = r.ends
		}
	}
	f.now = next
	for id := range sojourn.SlotID(f.slots) {
		if r, busy := f.busy[id]; busy && r.ends == next {
			delete(f.busy, id)
			f.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: r.a.Task, Attempt: r.a.Attempt, Slot: sojourn.Slot{ID: id}})
		}
	}
	for len(f.came) < 3*f.slots {
		f.came[f.arrive(1, time.Second)] = f.now
	}
	return started
}

// The theorem of the package comment, for a long job in a flood of short ones: on one
// slot, on two, on fewer and on more than sixteen, and with a reserve; told how long its
// tasks take, a tenth of it, and ten times of it.
func TestNoJobStarves(t *testing.T) {
	const each = 10 * time.Second
	for _, tc := range []struct {
		slots, tasks int
		told         time.Duration
	}{
		{1, 1, each}, {2, 3, each}, {15, 2, each}, {16, 2, each}, {25, 3, each}, {60, 9, each},
		{1, 1, 10 * each}, {2, 3, each / 10}, {16, 2, each / 10}, {60, 9, each / 10},
	} {
		t.Run(fmt.Sprintf("slots=%d,told=%v", tc.slots, tc.told), func(t *testing.T) {
			f := &flood{t: t, p: newPolicy(), slots: tc.slots, came: map[sojourn.JobID]sojourn.Time{}, busy: map[sojourn.SlotID]run{}}
			for id := range sojourn.SlotID(tc.slots) {
				f.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
			}
			for range 4 * tc.slots { // it must not arrive in an idle cluster
				f.step(0, 0)
			}
			n, arrived := time.Duration(tc.slots), f.now
			long := f.arrive(tc.tasks, tc.told)
			due := 512 * tc.told * time.Duration(tc.tasks)
			left, late, bound := tc.tasks, false, time.Duration(0)
			for left > 0 {
				left -= f.step(long, each)
				shown := n * f.now.Sub(arrived)
				if !late && shown >= due {
					late = true
					x := each * time.Duration(left)
					for _, at := range f.came {
						if n*at.Sub(arrived)+512*time.Second <= due {
							x += time.Second
						}
					}
					bound = shown + 16*x + (n+16)*each
				}
				if late && shown > bound {
					t.Fatalf("%d tasks wait when the clock shows %v, want none from %v on", left, shown, bound)
				}
			}
			if !late && tc.slots < 25 {
				t.Error("the flood did not keep the job waiting until it was late")
			}
		})
	}
}
