package rtmr_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// with returns a constructor of policies with the given options.
func with(opts rtmr.Options) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := rtmr.New(opts)
		if err != nil {
			panic(err)
		}
		return p
	}
}

// supported is what the theory covers: a map phase, a reduce phase, or both with a
// barrier between them.
func supported(j *sojourn.Job) bool {
	return len(j.Phases) == 1 ||
		j.Phases[0].Class == sojourn.Map && j.Phases[1].Class == sojourn.Reduce && j.Threshold(1) == j.Phases[0].Tasks
}

// conformance says what the policy does not promise.
var conformance = sojourntest.Options{
	IdlesOnPurpose: true, Rejects: true, NeedsEstimates: true, MaxPhases: 2,
	Classes: []sojourn.Class{sojourn.Map, sojourn.Reduce}, Supports: supported,
}

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name string
		opts rtmr.Options
	}{
		{"rebook", rtmr.Options{}},
		{"rebook, fifo", rtmr.Options{Order: rtmr.FIFO, Latency: 1e9}},
		{"rebook, deadline required", rtmr.Options{RequireDeadline: true}},
		{"chain, feedback", rtmr.Options{Booking: rtmr.Chain, Feedback: true}},
		{"chain, paper", rtmr.Options{Booking: rtmr.Chain, Feedback: true, Delta: 1e9, NoMergeMin: true, OnePosition: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sojourntest.Run(t, with(tc.opts), conformance)
		})
	}
}
