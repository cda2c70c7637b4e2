package cli

import (
	"errors"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/sim"
)

// estimatesModes are the forms of the value of --estimates.
var estimatesModes = []string{"exact", "none", "lognormal:SIGMA"}

// estimates are a sim.Estimates as text.
type estimates sim.Estimates

// String returns the value in the form that Set reads.
func (e *estimates) String() string {
	switch e.Mode {
	case sim.None:
		return "none"
	case sim.LogNormal:
		return "lognormal:" + strconv.FormatFloat(e.Sigma, 'g', -1, 64)
	}
	return "exact"
}

// Set reads exact, none or lognormal:SIGMA.
func (e *estimates) Set(text string) error {
	mode, sigma, hasSigma := strings.Cut(text, ":")
	switch {
	case text == "exact":
		*e = estimates{}
		return nil
	case text == "none":
		*e = estimates{Mode: sim.None}
		return nil
	case mode == "lognormal" && hasSigma:
		// No more than 10: exp(10) is already an error by a factor of 22,000.
		if s, err := strconv.ParseFloat(sigma, 64); err == nil && s >= 0 && s <= 10 {
			*e = estimates{Mode: sim.LogNormal, Sigma: s}
			return nil
		}
	}
	return errors.New("want " + listed(estimatesModes) + " with SIGMA from 0 to 10, such as lognormal:0.5")
}
