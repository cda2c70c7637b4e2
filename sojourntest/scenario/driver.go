package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A driver plays a story. It is deliberately simple: it keeps lists and searches
// them.
type driver struct {
	*story
	p         sojourn.Policy
	seeker    sojourn.Seeker
	waker     sojourn.Waker
	preemptor sojourn.Preemptor

	now      sojourn.Time
	jobs     map[sojourn.JobID]*sojourn.Job // the latest description of each
	free     []sojourn.Slot
	running  []*attempt // in the order of their start
	retiring map[sojourn.SlotID]bool
}

// An attempt is a live attempt with the time of its end.
type attempt struct {
	sojourn.Assignment
	slot    sojourn.Slot
	ends    sojourn.Time
	service time.Duration
}

// never is the end of an attempt of unknown length.
const never sojourn.Time = math.MaxInt64

func newDriver(s *story, p sojourn.Policy) *driver {
	d := &driver{story: s, p: p, jobs: map[sojourn.JobID]*sojourn.Job{}, retiring: map[sojourn.SlotID]bool{}}
	d.seeker, _ = sojourn.As[sojourn.Seeker](p)
	d.waker, _ = sojourn.As[sojourn.Waker](p)
	d.preemptor, _ = sojourn.As[sojourn.Preemptor](p)
	return d
}

// maxInstants bounds a story. Otherwise a policy that always wants to be woken
// would make it endless.
const maxInstants = 10_000

// run plays the story to its end.
func (d *driver) run() error {
	for range maxInstants {
		at := never
		for _, a := range d.running {
			at = min(at, a.ends)
		}
		if len(d.events) > 0 {
			at = min(at, d.events[0].At)
		}
		if wake, ok := d.wake(); ok {
			at = min(at, max(wake, d.now))
		}
		if at == never || at > d.until {
			return nil
		}
		d.now = at
		d.instant()
	}
	return fmt.Errorf("the story does not end within %d instants", maxInstants)
}

func (d *driver) wake() (sojourn.Time, bool) {
	if d.waker == nil {
		return 0, false
	}
	return d.waker.NextWake()
}

// instant makes everything happen that is due now.
func (d *driver) instant() {
	for _, a := range slices.Clone(d.running) {
		if a.ends == d.now {
			d.end(a, sojourn.Event{Kind: sojourn.TaskFinished, Service: a.service})
		}
	}
	for len(d.events) > 0 && d.events[0].At == d.now {
		ev := d.events[0]
		d.events = d.events[1:]
		if d.p.Observe(ev) == nil {
			d.apply(&ev)
		}
	}
	if at, ok := d.wake(); ok && at <= d.now {
		d.p.Observe(sojourn.Event{Kind: sojourn.Tick, At: d.now})
	}
	for again := true; again; again = d.preempt() {
		for d.offer() {
		}
	}
}

// end reports that an attempt ends.
func (d *driver) end(a *attempt, ev sojourn.Event) {
	ev.At, ev.Task, ev.Attempt, ev.Slot.ID = d.now, a.Task, a.Attempt, a.slot.ID
	if d.p.Observe(ev) == nil {
		d.apply(&ev)
	}
}

// apply records an event that the policy accepted.
func (d *driver) apply(ev *sojourn.Event) {
	switch ev.Kind {
	case sojourn.SlotAdded:
		if d.retiring[ev.Slot.ID] {
			delete(d.retiring, ev.Slot.ID)
		} else {
			d.free = append(d.free, ev.Slot)
		}
	case sojourn.SlotRemoved:
		if i := d.freeSlot(ev.Slot.ID); i >= 0 {
			d.free = slices.Delete(d.free, i, i+1)
		} else {
			d.retiring[ev.Slot.ID] = true
		}
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		d.jobs[ev.Job.ID] = ev.Job
	case sojourn.TaskAdopted:
		d.start(&sojourn.Assignment{Task: ev.Task, Attempt: ev.Attempt, Slot: ev.Slot.ID}, ev.Service)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		i := slices.IndexFunc(d.running, func(a *attempt) bool { return a.slot.ID == ev.Slot.ID })
		if !d.retiring[ev.Slot.ID] {
			d.free = append(d.free, d.running[i].slot)
		}
		delete(d.retiring, ev.Slot.ID)
		d.running = slices.Delete(d.running, i, i+1)
	}
}

func (d *driver) freeSlot(id sojourn.SlotID) int {
	return slices.IndexFunc(d.free, func(s sojourn.Slot) bool { return s.ID == id })
}

// start records an attempt that has been running for the given time. It reports
// false if the attempt is impossible: the policy is then wrong, as the history
// shows.
func (d *driver) start(as *sojourn.Assignment, ran time.Duration) bool {
	i, job := d.freeSlot(as.Slot), d.jobs[as.Task.Job]
	if i < 0 || job == nil || int(as.Task.Phase) >= len(job.Phases) || int(as.Task.Index) >= job.Phases[as.Task.Phase].Tasks {
		return false
	}
	a := &attempt{Assignment: *as, slot: d.free[i], ends: never}
	d.free = slices.Delete(d.free, i, i+1)
	a.service = d.times[as.Task.Job]
	if a.service == 0 {
		a.service = job.Phases[as.Task.Phase].EstimateOf(int(as.Task.Index))
	}
	if a.service > 0 {
		a.ends = d.now.Add(max(0, a.service-ran))
	}
	d.running = append(d.running, a)
	return true
}

// offer offers all free slots, and reports whether any was taken.
func (d *driver) offer() (taken bool) {
	slices.SortFunc(d.free, func(a, b sojourn.Slot) int { return cmp.Compare(a.ID, b.ID) })
	if d.seeker == nil {
		for _, s := range slices.Clone(d.free) {
			taken = d.assign(s.ID) || taken
		}
		return taken
	}
	classes := map[sojourn.Class]bool{}
	for _, s := range slices.Clone(d.free) {
		if classes[s.Class] {
			continue
		}
		classes[s.Class] = true
		for id, ok := d.seeker.Seek(s.Class); ok; id, ok = d.seeker.Seek(s.Class) {
			if !d.assign(id) {
				break
			}
			taken = true
		}
	}
	return taken
}

// assign offers a slot, and reports whether the policy started something on it.
func (d *driver) assign(id sojourn.SlotID) bool {
	a, ok := d.p.Assign(id)
	return ok && d.start(&a, 0)
}

// preempt kills the attempts that the policy wants killed, and reports whether
// there was one.
func (d *driver) preempt() bool {
	if d.preemptor == nil {
		return false
	}
	killed := false
	for _, v := range d.preemptor.AppendPreemptions(nil) {
		i := slices.IndexFunc(d.running, func(a *attempt) bool { return a.Task == v.Task && a.Attempt == v.Attempt })
		if i >= 0 {
			d.end(d.running[i], sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted})
			killed = true
		}
	}
	return killed
}
