package fair_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/sojourntest"
	"github.com/sojourn-sched/sojourn/td"
)

// made turns a constructor and its options into a constructor that pools take.
// Every policy can serve pools. fair passes time, Ticks and questions on to it.
func TestConformanceOfPoliciesInside(t *testing.T) {
	mapAndReduce := sojourntest.Options{
		IdlesOnPurpose: true, Rejects: true, NeedsEstimates: true, MaxPhases: 2, Classes: []sojourn.Class{sojourn.MapClass, sojourn.ReduceClass},
		Supports: func(j *sojourn.Job) bool {
			return len(j.Phases) == 1 ||
				j.Phases[0].Class == sojourn.MapClass && j.Phases[1].Class == sojourn.ReduceClass && j.Threshold(1) == j.Phases[0].Tasks
		},
	}
	two := 2
	idles := sojourntest.Options{IdlesOnPurpose: true}
	plans := sojourntest.Options{IdlesOnPurpose: true, ChargesLostWork: true, ChargesFailures: true}
	for _, tc := range []struct {
		name   string
		inside func() sojourn.Policy
		o      sojourntest.Options
	}{
		{"leastwork", constructors.LeastWork.With(leastwork.Options{}), idles},
		{"mars", constructors.MarS.With(mars.Options{}), plans},
		{"mars, each time", constructors.MarS.With(mars.Options{Interval: 1}), plans},
		{"hfsp", constructors.HFSP.With(hfsp.Options{TrainingTasks: 2, TrainingSlots: &two, Preemption: hfsp.Kill}), idles},
		{"pfsp", constructors.PFSP.With(pfsp.Options{}), sojourntest.Options{IgnoresWeights: true, ChargesLostWork: true, ChargesFailures: true}},
		{"td", constructors.TD.With(td.Options{}), sojourntest.Options{TellsSlotsApart: true, ChargesLostWork: true, ChargesFailures: true}},
		{"td, strict", constructors.TD.With(td.Options{HotPolicy: td.Strict, Theta: 1}), sojourntest.Options{TellsSlotsApart: true, ChargesLostWork: true, ChargesFailures: true, IdlesOnPurpose: true}},
		{"las", constructors.LAS.With(baseline.LASOptions{}), sojourntest.Options{}},
		{"rtmr", constructors.RTMR.With(rtmr.Options{}), mapAndReduce},
		{"dc", constructors.Deadline.With(baseline.DeadlineConstraintOptions{}), mapAndReduce},
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
	p := newWith(fair.Options{Pools: map[string]fair.Pool{"a": {Policy: constructors.LeastWork.With(leastwork.Options{})}}})
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
