package certify

import (
	"errors"
	"fmt"
	"math"

	"github.com/sojourn-sched/sojourn/research/plan"
)

// An error that says what is wrong with a schedule or its proofs wraps ErrSchedule.
var ErrSchedule = errors.New("invalid schedule")

// Verify checks a schedule, and the proof of its bounds, independently of how they
// were made. It checks that
//
//   - each task runs on a machine of its class, not before its job is released and
//     its input has arrived (1), (2);
//   - no machine runs two tasks at a time;
//   - completions are right, and the objective is but for the rounding of a float64 sum;
//   - the prices are prices and prove LowerBound and BestLowerBound;
//   - C satisfies (1)-(4) and has the value UpperBoundLP, and Gap follows;
//   - no bound is above the objective, and the guarantee is kept.
//
// It takes O(n log n) for n tasks, and some seconds for a million. The error wraps
// [plan.ErrInstance] or ErrSchedule and names the first thing that is wrong.
//
// Comparisons with bounds are exact (TestVerifyRefusesALittleMore). Verify accepts what
// [plan.Plan] returns (TestVerifyAcceptsWhatPlanReturns).
func Verify(in plan.Instance, s *plan.Schedule) error {
	if err := in.Check(); err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("%w: nil", ErrSchedule)
	}
	if err := verify(&in, s); err != nil {
		return fmt.Errorf("%w: %w", ErrSchedule, err)
	}
	return nil
}

func verify(in *plan.Instance, s *plan.Schedule) error {
	cost, err := verifySchedule(in, s)
	if err != nil {
		return err
	}
	if err := verifyBounds(in, &s.Bound); err != nil {
		return err
	}
	return verifyRatios(&cost, s)
}

// finite reports whether x is at least 0, and a number.
func finite(x float64) bool { return x >= 0 && x <= math.MaxFloat64 }

// verifyBounds checks each bound of a schedule against its certificate.
func verifyBounds(in *plan.Instance, b *plan.Bound) error {
	if !(finite(b.LowerBound) && finite(b.UpperBoundLP) && finite(b.BestLowerBound) && b.BestLowerBound >= b.LowerBound) {
		return fmt.Errorf("bounds %v, %v and %v", b.LowerBound, b.UpperBoundLP, b.BestLowerBound)
	}
	proved, err := priceBound(in, b.Certificate.Prices)
	if err != nil {
		return err
	}
	if !(b.LowerBound <= proved) {
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
	// UpperBoundLP is no nearer to the value of the program than slack: see Point.
	if !(math.Abs(b.UpperBoundLP-value) <= float64(slack*value)) {
		return fmt.Errorf("the value of the linear program's point is %v, want %v", b.UpperBoundLP, value)
	}
	gap := 0.0
	if b.UpperBoundLP != b.LowerBound {
		gap = (b.UpperBoundLP - b.LowerBound) / b.LowerBound
	}
	if b.Gap != gap {
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
	if !(b.BestLowerBound <= proved) {
		return fmt.Errorf("the best lower bound is %v, its certificate proves %v", b.BestLowerBound, proved)
	}
	return nil
}

// verifyRatios checks that no bound is above the objective, and that the objective keeps
// the guarantee of its planner. cost is 1e9 times the objective.
func verifyRatios(cost *sum, s *plan.Schedule) error {
	above := *cost
	above.add(-1e9, s.BestLowerBound)
	if above.sign() < 0 {
		return fmt.Errorf("the lower bound %v is above the objective %v", s.BestLowerBound, s.Objective)
	}
	if s.Guarantee == 0 {
		return nil
	}
	if !finite(s.Guarantee) {
		return fmt.Errorf("guarantee %v", s.Guarantee)
	}
	allowed := down(s.Guarantee * s.LowerBound)
	if above = *cost; s.LowerBound == 0 {
		allowed = 0
	}
	if above.add(-1e9, allowed); above.sign() > 0 {
		return fmt.Errorf("the objective %v is above the guarantee %v times the lower bound %v", s.Objective, s.Guarantee, s.LowerBound)
	}
	return nil
}
