package fewest

import (
	"testing"

	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func BenchmarkSteady(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
