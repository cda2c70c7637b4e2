package ledger

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// jobs are the live jobs of a ledger.
type jobs struct {
	byID  ids
	table heap.Table[*job]   // by handle; nil where the handle is free
	spare heap.Table[uint32] // free handles, the next one last
	sum   uint64             // of the handles of all: that of the only one, if there is one
	seq   uint64             // of the latest job
}

// add makes a zero job one that arrives, and gives it a handle.
func (t *jobs) add(j *job, spec *sojourn.Job) {
	t.seq++
	j.describe(spec, t.seq)
	j.handle = heap.Allot(&t.table, &t.spare, j)
	j.holdAtFirst()
	for i := range j.phases {
		j.updateReady(i)
	}
	t.byID.add(spec.ID, j.handle)
	t.sum += uint64(j.handle)
}

// find returns a live job, or nil.
func (t *jobs) find(id sojourn.JobID) *job {
	if h, ok := t.byID.find(id); ok {
		return *t.table.At(h)
	}
	return nil
}

// on returns the job whose live attempt is on a slot; nil if there is none.
func (t *jobs) on(s *slot) *job {
	if s.holder == 0 {
		return nil
	}
	return *t.table.At(s.holder - 1)
}

// live returns how many jobs there are.
func (t *jobs) live() int { return t.table.Len() - t.spare.Len() }

// remove removes a job that has ended.
func (t *jobs) remove(j *job) {
	t.byID.remove(j.id)
	heap.Release(&t.table, &t.spare, j.handle)
	t.sum -= uint64(j.handle)
}

// steerable returns a live job that is not cancelled.
func (t *jobs) steerable(id sojourn.JobID) (*job, error) {
	j := t.find(id)
	if j == nil {
		return nil, sojourn.ErrUnknownJob
	}
	if j.cancelled {
		return nil, sojourn.ErrCancelledJob
	}
	return j, nil
}

// steerableTask returns the job of a task that exists and was not cancelled.
func (t *jobs) steerableTask(id sojourn.TaskID) (*job, error) {
	j, err := t.steerable(id.Job)
	if err == nil && !j.has(id) {
		err = sojourn.ErrUnknownTask
	}
	return j, err
}
