package forecast

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/detmath"
)

// A model says what tasks will take, from what tasks took. The logarithm of the time of a task, or of its ratio to the
// estimate, is
//
//	y = b + a + v + sigma e
//
// where b is usual for phases of its kind at that time, a is a deviation of its job, v one of the phase of the job, and e
// has the shape that such deviations had before. b is a random walk from job to job around a mean of the class. All
// are unknown, with their variances, and each draw is one from their joint distribution: a Gibbs sampler [Gelman et al. 2013,
// chapters 5 and 11].
type model struct {
	scale        int
	random       *rand.Rand
	classes      []*class
	kinds        []*kindState
	jobs         []*jobState // with tasks that run or have finished
	waiting      []*jobState // live ones without
	live         map[phaseOf]*groupState
	shape        shape // of all kinds
	sweeps       int   // shapes are drawn anew every fourth time
	exact        bool  // all estimates were
	knownClasses int   // that have known kinds

	// Drawn.
	mean     float64 // of the classes
	center   float64 // where that is expected
	variance float64 // of its prior
	tb       float64 // standard deviation of the kinds of a class
	total    float64 // sqrt(ta^2 + tv^2)
	split    float64 // ta^2 / total^2
	ta, tv   float64 // variances of a and v
	spread   float64 // around which the sigma^2 of the kinds lie
}

type class struct {
	class sojourn.Class
	mean  float64
	kinds []*kindState
	known []*kindState // with tasks that run or have finished
	sum   float64      // of their b
}

type kindState struct {
	of       kindOf
	class    *class
	groups   []*groupState // with tasks that run or have finished, the oldest first
	waiting  []*groupState // live ones without
	shape    shape
	mean     float64 // of the groups
	fixed    bool    // the tasks of each group took the same
	same     bool    // all tasks did
	live     bool    // it has live groups
	b        float64 // of the first group
	q        float64 // standard deviation of a step of b
	variance float64 // sigma^2
	sigma    float64
}

type jobState struct {
	a      float64
	runs   bool
	groups []*groupState
}

type groupState struct {
	kind  *kindState
	job   *jobState
	order int // of the first finish
	live  bool
	known moments
	now   moments // known, and what the running tasks are thought to take
	ages  []float64
	b     float64
	l     float64 // b + a + v

	estimate time.Duration // the last one that was drawn for
	log      float64       // of it

	before                   float64 // l, while another is tried
	mean, variance           float64 // of b, given the groups before
	otherMean, otherVariance float64 // of a, given the other groups of the job
}

// A prior has the standard deviations that are expected before anything is known; spread is a variance. Each of them may be
// several times as much: class and walk apart, they are the scales of distributions with long tails.
type prior struct{ mean, class, kind, job, walk, spread float64 }

// Times differ by orders of magnitude. Estimates are thought to be right within a factor of about 2.4, nine times of
// ten, until tasks finish (TestToldSizesAreBelievedAtFirst).
var priors = [numScales]prior{
	times:  {mean: 10, class: 1, kind: .7, job: .3, walk: .1, spread: .45},
	ratios: {mean: .22, class: .1, kind: .1, job: .12, walk: .1, spread: .05},
}

const (
	warmUp     = 15    // sweeps before the first draw
	mostKinds  = 32    // besides those of live jobs
	mostGroups = 256   // of kinds, about
	likeness   = 4.0   // how many tasks the variance of other kinds counts as
	ownShape   = 8.0   // of how many tasks on half of the shape is the own one
	mostShape  = 200   // of the deviations of all kinds
	freedom    = 6.0   // of t distributions
	equal      = 1e-14 // variance of logarithms of times that are equal but for nanoseconds
	leastValue = 1e-18
)

// newModel returns the model of live jobs, to which past adds what is known of others, and start what is not known.
func newModel(scale int, s *standing, random *rand.Rand) *builder {
	b := &builder{&model{scale: scale, random: random, live: map[phaseOf]*groupState{}}, map[kindOf]*kindState{}, map[sojourn.JobID]*jobState{}}
	for i := range s.jobs {
		j := &s.jobs[i]
		for p := range j.Spec.Phases {
			if scaleOf(&j.Spec.Phases[p]) == scale {
				b.liveGroup(s.known[phaseOf{j.Spec.ID, p}], j.Spec, p)
			}
		}
	}
	if len(b.live) > 0 {
		b.running(s)
	}
	return b
}

// scaleOf returns the scale on which the tasks of a phase are foreseen.
func scaleOf(p *sojourn.Phase) int {
	if p.Estimate == 0 && (len(p.Estimates) == 0 || slices.Contains(p.Estimates, 0)) {
		return times
	}
	return ratios
}

type builder struct {
	*model
	of    map[kindOf]*kindState
	jobOf map[sojourn.JobID]*jobState
}

func (b *builder) kind(of kindOf) *kindState {
	if k := b.of[of]; k != nil {
		return k
	}
	k := &kindState{of: of}
	i := slices.IndexFunc(b.classes, func(c *class) bool { return c.class == of.class })
	if i < 0 {
		i = len(b.classes)
		b.classes = append(b.classes, &class{class: of.class})
	}
	k.class = b.classes[i]
	k.class.kinds = append(k.class.kinds, k)
	b.kinds = append(b.kinds, k)
	b.of[of] = k
	return k
}

func (b *builder) group(id sojourn.JobID, of kindOf, order int, known moments) *groupState {
	j := b.jobOf[id]
	if j == nil {
		j = &jobState{}
		b.jobOf[id] = j
		b.jobs = append(b.jobs, j)
	}
	g := &groupState{kind: b.kind(of), job: j, order: order, known: known, now: known}
	g.kind.groups = append(g.kind.groups, g)
	j.groups = append(j.groups, g)
	return g
}

func (b *builder) liveGroup(k known, j *sojourn.Job, phase int) {
	of := phaseOf{j.ID, phase}
	order, known := math.MaxInt, k.stats[b.scale]
	if known.n > 0 {
		order = k.order
	}
	b.live[of] = b.group(j.ID, kindOfPhase(j, phase), order, known)
	b.live[of].kind.live, b.live[of].live = true, true
}

// running notes how long attempts have run.
func (b *builder) running(s *standing) {
	for _, a := range s.attempts {
		g := b.live[phaseOf{a.Task.Job, int(a.Task.Phase)}]
		if g == nil || a.Service <= 0 {
			continue
		}
		age := detmath.Log(float64(a.Service))
		if b.scale == ratios {
			age -= detmath.Log(float64(s.specs[a.Task.Job].Phases[a.Task.Phase].EstimateOf(int(a.Task.Index))))
		}
		g.ages = append(g.ages, age)
		g.job.runs = true
	}
}

// past adds the phases of jobs that have ended: of the kinds of live jobs, and of those that were used last.
func (b *builder) past(list []recent) {
	for _, from := range list {
		groups := from.groups
		for _, g := range groups {
			if b.live[phaseOf{g.job, from.of.phase}] == nil {
				b.group(g.job, from.of, g.order, g.stats[b.scale])
			}
		}
		if len(groups) > 0 {
			k := b.kind(from.of)
			if k.learn(groups, b.scale); !k.fixed {
				b.shape.all = append(b.shape.all, k.shape.all...)
			}
		}
	}
	slices.Sort(b.shape.all)
	if each := len(b.shape.all)/mostShape + 1; each > 1 {
		for i := range len(b.shape.all) / each {
			b.shape.all[i] = b.shape.all[i*each+each/2]
		}
		b.shape.all = b.shape.all[:len(b.shape.all)/each]
	}
}

// learn keeps the shape of the deviations from what is usual in each group, where usual is between the mean of the group and that
// of the kind, by the variances.
func (k *kindState) learn(groups []*group, scale int) {
	var means moments
	about, free, inverse := 0.0, 0.0, 0.0
	for _, g := range groups {
		s := &g.stats[scale]
		means.add(s.mean)
		about += s.about
		free += s.n - 1
		inverse += 1 / s.n
	}
	k.mean = means.mean
	k.fixed = free >= 3 && about <= float64(equal*free)
	k.same = k.fixed && means.n > 1 && means.about <= float64(equal*means.n)
	within, between := about/max(free, 1), 0.0
	if means.n > 1 && free > 0 {
		between = max(0, means.about/(means.n-1)-float64(within*inverse)/means.n)
	}
	sum := 0.0
	for _, g := range groups {
		s := &g.stats[scale]
		at := means.mean
		if between > 0 {
			at += float64(between / (between + within/s.n) * (s.mean - means.mean))
		}
		for _, y := range g.tasks[scale] {
			k.shape.all = append(k.shape.all, y-at)
			sum += float64((y - at) * (y - at))
		}
	}
	// The mean of a group is nearer to its tasks than what is usual in it.
	if free > 0 && sum > 0 {
		to := math.Sqrt(max(1, float64(within*float64(len(k.shape.all)))/sum))
		for i := range k.shape.all {
			k.shape.all[i] *= to
		}
	}
	slices.Sort(k.shape.all)
	k.shape.sigma = math.Sqrt(max(within, sum/float64(len(k.shape.all))))
}

// start puts groups in order, and sets all that is drawn to where it may be.
func (m *model) start() {
	p := priors[m.scale]
	var all moments
	wrong := false
	m.jobs, m.waiting = apart(m.jobs, func(j *jobState) bool { return slices.ContainsFunc(j.groups, (*groupState).any) })
	for _, k := range m.kinds {
		var mean moments
		about, free := 0.0, 0.0
		for _, g := range k.groups {
			if g.known.n > 0 {
				all.add(g.known.mean)
				mean.add(g.known.mean)
				about += g.known.about
				free += g.known.n - 1
				wrong = wrong || g.known.mean != 0 || g.known.about != 0
			}
		}
		k.groups, k.waiting = apart(k.groups, (*groupState).any)
		slices.SortStableFunc(k.groups, func(a, b *groupState) int { return cmp.Compare(a.order, b.order) })
		k.b = mean.mean
		k.setVariance((float64(likeness*p.spread) + about) / (likeness + free))
		if k.fixed {
			k.setVariance(0)
		}
	}
	m.exact = m.scale == ratios && all.n > 0 && !wrong
	m.center = all.mean
	if m.scale == ratios {
		m.center = 0
	}
	m.mean, m.tb, m.total, m.split, m.spread = all.mean, p.kind, p.job, .5, p.spread
	m.variance = float64(p.mean * p.mean)
	for _, c := range m.classes {
		c.mean = m.mean
		c.known, _ = apart(c.kinds, func(k *kindState) bool { return len(k.groups) > 0 })
		if len(c.known) > 0 {
			m.knownClasses++
		}
		for _, k := range c.kinds {
			if len(k.groups) == 0 || k.groups[0].known.n == 0 {
				k.b = m.mean
			}
			for _, g := range k.groups {
				if g.b, g.l = k.b, k.b; g.known.n > 0 {
					g.l = g.known.mean
				}
			}
		}
	}
	if len(m.jobs) > 0 {
		for range warmUp {
			m.sweep()
		}
	}
}

// any reports whether anything is known of a group.
func (g *groupState) any() bool { return g.known.n > 0 || len(g.ages) > 0 }

// counts reports whether the tasks of a group tell how much phases differ.
func (g *groupState) counts(of *moments) bool { return of.n > 0 && !g.kind.same }

func apart[T any](list []T, is func(T) bool) (yes, no []T) {
	for _, v := range list {
		if is(v) {
			yes = append(yes, v)
		} else {
			no = append(no, v)
		}
	}
	return yes, no
}

func (k *kindState) setVariance(v float64) { k.variance, k.sigma = v, math.Sqrt(v) }
