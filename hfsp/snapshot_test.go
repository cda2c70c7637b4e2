package hfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A job takes memory for what is started, not for what is announced.
func TestLargeJob(t *testing.T) {
	for name, opts := range map[string]hfsp.Options{
		"default":   {},
		"kill":      {Preemption: hfsp.Kill},
		"estimates": {NodeDelay: 3 * time.Second, Estimator: newOracle},
	} {
		t.Run(name, func(t *testing.T) { snapshottest.Large(t, with(opts)) })
	}
}

// What is forged is refused, or leaves a policy that goes on.
func TestForgedSnapshots(t *testing.T) {
	for name, opts := range map[string]hfsp.Options{
		"default":   {},
		"kill":      {TrainingTasks: 2, Delta: time.Second, Preemption: hfsp.Kill, KillFraction: 0.5, Late: vqueue.LateFirst},
		"estimates": {NodeDelay: 3 * time.Second, RackDelay: time.Second, EarlySlots: ptr(1), Preemption: hfsp.Kill, Estimator: newOracle},
	} {
		t.Run(name, func(t *testing.T) { snapshottest.Attack(t, with(opts), 300) })
	}
}
