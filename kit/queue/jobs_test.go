package queue

import (
	"cmp"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A queue of jobs is a queue of phases whose key is that of the job, and then the number of
// the phase. Keys that grow while time passes make no difference. Here they grow by weight,
// so that jobs overtake one another; either all keys grow, or those of jobs that run
// nothing, or jobs of one weight are a group. It also makes no difference whether Assign files a job, or Update after Take.
func TestJobsArePhasesByTheKeyOfTheirJob(t *testing.T) {
	type key struct {
		value float64
		rate  float64 // by which the value grows from 0, for groups
		seq   uint64
		phase int
	}
	rapid.Check(t, func(t *rapid.T) {
		var now sojourn.Time
		less := func(a, b key) bool {
			return cmp.Or(cmp.Compare(a.value+a.rate*float64(now), b.value+b.rate*float64(now)), cmp.Compare(a.seq, b.seq), cmp.Compare(a.phase, b.phase)) < 0
		}
		groups := rapid.Bool().Draw(t, "groups")
		some := !groups && rapid.Bool().Draw(t, "only some keys grow")
		growing := func(j *ledger.Job[struct{}], _ *ledger.Side) bool { return !some || j.Running() == 0 }
		value := func(j *ledger.Job[struct{}]) float64 {
			if growing(j, nil) {
				return j.Spec().Weight * float64(now)
			}
			return j.Spec().Weight * float64(j.Running())
		}
		order := JobOrder[struct{}, key]{
			Key:   func(j *ledger.Job[struct{}]) key { return key{value: value(j), seq: j.Seq()} },
			Less:  less,
			Grows: growing,
		}
		if groups {
			order.Grows = nil
			order.Key = func(j *ledger.Job[struct{}]) key { return key{rate: j.Spec().Weight, seq: j.Seq()} }
			order.Group = func(k key) int { return int(k.rate) }
		}
		jobs := NewJobs(order)
		phases := NewPhases(PhaseOrder[struct{}, key]{
			Key: func(j *ledger.Job[struct{}], phase int, _ uint32) (key, bool) {
				return key{value(j), 0, j.Seq(), phase}, true
			},
			Less: less,
		})
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := jobs.Ledger.Check(&ev); err != nil {
				t.Fatal(err)
			}
			jobs.File(&ev, jobs.Apply(&ev))
			phases.File(&ev, phases.Apply(&ev))
			for j := range phases.Ledger.All() {
				phases.Update(j) // keys may have grown
			}
		}
		free := []sojourn.SlotID{}
		for id := range sojourn.SlotID(4) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: sojourn.Class(id % 2)}})
			free = append(free, id)
		}
		var live []sojourn.Assignment
		next := sojourn.JobID(1)
		t.Repeat(map[string]func(*rapid.T){
			"arrive": func(t *rapid.T) {
				spec := &sojourn.Job{ID: next, Weight: float64(rapid.IntRange(1, 4).Draw(t, "weight"))}
				for i := range rapid.IntRange(1, 3).Draw(t, "phases") {
					ph := sojourn.Phase{Tasks: rapid.IntRange(1, 3).Draw(t, "tasks"), Class: sojourn.Class(rapid.IntRange(0, 1).Draw(t, "class"))}
					if i > 0 {
						ph.After = rapid.IntRange(sojourn.NoBarrier, spec.Phases[i-1].Tasks).Draw(t, "after")
					}
					spec.Phases = append(spec.Phases, ph)
				}
				next++
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec})
			},
			"wait": func(t *rapid.T) {
				now = now.Add(time.Duration(rapid.IntRange(1, 3).Draw(t, "time")))
				observe(sojourn.Event{Kind: sojourn.Tick})
			},
			"assign": func(t *rapid.T) {
				if len(free) == 0 {
					t.Skip("no free slot")
				}
				i := rapid.IntRange(0, len(free)-1).Draw(t, "slot")
				want, wanted := phases.Assign(free[i])
				var got sojourn.Assignment
				var ok bool
				if some || rapid.Bool().Draw(t, "take") {
					var j *ledger.Job[struct{}]
					if j, got = jobs.Take(free[i]); j != nil {
						ok = true
						jobs.Update(j)
						for k := range phases.Ledger.All() {
							phases.Update(k)
						}
					}
				} else {
					got, ok = jobs.Assign(free[i])
				}
				if got != want || ok != wanted {
					t.Fatalf("Assign = %v, %v, want %v, %v", got, ok, want, wanted)
				}
				if ok {
					live = append(live, got)
					free = append(free[:i], free[i+1:]...)
				}
			},
			"end": func(t *rapid.T) {
				if len(live) == 0 {
					t.Skip("nothing runs")
				}
				i := rapid.IntRange(0, len(live)-1).Draw(t, "attempt")
				a := live[i]
				live = append(live[:i], live[i+1:]...)
				free = append(free, a.Slot)
				kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFailed}).Draw(t, "kind")
				observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			},
		})
	})
}

// Group and Grows exclude each other, and each alone is well.
func TestGroupOrGrows(t *testing.T) {
	for n := range 4 {
		order := JobOrder[struct{}, uint64]{
			Key:  func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
			Less: func(a, b uint64) bool { return a < b },
		}
		if n&1 != 0 {
			order.Group = func(uint64) int { return 0 }
		}
		if n&2 != 0 {
			order.Grows = func(*ledger.Job[struct{}], *ledger.Side) bool { return false }
		}
		func() {
			defer func() {
				if r := recover(); (r != nil) != (n == 3) {
					t.Errorf("Group %v, Grows %v: panic %v", n&1 != 0, n&2 != 0, r)
				}
			}()
			NewJobs(order)
		}()
	}
}
