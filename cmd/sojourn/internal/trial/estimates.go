package trial

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// EstimatesModes are the forms of the value of --estimates.
var EstimatesModes = []string{"exact", "none", "lognormal:SIGMA", "factor:X"}

// Estimates are a sim.Estimates as text.
type Estimates sim.Estimates

// String returns the value in the form that Set reads.
func (e *Estimates) String() string {
	switch e.Mode {
	case sim.None:
		return "none"
	case sim.LogNormal:
		return "lognormal:" + strconv.FormatFloat(e.Sigma, 'g', -1, 64)
	case sim.Scaled:
		return "factor:" + strconv.FormatFloat(e.Factor, 'g', -1, 64)
	}
	return "exact"
}

// Set reads exact, none, lognormal:SIGMA or factor:X.
func (e *Estimates) Set(text string) error {
	mode, value, _ := strings.Cut(text, ":")
	switch {
	case text == "exact":
		*e = Estimates{}
		return nil
	case text == "none":
		*e = Estimates{Mode: sim.None}
		return nil
	case mode == "lognormal":
		// No more than 10: exp(10) is already an error by a factor of 22,000.
		if s, err := strconv.ParseFloat(value, 64); err == nil && s >= 0 && s <= 10 {
			*e = Estimates{Mode: sim.LogNormal, Sigma: s}
			return nil
		}
	case mode == "factor":
		if x, err := strconv.ParseFloat(value, 64); err == nil && x >= 1e-6 && x <= 1e6 {
			*e = Estimates{Mode: sim.Scaled, Factor: x}
			return nil
		}
	}
	return errors.New("want " + format.Listed(EstimatesModes) + " with SIGMA from 0 to 10, such as lognormal:0.5, and X from 1e-6 to 1e6, such as factor:10")
}
