package leastwork_test

import (
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newGangs() sojourn.Policy { return newWith(leastwork.Options{Gangs: true}) }

// With Gangs it obeys the laws, and no free slot stays free. It runs gangs, and each starts.
func TestGangs(t *testing.T) {
	sojourntest.Run(t, newGangs, sojourntest.Options{Changed: []func() sojourn.Policy{newPolicy}})
	sojourntest.Gangs(t, func(int) sojourn.Policy { return newGangs() }, sojourntest.GangOptions{Turns: true})
}

// The ranking has the patience of the order, also for phases that cannot start yet: nothing is told of job 1, which came 1,000 s
// before job 2 and has twice its work.
func TestGangsRankPhasesThatWait(t *testing.T) {
	p := newGangs()
	for id, phases := range [][]sojourn.Phase{{{Tasks: 1}, {Tasks: 1, Class: 1, After: 1}}, {{Tasks: 1}}} {
		err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: sojourn.Time(0).Add(time.Duration(id) * 1000 * time.Second),
			Job: &sojourn.Job{ID: sojourn.JobID(id + 1), Phases: phases}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if got := p.(sojourn.Explainer).AppendRanking(nil); !slices.Equal(got, []sojourn.JobID{1, 2}) {
		t.Errorf("AppendRanking = %d, want job 1 first", got)
	}
}
