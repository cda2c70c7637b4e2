package plan

import (
	"testing"
	"time"
)

// The barrier is at the earliest end of a task that starts as early as it can. A rounding
// error must not make the task gain from a later barrier: the bound would be 3 % above
// what its certificate proves.
func TestABarrierAtTheEarliestEnd(t *testing.T) {
	in := Instance{Machines: []int{3, 1}, Objective: TaskCompletion, Jobs: []Job{
		{Release: 1, Phases: []Phase{
			{Tasks: 2, Class: 0, Times: []time.Duration{6, 1}, Weights: []float64{0, 30}},
			{Tasks: 3, Class: 1, Times: []time.Duration{2, 3, 2}, Weights: []float64{2, 30, 2}},
		}},
		{Release: 1, Phases: []Phase{
			{Tasks: 2, Class: 1, Times: []time.Duration{6, 2}, Weights: []float64{30, 2}},
			{Tasks: 1, Class: 1, Times: []time.Duration{0}, Weights: []float64{2}},
		}},
	}}
	s, err := Plan(in, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := Certify.Verify(in, s); err != nil {
		t.Error(err)
	}
}
