package baseline

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/reserve"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// FSPOptions configure [NewFSP]. The zero value is the default.
type FSPOptions struct {
	// Late says how to serve phases that have ended in the virtual cluster but not in
	// reality. LateDefault is LateFirst, which the theorem needs; LateShare is better if
	// sizes are estimates.
	Late vqueue.Late

	// DefaultTaskTime is how long a task without an estimate is assumed to take. Zero
	// means one minute.
	DefaultTaskTime time.Duration

	// Reserve is the share of the slots of each class, from 0 to 1, that is kept free for
	// short tasks and for phases that run little: see package kit/reserve. The number of
	// slots is rounded to the nearest whole number, halves up, and is less than all
	// slots. Zero means no reserve.
	Reserve float64

	// Counted makes the reserve count which tasks hold the slots, and gives the virtual
	// cluster all slots except the reserved ones: the theorem then holds with that number of
	// slots. Short jobs wait longer.
	Counted bool
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o FSPOptions) Validate() error {
	return option.First("baseline",
		option.Choice("Late", o.Late),
		option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0),
		option.Range("Reserve", o.Reserve, 0, 1))
}

type member = inside.Member

// An fsp is the Fair Sojourn Protocol.
type fsp struct {
	member
	late     vqueue.Late
	taskTime time.Duration
	ledger   ledger.Ledger[fspData]
	inputs   *locality.Index[fspData]
	queues   []*vqueue.Queue[fspPhase] // by class: phases that are ready and not finished
	opts     reserve.Options
	reserve  *reserve.Reserve // nil if nothing is reserved
	fed      []int            // scratch
}

// fspData is the policy's data about a job.
type fspData struct {
	phases []*vqueue.Item[fspPhase] // in the queue of its class, from the time the phase is ready until it is finished
	line   ready.Line               // if the job is bounded
}

type fspPhase struct {
	job   *ledger.Job[fspData]
	phase int
	work  wide.Uint128 // slot-nanoseconds, as reported to the virtual cluster

	bucket uint8 // of its longest task; 0 if nothing is reserved
}

// NewFSP returns an empty policy, or what Validate returns. The zero options are never wrong.
func NewFSP(opts FSPOptions) (sojourn.Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &fsp{
		late:     opts.Late.Or(vqueue.LateFirst),
		taskTime: cmp.Or(opts.DefaultTaskTime, option.DefaultTaskTime),
		opts:     reserveOptions(opts.Reserve, opts.Counted),
	}
	p.member = inside.MemberOf(p.join)
	p.reset()
	return p, nil
}

// Observe implements [sojourn.Policy].
func (p *fsp) Observe(ev sojourn.Event) error {
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
	p.inputs.Update(&ev, &c)
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.SlotRemoved:
		p.setCapacity(c.Slot.Class)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if p.reserve != nil {
			p.reserve.Ended(c.Slot)
		}
		p.setCapacity(c.Slot.Class) // a retiring slot leaves with its attempt
		p.updateFrom(c.Job, int(ev.Task.Phase))
	case sojourn.OutputLost:
		if it := c.Job.Data.phases[ev.Task.Phase]; it != nil { // work that must be done again adds to the work
			p.reviseBy(it, wide.Uint128{}, charge.TaskWork(&c.Job.Spec().Phases[ev.Task.Phase], ev.Task.Index, p.taskTime))
		}
		p.updateFrom(c.Job, int(ev.Task.Phase))
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskAdopted:
		p.updateFrom(c.Job, int(ev.Task.Phase))
	case sojourn.TaskDone:
		if it := c.Job.Data.phases[ev.Task.Phase]; it != nil {
			p.reviseBy(it, charge.TaskWork(&c.Job.Spec().Phases[ev.Task.Phase], ev.Task.Index, p.taskTime), wide.Uint128{})
		}
		p.updateFrom(c.Job, int(ev.Task.Phase))
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised, sojourn.JobCancelled:
		if c.Job.Data.phases == nil {
			c.Job.Data.phases = make([]*vqueue.Item[fspPhase], c.Job.NumPhases())
			p.count(c.Job.Spec())
		}
		for i := range c.Job.NumPhases() {
			if it := c.Job.Data.phases[i]; it != nil && before != nil {
				p.reviseBy(it, p.total(before, i), p.total(c.Job.Spec(), i))
				it.Value.bucket = p.bucket(c.Job, i)
			}
			p.update(c.Job, i)
		}
	}
	if c.Job != nil && c.Job.Bounded() {
		p.settle(c.Job)
	}
	return nil
}

// queue returns the virtual cluster of a class.
func (p *fsp) queue(c sojourn.Class) *vqueue.Queue[fspPhase] {
	for int(c) >= len(p.queues) {
		q := vqueue.New[fspPhase](p.late)
		q.Advance(p.ledger.Now(), nil)
		q.SetCapacity(p.capacity(sojourn.Class(len(p.queues))))
		p.queues = append(p.queues, q)
	}
	return p.queues[c]
}

func (p *fsp) setCapacity(c sojourn.Class) { p.queue(c).SetCapacity(p.capacity(c)) }

// capacity returns the number of slots of the virtual cluster of a class.
func (p *fsp) capacity(c sojourn.Class) int {
	if p.reserve != nil && p.opts.Counted {
		return p.ledger.Capacity(c) - p.reserve.Slots(c)
	}
	return p.ledger.Capacity(c)
}

// count counts the phases of a job that arrives.
func (p *fsp) count(spec *sojourn.Job) {
	if p.reserve == nil {
		return
	}
	for i, b := range phaseBuckets(spec, p.taskTime) {
		p.reserve.Lengths(spec.Phases[i].Class).Add(b)
	}
}

// bucket returns the bucket of the longest task of a phase.
func (p *fsp) bucket(j *ledger.Job[fspData], i int) uint8 {
	if p.reserve == nil {
		return 0
	}
	return reserve.Bucket(reserve.Longest(&j.Spec().Phases[i], p.taskTime))
}

// file updates the place of a phase by what it has to start and what it runs.
func (p *fsp) file(q *vqueue.Queue[fspPhase], it *vqueue.Item[fspPhase]) {
	at := it.Value
	ph := at.job.Phase(at.phase)
	ready := ph.Ready() && ph.Pending() > 0
	if c := at.job.Spec().Phases[at.phase].Class; at.job.Bounded() { // the first ones are shown by settle
		at.job.Data.line.Set(c, at.phase, ready)
		ready = ready && at.job.Data.line.First(c, at.phase)
	}
	p.show(q, it, ready)
	q.SetRunning(it, ph.Running())
}

// show says whether a phase may start a task.
func (p *fsp) show(q *vqueue.Queue[fspPhase], it *vqueue.Item[fspPhase], ready bool) {
	if at := it.Value; ready && p.reserve != nil {
		rank := p.reserve.Lengths(at.job.Spec().Phases[at.phase].Class).Rank(at.bucket)
		q.SetLevel(it, reserve.Level(rank, at.job.Phase(at.phase).Running()))
	}
	q.SetReady(it, ready)
}

// settle shows the phases of a bounded job that may start a task, after anything has changed that decides it.
func (p *fsp) settle(j *ledger.Job[fspData]) {
	j.Data.line.Settle(j.Room() > 0, func(i int, first bool) {
		if it := j.Data.phases[i]; it != nil {
			p.show(p.queue(j.Spec().Phases[i].Class), it, first)
		}
	})
}

// updateFrom updates a phase and those that wait for it.
func (p *fsp) updateFrom(j *ledger.Job[fspData], i int) {
	p.update(j, i)
	p.fed = j.AppendFed(p.fed[:0], i)
	for _, k := range p.fed {
		p.update(j, k)
	}
}

// update enters a phase into its queue, updates its place, or finishes it there.
func (p *fsp) update(j *ledger.Job[fspData], i int) {
	ph := j.Phase(i)
	q := p.queue(j.Spec().Phases[i].Class)
	it := j.Data.phases[i]
	if over(j, i) || it == nil && !ph.Ready() {
		if j.Bounded() { // it may have been open in the line before the job was unbounded for a while
			j.Data.line.Set(j.Spec().Phases[i].Class, i, false)
		}
		if it != nil {
			q.Finish(it)
			it.Value = fspPhase{} // the tag may stay for a long time, the job must not
			j.Data.phases[i] = nil
		}
		return
	}
	if it == nil {
		work := p.left(j, i)
		it = q.Arrive(fspPhase{j, i, work, p.bucket(j, i)}, work.Clamp63(), j.Weight())
		j.Data.phases[i] = it
	}
	p.file(q, it)
}

// over reports whether a phase is finished or cancelled.
func over(j *ledger.Job[fspData], i int) bool {
	return j.Cancelled() || j.Phase(i).Done() == j.Spec().Phases[i].Tasks
}

// revise reports the changed work of a phase to the virtual cluster.
func (p *fsp) revise(it *vqueue.Item[fspPhase], work wide.Uint128) {
	it.Value.work = work
	j := it.Value.job
	p.queue(j.Spec().Phases[it.Value.phase].Class).Revise(it, work.Clamp63(), j.Weight())
}

// reviseBy changes the work of a phase by the difference between two descriptions of the job.
func (p *fsp) reviseBy(it *vqueue.Item[fspPhase], before, after wide.Uint128) {
	work := it.Value.work.Add(after)
	if work.Less(before) {
		work = before
	}
	p.revise(it, work.Sub(before))
}

// total returns the work of all tasks of a phase.
func (p *fsp) total(j *sojourn.Job, i int) wide.Uint128 {
	return charge.PhaseWork(&j.Phases[i], charge.NoneDone{}, p.taskTime)
}

// left returns the work of the unfinished tasks of a phase.
func (p *fsp) left(j *ledger.Job[fspData], i int) wide.Uint128 {
	return charge.PhaseWork(&j.Spec().Phases[i], j.Phase(i), p.taskTime)
}

// first returns the phase that gets the next slot of a class, and whether no other phase
// comes before it; false if there is none.
func (p *fsp) first(c sojourn.Class) (it *vqueue.Item[fspPhase], inTurn, ok bool) {
	q := p.queues[c]
	first, ok := q.First()
	if p.reserve == nil || !ok {
		return first, true, ok
	}
	if highest := p.reserve.Highest(c); first.Level() > highest {
		it, ok = q.FirstUpTo(highest)
		return it, false, ok
	}
	return first, true, true
}

// Assign implements [sojourn.Policy].
func (p *fsp) Assign(id sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	s := p.ledger.Free(id)
	q := p.queue(s.Class)
	it, inTurn, ok := p.first(s.Class)
	if !ok {
		return a, false
	}
	j := it.Value.job
	pick, _ := p.inputs.Find(j, it.Value.phase, s, sojourn.Remote)
	a = p.inputs.Take(j, it.Value.phase, pick, id)
	p.file(q, it)
	if j.Bounded() {
		p.settle(j)
	}
	if p.reserve != nil {
		p.reserve.Started(s, inTurn)
	}
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if something
// is startable and, with a reserve, may start.
func (p *fsp) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if int(c) >= len(p.queues) {
		return 0, false
	}
	if _, _, ok := p.first(c); !ok {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// Supports implements [sojourn.Supporter]: all features.
func (p *fsp) Supports() sojourn.Features { return p.ledger.Supports }

// Admit implements [sojourn.Admitter]: every valid job is accepted.
func (p *fsp) Admit(job *sojourn.Job) error { return p.ledger.CheckArrival(job) }

// AppendRanking implements [sojourn.Explainer]: it ranks jobs by their phase that is served
// first, class after class.
func (p *fsp) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.ledger.AppendRanking(dst, func(list func(*ledger.Job[fspData])) {
		for _, q := range p.queues {
			for it := range q.All() {
				list(it.Value.job)
			}
		}
	}) // then the jobs whose next phase lost its input, which are in no queue
}

// filed calls with each class in which j has something to start, and its level there.
func (p *fsp) filed(j *ledger.Job[fspData], filed func(sojourn.Class, int)) {
	for i, it := range j.Data.phases {
		if it != nil && it.Ready() {
			filed(j.Spec().Phases[i].Class, it.Level())
		}
	}
}

// Explain implements [sojourn.Explainer]. Its keys are those of [reserve.Reserve.Explain] and
//
//	key          unit    meaning
//	phaseN       group   phase N, from 0, if it is in a virtual cluster
//	phaseN.v     slot s  v in the papers: the work that it has left there
//	phaseN.late  bool    whether it has ended there
//	rank         jobs    live jobs that come before it; -1 if it is cancelled
func (p *fsp) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := p.ledger.Attrs(j)
	if p.reserve != nil {
		attrs = p.reserve.Explain(attrs, func(filed func(sojourn.Class, int, bool)) {
			p.filed(j, func(c sojourn.Class, level int) { filed(c, level, false) })
		})
	}
	for i, it := range j.Data.phases {
		if it != nil {
			v := p.queue(j.Spec().Phases[i].Class).Remaining(it)
			attrs = append(attrs, slog.Group(fmt.Sprintf("phase%d", i),
				slog.Float64("v", seconds(wide.From64(v))), slog.Bool("late", it.Late())))
		}
	}
	return append(attrs, slog.Int("rank", slices.Index(p.AppendRanking(nil), id))), true
}
