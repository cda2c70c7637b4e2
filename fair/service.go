package fair

import (
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/sfq"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// With the order Service, each pool has an account of package internal/sfq in each class, among its
// siblings there, as the flows of package kit/flow have. An attempt is charged to all pools on its way when it starts, with
// the time that it is expected to take, and corrected when it ends. The rules and their functions:
//
//	charge, settle      an attempt starts, and ends
//	settleOwed          a job ends, and an attempt of it has failed
//	lift, remembers     a pool begins to have something to start, or has lost its last job: Credit
//	forget              a pool was idle: HalfLife
//	overrun, overdue    attempts run for longer than they were charged
//	proved              how far virtual time passes when a pool is served
//	price               the first end that tells of a cost
//	saveCharges         snapshots, with poolClass.save

// A mean is what the tasks of late took and have cost in the mean: time, unless ends told of costs.
type mean struct {
	time uint64 // in nanoseconds
	sfq.Mean
}

// add adds an attempt that has ended.
func (m *mean) add(time, cost uint64, priced bool) {
	m.Add(cost, priced)
	m.time = sfq.Near(m.time, time, m.Of)
}

// costOf returns what a task is expected to cost that is expected to take so long; 0 if that is not known.
func (m *mean) costOf(estimate uint64) uint64 {
	switch {
	case estimate == 0 || m.time == 0:
		return m.Cost
	case m.time == m.Cost:
		return estimate
	}
	hi, lo := bits.Mul64(estimate, m.Cost)
	if hi >= m.time {
		return sfq.MaxCost
	}
	q, _ := bits.Div64(hi, lo, m.time)
	return min(q, sfq.MaxCost)
}

// costOf returns what an attempt of a pool has cost that has ended, after it held its slot so long. Where ends tell of costs, one that tells
// of none counts as what such a time has cost of late; nothing if that is not known.
func (t *tree) costOf(ev *sojourn.Event, n *pool, c sojourn.Class, held time.Duration) time.Duration {
	switch {
	case t.order == Service && ev.Cost > 0:
		return time.Duration(min(ev.Cost, sfq.MaxCost))
	case !t.priced:
		return held
	}
	for ; n != nil; n = n.parent {
		if m := &n.class(c).mean; m.Usual(true) > 0 {
			return time.Duration(m.costOf(uint64(held)))
		}
	}
	return 0
}

// charges are what attempts were charged, by slot, in pages.
type charges struct {
	pages []*[256]uint64
}

func (g *charges) set(id sojourn.SlotID, cost uint64) {
	page := int(id >> 8)
	for page >= len(g.pages) {
		g.pages = append(g.pages, nil)
	}
	if g.pages[page] == nil {
		g.pages[page] = new([256]uint64)
	}
	g.pages[page][id&255] = cost
}

func (g *charges) of(id sojourn.SlotID) uint64 { return g.pages[id>>8][id&255] }

// expected returns the expected cost of a task of a job in a pool: its estimate, or the mean of the
// tasks of late in that pool, or else in those around it. Before any has ended, it is 0. Where ends told of costs,
// an estimate counts as what such a time has cost of late.
func (t *tree) expected(j *job, n *pool, c sojourn.Class, task sojourn.TaskID) uint64 {
	e := uint64(j.Spec().Phases[task.Phase].EstimateOf(int(task.Index)))
	if e > 0 && !t.priced {
		if m := &n.class(c).mean; m.Of >= 3 {
			return min(e, times(max(m.time, 1), 16))
		}
		return e
	}
	for ; n != nil; n = n.parent {
		if m := &n.class(c).mean; m.Of > 0 {
			return min(m.costOf(e), times(max(m.Cost, 1), 16))
		}
	}
	if t.priced {
		return 0
	}
	return e
}

// price is called before the first end is settled that tells of a cost. From then on accounts are in the unit of costs: all
// pools are level again, since what they have had was time, and what runs is charged with what this attempt has cost. How
// long it has held its slots says nothing any more.
func (t *tree) price(ev *sojourn.Event, ch *ledger.Change[member]) {
	t.priced = true
	t.each(func(n *pool) {
		for i := range n.classes {
			nc := &n.classes[i]
			nc.clock, nc.late, nc.mean, nc.most, nc.lifted = sfq.Clock{}, 0, mean{}, wide.Uint128{}, lifted{}
			if n.parent != nil {
				nc.account, _, _ = nc.clock.Enter("", n.conf.weight)
			}
		}
	})
	level := func(j *job) {
		for i := range j.Data.sides {
			if j.Data.sides[i].owed = 0; t.ties == LeastService {
				j.Data.sides[i].tie = wide.Uint128{}
			}
		}
	}
	for j := range t.ledger.All() {
		level(j)
	}
	level(ch.Job)
	charge := func(j *job, slot sojourn.Slot) {
		c := t.counted(slot.Class)
		cost := times(min(ev.Cost, sfq.MaxCost), t.placesOf(slot.Class))
		t.charges.set(slot.ID, cost)
		for n := j.Data.pool; n.parent != nil; n = n.parent {
			n.class(c).account.Charge(cost)
		}
	}
	for slot, a := range t.ledger.Attempts() {
		charge(a.Job, slot)
	}
	charge(ch.Job, ch.Slot)
	t.fileUnder(&t.root)
}

// overrun prepares the account of a pool for a charge: it has the weight of the pool, and what has run for longer than it was charged counts
// in addition to what starts. It returns the tag that decides, as of now.
func (t *tree) overrun(n *pool, c sojourn.Class) sfq.Tag {
	nc := n.class(c)
	nc.account.SetWeight(n.conf.weight)
	if nc.late += t.overdue(n, c); nc.late > 0 {
		return nc.account.Tag().Plus(nc.late)
	}
	return nc.account.Tag()
}

// proved returns how far virtual time passes when a pool with a tag is served, after overrun. What attempts are expected to take may be wrong
// by far, and is taken back then, but virtual time is not. So those that run count by what they have held, or by four times the mean of late of
// the pool, whichever is more; and by what they are charged, if that is less (TestWrongEstimateIsPaidByNoOther).
func (t *tree) proved(n *pool, c sojourn.Class, tag sfq.Tag) sfq.Tag {
	at := t.counted(c)
	as := &n.class(at).account
	if as.Outstanding() == 0 {
		return tag
	}
	known := max(n.class(c).mean.Proves(as.Outstanding(), t.priced).MulU64(t.placesOf(c)).Clamp63(), t.held(n, at))
	if as.Charged() <= known { // tag has what is overdue, too
		return tag
	}
	return as.Proved(known)
}

// charge charges pools for an attempt that starts on a slot, after overrun.
func (t *tree) charge(n *pool, c sojourn.Class, cost uint64, slot sojourn.SlotID) {
	at, places := t.counted(c), t.placesOf(c)
	cost = times(cost, places)
	t.charges.set(slot, cost)
	for ; n.parent != nil; n = n.parent {
		nc := n.class(at)
		if !nc.queued { // an attempt that is adopted
			t.lift(n, at)
		}
		nc.account.Charge(cost)
		nc.lifted.set = false
		nc.starts = nc.starts.Add(wide.Mul64(uint64(t.ledger.Now()), places))
	}
}

// lift raises a pool that could not be served to virtual time, less the credit: idleness earns no more.
func (t *tree) lift(n *pool, c sojourn.Class) {
	nc := n.class(c)
	n.parent.class(c).clock.Lift(&nc.account, t.credit+nc.late+t.overdue(n, c))
}

// forget takes from a pool that begins to have something to start what it has lost since it ran nothing and had nothing to start: a
// half in each half-life of what it is ahead of the sibling that comes first by its tag, or of virtual time. Nobody waits for
// ever: each that comes back stays ahead of virtual time by a sixty-fourth of what it was, so that virtual time rises when it is served.
func (t *tree) forget(n *pool, c sojourn.Class) {
	nc := n.class(c)
	if t.halfLife == 0 || nc.account.Outstanding() > 0 {
		return
	}
	up := n.parent
	var first sfq.Tag
	if id, ok := t.firstPool(up, c, false); ok && (*up.pools.At(id)).sated(c) {
		first = t.effective(*up.pools.At(id), c)
	}
	up.class(c).clock.Fade(&nc.account, first, uint64(t.ledger.Now().Sub(nc.idle)), uint64(t.halfLife))
}

// A lifted says where a pool stood when it was made level with others. It holds at that instant only, and until an attempt is
// charged or settled.
type lifted struct {
	from sfq.Tag
	at   sojourn.Time
	set  bool
}

func (l *lifted) holds(now sojourn.Time) bool { return l.set && l.at == now }

// save writes l if it holds.
func (l *lifted) save(w *snapshot.Writer, now sojourn.Time) {
	holds := l.holds(now)
	if w.Bool(holds); holds {
		l.from.Save(w)
	}
}

func (l *lifted) restore(r *snapshot.Reader, now sojourn.Time) {
	if l.set = r.Bool(); l.set {
		l.from, l.at = sfq.RestoreTag(r), now
	}
}

// overdue returns by how much what a pool runs has held its slots, as of now, for longer than it
// was charged, and is counted as late. That is rounded up by at most a sixteenth of what it has held, so that it
// changes seldom.
func (t *tree) overdue(n *pool, c sojourn.Class) uint64 {
	nc := n.class(c)
	held, charged := t.held(n, c), min(nc.account.Charged()+nc.late, sfq.MaxCost)
	if held <= charged {
		return 0
	}
	low := max(bits.Len64(held), 5) - 5
	held = min((held+1<<low-1)>>low<<low, sfq.MaxCost)
	return held - charged
}

// held returns how long what a pool runs has held its slots, as of now; 0 where costs are not times.
func (t *tree) held(n *pool, c sojourn.Class) uint64 {
	nc := n.class(c)
	running := nc.running
	if n.widths != nil {
		running = n.share
	}
	if running == 0 || t.priced {
		return 0
	}
	sum := wide.Mul64(uint64(running), uint64(t.ledger.Now()))
	if !nc.starts.Less(sum) {
		return 0
	}
	return sum.Sub(nc.starts).Clamp63()
}

// effective returns the tag that decides, as of now: what runs counts at least by what it has held.
func (t *tree) effective(n *pool, c sojourn.Class) sfq.Tag {
	nc := n.class(c)
	as := &nc.account
	if as.Tag().Weight() != n.conf.weight { // it has changed in a restore
		other := nc.account
		as = &other
		as.SetWeight(n.conf.weight)
	}
	if late := nc.late + t.overdue(n, c); late > 0 {
		return as.Tag().Plus(late)
	}
	return as.Tag()
}

// settle corrects the charge of an attempt that an event ends, or takes it back. due is what the job is
// charged now; false if nothing is. spent is what the attempt has cost.
func (t *tree) settle(ev *sojourn.Event, ch *ledger.Change[member], spent time.Duration, due uint64, ok bool) {
	c, cost := ch.Slot.Class, t.charges.of(ch.Slot.ID)
	at, places := t.counted(c), t.placesOf(c)
	due = times(due, places)
	for n := ch.Job.Data.pool; n != nil; n = n.parent {
		if ev.Kind == sojourn.TaskFinished && (ev.Cost > 0 || !t.priced) { // what nobody said proves no price
			n.class(c).mean.add(uint64(ev.At.Sub(ch.Start)), uint64(spent), t.priced)
		}
		nc := n.class(at)
		nc.lifted.set = false
		switch {
		case n.parent == nil:
			continue
		case ok:
			nc.account.SetWeight(n.conf.weight)
			nc.account.Settle(cost, sfq.Cost(due))
		default:
			nc.account.SetWeight(n.conf.weight)
			nc.account.Settle(cost, 0)
			nc.queued = true // as if it had never been started: it is not level with others, but stands where it stood
		}
		nc.starts = nc.starts.Sub(wide.Mul64(uint64(ch.Start), places))
		if nc.late > 0 {
			held := times(uint64(ev.At.Sub(ch.Start)), places)
			nc.late -= min(nc.late, held-min(cost, held))
			if nc.account.Outstanding() == 0 {
				nc.late = 0
			}
		}
		if !nc.queued && nc.account.Outstanding() == 0 {
			nc.idle = ev.At
		}
	}
}

// settleOwed charges the pools of a job that ends for an attempt that has failed: no other one will end. Who sends jobs that fail once each would
// otherwise be charged for nothing.
func (t *tree) settleOwed(j *job) {
	if t.order != Service {
		return
	}
	for i := range j.Data.sides {
		due, ok := j.Data.sides[i].owed.Rest()
		if !ok {
			continue
		}
		c := j.Side(i).Class()
		cost := sfq.Cost(times(due, t.placesOf(c)))
		for n := j.Data.pool; n.parent != nil; n = n.parent {
			nc := n.class(t.counted(c))
			nc.lifted.set = false
			nc.account.SetWeight(n.conf.weight)
			nc.account.Charge(cost)
			nc.account.Settle(cost, cost)
		}
	}
}

// beenServed is added to the turn in the key of a pool that was served, so that one that never was goes
// first among equals. It may: others that come stand behind it before long, since virtual time passes. One that comes back with a debt
// counts as served when it came.
const beenServed = 1 << 62

// setTag makes the ratio of a key a tag.
func (k *poolKey) setTag(t sfq.Tag) { k.ratio.Hi, k.ratio.Lo, k.part, k.weight = t.Fraction() }

// keepDebts keeps what a pool that goes has had, for when it comes again. A pool with a minimum leaves no
// debt: what it was guaranteed is no debt.
func (n *pool) keepDebts(priced bool) {
	left := len(n.parent.below)
	for i := range n.parent.classes {
		clock, most := &n.parent.classes[i].clock, uint64(0)
		if priced && n.widths == nil { // what somebody says is not proved as time is
			most = max(n.parent.classes[i].mean.Cost, 1)
		}
		if i >= len(n.classes) || i < len(n.conf.min) && n.conf.min[i] > 0 {
			clock.Trim(left, most)
		} else {
			clock.Leave(n.name, &n.classes[i].account, left, most, int64(n.classes[i].idle))
		}
	}
}

// saveCharges writes what running attempts were charged.
func (t *tree) saveCharges(w *snapshot.Writer) {
	for slot := range t.ledger.Attempts() {
		w.Uint(t.charges.of(slot.ID))
	}
}

// restoreCharges reads what saveCharges has written. What pools are charged with must be that.
func (t *tree) restoreCharges(r *snapshot.Reader) {
	type place struct {
		pool  *pool
		class sojourn.Class
	}
	charged := make(map[place][]uint64)
	for slot, a := range t.ledger.Attempts() {
		cost := r.Uint()
		if r.Err() != nil || a.Job.Data.pool == nil {
			return
		}
		t.charges.set(slot.ID, cost)
		for n := a.Job.Data.pool; n.parent != nil; n = n.parent {
			if !r.Check(int(slot.Class) < len(n.classes), "a pool runs something of a class that it does not know") {
				return
			}
			c := t.counted(slot.Class)
			at, nc := place{n, c}, n.class(c)
			nc.starts = nc.starts.Add(wide.Mul64(uint64(a.Start), t.placesOf(slot.Class)))
			charged[at] = append(charged[at], cost)
		}
	}
	t.each(func(n *pool) {
		for i := range n.classes {
			if n.parent != nil {
				list := charged[place{n, sojourn.Class(i)}]
				r.Check(n.classes[i].account.Settles(slices.Values(list)), "a pool is charged with what it does not run")
			}
		}
	})
}
