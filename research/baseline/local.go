package baseline

import (
	"log/slog"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// LocalOptions configure [NewLocal]. There is nothing to configure yet.
type LocalOptions struct{}

// Validate returns nil: all options are valid.
func (LocalOptions) Validate() error { return nil }

// A local is the local-first policy. Its queue ranks jobs by arrival, which decides between tasks whose inputs
// are equally close.
type local struct {
	*queue.Jobs[struct{}, uint64] // by order of arrival
}

// NewLocal returns an empty policy, or what Validate returns. The zero options are never wrong.
func NewLocal(opts LocalOptions) (sojourn.Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := new(local)
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *local) reset() {
	p.Jobs = queue.NewJobs(queue.JobOrder[struct{}, uint64]{
		Key:      func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
		Less:     func(a, b uint64) bool { return a < b },
		Prefix:   func(seq uint64) (hi, lo uint64) { return seq, 0 },
		Supports: option.Features | sojourn.FeatureParallelism,
	})
}

// Observe implements [sojourn.Policy].
func (p *local) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	p.File(&ev, p.Apply(&ev))
	return nil
}

// Assign implements [sojourn.Policy].
func (p *local) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.Ledger.Free(id)
	var job *ledger.Job[struct{}]
	least := sojourn.Remote
	for j := range p.Ledger.All() {
		side := j.SideOf(s.Class)
		if side == nil || side.Startable() == 0 || job != nil && least <= sojourn.NodeLocal && j.Seq() > job.Seq() {
			continue
		}
		near := p.Near(j, side, s)
		if near <= sojourn.RackLocal && (job == nil || near < least || near == least && j.Seq() < job.Seq()) {
			job, least = j, near
		}
	}
	if job == nil {
		return p.Jobs.Assign(id)
	}
	a := p.TakeOf(job, id)
	p.Update(job)
	return a, true
}

// Explain implements [sojourn.Explainer]. Its keys are those of [queue.Queue.Explain].
func (p *local) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	return p.Jobs.Explain(id)
}
