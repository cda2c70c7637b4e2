package forecast

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// next goes on to the next draw.
func (m *model) next() {
	m.sweep()
	for _, k := range m.kinds {
		b := k.b
		if n := len(k.groups); n > 0 {
			b = k.groups[n-1].b
		}
		for i, g := range k.waiting {
			if i > 0 || len(k.groups) > 0 {
				b += m.normal(float64(k.q * k.q))
			}
			g.b = b
		}
	}
	for _, j := range m.waiting {
		j.a = m.normal(m.ta)
	}
	for _, k := range m.kinds {
		for _, g := range k.waiting {
			g.l = m.level(g, &g.now, g.job.a)
		}
	}
}

// normal draws from the normal distribution of mean 0 and a variance.
func (m *model) normal(variance float64) float64 {
	return float64(math.Sqrt(variance) * detmath.Normal(m.random))
}

// accept decides a step of Metropolis by the logarithm of the ratio.
func (m *model) accept(log float64) bool {
	return log >= 0 || detmath.Exponential(m.random) > -log
}

// sweep draws all that is unknown once more, each given the others.
func (m *model) sweep() {
	if m.sweeps++; m.sweeps%4 == 1 {
		m.shape.draw(m.random)
		for _, k := range m.kinds {
			if k.live {
				k.shape.draw(m.random)
			}
		}
	}
	for _, j := range m.jobs {
		if j.runs {
			m.running(j)
		}
	}
	m.jobVariances()
	for _, c := range m.classes {
		c.sum = 0
		for _, k := range c.known {
			c.sum += k.b
		}
		for _, k := range c.known {
			m.walk(k)
		}
	}
	for _, j := range m.jobs {
		j.a = m.deviation(j, false)
	}
	inverse, n := 0.0, 0.0
	for _, k := range m.kinds {
		if m.kindVariance(k); k.variance > 0 {
			inverse += 1 / k.variance
			n++
		}
	}
	p := priors[m.scale]
	// spread is exponential, with a rate that is itself drawn: so it may be several times p.spread.
	rate := gamma(m.random, 3) / (float64(2*p.spread) + m.spread)
	m.spread = gamma(m.random, 1+float64(n*(likeness/2))) / (rate + float64(likeness/2*inverse))
	m.means(p)
	for _, j := range m.jobs {
		for _, g := range j.groups {
			if g.live {
				g.l = m.level(g, &g.now, j.a)
			}
		}
	}
}

// weight returns the variance of the mean of a group around b + a.
func (g *groupState) weight(tv float64, of *moments) float64 {
	return max(leastValue, tv+g.kind.variance/of.n)
}

// sums returns the sum of the precisions of the groups of a job, and that of their deviations from b.
func (j *jobState) sums(tv float64, known bool) (precision, deviation float64) {
	for _, g := range j.groups {
		of := &g.now
		if known {
			of = &g.known
		}
		if g.counts(of) {
			w := g.weight(tv, of)
			precision += 1 / w
			deviation += (of.mean - g.b) / w
		}
	}
	return precision, deviation
}

// deviation draws a of a job.
func (m *model) deviation(j *jobState, known bool) float64 {
	precision, deviation := j.sums(m.tv, known)
	d := 1 + float64(m.ta*precision)
	return float64(m.ta*deviation)/d + m.normal(m.ta/d)
}

// level draws b + a + v of a group.
func (m *model) level(g *groupState, of *moments, a float64) float64 {
	if g.kind.same {
		return g.kind.mean
	}
	prior := g.b + a
	if of.n == 0 {
		return prior + m.normal(m.tv)
	}
	w := max(leastValue, g.kind.variance/of.n)
	share := m.tv / (m.tv + w)
	return prior + float64(share*(of.mean-prior)) + m.normal(float64(share*w))
}

// A product is of factors from leastValue up, and its logarithm is wanted.
type product struct{ log, of float64 }

func (p *product) times(factor float64) {
	if p.of *= factor; p.of < 1e-200 || p.of > 1e200 {
		p.log, p.of = p.logarithm(), 1
	}
}

func (p *product) logarithm() float64 { return p.log + detmath.Log(p.of) }

// survival returns the logarithm of the probability that all that runs of a job takes longer than it has run.
func (m *model) survival(j *jobState) float64 {
	all := product{of: 1}
	for _, g := range j.groups {
		for _, age := range g.ages {
			all.times(max(1e-100, m.above(g.kind, age-g.l)))
		}
	}
	return all.logarithm()
}

// running draws a and the levels of a job with running tasks, given how long these have run, and then what they take.
func (m *model) running(j *jobState) {
	now, before := m.survival(j), j.a
	j.a = m.deviation(j, true)
	for _, g := range j.groups {
		g.before, g.l = g.l, m.level(g, &g.known, j.a)
	}
	if !m.accept(m.survival(j) - now) {
		j.a = before
		for _, g := range j.groups {
			g.l = g.before
		}
	}
	for _, g := range j.groups {
		g.now = g.known
		for _, age := range g.ages {
			g.now.add(g.l + m.residual(g.kind, m.random, age-g.l))
		}
	}
}

// jobLikelihood returns the logarithm of the density of ta and tv, for any a.
func (m *model) jobLikelihood(total, split float64) float64 {
	ta, tv := float64(total*total*split), float64(total*total*(1-split))
	sum, all := -float64(2*(tailed(total/priors[m.scale].job)+detmath.Log(total))), product{of: 1}
	for _, j := range m.jobs {
		precision, deviation := 0.0, 0.0
		for _, g := range j.groups {
			if g.counts(&g.now) {
				w := g.weight(tv, &g.now)
				d := g.now.mean - g.b
				precision += 1 / w
				deviation += d / w
				sum += float64(d*d) / w
				all.times(w)
			}
		}
		d := 1 + float64(ta*precision)
		all.times(d)
		sum -= float64(ta*float64(deviation*deviation)) / d
	}
	return -(sum + all.logarithm()) / 2
}

// jobVariances draws ta and tv, for any a.
func (m *model) jobVariances() {
	now := m.jobLikelihood(m.total, m.split)
	to := max(1e-8, float64(m.total*detmath.Exp(float64(.7*detmath.Normal(m.random)))))
	if log := m.jobLikelihood(to, m.split); m.accept(log - now) {
		m.total, now = to, log
	}
	split := float64(m.random.Float64())
	if log := m.jobLikelihood(m.total, split); m.accept(log - now) {
		m.split = split
	}
	square := float64(m.total * m.total)
	m.ta, m.tv = float64(square*m.split), float64(square*(1-m.split))
}

// walk draws the walk of b of a kind and the size of its steps, for any a of its jobs.
func (m *model) walk(k *kindState) {
	for _, g := range k.groups {
		precision, deviation := 0.0, 0.0
		for _, o := range g.job.groups {
			if o != g && o.counts(&o.now) {
				w := o.weight(m.tv, &o.now)
				precision += 1 / w
				deviation += (o.now.mean - o.b) / w
			}
		}
		d := 1 + float64(m.ta*precision)
		g.otherMean, g.otherVariance = float64(m.ta*deviation)/d, m.ta/d
	}
	q := 0.0
	if u := float64(m.random.Float64()); u < .25 {
		q = float64(priors[m.scale].walk * math.Abs(detmath.Normal(m.random)))
	}
	if now := m.filter(k, k.q); q != k.q {
		if m.accept(m.filter(k, q) - now) {
			k.q = q
		} else {
			m.filter(k, k.q)
		}
	}
	last := k.groups[len(k.groups)-1]
	last.b = last.mean + m.normal(last.variance)
	for i := len(k.groups) - 2; i >= 0; i-- {
		g := k.groups[i]
		share := g.variance / max(g.variance+float64(k.q*k.q), leastValue)
		g.b = g.mean + float64(share*(k.groups[i+1].b-g.mean)) + m.normal(float64(g.variance*(1-share)))
	}
	k.class.sum += k.groups[0].b - k.b
	k.b = k.groups[0].b
}

// usual returns the mean and the variance of what is usual for a kind, for any mean of its class and, if there
// is one class, any mean of the classes, given the other kinds.
func (m *model) usual(k *kindState) (mean, variance float64) {
	mean, variance = m.classPrior()
	w := max(leastValue, float64(m.tb*m.tb))
	precision := 1/variance + float64(len(k.class.known)-1)/w
	return (mean/variance + (k.class.sum-k.b)/w) / precision, 1/precision + w
}

// classPrior returns the mean and the variance of the mean of a class, given the other classes.
func (m *model) classPrior() (mean, variance float64) {
	p := priors[m.scale]
	if m.knownClasses == 1 {
		return m.center, m.variance + float64(p.class*p.class)
	}
	return m.mean, float64(p.class * p.class)
}

// filter is a Kalman filter of b. It returns the logarithm of the likelihood.
func (m *model) filter(k *kindState, q float64) float64 {
	mean, variance := m.usual(k)
	sum, all := 0.0, product{of: 1}
	for i, g := range k.groups {
		if i > 0 {
			variance += float64(q * q)
		}
		if g.now.n > 0 {
			s := variance + g.weight(m.tv, &g.now) + g.otherVariance
			e := g.now.mean - g.otherMean - mean
			sum += float64(e*e) / s
			all.times(s)
			gain := variance / s
			mean += float64(gain * e)
			variance = float64(variance * (1 - gain))
		}
		g.mean, g.variance = mean, variance
	}
	return -(sum + all.logarithm()) / 2
}

// kindVariance draws sigma of a kind.
func (m *model) kindVariance(k *kindState) {
	if k.fixed {
		return
	}
	about, free := 0.0, 0.0
	for _, g := range k.groups {
		if g.now.n > 0 {
			about += g.now.about
			free += g.now.n - 1
		}
	}
	of := func(variance float64) float64 {
		sum, all := 0.0, product{of: 1}
		for _, g := range k.groups {
			if g.now.n == 0 {
				continue
			}
			w := max(leastValue, m.tv+variance/g.now.n)
			d := g.now.mean - g.b - g.job.a
			sum += float64(d*d) / w
			all.times(w)
		}
		return -(sum + all.logarithm()) / 2
	}
	to := (float64(likeness*m.spread) + about) / float64(2*gamma(m.random, (likeness+free)/2))
	if m.accept(of(to) - of(k.variance)) {
		k.setVariance(to)
	}
}

// means draws the means of classes and how far the kinds are from them. Classes and kinds of which nothing is known come last.
func (m *model) means(p prior) {
	precision := 1 / m.variance
	sum := m.center / m.variance
	squares, n := 0.0, 0.0
	w := max(leastValue, float64(m.tb*m.tb))
	for _, c := range m.classes {
		if len(c.known) == 0 {
			continue
		}
		mean, variance := m.classPrior()
		pr, s := 1/variance, mean/variance
		for _, k := range c.known {
			pr += 1 / w
			s += k.b / w
		}
		c.mean = s/pr + m.normal(1/pr)
		precision += 1 / float64(p.class*p.class)
		sum += c.mean / float64(p.class*p.class)
		for _, k := range c.known {
			d := k.b - c.mean
			squares += float64(d * d)
			n++
		}
	}
	m.mean = sum/precision + m.normal(1/precision)
	// A normal distribution whose variance has such a distribution is a t distribution.
	off := (m.mean - m.center) / p.mean
	m.variance = float64(p.mean*p.mean) * (freedom + float64(off*off)) / float64(2*gamma(m.random, (freedom+1)/2))
	of := func(tb float64) float64 {
		return float64((1-n)*detmath.Log(tb)) - squares/float64(2*tb*tb) + tailed(tb/p.kind)
	}
	to := max(1e-6, float64(m.tb*detmath.Exp(float64(.7*detmath.Normal(m.random)))))
	if m.accept(of(to) - of(m.tb)) {
		m.tb = to
	}
	for _, c := range m.classes {
		if len(c.known) == 0 {
			c.mean = m.mean + m.normal(float64(p.class*p.class))
		}
		for _, k := range c.kinds {
			if len(k.groups) == 0 {
				k.b = c.mean + m.normal(float64(m.tb*m.tb))
			}
		}
	}
}

// tailed is the logarithm of the density of the t distribution, but for a constant.
func tailed(x float64) float64 {
	return -float64((freedom + 1) / 2 * detmath.Log(1+float64(x*x)/freedom))
}

// gamma draws from the gamma distribution of a shape of at least 1 and scale 1 [Marsaglia and Tsang 2000].
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(float64(9*d))
	for {
		x := detmath.Normal(r)
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = float64(v * float64(v*v))
		if detmath.Exponential(r) > -(float64(x*x/2) + d - float64(d*v) + float64(d*detmath.Log(v))) {
			return float64(d * v)
		}
	}
}

// draw returns what a task takes in all that has run for elapsed.
func (m *model) draw(random *rand.Rand, of phaseOf, estimate, elapsed time.Duration) time.Duration {
	g := m.live[of]
	if m.exact && elapsed < estimate {
		return estimate
	}
	base := g.l
	if m.scale == ratios {
		if estimate != g.estimate {
			g.estimate, g.log = estimate, detmath.Log(float64(estimate))
		}
		base += g.log
	}
	above := math.Inf(-1)
	if elapsed > 0 {
		above = detmath.Log(float64(elapsed)) - base
	}
	took := detmath.Exp(base + m.residual(g.kind, random, above))
	return max(elapsed+1, time.Duration(math.Round(min(took, 1e17))))
}

// share draws the probability that an attempt fails, of which so many did: 0 if none did.
func (m *model) share(failed, finished int) float64 {
	if failed == 0 {
		return 0
	}
	x, y := gamma(m.random, float64(failed)), gamma(m.random, 1+float64(finished))
	return min(x/(x+y), .9)
}
