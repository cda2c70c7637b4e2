package fifo_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sojourntest/choice"
)

func TestFirstArrivedFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPolicy()
		if rapid.Bool().Draw(t, "by index") {
			p = newByIndex()
		}
		choice.Check(t, p, choice.Options{Classes: 2, Phases: 3},
			func(_ *choice.World, _ sojourn.Class, a, b *choice.Job) bool { return a.Seq < b.Seq })
	})
}
