package leastwork_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// Tasks that are added to an open job, in memory that continues what was told before, count as those of a description of their own.
func TestGrownJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type world struct {
			p    *leastwork.Policy
			jobs map[sojourn.JobID]*sojourn.Job
		}
		worlds := [2]world{} // the first one shares memory, the other one copies
		for i := range worlds {
			p, err := leastwork.New(leastwork.Options{})
			if err != nil {
				t.Fatal(err)
			}
			worlds[i] = world{p, map[sojourn.JobID]*sojourn.Job{}}
		}
		now := sojourn.Time(0)
		both := func(ev func(w *world, copies bool) sojourn.Event) {
			for i := range worlds {
				e := ev(&worlds[i], i == 1)
				e.At = now
				if err := worlds[i].p.Observe(e); err != nil {
					t.Fatalf("Observe(%v) = %v", e, err)
				}
			}
		}
		for i := range 2 {
			both(func(*world, bool) sojourn.Event {
				return sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}}
			})
		}
		running := map[sojourn.SlotID]sojourn.Assignment{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.IntRange(0, 3).Draw(t, "seconds")) * time.Second)
			id := sojourn.JobID(rapid.IntRange(1, 3).Draw(t, "job"))
			estimate := time.Duration(rapid.SampledFrom([]int{0, 1, 10, 1000}).Draw(t, "estimate")) * time.Second
			slot := sojourn.SlotID(rapid.IntRange(0, 1).Draw(t, "slot"))
			if a, busy := running[slot]; busy && rapid.Bool().Draw(t, "ends") {
				delete(running, slot)
				both(func(*world, bool) sojourn.Event {
					return sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot}}
				})
			} else {
				both(func(w *world, copies bool) sojourn.Event {
					old := w.jobs[id]
					if old == nil {
						w.jobs[id] = &sojourn.Job{ID: id, Name: fmt.Sprint(id), Open: true, Phases: []sojourn.Phase{{Tasks: 1, Estimates: []time.Duration{estimate}}}}
						return sojourn.Event{Kind: sojourn.JobArrived, Job: w.jobs[id]}
					}
					next := *old
					p := old.Phases[0]
					if copies {
						p.Estimates = slices.Clone(p.Estimates)
					}
					p.Estimates = append(p.Estimates, estimate)
					p.Tasks++
					next.Phases = []sojourn.Phase{p}
					w.jobs[id] = &next
					return sojourn.Event{Kind: sojourn.JobRevised, Job: &next}
				})
			}
			for s := range sojourn.SlotID(2) {
				if _, busy := running[s]; busy {
					continue
				}
				a, ok := worlds[0].p.Assign(s)
				b, also := worlds[1].p.Assign(s)
				if a != b || ok != also {
					t.Fatalf("Assign(%d) = %v, %v, and %v, %v where descriptions are copied", s, a, ok, b, also)
				}
				if ok {
					running[s] = a
				}
			}
			for id := range worlds[0].jobs { //sojourn:unordered each is compared
				a, _ := worlds[0].p.Explain(id)
				b, _ := worlds[1].p.Explain(id)
				if fmt.Sprint(a) != fmt.Sprint(b) {
					t.Fatalf("Explain(%d) = %v, and %v where descriptions are copied", id, a, b)
				}
			}
		}
	})
}
