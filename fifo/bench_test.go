package fifo_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func newPolicy() sojourn.Policy {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		panic(err)
	}
	return p
}

func BenchmarkFloor(b *testing.B)  { steady.Floor(b, steady.Sizes...) }
func BenchmarkIdle(b *testing.B)   { steady.Idle(b, newPolicy) }
func BenchmarkSteady(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
func BenchmarkLife(b *testing.B)   { steady.Life(b, newPolicy, steady.Sizes...) }

func BenchmarkSnapshot(b *testing.B) { steady.Snapshot(b, newPolicy, 1000, 100_000) }
