package fair_test

import (
	"errors"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// Fair knows what the policies of all its pools know, and refuses the rest, in whatever pool.
func TestFairSupportsWhatAllPoolsSupport(t *testing.T) {
	const needs, held, attempts, parallel, speed, open = sojourn.FeatureNeeds, sojourn.FeatureHeld, sojourn.FeatureAttempts, sojourn.FeatureParallelism, sojourn.FeatureSpeed, sojourn.FeatureOpen
	in := func(p func() sojourn.Policy) fair.Pool { return fair.Pool{Policy: p} }
	newTD, newRTMR, newMARS := constructors.TD.With(td.Options{}), constructors.RTMR.With(rtmr.Options{}), constructors.MarS.With(mars.Options{})
	for _, tc := range []struct {
		name  string
		pools map[string]fair.Pool
		want  sojourn.Features
	}{
		{"no pools", nil, needs | held | attempts | parallel | speed | open},
		{"pools without policies", map[string]fair.Pool{"a": {}, "a/b": {Weight: 2}}, needs | held | attempts | parallel | speed | open},
		{"all know all", map[string]fair.Pool{"a": in(constructors.FIFO.With(fifo.Options{})), "b": in(constructors.SRPT.With(baseline.SRPTOptions{}))}, needs | held | attempts | parallel | speed | open},
		{"td", map[string]fair.Pool{"a": in(newTD)}, held | attempts | parallel | speed | open},
		{"mars below", map[string]fair.Pool{"a/b/c": in(newMARS)}, held | attempts | parallel | speed | open},
		{"every other pool", map[string]fair.Pool{"": in(newTD), "a": {}}, held | attempts | parallel | speed | open},
		{"fifo and rtmr", map[string]fair.Pool{"a": in(constructors.FIFO.With(fifo.Options{})), "b": in(newRTMR)}, attempts | parallel},
		{"rtmr and td", map[string]fair.Pool{"a": in(newRTMR), "b": in(newTD)}, attempts | parallel},
		{"an unknown one", map[string]fair.Pool{"a": in(func() sojourn.Policy {
			p := constructors.FIFO.With(fifo.Options{})()
			return silent{p, p.(sojourn.Seeker)}
		})}, 0},
	} {
		p := newWith(fair.Options{Pools: tc.pools})
		if got := sojourn.Supports(p); got != tc.want|sojourn.FeaturePools { // which the policies of pools need not know
			t.Errorf("%s: supports %v, want %v", tc.name, got, tc.want|sojourn.FeaturePools)
		}
		for _, pool := range []string{"", "a", "b", "a/b/c", "z"} {
			for feature, job := range map[sojourn.Features]sojourn.Job{
				needs:    {Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1, Needs: []int{}}}},
				held:     {Phases: []sojourn.Phase{{Tasks: 1, Held: true}}},
				parallel: {Phases: []sojourn.Phase{{Tasks: 1}}, Parallelism: 1},
			} {
				job.ID, job.Pool = 1, pool
				ev := sojourn.Event{Kind: sojourn.JobArrived, Job: &job}
				if err := p.Observe(ev); tc.want&feature == 0 && !errors.Is(err, sojourn.ErrUnsupported) {
					t.Errorf("%s: a job with %v in pool %q: %v, want ErrUnsupported", tc.name, feature, pool, err)
				} else if tc.want == needs|held|attempts|parallel && err != nil {
					t.Errorf("%s: a job with %v in pool %q: %v", tc.name, feature, pool, err)
				} else if err == nil {
					if err := p.Observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
}

// silent is a policy that was written before there were features.
type silent struct {
	sojourn.Policy
	sojourn.Seeker
}
