// Package jobqueue is what policies have in common that rank whole jobs: a free
// slot goes to the job with the least key among those that have a startable task
// of the slot's class, whatever the key is.
package jobqueue

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/locality"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Queue holds the account of the cluster and the startable jobs by class, the
// least key first. J is what the policy keeps of a job, K the key.
type Queue[J, K any] struct {
	Ledger ledger.Ledger[J]

	// Index, if not nil, makes a job run the task that suits the slot best. The
	// policy updates it.
	Index *locality.Index[J]

	key   func(*ledger.Job[J]) K
	less  func(a, b K) bool
	ready ready.Queue[K]
	grows bool
}

// New returns an empty queue that ranks a job by key(job). less is a strict total
// order.
//
// If grows is set, keys may grow while time passes. What is filed is then the key
// at some earlier instant, a lower bound, and Assign brings the first entry up to
// date until the first entry is one that needs no update: that one is the least.
func New[J, K any](key func(*ledger.Job[J]) K, less func(a, b K) bool, grows bool) Queue[J, K] {
	return Queue[J, K]{key: key, less: less, ready: ready.New(less), grows: grows}
}

// Save writes the account, and for each job, in the order of [ledger.Ledger.All],
// what data writes of j.Data. data may be nil if there is nothing in it.
func (q *Queue[J, K]) Save(w *snapshot.Writer, data func(*ledger.Job[J])) {
	q.Ledger.Save(w)
	for j := range q.Ledger.All() {
		if data != nil {
			data(j)
		}
	}
}

// Restore reads what Save has written into a new queue: data reads what it wrote
// into j.Data. The index, if there is one, and the order of the jobs are computed.
func (q *Queue[J, K]) Restore(r *snapshot.Reader, data func(*ledger.Job[J])) {
	q.Ledger.Restore(r)
	if q.Index != nil {
		q.Index.Rebuild()
	}
	for j := range q.Ledger.All() {
		if data != nil {
			data(j)
		}
		q.Update(j)
	}
}

// Update files j anew. Call it when the key of j, or what j has to start, may have
// changed other than by the passing of time.
func (q *Queue[J, K]) Update(j *ledger.Job[J]) {
	var key K
	keyed := false
	for i := range j.NumSides() {
		side := j.Side(i)
		if side.Startable() == 0 {
			q.ready.Remove(side.Class(), j.Handle())
			continue
		}
		if !keyed {
			key, keyed = q.key(j), true
		}
		q.ready.Set(side.Class(), j.Handle(), key)
	}
}

// Assign gives a free slot to the first job that has a task for it, and returns
// that job as well, which is not filed anew: call Update if an assignment changes
// keys. It reports false if there is no such job.
func (q *Queue[J, K]) Assign(id sojourn.SlotID) (sojourn.Assignment, *ledger.Job[J], bool) {
	s := q.Ledger.Free(id)
	for {
		h, filed, ok := q.ready.First(s.Class)
		if !ok {
			return sojourn.Assignment{}, nil, false
		}
		j := q.Ledger.ByHandle(h)
		if q.grows {
			if key := q.key(j); q.less(filed, key) {
				q.ready.Set(s.Class, h, key)
				continue
			}
		}
		side := j.SideOf(s.Class)
		a := q.take(j, side, s)
		if side.Startable() == 0 {
			q.ready.Remove(s.Class, h)
		}
		return a, j, true
	}
}

// take assigns a startable task of a side to a free slot. There must be one.
func (q *Queue[J, K]) take(j *ledger.Job[J], side *ledger.Side, s sojourn.Slot) sojourn.Assignment {
	if q.Index == nil {
		return q.Ledger.Take(j, side, s.ID)
	}
	phase := j.NextPhase(side)
	pick, _ := q.Index.Find(j, phase, s, sojourn.Remote)
	return q.Index.Take(j, phase, pick, s.ID)
}

// Seek returns the free slot of class c with the least ID, while anything of that
// class is startable.
func (q *Queue[J, K]) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !q.ready.Any(c) {
		return 0, false
	}
	return q.Ledger.FreeSlot(c)
}

// AppendRanking appends the live jobs, the least key first.
func (q *Queue[J, K]) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	for _, r := range q.ranking() {
		dst = append(dst, r.job.Spec().ID)
	}
	return dst
}

// Rank returns how many live jobs come before j; -1 if j is cancelled.
func (q *Queue[J, K]) Rank(j *ledger.Job[J]) int {
	return slices.IndexFunc(q.ranking(), func(r ranked[J, K]) bool { return r.job == j })
}

type ranked[J, K any] struct {
	job *ledger.Job[J]
	key K
}

func (q *Queue[J, K]) ranking() []ranked[J, K] {
	jobs := q.Ledger.AppendJobs(nil)
	all := make([]ranked[J, K], len(jobs))
	for i, j := range jobs {
		all[i] = ranked[J, K]{j, q.key(j)}
	}
	slices.SortFunc(all, func(a, b ranked[J, K]) int {
		if q.less(a.key, b.key) {
			return -1
		}
		return 1
	})
	return all
}
