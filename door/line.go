package door

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/heap"
)

// A line is what a door knows of those who are here, and of those who will come. The lock of the door guards it.
type line struct {
	tenants  map[string]*tenant // by the names of their pools
	idle     int                // those of whom nobody is here or will come
	ids      heap.Table[*tenant]
	free     heap.Table[uint32]
	gone     []*tenant        // forgotten ones, whose memory others use
	largest  *heap.Heap[size] // of those of whom somebody waits
	least    *heap.Heap[turn] // of the same, but for those that are paused
	paused   map[string]bool  // names of pools
	asked    time.Time        // when one was looked up that came first and was not admitted: see start
	seq      uint64
	waiting  int
	running  int
	promises []*promise // by the times until which they are kept, those that are over included
	promised int        // places in the line that are kept
	far      int        // of these, those that are due only when the line of now has long gone: see near
	counted  time.Time  // when far was
	next     time.Time  // when the last place that was promised is due
	held     float64    // mean time in the handler of late, in seconds
	cost     robust     // mean cost of late
	at       float64    // virtual time: see expect.go

	ahead []step    // see soon
	told  time.Time // when that was

	priced        bool   // costs are what requests say, and not times
	paid, paidFor robust // what those that said so have cost of late, and how long they were in the handler

	admitted uint64
	refused  uint64
}

// maxGone bounds how many forgotten tenants are kept for their memory.
const maxGone = 64

// A size is how much a tenant has here. The latest one to get there goes last.
type size struct {
	here int
	seq  uint64
}

// A turn is the place of a tenant in the order.
type turn struct {
	tag float64
	id  uint32
}

// A tenant has requests here, or will.
type tenant struct {
	id               uint32
	name             string
	waiting, running int
	line             []*Pass    // in the order of arrival, those that do not wait any more included
	promises         []*promise // by the times when they are due
	coming           int        // requests for which a place is kept while their bodies are read
	idle             bool       // counted in line.idle

	tag, cost, held float64 // see expect.go
	ended           int
	left            time.Time // when its last request left the door
}

// due reports whether a place is kept for a request that comes now.
func (t *tenant) due(now time.Time) bool { return len(t.promises) > 0 && !t.promises[0].due.After(now) }

func (t *tenant) here() int { return t.waiting + t.running }

// kept returns how many places are kept for the tenant.
func (t *tenant) kept() int { return len(t.promises) + t.coming }

// A promise is a place in the line for the next request of a tenant that comes when it is due.
type promise struct {
	t     *tenant
	told  time.Time // when the client was told to come
	due   time.Time // from when on the place is there for it: sooner, if requests leave sooner than when it was told
	until time.Time
	over  bool
}

// arrive lets a request into the line, perhaps in the place of another one, or says why not.
func (d *Door) arrive(p *Pass, c *comer, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, push, err := d.place(c, name, p.arrived)
	switch {
	case err != nil:
		return err
	case c.t != nil:
		d.come(c)
	case t.due(p.arrived):
		d.drop(t.promises[0])
	}
	if push {
		d.push(p.arrived)
	}
	p.t = t
	if t.here() == 0 {
		t.tag = d.tagNow(t)
	}
	t.waiting++
	d.waiting++
	if len(t.line) > 2*t.waiting+16 {
		t.line = slices.DeleteFunc(t.line, func(p *Pass) bool { return p.state != waits })
	}
	t.line = append(t.line, p)
	d.resize(t)
	d.count(t)
	return nil
}

// place returns the tenant of a request that would find a place in the line now, and whether another one has to be pushed out of it; or why
// there is none.
func (d *Door) place(c *comer, name string, now time.Time) (t *tenant, push bool, err error) {
	d.expire(now)
	if t = c.t; t == nil {
		t = d.tenant(name)
	}
	due, busy := c.t != nil || t.due(now), d.waiting+d.running >= d.inFlight
	switch {
	case d.closed:
		d.forget(t, false)
		return nil, false, d.refused503(ErrClosed, 0)
	case !due && d.o.MaxTenantWaiting > 0 && (t.waiting >= d.o.MaxTenantWaiting || busy && t.waiting+t.kept() >= d.o.MaxTenantWaiting):
		d.refused++
		return nil, false, &Refusal{Status: 429, After: max(d.soon(t, now), time.Second), Why: ErrTenant}
	case !busy:
	case due && d.waiting/2 < d.o.MaxWaiting:
	case d.waiting < d.o.MaxWaiting && d.waiting+d.near(now) < d.o.MaxWaiting:
	case d.waiting < d.o.MaxWaiting && d.most(t) > t.here()+t.kept()+1:
	case d.waiting >= d.o.MaxWaiting && d.most(t) > t.here()+1:
		push = true
	default:
		switch { // it cannot be kept
		case c.t != nil:
			d.come(c)
		case due:
			d.drop(t.promises[0])
		}
		return nil, false, d.refused503(ErrFull, d.promise(t, now))
	}
	return t, push, nil
}

// A comer is a request whose body is being read before it is in the line. The place that was promised to it is kept meanwhile.
type comer struct{ t *tenant } // nil if none was

// early returns why a request would be refused now, nil if it would not. A place is kept for it then, as if it had come.
func (d *Door) early(c *comer, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := time.Now()
	t, _, err := d.place(c, name, now)
	if err == nil && t.due(now) {
		d.drop(t.promises[0])
		c.t = t
		t.coming++
		d.promised++
	}
	if err == nil {
		d.forget(t, false)
	}
	return err
}

// come ends that a place is kept for a request: it has come.
func (d *Door) come(c *comer) {
	c.t.coming--
	d.promised--
	d.count(c.t)
	c.t = nil
}

// away is called when a request leaves, whether or not it has come.
func (d *Door) away(c *comer) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if t := c.t; t != nil {
		d.come(c)
		d.forget(t, d.waiting+d.running == 0)
	}
}

// count counts a tenant anew, of whom somebody has come or gone, or will come.
func (d *Door) count(t *tenant) {
	if idle := t.here()+t.kept() == 0; idle != t.idle {
		t.idle = idle
		if idle {
			d.idle++
		} else {
			d.idle--
		}
	}
}

func (d *Door) refused503(why error, after time.Duration) error {
	d.refused++
	return &Refusal{Status: 503, After: after, Why: why}
}

// tenant returns the tenant of a name. All beyond MaxTenants are one.
func (d *Door) tenant(name string) *tenant {
	t := d.tenants[name]
	if t == nil && len(d.tenants) >= d.o.MaxTenants {
		if d.idle > 0 {
			d.sweep(true)
		}
		if len(d.tenants) >= d.o.MaxTenants {
			name = others
			t = d.tenants[name]
		}
	}
	if t == nil {
		if k := len(d.gone) - 1; k >= 0 {
			t, d.gone = d.gone[k], d.gone[:k]
		} else {
			t = new(tenant)
		}
		t.name, t.tag = name, d.at
		t.id = heap.Allot(&d.ids, &d.free, t)
		d.tenants[name] = t
	}
	return t
}

// forget forgets a tenant of whom nobody is here or will come, and who owes nothing, or whatever it owes.
func (d *Door) forget(t *tenant, whatever bool) {
	if d.count(t); t.idle && (whatever || t.tag <= d.at) && d.tenants[t.name] == t {
		delete(d.tenants, t.name)
		d.idle--
		heap.Release(&d.ids, &d.free, t.id)
		if len(d.gone) < maxGone && cap(t.line) <= 32 {
			*t = tenant{line: t.line[:0]}
			d.gone = append(d.gone, t)
		}
	}
}

// sweep forgets all such tenants.
func (d *Door) sweep(whatever bool) {
	for _, t := range d.tenants { //sojourn:unordered each is forgotten by itself
		d.forget(t, whatever)
	}
}

// resize enters how much a tenant has here.
func (d *Door) resize(t *tenant) {
	d.stand(t)
	if t.waiting == 0 {
		clear(t.line) // what they have is not kept
		t.line = t.line[:0]
		d.largest.Remove(t.id)
		return
	}
	d.seq++
	d.largest.Set(t.id, size{t.here(), d.seq})
}

// stand enters the place of a tenant in the order, if a request of it can be admitted.
func (d *Door) stand(t *tenant) {
	if t.waiting == 0 || d.stopped(t.name) {
		d.least.Remove(t.id)
		return
	}
	d.least.Set(t.id, turn{t.tag, t.id})
}

// stopped reports whether a pool is paused, or a pool around it.
func (d *Door) stopped(name string) bool {
	for i := len(name); i > 0; i = strings.LastIndexByte(name[:i], '/') {
		if d.paused[name[:i]] {
			return true
		}
	}
	return false
}

// most returns how much that tenant has here that has most, of those of whom somebody waits.
func (d *Door) most(but *tenant) int {
	if id, ok := d.largest.Min(); ok && *d.ids.At(id) != but {
		return (*d.ids.At(id)).here()
	}
	return 0
}

// push refuses the latest request of the tenant that has most here.
func (d *Door) push(now time.Time) {
	id, _ := d.largest.Min()
	u := *d.ids.At(id)
	for {
		last := len(u.line) - 1
		p := u.line[last]
		u.line[last], u.line = nil, u.line[:last]
		if p.state == waits {
			d.send(p, ErrPushed, d.promise(u, now))
			return
		}
	}
}

// late refuses a request that has waited for too long.
func (d *Door) late(p *Pass) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p.state == waits {
		d.send(p, ErrTooLong, seconds(d.soon(p.t, time.Now())))
	}
}

// givenUp returns the refusal of a request that a middleware would not let wait for longer.
func (d *Door) givenUp(name string, cause error) *Refusal {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.refused++
	t := cmp.Or(d.tenants[name], &tenant{tag: d.at})
	return &Refusal{Status: 503, After: max(seconds(d.soon(t, time.Now())), time.Second), Why: ErrTooLong, Cause: cause}
}

// send refuses a request that waits.
func (d *Door) send(p *Pass, why error, after time.Duration) {
	d.leaveLine(p)
	p.wait.end(d.refused503(why, after))
}

// leaveLine enters that a request does not wait any more, and was not admitted.
func (d *Door) leaveLine(p *Pass) {
	p.state = gone
	p.t.waiting--
	d.waiting--
	d.resize(p.t)
	d.count(p.t)
}

// admit enters that a request was admitted.
func (d *Door) admit(p *Pass) {
	p.t.waiting--
	d.waiting--
	p.state, p.since = runs, time.Now()
	p.t.running++
	d.running++
	d.admitted++
	d.start(p)
	d.resize(p.t)
}

// depart enters that a request is not here any more.
func (d *Door) depart(p *Pass) {
	now := time.Now()
	switch p.state {
	case waits:
		d.leaveLine(p)
	case runs:
		p.state = gone
		p.t.running--
		d.running--
		d.finish(p, now)
		d.resize(p.t)
	}
	p.t.left = now
	d.forget(p.t, d.waiting+d.running == 0)
	if d.waiting+d.running > 0 {
		return
	}
	if d.idle > 0 {
		d.sweep(true) // nobody is here to whom a debt matters
	}
	if d.closed {
		select {
		case <-d.empty:
		default:
			close(d.empty)
		}
	}
}

// drop ends a promise.
func (d *Door) drop(p *promise) {
	t := p.t
	p.over = true
	i := slices.Index(t.promises, p)
	copy(t.promises[1:], t.promises[:i])
	t.promises = t.promises[1:]
	d.promised--
	d.count(t)
}

// longest is the longest that a request is told to wait before it comes again.
const longest = 10 * time.Minute

// drain returns how long it takes until so many requests have left, at the rate of late.
func (d *Door) drain(n float64) time.Duration {
	return time.Duration(min(cmp.Or(d.held, 1)/float64(d.inFlight)*n, 1e9) * float64(time.Second))
}

// near returns how many of the places that are kept are for clients that come within twice the time in which a full line has gone, as of a second ago at
// most. The others, which were promised when requests took longer, keep nobody out now.
func (d *Door) near(now time.Time) int {
	if d.waiting+d.promised >= d.o.MaxWaiting && now.Sub(d.counted) >= time.Second {
		d.counted, d.far = now, 0
		end := now.Add(d.drain(2*float64(d.o.MaxWaiting)) + 2*time.Second)
		for _, p := range d.promises {
			if !p.over && p.told.After(end) { // its client comes then, also if it might come sooner
				d.far++
			}
		}
	}
	return max(d.promised-d.far, 0)
}

// expire ends the promises that nobody came for.
func (d *Door) expire(now time.Time) {
	for len(d.promises) > 0 {
		p := d.promises[0]
		if !p.over && !now.After(p.until) {
			return
		}
		if !p.over {
			d.drop(p)
			d.forget(p.t, d.waiting+d.running == 0)
		}
		d.promises[0] = nil
		d.promises = d.promises[1:]
	}
}

// promise keeps a place in the line for the next request of t, and returns when it is due, in whole seconds as the header says it.
// Each is due when one more request is expected to have left, at the rate of now, and in 10 minutes at most (TestPromisesAfterABrownout).
func (d *Door) promise(t *tenant, now time.Time) time.Duration {
	n, last := len(t.promises), now.Add(2*d.drain(float64(d.promised)+1)+2*time.Second) // twice: the rate wavers
	for i := n - 1; i >= 0 && t.promises[i].due.After(last); i-- {
		t.promises[i].due = last // requests leave sooner than when it was made
	}
	if t.kept() >= max(1, d.o.MaxWaiting/len(d.tenants)) { // who asks more often gets no more places
		if n == 0 {
			return time.Second
		}
		return max(seconds(t.promises[n-1].due.Sub(now)), time.Second)
	}
	if d.next.Before(now) {
		d.next = now
	}
	d.next = d.next.Add(d.drain(1))
	if d.next.After(last) {
		d.next = last
	}
	at := d.next
	if n > 0 && at.Before(t.promises[n-1].due) {
		at = t.promises[n-1].due // that was rounded up: who comes first is due first
	}
	after := min(max(seconds(at.Sub(now)), time.Second), longest)
	p := &promise{t: t, told: now.Add(after), due: now.Add(after), until: now.Add(after + after/10 + 2*time.Second)}
	t.promises = append(t.promises, p)
	i, _ := slices.BinarySearchFunc(d.promises, p.until, func(q *promise, until time.Time) int { return q.until.Compare(until) })
	d.promises = slices.Insert(d.promises, i, p)
	d.promised++
	d.count(t)
	return after
}
