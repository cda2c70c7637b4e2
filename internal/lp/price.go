package lp

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A Price is a non-increasing function N(t) >= 0 of time for one class of machine, as
// package plan documents it: V[0] up to T[0], then linear between the points (T[i], V[i]),
// and 0 after the last. Two points at one time are a step.
type Price struct {
	Class sojourn.Class
	From  sojourn.Time // the release r of Goemans' cuts; zero: all tasks pay
	T     []float64    // seconds, in order
	V     []float64    // never increasing, never negative
}

// A Curve is a Price that is prepared for evaluation.
type Curve struct {
	m     float64
	t, v  []float64
	tail  []float64 // the integral of N from t[i] on
	slope []float64 // of the piece that ends at t[i]; 0 at a step
	index []int32   // for each bucket of time, the number of points up to its start
	scale float64   // buckets a second
}

func newCurve(m float64, n int) *Curve {
	return &Curve{m: m, t: make([]float64, n), v: make([]float64, n)}
}

// Curves returns a curve of each class with the given number of machines. A class without
// a price is free. If a class has two prices, the last counts.
func Curves(m []float64, prices []Price) []*Curve {
	curves := make([]*Curve, len(m))
	for k := range curves {
		curves[k] = newCurve(m[k], 0)
		curves[k].prepare()
	}
	for i := range prices {
		if p := &prices[i]; int(p.Class) < len(curves) {
			curves[p.Class] = p.curve(m[p.Class])
		}
	}
	return curves
}

// prepare computes the fields that depend on t and v.
func (c *Curve) prepare() {
	n := len(c.t)
	if len(c.tail) != n {
		c.tail, c.slope = make([]float64, n), make([]float64, n)
	}
	sum := 0.0
	for i := n - 1; i >= 0; i-- {
		c.tail[i] = sum
		c.slope[i] = 0
		if i > 0 {
			d := c.t[i] - c.t[i-1]
			if d > 0 {
				c.slope[i] = (c.v[i] - c.v[i-1]) / d
			}
			sum += float64(d * float64(0.5*(c.v[i]+c.v[i-1])))
		}
	}
	c.scale = 0
	if n == 0 {
		return
	}
	buckets := 2 * n
	if end := c.t[n-1]; end > 0 {
		c.scale = float64(buckets) / end
		if !finite(c.scale) {
			c.scale = 0
		}
	}
	c.index = slices.Grow(c.index[:0], buckets+1)[:buckets+1]
	i := int32(0)
	for b := range c.index {
		for int(i) < n && float64(c.t[i]*c.scale) < float64(b) {
			i++
		}
		c.index[b] = i
	}
}

// cell returns the number of points at or before s: N(s) lies on the piece that
// ends at the point of that number.
func (c *Curve) cell(s float64) int {
	n := len(c.t)
	if n == 0 || s >= c.t[n-1] {
		return n
	}
	b := max(int(s*c.scale), 0)
	i := int(c.index[min(b, len(c.index)-1)])
	for i > 0 && c.t[i-1] > s { // the index may be off by rounding
		i--
	}
	for c.t[i] <= s {
		i++
	}
	return i
}

// integral returns the integral of (t-r) N(t) from r on.
func (c *Curve) integral(r float64) float64 {
	sum, a, va := 0.0, r, 0.0
	for i, b := range c.t {
		vb := c.v[i]
		if i == 0 {
			va = vb
		}
		if b > a {
			if i > 0 && c.t[i-1] < a {
				va = vb + float64(c.slope[i]*(a-b))
			}
			left := float64((a - r) * (float64(2*va) + vb))
			right := float64((b - r) * (va + float64(2*vb)))
			sum += float64((b-a)*(left+right)) / 6
			a = b
		}
		va = vb
	}
	return sum
}

// The demand of job j at C is
//
//	price   = sum of p_u N(C-h_u)
//	steep   = sum of p_u |N'(C-h_u)|
//	payment = sum of p_u N1(C-h_u), N1(t) the integral of N from t on.
//
// demand returns the first two.
func (jf *JobForm) demand(j int, at float64, curves []*Curve) (price, steep float64) {
	items := jf.Items[jf.First[j]:jf.First[j+1]]
	class := int32(-1)
	var c *Curve
	i := 0
	for k := range items {
		it := &items[k]
		s := at - it.H
		if it.Class != class {
			class = it.Class
			c = curves[class]
			i = c.cell(s)
		}
		for i < len(c.t) && c.t[i] <= s {
			i++
		}
		if i == len(c.t) {
			continue
		}
		price += float64(it.P * (c.v[i] + float64(c.slope[i]*(s-c.t[i]))))
		steep -= float64(it.P * c.slope[i])
	}
	return price, steep
}

// Payment returns the third.
func (jf *JobForm) Payment(j int, at float64, curves []*Curve) float64 {
	sum := 0.0
	class := int32(-1)
	var c *Curve
	i := 0
	for _, it := range jf.Of(j) {
		s := at - it.H
		if it.Class != class {
			class = it.Class
			c = curves[class]
			i = c.cell(s)
		}
		for i < len(c.t) && c.t[i] <= s {
			i++
		}
		if i == len(c.t) {
			continue
		}
		d := c.t[i] - s
		n := c.v[i] - float64(c.slope[i]*d)
		sum += float64(it.P * (c.tail[i] + float64(d*float64(0.5*(n+c.v[i])))))
	}
	return sum
}

// Best returns a C at or near the minimum over C >= c_j of
//
//	phi(C) = w_j C + sum of p_u N1(C-h_u)
//
// and a lower bound of phi. phi is convex, and its derivative is w_j minus the
// price of the demand. So the tangent at C bounds phi on the whole interval that
// contains the minimum. start is where to look first.
func (jf *JobForm) Best(j int, start float64, curves []*Curve, tolerance float64) (at, below float64) {
	w, lo := jf.W[j], jf.C[j]
	hi := lo
	for _, c := range curves {
		if n := len(c.t); n > 0 {
			hi = max(hi, c.t[n-1]+jf.HMax) // from here on j pays nothing
		}
	}
	at = min(max(start, lo), hi)
	var slope float64
	floor := true // lo was not evaluated
	for range 200 {
		price, steep := jf.demand(j, at, curves)
		slope = w - price
		if slope >= 0 {
			hi = at
		}
		if slope <= 0 {
			lo = at
			floor = false
		}
		reach := hi - at
		if slope > 0 {
			reach = at - lo
		}
		if float64(max(slope, -slope)*reach) <= float64(tolerance*float64(w*at)) {
			break
		}
		next := lo + float64(0.5*(hi-lo))
		newton := lo
		if steep > 0 {
			newton = at - slope/steep
		}
		if newton > lo && newton < hi {
			next = newton
		} else if newton <= lo && floor {
			next, floor = lo, false
		}
		if next == at {
			break
		}
		at = next
	}
	below = float64(w*at) + jf.Payment(j, at, curves)
	if slope > 0 {
		below -= float64(slope * (at - lo))
	} else {
		below += float64(slope * (hi - at))
	}
	return at, below
}

// Cheapest returns the C of job j at or near the minimum under prices.
func (jf *JobForm) Cheapest(j int, prices []Price, tolerance float64) float64 {
	at, _ := jf.Best(j, jf.C[j], Curves(jf.M, prices), tolerance)
	return at
}

// Proves returns the bound that prices prove, or a little less, if the objective is base more than
// that of jf. start is where to look for the minimum of each job first.
func (jf *JobForm) Proves(prices []Price, start []float64, base float64) float64 {
	var plus, minus Total
	plus.Add(base)
	froms := []float64{0}
	for i := range prices {
		p := &prices[i]
		c := p.curve(jf.M[p.Class])
		from := Seconds(int64(p.From))
		minus.Add(float64(jf.M[p.Class] * c.integral(from)))
		froms = append(froms, from)
	}
	slices.Sort(froms)
	froms = slices.Compact(froms)
	// A job pays the sum of the prices from its release or earlier.
	sums := make([][]*Curve, len(froms))
	for i, from := range froms {
		for k, m := range jf.M {
			var own []*Price
			for n := range prices {
				if p := &prices[n]; int(p.Class) == k && Seconds(int64(p.From)) <= from {
					own = append(own, p)
				}
			}
			sums[i] = append(sums[i], addPrices(m, own))
		}
	}
	for j := range jf.W {
		i, _ := slices.BinarySearch(froms, math.Nextafter(jf.R[j], math.Inf(1)))
		_, b := jf.Best(j, start[j], sums[i-1], 1e-13)
		plus.Add(b)
	}
	return Below(plus.Value(), minus.Value())
}

// curve returns a price of a class with m machines as a curve.
func (p *Price) curve(m float64) *Curve {
	c := newCurve(m, len(p.T))
	copy(c.t, p.T)
	copy(c.v, p.V)
	c.prepare()
	return c
}

// addPrices returns the sum of prices of one class as a curve.
func addPrices(m float64, prices []*Price) *Curve {
	var times []float64
	for _, p := range prices {
		times = append(times, p.T...)
	}
	slices.Sort(times)
	times = slices.Compact(times)
	c := newCurve(m, 0)
	for _, t := range times {
		before, after := 0.0, 0.0
		for _, p := range prices {
			b, a := p.around(t)
			before += b
			after += a
		}
		c.t, c.v = append(c.t, t), append(c.v, before)
		if after < before {
			c.t, c.v = append(c.t, t), append(c.v, after)
		}
	}
	// Rounding of the sums may not make the curve rise.
	for i := len(c.v) - 2; i >= 0; i-- {
		c.v[i] = max(c.v[i], c.v[i+1])
	}
	c.prepare()
	return c
}

// around returns N just before t and from t on.
func (p *Price) around(t float64) (before, after float64) {
	n := len(p.T)
	i, _ := slices.BinarySearch(p.T, t) // the first point at t or later
	if i == n {
		return 0, 0
	}
	if p.T[i] > t {
		if i == 0 {
			return p.V[0], p.V[0]
		}
		share := (t - p.T[i-1]) / (p.T[i] - p.T[i-1])
		v := p.V[i-1] + float64(share*(p.V[i]-p.V[i-1]))
		return v, v
	}
	before = p.V[i]
	last := i
	for last+1 < n && p.T[last+1] == t {
		last++
	}
	after = p.V[last]
	if last == n-1 {
		after = 0
	}
	return before, after
}
