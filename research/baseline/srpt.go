package baseline

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// SRPTOptions configure an [SRPT]. The zero value is the default. A snapshot may be restored
// under all other options with the same Counted, but not without a reserve if it was taken
// with one, or the reverse.
type SRPTOptions struct {
	// DefaultTaskTime is how long a task without an estimate is assumed to take. Zero
	// means one minute.
	DefaultTaskTime time.Duration

	// Reserve is the share of the slots of each class, from 0 to 1, that is kept free for
	// short tasks and for jobs that run little: see package kit/reserve. The number of slots
	// is rounded to the nearest whole number, halves up, and is less than all slots. Zero
	// means no reserve; 0.01 does well if a class has fifty slots or more.
	Reserve float64

	// Counted makes the reserve count which tasks hold the slots: while work waits, all
	// slots except the reserved ones serve the jobs in order. So a stream of short jobs
	// cannot keep more slots from a long job than are reserved. Short jobs wait longer.
	Counted bool
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o SRPTOptions) Validate() error {
	return option.First("baseline",
		option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0),
		option.Range("Reserve", o.Reserve, 0, 1))
}

// SRPT is the shortest-remaining-processing-time [sojourn.Policy]. It is also a
// [sojourn.Supporter], a [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type SRPT struct {
	member
	taskTime time.Duration
	reserve  reserve.Options
	queue    *queue.Jobs[srptData, remainingKey]
}

// srptData is the policy's data about a job.
type srptData struct {
	left    wide.Uint128 // its remaining work, in slot-nanoseconds
	buckets []uint8      // by phase: the bucket of its longest task; nil without a reserve
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
	p := &SRPT{taskTime: cmp.Or(opts.DefaultTaskTime, option.DefaultTaskTime), reserve: reserveOptions(opts.Reserve, opts.Counted)}
	p.member = inside.MemberOf(p.join)
	p.reset()
	return p, nil
}

// join makes p keep to the reserve of the cluster of which it has a part, instead of its own, unless it is Counted.
func (p *SRPT) join(c inside.Cluster) bool {
	if p.reserve.Counted {
		return false
	}
	p.reserve.In = c.Reserve
	p.reset()
	return true
}

// reset gives p the state of a new policy.
func (p *SRPT) reset() {
	order := queue.JobOrder[srptData, remainingKey]{
		Key: func(j *ledger.Job[srptData]) remainingKey { return remainingKey{j.Data.left, j.Seq()} },
		Less: func(a, b remainingKey) bool {
			if a.work != b.work {
				return a.work.Less(b.work)
			}
			return a.seq < b.seq
		},
		Prefix:   func(k remainingKey) (hi, lo uint64) { return k.work.Prefix(k.seq) },
		Reserve:  p.reserve,
		Supports: option.Features | sojourn.FeatureParallelism,
	}
	if !p.reserve.On() { // otherwise slots are counted
		order.Supports |= sojourn.FeatureProjected
	}
	if p.reserve.On() {
		order.Level = func(j *ledger.Job[srptData], s *ledger.Side) int {
			rank := p.queue.Reserve().Lengths(s.Class()).Rank(j.Data.buckets[j.NextPhase(s)])
			return reserve.Level(rank, s.Running())
		}
	}
	p.queue = queue.NewJobs(order)
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
		p.measure(j)
		if r := p.queue.Reserve(); r != nil && ev.Kind != sojourn.JobRevised {
			for i, b := range j.Data.buckets {
				r.Lengths(j.Spec().Phases[i].Class).Add(b)
			}
		}
	case sojourn.TaskFinished, sojourn.TaskDone:
		j.Data.left = j.Data.left.Sub(p.size(j.Spec(), ev.Task))
	case sojourn.OutputLost:
		j.Data.left = j.Data.left.Add(p.size(j.Spec(), ev.Task))
	}
	p.queue.File(&ev, c)
	return nil
}

// size returns the estimate of one task.
func (p *SRPT) size(j *sojourn.Job, id sojourn.TaskID) wide.Uint128 {
	return charge.TaskWork(&j.Phases[id.Phase], id.Index, p.taskTime)
}

// measure computes the data about j from its description and its finished tasks.
func (p *SRPT) measure(j *ledger.Job[srptData]) {
	j.Data = srptData{left: charge.RemainingWork(j.Spec(), j.Phase, p.taskTime)}
	if p.reserve.On() {
		j.Data.buckets = phaseBuckets(j.Spec(), p.taskTime)
	}
}

// Assign implements [sojourn.Policy].
func (p *SRPT) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	return p.queue.Assign(id)
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if something is
// startable and, with a reserve, may start.
func (p *SRPT) Seek(c sojourn.Class) (sojourn.SlotID, bool) { return p.queue.Seek(c) }

// Supports implements [sojourn.Supporter]: all features; projected slots only without a Reserve.
func (p *SRPT) Supports() sojourn.Features { return p.queue.Supports() }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *SRPT) Admit(job *sojourn.Job) error { return p.queue.Admit(job) }

// AppendRanking implements [sojourn.Explainer].
func (p *SRPT) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.queue.AppendRanking(dst)
}

// Explain implements [sojourn.Explainer]. Its keys are those of [reserve.Reserve.Explain] and
//
//	key        unit    meaning
//	remaining  slot s  estimated work in its unfinished tasks
//	rank       jobs    live jobs that come before it; -1 if it is cancelled
func (p *SRPT) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.queue.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	return append(p.queue.Attrs(j), slog.Float64("remaining", seconds(j.Data.left)), slog.Int("rank", p.queue.Rank(j))), true
}
