package hfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func BenchmarkSteady(b *testing.B) {
	b.Run("floor", func(b *testing.B) { steady.Floor(b, steady.Sizes...) })
	b.Run("hfsp", func(b *testing.B) { steady.Run(b, with(hfsp.Options{}), steady.Sizes...) })
}

func BenchmarkIdle(b *testing.B) { steady.Idle(b, with(hfsp.Options{})) }

// BenchmarkQuestions is what a driver asks at every event. The options are those that make
// a question expensive.
func BenchmarkQuestions(b *testing.B) {
	for _, o := range []struct {
		name string
		opts hfsp.Options
	}{
		{"default", hfsp.Options{}},
		{"kill", hfsp.Options{Preemption: hfsp.Kill}},
		{"kill,fraction", hfsp.Options{Preemption: hfsp.Kill, KillFraction: 0.25, KillOnce: true, Estimator: oracle}},
		{"kill,first", hfsp.Options{Preemption: hfsp.Kill, Late: hfsp.LateFirst, Estimator: oracle}},
		{"delay", hfsp.Options{Preemption: hfsp.Kill, NodeDelay: 5 * time.Second}},
	} {
		b.Run(o.name, func(b *testing.B) { steady.Questions(b, with(o.opts), 1000, 100_000) })
	}
}
