package fair_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/steady"
)

func newPolicy() sojourn.Policy {
	p, err := fair.New(fair.Options{})
	if err != nil {
		panic(err)
	}
	return p
}

func BenchmarkFloor(b *testing.B)  { steady.Floor(b, steady.Sizes...) }
func BenchmarkIdle(b *testing.B)   { steady.Idle(b, newPolicy) }
func BenchmarkSteady(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
