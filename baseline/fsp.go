package baseline

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/locality"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// FSPOptions configure an [FSP]. The zero value is the default.
type FSPOptions struct {
	// Late says how phases are served that have ended in the virtual cluster but
	// not in reality. LateDefault is LateFirst, which is what the theorem needs; LateShare
	// is better when sizes are estimates.
	Late Late

	// DefaultTaskTime is how long a task without an estimate is assumed to take. Zero
	// means one minute.
	DefaultTaskTime time.Duration
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o FSPOptions) Validate() error {
	return option.First("baseline",
		option.Choice("Late", o.Late),
		option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0))
}

// Late says how late phases are served; always before those that are not late.
type Late = vqueue.Late

// What [Late] may be.
const (
	LateDefault = vqueue.LateDefault // LateFirst
	LateFirst   = vqueue.LateFirst   // one after the other, in the order of their virtual ends
	LateShare   = vqueue.LateShare   // together: the one with the fewest running tasks per weight first, as in PSBS
)

// FSP is the Fair Sojourn Protocol as a [sojourn.Policy]. It is also a
// [sojourn.Seeker], a [sojourn.Admitter], a [sojourn.Explainer] and a
// [sojourn.Snapshotter].
type FSP struct {
	late     Late
	taskTime time.Duration
	ledger   ledger.Ledger[fspData]
	inputs   *locality.Index[fspData]
	queues   []*vqueue.Queue[fspPhase] // by class: phases that are ready and not finished
}

// fspData is what the policy keeps of a job: by phase, its place in the queue of
// its class from when it is ready until it is finished.
type fspData []*vqueue.Item[fspPhase]

type fspPhase struct {
	job   *ledger.Job[fspData]
	phase int
	work  wide.Uint128 // slot-nanoseconds that the virtual cluster was told
}

// NewFSP returns an empty policy, or what Validate returns. The zero options are never wrong.
func NewFSP(opts FSPOptions) (*FSP, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &FSP{late: opts.Late.Or(LateFirst), taskTime: cmp.Or(opts.DefaultTaskTime, option.DefaultTaskTime)}
	p.reset()
	return p, nil
}

// Observe implements [sojourn.Policy].
func (p *FSP) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	for _, q := range p.queues {
		q.Advance(ev.At, nil)
	}
	var before *sojourn.Job
	if ev.Kind == sojourn.JobRevised {
		before = p.ledger.Job(ev.Job.ID).Spec()
	}
	c := p.ledger.Apply(&ev)
	p.inputs.Update(&ev, c)
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.SlotRemoved:
		p.setCapacity(c.Slot.Class)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.setCapacity(c.Slot.Class) // a retiring slot leaves with its attempt
		p.update(c.Job, int(ev.Task.Phase))
		p.update(c.Job, int(ev.Task.Phase)+1)
	case sojourn.OutputLost:
		if it := c.Job.Data[ev.Task.Phase]; it != nil { // work to be done again is more work
			p.reviseBy(it, wide.Uint128{}, taskWork(&c.Job.Spec().Phases[ev.Task.Phase], ev.Task.Index, p.taskTime))
		}
		p.update(c.Job, int(ev.Task.Phase))
		p.update(c.Job, int(ev.Task.Phase)+1)
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskAdopted:
		p.update(c.Job, int(ev.Task.Phase))
		p.update(c.Job, int(ev.Task.Phase)+1)
	case sojourn.TaskDone:
		if it := c.Job.Data[ev.Task.Phase]; it != nil {
			p.reviseBy(it, taskWork(&c.Job.Spec().Phases[ev.Task.Phase], ev.Task.Index, p.taskTime), wide.Uint128{})
		}
		p.update(c.Job, int(ev.Task.Phase))
		p.update(c.Job, int(ev.Task.Phase)+1)
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised, sojourn.JobCancelled:
		if c.Job.Data == nil {
			c.Job.Data = make(fspData, c.Job.NumPhases())
		}
		for i := range c.Job.NumPhases() {
			if it := c.Job.Data[i]; it != nil && before != nil {
				p.reviseBy(it, p.total(before, i), p.total(c.Job.Spec(), i))
			}
			p.update(c.Job, i)
		}
	}
	return nil
}

// queue returns the virtual cluster of a class.
func (p *FSP) queue(c sojourn.Class) *vqueue.Queue[fspPhase] {
	for int(c) >= len(p.queues) {
		q := vqueue.New[fspPhase](p.late)
		q.Advance(p.ledger.Now(), nil)
		q.SetCapacity(p.ledger.Capacity(sojourn.Class(len(p.queues))))
		p.queues = append(p.queues, q)
	}
	return p.queues[c]
}

func (p *FSP) setCapacity(c sojourn.Class) { p.queue(c).SetCapacity(p.ledger.Capacity(c)) }

// update brings the place of a phase in its queue up to date.
func (p *FSP) update(j *ledger.Job[fspData], i int) {
	if i >= j.NumPhases() {
		return
	}
	ph := j.Phase(i)
	q := p.queue(j.Spec().Phases[i].Class)
	it := j.Data[i]
	if over(j, i) {
		if it != nil {
			q.Finish(it)
			it.Value = fspPhase{} // the tag may stay for long, the job must not
			j.Data[i] = nil
		}
		return
	}
	if it == nil {
		if !ph.Ready() {
			return
		}
		work := p.left(j, i)
		it = q.Arrive(fspPhase{j, i, work}, clamp(work), j.Weight())
		j.Data[i] = it
	}
	q.SetReady(it, ph.Ready() && ph.Pending() > 0)
	q.SetRunning(it, ph.Running())
}

// over reports whether a phase is finished or cancelled.
func over(j *ledger.Job[fspData], i int) bool {
	return j.Cancelled() || j.Phase(i).Done() == j.Spec().Phases[i].Tasks
}

// revise tells the virtual cluster the work of a phase anew.
func (p *FSP) revise(it *vqueue.Item[fspPhase], work wide.Uint128) {
	it.Value.work = work
	j := it.Value.job
	p.queue(j.Spec().Phases[it.Value.phase].Class).Revise(it, clamp(work), j.Weight())
}

// reviseBy changes the work of a phase by what the job's description says more or
// less than before.
func (p *FSP) reviseBy(it *vqueue.Item[fspPhase], before, after wide.Uint128) {
	work := it.Value.work.Add(after)
	if work.Less(before) {
		work = before
	}
	p.revise(it, work.Sub(before))
}

// total returns the work of all tasks of a phase.
func (p *FSP) total(j *sojourn.Job, i int) wide.Uint128 {
	return phaseWork(&j.Phases[i], p.taskTime, func(uint32) bool { return false }, 0)
}

// left returns the work of the unfinished tasks of a phase.
func (p *FSP) left(j *ledger.Job[fspData], i int) wide.Uint128 {
	return phaseWork(&j.Spec().Phases[i], p.taskTime, j.Phase(i).IsDone, j.Phase(i).Done())
}

// clamp limits work to what a virtual cluster takes: 292 years on one slot.
func clamp(work wide.Uint128) uint64 {
	if work.Hi != 0 {
		return math.MaxInt64
	}
	return min(work.Lo, math.MaxInt64)
}

// Assign implements [sojourn.Policy].
func (p *FSP) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	q := p.queue(s.Class)
	it, ok := q.First()
	if !ok {
		return sojourn.Assignment{}, false
	}
	j, ph := it.Value.job, it.Value.job.Phase(it.Value.phase)
	pick, _ := p.inputs.Find(j, it.Value.phase, s, sojourn.Remote)
	a := p.inputs.Take(j, it.Value.phase, pick, id)
	q.SetReady(it, ph.Pending() > 0)
	q.SetRunning(it, ph.Running())
	return a, true
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while
// anything is startable.
func (p *FSP) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if int(c) >= len(p.queues) {
		return 0, false
	}
	if _, ok := p.queues[c].First(); !ok {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *FSP) Admit(job *sojourn.Job) error { return p.ledger.CheckArrival(job) }

// AppendRanking implements [sojourn.Explainer]: jobs by the phase of theirs that
// is served first, class after class.
func (p *FSP) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.ledger.AppendRanking(dst, func(list func(*ledger.Job[fspData])) {
		for _, q := range p.queues {
			for it := range q.All() {
				list(it.Value.job)
			}
		}
	}) // and last the jobs whose next phase lost its input: they are in no queue
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Job.Attrs] and
//
//	key          unit    meaning
//	phaseN       group   phase N, from 0, if it is in a virtual cluster
//	phaseN.v     slot s  v in the papers: the work that it has left there
//	phaseN.late  bool    whether it has ended there
//	rank         jobs    live jobs that come before it; -1 if it is cancelled
func (p *FSP) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := j.Attrs()
	for i, it := range j.Data {
		if it != nil {
			v := p.queue(j.Spec().Phases[i].Class).Remaining(it)
			attrs = append(attrs, slog.Group(fmt.Sprintf("phase%d", i),
				slog.Float64("v", seconds(wide.From64(v))), slog.Bool("late", it.Late())))
		}
	}
	return append(attrs, slog.Int("rank", slices.Index(p.AppendRanking(nil), id))), true
}
