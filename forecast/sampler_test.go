package forecast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// logNormal returns the logarithm of the density of a normal distribution in several dimensions at x, but for the powers of 2 pi,
// and the solution of covariance * y = x, by Gauss' elimination.
func logNormal(covariance [][]float64, x []float64) (log float64, y []float64) {
	n := len(x)
	rows := make([][]float64, n)
	for i := range rows {
		rows[i] = append(slices.Clone(covariance[i]), x[i])
	}
	for i := range rows {
		log -= math.Log(rows[i][i]) / 2
		for k := i + 1; k < n; k++ {
			f := rows[k][i] / rows[i][i]
			for c := i; c <= n; c++ {
				rows[k][c] -= f * rows[i][c]
			}
		}
	}
	y = make([]float64, n)
	for i := n - 1; i >= 0; i-- {
		y[i] = rows[i][n]
		for c := i + 1; c < n; c++ {
			y[i] -= rows[i][c] * y[c]
		}
		y[i] /= rows[i][i]
		log -= x[i] * y[i] / 2
	}
	return log, y
}

func matrix(n int, at func(i, k int) float64) [][]float64 {
	m := make([][]float64, n)
	for i := range m {
		for k := range n {
			m[i] = append(m[i], at(i, k))
		}
	}
	return m
}

func on(i, k int, v float64) float64 {
	if i == k {
		return v
	}
	return 0
}

// drawn are values that were drawn one after the other.
type drawn []float64

// below compares how often values were below the quantiles of a density. The draws depend on those before, so that they count as
// fewer.
func (d drawn) below(t *testing.T, name string, grid, density []float64) {
	t.Helper()
	total := 0.0
	for i := 1; i < len(grid); i++ {
		total += (density[i] + density[i-1]) / 2 * (grid[i] - grid[i-1])
	}
	for _, q := range []float64{.05, .25, .5, .75, .95} {
		sum, i := 0.0, 0
		for i = 1; i < len(grid)-1 && sum < q*total; i++ {
			sum += (density[i] + density[i-1]) / 2 * (grid[i] - grid[i-1])
		}
		n := 0
		for _, v := range d {
			if v < grid[i-1] {
				n++
			}
		}
		if got, want := float64(n)/float64(len(d)), sum/total; math.Abs(got-want) > .02 {
			t.Errorf("%s is below %.4g in %.3f of the draws, want %.3f", name, grid[i-1], got, want)
		}
	}
}

// moments compares mean and variance.
func (d drawn) moments(t *testing.T, name string, mean, variance float64) {
	t.Helper()
	var m moments
	for _, v := range d {
		m.add(v)
	}
	if got := m.about / m.n; math.Abs(m.mean-mean) > 5*math.Sqrt(variance/m.n)+1e-12 || math.Abs(got-variance) > 10*variance/math.Sqrt(m.n)+1e-12 {
		t.Errorf("%s has mean %.4f and variance %.5f, want %.4f and %.5f", name, m.mean, got, mean, variance)
	}
}

// logarithmic returns a grid from least to most.
func logarithmic(least, most float64) (grid []float64) {
	const points = 2000
	for i := range points {
		grid = append(grid, least*math.Pow(most/least, float64(i)/(points-1)))
	}
	return grid
}

// The logarithm of a product is that of all factors, far outside the range of numbers, too.
func TestProductsOfManyFactors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, log := range []func() float64{
		func() float64 { return -200 * r.Float64() }, func() float64 { return 200 * r.Float64() }, func() float64 { return 400*r.Float64() - 200 },
	} {
		p, want := product{of: 1}, 0.0
		for range 200 {
			x := log()
			want += x
			p.times(math.Exp(x))
			if got := p.logarithm(); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Fatalf("the logarithm is %v, want %v", got, want)
			}
		}
	}
}

// The probability that tasks run on, and what they take then, is a mixture that can be counted: deviations of the kind as often as
// there are any, those of all kinds and the normal distribution as if there were eight more each.
func TestResidualsAreAMixture(t *testing.T) {
	const draws = 10_000
	r := rand.New(rand.NewPCG(1, 1))
	normal := func(u float64) float64 { return math.Erfc(u/math.Sqrt2) / 2 } // above u
	own, all := []float64{-1.5, -.75, 0, .25, 2}, []float64{-2, -1, -1, -.5, 0, .5, 1, 3}
	for _, sigma := range []float64{.25, .5, 2} {
		m := &model{spread: .09, shape: shape{drawn: all}}
		k := &kindState{sigma: sigma, shape: shape{drawn: own, sigma: .5}}
		for name, tc := range map[string]struct {
			k      *kindState
			shares [3]float64 // of own deviations, of all and of the normal distribution
			scale  float64    // of own ones
			sigma  float64
		}{
			"a kind":             {k, [3]float64{5. / 13, 8. / 13 / 2, 8. / 13 / 2}, sigma / .5, sigma},
			"without deviations": {&kindState{sigma: sigma}, [3]float64{0, .5, .5}, 1, sigma},
			"of equal times":     {&kindState{fixed: true, sigma: sigma, shape: shape{drawn: []float64{0, 0}, sigma: .5}}, [3]float64{2. / 3, 1. / 6, 1. / 6}, 1, .3},
			"without a sigma":    {&kindState{sigma: sigma, shape: shape{drawn: []float64{0, 0}}}, [3]float64{.2, .4, .4}, 1, sigma},
		} {
			above := func(bound float64) float64 {
				count := func(list []float64, scale float64) (n float64) {
					for _, v := range list {
						if v*scale > bound {
							n++
						}
					}
					return n / max(1, float64(len(list)))
				}
				return tc.shares[0]*count(tc.k.shape.drawn, tc.scale) + tc.shares[1]*count(all, 1) + tc.shares[2]*normal(bound/tc.sigma)
			}
			for _, bound := range []float64{math.Inf(-1), -3, -1, -.5, 0, .1, .5, 1.9, 2.5} {
				want := above(bound)
				if got := m.above(tc.k, bound); math.Abs(got-want) > 3e-4 { // upper is an approximation
					t.Errorf("%s, sigma %v: above %v is %.5f, want %.5f", name, sigma, bound, got, want)
				}
				if want < 1e-6 {
					continue
				}
				higher := map[float64]int{}
				at := []float64{-2, -.9, -.3, .05, .3, .9, 2.2}
				for range draws {
					v := m.residual(tc.k, r, bound)
					if v <= bound {
						t.Fatalf("%s, sigma %v: %v is drawn above %v", name, sigma, v, bound)
					}
					for _, u := range at {
						if v > u {
							higher[u]++
						}
					}
				}
				for _, u := range at {
					want := above(max(u, bound)) / want
					if got := float64(higher[u]) / draws; math.Abs(got-want) > 4.5*math.Sqrt(want*(1-want)/draws)+2e-3 {
						t.Errorf("%s, sigma %v: of what is above %v, %.4f is above %v, want %.4f", name, sigma, bound, got, u, want)
					}
				}
			}
		}
	}
}

// What runs of a job survives with the product of the probabilities, each at least 1e-100.
func TestSurvival(t *testing.T) {
	m := &model{}
	k := &kindState{sigma: .5}
	j := &jobState{}
	want := 0.0
	for i := range 3 {
		g := &groupState{kind: k, job: j, l: float64(i)}
		for n := range 60 {
			age := float64(n)/8 - 2
			g.ages = append(g.ages, age)
			want += math.Log(max(1e-100, 1/(1+math.Exp((age-g.l)/.5*(1.5976+.070565*(age-g.l)*(age-g.l)/.25)))))
		}
		j.groups = append(j.groups, g)
	}
	if got := m.survival(j); want > -1000 || math.Abs(got-want) > 1e-9*-want {
		t.Errorf("the logarithm is %v, want %v", got, want)
	}
}

// several returns jobs with groups of two kinds of known variances, and their groups one after the other.
func several() (m *model, groups []*groupState) {
	m = &model{scale: times, random: rand.New(rand.NewPCG(3, 4)), knownClasses: 1, center: .3, variance: 100, tb: .7, ta: .09, tv: .04}
	c := &class{}
	m.classes = []*class{c}
	for i := range 2 {
		k := &kindState{class: c, variance: .2 + .3*float64(i), b: .5 * float64(i)}
		m.kinds, c.known, c.kinds = append(m.kinds, k), append(c.known, k), append(c.kinds, k)
	}
	for i := range 5 {
		j := &jobState{}
		m.jobs = append(m.jobs, j)
		for p, k := range m.kinds {
			if p == 1 && i%2 == 0 {
				continue
			}
			g := &groupState{kind: k, job: j, b: k.b + .1*float64(i)}
			for n := range 1 + (i+p)%3 {
				g.known.add(g.b + .4*float64(i-2) + .3*float64(n) - .2*float64(p))
			}
			g.now = g.known
			j.groups, k.groups, groups = append(j.groups, g), append(k.groups, g), append(groups, g)
		}
	}
	return m, groups
}

func (m *model) meanVariance(g *groupState, tv float64) float64 { return tv + g.kind.variance/g.now.n }

// The means of the groups of a job are normal, with a covariance of ta.
func TestJobLikelihood(t *testing.T) {
	m, _ := several()
	difference := func(total, split float64) (got, want float64) {
		log := func(total, split float64) (sum float64) {
			ta, tv := total*total*split, total*total*(1-split)
			for _, j := range m.jobs {
				var x []float64
				for _, g := range j.groups {
					x = append(x, g.now.mean-g.b)
				}
				at, _ := logNormal(matrix(len(x), func(i, k int) float64 { return ta + on(i, k, m.meanVariance(j.groups[i], tv)) }), x)
				sum += at
			}
			u := total / priors[times].job
			return sum - 3.5*math.Log(1+u*u/6) + math.Log(total) // a t distribution of 6, for steps of the logarithm
		}
		return m.jobLikelihood(total, split) - m.jobLikelihood(.3, .5), log(total, split) - log(.3, .5)
	}
	for _, total := range []float64{.01, .1, .5, 2} {
		for _, split := range []float64{0, .2, .5, .9, 1} {
			if got, want := difference(total, split); math.Abs(got-want) > 1e-9*(1+math.Abs(want)) {
				t.Errorf("total %v, split %v: it is %v more than at .3 and .5, want %v", total, split, got, want)
			}
		}
	}
}

// The deviation of a job, and the level of a group, are normal given the means.
func TestDeviations(t *testing.T) {
	m, _ := several()
	for i, j := range m.jobs {
		var x []float64
		for _, g := range j.groups {
			x = append(x, g.now.mean-g.b)
		}
		cov := matrix(len(x), func(i, k int) float64 { return m.ta + on(i, k, m.meanVariance(j.groups[i], m.tv)) })
		ones := slices.Repeat([]float64{m.ta}, len(x))
		_, y := logNormal(cov, x)
		_, gain := logNormal(cov, ones)
		mean, variance := 0.0, m.ta
		for k := range x {
			mean += m.ta * y[k]
			variance -= m.ta * gain[k]
		}
		var d, level drawn
		for range 20_000 {
			d = append(d, m.deviation(j, i%2 == 0))
			level = append(level, m.level(j.groups[0], &j.groups[0].now, .25))
		}
		d.moments(t, "a", mean, variance)
		g := j.groups[0]
		w := g.kind.variance / g.now.n
		level.moments(t, "l", (g.now.mean/w+(g.b+.25)/m.tv)/(1/w+1/m.tv), 1/(1/w+1/m.tv))
	}
}

// A walk has steps of the size q, which is 0 three times of four before anything is known.
func TestWalk(t *testing.T) {
	const draws = 60_000
	m, _ := several()
	k := m.kinds[0]
	c := k.class
	c.sum = 0
	for _, k := range c.known {
		c.sum += k.b
	}
	p := priors[times]
	// Given the other kind, the mean of the class is normal.
	precision := 1/(m.variance+p.class*p.class) + 1/(m.tb*m.tb)
	usual := (m.center/(m.variance+p.class*p.class) + m.kinds[1].b/(m.tb*m.tb)) / precision
	n := len(k.groups)
	var x []float64
	for _, g := range k.groups {
		other := 0.0 // what the other group of the job says of a
		if len(g.job.groups) > 1 {
			o := g.job.groups[1]
			other = m.ta / (m.ta + m.meanVariance(o, m.tv)) * (o.now.mean - o.b)
		}
		x = append(x, g.now.mean-other-usual)
	}
	walk := func(i, k int, q float64) float64 { return 1/precision + m.tb*m.tb + q*q*float64(min(i, k)) }
	cov := func(q float64) [][]float64 {
		return matrix(n, func(i, k int) float64 {
			g := m.kinds[0].groups[i]
			a := m.ta
			if len(g.job.groups) > 1 {
				w := m.meanVariance(g.job.groups[1], m.tv)
				a = m.ta * w / (m.ta + w)
			}
			return walk(i, k, q) + on(i, k, m.meanVariance(g, m.tv)+a)
		})
	}
	zero, _ := logNormal(cov(0), x)
	still, moved, mean := .75, 0.0, 0.0 // weights, and the mean of the first b but for usual
	at := func(q, weight float64) {
		log, y := logNormal(cov(q), x)
		if got := m.filter(k, q) - m.filter(k, 0); math.Abs(got-(log-zero)) > 1e-9 {
			t.Errorf("q %v: the likelihood is %v, want %v", q, got, log-zero)
		}
		weight *= math.Exp(log - zero)
		for i := range y {
			mean += weight * walk(0, i, q) * y[i]
		}
		if q > 0 {
			moved += weight
		}
	}
	m.walk(k) // which notes what the other groups of the jobs say
	const step = .0005
	for q := step / 2; q < 6*p.walk; q += step {
		at(q, .25*step*2/(p.walk*math.Sqrt(2*math.Pi))*math.Exp(-q*q/(2*p.walk*p.walk)))
	}
	at(0, .75)
	zeros := 0.0
	var first moments
	for range draws {
		m.walk(k)
		first.add(k.b)
		if k.q == 0 {
			zeros++
		}
	}
	if got, want := zeros/draws, still/(still+moved); math.Abs(got-want) > .02 {
		t.Errorf("q is 0 in %.3f of the draws, want %.3f", got, want)
	}
	if got, want := first.mean, usual+mean/(still+moved); math.Abs(got-want) > .02 {
		t.Errorf("the first b is %.3f on average, want %.3f", got, want)
	}
	if want := m.kinds[0].b + m.kinds[1].b; math.Abs(c.sum-want) > 1e-6 {
		t.Errorf("the sum of a class is %v, want %v", c.sum, want)
	}
}

// The variance of a kind counts as that of four tasks of the spread before anything is known.
func TestKindVariance(t *testing.T) {
	m, _ := several()
	m.spread = .45
	k := m.kinds[0]
	for i, g := range k.groups {
		g.job.a = .1 * float64(i)
	}
	var d drawn
	for range 60_000 {
		m.kindVariance(k)
		d = append(d, k.variance)
	}
	grid := logarithmic(1e-3, 1e2)
	var density []float64
	for _, v := range grid {
		log := -(4./2+1)*math.Log(v) - 4*m.spread/(2*v)
		for _, g := range k.groups {
			w := m.tv + v/g.now.n
			x := g.now.mean - g.b - g.job.a
			log -= (g.now.n-1)*math.Log(v)/2 + g.now.about/(2*v) + math.Log(w)/2 + x*x/(2*w)
		}
		density = append(density, math.Exp(log))
	}
	d.below(t, "sigma^2", grid, density)
}

// The kinds of a class are normal around its mean, which is normal around one that has a t distribution; their deviation has one, too.
func TestMeansOfClasses(t *testing.T) {
	p := priors[ratios]
	m := &model{scale: ratios, random: rand.New(rand.NewPCG(5, 6)), center: 0, variance: p.mean * p.mean, tb: .1, knownClasses: 1}
	c, unknown := &class{}, &class{}
	m.classes = []*class{c, unknown}
	b := []float64{-.3, .5, .2, .9, .4, .1}
	for _, b := range b {
		k := &kindState{class: c, b: b, groups: []*groupState{{}}}
		c.known, c.kinds = append(c.known, k), append(c.kinds, k)
	}
	c.kinds = append(c.kinds, &kindState{class: c})
	unknown.kinds = append(unknown.kinds, &kindState{class: unknown})
	var tb, of, mean, other drawn
	for range 80_000 {
		m.means(p)
		tb, of, mean, other = append(tb, m.tb), append(of, c.mean), append(mean, m.mean), append(other, unknown.mean)
	}
	var centers, means []float64
	for i := range 201 {
		centers = append(centers, float64(i-60)*.02)
		means = append(means, float64(i-100)*.03)
	}
	deviations := logarithmic(1e-2, 5)
	kinds := func(center, tb float64) float64 {
		log := -float64(len(b)) * math.Log(tb)
		for _, b := range b {
			log -= (b - center) * (b - center) / (2 * tb * tb)
		}
		return math.Exp(log)
	}
	spread := func(u float64) float64 { return math.Pow(1+u*u/6, -3.5) }
	around := func(center, mean, sigma float64) float64 {
		return math.Exp(-(center - mean) * (center - mean) / (2 * sigma * sigma))
	}
	prior := make([]float64, len(centers))
	byMean, byCenter, byDeviation := make([]float64, len(means)), make([]float64, len(centers)), make([]float64, len(deviations))
	for i, center := range centers {
		for _, mean := range means {
			prior[i] += spread(mean/p.mean) * around(center, mean, p.class)
		}
		for k, tb := range deviations {
			d := kinds(center, tb) * spread(tb/p.kind)
			byDeviation[k] += prior[i] * d
			if k > 0 {
				byCenter[i] += d * (tb - deviations[k-1])
			}
		}
		for k, mean := range means {
			byMean[k] += byCenter[i] * spread(mean/p.mean) * around(center, mean, p.class)
		}
		byCenter[i] *= prior[i]
	}
	tb.below(t, "the deviation of kinds", deviations, byDeviation)
	of.below(t, "the mean of a class", centers, byCenter)
	mean.below(t, "the mean of the classes", means, byMean)
	byOther := make([]float64, len(means))
	for i, at := range means {
		for k, mean := range means {
			byOther[i] += byMean[k] * around(at, mean, p.class)
		}
	}
	other.below(t, "the mean of a class of which nothing is known", means, byOther)
}
