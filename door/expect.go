package door

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn/live"
)

// A tag is what a tenant was charged: the cost of its requests that have left, and the mean cost of late for each that is in the handler.
// Virtual time is the greatest tag at which somebody was admitted so far. This is how package fair orders tenants of equal weights; the
// door keeps a copy, since the question when one more request would be admitted needs no other state.

// start charges a request that is admitted.
func (d *Door) start(p *Pass) {
	t := p.t
	d.at = max(d.at, t.tag)
	p.guess, p.priced = d.meanCost(t), d.priced
	t.tag += p.guess
}

// finish corrects what a request was charged that has left.
func (d *Door) finish(p *Pass) {
	held := time.Since(p.since).Seconds()
	cost := held
	switch {
	case p.cost > 0 && !d.priced:
		d.price()
		d.cost, d.priced = float64(p.cost), true
		fallthrough
	case p.cost > 0:
		cost = float64(p.cost)
		d.paid += float64((cost - d.paid) / 64)
		d.paidFor += float64((held - d.paidFor) / 64)
	case d.priced:
		cost = max(held*d.paid/max(d.paidFor, 1e-9), 1)
		live.Charge(p.permit.Context(), uint64(min(cost, 1<<62)))
	}
	t := p.t
	if p.priced == d.priced {
		t.tag -= p.guess
	}
	t.tag += cost
	d.cost += float64((cost - d.cost) / 64)
	t.ended = min(t.ended+1, 16)
	t.cost += (cost - t.cost) / float64(t.ended)
	t.held += (held - t.held) / float64(t.ended)
	if d.held == 0 {
		d.held = held
	}
	d.held += float64((held - d.held) / 64)
}

// price is called when the first request says what it has cost: what was charged before was time, and all are level again, as in
// package fair.
func (d *Door) price() {
	d.at = 0
	for _, t := range d.tenants { //sojourn:unordered each by itself
		t.tag, t.cost, t.ended = 0, 0, 0
	}
}

// meanCost returns what a request of a tenant is thought to cost.
func (d *Door) meanCost(t *tenant) float64 {
	if t.ended == 0 {
		return d.cost
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
func (d *Door) Expect(name string) time.Duration {
	name = poolName(name, d.o.Paths)
	d.mu.Lock()
	defer d.mu.Unlock()
	t := d.tenants[name]
	if t == nil {
		t = &tenant{tag: d.at}
	}
	return d.expect(t, t.waiting)
}

// expect returns how long the request of a tenant waits that has so many of its own before it.
func (d *Door) expect(t *tenant, own int) time.Duration {
	if d.waiting+d.running < d.inFlight {
		return 0
	}
	at := d.tagNow(t) + float64(float64(own)*d.meanCost(t)) // its tag when it is the next one of the tenant
	work := float64(own) * d.meanHeld(t)
	for id := range d.largest.All() {
		u := d.ids[id]
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
