package certify_test

import (
	"math/rand/v2"
	"testing"

	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// No price list, and no list of Smith ratios, proves more than the optimum, which is enumerated. The
// comparison is exact. Plan's own bounds do not either, and Verify accepts what Plan returns.
func TestNothingProvesMoreThanTheOptimum(t *testing.T) {
	const each = 60 // price lists for an instance
	random := rand.New(rand.NewPCG(20261125, 7))
	prices, ratios, plans := 0, 0, 0
	for n := 0; prices < priceLists; n++ {
		s := &source{bytes: make([]byte, 1<<13)}
		for i := range s.bytes {
			s.bytes[i] = byte(random.Uint32())
		}
		in := s.instance(plan.Objective(n % 4 / 3))
		if in.Check() != nil {
			continue
		}
		best := optimum(&in)
		if n%4 < 2 {
			plans += checkPlan(t, in, best, s.below(2) == 0)
		}
		at := instants(&in)
		for range each {
			list := s.prices(&in, at)
			prices++
			if bound, err := certify.Prices(in, list); err != nil || best.refutes(bound) {
				t.Fatalf("%+v: prices %+v prove %v, %v; the optimum is %v/1e9", in, list, bound, err, &best.best)
			}
		}
		for range each / 4 {
			list := s.ratios(&in)
			bound, err := certify.SmithRatios(in, list)
			if err != nil {
				continue // they take too much, or the objective is not theirs
			}
			if ratios++; best.refutes(bound) {
				t.Fatalf("%+v: ratios %v prove %v; the optimum is %v/1e9", in, list, bound, &best.best)
			}
		}
	}
	t.Logf("%d price lists, %d lists of Smith ratios and %d plans: none proves more than the optimum", prices, ratios, plans)
}

// checkPlan makes a plan and checks it. It returns 1, or 0 if Plan does not support the instance.
func checkPlan(t *testing.T, in plan.Instance, best *enumeration, cuts bool) int {
	s, err := plan.Plan(in, plan.Options{ReleaseCuts: cuts, Evaluations: -1})
	if err != nil {
		return 0
	}
	if err := certify.Verify(in, s); err != nil {
		t.Fatalf("%+v: %v", in, err)
	}
	if best.refutes(s.LowerBound) || best.refutes(s.BestLowerBound) {
		t.Fatalf("%+v: bounds %v and %v, the optimum is %v/1e9", in, s.LowerBound, s.BestLowerBound, &best.best)
	}
	return 1
}
