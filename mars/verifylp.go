package mars

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// priced is a Price with its integrals.
type priced struct {
	*Price
	beyond []float64
	from   float64
}

// proves returns D(N), the bound that prices prove.
func (in *Instance) proves(prices []Price) (float64, error) {
	byClass := make([][]priced, len(in.Machines))
	latest := 0.0 // nothing is paid from here on
	sum := 0.0
	for i := range prices {
		p := &prices[i]
		if err := p.check(len(in.Machines)); err != nil {
			return 0, fmt.Errorf("price %d: %w", i, err)
		}
		from := time.Duration(p.From).Seconds()
		byClass[p.Class] = append(byClass[p.Class], priced{p, p.beyond(), from})
		if n := len(p.T); n > 0 {
			latest = max(latest, p.T[n-1])
		}
		sum -= float64(float64(in.Machines[p.Class]) * p.cost(from))
	}
	for j := range in.Jobs {
		masses, least := in.masses(j)
		sum += in.cheapest(j, masses, least, latest, byClass)
	}
	return sum, nil
}

// cheapest returns a number that
//
//	phi(C) = w_j C + sum over u of p_u (integral of N from C - d_u on)
//
// is nowhere below for C >= least, and that is attained but for rounding.
func (in *Instance) cheapest(j int, masses [][]mass, least, latest float64, prices [][]priced) float64 {
	w := in.Jobs[j].weight()
	release := time.Duration(in.Jobs[j].Release).Seconds()
	slope := func(c float64) (value, slope float64) {
		value, slope = float64(w*c), w
		for k, list := range prices {
			for _, p := range list {
				if p.from > release {
					continue
				}
				for _, m := range masses[k] {
					n, rest := p.at(c-m.d, p.beyond)
					value += float64(m.p * rest)
					slope -= float64(m.p * n)
				}
			}
		}
		return value, slope
	}
	longest := 0.0
	for _, list := range masses {
		for _, m := range list {
			longest = max(longest, m.d)
		}
	}
	lo, hi := least, max(least, latest+longest)
	value, s := slope(lo)
	if s >= 0 {
		return value
	}
	// Between lo, where phi falls, and hi, where it rises: secants of its slope, and
	// bisections lest they creep. phi lies above its tangent at lo, up to hi.
	end := w
	for i := range 200 {
		if float64(-s*(hi-lo)) <= 1e-13*value {
			break
		}
		mid := lo + float64((hi-lo)/2)
		if i%3 != 2 {
			// A little before the root of the secant, to keep lo tight.
			if at := lo + float64((hi-lo)*float64(s/(s-end))); at > lo && at < hi {
				mid = at
			}
		}
		if mid <= lo || mid >= hi {
			break
		}
		if v, sm := slope(mid); sm <= 0 {
			lo, value, s = mid, v, sm
		} else {
			hi, end = mid, sm
		}
	}
	return value + float64(s*(hi-lo))
}

// feasible returns the value of C, and an error if it does not satisfy (1)-(4).
func (in *Instance) feasible(c []float64) (float64, error) {
	if len(c) != len(in.Jobs) {
		return 0, fmt.Errorf("%d completions of the linear program for %d jobs", len(c), len(in.Jobs))
	}
	type middle struct{ m, p float64 }
	byClass := make([][]middle, len(in.Machines))
	value := 0.0
	for j := range in.Jobs {
		masses, least := in.masses(j)
		if !(c[j] >= float64(least*(1-tolerance)) && c[j] <= math.MaxFloat64) {
			return 0, fmt.Errorf("job %d: the linear program ends it at %v, before %v", j, c[j], least)
		}
		for k, list := range masses {
			for _, m := range list {
				byClass[k] = append(byClass[k], middle{c[j] - m.d, m.p})
			}
		}
		value += float64(in.Jobs[j].weight() * c[j])
	}
	for k, list := range byClass {
		slices.SortFunc(list, func(a, b middle) int {
			if a.m < b.m {
				return -1
			}
			if a.m > b.m {
				return 1
			}
			return 0
		})
		work, sum := 0.0, 0.0
		for i, u := range list {
			work += u.p
			sum += float64(u.p * u.m)
			if need := float64(work*work) / float64(2*in.Machines[k]); sum < float64(need*(1-tolerance)) {
				return 0, fmt.Errorf("class %d: the linear program violates (4) for the first %d tasks: %v < %v", k, i+1, sum, need)
			}
		}
	}
	return value, nil
}
