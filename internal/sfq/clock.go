package sfq

import (
	"fmt"
	"iter"
	"maps"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// An Account has what one flow was charged. [Clock.Enter] makes one.
type Account struct {
	tag     Tag
	out     wide.Uint128 // charged, and not settled yet
	charges uint64       // that are not settled yet
}

// Tag returns the tag of the flow: the least one goes first.
func (a *Account) Tag() Tag { return a.tag }

// Outstanding returns how many charges are neither corrected nor refunded.
func (a *Account) Outstanding() uint64 { return a.charges }

// Out returns the sum of the charges that are not settled.
func (a *Account) Out() wide.Uint128 { return a.out }

// Charged returns the sum of the charges that are not settled, at most [MaxCost].
func (a *Account) Charged() uint64 { return a.out.Clamp63() }

// Charge charges the flow for work that starts, with the cost that it is thought to have.
func (a *Account) Charge(expected uint64) {
	expected = Cost(expected)
	a.tag = a.tag.Plus(expected)
	a.out = a.out.Add(wide.From64(expected))
	a.charges++
}

// Settle replaces a charge when the work has ended: by the [Cost] that it had, or by 0 if it was lost.
func (a *Account) Settle(expected, actual uint64) {
	expected = Cost(expected)
	if a.charges == 0 || a.out.Less(wide.From64(expected)) {
		panic(fmt.Sprintf("flow: a charge of %d is settled that was not made", expected))
	}
	a.charges--
	a.out = a.out.Sub(wide.From64(expected))
	if actual >= expected {
		a.tag = a.tag.Plus(actual - expected)
	} else {
		a.tag = a.tag.minus(expected - actual)
	}
}

// SetWeight changes the weight of the flow. It has had for each unit of its new weight what it had
// for each unit of the old one. What is charged and not settled counts by the new weight.
func (a *Account) SetWeight(weight uint64) {
	if weight == a.tag.weight {
		return
	}
	out := a.out
	a.tag = a.Settled().of(weight)
	q, r := out.QuoRem(wide.From64(weight))
	a.tag.whole = a.tag.whole.Add(q)
	a.tag = a.tag.Plus(r.Lo)
}

// Settled returns the tag without what is not settled yet.
func (a *Account) Settled() Tag {
	q, r := a.out.QuoRem(wide.From64(a.tag.weight))
	t := a.tag
	if t.whole.Less(q) {
		return Tag{weight: t.weight}
	}
	t.whole = t.whole.Sub(q)
	return t.minus(r.Lo)
}

// Settles reports whether the charges that are not settled are these.
func (a *Account) Settles(charges iter.Seq[uint64]) bool {
	n, sum := uint64(0), wide.Uint128{}
	for c := range charges {
		n, sum = n+1, sum.Add(wide.From64(Cost(c)))
	}
	return n == a.charges && sum == a.out
}

// Save writes a.
func (a *Account) Save(w *snapshot.Writer) {
	a.tag.Save(w)
	a.out.Save(w)
	w.Uint(a.charges)
}

// RestoreAccount reads what [Account.Save] has written.
func RestoreAccount(r *snapshot.Reader) Account {
	a := Account{tag: RestoreTag(r), out: wide.Restore128(r), charges: r.Below(1 << 62)}
	r.Check(a.tag.weight > 0, "a flow has no weight")
	r.Check(a.out.Hi < 1<<62 && !a.out.Less(wide.From64(a.charges)) && (a.charges > 0 || a.out.IsZero()), "what is charged is out of range")
	return a
}

// A Clock is the virtual time of flows side by side. Use it if you keep the flows in an order of
// your own, as package fair does; [Flows] has one for each level. The zero Clock is at the beginning.
type Clock struct {
	now   Tag
	debts *debts // nil if there was none yet
}

// debts are the tags of flows that have gone and that virtual time has not passed yet.
type debts struct {
	ids   map[string]uint32
	table heap.Table[debt]
	spare heap.Table[uint32]
	order *heap.Heap[due]
}

// A due orders debts: by their tags, and then by name.
type due struct {
	tag  Tag
	name string
}

func (d due) before(e due) bool {
	if c := d.tag.Compare(e.tag); c != 0 {
		return c < 0
	}
	return d.name < e.name
}

type debt struct {
	name  string
	tag   Tag
	since int64
}

// Advance is to be called before a flow is charged, with its tag or the least tag of the flows that
// could be served, whichever is less. Virtual time never goes back.
func (c *Clock) Advance(to Tag) {
	if !c.now.Before(to) {
		return
	}
	c.now = to
	for c.debts != nil {
		least, ok := c.debts.order.MinKey()
		if !ok || c.now.Before(least.tag) {
			return
		}
		c.debts.drop()
	}
}

// drop forgets the least debt.
func (d *debts) drop() {
	id, _ := d.order.Min()
	d.order.Remove(id)
	delete(d.ids, d.table.At(id).name)
	heap.Release(&d.table, &d.spare, id)
}

// Enter returns the account of a flow that joins. It has the debt that a flow of this name has left, with what [Clock.Leave] was told
// of it, or stands at virtual time. owes says that it has a debt: among equals it counts as one that was served then. The weight is from 1 to [MaxWeight].
func (c *Clock) Enter(name string, weight uint64) (a Account, since int64, owes bool) {
	if weight == 0 || weight > MaxWeight {
		panic(fmt.Sprintf("flow: a weight of %d", weight))
	}
	at := c.now
	if d := c.debts; d != nil {
		if id, ok := d.ids[name]; ok {
			x := d.table.At(id)
			at, since, owes = x.tag, x.since, true
			d.order.Remove(id)
			delete(d.ids, name)
			heap.Release(&d.table, &d.spare, id)
		}
	}
	return Account{tag: at.of(weight)}, since, owes
}

// Leave keeps the debt of a flow that goes, while there is one, for a flow of the same name. left is
// the number of flows that remain, and so many debts are kept at most: see [Clock.Trim]. since is an instant that the flow of this name gets back.
func (c *Clock) Leave(name string, a *Account, left int, most uint64, since int64) {
	if c.now.Before(a.tag) {
		if c.debts == nil {
			c.debts = newDebts()
		}
		c.debts.add(debt{name, a.tag, since})
	}
	c.Trim(left, most)
}

// Trim keeps at most so many debts. Virtual time passes others, the least one first; or, if that is less, it passes by what a flow of the weight of the debt gets with a service of most, unless that is 0: a
// debt may rest on what somebody has said that is wrong by far, and others who come would wait for it. Trim is to be called when a flow goes that is not to leave a debt.
func (c *Clock) Trim(left int, most uint64) {
	for c.Debts() > left {
		least, _ := c.debts.order.MinKey()
		if to := c.now.of(least.tag.weight).Plus(min(most, MaxCost)); most > 0 && to.Before(least.tag) {
			c.Advance(to)
			c.debts.drop()
			continue
		}
		c.Advance(least.tag)
	}
}

func newDebts() *debts {
	return &debts{ids: make(map[string]uint32), order: heap.New(due.before, func(d due) (hi, lo uint64) { return d.tag.Prefix(0) })}
}

func (d *debts) add(x debt) {
	id := heap.Allot(&d.table, &d.spare, x)
	d.ids[x.name] = id
	d.order.Set(id, due{x.tag, x.name})
}

// Debts returns how many debts are kept of flows that have gone.
func (c *Clock) Debts() int {
	if c.debts == nil {
		return 0
	}
	return c.debts.order.Len()
}

// Lift is to be called when a flow begins to have something to start. A flow that had not is level
// with the others then: it stands at virtual time, less the credit for its weight, unless it was ahead.
func (c *Clock) Lift(a *Account, credit uint64) {
	if !a.tag.Before(c.now) {
		return
	}
	to := c.now.of(a.tag.weight)
	if credit > 0 {
		to = to.minus(min(credit, MaxCost))
	}
	if a.tag.Before(to) {
		a.tag = to
	}
}

// Fade takes from how far a flow is ahead of a tag, or of virtual time if that is greater, what it loses in a time in which it is
// idle: a half in each half-life, and in a part of one the same part of the half; but never more than 63 of 64.
func (c *Clock) Fade(a *Account, of Tag, time, half uint64) {
	if of.Before(c.now) {
		of = c.now
	}
	if !of.Before(a.tag) {
		return
	}
	ahead := a.tag.Service(of).Clamp63()
	hi, lo := bits.Mul64(ahead>>min(time/half, 63), 2*half-time%half)
	left, _ := bits.Div64(hi, lo, 2*half)
	if to := of.of(a.tag.weight).Plus(max(left, ahead/64, 1)); to.Before(a.tag) {
		a.tag = to
	}
}

// Return takes a change of the tag back, where nothing was charged, settled or weighted since: from is the tag before it.
func (a *Account) Return(from Tag) { a.tag = from }

// Owes reports whether the debt of a flow of this name is kept.
func (c *Clock) Owes(name string) bool {
	if c.debts == nil {
		return false
	}
	_, ok := c.debts.ids[name]
	return ok
}

// Save writes c.
func (c *Clock) Save(w *snapshot.Writer) {
	c.now.Save(w)
	w.Len(c.Debts())
	if c.debts == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.debts.ids)) {
		x := c.debts.table.At(c.debts.ids[name])
		w.String(name)
		x.tag.Save(w)
		w.Int(x.since)
	}
}

// RestoreClock reads what [Clock.Save] has written. left is the number of flows beside which the
// debts are kept, and no instant of them is after now.
func RestoreClock(r *snapshot.Reader, left int, now int64) Clock {
	c := Clock{now: RestoreTag(r)}
	n := r.Len()
	r.Check(n <= left, "more debts than flows")
	last := ""
	for i := range n {
		name := r.String()
		tag, since := RestoreTag(r), r.Int()
		if !r.Check(i == 0 || last < name, "debts are out of order") || !r.Check(c.now.Before(tag) && tag.weight > 0, "a debt that was passed") ||
			!r.Check(since <= now, "a debt since an instant to come") {
			break
		}
		if c.debts == nil {
			c.debts = newDebts()
		}
		c.debts.add(debt{name, tag, since})
		last = name
	}
	return c
}
