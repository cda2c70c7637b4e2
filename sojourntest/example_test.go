package sojourntest_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// The test that the package of a policy has. This policy promises everything, so
// that the zero Options fit.
func ExampleRun() {
	TestConformance := func(t *testing.T) {
		sojourntest.Run(t, func() sojourn.Policy {
			p, err := fifo.New(fifo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return p
		}, sojourntest.Options{})
	}
	_ = TestConformance
}

// A policy for MapReduce jobs that gathers them into batches, needs to know how
// long tasks take, and turns down deadlines that it cannot meet.
func ExampleOptions() {
	_ = sojourntest.Options{
		IdlesOnPurpose: true,
		Rejects:        true,
		NeedsEstimates: true,
		MaxPhases:      2,
		Classes:        []sojourn.Class{sojourn.MapClass, sojourn.ReduceClass},
		Supports: func(j *sojourn.Job) bool {
			return j.Deadline > 0 && j.Phases[0].Class == sojourn.MapClass
		},
	}
}
