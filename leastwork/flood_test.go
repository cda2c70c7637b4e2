package leastwork_test

import (
	"cmp"
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/leastwork"
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

func newFlood(t *testing.T, p sojourn.Policy, slots int) *flood {
	f := &flood{t: t, p: p, slots: slots, came: map[sojourn.JobID]sojourn.Time{}, busy: map[sojourn.SlotID]run{}}
	for id := range sojourn.SlotID(slots) {
		f.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	for range 4 * slots { // the long job must not arrive in an idle cluster
		f.step(0, 0)
	}
	return f
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

// The theorem of the package comment, for a long job in a flood of short ones, without a reserve and with
// one; told how long its tasks take, a tenth of it, and ten times of it.
func TestNoJobStarves(t *testing.T) {
	const each = 10 * time.Second
	for _, tc := range []struct {
		slots, reserved, tasks int
		told                   time.Duration
		patience               int
	}{
		{1, 0, 1, each, 0}, {2, 0, 3, each, 0}, {9, 0, 2, each, 0}, {10, 1, 2, each, 0}, {25, 1, 3, each, 0}, {60, 2, 4, each, 64},
		{1, 0, 1, 10 * each, 0}, {2, 0, 3, each / 10, 0}, {16, 1, 2, each / 10, 0}, {60, 2, 4, each / 10, 64},
		{2, 0, 3, each, 64}, {60, 2, 9, each, 16}, {16, 1, 2, each / 10, 1500},
	} {
		t.Run(fmt.Sprintf("slots=%d,told=%v,patience=%d", tc.slots, tc.told, tc.patience), func(t *testing.T) {
			p, err := leastwork.New(leastwork.Options{Patience: tc.patience})
			if err != nil {
				t.Fatal(err)
			}
			f := newFlood(t, p, tc.slots)
			arrived := f.now
			long := f.arrive(tc.tasks, tc.told)
			due := time.Duration(cmp.Or(tc.patience, 512)) * time.Duration(tc.tasks) * max(tc.told, each)
			left, late, bound := tc.tasks, false, time.Duration(0)
			for left > 0 {
				left -= f.step(long, each)
				waited := f.now.Sub(arrived)
				if !late && waited >= due {
					late = true
					x := each * time.Duration(left)
					for range f.came {
						x += time.Second
					}
					bound = waited + (x+each*time.Duration(tc.slots))/time.Duration(tc.slots-tc.reserved)
				}
				if late && waited > bound {
					t.Fatalf("%d tasks wait after %v, want none from %v on", left, waited, bound)
				}
			}
			if waited := f.now.Sub(arrived); waited < due/20 {
				t.Errorf("the flood kept the job waiting for %v only", waited)
			}
		})
	}
}

// The same, although the process starts anew many times before the job is due.
func TestNoJobStarvesOverRestarts(t *testing.T) {
	const each = 10 * time.Second
	for _, slots := range []int{1, 2, 15} {
		t.Run(fmt.Sprint("slots=", slots), func(t *testing.T) {
			a := account.New(newPolicy())
			f := newFlood(t, a, slots)
			arrived := f.now
			long := f.arrive(2, each)
			const due = 2 * 512 * each
			restarted := f.now
			for f.step(long, each) == 0 {
				if f.now.Sub(arrived) > due+6*each {
					t.Fatalf("the job waits for %v, and was due after %v", f.now.Sub(arrived), due)
				}
				if f.now.Sub(restarted) < due/4 {
					continue
				}
				restarted = f.now
				next := account.New(newPolicy())
				if err := a.Rebuild(next); err != nil {
					t.Fatal(err)
				}
				a, f.p = next, next
			}
		})
	}
}

// A job whose attempts fail or are refused for ever delays another, and does not starve it, even if it weighs more.
func TestFailuresStarveNobody(t *testing.T) {
	for _, kind := range []sojourn.EventKind{sojourn.TaskFailed, sojourn.TaskRefused} {
		for _, held := range []time.Duration{10 * time.Microsecond, time.Millisecond, time.Second} {
			for _, weight := range []float64{1, 50} {
				for _, slots := range []int{1, 16} {
					p, now := newPolicy(), sojourn.Time(0)
					observe := func(ev sojourn.Event) {
						t.Helper()
						ev.At = now
						if err := p.Observe(ev); err != nil {
							t.Fatal(err)
						}
					}
					for id := range sojourn.SlotID(slots) {
						observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
					}
					const work = 10 * time.Millisecond
					observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Weight: weight, Phases: []sojourn.Phase{{Tasks: 2 * slots, Estimate: 1}}}})
					observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: work}}}})
					lost, bound := time.Duration(0), time.Duration(weight)*work+time.Duration(2*slots)*held
					for started := false; !started && lost <= bound; {
						var running []sojourn.Assignment
						for id := range sojourn.SlotID(slots) {
							if a, ok := p.Assign(id); ok {
								running = append(running, a)
								started = started || a.Task.Job == 2
							}
						}
						now = now.Add(held)
						for _, a := range running {
							if a.Task.Job == 1 {
								observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
								lost += held
							}
						}
					}
					if lost > bound {
						t.Errorf("%v after %v, weight %v, %d slots: %v are lost and the other job has not started", kind, held, weight, slots, lost)
					}
				}
			}
		}
	}
}
