package certify_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// Two outputs arrive at the last instant and after it. A task that starts at the last instant has the first
// and not the second, whichever is listed first.
func TestAnArrivalAtTheLastInstantHidesNone(t *testing.T) {
	for _, d := range [][]time.Duration{{100, time.Hour}, {time.Hour, 100}, {99, 100}, {100, 101}} {
		in := plan.Instance{Machines: []int{3}, Jobs: []plan.Job{{Phases: []plan.Phase{{Tasks: 2, Time: 1, Delays: d}, same(1, 0)}}}}
		s, err := plan.Plan(in, plan.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s.Start = []sojourn.Time{math.MaxInt64 - 101, math.MaxInt64 - 101, math.MaxInt64}
		s.Machine = []int32{0, 1, 2}
		s.Completion = []sojourn.Time{math.MaxInt64}
		s.Objective, s.Guarantee = time.Duration(math.MaxInt64).Seconds(), 0
		err = certify.Verify(in, s)
		if arrived := slices.Max(d) <= 100; (err == nil) != arrived {
			t.Errorf("delays %v: Verify = %v", d, err)
		}
	}
}

// odd are instances at the ends of what an instance may be, small enough for the enumeration.
func odd() map[string]plan.Instance {
	const longest = 1<<61 - 1
	many := plan.Instance{Machines: make([]int, 300)}
	for i := range many.Machines {
		many.Machines[i] = i % 2 // every other class has no machine
	}
	for i := range 4 {
		many.Jobs = append(many.Jobs, plan.Job{Weight: float64(i), Phases: []plan.Phase{{Tasks: 1, Class: sojourn.Class(2*i + 1), Time: time.Duration(i)}}})
	}
	return map[string]plan.Instance{
		"many classes":          many,
		"one task, the longest": {Machines: []int{1}, Jobs: []plan.Job{{Phases: []plan.Phase{same(1, longest)}}}},
		"it arrives at the end": {Machines: []int{2}, Jobs: []plan.Job{{Release: longest - 4, Weight: plan.MaxWeight, Phases: []plan.Phase{same(2, 2)}}}},
		"the output takes all time": {Machines: []int{1}, Jobs: []plan.Job{
			{Phases: []plan.Phase{{Tasks: 1, Time: 1, Delays: []time.Duration{longest - 2}}, same(1, 1)}}}},
		"weights of both ends": {Machines: []int{1}, Jobs: []plan.Job{
			{Weight: plan.MinWeight, Phases: []plan.Phase{same(1, 1<<60)}}, {Weight: plan.MaxWeight, Phases: []plan.Phase{same(1, 1)}}, {Weight: plan.MinWeight, Phases: []plan.Phase{same(1, 0)}}}},
		"zero is minus zero": {Machines: []int{1}, Objective: plan.TaskCompletion, Jobs: []plan.Job{
			{Weight: math.Copysign(0, -1), Phases: []plan.Phase{{Tasks: 2, Time: time.Second, Weights: []float64{math.Copysign(0, -1), 1}}}}}},
		"equal ratios": {Machines: []int{2}, Jobs: []plan.Job{
			{Weight: 3, Phases: []plan.Phase{same(1, 3)}}, {Weight: 1, Phases: []plan.Phase{same(1, 1)}}, {Weight: 2, Release: 1, Phases: []plan.Phase{same(2, 1)}}}},
		"the same job again": {Machines: []int{1}, Jobs: []plan.Job{
			{ID: 7, Phases: []plan.Phase{same(1, 5)}}, {ID: 7, Phases: []plan.Phase{same(1, 5)}}, {ID: 7, Phases: []plan.Phase{same(1, 5)}}}},
		"no task takes time":             {Machines: []int{1}, Jobs: []plan.Job{{Release: 3, Phases: []plan.Phase{same(2, 0), same(2, 0)}}}},
		"more machines than can be used": {Machines: []int{math.MaxInt32}, Jobs: []plan.Job{{Phases: []plan.Phase{same(3, 1<<58)}}, {Release: 1, Phases: []plan.Phase{same(1, 1)}}}},
		"middles that cancel": {Machines: []int{1}, Jobs: []plan.Job{
			{Phases: []plan.Phase{{Tasks: 2, Times: []time.Duration{1, 1 << 56}, Delays: []time.Duration{1 << 56, 1}}, same(1, 1)}}, {Release: 1<<56 + 1, Phases: []plan.Phase{same(1, 2)}}}},
		"nothing": {Machines: []int{1}},
	}
}

// No prices and no ratios of floats of every kind prove more than the optimum of an odd instance: zeros of both signs,
// denormals, numbers next to one another and to infinity, steps of no width, the same point or price many times, and none.
func TestOddNumbersProveNothingFalse(t *testing.T) {
	tiny, huge := math.SmallestNonzeroFloat64, math.MaxFloat64
	zero := math.Copysign(0, -1)
	var lists [][]float64
	for _, x := range []float64{tiny, 0x1p-1022, 1e-300, 5e-10, 1e-9, 1, 1e9, float64(1<<61) / 1e9, 0x1p64, 1e200, 1e300, huge} {
		lists = append(lists, []float64{x}, []float64{0, x}, []float64{zero, x, x}, []float64{x, math.Nextafter(x, huge)}, []float64{math.Nextafter(x, 0), x, huge}, []float64{x, x, x, x})
	}
	lists = append(lists, nil, []float64{zero}, []float64{0, 0, 0})
	for name, in := range odd() {
		if err := in.Check(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		best := optimum(&in)
		last := sojourn.Time(0)
		for _, j := range in.Jobs {
			last = max(last, j.Release)
		}
		class := sojourn.Class(0)
		if len(in.Jobs) > 0 {
			class = in.Jobs[0].Phases[0].Class
		}
		for _, at := range lists {
			for _, values := range lists {
				if len(at) != len(values) {
					continue
				}
				v := slices.Clone(values)
				slices.Reverse(v)
				for _, from := range []sojourn.Time{0, last, math.MaxInt64} {
					p := plan.Price{Class: class, From: from, T: at, V: v}
					for _, prices := range [][]plan.Price{{p}, {p, p, p}} {
						bound, err := certify.Prices(in, prices)
						if err != nil || math.IsNaN(bound) || math.IsInf(bound, 0) || best.refutes(bound) {
							t.Fatalf("%s: %+v proves %v, %v; the optimum is %v/1e9", name, prices, bound, err, &best.best)
						}
					}
				}
			}
		}
		for _, list := range lists {
			for _, x := range append(list, 1/float64(1<<61)*1e9, 1e9/3, 2e9) {
				ratios := make([]float64, in.TaskCount())
				for i := range ratios {
					ratios[i] = x
				}
				bound, err := certify.SmithRatios(in, ratios)
				if err == nil && (math.IsNaN(bound) || math.IsInf(bound, 0) || best.refutes(bound)) {
					t.Fatalf("%s: ratios %v prove %v; the optimum is %v/1e9", name, ratios, bound, &best.best)
				}
			}
		}
	}
}

// A program of jobs asks for no early end: a point may end a job after the end of all instances. Its value is that of
// its ends.
func TestAPointMayEndLate(t *testing.T) {
	in := plan.Instance{Machines: []int{1}, Jobs: []plan.Job{{Weight: plan.MaxWeight, Phases: []plan.Phase{same(1, time.Second)}}, {Weight: 2, Phases: []plan.Phase{same(1, time.Second)}}}}
	for _, late := range []float64{5e9, 1e30, 1e200} {
		value, err := certify.Point(in, []float64{1, late})
		if want := 1e30 + float64(2*late); err != nil || math.Abs(value-want) > want*1e-15 {
			t.Errorf("Point = %v, %v, want %v", value, err, want)
		}
		if value, err := certify.Point(in, []float64{.4, late}); err == nil {
			t.Errorf("a point that ends a job before it can has the value %v", value)
		}
	}
	for _, none := range []float64{1e201, math.Inf(1), math.NaN(), -1} {
		if value, err := certify.Point(in, []float64{1, none}); err == nil {
			t.Errorf("a point with %v has the value %v", none, value)
		}
	}
}
