package plan_test

import (
	"github.com/sojourn-sched/sojourn/research/certify"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// The internal tests of package plan cannot import certify, which imports plan.
func init() {
	plan.Certify.Verify = certify.Verify
	plan.Certify.Prices = certify.Prices
	plan.Certify.SmithRatios = certify.SmithRatios
	plan.Certify.Point = certify.Point
}
