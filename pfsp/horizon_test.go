package pfsp_test

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// H of a job is the work that V does until the job ends there: with jobs of 4 s and 10 s,
// 8 s for the first and 14 s for the second.
func TestExplainTellsTheHorizon(t *testing.T) {
	p, err := pfsp.New(pfsp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i, e := range []time.Duration{4, 10} {
		job := &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 1, Estimate: e * time.Second}}}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []float64{8, 14} {
		attrs, _ := p.Explain(sojourn.JobID(i + 1))
		at := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "phase0" })
		group := attrs[at].Value.Group()
		at = slices.IndexFunc(group, func(a slog.Attr) bool { return a.Key == "H" })
		if got := group[at].Value.Float64(); got != want {
			t.Errorf("H of job %d is %v s, want %v", i+1, got, want)
		}
	}
}
