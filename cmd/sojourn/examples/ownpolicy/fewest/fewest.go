package fewest

import (
	"cmp"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// Options configure a [Policy]. The zero value is the default.
type Options struct {
	// Most serves the job with the most unfinished tasks first instead.
	Most bool `doc:"serve the job with the most unfinished tasks first instead"`
}

// Policy is a [sojourn.Policy]. It is also a [sojourn.Seeker], a [sojourn.Admitter], a
// [sojourn.Explainer] and a [sojourn.Snapshotter].
type Policy struct {
	*queue.Jobs[struct{}, key] // with Assign, Seek, Admit, AppendRanking and Explain

	opts Options
}

// A key ranks jobs by their unfinished tasks, and then by arrival.
type key struct {
	left int
	seq  uint64
}

// New returns an empty policy. No options are wrong.
func New(opts Options) (*Policy, error) {
	p := &Policy{opts: opts}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	p.Jobs = queue.NewJobs(queue.JobOrder[struct{}, key]{
		Key: func(j *ledger.Job[struct{}]) key {
			if p.opts.Most {
				return key{-j.Left(), j.Seq()}
			}
			return key{j.Left(), j.Seq()}
		},
		Less: func(a, b key) bool { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.seq, b.seq)) < 0 },
	})
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	p.File(&ev, p.Apply(&ev))
	return nil
}
