package td

import (
	"cmp"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A status says how far a job is [Section IV-B]. It never decreases.
type status uint8

const (
	waiting   status = iota // not co-scheduled yet
	infantile               // the filler: runs on slots that would stay idle
	teenaged                // promoted, and has not yet held its floor
	adult                   // has held its floor
	senile                  // has no map task left to start
	finished                // is over
)

var statusNames = [...]string{"waiting", "infantile", "teenaged", "adult", "senile", "finished"}

// String returns the name of the constant in lower case.
func (s status) String() string { return statusNames[s] }

// A roster has the status of each job, and the lists and sums that follow from it.
type roster struct {
	set    settings
	ledger ledger.Ledger[member]
	index  *locality.Index[member]
	lanes  []*lane // by class; nil where the class was never seen

	first ready.Queue[uint64] // jobs by arrival whose requeued map tasks or reduces go first
	early ready.Queue[uint64] // and those whose reduces may start before their last map task

	seats  uint32     // numbers of co-scheduled jobs, taken or not, are below this
	vacant bitset.Set // the numbers that are not taken

	moved []move // the changes of UPDATE for the present request
}

// A lane is the co-scheduling of the map phases on one class of slots. A job with
// nothing to start at the moment, because all its pending map tasks are held, keeps
// its status but is not counted and not listed.
type lane struct {
	class sojourn.Class
	busy  int // busy slots of the class

	waiting   *heap.Heap[uint64] // by arrival
	infantile *job               // at most one
	teenaged  []*job             // by arrival
	short     []*job             // adults below their floor, by arrival
	adults    []rank             // by amt

	startable int // jobs in these lists that have something to start
	demand    int // D: the sum over teenaged and adults
	occupied  int // the sum over infantile, teenaged and adults

	dmax    int  // the greatest demand in the sum
	dmaxOld bool // dmax must be recomputed

	anywhere []uint64 // by seat of infantile and adults: the job has tasks that run equally well on any node
}

// A rank is an adult with its key.
type rank struct {
	amt  uint64
	seq  uint64
	seat uint32
	job  *job
}

func compareRanks(a, b rank) int { return cmp.Or(cmp.Compare(a.amt, b.amt), cmp.Compare(a.seq, b.seq)) }

// filed is the part of a lane's counts that comes from one job.
type filed struct {
	awake    bool // counted in startable
	waits    bool // in waiting
	teen     bool
	short    bool
	adult    bool
	ranked   uint64 // amt, as an adult
	demanded int
	holds    int
}

func newLane(c sojourn.Class) *lane {
	return &lane{class: c, waiting: heap.New(func(a, b uint64) bool { return a < b }, func(seq uint64) (hi, lo uint64) { return seq, 0 })}
}

// refresh updates the place of j after anything that may have changed it. j
// becomes senile or finished if that is due, and enters the lists and sums to
// which it belongs.
func (r *roster) refresh(j *job, ended bool) {
	d := &j.Data
	ph := j.Phase(0)
	switch {
	case ended || j.Cancelled():
		r.setStatus(j, finished)
	case d.status < senile && j.Spec().Phases[0].Tasks == ph.Done()+ph.Running():
		r.setStatus(j, senile)
	case d.status == teenaged && ph.Running() >= r.set.floor(d.demand):
		r.setStatus(j, adult)
	}
	r.file(j)
	r.fileReduces(j)
}

// setStatus changes the status of j. It must be filed afterwards.
func (r *roster) setStatus(j *job, to status) {
	d := &j.Data
	if to == d.status {
		return
	}
	was := d.status
	d.status = to
	if was == infantile {
		d.lane.infantile = nil
	}
	switch to {
	case infantile:
		d.lane.infantile = j
		d.demand, d.since = 0, 0
	case teenaged, adult:
		if was <= infantile {
			d.demand = r.demand(j)
			d.since = r.ledger.Now()
		}
	default:
		d.demand, d.since = 0, 0
	}
	if scheduled := to.coScheduled(); scheduled != was.coScheduled() {
		if scheduled {
			d.seat = r.takeSeat()
			r.index.Watch(j, 0, d.seat, d.amt)
		} else {
			r.index.Unwatch(j, 0)
			r.vacant.Add(int(d.seat))
			d.lane.setAnywhere(d.seat, false)
		}
	}
}

// coScheduled reports whether jobs of a status take turns at slots.
func (s status) coScheduled() bool { return s == infantile || s == teenaged || s == adult }

// takeSeat returns the least number that no co-scheduled job has.
func (r *roster) takeSeat() uint32 {
	if i := r.vacant.Min(); i >= 0 {
		r.vacant.Remove(i)
		return uint32(i)
	}
	r.seats++
	return r.seats - 1
}

// file enters the map phase of j into its lists and sums.
func (r *roster) file(j *job) {
	d := &j.Data
	l := d.lane
	ph := j.Phase(0)
	awake := d.status < senile && j.Startable(0) > 0
	grown := awake && (d.status == teenaged || d.status == adult)

	if awake != d.awake {
		d.awake = awake
		if awake {
			l.startable++
		} else {
			l.startable--
		}
	}
	if waits := awake && d.status == waiting; waits != d.waits {
		d.waits = waits
		if waits {
			l.waiting.Set(j.Handle(), j.Seq())
		} else {
			l.waiting.Remove(j.Handle())
		}
	}

	l.demand -= d.demanded
	l.occupied -= d.holds
	was := d.demanded
	d.demanded, d.holds = 0, 0
	if grown {
		d.demanded = d.demand
	}
	if awake && d.status.coScheduled() {
		d.holds = ph.Running()
	}
	l.demand += d.demanded
	l.occupied += d.holds
	if was != d.demanded {
		l.dmaxOld = true
	}

	d.teen = enter(&l.teenaged, j, d.teen, grown && d.status == teenaged)
	isAdult := grown && d.status == adult
	d.short = enter(&l.short, j, d.short, isAdult && ph.Running() < r.set.floor(d.demand))
	if d.adult && (!isAdult || d.ranked != d.amt) {
		i, _ := slices.BinarySearchFunc(l.adults, rank{amt: d.ranked, seq: j.Seq()}, compareRanks)
		l.adults = slices.Delete(l.adults, i, i+1)
		d.adult = false
	}
	if isAdult && !d.adult {
		k := rank{d.amt, j.Seq(), d.seat, j}
		i, _ := slices.BinarySearchFunc(l.adults, k, compareRanks)
		l.adults = slices.Insert(l.adults, i, k)
		d.adult, d.ranked = true, d.amt
	}
	if d.status.coScheduled() {
		r.index.Reweigh(j, 0, d.amt)
		l.setAnywhere(d.seat, r.index.Anywhere(j, 0) > 0)
	}
}

// enter adds j to a list by arrival or removes it, and reports whether it is in the
// list now.
func enter(list *[]*job, j *job, is, want bool) bool {
	if is != want {
		relist(list, j, want)
	}
	return want
}

func relist(list *[]*job, j *job, want bool) {
	i, _ := slices.BinarySearchFunc(*list, j.Seq(), func(k *job, seq uint64) int { return cmp.Compare(k.Seq(), seq) })
	if want {
		*list = slices.Insert(*list, i, j)
	} else {
		*list = slices.Delete(*list, i, i+1)
	}
}

func (l *lane) setAnywhere(seat uint32, is bool) {
	w := int(seat / 64)
	for w >= len(l.anywhere) {
		l.anywhere = append(l.anywhere, 0)
	}
	l.anywhere[w] &^= 1 << (seat % 64)
	if is {
		l.anywhere[w] |= 1 << (seat % 64)
	}
}

// fileReduces enters everything else that a job has to start: map tasks that came
// back after it had become senile, and its later phases, class by class.
func (r *roster) fileReduces(j *job) {
	ph := j.Phase(0)
	for i := range j.NumSides() {
		side := j.Side(i)
		reduces, maps := side.Pending(), 0
		if j.Room() == 0 {
			reduces = 0
		} else if i == ph.Side() && !j.Cancelled() {
			maps = ph.Pending()
			reduces -= maps
		}
		over := ph.Done() == j.Spec().Phases[0].Tasks
		put(&r.first, side.Class(), j, j.Data.status == senile && maps > 0 || over && reduces > 0)
		put(&r.early, side.Class(), j, !over && reduces > 0)
	}
}

// put adds j to a queue or removes it.
func put(q *ready.Queue[uint64], c sojourn.Class, j *job, want bool) {
	if !want {
		q.Remove(c, j.Handle())
	} else if !q.Contains(c, j.Handle()) {
		q.Set(c, j.Handle(), j.Seq())
	}
}

// revised applies a new description of j.
func (r *roster) revised(j *job) {
	d := &j.Data
	r.estimate(j)
	if d.status == teenaged || d.status == adult {
		d.demand = r.demand(j)
	}
	if d.status.coScheduled() {
		r.index.Watch(j, 0, d.seat, d.amt)
	}
}

// demand returns how many slots j asks for: at most its size, and at most all slots.
// It does not change after the job's promotion.
func (r *roster) demand(j *job) int {
	return r.set.demand(j.Spec(), r.ledger.Capacity(j.Data.lane.class))
}

// senile returns Osen: how many slots are held by anything except co-scheduled
// jobs. The paper counts senile jobs; here later phases and the rest of cancelled
// jobs count as well.
func (l *lane) senile() int { return l.busy - l.occupied }

// A move is a change of status that UPDATE made.
type move struct {
	job *job
	was status
}

// update makes waiting jobs infantile, and promotes infantile ones, as long as there
// is room [Section IV-B].
func (r *roster) update(l *lane) {
	for r.updateOnce(l) {
	}
}

// updateOnce makes one such change, if one is due, and reports whether it was.
func (r *roster) updateOnce(l *lane) bool {
	slots := r.ledger.Capacity(l.class)
	if j := l.infantile; j != nil {
		left := slots - l.senile() - l.demand
		if left < 0 || j.Data.awake && (r.full(l) || left < r.demand(j)) { // Formula (3)
			return false
		}
		to := adult
		if !r.set.SelfTune && j.Phase(0).Running() < r.set.floor(r.demand(j)) {
			to = teenaged
		}
		r.move(j, to)
		return true
	}
	h, ok := l.waiting.Min()
	if !ok || l.senile()+l.demand >= slots { // Formula (2)
		return false
	}
	r.move(r.ledger.ByHandle(h), infantile)
	return true
}

// full reports whether the limit of adult and teenaged jobs is reached.
func (r *roster) full(l *lane) bool {
	n := r.set.MaxCoScheduled
	return n > 0 && len(l.teenaged)+len(l.adults) >= n
}

func (r *roster) move(j *job, to status) {
	r.moved = append(r.moved, move{j, j.Data.status})
	r.setStatus(j, to)
	r.file(j)
}

// takeBack undoes the changes of UPDATE: a declined request leaves no trace.
func (r *roster) takeBack() {
	for _, m := range slices.Backward(r.moved) {
		r.setStatus(m.job, m.was)
		r.file(m.job)
	}
	r.moved = r.moved[:0]
}

// behind reports whether to raise an adult or teenaged job that holds less than its
// floor: always, or under SelfTune only if it is late. With L*demand slots the job
// takes size*amt/(L*demand) from its promotion on. It is late if it would take longer
// than this, even with demand slots from now on.
func (r *roster) behind(j *job) bool {
	if !r.set.SelfTune {
		return true
	}
	d := &j.Data
	size := j.Spec().Phases[0].Tasks
	left := size - j.Phase(0).Done()
	taken := uint64(r.ledger.Now().Sub(d.since) / time.Microsecond)
	// Both sides are multiplied by L*demand, in millionths.
	spent := wide.Mul64(taken, r.set.l*uint64(d.demand))
	ahead := wide.Mul64(uint64(left)*d.amt, r.set.l)
	return wide.Mul64(uint64(size)*d.amt, million).Less(spent.Add(ahead))
}

// underH reports whether a job of a lane with the given demand holds fewer slots
// than its upper bound, H times the demand.
func (r *roster) underH(l *lane, j *job, demand int) bool {
	return uint64(j.Phase(0).Running())*million < r.bound(l)*uint64(demand)
}

// bound returns H in millionths. By Formula (1),
//
//	H < (T - L*D)/dmax + L
//
// and this function takes the right hand side, but at least 1: if one job asks for
// all slots, there is no H above 1.
func (r *roster) bound(l *lane) uint64 {
	if r.set.h > 0 {
		return r.set.h
	}
	if l.dmaxOld {
		l.dmax, l.dmaxOld = 0, false
		for _, j := range l.teenaged {
			l.dmax = max(l.dmax, j.Data.demand)
		}
		for _, k := range l.adults {
			l.dmax = max(l.dmax, k.job.Data.demand)
		}
	}
	dmax := uint64(l.dmax)
	if j := l.infantile; j != nil {
		dmax = max(dmax, uint64(r.demand(j)))
	}
	slots, held := uint64(r.ledger.Capacity(l.class))*million, r.set.l*uint64(l.demand)
	if dmax == 0 || held >= slots {
		return million
	}
	return max(million, (slots-held)/dmax+r.set.l)
}
