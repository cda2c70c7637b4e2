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

const day = 24 * time.Hour

// thenWait returns n tasks of p, whose outputs take d to arrive, and then a task of last.
func thenWait(n int, p, d, last time.Duration) plan.Instance {
	delays := make([]time.Duration, n)
	for i := range delays {
		delays[i] = d
	}
	return plan.Instance{Machines: []int{1}, Jobs: []plan.Job{{Phases: []plan.Phase{{Tasks: n, Time: p, Delays: delays}, same(1, last)}}}}
}

// A task of 3 ns, then a year. However high a price before 1.5 ns is, the task does not run
// before: the price proves the end of the job alone, a year and 3 ns.
func TestAPriceBeforeTheFirstMiddle(t *testing.T) {
	in := thenWait(1, 3, 365*day, 0)
	bound, err := certify.Prices(in, []plan.Price{{T: []float64{1e-10}, V: []float64{1e27}}})
	if err != nil || !(bound <= 31536000.000000003) {
		t.Errorf("Prices = %v, %v; the job alone ends at 31536000.000000003", bound, err)
	}
}

// M is small beside C, which float64 rounds. Prices at and beside M prove no more than there is,
// and no certificate makes a schedule that begins late the best one.
func TestNoScheduleTwiceAsLongIsTheBest(t *testing.T) {
	for _, tc := range []struct {
		n    int
		p, d time.Duration
	}{{1, 1, 100 * day}, {1, 100, 40 * 365 * day}, {1000, 400, 20 * day}, {100, time.Microsecond, 60 * 365 * day}} {
		in := thenWait(tc.n, tc.p, tc.d, time.Second)
		good, err := plan.Plan(in, plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := certify.Verify(in, good); err != nil {
			t.Fatal(err)
		}
		half, c := tc.p.Seconds()/2, (tc.p + tc.d).Seconds()
		ulp := math.Nextafter(c, math.Inf(1)) - c
		for _, at := range []float64{1e-20, half, half + ulp/4, half + ulp/3, half + ulp*.49, half + ulp} {
			for _, v := range []float64{1, 1e10, 1e20, 1e30, math.MaxFloat64} {
				prices := []plan.Price{{T: []float64{at}, V: []float64{v}}}
				bound, err := certify.Prices(in, prices)
				if err != nil || bound > good.Objective {
					t.Fatalf("%d tasks of %v, then %v: a price of %v before %v proves %v, %v; a schedule ends at %v", tc.n, tc.p, tc.d, v, at, bound, err, good.Objective)
				}
				late := *good
				late.Start = nil
				for _, start := range good.Start {
					late.Start = append(late.Start, start+good.Completion[0])
				}
				late.Completion = []sojourn.Time{2 * good.Completion[0]}
				end := time.Duration(late.Completion[0]).Seconds()
				late.Objective, late.Guarantee = end, 0
				late.Bound = plan.Bound{LowerBound: end, UpperBoundLP: end, BestLowerBound: end, Certificate: plan.Certificate{Prices: prices, C: []float64{end}}}
				if err := certify.Verify(in, &late); err == nil {
					t.Fatalf("%d tasks of %v, then %v: a schedule ends at %v, and one that ends at %v is the best", tc.n, tc.p, tc.d, good.Objective, end)
				}
			}
		}
	}
}

// A task starts when the output of the one before has not arrived, but the arrival is beyond the
// last instant.
func TestNoTaskStartsBeforeAnArrivalThatCannotBeTold(t *testing.T) {
	in := thenWait(1, 1, time.Hour, 0)
	in.Machines[0] = 2
	s, err := plan.Plan(in, plan.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s.Start = []sojourn.Time{math.MaxInt64 - 1, math.MaxInt64}
	s.Completion = []sojourn.Time{math.MaxInt64}
	s.Objective = time.Duration(math.MaxInt64).Seconds()
	s.Guarantee = 0
	if err := certify.Verify(in, s); err == nil || !strings.Contains(err.Error(), "phase 1: task 0 starts at") {
		t.Errorf("Verify = %v", err)
	}
	in.Jobs[0].Phases[0].Delays[0] = 0 // now it has arrived
	in.Jobs[0].Phases[1].Time = 0
	if err := certify.Verify(in, s); err == nil || !strings.Contains(err.Error(), "lower bound") { // of the hour
		t.Errorf("Verify = %v", err)
	}
}

// Verify accepts what Plan returns.
func TestVerifyAcceptsWhatPlanReturns(t *testing.T) {
	delayed := func(next int) plan.Instance {
		return plan.Instance{Machines: []int{1}, Objective: plan.TaskCompletion, Jobs: []plan.Job{{Phases: []plan.Phase{
			{Tasks: 1, Time: 1, Delays: []time.Duration{0}}, same(next, 1)}}}}
	}
	for name, in := range map[string]plan.Instance{
		"no delay to one":   delayed(1),
		"no delay to three": delayed(3),
		"microseconds beside a tail of 13 days": {Machines: []int{2}, Jobs: []plan.Job{
			{Phases: []plan.Phase{{Tasks: 3, Time: time.Microsecond, Delays: []time.Duration{0, 3, 3}}}},
			{Weight: plan.MinWeight, Phases: []plan.Phase{same(1, time.Microsecond), same(1, 1<<50)}}}},
		"the same for tasks": {Machines: []int{2}, Objective: plan.TaskCompletion, Jobs: []plan.Job{
			{Phases: []plan.Phase{same(3, time.Microsecond)}},
			{Weight: plan.MinWeight, Phases: []plan.Phase{{Tasks: 1, Time: time.Microsecond, Delays: []time.Duration{1 << 50}}, same(1, 1)}}}},
		"no time, no weight to speak of": {Machines: []int{1}, Jobs: []plan.Job{{Weight: plan.MinWeight, Phases: []plan.Phase{same(2, 0)}}}},
		"a job whose end is worth nothing beside another": {Machines: []int{1}, Jobs: []plan.Job{
			{Weight: plan.MaxWeight, Phases: []plan.Phase{same(1, 65537),
				{Tasks: 2, Times: []time.Duration{1 << 40, 1<<58 + 1<<50/4}, Delays: []time.Duration{2, 1}}, same(1, 0)}},
			{Weight: 2, Phases: []plan.Phase{same(1, 65537)}}}},
		"nanoseconds that are worth all beside a year": {Machines: []int{1}, Jobs: []plan.Job{
			{Weight: 1e30, Phases: []plan.Phase{same(3, 3)}},
			{Weight: 3, Phases: []plan.Phase{{Tasks: 1, Time: 1, Delays: []time.Duration{8760 * time.Hour}}, same(1, 3)}}}},
		"nothing": {Machines: []int{1}},
		"the longest": {Machines: []int{1}, Jobs: []plan.Job{
			{Weight: plan.MaxWeight, Release: 1 << 60, Phases: []plan.Phase{same(1, 1)}}, {Phases: []plan.Phase{same(1, 1<<60-2)}}}},
	} {
		for _, o := range []plan.Options{{}, {ReleaseCuts: true}} {
			s, err := plan.Plan(in, o)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if err := certify.Verify(in, s); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// A claim is refused if it says more than there is, however little more.
func TestVerifyRefusesALittleMore(t *testing.T) {
	in := plan.Instance{Machines: []int{1}, Jobs: []plan.Job{{Phases: []plan.Phase{same(2, 5*time.Second)}}, {Weight: 3, Phases: []plan.Phase{same(1, time.Second)}}}}
	planned := func() *plan.Schedule {
		s, err := plan.Plan(in, plan.Options{})
		if err != nil || certify.Verify(in, s) != nil {
			t.Fatal(err, certify.Verify(in, s))
		}
		return s
	}
	optimum := planned().Objective // a second for the short job, and then the other
	for name, change := range map[string]func(*plan.Schedule){
		"a bound a billionth above the optimum": func(s *plan.Schedule) { s.BestLowerBound = optimum * (1 + 1e-9) },
		"a bound next to the optimum":           func(s *plan.Schedule) { s.BestLowerBound = math.Nextafter(optimum, math.Inf(1)) },
		"a bound that is infinite":              func(s *plan.Schedule) { s.BestLowerBound = math.Inf(1) },
		"no gap where there is one":             func(s *plan.Schedule) { s.Gap = 0 },
		"a smaller gap":                         func(s *plan.Schedule) { s.Gap *= 1 - 1e-9 },
		"a guarantee that is not kept":          func(s *plan.Schedule) { s.Guarantee = s.Objective / s.LowerBound * (1 - 1e-15) },
		"a guarantee that is no number":         func(s *plan.Schedule) { s.Guarantee = math.NaN() },
		"a guarantee below 0":                   func(s *plan.Schedule) { s.Guarantee = -1 },
		"a point a billionth too early": func(s *plan.Schedule) {
			for j := range s.Certificate.C {
				s.Certificate.C[j] *= 1 - 1e-9
			}
		},
		"an infinite price":      func(s *plan.Schedule) { s.Certificate.Prices[0].V[0] = math.Inf(1) },
		"a price at an infinity": func(s *plan.Schedule) { s.Certificate.Prices[0].T[len(s.Certificate.Prices[0].T)-1] = math.Inf(1) },
		"a price from before 0":  func(s *plan.Schedule) { s.Certificate.Prices[0].From = math.MinInt64 },
	} {
		s := planned()
		if s.Gap == 0 || len(s.Certificate.Prices) == 0 {
			t.Fatalf("gap %v, prices %v", s.Gap, s.Certificate.Prices)
		}
		change(s)
		if err := certify.Verify(in, s); err == nil {
			t.Errorf("%s passes", name)
		}
	}
}

// A point of tasks waits for each output: both tasks for the second one, which needs 5 s.
func TestPointsWaitForEachOutputByHand(t *testing.T) {
	in := plan.Instance{Machines: []int{4}, Objective: plan.TaskCompletion, Jobs: []plan.Job{{Phases: []plan.Phase{
		{Tasks: 2, Time: time.Second, Delays: []time.Duration{0, 5 * time.Second}}, same(2, time.Second)}}}}
	if value, err := certify.Point(in, []float64{1, 1, 7, 7}); err != nil || value != 16 {
		t.Errorf("Point = %v, %v, want 16", value, err)
	}
	if _, err := certify.Point(in, []float64{1, 1, 7, 6.9}); err == nil || !strings.Contains(err.Error(), "phase 1, task 1") {
		t.Errorf("Point = %v", err)
	}
}

// The least and the greatest numbers are prices, and prove nothing that is wrong.
func TestPricesAtTheEndsOfFloat64(t *testing.T) {
	ends := []float64{0, math.SmallestNonzeroFloat64, 1e-300, 1, 1e200, math.MaxFloat64}
	in := plan.Instance{Machines: []int{1, math.MaxInt32 - 1}, Jobs: []plan.Job{
		{Weight: plan.MaxWeight, Release: 1 << 59, Phases: []plan.Phase{same(1, 1)}}, {Weight: plan.MinWeight, Phases: []plan.Phase{{Tasks: 1, Class: 1, Time: 1 << 58}}}}}
	best := optimum(&in)
	for class := range sojourn.Class(2) {
		for _, from := range []sojourn.Time{0, 1, 1 << 59, math.MaxInt64} {
			for _, t0 := range ends {
				for _, v := range ends {
					p := plan.Price{Class: class, From: from, T: []float64{t0, math.MaxFloat64}, V: []float64{v, min(v, 1e-20)}}
					bound, err := certify.Prices(in, []plan.Price{p, p})
					if err != nil || math.IsNaN(bound) || math.IsInf(bound, 0) || best.refutes(bound) {
						t.Fatalf("%+v proves %v, %v", p, bound, err)
					}
				}
			}
		}
	}
}
