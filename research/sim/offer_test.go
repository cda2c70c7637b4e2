package sim_test

import (
	"context"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// follower leaves map slots alone until a reduce task runs.
type follower struct{ *table }

func (p follower) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if e := p.find(2); p.slots[id].Class == sojourn.MapClass && (e == nil || e.state[0][0] == 'p') {
		return sojourn.Assignment{}, false
	}
	return p.table.Assign(id)
}

// A decline stands only until the next assignment. A slot that was declined early in a
// round is offered again, at the same instant, when a later slot was taken.
func TestOffersAgainAfterAnAssignment(t *testing.T) {
	on := func(id sojourn.JobID, c sojourn.Class) *sim.Job {
		j := job(id, 0, []float64{5})
		setClass(j, 0, c)
		return j
	}
	var st story
	cfg := sim.Config{Cluster: mapReduce(1, 1, 1), Policy: follower{newTable(first)}, Jobs: sim.Jobs(on(1, sojourn.MapClass), on(2, sojourn.ReduceClass))}
	st.watch(&cfg)
	if _, err := sim.Run(context.Background(), cfg); err != nil {
		t.Fatal(err)
	}
	if len(st.attempts) != 2 || st.attempts[0].Start != 0 || st.attempts[1].Start != 0 {
		t.Errorf("attempts %+v, want both to start at 0", st.attempts)
	}
}
