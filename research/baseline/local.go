package baseline

import (
	"log/slog"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// LocalOptions configure a [Local]. There is nothing to configure yet.
type LocalOptions struct{}

// Validate returns nil: all options are valid.
func (LocalOptions) Validate() error { return nil }

// Local is the local-first [sojourn.Policy]. It is also a [sojourn.Supporter], a [sojourn.Seeker], a
// [sojourn.Admitter], a [sojourn.Explainer] and a [sojourn.Snapshotter].
type Local struct {
	queue *queue.Jobs[struct{}, uint64] // by order of arrival
}

// NewLocal returns an empty policy, or what Validate returns. The zero options are never wrong.
func NewLocal(opts LocalOptions) (*Local, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := new(Local)
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Local) reset() {
	p.queue = queue.NewJobs(queue.JobOrder[struct{}, uint64]{
		Key:      func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
		Less:     func(a, b uint64) bool { return a < b },
		Prefix:   func(seq uint64) (hi, lo uint64) { return seq, 0 },
		Supports: option.Features | sojourn.FeatureParallelism,
	})
}

// Observe implements [sojourn.Policy].
func (p *Local) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	p.queue.File(&ev, p.queue.Apply(&ev))
	return nil
}

// Assign implements [sojourn.Policy].
func (p *Local) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.queue.Ledger.Free(id)
	var job *ledger.Job[struct{}]
	least := sojourn.Remote
	for j := range p.queue.Ledger.All() {
		side := j.SideOf(s.Class)
		if side == nil || side.Startable() == 0 || job != nil && least <= sojourn.NodeLocal && j.Seq() > job.Seq() {
			continue
		}
		near := p.queue.Near(j, side, s)
		if near <= sojourn.RackLocal && (job == nil || near < least || near == least && j.Seq() < job.Seq()) {
			job, least = j, near
		}
	}
	if job == nil {
		return p.queue.Assign(id)
	}
	a := p.queue.TakeOf(job, id)
	p.queue.Update(job)
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if something is
// startable.
func (p *Local) Seek(c sojourn.Class) (sojourn.SlotID, bool) { return p.queue.Seek(c) }

// Supports implements [sojourn.Supporter]: all features.
func (p *Local) Supports() sojourn.Features { return p.queue.Supports() }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Local) Admit(job *sojourn.Job) error { return p.queue.Admit(job) }

// AppendRanking implements [sojourn.Explainer]: it ranks jobs by arrival, which decides between
// tasks whose inputs are equally close.
func (p *Local) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.queue.AppendRanking(dst)
}

// Explain implements [sojourn.Explainer]. Its keys are those of [queue.Queue.Explain].
func (p *Local) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	return p.queue.Explain(id)
}
