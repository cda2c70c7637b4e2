package baseline_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest/choice"
)

func TestSRPTServesTheLeastRemainingWork(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choice.Check(t, must(baseline.NewSRPT, baseline.SRPTOptions{})(), choice.Options{Classes: 2, Phases: 2},
			func(w *choice.World, _ sojourn.Class, a, b *choice.Job) bool {
				if ra, rb := w.Remaining(a), w.Remaining(b); ra != rb {
					return ra < rb
				}
				return a.Seq < b.Seq
			})
	})
}

func TestLASServesTheLeastAttainedService(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choice.Check(t, must(baseline.NewLAS, baseline.LASOptions{})(), choice.Options{Classes: 2, Phases: 2},
			func(w *choice.World, _ sojourn.Class, a, b *choice.Job) bool {
				if wa, wb := w.Attained(a), w.Attained(b); wa != wb {
					return wa < wb
				}
				ra, rb := w.Running(a, 0)+w.Running(a, 1), w.Running(b, 0)+w.Running(b, 1)
				if ra != rb {
					return ra < rb
				}
				return a.Seq < b.Seq
			})
	})
}
