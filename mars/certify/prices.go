package certify

import (
	"fmt"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn/mars/plan"
)

// Prices returns the bound that prices prove: no schedule of the instance, by any policy, has an
// objective below it (Fact 3),
//
//	D(N) = sum over j of min over C >= c_j of [w_j C + sum over u of p_u N1(C - h_u)] - m integral of t N(t) dt,
//
// up to rounding. Goemans' price from r on is paid by tasks of jobs released at r or later,
// for machines that exist from r on; the integral is then of (t-r) N(t). The error says
// which price is invalid, or wraps [plan.ErrInstance] or, for the completion of tasks,
// [errors.ErrUnsupported].
func Prices(in plan.Instance, prices []plan.Price) (bound float64, err error) {
	if err := in.Check(); err != nil {
		return 0, err
	}
	return priceBound(&in, prices)
}

func priceBound(in *plan.Instance, list []plan.Price) (float64, error) {
	prices := make([][]price, len(in.Machines)) // by class
	latest := 0.0                               // nothing is paid from here on
	bound := 0.0
	for i := range list {
		if err := checkPrice(in, &list[i]); err != nil {
			return 0, fmt.Errorf("price %d: %w", i, err)
		}
		n := newPrice(&list[i])
		prices[n.Class] = append(prices[n.Class], n)
		if len(n.T) > 0 {
			latest = max(latest, slices.Max(n.T))
		}
		bound -= float64(float64(in.Machines[n.Class]) * n.earnings())
	}
	for j := range in.Jobs {
		// A job pays the prices from its release or earlier.
		own := make([][]price, len(prices))
		for k, list := range prices {
			for _, n := range list {
				if n.from <= seconds(in.Jobs[j].Release) {
					own[k] = append(own[k], n)
				}
			}
		}
		var least float64
		var err error
		if in.Objective == plan.TaskCompletion {
			least, err = cheapestTasks(&in.Jobs[j], own, latest)
		} else {
			least = cheapestEnd(in, &in.Jobs[j], own, latest)
		}
		if err != nil {
			return 0, fmt.Errorf("%s: %w", nameOf(in, j), err)
		}
		bound += least
	}
	return bound, nil
}

// A price is N with its integrals.
type price struct {
	*plan.Price
	from float64   // r
	n1   []float64 // N1(t) at each point
}

func newPrice(p *plan.Price) price {
	n := price{Price: p, from: seconds(p.From), n1: make([]float64, len(p.T))}
	for i := len(p.T) - 2; i >= 0; i-- {
		n.n1[i] = n.n1[i+1] + float64((p.T[i+1]-p.T[i])*float64((p.V[i]+p.V[i+1])/2))
	}
	return n
}

// checkPrice returns an error unless N is at least 0 and never increases.
func checkPrice(in *plan.Instance, p *plan.Price) error {
	if int(p.Class) >= len(in.Machines) || len(p.T) != len(p.V) {
		return fmt.Errorf("class %d, %d times and %d values", p.Class, len(p.T), len(p.V))
	}
	for i := range p.T {
		if !finite(p.T[i]) || !finite(p.V[i]) {
			return fmt.Errorf("point %d: (%v, %v)", i, p.T[i], p.V[i])
		}
		if i > 0 && (p.T[i] < p.T[i-1] || p.V[i] > p.V[i-1]) {
			return fmt.Errorf("point %d: (%v, %v) comes after (%v, %v)", i, p.T[i], p.V[i], p.T[i-1], p.V[i-1])
		}
	}
	return nil
}

// at returns N(t) and N1(t).
func (n *price) at(t float64) (value, rest float64) {
	i := sort.Search(len(n.T), func(i int) bool { return n.T[i] > t }) // the first point after t
	switch {
	case i == len(n.T):
		return 0, 0
	case i == 0:
		return n.V[0], n.n1[0] + float64(n.V[0]*(n.T[0]-t))
	}
	share := (n.T[i] - t) / (n.T[i] - n.T[i-1])
	value = n.V[i] + float64(share*(n.V[i-1]-n.V[i]))
	return value, n.n1[i] + float64((n.T[i]-t)*float64((value+n.V[i])/2))
}

// earnings returns the integral of (t-r) N(t) from r on: what a machine earns.
func (n *price) earnings() float64 {
	r := n.from
	sum, last, value := 0.0, r, 0.0 // value is N(last)
	if len(n.T) > 0 {
		value = n.V[0]
	}
	for i, t := range n.T {
		if t > last {
			if i > 0 && n.T[i-1] < last {
				value, _ = n.at(last) // the piece begins before r
			}
			// The integrand is a product of two linear functions: Simpson's rule is exact.
			first, end := float64((last-r)*value), float64((t-r)*n.V[i])
			middle := float64(float64(float64((last+t)/2)-r) * float64((value+n.V[i])/2))
			sum += float64((t - last) / 6 * (first + float64(4*middle) + end))
			last = t
		}
		value = n.V[i]
	}
	return sum
}

// cheapestEnd returns the minimum over C >= c_j of
//
//	phi(C) = w_j C + sum over u of p_u N1(C - h_u),
//
// or a little less. Work at latest or later pays nothing.
func cheapestEnd(in *plan.Instance, job *plan.Job, prices [][]price, latest float64) float64 {
	w, form := jobWeight(job), formOf(in, job)
	phi := func(c float64) (value, slope float64) {
		value, slope = float64(w*c), w
		for k, tasks := range form.tasks {
			for i := range prices[k] {
				for _, u := range tasks {
					n, n1 := prices[k][i].at(c - u.h)
					value += float64(u.p * n1)
					slope -= float64(u.p * n)
				}
			}
		}
		return value, slope
	}
	longest := 0.0
	for _, tasks := range form.tasks {
		for _, u := range tasks {
			longest = max(longest, u.h)
		}
	}
	return lowest(phi, form.c, max(form.c, latest+longest), w)
}

// lowest returns the minimum of a convex function from lo on, or a little less: a lower
// bound that the function attains up to rounding. f returns a value and a slope. Beyond hi
// the slope is rise, which is positive.
//
// f falls at lo and rises at hi. Between them lowest takes secants of the slope, and bisections
// where secants would creep. A convex function lies above its tangents: up to hi it lies above
// the one at lo, and beyond hi it rises.
func lowest(f func(x float64) (value, slope float64), lo, hi, rise float64) float64 {
	value, slope := f(lo)
	for i := range 200 {
		if slope >= 0 || float64(-slope*(hi-lo)) <= float64(1e-13*value) {
			break
		}
		mid := lo + float64((hi-lo)/2)
		if i%3 != 2 {
			if secant := lo + float64((hi-lo)*float64(slope/(slope-rise))); secant > lo && secant < hi {
				mid = secant
			}
		}
		if mid <= lo || mid >= hi {
			break
		}
		if v, s := f(mid); s <= 0 {
			lo, value, slope = mid, v, s
		} else {
			hi, rise = mid, s
		}
	}
	if slope >= 0 {
		return value
	}
	return value + float64(slope*(hi-lo))
}
