package fair_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newFSP() sojourn.Policy {
	p, err := baseline.NewFSP(baseline.FSPOptions{})
	if err != nil {
		panic(err)
	}
	return p
}

func newFIFO() sojourn.Policy {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		panic(err)
	}
	return p
}

// The kit's pools are "", "a" and "b".
func TestConformance(t *testing.T) {
	opts := fair.Options{
		Pools: map[string]fair.Pool{
			"":  {Weight: 2, Min: fair.Slots{0: 1, 7: 1}},
			"a": {Weight: 0.5, Min: fair.Slots{0: 2}, Policy: newFSP},
			"b": {Weight: 3},
		},
		Preemption: fair.Preemption{MinTimeout: 2 * time.Second, FairTimeout: 3 * time.Second, Interval: time.Second, Limit: 2},
	}
	sojourntest.Run(t, func() sojourn.Policy { return newWith(opts) }, sojourntest.Options{Others: []func() sojourn.Policy{newPolicy, newFSP}})
}

// Pools inside pools, with limits: what the kit calls "a" and "b" is further down.
func TestConformanceWithLimits(t *testing.T) {
	opts := fair.Options{
		Order: fair.Deficit,
		Delay: 5 * time.Second,
		Pools: map[string]fair.Pool{
			"x":     {MaxJobs: 2, Max: fair.Slots{0: 3, 1: 3, 7: 3}},
			"x/y":   {Weight: 3, MaxJobs: 1, Min: fair.Slots{0: 1}},
			"x/*/*": {Max: fair.Slots{0: 1}},
			"p":     {Max: fair.Slots{0: 2}},
			"p/q":   {Policy: newFIFO},
		},
		Preemption: fair.Preemption{MinTimeout: 2 * time.Second, FairTimeout: 3 * time.Second, Interval: time.Second, ReportOnly: true},
	}
	pools := map[string]string{"": "x/y", "a": "x/y/z", "b": "p/q"}
	sojourntest.Run(t, func() sojourn.Policy { return renamed{newWith(opts).(*fair.Policy), pools} }, sojourntest.Options{IdlesOnPurpose: true})
}

// A renamed policy knows pools by other names than its driver does.
type renamed struct {
	*fair.Policy
	pools map[string]string
}

func (r renamed) job(j *sojourn.Job) *sojourn.Job {
	if j == nil {
		return nil
	}
	c := *j
	if pool, ok := r.pools[j.Pool]; ok {
		c.Pool = pool
	}
	return &c
}

func (r renamed) Observe(ev sojourn.Event) error {
	told := ev
	told.Job = r.job(ev.Job)
	if err := r.Policy.Observe(told); err != nil {
		return &sojourn.EventError{Event: ev, Err: errors.Unwrap(err)}
	}
	return nil
}

func (r renamed) Admit(j *sojourn.Job) error { return r.Policy.Admit(r.job(j)) }
