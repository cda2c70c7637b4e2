package leastwork_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newPolicy() sojourn.Policy { return newWith(leastwork.Options{}) }

func newWith(opts leastwork.Options) sojourn.Policy {
	p, err := leastwork.New(opts)
	if err != nil {
		panic(err)
	}
	return p
}

var options = sojourntest.Options{IdlesOnPurpose: true}

func TestConformance(t *testing.T) {
	histories.Share(t, 2)
	sojourntest.Run(t, newPolicy, options)
}

func FuzzEvents(f *testing.F) { sojourntest.FuzzEvents(f, newPolicy, options) }

func FuzzUnmarshal(f *testing.F) { sojourntest.FuzzUnmarshal(f, newPolicy, options) }

func TestForgedSnapshots(t *testing.T) { snapshottest.Attack(t, newPolicy, 600) }

func TestLargeJob(t *testing.T) { snapshottest.Large(t, newPolicy) }
