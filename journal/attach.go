package journal

import (
	"bytes"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

// attachments are what the driver keeps with jobs.
type attachments map[sojourn.JobID][]byte

// set keeps a copy of data with a job, or forgets what is kept if data is empty.
func (a *attachments) set(id sojourn.JobID, data []byte) {
	if len(data) == 0 {
		delete(*a, id)
		return
	}
	if *a == nil {
		*a = attachments{}
	}
	(*a)[id] = bytes.Clone(data)
}

// observe forgets what was kept with the job that an event has ended, if it has.
func (a attachments) observe(ev *sojourn.Event, acc *account.Account) {
	if len(a) == 0 {
		return
	}
	id := ev.Task.Job
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskDone:
	case sojourn.JobCancelled:
		id = ev.Job.ID
	default:
		return
	}
	if a[id] == nil {
		return
	}
	if _, live := acc.Job(id); !live {
		delete(a, id)
	}
}

// prune forgets what was kept with jobs that are not live.
func (a attachments) prune(acc *account.Account) {
	maps.DeleteFunc(a, func(id sojourn.JobID, _ []byte) bool {
		_, live := acc.Job(id)
		return !live
	})
}

// append writes what is kept, also with the job that is about to arrive.
func (a attachments) append(e *encoder) {
	for _, id := range slices.Sorted(maps.Keys(a)) {
		e.attach(id, a[id])
	}
}

// Attach keeps bytes with a job until it ends, for the driver: what its tasks are to do. The job is live, or the next
// event is its arrival. Bytes that are attached before that event are there whenever the job is. Empty data
// takes away what was attached. Attach returns the error of the store after it has failed. While it fails (see Options.Retry), the error of what there is no
// room for in memory has a method Stalled, and nothing is attached.
func (j *Journal) Attach(id sojourn.JobID, data []byte) error {
	if len(j.shadows) > 0 {
		j.mu.Lock()
		defer j.mu.Unlock()
	}
	if j.log.failed.Load() {
		return j.log.failure()
	}
	l := &j.log
	l.mu.Lock()
	if l.stall != nil && l.end-l.stalledAt+int64(len(data)) > mostUnwritten/2 { // the other half is for what cannot wait
		defer l.mu.Unlock()
		return l.stall
	}
	j.owned.set(id, data)
	at := len(l.buf)
	l.attach(id, data)
	j.appended(len(l.buf) - at)
	return nil
}

// Attached returns what is attached to a job, not to be changed; nil if nothing is.
func (j *Journal) Attached(id sojourn.JobID) []byte { return j.owned[id] }
