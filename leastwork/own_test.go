package leastwork_test

import (
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
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
			w := newWide(t, 1)
			job := func(estimate time.Duration) *sojourn.Job {
				j := &sojourn.Job{ID: 1}
				for range test.took {
					j.Phases = append(j.Phases, sojourn.Phase{Tasks: 1, Estimate: estimate})
				}
				j.Phases = append(j.Phases, sojourn.Phase{Tasks: 10, Estimate: estimate, Class: test.class})
				return j
			}
			w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(100 * s)})
			for _, took := range test.took {
				a := w.offer()[0]
				w.now = w.now.Add(took)
				w.finish(a)
			}
			if test.revise > 0 {
				w.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: job(test.revise)})
			}
			attrs, _ := w.p.(sojourn.Explainer).Explain(1)
			i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "work" })
			if work := attrs[i].Value.Float64(); math.Abs(work/test.want-1) > 1e-4 {
				t.Errorf("work %v, want %v", work, test.want)
			}
		})
	}
}
