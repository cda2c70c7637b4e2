package sim_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A run in which an assignment is refused again and again, all at one instant, ends when
// its context ends.
func TestStopAmongRefusals(t *testing.T) {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var jobs iter.Seq2[*sim.Job, error] = func(yield func(*sim.Job, error) bool) {
		yield(&sim.Job{
			Job:   sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}},
			Times: []sim.Times{{Each: time.Second}},
		}, nil)
	}
	offers := 0
	_, err = sim.Run(ctx, sim.Config{
		Cluster: sim.Cluster{Nodes: []sim.Node{{Name: "n1", Slots: []int{1}}}, Uniform: true},
		Jobs:    jobs,
		Policy:  p,
		Faults:  sim.Faults{Refuse: 1 - 1e-15},
		Hooks: sim.Hooks{Assigned: func(sojourn.SlotID, sojourn.Assignment, bool) {
			if offers++; offers == 1000 {
				cancel()
			}
			if offers > 1_000_000 {
				panic("the run goes on after its context has ended")
			}
		}},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want that the context was cancelled", err)
	}
}
