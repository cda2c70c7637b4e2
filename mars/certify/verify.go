package certify

import (
	"errors"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/mars/plan"
)

// An error that says what is wrong with a schedule or its proofs wraps ErrSchedule.
var ErrSchedule = errors.New("invalid schedule")

// Verify checks a schedule, and the proof of its bounds, independently of how they
// were made. It checks that
//
//   - each task runs on a machine of its class, not before its job is released and
//     its input has arrived (1), (2);
//   - no machine runs two tasks at a time;
//   - completions and the objective are right;
//   - the prices are prices and prove LowerBound and BestLowerBound;
//   - C satisfies (1)-(4) and has the value UpperBoundLP, and Gap follows;
//   - no bound is above the objective.
//
// It takes O(n log n) for n tasks, and some seconds for a million. The error wraps
// [plan.ErrInstance] or ErrSchedule and names the first thing that is wrong.
func Verify(in plan.Instance, s *plan.Schedule) error {
	if err := in.Check(); err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("%w: nil", ErrSchedule)
	}
	for _, part := range []func(*plan.Instance, *plan.Schedule) error{verifySchedule, verifyBounds, verifyRatios} {
		if err := part(&in, s); err != nil {
			return fmt.Errorf("%w: %w", ErrSchedule, err)
		}
	}
	return nil
}

// tolerance is the greatest relative error of floating point that passes. Starts,
// machines and completions are integers and are verified exactly.
const tolerance = 1e-9

// proves reports whether a bound is no more than what its certificate proves.
func proves(proved, bound float64) bool { return bound <= float64(proved*(1+tolerance)) }

// near reports whether two non-negative numbers are equal up to rounding.
func near(got, want float64) bool { return math.Abs(got-want) <= float64(tolerance*want) }

// finite reports whether x is at least 0, and a number.
func finite(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }

// verifyBounds checks each bound of a schedule against its certificate.
func verifyBounds(in *plan.Instance, s *plan.Schedule) error {
	b := &s.Bound
	if !(b.LowerBound >= 0 && b.UpperBoundLP >= 0 && b.BestLowerBound >= b.LowerBound) {
		return fmt.Errorf("bounds %v, %v and %v", b.LowerBound, b.UpperBoundLP, b.BestLowerBound)
	}
	proved, err := priceBound(in, b.Certificate.Prices)
	if err != nil {
		return err
	}
	if !proves(proved, b.LowerBound) {
		return fmt.Errorf("the lower bound is %v, its certificate proves %v", b.LowerBound, proved)
	}
	for _, p := range b.Certificate.Prices {
		if p.From != 0 { // a cut of Goemans, which is not part of the program
			return fmt.Errorf("the certificate of the linear program has a price from %v on", p.From)
		}
	}
	if err := verifyBest(in, b); err != nil {
		return err
	}
	value, err := pointValue(in, b.Certificate.C)
	if err != nil {
		return err
	}
	if !near(b.UpperBoundLP, value) {
		return fmt.Errorf("the value of the linear program's point is %v, want %v", b.UpperBoundLP, value)
	}
	gap := 0.0
	if b.UpperBoundLP != b.LowerBound {
		gap = (b.UpperBoundLP - b.LowerBound) / b.LowerBound
	}
	if !(math.Abs(b.Gap-gap) <= tolerance) {
		return fmt.Errorf("gap %v, want %v", b.Gap, gap)
	}
	return nil
}

// verifyBest checks BestLowerBound, which has a proof of its own if it is greater.
func verifyBest(in *plan.Instance, b *plan.Bound) error {
	if b.BestLowerBound == b.LowerBound {
		return nil
	}
	var proved float64
	var err error
	if b.Smith != nil {
		proved, err = smithBound(in, b.Smith)
	} else {
		proved, err = priceBound(in, b.BestCertificate)
	}
	if err != nil {
		return err
	}
	if !proves(proved, b.BestLowerBound) {
		return fmt.Errorf("the best lower bound is %v, its certificate proves %v", b.BestLowerBound, proved)
	}
	return nil
}

// verifyRatios checks that no bound is above the objective, and that the objective keeps
// the guarantee of its planner.
func verifyRatios(_ *plan.Instance, s *plan.Schedule) error {
	if best := max(s.LowerBound, s.BestLowerBound); !proves(s.Objective, best) {
		return fmt.Errorf("the lower bound %v is above the objective %v", best, s.Objective)
	}
	if s.Guarantee != 0 && !proves(float64(s.Guarantee*s.LowerBound), s.Objective) {
		return fmt.Errorf("the objective %v is above the guarantee %v times the lower bound %v", s.Objective, s.Guarantee, s.LowerBound)
	}
	return nil
}
