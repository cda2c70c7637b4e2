package rtmr

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
	"github.com/sojourn-sched/sojourn/mapreduce"
)

const never = slotvec.Never

// The stages of a job, which are also the classes of their slots.
const (
	maps    = int(mapreduce.Map)
	reduces = int(mapreduce.Reduce)
)

// A vectors is a pair of slot vectors, by stage: T^m and T^r.
type vectors [2]slotvec.Vector

// An entry is what a booking needs to know of a job.
type entry struct {
	job      *job // nil for a job that is not there yet
	id       sojourn.JobID
	tasks    [2]int64 // to be dispatched
	eps      [2]int64 // the frozen bound on the time of a task
	running  [2]int64 // when the running tasks have ended at the latest; 0 if none runs
	stuck    bool     // nobody knows when its tasks may start
	promised bool     // the deadline must be kept
	deadline int64    // never if there is none
	place    int64    // jobs are booked in the order of their places
	seq      uint64   // and, of one place, of their arrival

	// stored, if not nil, holds the vectors behind the job and its e, as Chain keeps
	// them.
	stored *booking
}

// A booking is what a job was told: the vectors of slots behind it, and when its map
// stage and all of it have ended at the latest (T^m, T^r, e^m, e).
type booking struct {
	t       vectors
	em, e   int64
	rebased bool // t was built anew after some of the job had run
}

// late reports whether a job that ends at e breaks its promise. What never ends is
// late for any deadline.
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
}

// begin starts with the given vectors.
func (w *walker) begin(v *vectors, now int64) {
	w.now = now
	for s := range v {
		w.at[s] = append(w.at[s][:0], v[s]...)
	}
}

// try books the tasks of en that are to be dispatched behind all that was booked
// (Algorithms II and III), and returns when the maps and the job have ended at the
// latest: e^m and e. It is forgotten unless keep is called.
//
// Only the slots that reduce tasks are put on are raised to e^m. Proof-1 of the paper
// raises all of them, which is a bound as well, but needlessly late.
func (w *walker) try(en *entry) (em, e int64) {
	if en.stuck {
		for s := range w.at {
			w.next[s] = append(w.next[s][:0], w.at[s]...)
		}
		return never, never
	}
	w.next[maps], em = w.filler.Fill(w.next[maps], w.at[maps], en.tasks[maps], en.eps[maps], w.now)
	em = max(em, en.running[maps])
	w.next[reduces], e = w.filler.Fill(w.next[reduces], w.at[reduces], en.tasks[reduces], en.eps[reduces], em)
	return em, max(e, en.running[reduces])
}

// keep keeps what the last try booked.
func (w *walker) keep() { w.at, w.next = w.next, w.at }

// pass goes behind a job that is booked already, and returns its e.
func (w *walker) pass(en *entry) int64 {
	if en.stored != nil {
		w.begin(&en.stored.t, w.now)
		return en.stored.e
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

// An offer is the earliest deadline that is known to be accepted, with the place that
// a job of that deadline would get.
type offer struct {
	at    int64 // never if there is none
	index int
	exact bool
}

// budget bounds the bookings that the search for a place makes. It is enough for 256
// jobs, at each of whose places all jobs behind it are booked anew.
const budget = 1<<15 + 1<<10

// An admission decides where a job fits among others whose promises must be kept. It
// holds scratch memory.
type admission struct {
	list []entry  // by place
	base *vectors // before the first
	cand entry
	one  bool // try the natural place only
	now  int64

	prefix, rest walker
	slack        []int64 // slack[p]: the least slack of list[p:] without the candidate
}

// natural returns the index at which the candidate belongs if that is its place.
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

// placeAt returns the place at index p that is nearest to the one wanted.
func (a *admission) placeAt(p int, want int64) int64 {
	if p < len(a.list) {
		want = min(want, a.list[p].place-1)
	}
	if p > 0 {
		want = max(want, a.list[p-1].place)
	}
	return want
}

// decide returns the place that the candidate gets, or why it gets none and an offer.
func (a *admission) decide() (place int64, broken *miss, off offer) {
	p := a.natural(a.cand.place)
	a.prefix.begin(a.base, a.now)
	for i := range p {
		a.prefix.pass(&a.list[i])
	}
	a.rest.begin(&a.prefix.at, a.now)
	broken = a.rest.book([]entry{a.cand})
	if broken == nil {
		broken = a.rest.book(a.list[p:])
	}
	if broken == nil {
		return a.cand.place, nil, offer{}
	}
	off = a.search()
	if !a.one && off.at <= a.cand.deadline && off.at < never {
		return a.placeAt(off.index, a.cand.place), nil, off
	}
	return 0, broken, off
}

// search returns the earliest deadline at which the candidate would be accepted.
//
// Without the candidate's deadline, index p is open to it if no promise behind p is
// broken, and its e grows with p, since every vector does. The first index that is
// open is therefore the best, and the last one is always open. If only the natural
// place counts, a deadline d belongs at p if it is neither before the place of the job
// before nor at that of the job behind, and the same argument holds for max(e, place).
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
				a.rest.begin(&a.prefix.next, a.now)
				if a.rest.book(a.list[p:]) == nil {
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
// raised to now, is a bound, found without looking at the jobs behind.
func (a *admission) nudge() (d int64) {
	for s := range a.prefix.at {
		d = max(d, slotvec.Distance(a.prefix.at[s], a.prefix.next[s], a.now))
	}
	return d
}
