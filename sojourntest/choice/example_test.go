package choice_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/sojourntest/choice"
)

// The test of a policy that serves jobs in the order of their arrival.
func ExampleCheck() {
	TestOrderOfArrival := func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			p, err := fifo.New(fifo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			choice.Check(t, p, choice.Options{Classes: 2, Phases: 3},
				func(w *choice.World, c sojourn.Class, a, b *choice.Job) bool { return a.Seq < b.Seq })
		})
	}
	_ = TestOrderOfArrival
}
