package ledger

import "github.com/sojourn-sched/sojourn"

// jobs are the live jobs of a ledger.
type jobs[J any] struct {
	byID  map[sojourn.JobID]*Job[J]
	table []*Job[J] // by handle; nil where the handle is free
	spare []uint32  // free handles, the next one last
	seq   uint64    // of the latest job
}

// add adds a job that arrives and gives it a handle.
func (t *jobs[J]) add(spec *sojourn.Job) *Job[J] {
	t.seq++
	j := newJob[J](spec, t.seq)
	if n := len(t.spare); n > 0 {
		j.handle = t.spare[n-1]
		t.spare = t.spare[:n-1]
		t.table[j.handle] = j
	} else {
		j.handle = uint32(len(t.table))
		t.table = append(t.table, j)
	}
	for i := range j.phases {
		j.updateReady(i)
	}
	if t.byID == nil {
		t.byID = make(map[sojourn.JobID]*Job[J])
	}
	t.byID[spec.ID] = j
	return j
}

// remove removes a job that has ended.
func (t *jobs[J]) remove(j *Job[J]) {
	delete(t.byID, j.spec.ID)
	t.table[j.handle] = nil
	t.spare = append(t.spare, j.handle)
}

// steerable returns a live job that is not cancelled.
func (t *jobs[J]) steerable(id sojourn.JobID) (*Job[J], error) {
	j := t.byID[id]
	if j == nil {
		return nil, sojourn.ErrUnknownJob
	}
	if j.cancelled {
		return nil, sojourn.ErrCancelledJob
	}
	return j, nil
}

// steerableTask returns the job of a task that exists and was not cancelled.
func (t *jobs[J]) steerableTask(id sojourn.TaskID) (*Job[J], error) {
	j, err := t.steerable(id.Job)
	if err == nil && !j.has(id) {
		err = sojourn.ErrUnknownTask
	}
	return j, err
}
