package plan

import (
	"testing"
	"time"
)

// A barrier at the earliest end of a task that is started as early as it can be: by
// rounding, the task once seemed to gain from a later barrier, and the bound was 3 %
// above what its certificate proves.
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
