package baseline

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/weightorder"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// ListOptions configure [NewHUWF], [NewHJWF], [NewSTF] and [NewHTWF]. The zero value is the default. A snapshot may be restored
// under all other options.
type ListOptions struct {
	// DefaultTaskTime is how long a task without an estimate is assumed to take. Zero
	// means one minute.
	DefaultTaskTime time.Duration
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o ListOptions) Validate() error {
	return option.First("baseline", option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0))
}

// A list is a list-scheduling policy: a free slot gets the first startable task of a list.
type list struct {
	name     string
	order    weightorder.Order
	taskTime time.Duration

	// The Data of a job is the processing time of all its tasks, in nanoseconds.
	*queue.Phases[float64, listKey]
}

// A listKey ranks tasks by the order's key, ties by their place in the list.
type listKey struct {
	value float64
	seq   uint64
	phase int
}

// NewHUWF returns an empty policy that prefers jobs of high unit weight: weight over
// the processing time of all tasks, or what Validate returns. The zero options are never wrong.
func NewHUWF(opts ListOptions) (sojourn.Policy, error) {
	return newList("huwf", weightorder.HUWF, opts)
}

// NewHJWF returns an empty policy that prefers jobs of high weight, or what
// Validate returns. The zero options are never wrong.
func NewHJWF(opts ListOptions) (sojourn.Policy, error) {
	return newList("hjwf", weightorder.HJWF, opts)
}

// NewSTF returns an empty policy that prefers short tasks, whatever their job,
// or what Validate returns. The zero options are never wrong.
func NewSTF(opts ListOptions) (sojourn.Policy, error) { return newList("stf", weightorder.STF, opts) }

// NewHTWF returns an empty policy that prefers tasks of high weight, or what Validate
// returns. The zero options are never wrong. A [sojourn.Job] has one weight, which counts for
// each of its tasks, so this policy decides as HJWF does.
func NewHTWF(opts ListOptions) (sojourn.Policy, error) {
	return newList("htwf", weightorder.HTWF, opts)
}

func newList(name string, order weightorder.Order, opts ListOptions) (sojourn.Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &list{name: name, order: order, taskTime: cmp.Or(opts.DefaultTaskTime, option.DefaultTaskTime)}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *list) reset() {
	order := queue.PhaseOrder[float64, listKey]{
		Key: func(j *ledger.Job[float64], phase int, task uint32) (listKey, bool) {
			return listKey{p.key(j, phase, task), j.Seq(), phase}, true
		},
		Less: func(a, b listKey) bool {
			switch {
			case a.value != b.value:
				return a.value < b.value
			case a.seq != b.seq:
				return a.seq < b.seq
			}
			return a.phase < b.phase
		},
		Supports: option.Features | sojourn.FeatureParallelism,
	}
	if p.order == weightorder.STF {
		order.Within = func(ph *sojourn.Phase) func(a, b uint32) int {
			if ph.Estimates == nil {
				return nil
			}
			return func(a, b uint32) int { return cmp.Compare(p.time(ph, a), p.time(ph, b)) }
		}
	}
	p.Phases = queue.NewPhases(order)
}

// time returns the expected processing time of a task.
func (p *list) time(ph *sojourn.Phase, task uint32) time.Duration {
	return cmp.Or(ph.EstimateOf(int(task)), p.taskTime)
}

// key returns the rank of a task.
func (p *list) key(j *ledger.Job[float64], phase int, task uint32) float64 {
	weight := float64(j.Weight()) / (1 << 16)
	return p.order.Key(weightorder.Task{
		JobWeight: weight,
		JobWork:   j.Data,
		Weight:    weight,
		Time:      float64(p.time(&j.Spec().Phases[phase], task)),
	})
}

// work returns the processing time of all tasks of a job, in nanoseconds.
func (p *list) work(spec *sojourn.Job) float64 {
	var sum wide.Uint128
	for i := range spec.Phases {
		sum = sum.Add(charge.PhaseWork(&spec.Phases[i], charge.NoneDone{}, p.taskTime))
	}
	return float64(float64(sum.Hi)*(1<<64)) + float64(sum.Lo)
}

// Observe implements [sojourn.Policy].
func (p *list) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.Apply(&ev)
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		c.Job.Data = p.work(c.Job.Spec())
	}
	p.File(&ev, c)
	return nil
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Ledger.Attrs] and
//
//	key          unit  meaning
//	weight       1     its weight
//	unit_weight  1/s   its weight over the time of all its tasks
//	rank         jobs  live jobs that come before it; -1 if it is cancelled
func (p *list) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	weight := float64(j.Weight()) / (1 << 16)
	return append(p.Ledger.Attrs(j), slog.Float64("weight", weight), slog.Float64("unit_weight", weight/(j.Data/1e9)),
		slog.Int("rank", p.Rank(j))), true
}
