package plan

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// Every planner makes feasible schedules with proofs that Verify accepts.
func TestPlanners(t *testing.T) {
	in := gen(t, "mars-random", 1, 50, map[string]string{"jobs": "30"})
	for _, s := range plans(t, in, Options{Evaluations: 100}) {
		if err := Certify.Verify(in, s); err != nil {
			t.Errorf("%v: %v", s.Planner, err)
		}
		if s.Guarantee != 0 && s.Ratio() > s.Guarantee {
			t.Errorf("%v: ratio %v, guaranteed are %v", s.Planner, s.Ratio(), s.Guarantee)
		}
	}
}

// No member of best-of is better than best-of, and a search makes it no worse.
func TestBestOfIsTheBest(t *testing.T) {
	members := map[Objective][]Planner{
		JobCompletion:  {marS, bestFit, insertion, dispatch, busyDispatch, huwfDispatch, wsrpt, soMarS},
		TaskCompletion: {marS, bestFit, insertion, dispatch, stfDispatch, htwfDispatch, tMarS},
	}
	for name, s := range map[string]shape{
		"jobs":  small,
		"tasks": {jobs: 4, phases: 2, tasks: 3, machines: 3, classes: 2, tasksWeigh: true, noBarrier: true},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := draw(t, s)
				best := make([]float64, 3)
				for i, evaluations := range []int{-1, 5, 50} {
					s, err := Plan(in, Options{Evaluations: evaluations})
					if err != nil {
						t.Fatal(err)
					}
					best[i] = s.Objective
				}
				if max(best[1], best[2]) > best[0] {
					t.Fatalf("objectives with 0, 5 and 50 evaluations: %v", best)
				}
				own := members[in.Objective]
				if slices.ContainsFunc(in.Jobs, func(j Job) bool { return !told(&j) }) {
					own = slices.DeleteFunc(slices.Clone(own), func(p Planner) bool { return p == soMarS })
				}
				list, err := All(in, Options{}, own...)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range list {
					if s.Objective < best[0] {
						t.Fatalf("%v: objective %v, best-of %v", s.Planner, s.Objective, best[0])
					}
				}
			})
		})
	}
}

// The policy learns of jobs when they arrive. It is not better than best-of, even where
// it is better than all other members.
func TestBestOfHasThePolicy(t *testing.T) {
	ahead := false
	for seed := range uint64(6) {
		in := gen(t, "bursty", seed, 20, map[string]string{"jobs": "60"})
		list, err := All(in, Options{Evaluations: -1}, bestOf, soMarS, marS, bestFit, insertion, dispatch, busyDispatch, huwfDispatch, wsrpt)
		if err != nil {
			t.Fatal(err)
		}
		best, online := list[0].Objective, list[1].Objective
		if online < best {
			t.Errorf("seed %d: objective %v online, best-of %v", seed, online, best)
		}
		ahead = ahead || !slices.ContainsFunc(list[2:], func(s *Schedule) bool { return s.Objective <= online })
	}
	if !ahead {
		t.Error("the policy is better than the others on none of these")
	}
}

// Two machines. Job 0 has four tasks of 4 s. Job 1 arrives at 1 with three tasks of 3 s,
// which is 9 s of work. Job 0 has 8 s left, so it goes on at 4. By then job 2 has
// arrived, with one task of 5 s and a weight of 2: it is worth more than 8 s for a weight
// of 1. It starts on the first machine, and job 0 goes on with 8 s left on the second. At
// 8, job 0 has 4 s left and is first again.
func TestWeightedShortestRemainingFirst(t *testing.T) {
	in := Instance{Machines: []int{2}, Jobs: []Job{
		{Phases: []Phase{same(4, 4*time.Second)}},
		{Release: sojourn.Time(time.Second), Phases: []Phase{same(3, 3*time.Second)}},
		{Release: sojourn.Time(2 * time.Second), Weight: 2, Phases: []Phase{same(1, 5*time.Second)}},
	}}
	s := mustPlan(t, in, Options{Planner: wsrpt})
	var starts []time.Duration
	for _, at := range s.Start {
		starts = append(starts, at.Sub(0)/time.Second)
	}
	// After 8: job 0 until 12 on one machine, job 1 at 9, 12 and 12 on both.
	if want := []time.Duration{0, 0, 4, 8, 9, 12, 12, 4}; !slices.Equal(starts, want) {
		t.Errorf("starts %v, want %v", starts, want)
	}
}

// The ends of a schedule satisfy the linear program, so its value is no more than theirs.
// Where machines idle, the points that repair makes are above the ends.
func TestSchedulesArePoints(t *testing.T) {
	for _, seed := range []uint64{2, 4} {
		in := gen(t, "bursty", seed, 40, map[string]string{"jobs": "500"})
		s := mustPlan(t, in, Options{Planner: wsrpt, exact: -1})
		if s.UpperBoundLP > s.Objective {
			t.Errorf("seed %d: a feasible point at %v, a schedule at %v", seed, s.UpperBoundLP, s.Objective)
		}
	}
}

// Planners refuse instances that the completion of tasks does not cover.
func TestUnsupported(t *testing.T) {
	three := Instance{Machines: []int{1}, Objective: TaskCompletion, Jobs: []Job{{Phases: []Phase{same(1, 1), same(1, 1), same(1, 1)}}}}
	if _, err := Plan(three, Options{}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if _, err := COGE(three, 0, 0); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("COGE: %v", err)
	}
	jobs := three
	jobs.Objective = JobCompletion
	if _, err := Plan(jobs, Options{Planner: tMarS}); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("T-MarS: %v", err)
	}
}

// The name of each planner finds it.
func TestPlannerNames(t *testing.T) {
	for _, p := range planners {
		if got, err := ParsePlanner(string(p)); err != nil || got != p {
			t.Errorf("%v: %v, %v", p, got, err)
		}
	}
	if _, err := ParsePlanner("marx"); err == nil || !strings.Contains(err.Error(), "bestof, mars,") {
		t.Errorf("marx: %v", err)
	}
}

// A task that takes no time occurs in no inequality (4), but it has a place in the order
// of MarS. Behind job 1 it would delay job 0 by 20 s.
//
// Reference: Theorem 3.
func TestGuaranteeWithTasksOfNoTime(t *testing.T) {
	in := Instance{Machines: []int{1}, Jobs: []Job{
		{Release: sojourn.Time(3 * time.Second), Weight: 1e6, Phases: []Phase{{Tasks: 2, Times: []time.Duration{0, 3 * time.Second}}}},
		{Phases: []Phase{same(2, 10*time.Second)}},
	}}
	for _, planner := range []Planner{marS, bestFit, marSCOGE, bestOf} {
		for _, exact := range []int{0, -1} {
			s := mustPlan(t, in, Options{Planner: planner, exact: exact, Evaluations: -1})
			if err := Certify.Verify(in, s); err != nil {
				t.Errorf("%v: %v", planner, err)
			}
		}
	}
}
