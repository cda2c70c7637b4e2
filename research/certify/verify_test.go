package certify_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// same returns n tasks of one length.
func same(n int, d time.Duration) plan.Phase { return plan.Phase{Tasks: n, Time: d} }

// Verify finds each mistake in a schedule or in its proof.
func TestVerifyRejects(t *testing.T) {
	in := plan.Instance{Machines: []int{2, 1}, Jobs: []plan.Job{
		{ID: 40, Weight: 2, Phases: []plan.Phase{{Tasks: 2, Times: []time.Duration{3 * time.Second, time.Second}, Delays: []time.Duration{0, 5 * time.Second}}, {Tasks: 1, Class: 1, Time: 2 * time.Second}}},
		{ID: 41, Release: sojourn.Time(time.Second), Phases: []plan.Phase{{Tasks: 2, Time: time.Second, Delays: []time.Duration{time.Second, 2 * time.Second}}, same(2, time.Second)}},
		{Release: sojourn.Time(2 * time.Second), Weight: 5, Phases: []plan.Phase{same(3, 2*time.Second), {Tasks: 1, Time: time.Second, NoBarrier: true}}},
	}}
	planned := func() *plan.Schedule {
		s, err := plan.Plan(in, plan.Options{ReleaseCuts: true, Gap: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := certify.Verify(in, planned()); err != nil {
		t.Fatal(err)
	}
	if s := planned(); s.BestLowerBound <= s.LowerBound {
		t.Fatalf("best lower bound %v, lower bound %v: choose an instance with releases that matter", s.BestLowerBound, s.LowerBound)
	}
	tests := []struct {
		name   string
		change func(*plan.Schedule)
		want   string
	}{
		{"a start lost", func(s *plan.Schedule) { s.Start = s.Start[1:] }, "starts and"},
		{"a completion lost", func(s *plan.Schedule) { s.Completion = s.Completion[1:] }, "completions for 3 jobs"},
		{"before release", func(s *plan.Schedule) { s.Start[3] = 0 }, "job 41, phase 0, task 0: starts at 0s, before the release"},
		{"another class", func(s *plan.Schedule) { s.Machine[0] = 2 }, "machine 2 is not of class 0"},
		{"no machine", func(s *plan.Schedule) { s.Machine[0] = -1 }, "machine -1 is not of class 0"},
		{"before its maps", func(s *plan.Schedule) { s.Start[2] -= 1 }, "job 40, phase 1: task 0 starts at"},
		{"before a pair", func(s *plan.Schedule) { s.Start[6] = s.Start[4].Add(2 * time.Second) }, "job 41, phase 1: task 1 starts at"},
		{"two at a time", func(s *plan.Schedule) {
			for i := range s.Machine {
				if i != 2 {
					s.Machine[i] = 0
				}
			}
		}, "of job 40 starts at"},
		{"another completion", func(s *plan.Schedule) { s.Completion[1]++ }, "job 41: completion"},
		{"another objective", func(s *plan.Schedule) { s.Objective *= 1.00001 }, "objective"},
		{"objective NaN", func(s *plan.Schedule) { s.Objective = math.NaN() }, "objective NaN"},
		{"a bound too high", func(s *plan.Schedule) { s.LowerBound *= 1.00001 }, "its certificate proves"},
		{"a bound without a proof", func(s *plan.Schedule) { s.Certificate.Prices = nil }, "its certificate proves"},
		{"bound NaN", func(s *plan.Schedule) { s.LowerBound = math.NaN() }, "bounds NaN"},
		{"best bound too high", func(s *plan.Schedule) { s.BestLowerBound *= 1.00001 }, "the best lower bound is"},
		{"best bound below", func(s *plan.Schedule) { s.BestLowerBound = s.LowerBound / 2 }, "bounds"},
		{"prices that rise", func(s *plan.Schedule) { s.Certificate.Prices[0] = plan.Price{T: []float64{1, 2}, V: []float64{1, 2}} }, "comes after"},
		{"times out of order", func(s *plan.Schedule) { s.Certificate.Prices[0] = plan.Price{T: []float64{2, 1}, V: []float64{2, 1}} }, "comes after"},
		{"negative prices", func(s *plan.Schedule) { s.Certificate.Prices[0].V[len(s.Certificate.Prices[0].V)-1] = -1 }, "point"},
		{"price NaN", func(s *plan.Schedule) { s.Certificate.Prices[0].V[0] = math.NaN() }, "point 0"},
		{"a price of another class", func(s *plan.Schedule) { s.Certificate.Prices[0].Class = 7 }, "price 0: class 7"},
		{"release cuts in the program", func(s *plan.Schedule) { s.Certificate.Prices = append(s.Certificate.Prices, plan.Price{From: 1}) }, "price from"},
		{"a Smith ratio lost", func(s *plan.Schedule) { s.Smith = s.Smith[1:] }, "Smith ratios for"},
		{"a Smith ratio negative", func(s *plan.Schedule) { s.Smith[0] = -1 }, "job 40, phase 0, task 0: Smith ratio -1"},
		{"a Smith ratio NaN", func(s *plan.Schedule) { s.Smith[0] = math.NaN() }, "job 40, phase 0, task 0: Smith ratio NaN"},
		{"Smith ratios too high", func(s *plan.Schedule) { s.Smith[0] *= 1e6; s.Smith[1] *= 1e6; s.Smith[2] = 1e6 }, "take more than its weight"},
		{"a point that is infeasible", func(s *plan.Schedule) { s.Certificate.C[2] *= 0.9 }, "the linear program"},
		{"a point too early", func(s *plan.Schedule) { s.Certificate.C[1] = 0 }, "job 41: the linear program ends it at 0"},
		{"another upper bound", func(s *plan.Schedule) { s.UpperBoundLP *= 1.001 }, "the value of the linear program's point"},
		{"another gap", func(s *plan.Schedule) { s.Gap += 1e-6 }, "gap"},
		{"guarantee", func(s *plan.Schedule) { s.Guarantee = 1 }, "above the guarantee"},
	}
	for _, tc := range tests {
		s := planned()
		s.Guarantee = 4
		tc.change(s)
		if err := certify.Verify(in, s); !errors.Is(err, certify.ErrSchedule) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if err := certify.Verify(in, nil); !errors.Is(err, certify.ErrSchedule) {
		t.Errorf("nil: %v", err)
	}
}

// Verify accepts what Plan makes if M is small beside C, which floating point rounds: 7
// ns before two phases of a second.
func TestVerifySmallMiddles(t *testing.T) {
	in := plan.Instance{Machines: []int{1}, Jobs: []plan.Job{
		{Phases: []plan.Phase{same(1, 0)}}, {Phases: []plan.Phase{same(1, 0)}},
		{Phases: []plan.Phase{same(1, 7), same(1, time.Second), same(1, time.Second)}},
	}}
	s, err := plan.Plan(in, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := certify.Verify(in, s); err != nil {
		t.Error(err)
	}
}
