package baseline

import (
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/ledger"
	"github.com/sojourn-sched/sojourn/internal/ready"
)

// DeadlineConstraintOptions configure a [DeadlineConstraint]. The zero value is the
// default.
type DeadlineConstraintOptions struct {
	// HoldSlots starts reduce tasks as early as the job's slow start allows: they hold
	// their slots while the maps go on, as Hadoop does by default. Without it, jobs
	// whose reduces may start before all maps have ended are not supported, since the
	// test assumes that they do not.
	HoldSlots bool
}

// DeadlineConstraint is the scheduler of Kc and Anyanwu as a [sojourn.Policy], as
// Section III of the RTMR paper describes it. It is also a [sojourn.Seeker], a
// [sojourn.Admitter] and a [sojourn.Explainer].
type DeadlineConstraint struct {
	opts   DeadlineConstraintOptions
	ledger ledger.Ledger[constraint]
	ready  ready.Queue[deadlineKey]
	slots  [2]int // by class: slots that do not retire
	free   [2]int
}

// A constraint is what the test found out about a job when it arrived.
type constraint struct {
	maps     int          // n: how many of its maps run at a time, at most; 0 if it has none
	reduces  int          // R
	start    sojourn.Time // S: the latest start of its reduces
	deadline sojourn.Time // DL; the end of time if there is none
	hopeless bool         // no map that starts at once has ended by S
}

// A deadlineKey orders jobs by deadline, those without one last, and then by arrival.
type deadlineKey struct {
	deadline sojourn.Time
	seq      uint64
}

// NewDeadlineConstraint returns an empty policy. No options are wrong.
func NewDeadlineConstraint(opts DeadlineConstraintOptions) (*DeadlineConstraint, error) {
	p := &DeadlineConstraint{opts: opts}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *DeadlineConstraint) reset() {
	*p = DeadlineConstraint{opts: p.opts, ready: ready.New(func(a, b deadlineKey) bool {
		return a.deadline < b.deadline || a.deadline == b.deadline && a.seq < b.seq
	})}
}

// Observe implements [sojourn.Policy].
func (p *DeadlineConstraint) Observe(ev sojourn.Event) error {
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
	_, restored := p.ledger.Attempt(ev.Slot.ID)
	c := p.ledger.Apply(&ev)
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.count(ev.Slot.Class, 1, !restored)
	case sojourn.SlotRemoved:
		p.count(c.Slot.Class, -1, c.SlotGone)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		if !c.SlotGone {
			p.free[c.Slot.Class]++
		}
	case sojourn.TaskAdopted:
		p.free[c.Slot.Class]--
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		c.Job.Data = told
	}
	if c.Job != nil {
		p.update(c.Job)
	}
	return nil
}

// count counts slots that come and go. A busy one that retires or returns is not free.
func (p *DeadlineConstraint) count(c sojourn.Class, by int, free bool) {
	if int(c) >= len(p.slots) {
		return
	}
	p.slots[c] += by
	if free {
		p.free[c] += by
	}
}

// constrain computes the constraints of a job that is told at an instant. The error
// wraps ErrUnsupported.
func (p *DeadlineConstraint) constrain(job *sojourn.Job, at sojourn.Time) (c constraint, err error) {
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
		case ph.Class != sojourn.Map && ph.Class != sojourn.Reduce:
			return bad("phase %d is of class %d, neither map nor reduce", i, ph.Class)
		case i == 1 && (ph.Class != sojourn.Reduce || job.Phases[0].Class != sojourn.Map):
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
	c = constraint{maps: tasks[sojourn.Map], reduces: tasks[sojourn.Reduce], start: math.MaxInt64, deadline: math.MaxInt64}
	if job.Deadline == 0 {
		return c, nil
	}
	c.deadline = job.Deadline
	c.start = job.Deadline - sojourn.Time(eps[sojourn.Reduce])
	if c.maps == 0 {
		return c, nil
	}
	// In the time until S, a slot runs so many maps, one after the other.
	rounds := int64(c.start.Sub(at)) / int64(eps[sojourn.Map])
	if c.hopeless = rounds < 1; !c.hopeless {
		c.maps = int((int64(c.maps)-1)/rounds) + 1
	}
	return c, nil
}

// test is the schedulability test at an instant. The error wraps a RejectedError, and
// says what is missing. How late the job would be is not something that the test finds
// out.
func (p *DeadlineConstraint) test(job *sojourn.Job, c *constraint, at sojourn.Time) error {
	if job.Deadline == 0 {
		return nil
	}
	promised := 0
	for _, k := range p.ledger.AppendJobs(nil) {
		if d := &k.Data; d.start <= c.start && c.start < d.deadline {
			promised += d.reduces
		}
	}
	slots := p.slots[sojourn.Reduce]
	var why string
	switch {
	case c.hopeless || c.start < at:
		why = fmt.Sprintf("its reduces would have to start by %v, and no map ends until then", c.start)
	case c.reduces > slots:
		why = fmt.Sprintf("it has %d reduce tasks for %d reduce slots", c.reduces, slots)
	case c.maps > p.free[sojourn.Map]:
		why = fmt.Sprintf("it needs %d map slots now, and %d are free", c.maps, p.free[sojourn.Map])
	case c.reduces > 0 && c.reduces > slots-promised:
		why = fmt.Sprintf("it needs %d reduce slots at %v, and %d are not promised to others", c.reduces, c.start, max(slots-promised, 0))
	default:
		return nil
	}
	return fmt.Errorf("%s: %w", why, &sojourn.RejectedError{Job: job.ID, Misses: job.ID})
}

// update files j anew.
func (p *DeadlineConstraint) update(j *ledger.Job[constraint]) {
	for i := range j.Sides {
		side := &j.Sides[i]
		if side.Startable > 0 && (side.Class != sojourn.Map || side.Running < j.Data.maps) {
			p.ready.Set(side.Class, j.Handle, deadlineKey{j.Data.deadline, j.Seq})
		} else {
			p.ready.Remove(side.Class, j.Handle)
		}
	}
}

// Assign implements [sojourn.Policy]: the job with the earliest deadline that has a
// task for the slot, and fewer maps running than it needs.
func (p *DeadlineConstraint) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	h, _, ok := p.ready.First(s.Class)
	if !ok {
		return sojourn.Assignment{}, false
	}
	j := p.ledger.ByHandle(h)
	a := p.ledger.Take(j, j.SideOf(s.Class), id)
	p.free[s.Class]--
	p.update(j)
	return a, true
}

// Seek implements [sojourn.Seeker]: the free slot with the least ID, while a job may
// start a task.
func (p *DeadlineConstraint) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if !p.ready.Any(c) {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// Admit implements [sojourn.Admitter].
func (p *DeadlineConstraint) Admit(job *sojourn.Job) error {
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
func (p *DeadlineConstraint) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	jobs := p.ledger.AppendJobs(nil)
	slices.SortFunc(jobs, func(a, b *ledger.Job[constraint]) int {
		if a.Data.deadline < b.Data.deadline || a.Data.deadline == b.Data.deadline && a.Seq < b.Seq {
			return -1
		}
		return 1
	})
	for _, j := range jobs {
		dst = append(dst, j.Spec.ID)
	}
	return dst
}

// Explain implements [sojourn.Explainer]: the state of the job's tasks, how many of its
// maps run at a time (n), its deadline, and the latest start of its reduces (S).
func (p *DeadlineConstraint) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := append(j.Attrs(), slog.Int("n", j.Data.maps))
	if j.Spec.Deadline > 0 {
		attrs = append(attrs, slog.Duration("deadline", time.Duration(j.Data.deadline)), slog.Duration("S", time.Duration(j.Data.start)))
	}
	return attrs, true
}
