package certify

import (
	"fmt"
	"sort"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// Prices returns a bound that prices prove: no schedule of the instance, by any policy, has an
// objective below it (Fact 3). It is
//
//	D(N) = sum over j of min over C >= c_j of [w_j C + sum over u of p_u N1(C - h_u)] - m integral of t N(t) dt,
//
// or a little less. Goemans' price from r on is paid by tasks of jobs released at r or later,
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
	prices := make([]price, 0, len(list))
	var total sum // at most 1e9 D(N)
	for i := range list {
		if err := checkPrice(in, &list[i]); err != nil {
			return 0, fmt.Errorf("price %d: %w", i, err)
		}
		n := newPrice(&list[i])
		prices = append(prices, n)
		total.add(-int64(in.Machines[n.class]), n.earnings())
	}
	v := valley{prices: prices, end: 1}
	for _, n := range prices {
		v.end = max(v.end, above(n.end()))
	}
	for j := range in.Jobs {
		if in.Objective == plan.TaskCompletion {
			if err := cheapestTasks(&total, &v, &in.Jobs[j]); err != nil {
				return 0, fmt.Errorf("%s: %w", nameOf(in, j), err)
			}
			continue
		}
		cheapestEnd(&total, &v, &in.Jobs[j])
	}
	return total.over(1e9), nil
}

// checkPrice returns an error unless N is at least 0 and never increases.
func checkPrice(in *plan.Instance, p *plan.Price) error {
	if int(p.Class) >= len(in.Machines) || len(p.T) != len(p.V) {
		return fmt.Errorf("class %d, %d times and %d values", p.Class, len(p.T), len(p.V))
	}
	if p.From < 0 {
		return fmt.Errorf("it is paid from %v on", p.From)
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

// A price is N in nanoseconds after r, and in weight per nanosecond of work. It is another
// function than the [plan.Price], by rounding. This is safe: it does not increase either, so that it
// proves its own bound. From here on it is exact, and all jobs and machines have the same one.
type price struct {
	class sojourn.Class
	from  sojourn.Time // r
	t, v  []float64
	// Of the piece that ends at point i: how much N falls in a nanosecond, at least and at most.
	least, most []float64
	rest        []float64 // at most N1 at each point
}

// Greater times and values are as good as these. They keep all numbers finite.
const (
	latest  = 1 << 64
	dearest = 1e200
)

func newPrice(p *plan.Price) price {
	n := price{class: p.Class, from: p.From}
	r := float64(p.From)
	for i := range p.T {
		// The nearest numbers are in the order of the exact ones.
		t := min(float64(p.T[i]*1e9)-r, latest)
		v := min(p.V[i]/1e9, dearest)
		if t > 0 && i > 0 && n.t[i-1] < 0 { // N passes 0 between these points
			share := t / (t - n.t[i-1])
			n.v[i-1] = min(v+float64(share*(n.v[i-1]-v)), n.v[i-1])
		}
		n.t, n.v = append(n.t, t), append(n.v, v)
	}
	for i := range n.t {
		n.t[i] = max(n.t[i], 0)
	}
	n.least, n.most, n.rest = make([]float64, len(n.t)), make([]float64, len(n.t)), make([]float64, len(n.t))
	var rest sum
	for i := len(n.t) - 1; i > 0; i-- {
		if width, fall := n.t[i]-n.t[i-1], n.v[i-1]-n.v[i]; width > 0 && fall > 0 {
			n.least[i] = down(down(fall) / above(width))
			n.most[i] = above(above(fall) / down(width))
		}
		rest.add(1, down(down(n.t[i]-n.t[i-1])*down(down(n.v[i-1]+n.v[i])/2)))
		n.rest[i-1] = rest.floor()
	}
	return n
}

// end returns when N is 0.
func (n *price) end() float64 {
	if len(n.t) == 0 {
		return 0
	}
	return n.t[len(n.t)-1]
}

// piece returns the point at which the piece of t ends: the first after t.
func (n *price) piece(t float64) int {
	return sort.Search(len(n.t), func(i int) bool { return n.t[i] > t })
}

// atLeast returns a number that is at most N(t), for t in piece i.
func (n *price) atLeast(i int, t float64) float64 {
	if i == len(n.t) {
		return 0
	}
	return max(n.v[i], down(n.v[i]+down(down(n.t[i]-t)*n.least[i])))
}

// atMost returns a number that is at least N(t), for t in piece i.
func (n *price) atMost(i int, t float64) float64 {
	switch {
	case i == len(n.t):
		return 0
	case n.most[i] == 0: // N is constant
		return n.v[i]
	}
	return min(n.v[i-1], above(n.v[i]+above(above(n.t[i]-t)*n.most[i])))
}

// after returns a number that is at most N1(t), for t in piece i.
func (n *price) after(i int, t float64) float64 {
	if i == len(n.t) {
		return 0
	}
	mean := down(down(n.atLeast(i, t)+n.v[i]) / 2)
	return down(n.rest[i] + down(down(n.t[i]-t)*mean))
}

// earnings returns a number that is at least the integral of t N(t): what a machine earns. On the
// line from (a, f) to (b, g) the integral is (b-a) (f (2a+b) + g (a+2b))/6, a sum of products of
// numbers that are at least 0.
func (n *price) earnings() float64 {
	var all sum
	a, f := 0.0, 0.0
	for i, b := range n.t {
		g := n.v[i]
		if i == 0 {
			f = g
		}
		if b > a && f > 0 {
			two := above(above(f*above((a+a)+b)) + above(g*above(a+(b+b))))
			all.add(1, above(above(b-a)*above(two/6)))
		}
		a, f = b, g
	}
	return all.ceil()
}

// cheapestEnd adds to total the minimum over C >= c_j of
//
//	phi(C) = w_j C + sum over u of p_u N1(C - h_u),
//
// in weight and nanoseconds, or a little less. With C = c_j + x, the M of a task is x and what it
// is if the job ends at c_j, which is an integer of half nanoseconds.
func cheapestEnd(total *sum, v *valley, job *plan.Job) {
	form := formOf(job)
	v.w, v.payers = jobWeight(job), v.payers[:0]
	for _, u := range form.tasks {
		v.payers = append(v.payers, payer{class: u.class, p: int64(u.p), m: 2*int64(form.c) - int64(u.h2)})
	}
	v.releasedAt(job.Release)
	total.add(int64(form.c), v.w)
	v.addLowest(total)
}
