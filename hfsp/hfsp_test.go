package hfsp_test

import (
	"flag"
	"strconv"
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

// Early tasks are held back: by default from half of the slots, and always from the last
// one where they might wait in a circle. Phases of the kit have few tasks, hence the
// small t.
func TestConformance(t *testing.T) {
	for name, opts := range map[string]hfsp.Options{
		"default":  {},
		"training": {TrainingTasks: 2, TrainingSlots: ptr(1), EarlySlots: ptr(1000), Delta: 2 * time.Second, Preemption: hfsp.Kill, KillOnce: true, KillFraction: 0.5},
		"max-min": {TrainingTasks: 1, EarlySlots: ptr(1000), Delta: time.Second, VirtualCluster: hfsp.MaxMin, SizeUpdate: hfsp.Literal,
			Train: hfsp.FinishStarted, Priority: hfsp.SpeedModifier, Late: hfsp.LateFirst},
		"delay": {TrainingTasks: 2, TrainingSlots: ptr(2), EarlySlots: ptr(1), EarlyDelay: 5 * time.Second, NodeDelay: 3 * time.Second, RackDelay: time.Second,
			Preemption: hfsp.Kill, Estimator: newHistory},
	} {
		t.Run(name, func(t *testing.T) {
			if name != "default" {
				defer setChecks(t, 8)()
			}
			sojourntest.Run(t, with(opts), sojourntest.Options{IdlesOnPurpose: true})
		})
	}
}

// setChecks makes rapid run one history of n only, until what it returns is called.
func setChecks(t *testing.T, n int) (restore func()) {
	f := flag.Lookup("rapid.checks")
	was := f.Value.String()
	checks, err := strconv.Atoi(was)
	if err != nil {
		t.Fatal(err)
	}
	f.Value.Set(strconv.Itoa(max(checks/n, 1)))
	return func() { f.Value.Set(was) }
}

// newHistory returns an estimator of recurring jobs that believes what jobs say.
func newHistory() hfsp.Estimator {
	e, err := hfsp.NewHistory(hfsp.NewOracle(hfsp.NewTrainer(1.5, time.Second)), hfsp.HistoryOptions{Runs: 2})
	if err != nil {
		panic(err)
	}
	return e
}
