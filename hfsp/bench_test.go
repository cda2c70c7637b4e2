package hfsp_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/steady"
)

func BenchmarkSteady(b *testing.B) {
	b.Run("floor", func(b *testing.B) { steady.Floor(b, steady.Sizes...) })
	b.Run("hfsp", func(b *testing.B) { steady.Run(b, with(hfsp.Options{}), steady.Sizes...) })
}

func BenchmarkIdle(b *testing.B) { steady.Idle(b, with(hfsp.Options{})) }
