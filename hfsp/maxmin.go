package hfsp

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/vqueue"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// grain is the number of units of virtual work in a slot-nanosecond.
const grain = 32 // bits

// maxMin is a virtual cluster in which no phase has more slots than it has tasks:
// the slots are shared max-min fairly [HFSP, section III-B]. With the level L of
// slots per unit of weight, phase i ages at the rate min(limit_i, L w_i), and L is
// such that the rates add up to all slots, if the limits allow that.
//
// Since phases age at different rates, the order of their virtual sizes changes
// while time passes: nothing is kept in order, and everything takes time in
// proportion to the number of phases. Virtual work is counted in units of 2^-32
// slot-nanoseconds. Each time that rates change, a phase of weight w loses less than
// 1 + w/2^16 slot-nanoseconds: what rounding has left, and the rest of the nanosecond in
// which another one was virtually complete.
type maxMin struct {
	late  Late
	slots int
	now   sojourn.Time
	ends  uint64 // virtual completions so far
	seq   uint64 // arrivals so far

	active []*capped // not virtually complete, really finished or not
	all    []*capped // not really finished

	// What the level gives per unit of weight is share/weight, in slots. gain carries
	// the remainder of the division by weight. Of no meaning unless levelled.
	levelled bool
	share    uint64
	weight   wide.Uint128
	carry    wide.Uint128
}

// capped is a phase in a maxMin.
type capped struct {
	phase   *phase
	v       wide.Uint128 // units
	size    uint64       // slot-nanoseconds
	weight  uint64
	limit   uint64
	held    bool // by its limit, below the level
	seq     uint64
	end     uint64 // its number among the virtual completions; 0 before
	running int
	ready   bool
	marks   [vqueue.Marks]bool
}

func newMaxMin(late Late) *maxMin { return &maxMin{late: late} }

func (q *maxMin) SetCapacity(slots int) {
	if slots != q.slots {
		q.slots, q.levelled = slots, false
	}
}

// level finds the rates: phases are held by their limits until the rest can have
// equal shares.
func (q *maxMin) level() {
	if q.levelled {
		return
	}
	q.levelled, q.carry = true, wide.Uint128{}
	q.share, q.weight = uint64(q.slots), wide.Uint128{}
	for _, i := range q.active {
		i.held = false
		q.weight = q.weight.Add(wide.From64(i.weight))
	}
	for again := true; again; {
		again = false
		share, weight := q.share, q.weight
		for _, i := range q.active {
			// limit <= w share/weight
			if !i.held && !wide.Mul64(i.weight, share).Less(weight.MulU64(i.limit)) {
				i.held, again = true, true
				q.share -= min(i.limit, q.share)
				q.weight = q.weight.Sub(wide.From64(i.weight))
			}
		}
	}
}

// rates returns how many units of virtual work phase i is given until dt from now,
// with the present level.
func (q *maxMin) given(i *capped, dt uint64, gain wide.Uint128) wide.Uint128 {
	if i.held {
		return wide.Mul64(i.limit, dt).Shl(grain)
	}
	if need := ceil(i.v, i.weight); !gain.Less(need) {
		return i.v // all, and gain times the weight may not fit
	}
	return gain.MulU64(i.weight)
}

// gain returns the units of work per unit of weight until dt from now, and what is
// carried.
func (q *maxMin) gain(dt uint64) (gain, carry wide.Uint128) {
	if q.weight.IsZero() {
		return wide.Uint128{}, wide.Uint128{}
	}
	return wide.Mul64(q.share, dt).Shl(grain).Add(q.carry).QuoRem(q.weight)
}

// step returns after how many whole nanoseconds, at most dt, the next phase is
// virtually complete.
func (q *maxMin) step(dt uint64) uint64 {
	gain, _ := q.gain(dt)
	for _, i := range q.active {
		if q.given(i, dt, gain).Less(i.v) {
			continue
		}
		var end wide.Uint128
		if i.held {
			end = ceil(i.v, i.limit<<grain)
			if i.limit >= 1<<(64-grain) {
				end = wide.From64(1)
			}
		} else {
			need := ceil(i.v, i.weight).Mul(q.weight)
			if need.Less(q.carry) {
				need = q.carry
			}
			end = ceil128(need.Sub(q.carry), wide.Mul64(q.share, 1<<grain))
		}
		if end.Hi == 0 {
			dt = min(dt, max(end.Lo, 1))
			gain, _ = q.gain(dt)
		}
	}
	return dt
}

func (q *maxMin) Advance(at sojourn.Time) {
	for q.now < at {
		if len(q.active) == 0 || q.slots == 0 {
			q.now = at
			return
		}
		q.level()
		dt := q.step(uint64(at - q.now))
		gain, carry := q.gain(dt)
		for _, i := range q.active {
			if given := q.given(i, dt, gain); given.Less(i.v) {
				i.v = i.v.Sub(given)
			} else {
				i.v = wide.Uint128{}
			}
		}
		q.carry = carry
		q.now += sojourn.Time(dt)
		q.settle()
	}
}

// settle completes the phases that have nothing left, in the order of arrival.
func (q *maxMin) settle() {
	n := len(q.active)
	q.active = slices.DeleteFunc(q.active, func(i *capped) bool {
		if i.v.IsZero() {
			q.ends++
			i.end = q.ends
		}
		return i.v.IsZero()
	})
	if len(q.active) < n {
		q.levelled = false
	}
}

func (q *maxMin) Arrive(ph *phase, size, weight uint64, limit int) {
	q.seq++
	i := &capped{phase: ph, v: units(size), size: size, weight: weight, limit: useful(limit), seq: q.seq}
	ph.place.capped = i
	q.all = append(q.all, i)
	q.activate(i)
}

// useful returns a limit that is at least 1, and no more than there can be slots.
func useful(limit int) uint64 { return uint64(min(max(limit, 1), sojourn.MaxSlots)) }

// activate lets a phase age.
func (q *maxMin) activate(i *capped) {
	at, _ := slices.BinarySearchFunc(q.active, i, func(a, b *capped) int { return cmp.Compare(a.seq, b.seq) })
	q.active = slices.Insert(q.active, at, i)
	q.levelled = false
	q.settle()
}

func (q *maxMin) Resize(ph *phase, size, weight uint64, limit int) {
	i := ph.place.capped
	if i.end == 0 {
		v, before := i.v.Add(units(size)), units(i.size)
		if v.Less(before) {
			v = before
		}
		i.v = v.Sub(before)
	}
	if weight != i.weight || useful(limit) != i.limit {
		q.levelled = false
	}
	i.size, i.weight, i.limit = size, weight, useful(limit)
	q.settle()
}

func (q *maxMin) Reset(ph *phase, v, size uint64) {
	i := ph.place.capped
	i.size = size
	if i.v = units(v); i.end > 0 && v > 0 {
		i.end = 0
		q.activate(i)
	}
	q.settle()
}

func (q *maxMin) Finish(ph *phase) {
	i := ph.place.capped
	i.phase = nil // it goes on ageing for long, perhaps
	q.all = slices.DeleteFunc(q.all, func(o *capped) bool { return o == i })
}

func (q *maxMin) SetReady(ph *phase, ready bool)  { ph.place.capped.ready = ready }
func (q *maxMin) SetRunning(ph *phase, tasks int) { ph.place.capped.running = tasks }

// before reports whether a is served before b.
func (q *maxMin) before(a, b *capped) bool {
	c := 0
	switch {
	case (a.end > 0) != (b.end > 0):
		return a.end > 0
	case a.end == 0:
		c = wide.Mul64(slotTime(a.v), b.weight).Cmp(wide.Mul64(slotTime(b.v), a.weight))
	case q.late == LateShare:
		c = wide.Mul64(uint64(a.running), b.weight).Cmp(wide.Mul64(uint64(b.running), a.weight))
	}
	switch {
	case c != 0:
		return c < 0
	case a.end != b.end:
		return a.end < b.end
	}
	return a.seq < b.seq
}

func (q *maxMin) First() (*phase, bool) {
	var first *capped
	for _, i := range q.all {
		if i.ready && (first == nil || q.before(i, first)) {
			first = i
		}
	}
	if first == nil {
		return nil, false
	}
	return first.phase, true
}

func (q *maxMin) All() iter.Seq[*phase] {
	return func(yield func(*phase) bool) {
		for _, i := range slices.SortedFunc(slices.Values(q.all), func(a, b *capped) int {
			if q.before(a, b) {
				return -1
			}
			return 1
		}) {
			if !yield(i.phase) {
				return
			}
		}
	}
}

func (q *maxMin) Before(a, b *phase) bool { return q.before(a.place.capped, b.place.capped) }

func (q *maxMin) SetMark(ph *phase, m vqueue.Mark, on bool) { ph.place.capped.marks[m] = on }

func (q *maxMin) Marked(m vqueue.Mark) iter.Seq[*phase] {
	return func(yield func(*phase) bool) {
		for ph := range q.All() {
			if ph.place.capped.marks[m] && !yield(ph) {
				return
			}
		}
	}
}

func (q *maxMin) FirstMarked(m vqueue.Mark) (*phase, bool) {
	for ph := range q.Marked(m) {
		return ph, true
	}
	return nil, false
}

func (q *maxMin) LastMarked(m vqueue.Mark, before *phase) (*phase, bool) {
	var last *capped
	for _, i := range q.all {
		if i.marks[m] && (last == nil || q.before(last, i)) && (before == nil || q.before(i, before.place.capped)) {
			last = i
		}
	}
	if last == nil {
		return nil, false
	}
	return last.phase, true
}

func (q *maxMin) Remaining(ph *phase) uint64 { return slotTime(ph.place.capped.v) }
func (q *maxMin) Late(ph *phase) bool        { return ph.place.capped.end > 0 }

func units(slotTime uint64) wide.Uint128 { return wide.From64(slotTime).Shl(grain) }

// slotTime returns units in slot-nanoseconds, rounded up.
func slotTime(units wide.Uint128) uint64 {
	return min(ceil(units, 1<<grain).Lo, math.MaxInt64)
}

// ceil returns x/y, rounded up.
func ceil(x wide.Uint128, y uint64) wide.Uint128 { return ceil128(x, wide.From64(y)) }

func ceil128(x, y wide.Uint128) wide.Uint128 {
	q, r := x.QuoRem(y)
	if !r.IsZero() {
		q = q.Add(wide.From64(1))
	}
	return q
}
