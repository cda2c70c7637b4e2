package baseline

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// BackfillOptions configure [NewFCFS], [NewEASY] and [NewConservative]. The zero value is the default.
type BackfillOptions struct {
	// Places is how many places the cluster has. It tells the policy how wide the gangs of a class
	// are: see package gang. Zero means that this is not known; then no job starts out of turn.
	Places int
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o BackfillOptions) Validate() error {
	return option.First("baseline", option.Range("Places", o.Places, 0, sojourn.MaxSlots))
}

// A backfill schedules rigid parallel jobs as gangs in the order of their arrival, without or with backfilling,
// which lets a job start out of turn.
//
// A job has one phase, whose class says how wide it is; others are refused with ErrUnsupported. A
// rigid job is one task. If there are several, each is a gang, and they start one after the other.
// The estimate of a task is its limit: how long it runs at most. Without one it runs for ever, as
// far as is known.
type backfill struct {
	name   string
	rule   backfillRule
	places int
	widths gang.Widths
	ledger ledger.Ledger[rigid]

	waiting []*rigidJob // those that could start if there were room, in the order of arrival

	planned bool // the plan differs from what jobs keep; only with ruleConservative

	choice *rigidJob // what starts next, if chosen is set; nil for nothing
	chosen bool      // since the latest event or assignment
	future profile   // scratch
	turns  []turn    // scratch
}

// A backfillRule says which jobs may start out of turn.
type backfillRule uint8

const (
	ruleFCFS         backfillRule = iota // none
	ruleEASY                             // those that do not delay the first
	ruleConservative                     // those that delay none
)

// rigid is the policy's data about a job.
type rigid struct {
	// With ruleConservative, start is when its next task starts at the latest, by its reservation;
	// forever if it has none. The reservations of an instant are made from those that jobs kept
	// when it began, and when something was started last. So what is reported in several events
	// of an instant leads where one event would.
	start, kept sojourn.Time
}

type rigidJob = ledger.Job[rigid]

// forever is an instant that does not come.
const forever = sojourn.Time(math.MaxInt64)

// NewFCFS returns an empty policy that starts jobs strictly in the order of their arrival, or what
// Validate returns. The zero options are never wrong.
func NewFCFS(opts BackfillOptions) (sojourn.Policy, error) {
	return newBackfill("fcfs", ruleFCFS, opts)
}

// NewEASY returns an empty policy with EASY backfilling, or what Validate returns: a job may start
// out of turn if it does not delay the first one. The zero options are never wrong.
func NewEASY(opts BackfillOptions) (sojourn.Policy, error) {
	return newBackfill("easy", ruleEASY, opts)
}

// NewConservative returns an empty policy with conservative backfilling, or what Validate returns:
// a job may start out of turn if it delays none that came before it. The zero options are never
// wrong.
func NewConservative(opts BackfillOptions) (sojourn.Policy, error) {
	return newBackfill("conservative", ruleConservative, opts)
}

func newBackfill(name string, rule backfillRule, opts BackfillOptions) (sojourn.Policy, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	p := &backfill{name: name, rule: rule, places: opts.Places}
	if p.places == 0 {
		p.rule = ruleFCFS
	} else {
		p.widths, _ = gang.MakeWidths(p.places) // in range: Validate
	}
	p.reset()
	return p, nil
}

// reset gives p the state of a new policy.
func (p *backfill) reset() {
	*p = backfill{name: p.name, rule: p.rule, places: p.places, widths: p.widths}
	p.ledger.Supports = p.Supports()
}

// Supports implements [sojourn.Supporter].
func (p *backfill) Supports() sojourn.Features {
	return sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts | sojourn.FeatureParallelism
}

// check returns an error if job is not rigid.
func (p *backfill) check(job *sojourn.Job) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", sojourn.ErrUnsupported, fmt.Sprintf(format, args...))
	}
	switch class := job.Phases[0].Class; {
	case len(job.Phases) > 1:
		return bad("%d phases: a rigid job is one gang", len(job.Phases))
	case p.places > 0 && p.widths.Width(class) == 0:
		return bad("class %d: on %d places gangs have classes below %d", class, p.places, p.widths.Len())
	}
	return nil
}

// Observe implements [sojourn.Policy].
func (p *backfill) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		if err := p.check(ev.Job); err != nil {
			return &sojourn.EventError{Event: ev, Err: err}
		}
	}
	if ev.At > p.ledger.Now() {
		p.keep()
	}
	c := p.ledger.Apply(&ev)
	p.chosen = false
	if c.Job == nil || ev.Kind == sojourn.TaskProgress || ev.Kind == sojourn.TaskPinned {
		return nil
	}
	p.file(c.Job, c.Ended)
	if ev.Kind == sojourn.TaskFailed || ev.Kind == sojourn.TaskRefused {
		c.Job.Data.kept = min(c.Job.Data.kept, c.Start) // the reservation that the attempt had
	}
	if p.rule == ruleConservative {
		p.plan()
	}
	return nil
}

// file updates the place of a job among those that wait. What begins to wait has no reservation.
func (p *backfill) file(j *rigidJob, ended bool) {
	i, waits := slices.BinarySearchFunc(p.waiting, j.Seq(), func(j *rigidJob, seq uint64) int { return cmp.Compare(j.Seq(), seq) })
	could := !ended && j.Side(0).Startable() > 0
	switch {
	case waits && !could:
		p.waiting = slices.Delete(p.waiting, i, i+1)
	case !waits && could:
		j.Data = rigid{forever, forever}
		p.waiting = slices.Insert(p.waiting, i, j)
	}
}

// width returns how many places a job needs.
func (p *backfill) width(j *rigidJob) int { return p.widths.Width(j.Side(0).Class()) }

// limitOf returns how long the next task of a job that waits runs at most, 0 if that is not known.
func limitOf(j *rigidJob) time.Duration {
	index, _ := j.Phase(0).FirstPending()
	return j.Spec().Phases[0].EstimateOf(int(index))
}

// fits reports whether there is a slot for a job now.
func (p *backfill) fits(j *rigidJob) bool { return p.ledger.FreeSlots(j.Side(0).Class()) > 0 }

// next returns the job that is started next, or nil.
func (p *backfill) next() *rigidJob {
	if !p.chosen {
		p.choice, p.chosen = p.choose(), true
	}
	return p.choice
}

func (p *backfill) choose() *rigidJob {
	switch {
	case len(p.waiting) == 0:
		return nil
	case p.rule == ruleConservative:
		for _, j := range p.waiting {
			if j.Data.start <= p.ledger.Now() && p.fits(j) {
				return j
			}
		}
		return nil
	case p.fits(p.waiting[0]):
		return p.waiting[0]
	case p.rule == ruleFCFS:
		return nil
	}
	now := p.ledger.Now()
	shadow, extra := p.shadow(p.waiting[0])
	for _, j := range p.waiting[1:] {
		d := limitOf(j)
		inTime := shadow < forever && d > 0 && d <= shadow.Sub(now)
		if p.fits(j) && (inTime || p.width(j) <= extra) {
			return j
		}
	}
	return nil
}

// shadow returns when the first job that waits will fit by the limits of what runs, and how many more
// places are free then. It returns forever and 0 if that is not known.
func (p *backfill) shadow(first *rigidJob) (sojourn.Time, int) {
	width := p.width(first)
	for i, s := range p.follow(p.ahead(), first) {
		if s.free < width {
			continue
		}
		if s.at == forever || i == 0 && p.overdue() {
			break
		}
		return s.at, s.free - width
	}
	return forever, 0
}

// overdue reports whether something runs on after its limit.
func (p *backfill) overdue() bool {
	for _, a := range p.ledger.Attempts() {
		if endOf(a) <= p.ledger.Now() {
			return true
		}
	}
	return false
}

// endOf returns when an attempt ends by its limit, forever if it has none.
func endOf(a ledger.Attempt[rigid]) sojourn.Time {
	return after(a.Start, a.Job.Spec().Phases[0].EstimateOf(int(a.Task.Index)))
}

// after returns when something of some limit ends that starts at an instant.
func after(start sojourn.Time, limit time.Duration) sojourn.Time {
	if limit == 0 || limit > forever.Sub(start) {
		return forever
	}
	return start.Add(limit)
}

// Assign implements [sojourn.Policy].
func (p *backfill) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.ledger.Free(id)
	j := p.next()
	if j == nil || j.Side(0).Class() != s.Class {
		return sojourn.Assignment{}, false
	}
	a := p.ledger.Take(j, j.Side(0), id)
	p.chosen = false
	p.keep()
	if j.Data = (rigid{forever, forever}); j.Side(0).Startable() == 0 {
		p.file(j, false)
	} else if p.rule == ruleConservative {
		p.plan()
	}
	return a, true
}

// Seek implements [sojourn.Seeker]: it returns the free slot with the least ID if the job that is
// started next is of the class.
func (p *backfill) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if j := p.next(); j == nil || j.Side(0).Class() != c {
		return 0, false
	}
	return p.ledger.FreeSlot(c)
}

// Admit implements [sojourn.Admitter]: every rigid job is accepted.
func (p *backfill) Admit(job *sojourn.Job) error {
	if err := p.ledger.CheckArrival(job); err != nil {
		return err
	}
	return p.check(job)
}

// AppendRanking implements [sojourn.Explainer]: what waits by arrival, then what runs.
func (p *backfill) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	return p.ledger.AppendRanking(dst, func(list func(*rigidJob)) {
		for _, j := range p.waiting {
			list(j)
		}
	})
}

// Explain implements [sojourn.Explainer]. Its keys are those of [ledger.Ledger.Attrs] and
//
//	key    unit      meaning
//	width  places    how many each of its tasks needs, 0 if Places is not known
//	limit  duration  how long its next task runs at most, if it waits and that is known
//	start  time      when its next task starts at the latest, if it has a reservation
func (p *backfill) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	j := p.ledger.Job(id)
	if j == nil {
		return nil, false
	}
	attrs := append(p.ledger.Attrs(j), slog.Int("width", p.width(j)))
	i := slices.Index(p.waiting, j)
	if i >= 0 && limitOf(j) > 0 {
		attrs = append(attrs, slog.Duration("limit", limitOf(j)))
	}
	start := forever
	switch {
	case i < 0:
	case p.rule == ruleConservative:
		start = j.Data.start
	case p.rule == ruleEASY && i == 0:
		start, _ = p.shadow(j)
	}
	if start < forever {
		attrs = append(attrs, slog.Duration("start", time.Duration(start)))
	}
	return attrs, true
}
