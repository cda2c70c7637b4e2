package fair_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// Fair passes on the promises of the policies of pools, also behind a lock. The promises
// to adopted jobs whose deadlines cannot be met are void.
func TestPromisesOfPolicies(t *testing.T) {
	deadlines := constructors.RTMR.With(rtmr.Options{})
	p := newWith(fair.Options{Pools: map[string]fair.Pool{
		"a": {Policy: deadlines}, "b": {Policy: constructors.FIFO.With(fifo.Options{})}, "c": {Policy: deadlines},
	}})
	for i, pool := range []string{"c", "b", "a", "none", "a"} {
		deadline := sojourn.Time(time.Second)
		if i == 4 {
			deadline = 0
		}
		err := p.Observe(sojourn.Event{Kind: sojourn.JobAdopted, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Pool: pool, Deadline: deadline,
			Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Minute}}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, p := range map[string]sojourn.Policy{"fair": p, "locked": sojourn.NewLocked(p)} {
		promiser, ok := sojourn.As[sojourn.Promiser](p)
		if !ok {
			t.Fatalf("%s: no Promiser", name)
		}
		if got, want := promiser.AppendVoid([]sojourn.JobID{9}), []sojourn.JobID{9, 1, 3}; !slices.Equal(got, want) {
			t.Errorf("%s: AppendVoid = %d, want %d", name, got, want)
		}
		for id := range sojourn.JobID(7) {
			want := ""
			if id == 1 || id == 3 {
				want = "adopted"
			}
			if why, ok := promiser.Void(id); why != want || ok != (want != "") {
				t.Errorf("%s: Void(%d) = %q, %v, want %q", name, id, why, ok, want)
			}
		}
		found := 0
		for range sojourn.All[*rtmr.Policy](p) {
			found++
		}
		if found != 2 {
			t.Errorf("%s: All finds %d policies of pools, want 2", name, found)
		}
	}
}
