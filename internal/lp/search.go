package lp

import (
	"math"
	"slices"
)

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
	s := NewSearch(pr, gap, iterations, levels)
	s.rest.Finish()
	found := s.Solution // not a pointer into s, which would keep the program and all work space
	return &found
}

// A Search solves a program by prices, a little at a time.
type Search struct {
	Solution // the best so far, once the first point is repaired

	dual       *Dual
	gap        float64
	iterations int
	rest       Course

	i          int     // the iteration
	theta      float64 // how far the points of the curves move
	stalled    int     // iterations without a better bound
	last, best float64 // of D; the bound without prices may be more
}

// NewSearch returns a search that ends as [SolveByPrice] does.
func NewSearch(pr Program, gap float64, iterations, levels int) *Search {
	s := &Search{
		Solution: Solution{Lower: pr.Trivial(), Raw: slices.Clone(pr.Start()), Upper: math.Inf(1)},
		gap:      gap, iterations: iterations, theta: 1.8, last: math.Inf(-1), best: math.Inf(-1),
	}
	s.rest = inTurn(
		func() Course { return s.look(pr, s.Raw) },
		func() Course {
			if s.Gap() <= gap {
				return nil
			}
			return firstCurves(pr, levels, func(curves []*Curve) { s.dual = NewDual(pr, curves) })
		},
		func() Course { return repeat(s.iterate) },
	)
	return s
}

// Step goes on with about as many looks at an item as the budget says, as a [Course] does. A
// search that has ended takes none.
func (s *Search) Step(budget int) (looks int, ended bool) {
	if s.rest != nil {
		if looks, ended = s.rest(max(budget, 1)); !ended {
			return looks, false
		}
		s.rest = nil
	}
	return looks, true
}

// Replay makes a new search take so many looks, and so come to where another is that has taken
// them, in whatever steps.
func (s *Search) Replay(looks uint64) {
	for ended := false; looks > 0 && !ended; {
		var n int
		n, ended = s.Step(int(min(looks, 1<<20)))
		looks -= min(uint64(n), looks)
	}
}

// look repairs a point, and keeps it if it is better than the best so far.
func (s *Search) look(pr Program, c []float64) Course {
	return pr.Repair(c, func(point []float64, value float64) {
		if s.C == nil || value < s.Upper {
			s.C, s.Upper = append(s.C[:0], point...), value
			copy(s.Raw, c)
		}
	})
}

// iterate returns the next iteration, or nil if the search has ended.
func (s *Search) iterate() Course {
	d := s.dual
	if d == nil || s.i >= s.iterations {
		return nil
	}
	looked := false
	return inTurn(
		func() Course { return d.evaluate(1e-10) },
		func() Course {
			s.judge()
			if looked = s.i%8 == 7 || s.i == s.iterations-1 || s.stalled > 12; looked {
				return s.look(d, d.c)
			}
			return nil
		},
		func() Course {
			if s.i++; looked && (s.Gap() <= s.gap || s.stalled > 12) {
				s.i = s.iterations
				return nil
			}
			d.step(s.theta)
			return nil
		})
}

// judge keeps the prices if they prove more than any before, and chooses how far to go.
func (s *Search) judge() {
	d := s.dual
	if d.bound-s.best > float64(1e-7*max(d.bound, -d.bound)) {
		s.stalled = 0
	} else {
		s.stalled++
	}
	s.best = max(s.best, d.bound)
	if d.bound > s.Lower {
		s.Lower, s.Prices = d.bound, d.prices()
	}
	if d.bound < s.last {
		s.theta = max(0.6*s.theta, 0.2)
	} else {
		s.theta = min(1.1*s.theta, 1.8)
	}
	s.last = d.bound
}
