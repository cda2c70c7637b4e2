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

// SRPTOptions configure [NewSRPT]. The zero value is the default. A snapshot may be restored
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

// An srpt is the shortest-remaining-processing-time policy. Its queue admits every valid job, and supports
// projected slots only without a reserve.
type srpt struct {
	member
	*queue.Jobs[srptData, remainingKey]
	taskTime time.Duration
	reserve  reserve.Options
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
func NewSRPT(opts SRPTOptions) (sojourn.Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &srpt{taskTime: cmp.Or(opts.DefaultTaskTime, option.DefaultTaskTime), reserve: reserveOptions(opts.Reserve, opts.Counted)}
	p.member = inside.MemberOf(p.join)
	p.reset()
	return p, nil
}

// join makes p keep to the reserve of the cluster of which it has a part, instead of its own, unless it is Counted.
func (p *srpt) join(c inside.Cluster) bool {
	if p.reserve.Counted {
		return false
	}
	p.reserve.In = c.Reserve
	p.reset()
	return true
}

// reset gives p the state of a new policy.
func (p *srpt) reset() {
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
			rank := p.Reserve().Lengths(s.Class()).Rank(j.Data.buckets[j.NextPhase(s)])
			return reserve.Level(rank, s.Running())
		}
	}
	p.Jobs = queue.NewJobs(order)
}

// Observe implements [sojourn.Policy].
func (p *srpt) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.Apply(&ev)
	j := c.Job
	if j == nil {
		return nil
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		p.measure(j)
		if r := p.Reserve(); r != nil && ev.Kind != sojourn.JobRevised {
			for i, b := range j.Data.buckets {
				r.Lengths(j.Spec().Phases[i].Class).Add(b)
			}
		}
	case sojourn.TaskFinished, sojourn.TaskDone:
		j.Data.left = j.Data.left.Sub(p.size(j.Spec(), ev.Task))
	case sojourn.OutputLost:
		j.Data.left = j.Data.left.Add(p.size(j.Spec(), ev.Task))
	}
	p.File(&ev, c)
	return nil
}

// size returns the estimate of one task.
func (p *srpt) size(j *sojourn.Job, id sojourn.TaskID) wide.Uint128 {
	return charge.TaskWork(&j.Phases[id.Phase], id.Index, p.taskTime)
}

// measure computes the data about j from its description and its finished tasks.
func (p *srpt) measure(j *ledger.Job[srptData]) {
	j.Data = srptData{left: charge.RemainingWork(j.Spec(), j.Phase, p.taskTime)}
	if p.reserve.On() {
		j.Data.buckets = phaseBuckets(j.Spec(), p.taskTime)
	}
}

// Explain implements [sojourn.Explainer]. Its keys are those of [reserve.Reserve.Explain] and
//
//	key        unit    meaning
//	remaining  slot s  estimated work in its unfinished tasks
//	rank       jobs    live jobs that come before it; -1 if it is cancelled
func (p *srpt) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	return append(p.Attrs(j), slog.Float64("remaining", seconds(j.Data.left)), slog.Int("rank", p.Rank(j))), true
}
