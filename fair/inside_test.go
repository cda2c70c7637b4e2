package fair_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mapreduce"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/sojourntest"
	"github.com/sojourn-sched/sojourn/td"
)

// made turns a constructor and its options into a constructor that pools take.
func made[O any, P sojourn.Policy](constructor func(O) (P, error), opts O) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := constructor(opts)
		if err != nil {
			panic(err)
		}
		return p
	}
}

// Every policy can serve pools. fair passes time, Ticks and questions on to it.
func TestConformanceOfPoliciesInside(t *testing.T) {
	mapAndReduce := sojourntest.Options{
		IdlesOnPurpose: true, Rejects: true, NeedsEstimates: true, MaxPhases: 2, Classes: []sojourn.Class{mapreduce.Map, mapreduce.Reduce},
		Supports: func(j *sojourn.Job) bool {
			return len(j.Phases) == 1 ||
				j.Phases[0].Class == mapreduce.Map && j.Phases[1].Class == mapreduce.Reduce && j.Threshold(1) == j.Phases[0].Tasks
		},
	}
	two := 2
	idles := sojourntest.Options{IdlesOnPurpose: true}
	for _, tc := range []struct {
		name   string
		inside func() sojourn.Policy
		o      sojourntest.Options
	}{
		{"leastwork", made(leastwork.New, leastwork.Options{}), idles},
		{"mars", made(mars.New, mars.Options{}), idles},
		{"mars, each time", made(mars.New, mars.Options{Interval: 1}), idles},
		{"hfsp", made(hfsp.New, hfsp.Options{TrainingTasks: 2, TrainingSlots: &two, Preemption: hfsp.Kill}), idles},
		{"pfsp", made(pfsp.New, pfsp.Options{}), sojourntest.Options{IgnoresWeights: true}},
		{"td", made(td.New, td.Options{}), sojourntest.Options{TellsSlotsApart: true}},
		{"td, strict", made(td.New, td.Options{HotPolicy: td.Strict, Theta: 1}), sojourntest.Options{TellsSlotsApart: true, IdlesOnPurpose: true}},
		{"las", made(baseline.NewLAS, baseline.LASOptions{}), sojourntest.Options{}},
		{"rtmr", made(rtmr.New, rtmr.Options{}), mapAndReduce},
		{"dc", made(baseline.NewDeadlineConstraint, baseline.DeadlineConstraintOptions{}), mapAndReduce},
	} {
		t.Run(tc.name, func(t *testing.T) {
			histories.Share(t, 20)
			newPolicy := func() sojourn.Policy {
				return newWith(fair.Options{Pools: map[string]fair.Pool{"": {Policy: tc.inside}, "a": {Policy: tc.inside, Weight: 2}, "b": {Policy: tc.inside}}})
			}
			sojourntest.Run(t, newPolicy, tc.o)
		})
	}
}

// A pool whose policy is the default gets all slots of a cluster that no other pool
// wants. The policy sees one free slot at a time, so a reserve would keep the pool small.
func TestDefaultFillsItsPool(t *testing.T) {
	p := newWith(fair.Options{Pools: map[string]fair.Pool{"a": {Policy: made(leastwork.New, leastwork.Options{})}}})
	must := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	const slots = 100
	for id := range sojourn.SlotID(slots) {
		must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	for id := range sojourn.JobID(2) {
		must(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Pool: "a", Phases: []sojourn.Phase{{Tasks: slots}}}})
	}
	started := 0
	for id := range sojourn.SlotID(slots) {
		if _, ok := p.Assign(id); ok {
			started++
		}
	}
	if started != slots {
		t.Errorf("%d of %d slots are taken", started, slots)
	}
}
