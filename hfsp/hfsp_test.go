package hfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// with returns what makes new policies of these options.
func with(opts hfsp.Options) func() sojourn.Policy {
	return func() sojourn.Policy { return newWith(opts) }
}

func newWith(opts hfsp.Options) *hfsp.Policy {
	p, err := hfsp.New(opts)
	if err != nil {
		panic(err)
	}
	return p
}

func ptr[T any](v T) *T { return &v }

func TestConformance(t *testing.T) {
	for name, opts := range map[string]hfsp.Options{
		"default": {},
		// Phases of the kit have few tasks.
		"training": {TrainingTasks: 2, TrainingSlots: ptr(1), Delta: 2 * time.Second, Late: hfsp.LateShare},
		"literal":  {TrainingTasks: 1, Delta: time.Second, SizeUpdate: hfsp.Literal, Train: hfsp.FinishStarted, Priority: hfsp.SpeedModifier},
		"kill":     {TrainingTasks: 2, Delta: time.Second, Preemption: hfsp.Kill, KillOnce: true, KillFraction: 0.5},
		"max-min":  {TrainingTasks: 2, Delta: time.Second, VirtualCluster: hfsp.MaxMin},
		"delay":    {TrainingTasks: 2, TrainingSlots: ptr(2), NodeDelay: 3 * time.Second, RackDelay: time.Second, Preemption: hfsp.Kill},
		"oracle": {TrainingTasks: 2, Estimator: func() hfsp.Estimator {
			return hfsp.NewOracle(hfsp.NewTrainer(1, 0))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			sojourntest.Run(t, with(opts), sojourntest.Options{IdlesOnPurpose: opts.NodeDelay > 0})
		})
	}
}
