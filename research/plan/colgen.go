package plan

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A generator solves the linear program by generating inequalities (4), starting
// from a solution by prices. This is Algorithm 1 in the job form, except that it
// adds only the best inequality of each stretch of the order.
type generator struct {
	jf       *lp.JobForm
	m        *master
	best     *lp.Solution
	releases []float64 // of Goemans' cuts, in order; nil without
	buffer   []lp.Scanned
	all      bool // take the best of each stretch even if it is not violated
}

// newGenerator returns a generator with the inequalities that are nearest to tight
// at the solution by prices.
func newGenerator(jf *lp.JobForm, s *lp.Solution) *generator {
	g := &generator{jf: jf, m: newMaster(jf.W), best: s}
	g.all = true
	g.separate(s.Raw, 4*len(jf.W))
	g.all = false
	return g
}

// withReleases continues with release-aware inequalities, and returns the bound
// that is then proved. The feasible point for (1)-(4) does not change.
func (g *generator) withReleases(gap float64, budget int) (float64, []lp.Price) {
	const most = 64
	r := slices.Clone(g.jf.R)
	slices.Sort(r)
	r = slices.Compact(r)
	if len(r) > 0 && r[0] == 0 {
		r = r[1:]
	}
	if len(r) == 0 {
		return 0, nil
	}
	for i := range min(most, len(r)) {
		g.releases = append(g.releases, r[i*len(r)/min(most, len(r))])
	}
	kept := *g.best
	defer func() { g.best, g.releases = &kept, nil }()
	own := kept
	g.best = &own
	g.improve(gap, g.m.pivots+budget)
	return own.Lower, own.Prices
}

// separate adds violated inequalities at c. It divides the order of M of each
// class into the given number of stretches. For each stretch it adds the prefix
// that ends there and whose mean has to rise most. It returns the number of
// inequalities added.
func (g *generator) separate(c []float64, stretches int) int {
	added := 0
	for k := range g.jf.M {
		if g.jf.Work[k] == 0 {
			continue
		}
		g.buffer = g.jf.Scan(int32(k), c, g.buffer)
		added += g.prefixes(int32(k), 0, g.buffer, stretches)
		late := g.buffer // releases ascend, so that each list is part of the one before
		for _, r := range g.releases {
			late = slices.DeleteFunc(late, func(s lp.Scanned) bool { return g.jf.R[s.Job] < r })
			added += g.prefixes(int32(k), r, late, max(stretches/4, 4))
		}
	}
	return added
}

// prefixes is separate for one list.
func (g *generator) prefixes(class int32, release float64, list []lp.Scanned, stretches int) int {
	if len(list) == 0 {
		return 0
	}
	jf := g.jf
	m := jf.M[class]
	total := 0.0
	for _, s := range list {
		total += jf.Items[s.Item].P
	}
	type found struct {
		end int
		gap float64
	}
	var ends []found
	worst := math.Inf(-1)
	if !g.all {
		worst = 0
	}
	best := found{-1, worst}
	work, sum := 0.0, 0.0
	border := total / float64(stretches)
	for i, s := range list {
		p := jf.Items[s.Item].P
		work += p
		sum += float64(p * s.M)
		if gap := (float64(work*float64(work/(2*m)+release)) - sum) / work; gap > best.gap && (g.all || gap > float64(1e-12*s.M)) {
			best = found{i + 1, gap}
		}
		if work >= border || i == len(list)-1 {
			if best.end >= 0 {
				ends = append(ends, best)
			}
			best = found{-1, worst}
			border += total / float64(stretches)
		}
	}
	// One pass builds all rows.
	row := make([]float64, len(jf.W))
	work, sum = 0, 0
	next := 0
	for i, s := range list {
		if next == len(ends) {
			break
		}
		it := &jf.Items[s.Item]
		row[s.Job] += it.P
		work += it.P
		sum += float64(it.P * (jf.C[s.Job] - it.H))
		if i+1 == ends[next].end {
			// sum of p (C - h) >= W^2/2m + W r, in C = c + x.
			beta := float64(work*float64(work/(2*m)+release)) - sum
			g.m.add(cut{class, release, work}, slices.Clone(row), beta)
			next++
		}
	}
	return len(ends)
}

// improve alternates between the master and the separation until the gap is closed
// or the budget of pivots is spent.
func (g *generator) improve(gap float64, budget int) {
	jf, s := g.jf, g.best
	J := len(jf.W)
	c, sep := make([]float64, J), make([]float64, J)
	before := 0.0
	for round := 0; ; round++ {
		done := !g.m.solve(budget)
		bound := g.bound()
		for j := range c {
			c[j] = jf.C[j] + max(g.m.x[j]/jf.W[j], 0)
		}
		if g.releases == nil {
			g.offer(c)
			done = done || s.Upper-max(bound, s.Lower) <= float64(0.5*gap*s.Upper)
		} else if round%8 == 7 {
			done = done || bound-before <= float64(gap*bound)
			before = bound
		}
		if done || round > 2000 {
			break
		}
		g.m.forget(15)
		// The important inequalities show half way between the optimum of the
		// master, which is too low, and a feasible point.
		for j := range c {
			sep[j] = c[j] + float64(0.5*(s.C[j]-c[j]))
		}
		added := g.separate(sep, 20)
		if g.releases == nil {
			g.offer(sep)
		}
		if g.separate(c, 20)+added == 0 {
			break
		}
	}
	g.prove()
}

// bound returns the value of the master's dual solution. Up to rounding it is at
// most the value of the linear program.
func (g *generator) bound() float64 {
	sum := g.jf.Trivial()
	for i, col := range g.m.basis {
		if col >= 0 {
			sum += float64(g.m.y[i] * g.m.columns[col].beta)
		}
	}
	return sum
}

// offer repairs c and keeps it if it is better than the best point so far.
func (g *generator) offer(c []float64) {
	g.jf.Repair(c, func(repaired []float64, v float64) {
		if v < g.best.Upper {
			g.best.C, g.best.Upper = slices.Clone(repaired), v
			g.best.Raw = slices.Clone(c)
		}
	}).Finish()
}

// prices returns the prices of the master's dual solution: y_i for B is paid for a
// second of work before p(B)/m (after r).
func (g *generator) prices() []lp.Price {
	type step struct {
		class      int32
		release, t float64
		y          float64
	}
	var steps []step
	for i, col := range g.m.basis {
		if col >= 0 && g.m.y[i] > 0 {
			c := &g.m.columns[col]
			steps = append(steps, step{c.class, c.release, c.release + c.work/g.jf.M[c.class], g.m.y[i] / c.scale})
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.release, b.release), -cmp.Compare(a.t, b.t))
	})
	var list []lp.Price
	for i, s := range steps {
		if i == 0 || steps[i-1].class != s.class || steps[i-1].release != s.release {
			list = append(list, lp.Price{Class: sojourn.Class(s.class), From: sojourn.Time(time.Duration(s.release * 1e9))})
		}
		p := &list[len(list)-1]
		v := s.y
		if n := len(p.V); n > 0 {
			v += p.V[n-1]
			p.T, p.V = append(p.T, s.t), append(p.V, p.V[n-1])
		}
		p.T, p.V = append(p.T, s.t), append(p.V, v)
	}
	for i := range list {
		slices.Reverse(list[i].T)
		slices.Reverse(list[i].V)
	}
	return list
}

// prove computes the bound that the prices of the master prove. Any prices prove a
// bound: errors of the simplex method can make it weaker, but never false.
func (g *generator) prove() {
	g.m.refresh()
	prices := g.prices()
	if b := g.jf.Proves(prices, g.best.C, 0); b > g.best.Lower {
		g.best.Lower, g.best.Prices = b, prices
	}
}
