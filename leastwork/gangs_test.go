package leastwork_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newGangs() sojourn.Policy {
	p, err := leastwork.New(leastwork.Options{Gangs: true})
	if err != nil {
		panic(err)
	}
	return p
}

// With Gangs it obeys the laws, and no free slot stays free. It runs gangs, and each starts.
func TestGangs(t *testing.T) {
	sojourntest.Run(t, newGangs, sojourntest.Options{Changed: []func() sojourn.Policy{newPolicy}})
	sojourntest.Gangs(t, func(int) sojourn.Policy { return newGangs() }, sojourntest.GangOptions{Turns: true})
}
