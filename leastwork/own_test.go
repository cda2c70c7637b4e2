package leastwork_test

import (
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/leastwork"
)

// What the first task of a phase shows of the estimates of its job holds for the other phases, half of the octaves after one phase
// and two thirds after two; in other classes as well. Estimates that replace others begin anew.
func TestFinishedPhasesCorrectTheEstimatesOfOthers(t *testing.T) {
	const s = time.Second
	for _, test := range []struct {
		name   string
		took   []time.Duration // the first task of each of the first phases
		revise time.Duration   // the estimates after that; 0 if nothing is revised
		class  sojourn.Class   // of the last phase
		want   float64         // work of the last phase: 10 tasks, told to take 100 s
	}{
		{"nothing has finished", nil, 0, 0, 1000},
		{"a hundredth of the estimate", []time.Duration{s}, 0, 0, 100},
		{"a hundred times the estimate", []time.Duration{10_000 * s}, 0, 0, 10_000},
		{"two phases", []time.Duration{s / 10, s / 10}, 0, 0, 10},
		{"two phases that differ", []time.Duration{s, 10_000 * s}, 0, 0, 1000},
		{"in another class", []time.Duration{s}, 0, 1, 100},
		{"two phases, in another class", []time.Duration{s / 10, s / 10}, 0, 1, 10},
		{"good estimates", []time.Duration{100 * s}, 0, 0, 1000},
		{"revised", []time.Duration{s}, 60 * s, 0, 600},
		{"revised, as before", []time.Duration{s}, 100 * s, 0, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := leastwork.New(leastwork.Options{})
			if err != nil {
				t.Fatal(err)
			}
			now := sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				ev.At = now
				if err := p.Observe(ev); err != nil {
					t.Fatalf("Observe(%v) = %v", ev, err)
				}
			}
			job := func(estimate time.Duration) *sojourn.Job {
				j := &sojourn.Job{ID: 1}
				for range test.took {
					j.Phases = append(j.Phases, sojourn.Phase{Tasks: 1, Estimate: estimate})
				}
				j.Phases = append(j.Phases, sojourn.Phase{Tasks: 10, Estimate: estimate, Class: test.class})
				return j
			}
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(100 * s)})
			for _, took := range test.took {
				a := start(t, p)
				now = now.Add(took)
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 1}})
			}
			if test.revise > 0 {
				observe(sojourn.Event{Kind: sojourn.JobRevised, Job: job(test.revise)})
			}
			attrs, _ := p.Explain(1)
			for _, a := range attrs {
				if a.Key == "work" && math.Abs(a.Value.Float64()/test.want-1) > 1e-4 {
					t.Errorf("work %v, want %v", a.Value, test.want)
				}
			}
		})
	}
}
