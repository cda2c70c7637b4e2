package plan

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A Price is a non-increasing function N(t) >= 0 of time for one class of machines:
// the price at time t of each second of work that is done before t, in units of
// weight. Every such function proves a lower bound (Fact 3 of docs/theory/plan.md). It is
// V[0] up to T[0], then linear between the points (T[i], V[i]), and 0 after the last. Two
// points at one time are a step.
type Price struct {
	Class sojourn.Class
	// From is the release r of Goemans' cuts: the price is paid by tasks that
	// cannot start before it, for machines that exist from then on. Zero: all tasks.
	From sojourn.Time
	T    []float64 // seconds, in order
	V    []float64 // never increasing, never negative
}

// pricesOf returns the prices of a solution.
func pricesOf(list []lp.Price) []Price {
	var prices []Price
	for _, p := range list {
		prices = append(prices, Price(p))
	}
	return prices
}
