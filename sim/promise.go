package sim

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// reject records that the policy declined a job.
func (e *engine) reject(j *job) {
	if e.admitter == nil {
		e.closeRejected(j)
		return
	}
	e.rejected = append(e.rejected, j)
}

func (e *engine) closeRejected(j *job) {
	e.res.Rejected++
	j.record.Outcome = Rejected
	e.close(j)
}

// retest offers the rejected jobs again, in the order of their arrival.
func (e *engine) retest() error {
	var failed error
	e.rejected = slices.DeleteFunc(e.rejected, func(j *job) bool {
		switch {
		case failed != nil:
			return false
		case j.told.Deadline > 0 && j.told.Deadline <= e.now:
			e.closeRejected(j)
			return true
		case e.admitter.Admit(j.told) != nil:
			return false
		}
		if failed = e.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: j.told}); failed != nil {
			return false
		}
		e.res.Retested++
		e.admit(j)
		return true
	})
	return failed
}

// lookForVoid records which promises the policy has given up.
func (e *engine) lookForVoid() {
	if e.promiser == nil {
		return
	}
	e.void = e.promiser.AppendVoid(e.void[:0])
	for _, id := range e.void {
		j := e.jobs[id]
		if j == nil || j.record.Void != "" {
			continue
		}
		j.record.Void, _ = e.promiser.Void(id)
		e.res.Void++
	}
}
