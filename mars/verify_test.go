package mars

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Verify finds whatever is wrong with a schedule or its proof.
func TestVerifyRejects(t *testing.T) {
	in := Instance{Machines: []int{2, 1}, Jobs: []Job{
		{Weight: 2, Phases: []Phase{{Tasks: 2, Times: []time.Duration{3 * time.Second, time.Second}, Delays: []time.Duration{0, 5 * time.Second}}, {Tasks: 1, Class: 1, Time: 2 * time.Second}}},
		{Release: sojourn.Time(time.Second), Phases: []Phase{{Tasks: 2, Time: time.Second, Between: []time.Duration{time.Second, 0, 0, 2 * time.Second}}, same(2, time.Second)}},
		{Release: sojourn.Time(2 * time.Second), Weight: 5, Phases: []Phase{same(3, 2*time.Second), {Tasks: 1, Time: time.Second, NoBarrier: true}}},
	}}
	plan := func() *Schedule {
		s, err := Plan(in, Options{ReleaseCuts: true, Gap: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if err := Verify(in, plan()); err != nil {
		t.Fatal(err)
	}
	if s := plan(); s.BestLowerBound <= s.LowerBound {
		t.Fatalf("best lower bound %v, lower bound %v: choose an instance with releases that matter", s.BestLowerBound, s.LowerBound)
	}
	tests := []struct {
		name   string
		change func(*Schedule)
		want   string
	}{
		{"a start lost", func(s *Schedule) { s.Start = s.Start[1:] }, "starts and"},
		{"a completion lost", func(s *Schedule) { s.Completion = s.Completion[1:] }, "completions for 3 jobs"},
		{"before release", func(s *Schedule) { s.Start[3] = 0 }, "job 1, phase 0, task 0: starts at 0s, before the release"},
		{"another class", func(s *Schedule) { s.Machine[0] = 2 }, "machine 2 is not of class 0"},
		{"no machine", func(s *Schedule) { s.Machine[0] = -1 }, "machine -1 is not of class 0"},
		{"before its maps", func(s *Schedule) { s.Start[2] -= 1 }, "job 0, phase 1: task 0 starts at"},
		{"before a pair", func(s *Schedule) { s.Start[6] = s.Start[4].Add(2 * time.Second) }, "job 1, phase 1: task 1 starts at"},
		{"two at a time", func(s *Schedule) {
			for i := range s.Machine {
				if i != 2 {
					s.Machine[i] = 0
				}
			}
		}, "machine 0: task"},
		{"another completion", func(s *Schedule) { s.Completion[1]++ }, "job 1: completion"},
		{"another objective", func(s *Schedule) { s.Objective *= 1.00001 }, "objective"},
		{"objective NaN", func(s *Schedule) { s.Objective = math.NaN() }, "objective NaN"},
		{"a bound too high", func(s *Schedule) { s.LowerBound *= 1.00001 }, "its certificate proves"},
		{"a bound without a proof", func(s *Schedule) { s.Certificate.Prices = nil }, "its certificate proves"},
		{"bound NaN", func(s *Schedule) { s.LowerBound = math.NaN() }, "bounds NaN"},
		{"best bound too high", func(s *Schedule) { s.BestLowerBound *= 1.00001 }, "the best lower bound is"},
		{"best bound below", func(s *Schedule) { s.BestLowerBound = s.LowerBound / 2 }, "bounds"},
		{"prices that rise", func(s *Schedule) { s.Certificate.Prices[0] = Price{T: []float64{1, 2}, V: []float64{1, 2}} }, "comes after"},
		{"times out of order", func(s *Schedule) { s.Certificate.Prices[0] = Price{T: []float64{2, 1}, V: []float64{2, 1}} }, "comes after"},
		{"negative prices", func(s *Schedule) { s.Certificate.Prices[0].V[len(s.Certificate.Prices[0].V)-1] = -1 }, "point"},
		{"price NaN", func(s *Schedule) { s.Certificate.Prices[0].V[0] = math.NaN() }, "point 0"},
		{"a price of another class", func(s *Schedule) { s.Certificate.Prices[0].Class = 7 }, "price 0: class 7"},
		{"release cuts in the program", func(s *Schedule) { s.Certificate.Prices = append(s.Certificate.Prices, Price{From: 1}) }, "price from"},
		{"a Smith ratio lost", func(s *Schedule) { s.Smith = s.Smith[1:] }, "Smith ratios for"},
		{"a Smith ratio negative", func(s *Schedule) { s.Smith[0] = -1 }, "job 0, phase 0, task 0: Smith ratio -1"},
		{"a Smith ratio NaN", func(s *Schedule) { s.Smith[0] = math.NaN() }, "job 0, phase 0, task 0: Smith ratio NaN"},
		{"Smith ratios too high", func(s *Schedule) { s.Smith[0] *= 1e6; s.Smith[1] *= 1e6; s.Smith[2] = 1e6 }, "take more than its weight"},
		{"a point that is infeasible", func(s *Schedule) { s.Certificate.C[2] *= 0.9 }, "the linear program"},
		{"a point too early", func(s *Schedule) { s.Certificate.C[1] = 0 }, "the linear program ends it at 0"},
		{"another upper bound", func(s *Schedule) { s.UpperBoundLP *= 1.001 }, "the value of the linear program's point"},
		{"another gap", func(s *Schedule) { s.Gap += 1e-6 }, "gap"},
		{"guarantee", func(s *Schedule) { s.Guarantee = 1 }, "above the guarantee"},
	}
	for _, tc := range tests {
		s := plan()
		s.Guarantee = 4
		tc.change(s)
		if err := Verify(in, s); !errors.Is(err, ErrSchedule) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	if err := Verify(in, nil); !errors.Is(err, ErrSchedule) {
		t.Errorf("nil: %v", err)
	}
}

// What the completion of tasks does not cover is refused, not answered wrongly.
func TestUnsupported(t *testing.T) {
	three := Instance{Machines: []int{1}, Objective: TaskCompletion, Jobs: []Job{{Phases: []Phase{same(1, 1), same(1, 1), same(1, 1)}}}}
	pairs := Instance{Machines: []int{1}, Objective: TaskCompletion, Jobs: []Job{{Phases: []Phase{{Tasks: 1, Time: 1, Between: []time.Duration{1}}, same(1, 1)}}}}
	for _, in := range []Instance{three, pairs} {
		if _, err := Plan(in, Options{}); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%v", err)
		}
	}
	if _, _, err := COGE(three, 0, 0); !errors.Is(err, ErrUnsupported) {
		t.Errorf("COGE: %v", err)
	}
	jobs := three
	jobs.Objective = JobCompletion
	if _, err := Plan(jobs, Options{Planner: TMarS}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("T-MarS: %v", err)
	}
}

// Names and planners go both ways.
func TestPlannerNames(t *testing.T) {
	for p := range plannerNames {
		got, err := ParsePlanner(Planner(p).String())
		if err != nil || got != Planner(p) {
			t.Errorf("%v: %v, %v", Planner(p), got, err)
		}
	}
	if _, err := ParsePlanner("marx"); err == nil || !strings.Contains(err.Error(), "bestof, mars,") {
		t.Errorf("marx: %v", err)
	}
	if got := Planner(-1).String(); got != "Planner(-1)" {
		t.Errorf("String() = %q", got)
	}
}

// Verify accepts what Plan makes where M is small beside C, which floating point rounds:
// 7 ns before two phases of a second.
func TestVerifySmallMiddles(t *testing.T) {
	in := Instance{Machines: []int{1}, Jobs: []Job{
		{Phases: []Phase{same(1, 0)}}, {Phases: []Phase{same(1, 0)}},
		{Phases: []Phase{same(1, 7), same(1, time.Second), same(1, time.Second)}},
	}}
	s := mustPlan(t, in, Options{})
	if err := Verify(in, s); err != nil {
		t.Error(err)
	}
}

// A task that takes no time is in no inequality (4), and has its place in the order of MarS
// nevertheless: behind 20 s of job 1 it would delay job 0 by as much.
//
// Reference: Theorem 3.
func TestGuaranteeWithTasksOfNoTime(t *testing.T) {
	in := Instance{Machines: []int{1}, Jobs: []Job{
		{Release: sojourn.Time(3 * time.Second), Weight: 1e6, Phases: []Phase{{Tasks: 2, Times: []time.Duration{0, 3 * time.Second}}}},
		{Phases: []Phase{same(2, 10*time.Second)}},
	}}
	for _, planner := range []Planner{MarS, BestFit, MarSCOGE, BestOf} {
		for _, exact := range []int{0, -1} {
			s := mustPlan(t, in, Options{Planner: planner, Exact: exact, Evaluations: -1})
			if err := Verify(in, s); err != nil {
				t.Errorf("%v: %v", planner, err)
			}
		}
	}
}
