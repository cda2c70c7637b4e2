package lp

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A Program is a linear program with the inequalities (4): a [JobForm] or a [TaskForm].
// It has the methods that the search for prices needs.
type Program interface {
	// Shape returns the machines and the work of each class.
	Shape() (machines, work []float64)
	// Smith visits each weight with the work that it is for, by class.
	Smith(visit func(weight float64, job int32, class int32, p float64))
	// Start returns a point where Minimise may begin: the point without prices.
	Start() []float64
	// Minimise finds the best point under the prices of d. It starts from the
	// point in c, puts the result into c, and notes all work in d. It returns a
	// lower bound of the Lagrangian function.
	Minimise(d *Dual, c []float64, tolerance float64) float64
	// Repair returns a feasible point that has the order of c, and its value.
	Repair(c []float64) (point []float64, value float64)
	// Trivial returns the value of the point without prices.
	Trivial() float64
}

// A Dual is a state of the search for the best prices. The curve of a class has
// fixed levels V, and the search moves the instants T at which the levels are
// reached. Let W(t) be the work with M <= t. Where N falls in an optimum, W(t) = m
// t. So a level at T moves towards W(T)/m, the instant at which the machines have
// done the work that is worth more. The levels keep their order. No grid of time
// has to be chosen: there are many levels where there are many jobs.
type Dual struct {
	Program
	m      []float64 // machines of each class
	curves []*Curve
	c      []float64   // the best point under the prices
	done   [][]float64 // W at each point of each curve
	moment [][]float64 // of work between a point and the one before: p times (1 - share)^2/2 and p times (1 - share^2)/2
	bound  float64     // D(N), or a little less
	pace   [][]float64 // of each point: its size is above 1 while the point keeps its direction, which is its sign
}

// NewDual returns the state at some prices: a curve of each class.
func NewDual(pr Program, curves []*Curve) *Dual {
	m, _ := pr.Shape()
	d := &Dual{Program: pr, m: m, curves: curves, c: slices.Clone(pr.Start())}
	for _, c := range curves {
		d.done = append(d.done, make([]float64, len(c.t)))
		d.moment = append(d.moment, make([]float64, 2*len(c.t)))
		d.pace = append(d.pace, make([]float64, len(c.t)))
	}
	return d
}

// A ratio is what Smith's rule compares.
type ratio struct {
	value float64 // weight over load
	load  float64 // time that all machines need, one class after the other
}

// smithRatios returns the ratios of the jobs of a program in the order of Smith's rule, the
// highest first, and the sum of their loads.
func smithRatios(pr Program, m []float64) (list []ratio, total float64) {
	weight, load, last := 0.0, 0.0, int32(-1)
	flush := func() {
		if load > 0 {
			list = append(list, ratio{weight / load, load})
			total += load
		}
	}
	pr.Smith(func(w float64, job, class int32, p float64) {
		if job != last {
			flush()
			weight, load, last = w, 0, job
		}
		load += p / m[class]
	})
	flush()
	slices.SortFunc(list, func(a, b ratio) int {
		return cmp.Or(cmp.Compare(b.value, a.value), cmp.Compare(a.load, b.load))
	})
	return list, total
}

// smithCurves returns the prices at which the search begins. They are in the order of
// Smith's rule, weight over work, with the given number of levels.
func smithCurves(pr Program, levels int) []*Curve {
	m, work := pr.Shape()
	list, total := smithRatios(pr, m)
	const tail = 24 // levels above and below those of jobs, a quarter each
	var curves []*Curve
	for k := range m {
		c := newCurve(m[k], 0)
		curves = append(curves, c)
		if work[k] == 0 || len(list) == 0 || levels == 0 {
			c.prepare()
			continue
		}
		share := work[k] / m[k] / total
		add := func(t, v float64) {
			t, v = float64(t*share), float64(v*share)/m[k]
			if n := len(c.v); n > 0 { // rounding
				t, v = max(t, c.t[n-1]), min(v, c.v[n-1])
			}
			c.t, c.v = append(c.t, t), append(c.v, v)
		}
		top := list[0].value
		for i := tail; i > 0; i-- {
			v := top
			for range i {
				v *= 1.25
			}
			add(0, v)
		}
		// The levels are at equal distances of work, interpolated between the jobs.
		run, at, last := 0.0, 0.0, top
		step := total / float64(levels)
		for _, r := range list {
			for at <= run+r.load {
				add(at, max(last+float64((r.value-last)*float64((at-run)/r.load)), r.value))
				at += step
			}
			run += r.load
			last = r.value
		}
		v := list[len(list)-1].value
		for range tail {
			v /= 1.25
			add(total, v)
		}
		add(total, 0)
		c.prepare()
	}
	return curves
}

// evaluate computes the bound that the prices prove, the best point, and the work done
// at each point of the curves.
func (d *Dual) evaluate(tolerance float64) {
	for k, w := range d.done {
		clear(w)
		clear(d.moment[k])
	}
	plus := d.Minimise(d, d.c, tolerance)
	var minus Total
	for k, c := range d.curves {
		minus.Add(float64(d.m[k] * c.integral(0)))
		w := d.done[k]
		for i := 1; i < len(w); i++ {
			w[i] += w[i-1]
		}
	}
	d.bound = Below(plus, minus.Value())
}

// note records work p of a class with M = s, on the piece of its curve that
// ends at point i.
func (d *Dual) note(class int32, i int, s, p float64) {
	c := d.curves[class]
	if i == len(c.t) {
		return
	}
	// Work with M = t[i-1] exactly belongs to the point before.
	d.done[class][i] += p
	if i == 0 {
		return
	}
	if width := c.t[i] - c.t[i-1]; width > 0 {
		share := (s - c.t[i-1]) / width
		d.moment[class][2*i] += float64(p * float64(float64((1-share)*(1-share))/2))
		d.moment[class][2*i+1] += float64(p * float64((1-float64(share*share))/2))
	}
}

// step moves each point. If nothing else moved, the slope of D would change its sign
// after some way; step goes theta times this way. A point that keeps its direction
// goes up to 4 times as far. Otherwise points would creep where prices change
// nothing.
func (d *Dual) step(theta float64) {
	for k, c := range d.curves {
		n := len(c.t)
		// lag[2i] and lag[2i+1] are the lags that the piece ending at i gives to the
		// point before it and to i.
		lag := d.moment[k]
		for i := 1; i < n; i++ {
			a, b := c.t[i-1], c.t[i]
			base := float64(d.done[k][i-1] / 2)
			fall := (lag[2*i]+base)/c.m - (a/3 + b/6)
			rise := (lag[2*i+1]+base)/c.m - (a/6 + b/3)
			drop := c.v[i-1] - c.v[i]
			lag[2*i], lag[2*i+1] = float64(drop*fall), float64(drop*rise)
		}
		last := 0.0
		for i := range c.t {
			sum, drop := 0.0, 0.0
			if i > 0 {
				sum += lag[2*i+1]
				drop += c.v[i-1] - c.v[i]
			}
			if i+1 < n {
				sum += lag[2*i+2]
				drop += c.v[i] - c.v[i+1]
			}
			t := c.t[i]
			if drop > 0 {
				pace := d.pace[k][i]
				if pace != 0 && (sum > 0) == (pace > 0) {
					pace = max(min(float64(pace*1.3), 4), -4)
				} else {
					pace = 1
					if sum < 0 {
						pace = -1
					}
				}
				d.pace[k][i] = pace
				t += float64(max(pace, -pace) * float64(theta*(2*sum/drop)))
			}
			last = max(last, t)
			c.t[i] = last
		}
		c.prepare()
	}
}

// prices returns the current prices, without redundant points.
func (d *Dual) prices() []Price {
	var list []Price
	for k, c := range d.curves {
		p := Price{Class: sojourn.Class(k)}
		for i := range c.t {
			if n := len(p.T); n > 1 && p.T[n-1] == c.t[i] && p.T[n-2] == c.t[i] {
				p.V[n-1] = c.v[i]
				continue
			}
			p.T, p.V = append(p.T, c.t[i]), append(p.V, c.v[i])
		}
		if len(p.T) > 0 {
			list = append(list, p)
		}
	}
	return list
}

// A Solution of the linear program: a bound with its proof, and a feasible point.
type Solution struct {
	Lower  float64
	Prices []Price // prove Lower
	Upper  float64
	C      []float64 // feasible, of value Upper
	Raw    []float64 // the point that C was repaired from: the order of M at Raw is that of a feasible point
}

// Gap returns (Upper-Lower)/Lower; 0 if they are equal.
func (s *Solution) Gap() float64 {
	if s.Lower == s.Upper {
		return 0
	}
	return (s.Upper - s.Lower) / s.Lower
}

// SolveByPrice searches for prices until the gap is at most gap, or for the given
// number of iterations.
func SolveByPrice(pr Program, gap float64, iterations, levels int) *Solution {
	s := &Solution{Lower: pr.Trivial()}
	s.Raw = slices.Clone(pr.Start())
	s.C, s.Upper = pr.Repair(s.Raw)
	if s.Gap() <= gap {
		return s
	}
	d := NewDual(pr, smithCurves(pr, levels))
	look := func() {
		if c, v := pr.Repair(d.c); v < s.Upper {
			s.C, s.Upper = c, v
			copy(s.Raw, d.c)
		}
	}
	theta, stalled := 1.8, 0
	last, best := math.Inf(-1), math.Inf(-1) // of D; the bound without prices may be more
	for i := range iterations {
		d.evaluate(1e-10)
		if d.bound-best > float64(1e-7*max(d.bound, -d.bound)) {
			stalled = 0
		} else {
			stalled++
		}
		best = max(best, d.bound)
		if d.bound > s.Lower {
			s.Lower, s.Prices = d.bound, d.prices()
		}
		if d.bound < last {
			theta = max(0.6*theta, 0.2)
		} else {
			theta = min(1.1*theta, 1.8)
		}
		last = d.bound
		if i%8 == 7 || i == iterations-1 || stalled > 12 {
			look()
			if s.Gap() <= gap || stalled > 12 {
				break
			}
		}
		d.step(theta)
	}
	return s
}
