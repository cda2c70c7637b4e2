package fair

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/sojourn-sched/sojourn"
)

// A pool that takes the memory of one that has gone is like a new one, but for that memory.
func TestMemoryOfGonePools(t *testing.T) {
	limits := map[string]Pool{"limited": {MaxJobs: 1, Max: Slots{0: 1}}, "plain": {Weight: 2}}
	p, err := New(Options{Pools: limits, Preemption: Preemption{MinTimeout: 1, FairTimeout: 1}})
	if err != nil {
		t.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	for i, path := range []string{"limited/a", "plain", "plain/b", "limited", "limited/c", "plain"} {
		id, at := sojourn.JobID(i+1), sojourn.Time(100*i)
		observe(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: &sojourn.Job{ID: id, Pool: path, Phases: []sojourn.Phase{{Tasks: 1}}}})
		a, ok := p.Assign(0)
		if !ok {
			t.Fatalf("the task of %q does not start", path)
		}
		observe(sojourn.Event{Kind: sojourn.Tick, At: at + 50})
		p.AppendPreemptions(nil)
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: at + 60, Task: a.Task, Attempt: a.Attempt})
	}
	for k := 0; len(p.gone) > 0; k++ {
		got, want := p.begun(fmt.Sprint(k), &p.root, p.plain), p.newPool(fmt.Sprint(k), &p.root, p.plain)
		had := *got
		for _, n := range []*pool{&had, &want} {
			if len(n.below)+n.pools.Len()+n.gaps.Len()+n.jobs.Len()+n.spare.Len()+len(n.classes)+len(n.looks)+len(n.lent) > 0 {
				t.Errorf("pool %d has something", k)
			}
			for _, q := range []interface{ Any(sojourn.Class) bool }{&n.readyJobs, &n.freshJobs, &n.readyPools, &n.busyPools} {
				if q.Any(0) {
					t.Errorf("pool %d has something to start", k)
				}
			}
			var none pool
			n.below, n.pools, n.gaps, n.jobs, n.spare, n.classes, n.looks, n.lent = nil, none.pools, none.gaps, none.jobs, none.spare, nil, nil, nil
			n.readyJobs, n.freshJobs, n.readyPools, n.busyPools = none.readyJobs, none.freshJobs, none.readyPools, none.busyPools
			n.turn, n.id = 0, 0 // place sets them, and latest
			n.latest = 0
		}
		if !reflect.DeepEqual(had, want) {
			t.Errorf("pool %d is %+v, want %+v", k, had, want)
		}
	}
}
