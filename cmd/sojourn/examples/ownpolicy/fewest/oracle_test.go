package fewest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest/choice"
)

func TestFewestFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, sign := newPolicy(), 1
		if rapid.Bool().Draw(t, "most") {
			p, sign = newMost(), -1
		}
		choice.Check(t, p, choice.Options{Classes: 2, Phases: 3}, func(w *choice.World, _ sojourn.Class, a, b *choice.Job) bool {
			if x, y := sign*w.Left(a), sign*w.Left(b); x != y {
				return x < y
			}
			return a.Seq < b.Seq
		})
	})
}
