package fifo

import (
	"log/slog"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/jobqueue"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/locality"
)

// A Policy is a first-in, first-out [sojourn.Policy]. It is also a
// [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type Policy struct {
	opts  Options
	queue jobqueue.Queue[struct{}, uint64] // by order of arrival
}

// New returns an empty policy. No options are wrong.
func New(opts Options) (*Policy, error) {
	p := &Policy{opts: opts}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	seq := func(j *ledger.Job[struct{}]) uint64 { return j.Seq() }
	less := func(a, b uint64) bool { return a < b }
	p.queue = jobqueue.New(seq, less, false)
	if !p.opts.IgnoreLocality {
		p.queue.Index = locality.New(&p.queue.Ledger)
	}
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.queue.Ledger.Apply(&ev)
	if p.queue.Index != nil {
		p.queue.Index.Update(&ev, c)
	}
	if c.Job != nil {
		p.queue.Update(c.Job)
	}
	return nil
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, _, ok := p.queue.Assign(id)
	return a, ok
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while
// anything is startable.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) { return p.queue.Seek(c) }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.queue.Ledger.CheckArrival(job) }

// AppendRanking implements [sojourn.Explainer].
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.queue.AppendRanking(dst)
}

// Explain implements [sojourn.Explainer]: the state of the job's tasks, and how
// many live jobs arrived before it.
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.queue.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	return append(j.Attrs(), slog.Int("rank", p.queue.Rank(j))), true
}
