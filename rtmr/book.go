package rtmr

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

const never = slotvec.Never

// The stages of a job, which are also the classes of their slots.
const (
	maps    = int(sojourn.MapClass)
	reduces = int(sojourn.ReduceClass)
)

// A vectors is a pair of slot vectors, by stage: T^m and T^r.
type vectors [2]slotvec.Vector

// An entry describes a job to a booking.
type entry struct {
	job      *job // nil for a job that has not been accepted
	id       sojourn.JobID
	tasks    [2]int64 // to be dispatched
	eps      [2]int64 // the frozen bound on the time of a task
	running  [2]int64 // the latest end of the running tasks; 0 if none runs
	bound    int64    // how many tasks of the job may run at a time, if that is fewer than there are; else 0
	stuck    bool     // the starts of its tasks are unknown
	promised bool     // the deadline must be kept
	deadline int64    // never if there is none
	place    int64    // jobs are booked in the order of their places
	seq      uint64   // jobs of one place are booked in the order of arrival

	// stored, if not nil, has the vectors behind the job and its e, as Chain keeps
	// them.
	stored *booking
}

// A booking has the vectors of slots behind a job, and the latest ends of its map
// stage and of the whole job (T^m, T^r, e^m, e).
type booking struct {
	t       vectors
	em, e   int64
	rebased bool // t was rebuilt after some of the job had run
}

// late reports whether a job that ends at e breaks its promise. A job that never ends
// is late for any deadline.
func (en *entry) late(e int64) bool { return en.promised && (e > en.deadline || e == never) }

// A miss says which job would be late, and by how much.
type miss struct {
	id sojourn.JobID
	by int64
}

func (en *entry) miss(e int64) *miss {
	if e == never || en.deadline == never {
		return &miss{en.id, never}
	}
	return &miss{en.id, e - en.deadline}
}

// A walker books jobs one behind the other. It holds scratch memory.
type walker struct {
	filler   slotvec.Filler
	now      int64
	at, next vectors

	own, others, left slotvec.Vector // of divide

	// limit, if not 0, is the number of runs to which vectors are shortened that have more than
	// twice as many. Slots then become available no earlier, so that no job ends earlier.
	limit int
}

// begin starts with the given vectors.
func (w *walker) begin(v *vectors, now int64) { w.beginShort(v, now, 0) }

// beginShort starts with the given vectors and a limit.
func (w *walker) beginShort(v *vectors, now int64, limit int) {
	w.now, w.limit = now, limit
	for s := range v {
		if w.short(v[s]) {
			w.at[s] = append(w.at[s][:0], v[s]...)
		} else {
			w.at[s] = slotvec.Shorten(w.at[s], v[s], limit)
		}
	}
}

// short reports whether a vector is within the limit.
func (w *walker) short(v slotvec.Vector) bool { return w.limit == 0 || len(v) <= 2*w.limit }

// try books the undispatched tasks of en behind everything booked so far
// (Algorithms II and III). It returns e^m and e, the latest ends of the maps and
// of the job. The booking counts only if keep is called.
//
// It raises only the slots that run reduce tasks to e^m. Proof-1 of the paper raises
// all of them, which is also a bound, but later than needed.
func (w *walker) try(en *entry) (em, e int64) {
	if en.stuck {
		for s := range w.at {
			w.next[s] = append(w.next[s][:0], w.at[s]...)
		}
		return never, never
	}
	em = max(w.fill(en, maps, w.now), en.running[maps])
	return em, max(w.fill(en, reduces, em), en.running[reduces])
}

// keep keeps the booking of the last try.
func (w *walker) keep() {
	for s := range w.at {
		if w.short(w.next[s]) {
			w.at[s], w.next[s] = w.next[s], w.at[s]
		} else {
			w.at[s] = slotvec.Shorten(w.at[s], w.next[s], w.limit)
		}
	}
}

// pass moves behind a job that is booked already, and returns its e.
func (w *walker) pass(en *entry) int64 {
	if en.stored != nil {
		w.beginShort(&en.stored.t, w.now, w.limit)
		return en.stored.e
	}
	if en.tasks == ([2]int64{}) { // it takes no slot
		return max(w.now, en.running[maps], en.running[reduces])
	}
	_, e := w.try(en)
	w.keep()
	return e
}

// book books jobs one behind the other, and returns the first promise that would be
// broken, or nil.
func (w *walker) book(list []entry) *miss {
	for i := range list {
		if _, e := w.try(&list[i]); list[i].late(e) {
			return list[i].miss(e)
		}
		w.keep()
	}
	return nil
}

// An offer is the earliest deadline that would be accepted, as far as is known, with
// the place that a job of that deadline would get.
type offer struct {
	at    int64 // never if there is none
	index int
	exact bool
}

// budget bounds the bookings of a search for a place. It is enough for 256 jobs if all
// jobs behind each place are booked again.
const budget = 1<<15 + 1<<10

// An admission decides where a job fits among jobs whose promises must be kept. It
// holds scratch memory.
type admission struct {
	list []entry  // by place
	base *vectors // before the first
	cand entry
	one  bool // try the natural place only
	some bool // of the list bound how many of their tasks run
	now  int64

	limit int // of the vectors in atNatural, 0 for exact ones

	prefix, rest walker
	slack        []int64 // slack[p]: the least slack of list[p:] without the candidate
}

// natural returns the index at which a candidate of the given place belongs.
func (a *admission) natural(place int64) int {
	lo, hi := 0, len(a.list)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if en := &a.list[mid]; en.place < place || en.place == place && en.seq < a.cand.seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// placeAt returns the place at index p that is nearest to want.
func (a *admission) placeAt(p int, want int64) int64 {
	if p < len(a.list) {
		want = min(want, a.list[p].place-1)
	}
	if p > 0 {
		want = max(want, a.list[p-1].place)
	}
	return want
}

// decide returns the place that the candidate gets, or the promise that it would break
// and an offer.
func (a *admission) decide() (place int64, broken *miss, off offer) {
	if broken = a.atNatural(); broken == nil {
		return a.cand.place, nil, offer{}
	}
	off = a.search()
	if !a.one && off.at <= a.cand.deadline && off.at < never {
		return a.placeAt(off.index, a.cand.place), nil, off
	}
	return 0, broken, off
}

// atNatural returns the promise that the candidate would break at its natural place.
func (a *admission) atNatural() (broken *miss) {
	p := a.natural(a.cand.place)
	a.prefix.beginShort(a.base, a.now, a.limit)
	for i := range p {
		a.prefix.pass(&a.list[i])
	}
	if _, e := a.prefix.try(&a.cand); a.cand.late(e) {
		return a.cand.miss(e)
	}
	return a.behind(p)
}

// behind returns the promise from index p on that the candidate would break, which the prefix has
// just tried there. If there are many jobs or long vectors, short ones may show at once that
// there is none.
func (a *admission) behind(p int) *miss {
	v := &a.prefix.next
	if a.limit == 0 && (len(a.list)-p > long || max(len(v[maps]), len(v[reduces])) > 2*buckets) {
		a.rest.beginShort(v, a.now, few)
		if a.rest.book(a.list[p:]) == nil {
			return nil
		}
	}
	a.rest.beginShort(v, a.now, a.limit)
	return a.rest.book(a.list[p:])
}

// search returns the earliest deadline at which the candidate would be accepted.
//
// Leave the candidate's deadline aside. Index p is open to it if it breaks no promise
// behind p. Its e grows with p, since every vector does. So the first open index is
// the best, and the last one is always open. If only the natural place counts, a
// deadline d belongs at p if it is at least the place of the job before and below that
// of the job behind. The same argument then holds for max(e, place).
func (a *admission) search() offer {
	n := len(a.list)
	a.baseline()
	spent := 2 * n
	exact := true
	a.prefix.begin(a.base, a.now)
	for p := 0; ; p++ {
		open := a.natural(a.placeAt(p, a.cand.place)) == p
		if open && (exact || p == n) {
			_, e := a.prefix.try(&a.cand)
			if e == never {
				return offer{at: never}
			}
			spent++
			at := e
			if a.one && p > 0 {
				at = max(e, a.list[p-1].place)
			}
			switch {
			case a.one && p < n && at >= a.list[p].place:
			case p == n || a.nudge() <= a.slack[p]:
				return offer{at, p, exact}
			default:
				spent += n - p
				if a.behind(p) == nil {
					return offer{at, p, exact}
				}
			}
			exact = spent <= budget
		}
		if p == n {
			return offer{at: never}
		}
		a.prefix.pass(&a.list[p])
	}
}

// baseline sets slack.
func (a *admission) baseline() {
	n := len(a.list)
	a.slack = append(a.slack[:0], make([]int64, n)...)
	a.prefix.begin(a.base, a.now)
	for i := range a.list {
		if e := a.prefix.pass(&a.list[i]); a.list[i].promised {
			a.slack[i] = a.list[i].deadline - e
		} else {
			a.slack[i] = never
		}
	}
	for i := n - 2; i >= 0; i-- {
		a.slack[i] = min(a.slack[i], a.slack[i+1])
	}
}

// nudge bounds how much later any job from index p on ends because of the candidate,
// which the prefix has just tried there. FILL is monotone and commutes with
// translation: if no slot becomes available more than d later, no job ends more than d
// later. So the largest difference of the vectors before and behind the candidate,
// raised to now, is a bound. It needs no look at the jobs behind. Running tasks of a job that bounds
// how many run do not move along, so that there is no bound then.
func (a *admission) nudge() (d int64) {
	if a.some {
		return never
	}
	for s := range a.prefix.at {
		d = max(d, slotvec.Distance(a.prefix.at[s], a.prefix.next[s], a.now))
	}
	return d
}
