package queue

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Queue is the common part of [Jobs] and [Phases]. It holds the account of the
// cluster, and for each class of slots the items that have something to start, the least
// key first. J is the policy's data about a job, K is the key.
type Queue[J, K any] struct {
	Ledger ledger.Ledger[J]

	// Shared, unless nil, is state that the keys of all jobs rest on. It is saved and restored
	// with the queue, before the jobs.
	Shared interface {
		Save(*snapshot.Writer)
		Restore(*snapshot.Reader)
	}

	inputs  *locality.Index[J] // of Ledger; nil if no order uses it
	less    func(a, b K) bool
	ready   filing[K]
	reserve *reserve.Reserve // of Ledger; nil if everything is filed at level 0
	due     func(K) bool     // see [JobOrder.Due]; nil if all count

	// The job that was taken and not filed since, nil if there is none. It is filed by a key that it may not have any
	// more, and may have nothing to start.
	taken *ledger.Job[J]

	// The functions in which Jobs and Phases differ.
	head  func(c sojourn.Class, highest int) (id uint32, key K, level int, ok bool) // the first item up to a level
	rank  func(*ledger.Job[J]) (K, bool)                                            // the key that stands for a whole job; false if it has none
	file  func(*ledger.Job[J])                                                      // files a job of a restored account
	items func(*ledger.Job[J], func(c sojourn.Class, item uint32))                  // calls with each that a job may have in ready
}

// Reserve returns the reserve that is kept free for low levels; nil without levels.
func (q *Queue[J, K]) Reserve() *reserve.Reserve { return q.reserve }

// Opposed reports whether another item than this one has something to start on slots of class c.
func (q *Queue[J, K]) Opposed(c sojourn.Class, item uint32) bool {
	n := q.ready.Len(c)
	if _, filed := q.ready.Level(c, item); filed {
		n--
	}
	return n > 0
}

// Apply applies an event that [ledger.Ledger.Check] accepts. After it, update the data that
// keys depend on, and call File.
func (q *Queue[J, K]) Apply(ev *sojourn.Event) (c ledger.Change[J]) {
	q.mustBeFiled()
	c = q.Ledger.Apply(ev)
	if q.inputs != nil {
		q.inputs.Update(ev, &c)
	}
	if q.reserve != nil {
		switch ev.Kind {
		case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
			q.reserve.Ended(c.Slot)
		}
	}
	return c
}

// Seek implements [sojourn.Seeker]. It returns the free slot of class c with the least ID if
// something of that class is startable and may start.
func (q *Queue[J, K]) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	q.mustBeFiled()
	if !q.ready.AnyUpTo(c, q.highest(c)) {
		if f := q.first(c); !f.due || !f.may {
			return 0, false
		}
	}
	return q.Ledger.FreeSlot(c)
}

// mustBeFiled panics if a job was taken and not updated.
func (q *Queue[J, K]) mustBeFiled() {
	if q.taken != nil {
		panic(fmt.Sprintf("queue: job %d was taken and is not filed: call Update after Take and TakeOf", q.taken.Spec().ID))
	}
}

// highest returns the highest level that may start on a slot of class c, unless it is that of the first item while that
// is due.
func (q *Queue[J, K]) highest(c sojourn.Class) int {
	switch {
	case q.reserve == nil:
		return reserve.Levels - 1
	case q.due != nil:
		return q.reserve.HighestPlain(c)
	}
	return q.reserve.Highest(c)
}

// A leader is the item of a class that comes first, if the reserve is counted.
type leader[K any] struct {
	id  uint32
	key K
	due bool // what starts before it is out of turn; false if there is none
	may bool // it may start, by what counts as free for an item that is due
}

// First returns the least key of what has something to start on slots of class c, whether it may start or not; false
// if nothing has.
func (q *Queue[J, K]) First(c sojourn.Class) (key K, ok bool) {
	_, key, _, ok = q.head(c, reserve.Levels-1)
	return key, ok
}

func (q *Queue[J, K]) first(c sojourn.Class) (f leader[K]) {
	if q.reserve == nil || !q.reserve.Counted() {
		return f
	}
	id, key, level, ok := q.head(c, reserve.Levels-1)
	return leader[K]{id, key, ok && (q.due == nil || q.due(key)), ok && level <= q.reserve.Highest(c)}
}

// choose returns the item of class c that gets the next slot, its key, and whether that is its turn.
func (q *Queue[J, K]) choose(c sojourn.Class) (id uint32, key K, inTurn, ok bool) {
	if q.reserve == nil {
		id, key, _, ok = q.head(c, 0)
		return id, key, true, ok
	}
	f := q.first(c)
	if f.due && f.may {
		return f.id, f.key, true, true
	}
	id, key, _, ok = q.head(c, q.highest(c))
	return id, key, !f.due, ok
}

// started reports the start of a task to the reserve.
func (q *Queue[J, K]) started(s sojourn.Slot, inTurn bool) {
	if q.reserve != nil {
		q.reserve.Started(s, inTurn)
	}
}

// Supports implements [sojourn.Supporter].
func (q *Queue[J, K]) Supports() sojourn.Features { return q.Ledger.Supports }

// Admit implements [sojourn.Admitter]: every valid job that uses no other features is accepted.
func (q *Queue[J, K]) Admit(job *sojourn.Job) error { return q.Ledger.CheckArrival(job) }

// Attrs returns the attributes of [ledger.Ledger.Attrs] and, with levels, those that
// [reserve.Reserve.Explain] adds.
func (q *Queue[J, K]) Attrs(j *ledger.Job[J]) []slog.Attr {
	attrs := q.Ledger.Attrs(j)
	if q.reserve == nil {
		return attrs
	}
	return q.reserve.Explain(attrs, func(filed func(c sojourn.Class, level int, plain bool)) {
		q.items(j, func(c sojourn.Class, id uint32) {
			if level, ok := q.ready.Level(c, id); ok {
				f := q.first(c)
				filed(c, level, q.due != nil && !(f.due && f.id == id))
			}
		})
	})
}

// AppendRanking implements half of [sojourn.Explainer]: the live jobs that are not
// cancelled, the least key first. Those without a key come last, in the order of arrival.
func (q *Queue[J, K]) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	for _, j := range q.ranking() {
		dst = append(dst, j.Spec().ID)
	}
	return dst
}

// Explain implements the other half of [sojourn.Explainer]. Its keys are those of [ledger.Ledger.Attrs] and
//
//	key   unit  meaning
//	rank  jobs  live jobs that come before it; -1 if it is cancelled
//
// and with levels those of Attrs.
func (q *Queue[J, K]) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := q.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	return append(q.Attrs(j), slog.Int("rank", q.Rank(j))), true
}

// Rank returns how many live jobs come before j; -1 if j is cancelled.
func (q *Queue[J, K]) Rank(j *ledger.Job[J]) int {
	if j.Cancelled() {
		return -1
	}
	rank, r := 0, q.ranked(j)
	for other := range q.Ledger.All() {
		if other != j && !other.Cancelled() && q.compare(q.ranked(other), r) < 0 {
			rank++
		}
	}
	return rank
}

// A ranked job has its key, if there is one.
type ranked[J, K any] struct {
	job   *ledger.Job[J]
	key   K
	keyed bool
}

func (q *Queue[J, K]) ranked(j *ledger.Job[J]) ranked[J, K] {
	key, ok := q.rank(j)
	return ranked[J, K]{j, key, ok}
}

func (q *Queue[J, K]) compare(a, b ranked[J, K]) int {
	switch {
	case a.keyed && b.keyed && q.less(a.key, b.key), a.keyed && !b.keyed:
		return -1
	case a.keyed || b.keyed:
		return 1
	}
	return cmp.Compare(a.job.Seq(), b.job.Seq())
}

func (q *Queue[J, K]) ranking() []*ledger.Job[J] {
	jobs := q.Ledger.AppendJobs(nil)
	all := make([]ranked[J, K], len(jobs))
	for i, j := range jobs {
		all[i] = q.ranked(j)
	}
	slices.SortFunc(all, q.compare)
	for i := range all {
		jobs[i] = all[i].job
	}
	return jobs
}

// Save writes the account, the reserve and Shared. Then it writes, for each job in the order of
// [ledger.Ledger.All], what data writes about j.Data, and the levels at which the job is filed.
// data may be nil if there is nothing to write.
func (q *Queue[J, K]) Save(w *snapshot.Writer, data func(*ledger.Job[J])) {
	q.Ledger.Save(w)
	if q.reserve != nil {
		q.reserve.Save(w)
	}
	if q.Shared != nil {
		q.Shared.Save(w)
	}
	if data == nil && q.reserve == nil {
		return
	}
	for j := range q.Ledger.All() {
		if data != nil {
			data(j)
		}
		if q.reserve != nil {
			q.items(j, func(c sojourn.Class, id uint32) {
				if level, ok := q.ready.Level(c, id); ok {
					w.Uint(uint64(level))
				}
			})
		}
	}
}

// Restore reads what Save has written into an empty queue. data reads j.Data and computes
// everything else that the keys of j depend on. Restore computes the order from the keys.
func (q *Queue[J, K]) Restore(r *snapshot.Reader, data func(*ledger.Job[J])) {
	q.Ledger.Restore(r)
	if q.inputs != nil {
		q.inputs.Rebuild()
	}
	if q.reserve != nil {
		q.reserve.Restore(r)
	}
	if q.Shared != nil {
		q.Shared.Restore(r)
	}
	for j := range q.Ledger.All() {
		if data != nil {
			data(j)
		}
		q.file(j)
		if q.reserve != nil {
			q.items(j, func(c sojourn.Class, id uint32) {
				if _, ok := q.ready.Level(c, id); ok {
					q.ready.move(c, id, r.Index(reserve.Levels))
				}
			})
		}
	}
}
