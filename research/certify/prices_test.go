package certify_test

import (
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// The earnings of machines from a price, by hand. N falls from 4 at 0 to 0 at 8, and the
// price is paid from r on. The integral of (t-r) N(t) from r on is (8-r)^3/12. Without
// jobs, two machines prove minus twice that.
//
// Reference: Goemans' inequalities on a clock that starts at r.
func TestPriceFromTheMiddleOfASlope(t *testing.T) {
	in := plan.Instance{Machines: []int{2}}
	for _, r := range []float64{0, 2, 7.5, 8, 9} {
		n := plan.Price{From: sojourn.Time(r * float64(time.Second)), T: []float64{0, 8}, V: []float64{4, 0}}
		want := -2 * math.Pow(max(8-r, 0), 3) / 12
		if got, err := certify.Prices(in, []plan.Price{n}); err != nil || math.Abs(got-want) > 1e-12 {
			t.Errorf("from %v on: %v, %v, want %v", r, got, err, want)
		}
	}
}

// One machine and two jobs by hand. Job 0 has a task of 4 s and weight 1. Job 1 arrives
// at 2 with 2 s and weight 3. Smith's rule with pi = w/p runs job 0 until 2, job 1 until
// 4, and job 0 until 6. The means of their work are 3 and 3, and ends are half a task
// later: 1 (3+2) + 3 (3+1).
//
// Reference: "Jobs that arrive over time" in package plan.
func TestSmithsRuleByHand(t *testing.T) {
	in := plan.Instance{Machines: []int{1}, Jobs: []plan.Job{
		{Weight: 1, Phases: []plan.Phase{same(1, 4*time.Second)}},
		{Weight: 3, Release: sojourn.Time(2 * time.Second), Phases: []plan.Phase{same(1, 2*time.Second)}},
	}}
	if got, err := certify.SmithRatios(in, []float64{0.25, 1.5}); err != nil || math.Abs(got-17) > 1e-12 {
		t.Errorf("SmithRatios = %v, %v, want 17", got, err)
	}
}
