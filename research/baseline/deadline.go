package baseline

import (
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/locality"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// DeadlineConstraintOptions configure [NewDeadlineConstraint]. The zero value is the default.
type DeadlineConstraintOptions struct {
	// HoldSlots lets a job hold a reduce slot for each of its reduce tasks, from its first
	// map until the task has ended. It holds only slots that earlier jobs do not hold. Hadoop
	// behaves like this, since by default its reduce tasks take their slots while the maps go
	// on. Without HoldSlots, jobs whose reduces may start before all maps have ended are not
	// supported, since the test assumes that reduces start later.
	HoldSlots bool
}

// Validate returns nil: all options are valid.
func (o DeadlineConstraintOptions) Validate() error { return nil }

// A deadlineConstraint is the scheduler of Kc and Anyanwu, as Section III of the RTMR paper describes it.
type deadlineConstraint struct {
	opts   DeadlineConstraintOptions
	ledger ledger.Ledger[constraint]
	inputs *locality.Index[constraint]
	ready  ready.Queue[deadlineKey]
	slots  [2]int                    // by class: slots that do not retire
	jobs   []*ledger.Job[constraint] // HoldSlots: live jobs, in the order in which they hold slots
}

// A constraint is the result of the test for a job when the policy heard of it.
type constraint struct {
	told     sojourn.Time // when the policy heard of it
	maps     int          // n: the greatest number of its maps that run at a time; 0 if it has none
	reduces  int          // R
	start    sojourn.Time // S: the latest start of its reduces
	deadline sojourn.Time // DL; the last instant if there is none
	hopeless bool         // a map that starts at once ends after S
}

// A deadlineKey orders jobs by deadline, those without one last, and then by arrival.
type deadlineKey struct {
	deadline sojourn.Time
	seq      uint64
}

// NewDeadlineConstraint returns an empty policy, or what Validate returns. The zero options are never wrong.
func NewDeadlineConstraint(opts DeadlineConstraintOptions) (sojourn.Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &deadlineConstraint{opts: opts}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *deadlineConstraint) reset() {
	*p = deadlineConstraint{opts: p.opts, ready: ready.New(func(a, b deadlineKey) bool {
		return a.deadline < b.deadline || a.deadline == b.deadline && a.seq < b.seq
	}, func(k deadlineKey) (hi, lo uint64) { return uint64(k.deadline), k.seq })}
	p.ledger.Supports = option.Features&^(sojourn.FeatureNeeds|sojourn.FeatureSpeed) | sojourn.FeatureParallelism
	p.inputs = locality.New(&p.ledger)
}

// Observe implements [sojourn.Policy].
func (p *deadlineConstraint) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	var told constraint
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		var err error
		if told, err = p.constrain(ev.Job, ev.At); err == nil && ev.Kind == sojourn.JobArrived {
			err = p.test(ev.Job, &told, ev.At)
		}
		if err != nil {
			return &sojourn.EventError{Event: ev, Err: err}
		}
	}
	c := p.ledger.Apply(&ev)
	p.inputs.Update(&ev, &c)
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.count(c.Slot.Class, 1)
	case sojourn.SlotRemoved:
		p.count(c.Slot.Class, -1)
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		c.Job.Data = told
		p.file(c.Job)
	}
	if c.Job != nil {
		p.update(c.Job)
	}
	if c.Ended {
		p.unfile(c.Job)
	}
	return nil
}

// count counts slots that come and go. A busy one goes when it retires.
func (p *deadlineConstraint) count(c sojourn.Class, by int) {
	if int(c) < len(p.slots) {
		p.slots[c] += by
	}
}

// constrain computes the constraint of a job that the policy hears of at an instant. The
// error wraps ErrUnsupported.
func (p *deadlineConstraint) constrain(job *sojourn.Job, at sojourn.Time) (c constraint, err error) {
	bad := func(format string, args ...any) (constraint, error) {
		return c, fmt.Errorf("%w: %s", sojourn.ErrUnsupported, fmt.Sprintf(format, args...))
	}
	var eps [2]time.Duration
	var tasks [2]int
	for i := range job.Phases {
		ph := &job.Phases[i]
		switch {
		case i == 2:
			return bad("%d phases, want a map and a reduce phase", len(job.Phases))
		case ph.Class != sojourn.MapClass && ph.Class != sojourn.ReduceClass:
			return bad("phase %d is of class %d, neither map nor reduce", i, ph.Class)
		case i == 1 && (ph.Class != sojourn.ReduceClass || job.Phases[0].Class != sojourn.MapClass):
			return bad("the phases are not a map and a reduce phase")
		case i == 1 && !p.opts.HoldSlots && job.Threshold(1) != job.Phases[0].Tasks:
			return bad("phase 1 may start before phase 0 ends (after %d)", ph.After)
		}
		tasks[ph.Class] = ph.Tasks
		for k := range ph.Tasks {
			d := ph.EstimateOf(k)
			if d == 0 {
				return bad("phase %d has a task without an estimate", i)
			}
			eps[ph.Class] = max(eps[ph.Class], d)
			if ph.Estimates == nil {
				break
			}
		}
	}
	c = constraint{told: at, maps: tasks[sojourn.MapClass], reduces: tasks[sojourn.ReduceClass], start: math.MaxInt64, deadline: math.MaxInt64}
	if job.Deadline == 0 {
		return c, nil
	}
	c.deadline = job.Deadline
	c.start = job.Deadline - sojourn.Time(eps[sojourn.ReduceClass])
	if c.maps == 0 {
		return c, nil
	}
	// Until S, a slot runs this many maps, one after the other.
	rounds := int64(c.start.Sub(at)) / int64(eps[sojourn.MapClass])
	if c.hopeless = rounds < 1; !c.hopeless {
		c.maps = int((int64(c.maps)-1)/rounds) + 1
	}
	return c, nil
}

// test is the schedulability test at an instant. The error wraps a RejectedError and
// says what is missing. The test does not find out how late the job would be.
func (p *deadlineConstraint) test(job *sojourn.Job, c *constraint, at sojourn.Time) error {
	if job.Deadline == 0 {
		return nil
	}
	promised := 0
	for _, k := range p.ledger.AppendJobs(nil) {
		if d := &k.Data; d.start <= c.start && c.start < d.deadline {
			promised += d.reduces
		}
	}
	slots := p.slots[sojourn.ReduceClass]
	var why string
	switch {
	case c.hopeless || c.start < at:
		why = fmt.Sprintf("its reduces would have to start by %v, and no map ends until then", c.start)
	case c.reduces > slots:
		why = fmt.Sprintf("it has %d reduce tasks for %d reduce slots", c.reduces, slots)
	case c.maps > p.ledger.FreeSlots(sojourn.MapClass):
		why = fmt.Sprintf("it needs %d map slots now, and %d are free", c.maps, p.ledger.FreeSlots(sojourn.MapClass))
	case c.reduces > 0 && c.reduces > slots-promised:
		why = fmt.Sprintf("it needs %d reduce slots at %v, and %d are not promised to others", c.reduces, c.start, max(slots-promised, 0))
	default:
		return nil
	}
	return fmt.Errorf("%s: %w", why, &sojourn.RejectedError{Job: job.ID, Misses: job.ID})
}

// update updates the place of j in the queue.
func (p *deadlineConstraint) update(j *ledger.Job[constraint]) {
	for i := range j.NumSides() {
		side := j.Side(i)
		if side.Startable() > 0 && (side.Class() != sojourn.MapClass || side.Running() < j.Data.maps) {
			p.ready.Set(side.Class(), j.Handle(), deadlineKey{j.Data.deadline, j.Seq()})
		} else {
			p.ready.Remove(side.Class(), j.Handle())
		}
	}
}

// file updates the place of j among the jobs that hold slots: by arrival, jobs without a
// deadline last.
func (p *deadlineConstraint) file(j *ledger.Job[constraint]) {
	if !p.opts.HoldSlots {
		return
	}
	p.unfile(j)
	i, _ := slices.BinarySearchFunc(p.jobs, j, holdsBefore)
	p.jobs = slices.Insert(p.jobs, i, j)
}

// unfile removes j from the jobs that hold slots.
func (p *deadlineConstraint) unfile(j *ledger.Job[constraint]) {
	if i := slices.Index(p.jobs, j); i >= 0 {
		p.jobs = slices.Delete(p.jobs, i, i+1)
	}
}

// holdsBefore compares jobs by the order in which they hold slots.
func holdsBefore(a, b *ledger.Job[constraint]) int {
	switch {
	case a.Spec().Deadline != 0 && b.Spec().Deadline == 0:
		return -1
	case a.Spec().Deadline == 0 && b.Spec().Deadline != 0:
		return 1
	}
	return cmp.Compare(a.Seq(), b.Seq())
}

// holders iterates over the jobs that hold reduce slots, and the number that each holds.
func (p *deadlineConstraint) holders() iter.Seq2[*ledger.Job[constraint], int] {
	return func(yield func(*ledger.Job[constraint], int) bool) {
		left := p.ledger.Capacity(sojourn.ReduceClass) // with retiring slots, which the tasks on them hold
		for _, j := range p.jobs {
			if left == 0 {
				return
			}
			held := min(p.wants(j), left)
			if held > 0 && !yield(j, held) {
				return
			}
			left -= held
		}
	}
}

// wants returns how many reduce slots a job holds if there are enough: one for each reduce
// task that runs or may start. While its maps go on, it is one for each reduce task that is
// left. Maps that cannot go on because there are no map slots block nobody.
func (p *deadlineConstraint) wants(j *ledger.Job[constraint]) int {
	side := j.SideOf(sojourn.ReduceClass)
	if side == nil {
		return 0
	}
	last := j.NumPhases() - 1
	if m := j.SideOf(sojourn.MapClass); !j.Phase(last).Ready() && m != nil && (m.Running() > 0 || m.Startable() > 0 && p.ledger.FreeSlots(sojourn.MapClass) > 0) && !j.Cancelled() {
		return j.Spec().Phases[last].Tasks - j.Phase(last).Done()
	}
	return side.Running() + side.Startable()
}

// pick returns the job that gets a free slot of class c, or nil.
func (p *deadlineConstraint) pick(c sojourn.Class) *ledger.Job[constraint] {
	if p.opts.HoldSlots && c == sojourn.ReduceClass {
		for j, held := range p.holders() {
			if side := j.SideOf(c); side.Startable() > 0 && side.Running() < held {
				return j
			}
		}
		return nil
	}
	h, _, ok := p.ready.First(c)
	if !ok {
		return nil
	}
	return p.ledger.ByHandle(h)
}

// Assign implements [sojourn.Policy]. The slot goes to the job with the earliest
// deadline that has a task for it and runs fewer maps than it needs. With HoldSlots
// a reduce slot goes to the first job that holds one and has a task for it.
func (p *deadlineConstraint) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	j := p.pick(s.Class)
	if j == nil {
		return sojourn.Assignment{}, false
	}
	phase := j.NextPhase(j.SideOf(s.Class))
	pick, _ := p.inputs.Find(j, phase, s, sojourn.Remote)
	a := p.inputs.Take(j, phase, pick, id)
	p.update(j)
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if a job may
// start a task.
func (p *deadlineConstraint) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if p.pick(c) == nil {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// Supports implements [sojourn.Supporter]: all features but Needs and speeds.
func (p *deadlineConstraint) Supports() sojourn.Features { return p.ledger.Supports }

// Admit implements [sojourn.Admitter].
func (p *deadlineConstraint) Admit(job *sojourn.Job) error {
	if err := p.ledger.CheckArrival(job); err != nil {
		return err
	}
	c, err := p.constrain(job, p.ledger.Now())
	if err != nil {
		return err
	}
	return p.test(job, &c, p.ledger.Now())
}

// AppendRanking implements [sojourn.Explainer]: by deadline.
func (p *deadlineConstraint) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	jobs := p.ledger.AppendJobs(nil)
	slices.SortFunc(jobs, func(a, b *ledger.Job[constraint]) int {
		if a.Data.deadline < b.Data.deadline || a.Data.deadline == b.Data.deadline && a.Seq() < b.Seq() {
			return -1
		}
		return 1
	})
	for _, j := range jobs {
		dst = append(dst, j.Spec().ID)
	}
	return dst
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Ledger.Attrs] and
//
//	key         unit   meaning
//	n           slots  greatest number of its maps that run at a time
//	deadline    time   DL, if it has one
//	S           time   the latest start of its reduces, if it has a deadline
//	held_slots  slots  reduce slots that it holds, with HoldSlots
func (p *deadlineConstraint) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := append(p.ledger.Attrs(j), slog.Int("n", j.Data.maps))
	if j.Spec().Deadline > 0 {
		attrs = append(attrs, slog.Duration("deadline", time.Duration(j.Data.deadline)), slog.Duration("S", time.Duration(j.Data.start)))
	}
	if p.opts.HoldSlots {
		held := 0
		for k, n := range p.holders() {
			if k == j {
				held = n
			}
		}
		attrs = append(attrs, slog.Int("held_slots", held))
	}
	return attrs, true
}
