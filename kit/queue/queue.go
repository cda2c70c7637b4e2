package queue

import (
	"cmp"
	"log/slog"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/locality"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Queue is what [Jobs] and [Phases] have in common: the account of the cluster, and by
// class of slot what has something to start, the least key first. J is what the policy
// keeps of a job, K the key.
type Queue[J, K any] struct {
	Ledger ledger.Ledger[J]

	inputs *locality.Index[J] // of Ledger; nil where nobody asks
	less   func(a, b K) bool
	ready  Ready[K]

	// What the two do differently.
	rank func(*ledger.Job[J]) (K, bool) // the key that stands for a whole job; false if it has none
	file func(*ledger.Job[J])           // files a job of a restored account
}

// Inputs returns where the pending tasks have their input; nil with
// [JobOrder.IgnoreLocality].
func (q *Queue[J, K]) Inputs() *locality.Index[J] { return q.inputs }

// Apply applies an event that [ledger.Ledger.Check] found to fit. Bring what the keys
// depend on up to date, and call File.
func (q *Queue[J, K]) Apply(ev *sojourn.Event) ledger.Change[J] {
	c := q.Ledger.Apply(ev)
	if q.inputs != nil {
		q.inputs.Update(ev, c)
	}
	return c
}

// Seek implements [sojourn.Seeker]: the free slot of class c with the least ID, while
// anything of that class is startable.
func (q *Queue[J, K]) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !q.ready.Any(c) {
		return 0, false
	}
	return q.Ledger.FreeSlot(c)
}

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (q *Queue[J, K]) Admit(job *sojourn.Job) error { return q.Ledger.CheckArrival(job) }

// AppendRanking implements half of [sojourn.Explainer]: the live jobs that are not
// cancelled, the least key first. Those without a key come last, in the order of arrival.
func (q *Queue[J, K]) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	for _, j := range q.ranking() {
		dst = append(dst, j.Spec().ID)
	}
	return dst
}

// Explain implements the other half of [sojourn.Explainer]. Its keys are those of [ledger.Job.Attrs] and
//
//	key   unit  meaning
//	rank  jobs  live jobs that come before it; -1 if it is cancelled
func (q *Queue[J, K]) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := q.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	return append(j.Attrs(), slog.Int("rank", q.Rank(j))), true
}

// Rank returns how many live jobs come before j; -1 if j is cancelled.
func (q *Queue[J, K]) Rank(j *ledger.Job[J]) int { return slices.Index(q.ranking(), j) }

func (q *Queue[J, K]) ranking() []*ledger.Job[J] {
	type ranked struct {
		job   *ledger.Job[J]
		key   K
		keyed bool
	}
	jobs := q.Ledger.AppendJobs(nil)
	all := make([]ranked, len(jobs))
	for i, j := range jobs {
		key, ok := q.rank(j)
		all[i] = ranked{j, key, ok}
	}
	slices.SortFunc(all, func(a, b ranked) int {
		switch {
		case a.keyed && b.keyed && q.less(a.key, b.key), a.keyed && !b.keyed:
			return -1
		case a.keyed || b.keyed:
			return 1
		}
		return cmp.Compare(a.job.Seq(), b.job.Seq())
	})
	for i := range all {
		jobs[i] = all[i].job
	}
	return jobs
}

// Save writes the account, and for each job, in the order of [ledger.Ledger.All], what
// data writes of j.Data. data may be nil if nothing has to be written.
func (q *Queue[J, K]) Save(w *snapshot.Writer, data func(*ledger.Job[J])) {
	q.Ledger.Save(w)
	if data == nil {
		return
	}
	for j := range q.Ledger.All() {
		data(j)
	}
}

// Restore reads what Save has written into an empty queue: data reads what it wrote into
// j.Data, and computes what else the keys of j depend on. The order is computed anew.
func (q *Queue[J, K]) Restore(r *snapshot.Reader, data func(*ledger.Job[J])) {
	q.Ledger.Restore(r)
	if q.inputs != nil {
		q.inputs.Rebuild()
	}
	for j := range q.Ledger.All() {
		if data != nil {
			data(j)
		}
		q.file(j)
	}
}
