package leastwork

import (
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// A Policy serves the job with the least work left, and keeps some slots for short tasks: a
// [sojourn.Policy]. It is also a [sojourn.Supporter], a [sojourn.Seeker], a [sojourn.Waker], a [sojourn.Admitter], a
// [sojourn.Explainer] and a [sojourn.Snapshotter].
type Policy struct {
	queue   *queue.Jobs[jobData, key]
	beliefs beliefs
	reserve reserve.Options

	due   queue.Ready[key] // the jobs with something to start, by when they are late
	turns []turn           // by class, as far as any had a slot or a job
	fed   []int            // scratch
}

// A key orders jobs by what is left of their work, and then by arrival.
type key struct {
	work wide.Uint128
	seq  uint64
}

func (a key) less(b key) bool {
	if a.work != b.work {
		return a.work.Less(b.work)
	}
	return a.seq < b.seq
}

func (a key) prefix() (hi, lo uint64) { return a.work.Prefix(a.seq) }

// reserved is how much is reserved: 2 % of the slots. Jobs whose sizes are believed never leave
// more than about half of them.
var reserved = reserve.Options{Share: 20_000, Up: true, From: 25}

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{reserve: reserved}
	p.reset()
	return p, nil
}

// ReserveIn makes p keep to the reserve of a cluster of which it has a part, instead of its own, and
// reports that it does. Package fair calls it before the first event, for the policies of its pools.
func (p *Policy) ReserveIn(cluster *reserve.Reserve) bool {
	p.reserve.In = cluster
	p.reset()
	return true
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	p.beliefs, p.turns = nil, nil
	p.due = queue.NewPrefixedReady(key.less, key.prefix)
	p.queue = queue.NewJobs(queue.JobOrder[jobData, key]{
		Key:      p.rank,
		SideKey:  p.key,
		Less:     key.less,
		Prefix:   key.prefix,
		Grows:    true,
		Growing:  p.growing,
		Level:    p.level,
		Reserve:  p.reserve,
		Supports: option.Features | sojourn.FeatureParallelism,
	})
	p.queue.Shared = &p.beliefs
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	c := p.queue.Apply(&ev)
	if ev.Kind == sojourn.SlotAdded || c.SlotGone {
		p.turn(c.Slot.Class).set(ev.At, p.queue.Ledger.Capacity(c.Slot.Class))
	}
	if c.Job == nil {
		return nil
	}
	changed := nothing
	switch ev.Kind {
	case sojourn.JobArrived:
		p.enrol(c.Job, 0)
	case sojourn.JobAdopted:
		p.enrol(c.Job, ev.Service)
	case sojourn.JobRevised:
		for i := range c.Job.Data.phases {
			c.Job.Data.phases[i].describe(&c.Job.Spec().Phases[i], c.Job.Phase(i))
		}
		c.Job.Data.sort(c.Job)
		p.measure(c.Job)
		for i := range c.Job.NumSides() {
			p.postpone(c.Job, i)
		}
	case sojourn.JobCancelled:
	default:
		changed = p.report(&ev, c)
		p.remeasure(c.Job, int(ev.Task.Phase))
		p.delay(&ev, c)
	}
	p.queue.File(&ev, c)
	p.fileDue(c.Job)
	if changed != nothing {
		p.refile(c.Job.Spec().Phases[ev.Task.Phase].Class, changed)
	}
	return nil
}

// enrol takes in a job that has come so long ago.
func (p *Policy) enrol(j *ledger.Job[jobData], ago time.Duration) {
	j.Data = newData(j)
	j.Data.age = ago
	for i := range j.Data.phases {
		ph, spec := &j.Data.phases[i], &j.Spec().Phases[i]
		p.beliefs.of(spec.Class)
		if ph.describe(spec, j.Phase(i)); ph.told {
			p.queue.Reserve().Lengths(spec.Class).Add(ph.bucket)
		}
	}
	j.Data.sort(j)
	p.measure(j)
	for i := range j.NumSides() {
		p.join(j, i, ago)
	}
}

// report takes in what has become of a task, and says for what the jobs of the class are to be judged
// anew.
func (p *Policy) report(ev *sojourn.Event, c ledger.Change[jobData]) (changed change) {
	j, i := c.Job, int(ev.Task.Phase)
	ph, spec := &j.Data.phases[i], &j.Spec().Phases[i]
	told := spec.EstimateOf(int(ev.Task.Index))
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.turns[spec.Class].end(ev, c.Start)
	}
	switch ev.Kind {
	case sojourn.TaskFinished:
		ph.left = ph.left.Sub(wide.From64(uint64(told)))
		took := ev.Service
		if took == 0 {
			took = ev.At.Sub(c.Start)
		}
		ph.samples++
		ph.took = ph.took.Add(wide.From64(uint64(took)))
		ph.sampled = ph.sampled.Add(wide.From64(uint64(told)))
		if ph.samples == 1 {
			if !ph.told {
				told = 0
			}
			changed = p.beliefs.of(spec.Class).vote(took, told, j.Spec().Name)
		}
	case sojourn.TaskDone:
		ph.left = ph.left.Sub(wide.From64(uint64(told)))
	case sojourn.OutputLost:
		ph.left = ph.left.Add(wide.From64(uint64(told)))
	case sojourn.TaskAdopted:
		if since := int64(ev.At) - int64(ev.Service); j.Phase(i).Running() == 1 || since < ph.since {
			ph.since = since
		}
	}
	return changed
}

// measure computes the work of all phases of j.
func (p *Policy) measure(j *ledger.Job[jobData]) {
	for i := range j.Data.phases {
		p.remeasure(j, i)
	}
}

// remeasure computes the work of a phase of j.
func (p *Policy) remeasure(j *ledger.Job[jobData], i int) {
	ph, side := &j.Data.phases[i], &j.Data.sides[j.Phase(i).Side()]
	work := p.work(j, i)
	side.work = side.work.Sub(ph.filed).Add(work)
	ph.filed = work
}

// refile files all jobs anew that have phases of a class, since another thing is believed of it. Most changes leave
// the keys of most jobs as they are; then it looks at their levels alone.
func (p *Policy) refile(c sojourn.Class, what change) {
	for j := range p.queue.Ledger.All() {
		if j.SideOf(c) == nil {
			continue
		}
		if what != all && p.settled(j, c, what) {
			p.queue.UpdateLevel(j)
			continue
		}
		for i := range j.Data.phases {
			if j.Spec().Phases[i].Class == c {
				p.remeasure(j, i)
			}
		}
		p.queue.Update(j)
	}
}

// settled reports whether the keys of a job are as they were filed, after a change of what is believed of a class
// that is less than all. What is believed of names changes at any time: keys follow when they are filed anew.
func (p *Policy) settled(j *ledger.Job[jobData], c sojourn.Class, what change) bool {
	for i := range j.Data.phases {
		ph, spec := &j.Data.phases[i], &j.Spec().Phases[i]
		if ph.grows(j.Phase(i)) {
			return false
		}
		if spec.Class != c {
			continue
		}
		b := p.beliefs.of(c)
		if _, used := b.trusts(ph); used && b.useRatio || !used && (what == untold || j.Spec().Name != "") {
			return false
		}
	}
	return true
}

// key returns what a job is ordered by for the slots of one class: the work that it has left
// there, over its weight; and times sqrt(r+1) where r of its tasks run there and its sizes are
// in doubt.
func (p *Policy) key(j *ledger.Job[jobData], side *ledger.Side) key {
	i := j.NextPhase(side)
	ph, account := &j.Data.phases[i], j.Phase(i)
	work := j.Data.sides[account.Side()].work
	if ph.grows(account) {
		work = work.Sub(ph.filed).Add(p.grown(j, i))
	}
	spread := false
	if doubt, used := p.beliefs.of(side.Class()).trusts(ph); used && doubt < useless {
		spread = doubt == noisy
	} else {
		spread = ph.samples == 0
	}
	return key{weigh(work, side.Running(), spread, j.Weight()), j.Seq()}
}

// growing reports whether the key of a job grows while time passes.
func (p *Policy) growing(j *ledger.Job[jobData], side *ledger.Side) bool {
	i := j.NextPhase(side)
	return j.Data.phases[i].grows(j.Phase(i))
}

// rank returns what AppendRanking ranks a job by: all the work that it has left, over its weight.
func (p *Policy) rank(j *ledger.Job[jobData]) key {
	var work wide.Uint128
	for i := range j.NumSides() {
		if side := j.Side(i); side.Startable() > 0 {
			work = work.AddCapped(p.key(j, side).work)
		} else {
			work = work.AddCapped(weigh(j.Data.sides[i].work, 0, false, j.Weight()))
		}
	}
	return key{work, j.Seq()}
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	class := p.queue.Ledger.Free(id).Class
	var a sojourn.Assignment
	j, due := p.late(class)
	if j != nil {
		a = p.queue.TakeOf(j, id)
		p.turns[class].begin(id, due)
	} else if j, a = p.queue.Take(id); j == nil {
		return a, false
	}
	i := int(a.Task.Phase)
	if j.Phase(i).Running() == 1 {
		j.Data.phases[i].since = int64(p.queue.Ledger.Now())
	}
	p.remeasure(j, i)
	p.queue.Update(j)
	p.fileDue(j)
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if something
// may start.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if j, _ := p.late(c); j != nil {
		return p.queue.Ledger.FreeSlot(c)
	}
	return p.queue.Seek(c)
}

// Supports implements [sojourn.Supporter]: all features.
func (p *Policy) Supports() sojourn.Features { return p.queue.Supports() }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *Policy) Admit(job *sojourn.Job) error { return p.queue.Admit(job) }

// AppendRanking implements [sojourn.Explainer]. Where there are several classes of slot, a job
// may come earlier in one of them than another that ranks before it.
func (p *Policy) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.queue.AppendRanking(dst)
}

// Explain implements [sojourn.Explainer]. Its keys are those of [reserve.Reserve.Explain] and
//
//	key      unit    meaning
//	work     slot s  work in its tasks that neither run nor have finished, by what is believed
//	late_in  s       until it is late, if the slots of the class stay; 0 if it is. Of several classes
//	                 the least. It is not there if nothing of it can start or there are no slots
//	rank     jobs    live jobs that come before it; -1 if it is cancelled. Late jobs get a sixteenth
//	                 of the slot time, and rank by their work, too
//
// If it is late, why says so.
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.queue.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	var work wide.Uint128
	for _, side := range j.Data.sides {
		work = work.AddCapped(side.work)
	}
	attrs := append(p.queue.Attrs(j), slog.Float64("work", seconds(work)))
	if wait, ok := p.lateIn(j); ok {
		if wait == 0 {
			attrs[0] = slog.String("why", "is late, and waits for its turn among late jobs")
		}
		attrs = append(attrs, slog.Float64("late_in", wait.Seconds()))
	}
	return append(attrs, slog.Int("rank", p.queue.Rank(j))), true
}

// seconds returns slot-nanoseconds in slot-seconds.
func seconds(x wide.Uint128) float64 {
	return (float64(float64(x.Hi)*(1<<64)) + float64(x.Lo)) / 1e9
}
