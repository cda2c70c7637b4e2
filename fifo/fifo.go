package fifo

import (
	"log/slog"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// A Policy is a first-in, first-out [sojourn.Policy]. It is also a
// [sojourn.Supporter], a [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type Policy struct {
	opts  Options
	queue *queue.Jobs[struct{}, uint64] // by order of arrival
}

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{opts: opts}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	p.queue = queue.NewJobs(queue.JobOrder[struct{}, uint64]{
		Key:            func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
		Less:           func(a, b uint64) bool { return a < b },
		Prefix:         func(seq uint64) (hi, lo uint64) { return seq, 0 },
		IgnoreLocality: p.opts.IgnoreLocality,
		Supports:       option.Features | sojourn.FeatureProjected | sojourn.FeatureParallelism,
	})
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	p.queue.File(&ev, p.queue.Apply(&ev))
	return nil
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	return p.queue.Assign(id)
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while
// anything is startable.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) { return p.queue.Seek(c) }

// Supports implements [sojourn.Supporter]: all features.
func (p *Policy) Supports() sojourn.Features { return p.queue.Supports() }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.queue.Admit(job) }

// AppendRanking implements [sojourn.Explainer].
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.queue.AppendRanking(dst)
}

// Explain implements [sojourn.Explainer]. Its keys are those of [queue.Queue.Explain].
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	return p.queue.Explain(id)
}
