package plan

import (
	"math/big"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A total is an exact sum of weights times instants.
type total struct{ sum, w, t, product big.Float }

// A sum of 2^31 products of weights from MinWeight to MaxWeight and instants has fewer bits.
const totalBits = 448

func (c *total) add(w float64, t int64) {
	c.product.SetPrec(128).Mul(c.w.SetFloat64(w), c.t.SetInt64(t))
	c.sum.SetPrec(totalBits).Add(&c.sum, &c.product)
}

// value returns the greatest number that is no greater than the sum, in weight times seconds.
func (c *total) value() float64 {
	v, _ := new(big.Float).SetPrec(53).SetMode(big.ToNegativeInf).Quo(&c.sum, big.NewFloat(1e9)).Float64()
	return v
}

// proved replaces the bound of a solution by what its prices surely prove, if that is less. The
// search computes M as C_j - h_u, so that it may see more in them if M is small beside C_j.
func (f *flat) proved(s *lp.Solution) {
	if f.in.Objective == TaskCompletion {
		if tf, err := newTaskForm(f); err == nil && len(s.Prices) > 0 {
			tf.Careful = true
			s.Lower = min(s.Lower, lp.Lower(tf, s.Prices))
		}
		return
	}
	var all total
	jf, least := f.jobForm(true)
	start := make([]float64, len(least))
	for j, c := range least {
		all.add(jf.W[j], c)
		start[j] = max(s.C[j]-lp.Seconds(c), 0)
	}
	trivial := min(s.Lower, all.value())
	if len(s.Prices) > 0 {
		s.Lower = min(s.Lower, jf.Proves(s.Prices, start, trivial))
	}
	if len(s.Prices) == 0 || s.Lower <= trivial {
		s.Lower, s.Prices = trivial, nil
	}
}
