package mars

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A generator solves the linear program by generating inequalities (4), starting
// from a solution by prices: Algorithm 1 in the job form, with the best inequality
// of each stretch of the order in place of all.
type generator struct {
	jf       *jobForm
	m        *master
	best     *solution
	releases []float64 // of Goemans' cuts, in order; nil without
	buffer   []scanned
	all      bool // take the best of each stretch even if it is not violated
}

// newGenerator returns a generator with the inequalities that are nearest to tight
// at the solution by prices.
func newGenerator(jf *jobForm, s *solution) *generator {
	g := &generator{jf: jf, m: newMaster(jf.w), best: s}
	g.all = true
	g.separate(s.raw, 4*len(jf.w))
	g.all = false
	return g
}

// withReleases goes on with release-aware inequalities, and returns what is proved
// then. The point that is feasible for (1)-(4) stays as it is.
func (g *generator) withReleases(gap float64, budget int) (float64, []Price) {
	const most = 64
	r := slices.Clone(g.jf.r)
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
	return own.lower, own.prices
}

// separate adds violated inequalities at c: of each class and each of so many
// stretches of the order of M, the prefix that ends there and whose mean has to
// rise most. It returns how many there were.
func (g *generator) separate(c []float64, stretches int) int {
	added := 0
	for k := range g.jf.m {
		if g.jf.work[k] == 0 {
			continue
		}
		g.buffer = g.jf.scan(int32(k), c, g.buffer)
		added += g.prefixes(int32(k), 0, g.buffer, stretches)
		late := g.buffer // releases ascend, so that each list is part of the one before
		for _, r := range g.releases {
			late = slices.DeleteFunc(late, func(s scanned) bool { return g.jf.r[s.job] < r })
			added += g.prefixes(int32(k), r, late, max(stretches/4, 4))
		}
	}
	return added
}

// prefixes is separate for one list.
func (g *generator) prefixes(class int32, release float64, list []scanned, stretches int) int {
	if len(list) == 0 {
		return 0
	}
	jf := g.jf
	m := jf.m[class]
	total := 0.0
	for _, s := range list {
		total += jf.items[s.item].p
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
		p := jf.items[s.item].p
		work += p
		sum += float64(p * s.m)
		if gap := (float64(work*float64(work/(2*m)+release)) - sum) / work; gap > best.gap && (g.all || gap > float64(1e-12*s.m)) {
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
	row := make([]float64, len(jf.w))
	work, sum = 0, 0
	next := 0
	for i, s := range list {
		if next == len(ends) {
			break
		}
		it := &jf.items[s.item]
		row[s.job] += it.p
		work += it.p
		sum += float64(it.p * (jf.c[s.job] - it.h))
		if i+1 == ends[next].end {
			// sum of p (C - h) >= W^2/2m + W r, in C = c + x.
			beta := float64(work*float64(work/(2*m)+release)) - sum
			g.m.add(cut{class, release, work}, slices.Clone(row), beta)
			next++
		}
	}
	return len(ends)
}

// improve lets the master and the separation take turns until the gap is closed or
// the budget of pivots is spent.
func (g *generator) improve(gap float64, budget int) {
	jf, s := g.jf, g.best
	J := len(jf.w)
	c, sep := make([]float64, J), make([]float64, J)
	before := 0.0
	for round := 0; ; round++ {
		done := !g.m.solve(budget)
		bound := g.bound()
		for j := range c {
			c[j] = jf.c[j] + max(g.m.x[j]/jf.w[j], 0)
		}
		if g.releases == nil {
			g.offer(c)
			done = done || s.upper-max(bound, s.lower) <= float64(0.5*gap*s.upper)
		} else if round%8 == 7 {
			done = done || bound-before <= float64(gap*bound)
			before = bound
		}
		if done || round > 2000 {
			break
		}
		g.m.forget(15)
		// Half way between the optimum of the master, which is too low, and a point
		// that is feasible, the inequalities that matter stand out.
		for j := range c {
			sep[j] = c[j] + float64(0.5*(s.c[j]-c[j]))
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

// bound returns the value of the master's dual solution, which is not above that
// of the linear program but for rounding.
func (g *generator) bound() float64 {
	sum := g.jf.trivial()
	for i, col := range g.m.basis {
		if col >= 0 {
			sum += float64(g.m.y[i] * g.m.columns[col].beta)
		}
	}
	return sum
}

// offer repairs c and keeps it if it is better than what is known.
func (g *generator) offer(c []float64) {
	if repaired, v := g.jf.repair(c); v < g.best.upper {
		g.best.c, g.best.upper = repaired, v
		g.best.raw = slices.Clone(c)
	}
}

// prices returns the prices of the master's dual solution: y_i for B is paid for a
// second of work before p(B)/m (after r).
func (g *generator) prices() []Price {
	type step struct {
		class      int32
		release, t float64
		y          float64
	}
	var steps []step
	for i, col := range g.m.basis {
		if col >= 0 && g.m.y[i] > 0 {
			c := &g.m.columns[col]
			steps = append(steps, step{c.class, c.release, c.release + c.work/g.jf.m[c.class], g.m.y[i] / c.scale})
		}
	}
	slices.SortFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.release, b.release), -cmp.Compare(a.t, b.t))
	})
	var list []Price
	for i, s := range steps {
		if i == 0 || steps[i-1].class != s.class || steps[i-1].release != s.release {
			list = append(list, Price{Class: sojourn.Class(s.class), From: sojourn.Time(time.Duration(s.release * 1e9))})
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

// prove computes what the prices of the master prove, whatever they are: errors of
// the simplex method cost sharpness, never truth.
func (g *generator) prove() {
	g.m.refresh()
	prices := g.prices()
	if b := g.jf.proves(prices, g.best.c); b > g.best.lower {
		g.best.lower, g.best.prices = b, prices
	}
}
