// Package phasequeue is what policies have in common that rank the phases of jobs:
// a free slot goes to the phase with the least key among those that have a startable
// task of the slot's class, and there to the first such task in an order of the
// policy's choice, or to the one whose input is closest where the policy has none.
//
// An event about a task files its phase and the next one anew, in O(log n) for n
// startable phases, however many phases a job has, and allocates nothing. Tasks of a
// phase that are not taken in the order of their numbers cost 8 bytes and a bit each.
package phasequeue

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/locality"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Job is the account of a job whose policy keeps a J of it.
type Job[J any] = ledger.Job[Data[J]]

// Data is what is kept of a job.
type Data[J any] struct {
	Value J // the policy's own

	phases []filed
}

// filed is what the queue keeps of a phase.
type filed struct {
	id uint32 // in ready.Queue

	// Where tasks are not taken by number: the tasks in their order, the place of each
	// in it, and the places of all tasks that are pending, and maybe of some others.
	order, place []uint32
	waiting      bitset.Set
}

// Rules say in which order tasks start.
type Rules[J, K any] struct {
	// Key returns the key of a phase whose first startable task is given, and false
	// if it may not start yet.
	Key func(j *Job[J], phase int, task uint32) (K, bool)

	// Less is a strict total order of keys.
	Less func(a, b K) bool

	// Within, unless nil, returns a comparison of tasks of a phase; ties go by number.
	// Of a phase for which it returns nil, the task starts whose input is closest to the
	// slot.
	Within func(ph *sojourn.Phase) func(a, b uint32) int
}

// A Queue holds the account of the cluster and the startable phases by class, the
// least key first.
type Queue[J, K any] struct {
	Ledger ledger.Ledger[Data[J]]
	Index  *locality.Index[Data[J]] // of Ledger: the policy makes it, the queue updates it

	rules  Rules[J, K]
	ready  ready.Queue[K]
	phases []phase[J] // by id
	spare  []uint32   // free ids
}

type phase[J any] struct {
	job   *Job[J]
	index int
}

// New returns an empty queue. Where it is to stay, the policy makes its Index.
func New[J, K any](rules Rules[J, K]) Queue[J, K] {
	return Queue[J, K]{rules: rules, ready: ready.New(rules.Less)}
}

// Save writes the account, and of each job, in the order of [ledger.Ledger.All], what
// data writes.
func (q *Queue[J, K]) Save(w *snapshot.Writer, data func(*Job[J])) {
	q.Ledger.Save(w)
	for j := range q.Ledger.All() {
		if data != nil {
			data(j)
		}
	}
}

// Restore reads what Save has written into a new queue. data reads what it wrote, and
// computes what else the keys of the job depend on.
func (q *Queue[J, K]) Restore(r *snapshot.Reader, data func(*Job[J])) {
	q.Ledger.Restore(r)
	q.Index.Rebuild()
	for j := range q.Ledger.All() {
		data(j)
		q.enrol(j)
		q.Update(j)
	}
}

// File files anew what any event has changed, after the ledger has applied it and the
// policy has computed what the keys of the job depend on.
func (q *Queue[J, K]) File(ev *sojourn.Event, c ledger.Change[Data[J]]) {
	q.Index.Update(ev, c)
	j := c.Job
	if j == nil || ev.Kind == sojourn.TaskProgress {
		return
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		q.enrol(j)
		q.Update(j)
	case sojourn.JobRevised:
		for i := range j.Data.phases {
			q.sort(j, i)
		}
		q.Update(j)
	case sojourn.JobCancelled:
		q.Update(j)
	default:
		i := int(ev.Task.Phase)
		if f := &j.Data.phases[i]; f.order != nil {
			f.waiting.Add(int(f.place[ev.Task.Index])) // whether it is pending is seen to later
		}
		q.update(j, i)
		if i+1 < j.NumPhases() {
			q.update(j, i+1)
		}
	}
	if c.Ended {
		for i := range j.Data.phases {
			id := j.Data.phases[i].id
			q.ready.Remove(j.Spec().Phases[i].Class, id)
			q.phases[id] = phase[J]{}
			q.spare = append(q.spare, id)
		}
	}
}

// enrol makes the entries of a job.
func (q *Queue[J, K]) enrol(j *Job[J]) {
	j.Data.phases = make([]filed, j.NumPhases())
	for i := range j.Data.phases {
		id := uint32(len(q.phases))
		if n := len(q.spare); n > 0 {
			id = q.spare[n-1]
			q.spare = q.spare[:n-1]
		} else {
			q.phases = append(q.phases, phase[J]{})
		}
		q.phases[id] = phase[J]{j, i}
		j.Data.phases[i].id = id
		q.sort(j, i)
	}
}

// sort computes the order of the tasks of a phase.
func (q *Queue[J, K]) sort(j *Job[J], i int) {
	f, ph := &j.Data.phases[i], &j.Spec().Phases[i]
	f.order, f.place, f.waiting = nil, nil, bitset.Set{}
	if q.rules.Within == nil {
		return
	}
	compare := q.rules.Within(ph)
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

// Update files all phases of j anew.
func (q *Queue[J, K]) Update(j *Job[J]) {
	for i := range j.NumPhases() {
		q.update(j, i)
	}
}

func (q *Queue[J, K]) update(j *Job[J], i int) {
	ph, class, id := j.Phase(i), j.Spec().Phases[i].Class, j.Data.phases[i].id
	if ph.Ready() && ph.Pending() > 0 {
		if key, ok := q.rules.Key(j, i, q.first(j, i)); ok {
			q.ready.Set(class, id, key)
			return
		}
	}
	q.ready.Remove(class, id)
}

// first returns the first pending task of a phase, of which there must be one.
func (q *Queue[J, K]) first(j *Job[J], i int) uint32 {
	f := &j.Data.phases[i]
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

// Assign gives a free slot the first task for it, and returns its job as well. It
// reports false if there is none.
func (q *Queue[J, K]) Assign(id sojourn.SlotID) (sojourn.Assignment, *Job[J], bool) {
	s := q.Ledger.Free(id)
	first, _, ok := q.ready.First(s.Class)
	if !ok {
		return sojourn.Assignment{}, nil, false
	}
	p := q.phases[first]
	a := q.take(p.job, p.index, s)
	q.update(p.job, p.index)
	return a, p.job, true
}

// take assigns a pending task of a phase to a free slot.
func (q *Queue[J, K]) take(j *Job[J], phase int, s sojourn.Slot) sojourn.Assignment {
	pick := locality.Pick{Index: q.first(j, phase)}
	if j.Data.phases[phase].order == nil {
		pick, _ = q.Index.Find(j, phase, s, sojourn.Remote)
	}
	return q.Index.Take(j, phase, pick, s.ID)
}

// Seek returns the free slot of class c with the least ID, while there is a task for
// it.
func (q *Queue[J, K]) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !q.ready.Any(c) {
		return 0, false
	}
	return q.Ledger.FreeSlot(c)
}

// AppendRanking appends the live jobs by the least key of what they can start, or
// else of what they have pending. Jobs without a key come last, in the order of
// arrival.
func (q *Queue[J, K]) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	for _, r := range q.ranking() {
		dst = append(dst, r.job.Spec().ID)
	}
	return dst
}

// Rank returns how many live jobs come before j; -1 if j is cancelled.
func (q *Queue[J, K]) Rank(j *Job[J]) int {
	return slices.IndexFunc(q.ranking(), func(r ranked[J, K]) bool { return r.job == j })
}

type ranked[J, K any] struct {
	job   *Job[J]
	key   K
	keyed bool
}

func (q *Queue[J, K]) ranking() []ranked[J, K] {
	jobs := q.Ledger.AppendJobs(nil)
	all := make([]ranked[J, K], len(jobs))
	for n, j := range jobs {
		r := ranked[J, K]{job: j}
		for _, ready := range [...]bool{true, false} {
			for i := range j.NumPhases() {
				if ph := j.Phase(i); ph.Ready() != ready || ph.Pending() == 0 {
					continue
				}
				if key, ok := q.rules.Key(j, i, q.first(j, i)); ok && (!r.keyed || q.rules.Less(key, r.key)) {
					r.key, r.keyed = key, true
				}
			}
			if r.keyed {
				break
			}
		}
		all[n] = r
	}
	slices.SortFunc(all, func(a, b ranked[J, K]) int {
		switch {
		case a.keyed && b.keyed && q.rules.Less(a.key, b.key), a.keyed && !b.keyed:
			return -1
		case a.keyed || b.keyed:
			return 1
		}
		return cmp.Compare(a.job.Seq(), b.job.Seq())
	})
	return all
}
