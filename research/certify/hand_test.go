package certify_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// A barrier by hand. A map of 2 s, whose output takes 3 s to arrive, and a reduce of 2 s
// have weight 1 each. A second of work before 10 costs 2. The map gains 3 for each second
// that it comes later, up to M = 10: it ends at 11, so the reduce starts at 14 and ends
// at 16. The machine earns 2 times 10^2/2.
//
// Reference: Equations (11) and (12), erratum 9.
func TestBarrierByHand(t *testing.T) {
	in := plan.Instance{Machines: []int{1}, Objective: plan.TaskCompletion, Jobs: []plan.Job{{Phases: []plan.Phase{
		{Tasks: 1, Time: 2 * time.Second, Delays: []time.Duration{3 * time.Second}}, same(1, 2*time.Second),
	}}}}
	got, err := certify.Prices(in, []plan.Price{{T: []float64{10}, V: []float64{2}}})
	if want := 11.0 + 16 - 100; err != nil || math.Abs(got-want) > 1e-9 {
		t.Errorf("Prices = %v, %v, want %v", got, err, want)
	}
}

// A point for the completion of tasks starts no task before its release, and none before
// the outputs that it waits for have arrived.
func TestPointsOfTasksByHand(t *testing.T) {
	in := plan.Instance{Machines: []int{2}, Objective: plan.TaskCompletion, Jobs: []plan.Job{{Release: sojourn.Time(5 * time.Second), Weight: 2, Phases: []plan.Phase{
		{Tasks: 1, Time: 2 * time.Second, Delays: []time.Duration{3 * time.Second}}, same(1, time.Second),
	}}}}
	for _, tc := range []struct {
		c    []float64
		want string
	}{
		{[]float64{7, 11}, ""},
		{[]float64{6.9, 11}, "phase 0, task 0"},
		{[]float64{7, 10.9}, "phase 1, task 0"},
	} {
		value, err := certify.Point(in, tc.c)
		if tc.want == "" && (err != nil || value != 36) || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("Point(%v) = %v, %v, want %q", tc.c, value, err, tc.want)
		}
	}
}

// Each task that waits does so for all outputs, even if only the last one takes time to
// arrive.
func TestDelaysByHand(t *testing.T) {
	in := plan.Instance{Machines: []int{2}, Jobs: []plan.Job{{Phases: []plan.Phase{
		{Tasks: 2, Time: time.Second, Delays: []time.Duration{0, 5 * time.Second}}, same(1, time.Second),
	}}}}
	s, err := plan.Plan(in, plan.Options{})
	if err != nil || certify.Verify(in, s) != nil || s.Start[2] != sojourn.Time(6*time.Second) {
		t.Fatalf("starts %v, %v, %v", s.Start, err, certify.Verify(in, s))
	}
	s.Start[2]--
	if err := certify.Verify(in, s); err == nil || !strings.Contains(err.Error(), "arrives from task 1 at 6s") {
		t.Errorf("Verify = %v", err)
	}
}
