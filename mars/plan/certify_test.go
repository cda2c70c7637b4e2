package plan_test

import (
	"github.com/sojourn-sched/sojourn/mars/certify"
	"github.com/sojourn-sched/sojourn/mars/plan"
)

// The internal tests of package plan cannot import certify, which imports plan.
func init() {
	plan.Certify.Verify = certify.Verify
	plan.Certify.Prices = certify.Prices
	plan.Certify.SmithRatios = certify.SmithRatios
	plan.Certify.Point = certify.Point
}
