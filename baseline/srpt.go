package baseline

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// SRPTOptions configure an [SRPT]. The zero value is the default. A snapshot
// may be restored under any other.
type SRPTOptions struct {
	// DefaultTaskTime is how long a task without an estimate is assumed to take. Zero
	// means one minute.
	DefaultTaskTime time.Duration
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o SRPTOptions) Validate() error {
	return option.First("baseline", option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0))
}

// SRPT is the shortest-remaining-processing-time [sojourn.Policy]. It is also a
// [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type SRPT struct {
	taskTime time.Duration

	// A job's Data is its remaining work, in slot-nanoseconds.
	queue *queue.Jobs[wide.Uint128, remainingKey]
}

type remainingKey struct {
	work wide.Uint128
	seq  uint64
}

// NewSRPT returns an empty policy, or what Validate returns. The zero options are never wrong.
func NewSRPT(opts SRPTOptions) (*SRPT, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &SRPT{taskTime: cmp.Or(opts.DefaultTaskTime, option.DefaultTaskTime)}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *SRPT) reset() {
	p.queue = queue.NewJobs(queue.JobOrder[wide.Uint128, remainingKey]{
		Key: func(j *ledger.Job[wide.Uint128]) remainingKey { return remainingKey{j.Data, j.Seq()} },
		Less: func(a, b remainingKey) bool {
			if a.work != b.work {
				return a.work.Less(b.work)
			}
			return a.seq < b.seq
		},
	})
}

// Observe implements [sojourn.Policy].
func (p *SRPT) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.queue.Apply(&ev)
	j := c.Job
	if j == nil {
		return nil
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		j.Data = p.remaining(j)
	case sojourn.TaskFinished, sojourn.TaskDone:
		j.Data = j.Data.Sub(p.size(j.Spec(), ev.Task))
	case sojourn.OutputLost:
		j.Data = j.Data.Add(p.size(j.Spec(), ev.Task))
	}
	p.queue.File(&ev, c)
	return nil
}

// size returns the estimate of one task.
func (p *SRPT) size(j *sojourn.Job, id sojourn.TaskID) wide.Uint128 {
	return taskWork(&j.Phases[id.Phase], id.Index, p.taskTime)
}

// remaining returns the work in the unfinished tasks of j.
func (p *SRPT) remaining(j *ledger.Job[wide.Uint128]) (sum wide.Uint128) {
	for i := range j.NumPhases() {
		sum = sum.Add(phaseWork(&j.Spec().Phases[i], p.taskTime, j.Phase(i).IsDone, j.Phase(i).Done()))
	}
	return sum
}

// Assign implements [sojourn.Policy].
func (p *SRPT) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	return p.queue.Assign(id)
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while
// anything is startable.
func (p *SRPT) Seek(c sojourn.Class) (sojourn.SlotID, bool) { return p.queue.Seek(c) }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *SRPT) Admit(job *sojourn.Job) error { return p.queue.Admit(job) }

// AppendRanking implements [sojourn.Explainer].
func (p *SRPT) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.queue.AppendRanking(dst)
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Job.Attrs] and
//
//	key        unit    meaning
//	remaining  slot s  estimated work in its unfinished tasks
//	rank       jobs    live jobs that come before it; -1 if it is cancelled
func (p *SRPT) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.queue.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	return append(j.Attrs(), slog.Float64("remaining", seconds(j.Data)), slog.Int("rank", p.queue.Rank(j))), true
}
