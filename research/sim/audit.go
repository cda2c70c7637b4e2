package sim

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// An audit runs two fluid systems beside the real one. Each has a queue of
// generalised processor sharing for each class, of as many slots as are present,
// where the work of a phase is the sum of its true times.
//
// Tasks that come later than their job add to the work of their phase when they come.
//
// In tandem, a phase enters when the phases that it reads have ended in the fluid system,
// and one that reads none with its job: a job leaves it at its ps_finish. In ready,
// a phase enters when it could start in reality. The bound on lateness is about
// this virtual system, which treats a phase as a job that arrives when it becomes
// ready.
//
// A queue gives a completion rounded up to a nanosecond, never too early. Rounding adds
// far less than this, unless weights differ by many powers of ten; see package vclock.
type audit struct {
	b       *books
	classes []fluidClass // those of the cluster and of jobs
	done    []fluidDone  // scratch
	result  Audit
}

// A fluidClass is the audit's data about a class of slots.
type fluidClass struct {
	tandem, ready *vqueue.Queue[fluidEntry]
	longest       [2]occupancy // the longest ones of two phases
}

// A fluidEntry is a phase in a fluid system.
type fluidEntry struct {
	j *job
	p int
}

// A fluidDone is the end of a phase in a fluid system, rounded up.
type fluidDone struct {
	item *vqueue.Item[fluidEntry]
	at   sojourn.Time
}

// An occupancy is how long an attempt at a phase holds its slot.
type occupancy struct {
	order, p int // of the job, and which phase
	d        time.Duration
}

// A fluidJob is the audit's data about a job.
type fluidJob struct {
	left int  // phases that have not ended in tandem
	over bool // the job has finished in reality
}

// A fluidPhase is the audit's data about a phase.
type fluidPhase struct {
	waits   int           // phases that it reads and that have not ended in tandem
	entered bool          // in tandem
	ended   bool          // in ready, as far as its tasks have come
	at      sojourn.Time  // when, once it has ended
	longest time.Duration // the longest time that one of its attempts holds a slot

	tandem, ready *vqueue.Item[fluidEntry] // nil while it is not there
}

func newAudit(b *books) *audit {
	a := &audit{b: b}
	for range b.free {
		a.addClass()
	}
	return a
}

// addClass adds the next class, without slots.
func (a *audit) addClass() {
	a.classes = append(a.classes, fluidClass{
		tandem: vqueue.New[fluidEntry](vqueue.LateFirst), ready: vqueue.New[fluidEntry](vqueue.LateFirst),
	})
}

// class returns the class of a phase, which need not be a class of the cluster.
func (a *audit) class(j *job, p int) *fluidClass {
	class := int(j.phases[p].class)
	for class >= len(a.classes) {
		a.addClass()
	}
	return &a.classes[class]
}

// capacityChanged updates the number of slots present.
func (a *audit) capacityChanged() {
	a.advanceTandem(a.b.now)
	for i := range a.b.tally.classes {
		c, n := &a.classes[i], a.b.tally.classes[i].present
		c.tandem.SetCapacity(n)
		a.advanceReady(c)
		c.ready.SetCapacity(n)
	}
}

// jobArrived adds a job to the tandem system.
func (a *audit) jobArrived(j *job) {
	a.advanceTandem(a.b.now)
	j.fluid.left = len(j.phases)
	for p := range j.phases {
		for range j.inputs(p) {
			j.phases[p].fluid.waits++
		}
	}
	for p := range j.phases {
		if j.phases[p].fluid.waits == 0 && !j.phases[p].fluid.entered {
			a.enterTandem(j, p, a.b.now)
		}
	}
}

// enterTandem adds phase p, and the phases that wait for it as long as they have no work.
func (a *audit) enterTandem(j *job, p int, at sojourn.Time) {
	j.phases[p].fluid.entered = true
	if work := j.work(p, 0); work > 0 {
		j.phases[p].fluid.tandem = a.class(j, p).tandem.Arrive(fluidEntry{j, p}, work, j.WeightUnits())
		return
	}
	a.leaveTandem(j, p, at)
}

// leaveTandem records that a phase has ended in the tandem system, as far as its tasks have come.
func (a *audit) leaveTandem(j *job, p int, at sojourn.Time) {
	ph := &j.phases[p]
	if ph.fluid.tandem = nil; ph.known < ph.tasks {
		return
	}
	if j.fluid.left--; j.fluid.left == 0 {
		j.record.PSFinish = at
		if j.fluid.over {
			a.compare(j)
		}
	}
	for k := range j.readersOf(p) {
		if j.phases[k].fluid.waits--; j.phases[k].fluid.waits == 0 {
			a.enterTandem(j, k, at)
		}
	}
}

// advanceTandem advances the tandem system from the end of one phase to the end of the
// next, since an end in one class may be an entry into another.
func (a *audit) advanceTandem(t sojourn.Time) {
	for {
		at := a.nextTandem(t)
		a.done = a.done[:0]
		for i := range a.classes {
			a.advance(a.classes[i].tandem, at)
		}
		for _, d := range a.done {
			a.leaveTandem(d.item.Value.j, d.item.Value.p, d.at)
		}
		if at == t {
			return
		}
	}
}

// nextTandem returns when the next phase ends in the tandem system, or t if that
// is earlier.
func (a *audit) nextTandem(t sojourn.Time) sojourn.Time {
	for i := range a.classes {
		if next, ok := a.classes[i].tandem.NextCompletion(); ok {
			t = min(t, next)
		}
	}
	return t
}

// advanceReady advances the ready system of a class.
func (a *audit) advanceReady(c *fluidClass) {
	a.done = a.done[:0]
	a.advance(c.ready, a.b.now)
	for _, d := range a.done {
		ph := &d.item.Value.j.phases[d.item.Value.p]
		ph.fluid.ended, ph.fluid.at, ph.fluid.ready = true, d.at, nil
	}
}

// advance advances a queue, and adds the phases that end and leave it to done.
func (a *audit) advance(q *vqueue.Queue[fluidEntry], t sojourn.Time) {
	first := len(a.done)
	q.Advance(t, func(it *vqueue.Item[fluidEntry], at sojourn.Time) {
		a.done = append(a.done, fluidDone{it, at})
	})
	for _, d := range a.done[first:] {
		q.Finish(d.item)
	}
}

// phaseReady adds a phase to the ready system.
func (a *audit) phaseReady(j *job, p int) {
	c := a.class(j, p)
	a.advanceReady(c)
	if work := j.work(p, 0); work > 0 {
		j.phases[p].fluid.ready = c.ready.Arrive(fluidEntry{j, p}, work, j.WeightUnits())
		return
	}
	j.phases[p].fluid.ended, j.phases[p].fluid.at = true, a.b.now
}

// grown adds the tasks of a phase that have come, from one on. The tandem system is at this instant.
func (a *audit) grown(j *job, p, first int) {
	c, f, more := a.class(j, p), &j.phases[p].fluid, j.work(p, first)
	grow := func(q *vqueue.Queue[fluidEntry], it **vqueue.Item[fluidEntry]) {
		if *it != nil {
			q.Revise(*it, (*it).Work()+more, j.WeightUnits())
		} else if more > 0 {
			*it = q.Arrive(fluidEntry{j, p}, more, j.WeightUnits())
		}
	}
	if f.entered {
		if grow(c.tandem, &f.tandem); f.tandem == nil {
			a.leaveTandem(j, p, a.b.now)
		}
	}
	if j.phases[p].ready {
		a.advanceReady(c)
		grow(c.ready, &f.ready)
		f.ended, f.at = f.ready == nil, a.b.now
	}
}

// phaseEnded compares the end of a phase with the bound.
func (a *audit) phaseEnded(j *job, p int) {
	c := a.class(j, p)
	a.advanceReady(c)
	a.result.Phases++
	over := a.beyond(j, p, a.others(j, p))
	if over > 0 {
		over = a.beyond(j, p, max(a.others(j, p), a.othersWaiting(j, p)))
	}
	if over > 0 {
		a.result.BeyondBound++
		a.result.Furthest = max(a.result.Furthest, over)
		j.record.BeyondBound++
	}
}

// beyond returns how long after D + others + (1-1/N)*own a phase that ends now ends,
// rounded up; 0 if it ends before.
func (a *audit) beyond(j *job, p int, others time.Duration) time.Duration {
	f := &j.phases[p].fluid
	if !f.ended || a.b.now.Sub(f.at) <= others {
		return 0
	}
	n := uint64(a.b.tally.classes[j.phases[p].class].present)
	late, own := wide.Mul64(n, uint64(a.b.now.Sub(f.at)-others)), wide.Mul64(n-1, uint64(f.longest))
	if !own.Less(late) {
		return 0
	}
	over, rest := late.Sub(own).QuoRem(wide.From64(n))
	if !rest.IsZero() {
		over.Lo++
	}
	return time.Duration(over.Lo)
}

// occupied records how long an attempt will hold its slot.
func (a *audit) occupied(s *slot, d time.Duration) {
	p := int(s.task.Phase)
	f := &s.job.phases[p].fluid
	f.longest = max(f.longest, d)
	top := &a.classes[s.Class].longest
	o := occupancy{s.job.order, p, f.longest}
	switch {
	case top[0].of(o):
		top[0].d = o.d
	case o.d > top[0].d:
		top[0], top[1] = o, top[0]
	case o.d > top[1].d:
		top[1] = o
	}
}

func (o occupancy) of(other occupancy) bool { return o.order == other.order && o.p == other.p }

// others returns the longest occupancy among the attempts at other phases of the
// class that were started so far, except those that wait for input and have no
// end yet.
func (a *audit) others(j *job, p int) time.Duration {
	top := &a.class(j, p).longest
	if top[0].of(occupancy{order: j.order, p: p}) {
		return top[1].d
	}
	return top[0].d
}

// othersWaiting returns the longest time for which an attempt at another phase of the
// class has been waiting and still waits.
func (a *audit) othersWaiting(j *job, p int) time.Duration {
	var longest time.Duration
	for i := range a.b.slots {
		s := &a.b.slots[i]
		if s.job != nil && !a.b.running.Contains(uint32(i)) && s.Class == j.phases[p].class &&
			(s.job != j || int(s.task.Phase) != p) {
			longest = max(longest, a.b.now.Sub(s.start))
		}
	}
	return longest
}

// jobFinished records that a job has finished in reality.
func (a *audit) jobFinished(j *job) {
	a.advanceTandem(a.b.now)
	j.fluid.over = true
	if j.fluid.left == 0 {
		a.compare(j)
	}
}

// compare compares a job with its ps_finish, which must be known.
func (a *audit) compare(j *job) {
	if late := j.record.Finish.Sub(j.record.PSFinish); late > 0 {
		a.result.Late++
		a.result.Latest = max(a.result.Latest, late)
	}
	a.b.close(j)
}

// drain advances the tandem system until all jobs have ended in it. A job that cannot
// end, because no slots of a class are left, has no ps_finish.
func (a *audit) drain() {
	for {
		at := a.nextTandem(never)
		if at == never {
			break
		}
		a.advanceTandem(at)
	}
	var stuck []*job
	for i := range a.classes {
		for it := range a.classes[i].tandem.All() {
			if j := it.Value.j; j.fluid.over && !slices.Contains(stuck, j) {
				stuck = append(stuck, j)
			}
		}
	}
	slices.SortFunc(stuck, func(a, b *job) int { return a.order - b.order })
	for _, j := range stuck {
		a.b.close(j)
	}
}

// work returns the sum of the true times of the tasks of a phase that have come, from one on, in slot-nanoseconds.
func (j *job) work(p, first int) (sum uint64) {
	t, n := &j.Times[p], j.phases[p].known
	if t.List == nil {
		return uint64(t.Each) * uint64(n-first)
	}
	for _, d := range t.List[first:n] {
		sum += uint64(d)
	}
	return sum
}
