package hfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// fuzzed has all that can be restored: training, waits, guards, what was learnt.
func fuzzed() sojourn.Policy {
	return newWith(hfsp.Options{TrainingTasks: 2, TrainingSlots: ptr(1), Delta: 2 * time.Second, EarlySlots: ptr(1), Preemption: hfsp.Kill,
		KillFraction: 0.5, NodeDelay: 3 * time.Second, RackDelay: time.Second, Estimator: newOracle})
}

func FuzzEvents(f *testing.F) {
	sojourntest.FuzzEvents(f, fuzzed, sojourntest.Options{IdlesOnPurpose: true})
}

func FuzzUnmarshal(f *testing.F) {
	sojourntest.FuzzUnmarshal(f, fuzzed, sojourntest.Options{IdlesOnPurpose: true})
}
