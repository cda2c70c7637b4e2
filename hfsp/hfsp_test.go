package hfsp_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// with returns what makes new policies of these options.
func with(opts hfsp.Options) func() sojourn.Policy {
	return func() sojourn.Policy { return newWith(opts) }
}

func newWith(opts hfsp.Options) *hfsp.Policy {
	return must(hfsp.New(opts))
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func ptr[T any](v T) *T { return &v }

// Early tasks are held back: from half of the slots, and always from the last one where
// they might wait in a circle.
func TestConformance(t *testing.T) {
	histories.Share(t, 4)
	sojourntest.Run(t, with(hfsp.Options{TrainingTasks: 2}), sojourntest.Options{
		IdlesOnPurpose: true,
		Others: []func() sojourn.Policy{
			with(hfsp.Options{TrainingTasks: 3}), with(hfsp.Options{TrainingTasks: 2, Late: vqueue.LateFirst}),
			with(hfsp.Options{TrainingTasks: 2, EarlySlots: ptr(1)}), with(hfsp.Options{TrainingTasks: 2, EarlyDelay: 1}),
			with(hfsp.Options{TrainingTasks: 2, Xi: 2}), with(hfsp.Options{TrainingTasks: 2, DefaultTaskTime: 1}),
		},
		Changed: []func() sojourn.Policy{with(hfsp.Options{
			TrainingTasks: 2, TrainingSlots: ptr(1), Delta: time.Second, Preemption: hfsp.Kill, KillFraction: 0.5,
			NodeDelay: time.Second, RackDelay: 2 * time.Second,
		})},
	})
}

// With a reserve.
func TestConformanceWithReserve(t *testing.T) {
	histories.Share(t, 8)
	sojourntest.Run(t, with(hfsp.Options{TrainingTasks: 2, Reserve: 0.5}), sojourntest.Options{
		IdlesOnPurpose: true,
		Changed:        []func() sojourn.Policy{with(hfsp.Options{TrainingTasks: 2}), with(hfsp.Options{TrainingTasks: 2, Reserve: 1, NodeDelay: time.Second})},
	})
}

// Under any options, drawn anew for each history.
func TestConformanceOfAllOptions(t *testing.T) {
	histories.Options(t, 4, anyOptions, func(t *testing.T, opts hfsp.Options) {
		sojourntest.Run(t, with(opts), sojourntest.Options{IdlesOnPurpose: true})
	})
}

// anyOptions draws options, more often those under which the phases of sojourntest, which
// have few tasks, are trained and held back.
func anyOptions(t *rapid.T) hfsp.Options {
	bit := func(name string) bool { return rapid.Bool().Draw(t, name) }
	opts := hfsp.Options{
		TrainingTasks:   rapid.IntRange(1, 3).Draw(t, "t"),
		Delta:           time.Duration(rapid.IntRange(1, 5).Draw(t, "delta")) * time.Second,
		Xi:              rapid.SampledFrom([]float64{0, 1.5, 1000}).Draw(t, "xi"),
		DefaultTaskTime: time.Duration(rapid.IntRange(0, 5).Draw(t, "task time")) * time.Second,
		EarlyDelay:      time.Duration(rapid.IntRange(1, 9).Draw(t, "early delay")) * time.Second,
		KillFraction:    rapid.SampledFrom([]float64{0, 0.25, 2}).Draw(t, "fraction"),
	}
	if bit("T") {
		opts.TrainingSlots = ptr(rapid.IntRange(0, 3).Draw(t, "T"))
	}
	if bit("early") {
		opts.EarlySlots = ptr(rapid.SampledFrom([]int{0, 1, 1000}).Draw(t, "early"))
	}
	if bit("kill") {
		opts.Preemption = rapid.SampledFrom([]hfsp.Preemption{hfsp.Kill, hfsp.KillAny}).Draw(t, "preemption")
	} else {
		opts.Reserve = rapid.SampledFrom([]float64{0, 0.1, 0.5, 1}).Draw(t, "reserve")
	}
	if bit("late") {
		opts.Late = vqueue.LateFirst
	}
	if bit("delay") {
		opts.NodeDelay, opts.RackDelay = time.Duration(rapid.IntRange(0, 3).Draw(t, "D1"))*time.Second, time.Duration(rapid.IntRange(0, 3).Draw(t, "D2"))*time.Second
	}
	switch rapid.IntRange(0, 2).Draw(t, "estimator") {
	case 0:
		opts.Estimator = newOracle
	case 1:
		opts.Estimator = oracle
	}
	return opts
}

// newOracle returns an estimator that believes what jobs say, with other numbers than the default ones.
func newOracle() hfsp.Estimator { return hfsp.NewOracle(hfsp.NewTrainer(1.5, time.Second)) }
