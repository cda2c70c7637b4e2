package steady_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

// The benchmarks that the package of a policy has.
func Example() {
	newPolicy := func() sojourn.Policy {
		p, err := fifo.New(fifo.Options{})
		if err != nil {
			panic(err)
		}
		return p
	}
	BenchmarkSteady := func(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
	BenchmarkLife := func(b *testing.B) { steady.Life(b, newPolicy, steady.Sizes...) }
	BenchmarkIdle := func(b *testing.B) { steady.Idle(b, newPolicy) }
	_, _, _ = BenchmarkSteady, BenchmarkLife, BenchmarkIdle
}
