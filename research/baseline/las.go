package baseline

import (
	"log/slog"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// LASOptions configure [NewLAS]. The zero value is the default. A snapshot may be restored
// under all other options, but not without a reserve if it was taken with one, or the
// reverse.
type LASOptions struct {
	// Reserve is the share of the slots of each class, from 0 to 1, that is kept free for
	// jobs that run nothing there: see package kit/reserve. The number of slots is rounded to
	// the nearest whole number, halves up, and is less than all slots. Zero means no reserve.
	Reserve float64
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o LASOptions) Validate() error {
	return option.First("baseline", option.Range("Reserve", o.Reserve, 0, 1))
}

// A las is the least-attained-service policy. Its queue admits every valid job, and supports projected slots
// only without a reserve.
type las struct {
	member
	*queue.Jobs[attained, attainedKey]
	reserve reserve.Options
}

// attained is the slot time that a job has had, in slot-nanoseconds: the time of ended
// attempts that are charged, plus running*now - starts for the live ones.
type attained struct {
	ended  wide.Uint128
	starts wide.Uint128 // sum of the starts of the live attempts
	owed   charge.Debt
}

// An attainedKey orders jobs by attained service, which is base + running*now - shift. Many jobs
// may tie at one instant, such as new ones. Then the job with the fewest running tasks goes
// first, so that they share, and after that arrival decides.
//
// Jobs that run the same number of tasks keep their order until one of them starts or ends
// a task. They are a group of the queue.
type attainedKey struct {
	base    wide.Uint128 // shift, and what is charged of ended attempts, without the starts of the live ones
	running int
	seq     uint64
}

// shift is more than the sum of the starts of all attempts.
var shift = wide.Uint128{Hi: 1 << 32}

// shifted returns the attained service at an instant, plus shift.
func (k attainedKey) shifted(now sojourn.Time) wide.Uint128 {
	return k.base.Add(wide.Mul64(uint64(k.running), uint64(now)))
}

// prefix returns what the key begins with among those with as many running tasks: base, from half of the range of a word
// below shift, and the order of arrival.
func (k attainedKey) prefix() (hi, lo uint64) {
	low := shift.Sub(wide.From64(1 << 63))
	if k.base.Less(low) {
		return 0, 0
	}
	return k.base.Sub(low).Prefix(k.seq)
}

// NewLAS returns an empty policy, or what Validate returns. The zero options are never wrong.
func NewLAS(opts LASOptions) (sojourn.Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &las{reserve: reserveOptions(opts.Reserve, false)}
	p.member = inside.MemberOf(p.join)
	p.reset()
	return p, nil
}

// join makes p keep to the reserve of the cluster of which it has a part, instead of its own.
func (p *las) join(c inside.Cluster) bool {
	p.reserve.In = c.Reserve
	p.reset()
	return true
}

// reset gives p the state of a new policy.
func (p *las) reset() {
	order := queue.JobOrder[attained, attainedKey]{
		Key: func(j *ledger.Job[attained]) attainedKey {
			return attainedKey{j.Data.ended.Add(shift).Sub(j.Data.starts), j.Running(), j.Seq()}
		},
		Less: func(a, b attainedKey) bool {
			now := p.Ledger.Now()
			switch v, w := a.shifted(now), b.shifted(now); {
			case v != w:
				return v.Less(w)
			case a.running != b.running:
				return a.running < b.running
			}
			return a.seq < b.seq
		},
		Prefix:   attainedKey.prefix,
		Group:    func(k attainedKey) int { return k.running },
		Reserve:  p.reserve,
		Supports: option.Features | sojourn.FeatureParallelism,
	}
	if !p.reserve.On() { // otherwise slots are counted
		order.Supports |= sojourn.FeatureProjected
	}
	if p.reserve.On() {
		order.Level = func(_ *ledger.Job[attained], s *ledger.Side) int { return reserve.LevelUnknown(s.Running()) }
	}
	p.Jobs = queue.NewJobs(order)
}

// attained returns the attained service of j at this instant.
func (p *las) attained(j *ledger.Job[attained]) wide.Uint128 {
	live := wide.Mul64(uint64(j.Running()), uint64(p.Ledger.Now())).Sub(j.Data.starts)
	return j.Data.ended.Add(live)
}

// Observe implements [sojourn.Policy].
func (p *las) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.Apply(&ev)
	if c.Job == nil {
		return nil
	}
	d := &c.Job.Data
	switch ev.Kind {
	case sojourn.TaskAdopted:
		d.starts = d.starts.Add(wide.From64(uint64(ev.At)))
		d.ended = d.ended.Add(wide.From64(uint64(ev.Service)))
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		d.starts = d.starts.Sub(wide.From64(uint64(c.Start)))
		if due, ok := d.owed.End(&ev, ev.At.Sub(c.Start)); ok {
			d.ended = d.ended.Add(wide.From64(due))
		}
	}
	p.File(&ev, c)
	return nil
}

// Assign implements [sojourn.Policy].
func (p *las) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Jobs.Assign(id)
	if ok {
		live, _ := p.Ledger.Attempt(id)
		j := live.Job
		j.Data.starts = j.Data.starts.Add(wide.From64(uint64(p.Ledger.Now())))
		p.Update(j)
	}
	return a, ok
}

// Explain implements [sojourn.Explainer]. Its keys are those of [reserve.Reserve.Explain] and
//
//	key       unit    meaning
//	attained  slot s  attained service: how long it has held slots, without attempts that are not charged
//	rank      jobs    live jobs that come before it; -1 if it is cancelled
func (p *las) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	return append(p.Attrs(j), slog.Float64("attained", seconds(p.attained(j))), slog.Int("rank", p.Rank(j))), true
}
