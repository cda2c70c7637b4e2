package door

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/live"
)

// A tag is what a tenant was charged: the cost of its requests that have left, and the mean cost of late for each that is in the handler.
// Virtual time is the greatest of the least tags at which somebody was admitted so far. This is how package fair orders tenants of equal weights; the
// door keeps a copy, since the question when one more request would be admitted needs no other state.

// start charges a request that is admitted.
func (d *Door) start(p *Pass) {
	t := p.t
	if d.stopped(t.name) { // others may have let it go on
		d.askPaused(t.name)
	}
	if id, ok := d.least.Min(); ok && id != t.id && p.since.Sub(d.asked) >= time.Second { // one that is paused comes first before long
		d.asked = p.since
		d.askPaused((*d.ids.At(id)).name)
	}
	to := t.tag
	if k, ok := d.least.MinKey(); ok { // what the policy has charged may differ a little
		to = min(to, k.tag)
	}
	d.at = max(d.at, to)
	p.guess, p.priced = d.meanCost(t), d.priced
	t.tag += p.guess
}

// finish corrects what a request was charged that has left.
func (d *Door) finish(p *Pass, now time.Time) {
	held := now.Sub(p.since).Seconds()
	cost := held
	if p.cost > 0 {
		d.paid.add(float64(p.cost))
		d.paidFor.add(max(held, 1e-3)) // a price for no time would be none
		if !d.priced && len(d.paid.first) == 3 {
			d.price()
		}
	}
	if d.priced {
		cost = min(max(held*d.paid.mean/d.paidFor.mean, 1), maxCost)
		if p.cost > 0 {
			cost = float64(p.cost)
		}
		live.Charge(p.permit.Context(), uint64(cost))
	}
	t := p.t
	if p.priced == d.priced {
		t.tag -= p.guess
	}
	t.tag += cost
	d.cost.add(cost)
	t.ended = min(t.ended+1, 16)
	t.cost += (cost - t.cost) / float64(t.ended)
	t.held += (held - t.held) / float64(t.ended)
	if d.held == 0 {
		d.held = held
	}
	d.held += float64((held - d.held) / 64)
}

// price is called when three requests have said what they have cost: of fewer nobody could tell that one is wrong. What was charged before
// was time, and all are level again, as in package fair.
func (d *Door) price() {
	d.priced, d.at, d.cost = true, 0, robust{}
	for _, t := range d.tenants { //sojourn:unordered each by itself
		t.tag, t.cost, t.ended = 0, 0, 0
		d.stand(t)
	}
}

// A robust is a mean of late that no single value moves far, however wrong: the median of the first five values, then a mean in which each further
// value counts a 64th, and as 16 times the mean at most, so that it raises the mean by less than a quarter. A median throughout would be
// wrong where most requests are cheap and a few dear, and a geometric mean is below what all have paid; but for the tail beyond 16 times
// the mean, this is neither.
type robust struct {
	first []float64 // sorted
	mean  float64
}

func (m *robust) add(x float64) {
	if len(m.first) < 5 {
		m.first = append(m.first, x)
		slices.Sort(m.first)
		m.mean = m.first[(len(m.first)-1)/2]
		return
	}
	m.mean += float64((min(x, max(16*m.mean, 1e-3)) - m.mean) / 64) // up from 0 as well
}

// meanCost returns what a request of a tenant is thought to cost.
func (d *Door) meanCost(t *tenant) float64 {
	if t.ended == 0 {
		return d.cost.mean
	}
	return t.cost
}

func (d *Door) meanHeld(t *tenant) float64 {
	if t.ended == 0 {
		return d.held
	}
	return t.held
}

// tagNow returns the tag of a tenant if a request of it came now.
func (d *Door) tagNow(t *tenant) float64 {
	if t.here() > 0 {
		return t.tag
	}
	left := 1.0
	if d.halfLife > 0 && t.tag > d.at {
		idle := time.Since(t.left)
		halves, part := math.Ldexp(1, -int(min(idle/d.halfLife, 6))), float64(idle%d.halfLife)/float64(2*d.halfLife)
		left = max(halves*(1-part), 1.0/64)
	}
	return d.at + float64(max(t.tag-d.at, 0)*left)
}

// Expect returns how long a request of a tenant would wait that came now, as far as is known: what is served before it, at the rate at
// which requests leave. It is good for the order of package fair, with tenants of equal weights. docs/door.md has its errors. It takes
// time in proportion to the number of tenants (TestExpectTakesLittle).
func (d *Door) Expect(name string) time.Duration { return d.expectPool(poolName(name, d.o.Paths)) }

func (d *Door) expectPool(name string) time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tenants[name]
	if t == nil {
		t = &tenant{tag: d.at}
	}
	return d.expect(t, t.waiting)
}

// A step is where the work that is served before a tag begins to grow otherwise.
type step struct {
	at    float64 // tag
	work  float64 // in seconds, up to here
	slope float64 // from here on
}

// soon returns how long one more request of a tenant would wait, like expect, as of a second ago at most: what is served before which tag is
// looked up once for all tenants, of whom all may ask at the same time. It is less than what expect says, by at most a request of each
// other tenant, and half of one in the mean (TestSoonIsLikeExpect).
func (d *Door) soon(t *tenant, now time.Time) time.Duration {
	if d.waiting+d.running < d.inFlight {
		return 0
	}
	if now.Sub(d.told) >= time.Second {
		d.told = now
		d.look()
	}
	at := d.tagNow(t) + float64(float64(t.waiting)*d.meanCost(t))
	work := d.held
	if i, _ := slices.BinarySearchFunc(d.ahead, at, func(s step, at float64) int { return cmp.Compare(s.at, at) }); i > 0 {
		s := d.ahead[i-1]
		work += s.work + float64(max(s.slope, 0)*(at-s.at))
	}
	return time.Duration(work / float64(d.inFlight) * float64(time.Second))
}

// look finds the steps: the first request of a tenant counts for all tags beyond its own, the others for each mean cost more.
func (d *Door) look() {
	d.ahead = d.ahead[:0]
	for id := range d.least.All() {
		u := *d.ids.At(id)
		each, held := max(d.meanCost(u), 1e-9), d.meanHeld(u)
		d.ahead = append(d.ahead, step{at: u.tag, work: held})
		if u.waiting > 1 {
			d.ahead = append(d.ahead, step{at: u.tag + each, slope: held / each}, step{at: u.tag + float64(each*float64(u.waiting)), slope: -held / each})
		}
	}
	slices.SortFunc(d.ahead, func(a, b step) int { return cmp.Compare(a.at, b.at) })
	for i := 1; i < len(d.ahead); i++ {
		a, b := d.ahead[i-1], &d.ahead[i]
		b.work += a.work + float64(max(a.slope, 0)*(b.at-a.at))
		b.slope += a.slope
	}
}

// expect returns how long the request of a tenant waits that has so many of its own before it.
func (d *Door) expect(t *tenant, own int) time.Duration {
	if d.waiting+d.running < d.inFlight {
		return 0
	}
	at := d.tagNow(t) + float64(float64(own)*d.meanCost(t)) // its tag when it is the next one of the tenant
	work := float64(own) * d.meanHeld(t)
	for id := range d.least.All() {
		u := *d.ids.At(id)
		if u == t {
			continue
		}
		each := max(d.meanCost(u), 1e-9)
		ahead := min(math.Ceil(max(at-u.tag, 0)/each), float64(u.waiting))
		work += float64(ahead * d.meanHeld(u))
	}
	work += d.held // until somebody leaves
	return time.Duration(work / float64(d.inFlight) * float64(time.Second))
}
