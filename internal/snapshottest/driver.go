package snapshottest

import (
	"errors"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A driver takes a policy through a history.
type driver struct {
	p       sojourn.Policy
	rng     *rand.Rand
	now     sojourn.Time
	n       uint32 // jobs so far
	jobs    map[sojourn.JobID]*sojourn.Job
	running map[sojourn.SlotID]sojourn.Assignment
}

func newDriver(p sojourn.Policy, rng *rand.Rand) *driver {
	return &driver{p: p, rng: rng, jobs: map[sojourn.JobID]*sojourn.Job{}, running: map[sojourn.SlotID]sojourn.Assignment{}}
}

// with returns a driver with the same past that drives another policy.
func (d *driver) with(p sojourn.Policy, rng *rand.Rand) *driver {
	return &driver{p, rng, d.now, d.n, maps.Clone(d.jobs), maps.Clone(d.running)}
}

// grow adds two slots and a job, starts what can start, and ends some of it.
func (d *driver) grow() {
	d.now += sojourn.Time(d.rng.Int64N(int64(10 * time.Second)))
	d.n++
	node := sojourn.NodeID(1 + d.n%7)
	for class := range sojourn.Class(2) {
		d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(2*d.n) + sojourn.SlotID(class), Node: node, Rack: sojourn.RackID(node % 2), Class: class}})
	}
	job := d.job(1 + d.rng.IntN([]int{4, 4, 70}[d.n%3]))
	d.arrive(job)
	d.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: job.ID}})
	if d.n%9 == 0 {
		d.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: node}})
	}
	if d.n%11 == 0 {
		d.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: job.ID / 2}})
	}
	for id := range sojourn.SlotID(2*d.n + 2) {
		if _, busy := d.running[id]; busy && d.rng.IntN(3) == 0 {
			d.end(id)
		}
		if _, busy := d.running[id]; !busy && id > 1 {
			d.assign(id)
		}
	}
}

// goOn does anything that a driver without knowledge of slots and attempts may do. It
// reports events that may not fit, and offers slots that the policy names or that were
// just added. At the end it finishes running tasks, and goes to the last instant.
func (d *driver) goOn() {
	d.findNow()
	for range 25 {
		d.step()
		d.offer()
		if d.rng.IntN(4) == 0 {
			d.ask()
		}
	}
	for _, id := range slices.Sorted(maps.Keys(d.running)) {
		d.end(id)
		d.offer()
	}
	d.now = math.MaxInt64
	d.observe(sojourn.Event{Kind: sojourn.Tick})
	d.offer()
	d.ask()
}

// findNow looks for an instant that is not in the past of the policy.
func (d *driver) findNow() {
	for errors.Is(d.observe(sojourn.Event{Kind: sojourn.Tick}), sojourn.ErrTimeReversed) {
		if d.now = 2*d.now + 1; d.now < 0 {
			d.now = math.MaxInt64
		}
	}
}

// step reports one event, which need not fit.
func (d *driver) step() {
	any := sojourn.TaskID{Job: sojourn.JobID(1 + d.rng.Uint32N(d.n+1)), Phase: uint16(d.rng.IntN(2)), Index: uint32(d.rng.IntN(3))}
	slot := sojourn.SlotID(1000 + d.rng.IntN(1000))
	ends := []time.Duration{0, 1, time.Second, time.Hour, 1 << 50, math.MaxInt64}
	anytime := ends[d.rng.IntN(len(ends))]
	switch d.rng.IntN(16) {
	case 0, 1:
		d.pass(time.Duration(d.rng.Int64N(int64(time.Minute))))
	case 2:
		d.pass(time.Duration(math.MaxInt64 >> d.rng.IntN(63)))
	case 3:
		if w, ok := sojourn.As[sojourn.Waker](d.p); ok {
			if at, ok := w.NextWake(); ok {
				d.pass(max(0, at.Sub(d.now)))
			}
		}
	case 4:
		d.n++
		d.arrive(d.job(1 + d.rng.IntN(3)))
	case 5:
		if old := d.jobs[any.Job]; old != nil {
			job := d.job(1)
			job.ID, job.Name, job.Pool = old.ID, old.Name, old.Pool
			job.Phases = slices.Clone(old.Phases)
			for i := range job.Phases {
				job.Phases[i].Estimate = anytime / time.Duration(job.Phases[i].Tasks)
			}
			if d.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: job}) == nil {
				d.jobs[job.ID] = job
			}
		}
	case 6:
		d.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: any.Job}})
	case 7:
		kind := []sojourn.EventKind{sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone}[d.rng.IntN(3)]
		d.observe(sojourn.Event{Kind: kind, Task: any})
	case 8:
		d.observe(sojourn.Event{Kind: sojourn.OutputLost, Task: any, Attempt: uint32(d.rng.IntN(3))})
	case 9:
		add := sojourn.Slot{ID: slot, Node: sojourn.NodeID(d.rng.IntN(5)), Class: sojourn.Class(any.Phase)}
		if d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: add}) == nil && d.observe(sojourn.Event{
			Kind: sojourn.TaskAdopted, Task: any, Attempt: uint32(1 + d.rng.IntN(3)), Slot: add, Service: anytime,
		}) == nil {
			d.running[slot] = sojourn.Assignment{Task: any, Attempt: 1, Slot: slot}
		}
	case 10:
		add := sojourn.Slot{ID: slot, Node: sojourn.NodeID(d.rng.IntN(5)), Class: sojourn.Class(any.Phase)}
		if d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: add}) == nil {
			d.assign(slot)
		}
	case 11:
		d.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: sojourn.SlotID(d.rng.Uint32N(2*d.n + 2))}})
	case 12:
		kind := []sojourn.EventKind{sojourn.NodeDown, sojourn.NodeUp}[d.rng.IntN(2)]
		d.observe(sojourn.Event{Kind: kind, Slot: sojourn.Slot{Node: sojourn.NodeID(1 + d.rng.IntN(7))}})
	case 13, 14:
		if slots := slices.Sorted(maps.Keys(d.running)); len(slots) > 0 {
			d.end(slots[d.rng.IntN(len(slots))])
		}
	case 15:
		if slots := slices.Sorted(maps.Keys(d.running)); len(slots) > 0 {
			a := d.running[slots[d.rng.IntN(len(slots))]]
			d.observe(sojourn.Event{Kind: sojourn.TaskProgress, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot},
				Progress: uint16(d.rng.IntN(sojourn.MaxProgress + 1)), Service: anytime})
			if d.rng.IntN(3) == 0 {
				d.observe(sojourn.Event{Kind: sojourn.TaskPinned, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			}
		}
	}
}

// pass lets time pass.
func (d *driver) pass(by time.Duration) {
	if d.now += sojourn.Time(by); d.now < 0 {
		d.now = math.MaxInt64
	}
	d.observe(sojourn.Event{Kind: sojourn.Tick})
}

// offer offers the slots that the policy names.
func (d *driver) offer() {
	s, ok := sojourn.As[sojourn.Seeker](d.p)
	for class := sojourn.Class(0); ok && class < 3; class++ {
		for range 5 {
			id, wanted := s.Seek(class)
			if !wanted {
				break
			}
			d.assign(id)
		}
	}
}

// ask asks all questions.
func (d *driver) ask() {
	if w, ok := sojourn.As[sojourn.Waker](d.p); ok {
		w.NextWake()
	}
	if p, ok := sojourn.As[sojourn.Preemptor](d.p); ok {
		p.AppendPreemptions(nil)
	}
	if e, ok := sojourn.As[sojourn.Explainer](d.p); ok {
		for _, id := range e.AppendRanking(nil) {
			e.Explain(id)
		}
		e.Explain(sojourn.JobID(d.n)) // it may be cancelled, or have ended
	}
	if a, ok := sojourn.As[sojourn.Admitter](d.p); ok {
		job := d.job(2)
		job.ID = 1 << 50
		a.Admit(job)
	}
}

// job returns the next job. It has the given number of tasks in a first phase, with
// inputs, and often three tasks in a second one.
func (d *driver) job(tasks int) *sojourn.Job {
	job := &sojourn.Job{
		ID: sojourn.JobID(d.n), Name: "job", Pool: []string{"", "a", "b"}[d.n%3], Weight: float64(1 + d.n%4),
		Deadline: d.now.Add(min(time.Hour, time.Duration(math.MaxInt64-d.now))),
		Phases:   []sojourn.Phase{{Tasks: tasks, Estimate: 10 * time.Second}},
	}
	if d.n%4 != 0 {
		inputs := make([][]sojourn.NodeID, tasks)
		for i := range inputs {
			inputs[i] = []sojourn.NodeID{sojourn.NodeID(1 + d.rng.IntN(7))}
		}
		job.Phases[0].Inputs = sojourn.MakeInputs(inputs)
	}
	if d.n%5 != 0 {
		job.Phases = append(job.Phases, sojourn.Phase{Tasks: 3, Class: 1, Estimate: time.Second})
	}
	return job
}

func (d *driver) arrive(job *sojourn.Job) {
	if d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}) == nil {
		d.jobs[job.ID] = job
	}
}

// assign offers a free slot.
func (d *driver) assign(id sojourn.SlotID) {
	if a, ok := d.p.Assign(id); ok {
		d.running[id] = a
	}
}

// end reports the end of an attempt.
func (d *driver) end(id sojourn.SlotID) {
	a := d.running[id]
	kind := []sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused}[d.rng.IntN(4)]
	d.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}, Service: time.Second})
	delete(d.running, id)
}

// observe reports an event, which need not fit.
func (d *driver) observe(ev sojourn.Event) error {
	ev.At = d.now
	return d.p.Observe(ev)
}
