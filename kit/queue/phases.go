package queue

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// PhaseOrder says how phases are ranked, and in which order the tasks of a phase start.
type PhaseOrder[J, K any] struct {
	// Key returns the key of a phase, given its first startable task. It reports false if
	// the phase may not start yet.
	Key func(j *ledger.Job[J], phase int, task uint32) (K, bool)

	// Less is a strict total order of keys: let it compare [ledger.Job.Seq] and the number
	// of the phase last.
	Less func(a, b K) bool

	// Prefix, unless nil, returns the number that a key begins with: see [JobOrder.Prefix].
	Prefix func(K) (hi, lo uint64)

	// Within, unless nil, returns a comparison of the tasks of a phase; ties go by
	// number. If it returns nil for a phase, the task whose input is closest to the slot
	// starts first: see package locality.
	Within func(ph *sojourn.Phase) func(a, b uint32) int

	// Supports says which features of package sojourn the policy knows. The queue knows
	// Needs, Held and attempts of held tasks. Name those with which Key and the other
	// functions here are right.
	Supports sojourn.Features
}

// Phases ranks the phases of jobs by a key. A free slot goes to the phase with the least
// key among those that have a startable task of the slot's class. Within the phase it goes
// to the first such task in the policy's order, or, without such an order, to the task
// whose input is closest.
//
// An event about a task updates the places of its phase and of those that wait for it.
// Each takes O(log n) for n startable phases, also in a job with [sojourn.Job.Parallelism]. Nothing is allocated. If tasks are not taken in the order of their numbers,
// each costs 8 bytes and a bit.
type Phases[J, K any] struct {
	Queue[J, K]

	order   PhaseOrder[J, K]
	jobs    heap.Table[filedJob[K]] // by handle; zero where the handle is free
	entries heap.Table[entry[J]]
	spare   heap.Table[uint32] // free places in entries

	fed []int // scratch: the phases that wait for one
}

// filedJob is the queue's data about a job.
type filedJob[K any] struct {
	phases []filed

	// If the job is bounded: its phases that could start a task if there were room, by number. Of those of a class, the
	// queue's ready has the first one while there is room, and shown names it; -1 if it has none.
	open  *ready.Queue[K]
	shown []int // by class
}

// filed is the queue's data about a phase.
type filed struct {
	id uint32 // in ready: where it is in entries

	// If tasks are not taken by number: the tasks in order, the place of each task in it,
	// and the places of all pending tasks, perhaps with those of some others.
	order, place []uint32
	waiting      bitset.Set
}

// An entry is a phase of a job.
type entry[J any] struct {
	job   *ledger.Job[J]
	phase int
}

// NewPhases returns an empty queue.
func NewPhases[J, K any](order PhaseOrder[J, K]) *Phases[J, K] {
	q := &Phases[J, K]{order: order, Queue: Queue[J, K]{less: order.Less, ready: newFiling(order.Less, order.Prefix, nil)}}
	q.Ledger.Supports = order.Supports
	q.head = q.ready.FirstUpTo
	q.rank = q.least
	q.items = func(j *ledger.Job[J], item func(sojourn.Class, uint32)) {
		for i := range j.NumPhases() {
			item(j.Spec().Phases[i].Class, q.filed(j, i).id)
		}
	}
	q.inputs = locality.New(&q.Ledger)
	q.file = func(j *ledger.Job[J]) {
		q.enrol(j)
		q.Update(j)
	}
	return q
}

// File updates the places of the phases that an event has changed.
func (q *Phases[J, K]) File(ev *sojourn.Event, c ledger.Change[J]) {
	j := c.Job
	if j == nil || ev.Kind == sojourn.TaskProgress || ev.Kind == sojourn.TaskPinned {
		return
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		q.enrol(j)
		q.Update(j)
	case sojourn.JobRevised:
		q.withdraw(j)
		q.bound(j)
		for i := range j.NumPhases() {
			q.sort(j, i)
		}
		q.Update(j)
	case sojourn.JobCancelled:
		q.Update(j)
	default:
		i := int(ev.Task.Phase)
		if f := q.filed(j, i); f.order != nil {
			f.waiting.Add(int(f.place[ev.Task.Index])) // first removes it again if it is not pending
		}
		q.update(j, i)
		q.showAll(j)
		q.fed = j.AppendFed(q.fed[:0], i)
		for _, i := range q.fed {
			q.update(j, i)
		}
	}
	if c.Ended {
		q.forget(j)
	}
}

// filed returns the queue's data about a phase.
func (q *Phases[J, K]) filed(j *ledger.Job[J], i int) *filed { return &q.jobs.At(j.Handle()).phases[i] }

// enrol makes the entries of a job.
func (q *Phases[J, K]) enrol(j *ledger.Job[J]) {
	q.jobs.Grow(int(j.Handle()) + 1)
	phases := make([]filed, j.NumPhases())
	q.jobs.At(j.Handle()).phases = phases
	q.bound(j)
	for i := range phases {
		phases[i].id = heap.Allot(&q.entries, &q.spare, entry[J]{j, i})
		q.sort(j, i)
	}
}

// bound makes the queue's data about a bounded job that has nothing in ready.
func (q *Phases[J, K]) bound(j *ledger.Job[J]) {
	job := q.jobs.At(j.Handle())
	job.open, job.shown = nil, nil
	if !j.Bounded() {
		return
	}
	open := ready.New(q.order.Less, q.order.Prefix)
	job.open = &open
	for _, ph := range j.Spec().Phases {
		for int(ph.Class) >= len(job.shown) {
			job.shown = append(job.shown, -1)
		}
	}
}

// withdraw takes the phases of a job out of ready.
func (q *Phases[J, K]) withdraw(j *ledger.Job[J]) {
	for i := range j.NumPhases() {
		q.ready.Remove(j.Spec().Phases[i].Class, q.filed(j, i).id)
	}
}

// forget takes out the entries of a job.
func (q *Phases[J, K]) forget(j *ledger.Job[J]) {
	q.withdraw(j)
	for i := range j.NumPhases() {
		heap.Release(&q.entries, &q.spare, q.filed(j, i).id)
	}
	*q.jobs.At(j.Handle()) = filedJob[K]{}
}

// sort computes the order of the tasks of a phase.
func (q *Phases[J, K]) sort(j *ledger.Job[J], i int) {
	f, ph := q.filed(j, i), &j.Spec().Phases[i]
	f.order, f.place, f.waiting = nil, nil, bitset.Set{}
	if q.order.Within == nil {
		return
	}
	compare := q.order.Within(ph)
	if compare == nil {
		return
	}
	f.order = make([]uint32, ph.Tasks)
	for t := range f.order {
		f.order[t] = uint32(t)
	}
	slices.SortFunc(f.order, func(a, b uint32) int { return cmp.Or(compare(a, b), cmp.Compare(a, b)) })
	f.place = make([]uint32, ph.Tasks)
	for at, t := range f.order {
		f.place[t] = uint32(at)
	}
	f.waiting = bitset.Full(ph.Tasks)
}

// Update updates the places of all phases of j. Call it if keys of j may have changed
// without an event about j.
func (q *Phases[J, K]) Update(j *ledger.Job[J]) {
	for i := range j.NumPhases() {
		q.update(j, i)
	}
}

func (q *Phases[J, K]) update(j *ledger.Job[J], i int) {
	job, ph, class := q.jobs.At(j.Handle()), j.Phase(i), j.Spec().Phases[i].Class
	into, id := &q.ready.plain, job.phases[i].id
	if job.open != nil {
		into, id = job.open, uint32(i)
	}
	var key K
	may := ph.Ready() && ph.Pending() > 0
	if may {
		key, may = q.order.Key(j, i, q.first(j, i))
	}
	if may {
		into.Set(class, id, key)
	} else {
		into.Remove(class, id)
	}
	if job.open != nil {
		q.show(j, class)
	}
}

// showAll shows in ready, for each class, what a bounded job would start next.
func (q *Phases[J, K]) showAll(j *ledger.Job[J]) {
	for c := range q.jobs.At(j.Handle()).shown {
		q.show(j, sojourn.Class(c))
	}
}

// show does so for one class.
func (q *Phases[J, K]) show(j *ledger.Job[J], class sojourn.Class) {
	job := q.jobs.At(j.Handle())
	first, key, ok := job.open.First(class)
	next := int(first)
	if !ok || j.Room() == 0 {
		next = -1
	}
	if old := job.shown[class]; old >= 0 && old != next {
		q.ready.Remove(class, job.phases[old].id)
	}
	if next >= 0 {
		q.ready.SetLevel(class, job.phases[next].id, 0, key)
	}
	job.shown[class] = next
}

// first returns the first pending task of a phase. There must be one.
func (q *Phases[J, K]) first(j *ledger.Job[J], i int) uint32 {
	f := q.filed(j, i)
	if f.order == nil {
		t, _ := j.Phase(i).FirstPending()
		return t
	}
	for {
		at := f.waiting.Min()
		if t := f.order[at]; j.Phase(i).IsPending(t) {
			return t
		}
		f.waiting.Remove(at)
	}
}

// Assign gives a free slot the first task for it that may start. It reports false if there
// is none. It updates the place of the phase.
func (q *Phases[J, K]) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := q.Ledger.Free(id)
	first, _, _, ok := q.choose(s.Class)
	if !ok {
		return sojourn.Assignment{}, false
	}
	e := *q.entries.At(first)
	a := q.take(e.job, e.phase, s)
	q.update(e.job, e.phase)
	q.showAll(e.job)
	return a, true
}

// take assigns a pending task of a phase to a free slot.
func (q *Phases[J, K]) take(j *ledger.Job[J], phase int, s sojourn.Slot) sojourn.Assignment {
	pick := locality.Pick{Index: q.first(j, phase)}
	if q.filed(j, phase).order == nil {
		pick, _ = q.inputs.Find(j, phase, s, sojourn.Remote)
	}
	return q.inputs.Take(j, phase, pick, s.ID)
}

// least returns the least key of what a job can start, or else of what it has pending.
func (q *Phases[J, K]) least(j *ledger.Job[J]) (least K, ok bool) {
	for _, mayStart := range [...]bool{true, false} {
		for i := range j.NumPhases() {
			if ph := j.Phase(i); ph.Ready() != mayStart || ph.Pending() == 0 {
				continue
			}
			if key, may := q.order.Key(j, i, q.first(j, i)); may && (!ok || q.less(key, least)) {
				least, ok = key, true
			}
		}
		if ok {
			break
		}
	}
	return least, ok
}
