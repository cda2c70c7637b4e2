package main

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
)

type options struct{}

// fewest serves the job with the fewest unfinished tasks: it is SRPT that is told
// that all tasks take equally long.
type fewest struct{ *baseline.SRPT }

func newFewest(options) (fewest, error) {
	p, err := baseline.NewSRPT(baseline.SRPTOptions{})
	return fewest{p}, err
}

// Observe implements [sojourn.Policy].
func (p fewest) Observe(ev sojourn.Event) error {
	told := ev
	if ev.Job != nil && ev.Job.Check() == nil {
		job := *ev.Job // the original belongs to the driver
		job.Phases = slices.Clone(job.Phases)
		for i := range job.Phases {
			job.Phases[i].Estimate, job.Phases[i].Estimates = time.Second, nil
		}
		told.Job = &job
	}
	err := p.SRPT.Observe(told)
	if e, ok := err.(*sojourn.EventError); ok {
		e.Event = ev
	}
	return err
}
