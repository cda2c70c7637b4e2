package leastwork

import (
	"log/slog"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"github.com/sojourn-sched/sojourn/kit/reserve"
)

// A Policy serves the job with the least work left, and keeps some slots for short tasks: a
// [sojourn.Policy]. It is also a [sojourn.Supporter], a [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer]
// and a [sojourn.Snapshotter].
type Policy struct {
	member
	queue    *queue.Jobs[jobData, key]
	stats    classStats
	reserve  reserve.Options
	patience uint64
	gangs    bool
	pace     int
}

type member = inside.Member

// A key orders jobs by their due date: when they came, and patience times their work. Times are from 2^63 ns
// before time 0 on, since jobs may be older than the clock.
type key struct {
	due wide.Uint128
	seq uint64
}

func (a key) less(b key) bool {
	if a.due != b.due {
		return a.due.Less(b.due)
	}
	return a.seq < b.seq
}

func (a key) prefix() (hi, lo uint64) { return a.due.Prefix(a.seq) }

// unit is a weight of 1.
const unit = 1 << 16

// reserved is how much is reserved: 2 % of the slots. Jobs with estimates that are used never leave
// more than about half of them free.
var reserved = reserve.Options{Share: 20_000, Up: true, From: 10, Counted: true}

// New returns an empty policy, or what Validate returns. The zero options are never wrong.
func New(opts Options) (*Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &Policy{reserve: reserved, patience: opts.patience(), gangs: opts.Gangs, pace: pace}
	if p.gangs {
		p.reserve.From = math.MaxInt // a gang slot that is kept free waits in vain
	}
	p.member = inside.MemberOf(p.join)
	p.reset()
	return p, nil
}

// join makes p keep to the reserve of the cluster of which it has a part, instead of its own.
func (p *Policy) join(c inside.Cluster) bool {
	p.reserve = reserve.Options{In: c.Reserve}
	p.reset()
	return true
}

// reset gives p the state of a new policy.
func (p *Policy) reset() {
	p.stats = nil
	p.queue = queue.NewJobs(queue.JobOrder[jobData, key]{
		Key:      p.rank,
		SideKey:  p.key,
		Less:     key.less,
		Prefix:   key.prefix,
		Grows:    p.growing,
		Level:    p.level,
		Reserve:  p.reserve,
		Due:      func(k key) bool { return !since(int64(p.queue.Ledger.Now())).Less(k.due) },
		Supports: option.Features | sojourn.FeatureParallelism,
	})
	p.queue.Shared = &p.stats
}

// Observe implements [sojourn.Policy].
func (p *Policy) Observe(ev sojourn.Event) error {
	if err := p.queue.Ledger.Check(&ev); err != nil {
		return err
	}
	var before *sojourn.Job // what was told of a job that is revised
	if ev.Kind == sojourn.JobRevised {
		before = p.queue.Ledger.Job(ev.Job.ID).Spec()
	}
	c := p.queue.Apply(&ev)
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
			c.Job.Data.revise(&before.Phases[i], c.Job, i)
		}
		p.measure(c.Job)
	case sojourn.JobCancelled:
	default:
		if changed = p.report(&ev, &c); !c.Ended {
			p.remeasure(c.Job, int(ev.Task.Phase))
		}
	}
	p.queue.File(&ev, c)
	if ev.Kind == sojourn.TaskFinished {
		p.refile(c.Job.Spec().Phases[ev.Task.Phase].Class, changed)
	}
	return nil
}

// enrol takes in a job that has come so long ago.
func (p *Policy) enrol(j *ledger.Job[jobData], ago time.Duration) {
	j.Data = newData(j)
	j.Data.came = int64(p.queue.Ledger.Now()) - int64(ago)
	for i := range j.Data.phases {
		ph, spec := &j.Data.phases[i], &j.Spec().Phases[i]
		p.stats.of(spec.Class)
		if ph.describe(spec, j.Phase(i)); ph.told {
			p.queue.Reserve().Lengths(spec.Class).Add(ph.bucket)
		}
	}
	p.measure(j)
}

// report takes in what has become of a task, and says for what the jobs of the class are to be judged
// anew.
func (p *Policy) report(ev *sojourn.Event, c *ledger.Change[jobData]) (changed change) {
	j, i := c.Job, int(ev.Task.Phase)
	ph, spec := &j.Data.phases[i], &j.Spec().Phases[i]
	told := spec.EstimateOf(int(ev.Task.Index))
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		j.Data.charge(&j.Data.sides[j.Phase(i).Side()], ev, ev.At.Sub(c.Start))
	}
	switch ev.Kind {
	case sojourn.TaskFinished:
		ph.left = ph.left.Sub(wide.From64(uint64(told)))
		took := ev.Service
		if took == 0 {
			took = ev.At.Sub(c.Start)
		}
		ph.samples++
		ph.typical = ph.typical || ph.samples >= uint64(j.Phase(i).Running())
		ph.took = ph.took.Add(wide.From64(uint64(took)))
		ph.sampled = ph.sampled.Add(wide.From64(uint64(told)))
		if ph.samples == 1 {
			b, corrected := p.stats.of(spec.Class), j.Data.own.votes > 0
			switch {
			case !ph.told:
				told = 0
			case !c.Ended:
				p.correct(j, log(took)-log(told))
			}
			changed = b.vote(took, told, j.Spec().Name, corrected)
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

// correct takes in how much longer a task took than its estimate, the first one of its phase. It is told for the other phases.
func (p *Policy) correct(j *ledger.Job[jobData], off octaves) {
	j.Data.own.votes++
	j.Data.own.off += off
	if j.Data.own.votes == 1 {
		p.measure(j)
	}
	for i := range j.Data.sides {
		j.Data.sides[i].correct(p.stats.of(j.Side(i).Class()).corrects(j))
	}
}

// measure computes the work of all phases of j.
func (p *Policy) measure(j *ledger.Job[jobData]) {
	for i := range j.Data.phases {
		p.remeasure(j, i)
	}
}

// pace is how many jobs one event files anew at most. It bounds how long a call takes.
const pace = 2048

// A round files the jobs of a class anew after its statistics have changed. It visits them by their handles, as
// many as the pace allows whenever a task of the class finishes. A change begins it again. No other event goes on with it, so
// that events that say nothing change no decision.
type round struct {
	what change // for what it goes; nothing if there is none
	next uint32 // the handle that it comes to next
	stop uint32 // the handle that it began with, where it ends
	over bool   // it has passed the greatest handle
}

// begin lets g go round once from where it is.
func (g *round) begin(what change) {
	if g.what == nothing {
		g.next = 0
	}
	g.what, g.stop, g.over = max(g.what, what), g.next, false
}

// refile files jobs of a class anew, at the end of a task of it: for a change, or since there was one before.
func (p *Policy) refile(c sojourn.Class, changed change) {
	g := &p.stats.of(c).round
	if changed != nothing {
		g.begin(changed)
	}
	for range p.pace {
		if g.what == nothing {
			return
		}
		j, ok := p.queue.Ledger.Next(g.next)
		if !ok && !g.over {
			g.over = true
			j, ok = p.queue.Ledger.Next(0)
		}
		if !ok || g.over && j.Handle() >= g.stop {
			*g = round{}
			return
		}
		p.refileJob(j, c, g.what)
		g.next = j.Handle() + 1
	}
}

// refileJob files a job anew that may have phases of a class. Most changes leave the keys of most jobs as they are; then it
// looks at their levels alone.
func (p *Policy) refileJob(j *ledger.Job[jobData], c sojourn.Class, what change) {
	switch {
	case j.SideOf(c) == nil:
		return
	case what != all && p.settled(j, c, what):
		p.queue.UpdateLevel(j)
		return
	}
	for i := range j.Data.phases {
		if j.Spec().Phases[i].Class == c {
			p.remeasure(j, i)
		}
	}
	p.queue.Update(j)
}

// settled reports whether the keys of a job are as they were filed, after a change of the statistics of a class
// that is less than all. The statistics of names change at any time: keys follow when they are filed anew.
func (p *Policy) settled(j *ledger.Job[jobData], c sojourn.Class, what change) bool {
	for i := range j.Data.phases {
		ph, spec := &j.Data.phases[i], &j.Spec().Phases[i]
		if ph.grows(j.Phase(i)) {
			return false
		}
		if spec.Class != c {
			continue
		}
		b := p.stats.of(c)
		if _, used := b.trusts(ph); used && b.useRatio || !used && (what == untold || j.Spec().Name != "") {
			return false
		}
	}
	return true
}

// key returns what a job is ordered by for the slots of one class: its due date there.
func (p *Policy) key(j *ledger.Job[jobData], side *ledger.Side) key {
	return key{since(j.Data.came).AddCapped(p.wait(j, side)), j.Seq()}
}

// since returns an instant, which may be before time 0, in nanoseconds from 2^63 ns before time 0 on.
func since(at int64) wide.Uint128 { return wide.From64(uint64(at) ^ 1<<63) }

// wait returns for how long after it came a job lets jobs without work pass, for the slots of a class where it has
// something to start: patience times the work that it has left there, over its weight; and times sqrt(r+1) where r
// of its tasks run there and its sizes are in doubt. What it lost in failed attempts counts, whatever its weight, as far
// as it is more than its own work.
func (p *Policy) wait(j *ledger.Job[jobData], side *ledger.Side) wide.Uint128 {
	i := j.NextPhase(side)
	ph, account := &j.Data.phases[i], j.Phase(i)
	data := &j.Data.sides[account.Side()]
	work := data.all()
	if ph.grows(account) {
		rest := *data
		sum := rest.filedIn(ph)
		*sum = sum.Sub(ph.filed)
		work = p.grown(j, i).AddCapped(rest.all())
	}
	spread := ph.samples == 0
	if ph.used && ph.doubt < useless {
		spread = ph.doubt == noisy
	}
	weighed := weigh(work, side.Running(), spread, j.Weight())
	if !data.lost.IsZero() {
		own := data.all() // as filed: what is lost counts no less while the oldest task runs on
		for k := range j.Data.phases {
			if j.Phase(k).Side() == account.Side() {
				own = own.AddCapped(j.Data.phases[k].took)
			}
		}
		weighed = later(weighed, weigh(later(data.lost, own).Sub(own), 0, false, unit))
	}
	return times(weighed, p.lets(ph))
}

// lets returns how many times its work a job lets others pass whose work is that of a phase.
func (p *Policy) lets(ph *phase) uint64 {
	if p.gangs && !(ph.used && ph.doubt == exact) {
		return min(p.patience, guessed)
	}
	return p.patience
}

// times returns x*n, or nearly the greatest number if that does not fit: n is at least 1.
func times(x wide.Uint128, n uint64) wide.Uint128 {
	if x.Hi >= math.MaxUint64/n {
		return wide.Uint128{Hi: math.MaxUint64}
	}
	return x.MulU64(n)
}

func later(a, b wide.Uint128) wide.Uint128 {
	if a.Less(b) {
		return b
	}
	return a
}

// growing reports whether the key of a job grows while time passes.
func (p *Policy) growing(j *ledger.Job[jobData], side *ledger.Side) bool {
	i := j.NextPhase(side)
	return j.Data.phases[i].grows(j.Phase(i))
}

// rank returns what AppendRanking ranks a job by: its due date, with all the work that it has left.
func (p *Policy) rank(j *ledger.Job[jobData]) key {
	due := since(j.Data.came)
	for i := range j.NumSides() {
		if side := j.Side(i); side.Startable() > 0 {
			due = due.AddCapped(p.wait(j, side))
			continue
		}
		lets := p.patience
		if p.gangs {
			for k := range j.Data.phases {
				if j.Phase(k).Side() == i {
					lets = min(lets, p.lets(&j.Data.phases[k]))
				}
			}
		}
		due = due.AddCapped(times(weigh(j.Data.sides[i].all(), 0, false, j.Weight()), lets))
	}
	return key{due, j.Seq()}
}

// Assign implements [sojourn.Policy].
func (p *Policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j, a := p.queue.Take(id)
	if j == nil {
		return a, false
	}
	i := int(a.Task.Phase)
	if j.Phase(i).Running() == 1 {
		j.Data.phases[i].since = int64(p.queue.Ledger.Now())
	}
	p.remeasure(j, i)
	p.queue.Update(j)
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if something
// may start.
func (p *Policy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
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
//	key    unit    meaning
//	work   slot s  work in its tasks that neither run nor have finished, as predicted
//	first  s       for how long jobs that come may still come before it; 0 if none may any more. As
//	               predicted when it was filed last; of several classes the longest
//	rank   jobs    live jobs that come before it; -1 if it is cancelled
//	rule   text    which rule of the order decides, if it has something to start
func (p *Policy) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.queue.Ledger.Job(id)
	if j == nil {
		return nil, false
	}
	now := since(int64(p.queue.Ledger.Now()))
	var work, first wide.Uint128
	waits, leads, before := false, false, false // something can start; it is the first of a class; a job before it is due
	for i := range j.NumSides() {
		work = work.AddCapped(j.Data.sides[i].all())
		side := j.Side(i)
		if side.Startable() == 0 {
			continue
		}
		own := p.key(j, side)
		first = later(first, own.due)
		if head, ok := p.queue.First(side.Class()); ok && j.Room() > 0 {
			waits, leads = true, leads || !head.less(own)
			before = before || head.less(own) && !now.Less(head.due)
		}
	}
	attrs := append(p.queue.Attrs(j), slog.Float64("work", seconds(work)), slog.Float64("first", seconds(later(first, now).Sub(now))), slog.Int("rank", p.queue.Rank(j)))
	if waits && !j.Cancelled() {
		rule := "jobs with an earlier due date are before it: they have less work left, or came long before"
		switch {
		case !now.Less(first):
			rule = "it is due: no job that comes later is before it"
		case leads:
			rule = "it is the first: no job has an earlier due date"
		case before:
			rule = "a job that is due is before it"
		}
		attrs = append(attrs, slog.String("rule", rule))
	}
	return attrs, true
}

// seconds returns slot-nanoseconds in slot-seconds.
func seconds(x wide.Uint128) float64 {
	return (float64(float64(x.Hi)*(1<<64)) + float64(x.Lo)) / 1e9
}
