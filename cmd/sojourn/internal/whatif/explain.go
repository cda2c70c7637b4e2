package whatif

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/history"
)

// A Case is a recorded run, and the policy that decided in it.
type Case struct {
	Entries func() iter.Seq2[history.Entry, error] // checked; may be read again
	Policy  func() (sojourn.Policy, error)         // a new one
	Name    string                                 // of the policy
}

// A Wait says why a job waited. Times are those of the history, in seconds.
type Wait struct {
	Job     sojourn.JobID   `json:"job"`
	Name    string          `json:"name,omitempty"`
	Policy  string          `json:"policy"`
	Arrival format.Seconds  `json:"arrival"`
	Start   *format.Seconds `json:"start"`  // of its first task; null if none has started
	Finish  *format.Seconds `json:"finish"` // null unless its last task has
	Waited  format.Seconds  `json:"waited"` // until its start, or the end of the history

	// Free is how many slots of the class of its first phase were free when it arrived, and
	// Slots how many there were.
	Free  int `json:"free_slots"`
	Slots int `json:"slots"`

	// Differs says that the policy does not decide as was recorded, so that its quantities are
	// not known.
	Differs bool `json:"differs,omitempty"`

	Before  []Ahead  `json:"before"` // by arrival at the policy's choice
	Changes []Change `json:"changes"`
	Schema  int      `json:"schema"`

	again *Again
}

// An Ahead is a job that had slots which the job that waited could have used.
type Ahead struct {
	Job     sojourn.JobID `json:"job"`
	Name    string        `json:"name,omitempty"`
	Running int           `json:"running"` // its tasks when the job arrived
	Started int           `json:"started"` // its tasks that started while the job waited

	// Quantities are those that the policy explains both jobs by, where they differ, just before
	// it first started a task of this job and not of the other.
	Quantities []Quantity `json:"quantities,omitempty"`
}

// A Quantity is a quantity of the policy, of the job that waited and of the one ahead.
type Quantity struct {
	Key   string `json:"key"`
	Own   string `json:"own"`
	Ahead string `json:"ahead"`
}

// ErrNoJob is the error for a job that the history does not know.
type ErrNoJob struct{ Job sojourn.JobID }

func (e *ErrNoJob) Error() string {
	return fmt.Sprintf("no job %d was accepted in the history", e.Job)
}

// A follower follows a history up to the start of a job.
type follower struct {
	*Wait
	policy  sojourn.Policy // nil once it differs
	job     *sojourn.Job   // nil before it arrives
	names   map[sojourn.JobID]string
	slots   map[sojourn.SlotID]sojourn.Class
	running map[sojourn.SlotID]sojourn.JobID
	left    int
	now     sojourn.Time
}

// Explain says why a job waited.
func Explain(ctx context.Context, c Case, id sojourn.JobID) (*Wait, error) {
	p, err := c.Policy()
	if err != nil {
		return nil, err
	}
	f := &follower{
		Wait:   &Wait{Job: id, Policy: c.Name, Schema: format.Schema, Before: []Ahead{}, Changes: []Change{}},
		policy: p, names: map[sojourn.JobID]string{},
		slots: map[sojourn.SlotID]sojourn.Class{}, running: map[sojourn.SlotID]sojourn.JobID{},
	}
	for e, err := range c.Entries() {
		if err != nil {
			return nil, err
		}
		switch e.Kind {
		case history.Observe:
			f.observe(&e)
		case history.Assign:
			f.assign(&e)
		}
	}
	if f.job == nil {
		return nil, &ErrNoJob{id}
	}
	if f.Start == nil {
		f.Waited = format.Seconds(f.now) - f.Arrival
	}
	f.Changes, f.again, err = changes(ctx, c, id)
	return f.Wait, err
}

// observe takes an event.
func (f *follower) observe(e *history.Entry) {
	ev := &e.Event
	if f.policy != nil {
		if err := f.policy.Observe(*ev); (err == nil) != (e.Err == nil) {
			f.differ()
		}
	}
	if e.Err != nil {
		return
	}
	f.now = ev.At
	switch ev.Kind {
	case sojourn.SlotAdded:
		f.slots[ev.Slot.ID] = ev.Slot.Class
	case sojourn.SlotRemoved:
		delete(f.slots, ev.Slot.ID)
	case sojourn.JobArrived, sojourn.JobAdopted:
		f.names[ev.Job.ID] = ev.Job.Name
		if ev.Job.ID == f.Job && f.job == nil {
			f.arrive(ev)
		}
	case sojourn.TaskAdopted:
		f.start(ev.Slot.ID, ev.Task.Job, ev.At.Add(-ev.Service))
	case sojourn.TaskFailed, sojourn.TaskRefused:
		delete(f.running, ev.Slot.ID)
	case sojourn.TaskFinished:
		delete(f.running, ev.Slot.ID)
		f.done(ev)
	case sojourn.TaskDone:
		f.done(ev)
	case sojourn.OutputLost:
		if f.job != nil && ev.Task.Job == f.Job {
			f.left++
		}
	}
}

// done counts a task that is done.
func (f *follower) done(ev *sojourn.Event) {
	if f.job == nil || ev.Task.Job != f.Job {
		return
	}
	if f.left--; f.left == 0 {
		at := format.Seconds(ev.At)
		f.Finish = &at
	}
}

// arrive notes what is there when the job arrives.
func (f *follower) arrive(ev *sojourn.Event) {
	f.job, f.Name, f.Arrival = ev.Job, ev.Job.Name, format.Seconds(ev.At.Add(-ev.Service))
	for i := range ev.Job.Phases {
		f.left += ev.Job.Phases[i].Tasks
	}
	count := map[sojourn.JobID]int{}
	for slot, class := range f.slots {
		if class == ev.Job.Phases[0].Class {
			f.Slots++
			if id, busy := f.running[slot]; busy {
				count[id]++
			} else {
				f.Free++
			}
		}
	}
	for id, n := range count {
		f.Before = append(f.Before, Ahead{Job: id, Name: f.names[id], Running: n})
	}
	slices.SortFunc(f.Before, func(a, b Ahead) int { return cmp.Compare(a.Job, b.Job) })
}

// assign takes a decision.
func (f *follower) assign(e *history.Entry) {
	if e.OK && e.Assignment.Task.Job != f.Job && f.waits() && f.slots[e.Slot] == f.job.Phases[0].Class {
		f.overtake(e.Assignment.Task.Job)
	}
	if f.policy != nil {
		if a, ok := f.policy.Assign(e.Slot); ok != e.OK || ok && a != e.Assignment {
			f.differ()
		}
	}
	if e.OK {
		f.start(e.Slot, e.Assignment.Task.Job, e.At)
	}
}

// waits reports whether the job has arrived and not started.
func (f *follower) waits() bool { return f.job != nil && f.Start == nil }

// differ gives the policy up.
func (f *follower) differ() { f.policy, f.Differs = nil, f.Differs || f.Start == nil }

func (f *follower) start(slot sojourn.SlotID, job sojourn.JobID, at sojourn.Time) {
	f.running[slot] = job
	if job == f.Job && f.waits() {
		start := format.Seconds(at)
		f.Start, f.Waited = &start, start-f.Arrival
	}
}

// overtake notes that another job gets a slot that the job could have used.
func (f *follower) overtake(other sojourn.JobID) {
	i := slices.IndexFunc(f.Before, func(a Ahead) bool { return a.Job == other })
	if i < 0 {
		i = len(f.Before)
		f.Before = append(f.Before, Ahead{Job: other, Name: f.names[other]})
	}
	a := &f.Before[i]
	if a.Started++; a.Started > 1 || f.policy == nil {
		return
	}
	explainer, ok := sojourn.As[sojourn.Explainer](f.policy)
	if !ok {
		return
	}
	own, ok := explainer.Explain(f.Job)
	theirs, known := explainer.Explain(other)
	if !ok || !known {
		return
	}
	for _, mine := range own {
		for _, his := range theirs {
			if his.Key == mine.Key && his.Value.String() != mine.Value.String() {
				a.Quantities = append(a.Quantities, Quantity{mine.Key, mine.Value.String(), his.Value.String()})
			}
		}
	}
}
