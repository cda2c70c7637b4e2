package lp

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A Program is a linear program with the inequalities (4): a [JobForm] or a [TaskForm].
// It has the methods that the search for prices needs.
type Program interface {
	// Shape returns the machines and the work of each class.
	Shape() (machines, work []float64)
	// Len returns the number of weights, and Load one of them with the time that its work
	// would take all machines, one class after the other.
	Len() int
	Load(i int) (weight, load float64)
	// Start returns a point where Minimise may begin: the point without prices.
	Start() []float64
	// Minimise finds the best point under the prices of d. It starts from the
	// point in c, puts the result into c, notes all work in d, and adds a lower
	// bound of the Lagrangian function to d.
	Minimise(d *Dual, c []float64, tolerance float64) Course
	// Repair finds a feasible point that has the order of c, and its value. The next
	// call overwrites the point.
	Repair(c []float64, found func(point []float64, value float64)) Course
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
	plus   Total       // the least value of the Lagrangian function, without what the prices cost
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

// evaluate computes the bound that the prices prove, the best point, and the work done
// at each point of the curves.
func (d *Dual) evaluate(tolerance float64) Course {
	for k, w := range d.done {
		clear(w)
		clear(d.moment[k])
	}
	d.plus = Total{}
	return inTurn(
		func() Course { return d.Minimise(d, d.c, tolerance) },
		func() Course {
			var minus Total
			for k, c := range d.curves {
				minus.Add(float64(d.m[k] * c.integral(0)))
				w := d.done[k]
				for i := 1; i < len(w); i++ {
					w[i] += w[i-1]
				}
			}
			d.bound = Below(d.plus.Value(), minus.Value())
			return nil
		})
}

// Lower returns the bound that prices prove, at most one of each class, or a little less.
func Lower(pr Program, prices []Price) float64 {
	m, _ := pr.Shape()
	d := NewDual(pr, Curves(m, prices))
	d.evaluate(1e-13).Finish()
	return d.bound
}

// Lower returns the lower bound of the Lagrangian function that was found last.
func (d *Dual) Lower() float64 { return d.plus.Value() }

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
