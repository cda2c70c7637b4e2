package release

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A policy holds jobs back from the policy inside until they are released.
type policy struct {
	in       inside.Guest
	supports sojourn.Features
	limits   []Limit

	ledger ledger.Ledger[job]
	due    *heap.Heap[due]   // jobs that wait for an instant, by handle
	lines  map[string]*line  // of each Sequence of live jobs
	bounds map[key]*bound    // of live jobs
	made   uint64            // bounds, ever
	crowds map[string]*crowd // of jobs that wait for room
	freed  []*bound          // those from which a released job has gone by the event; empty after it
	looks  int               // at crowds, ever
}

// added are the features that a policy adds.
const added = sojourn.FeatureRelease | sojourn.FeatureSequence

// A job is what the ledger does not know.
type job struct {
	released     bool             // the policy inside knows it
	before, next *ledger.Job[job] // its neighbours in the line of its Sequence
	bounds       []*bound         // by the limits that apply to it
	crowd        *crowd           // where it waits for room; nil if it does not
	place        int              // in crowd.jobs
}

// A line is the live jobs of a Sequence, in the order in which they arrived.
type line struct{ first, last *ledger.Job[job] }

// A due is a place among the jobs that wait for an instant.
type due struct {
	at  sojourn.Time // in the future between two events
	seq uint64
}

func (d due) less(other due) bool {
	if d.at != other.at {
		return d.at < other.at
	}
	return d.seq < other.seq
}

// New returns a policy that holds jobs back from p until they are released, and there is room in all limits. p is new: nothing was
// reported to it. From then on it is used only through this policy, which is also a [sojourn.Supporter], a [sojourn.Waker], a
// [sojourn.Snapshotter], and each other optional interface of package sojourn that p is. Limits may change when a snapshot is restored.
func New(p sojourn.Policy, limits ...Limit) sojourn.Policy {
	r := &policy{in: inside.New("release", p), supports: sojourn.Supports(p) | added, limits: limits}
	r.reset()
	return r
}

func (p *policy) reset() {
	p.ledger = ledger.Ledger[job]{Supports: p.supports}
	p.due = heap.New(due.less, func(d due) (hi, lo uint64) { return uint64(d.at), d.seq })
	p.lines = map[string]*line{}
	p.bounds, p.crowds, p.freed = map[key]*bound{}, map[string]*crowd{}, nil
}

// Supports implements [sojourn.Supporter]: what the policy inside knows, and releases and sequences.
func (p *policy) Supports() sojourn.Features { return p.supports }

// Observe implements [sojourn.Policy].
func (p *policy) Observe(ev sojourn.Event) error {
	if err := p.ledger.Check(&ev); err != nil {
		return err
	}
	holds := (ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted) && p.holds(&ev)
	if err := p.pass(&ev, holds); err != nil {
		return inside.Refused(&ev, err)
	}
	c := p.ledger.Apply(&ev)
	switch {
	case c.Job == nil:
	case c.Ended:
		p.leave(c.Job)
	case ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted:
		p.enter(c.Job, !holds)
	case ev.Kind == sojourn.JobRevised:
		p.bind(c.Job)
		p.file(c.Job)
	}
	p.releaseFreed()
	p.releaseDue()
	return nil
}

// pass reports an event to the policy inside if it may know of it, and else that time has passed.
func (p *policy) pass(ev *sojourn.Event, holds bool) error {
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		if holds {
			return p.admit(ev)
		}
		return p.in.Observe(told(*ev))
	case sojourn.JobRevised:
		if !p.ledger.Job(ev.Job.ID).Data.released {
			return p.admit(ev)
		}
		return p.in.Observe(told(*ev))
	}
	j := p.about(ev)
	switch {
	case j == nil || j.Data.released:
	case ev.Kind == sojourn.TaskAdopted: // what runs is released
		p.release(j, ev.At)
	default:
		p.tick(ev.At)
		return nil
	}
	return p.in.Observe(*ev)
}

// about returns the job that an event steers; nil if it is about none.
func (p *policy) about(ev *sojourn.Event) *ledger.Job[job] {
	switch ev.Kind {
	case sojourn.JobCancelled:
		return p.ledger.Job(ev.Job.ID)
	case sojourn.TaskAdopted, sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost:
		return p.ledger.Job(ev.Task.Job)
	}
	return nil // a report about an attempt is about a job that was released
}

// holds reports whether a job that arrives has to wait.
func (p *policy) holds(ev *sojourn.Event) bool {
	return ev.Job.Release > ev.At || ev.Job.Sequence != "" && p.lines[ev.Job.Sequence] != nil || p.limited(ev.Job, ev.At)
}

// admit asks whether the policy inside would take a job that waits, and lets the time pass to the event if it does.
func (p *policy) admit(ev *sojourn.Event) error {
	if p.in.Admitter == nil {
		return fmt.Errorf("%w: the job has to wait, and a %T cannot say whether it will take it, since it is no Admitter", sojourn.ErrUnsupported, p.in.Policy)
	}
	err := p.in.Admitter.Admit(ev.Job.Without(added))
	if err != nil && !(ev.Kind == sojourn.JobAdopted && errors.Is(err, sojourn.ErrRejected)) {
		return err
	}
	p.tick(ev.At)
	return nil
}

// tick tells the policy inside that time has passed.
func (p *policy) tick(at sojourn.Time) { p.in.Must(sojourn.Event{Kind: sojourn.Tick, At: at}) }

// told returns an event about a job as the policy inside sees it.
func told(ev sojourn.Event) sojourn.Event {
	ev.Job = ev.Job.Without(added)
	return ev
}

// enter gives a job that has arrived its place. The policy inside may know it already.
func (p *policy) enter(j *ledger.Job[job], released bool) {
	spec := j.Spec()
	if name := spec.Sequence; name != "" {
		switch l := p.lines[name]; l {
		case nil:
			p.lines[name] = &line{j, j}
		default:
			j.Data.before, l.last.Data.next, l.last = l.last, j, j
		}
	}
	j.Data.released = released
	p.bind(j)
	p.file(j)
}

// file puts a job that waits for an instant where it belongs. It takes those out that do not.
func (p *policy) file(j *ledger.Job[job]) {
	if !j.Data.released && j.Data.before == nil {
		p.due.Set(j.Handle(), due{max(j.Spec().Release, p.ledger.Now()), j.Seq()})
	} else {
		p.due.Remove(j.Handle())
	}
}

// leave takes a job that has ended out, and lets the next one of its Sequence have its place.
func (p *policy) leave(j *ledger.Job[job]) {
	p.due.Remove(j.Handle())
	p.unbind(j, j.Data.bounds)
	name := j.Spec().Sequence
	if name == "" {
		return
	}
	l, before, next := p.lines[name], j.Data.before, j.Data.next
	if before != nil {
		before.Data.next = next
	} else {
		l.first = next
	}
	if next != nil {
		next.Data.before = before
	} else {
		l.last = before
	}
	if l.first == nil {
		delete(p.lines, name)
	} else if before == nil && !next.Data.released {
		p.file(next)
	}
}

// releaseDue releases the jobs whose instant has come, if there is room.
func (p *policy) releaseDue() {
	for {
		d, ok := p.due.MinKey()
		if !ok || d.at > p.ledger.Now() {
			return
		}
		h, _ := p.due.Min()
		j := p.ledger.ByHandle(h)
		if p.due.Remove(h); !p.park(j, nil) {
			p.release(j, p.ledger.Now())
		}
	}
}

// release tells the policy inside a job that has waited, which may not be refused any more.
func (p *policy) release(j *ledger.Job[job], now sojourn.Time) {
	p.due.Remove(j.Handle())
	p.unpark(j)
	j.Data.released = true
	p.count(j)
	ev := sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: j.Spec().Without(added)}
	if p.in.Observe(ev) != nil {
		ev.Kind = sojourn.JobAdopted
		p.in.Must(ev)
	}
	for ev := range j.Facts() {
		ev.At = now
		p.in.Must(ev)
	}
}

// Assign implements [sojourn.Policy].
func (p *policy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.in.Assign(id)
	if ok {
		p.ledger.TakeTask(p.ledger.Job(a.Task.Job), int(a.Task.Phase), a.Task.Index, a.Slot)
	}
	return a, ok
}

// NextWake implements [sojourn.Waker].
func (p *policy) NextWake() (at sojourn.Time, ok bool) {
	if p.in.Waker != nil {
		at, ok = p.in.Waker.NextWake()
	}
	if d, waits := p.due.MinKey(); waits && (!ok || d.at < at) {
		return d.at, true
	}
	return at, ok
}

// Visit calls f with the policy inside, which f may only ask questions; see [sojourn.As].
func (p *policy) Visit(f func(sojourn.Policy)) { f(p.in.Policy) }

// As sets *target to one of the optional interfaces that the policy inside implements; see [sojourn.As].
func (p *policy) As(target any) bool {
	switch target := target.(type) {
	case *sojourn.Admitter:
		return inside.Answer[sojourn.Admitter](p.in.Policy, target, admitter{p})
	case *sojourn.Explainer:
		return inside.Answer[sojourn.Explainer](p.in.Policy, target, explainer{p})
	case *sojourn.Seeker:
		return inside.Pass(p.in.Policy, target)
	case *sojourn.Preemptor:
		return inside.Pass(p.in.Policy, target)
	case *sojourn.Promiser:
		return inside.Pass(p.in.Policy, target)
	case *sojourn.Sharer:
		return inside.Pass(p.in.Policy, target)
	}
	return false
}

// An admitter answers as Observe would.
type admitter struct{ p *policy }

func (a admitter) Admit(spec *sojourn.Job) error {
	if err := a.p.ledger.CheckArrival(spec); err != nil {
		return err
	}
	return a.p.in.Admitter.Admit(spec.Without(added))
}

// waiting returns the jobs that wait, by release time and then by arrival.
func (p *policy) waiting() (list []*ledger.Job[job]) {
	for j := range p.ledger.All() {
		if !j.Data.released {
			list = append(list, j)
		}
	}
	slices.SortFunc(list, func(a, b *ledger.Job[job]) int {
		if (due{a.Spec().Release, a.Seq()}).less(due{b.Spec().Release, b.Seq()}) {
			return -1
		}
		return 1
	})
	return list
}
