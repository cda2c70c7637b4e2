package whatif

import (
	"cmp"
	"iter"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/history"
)

// A follower follows a history, and notes how a job waits.
type follower struct {
	*Wait
	policy  sojourn.Policy // nil once it differs
	facts   *account.Account
	job     *sojourn.Job // as it arrived; nil before
	names   map[sojourn.JobID]string
	slots   map[sojourn.SlotID]sojourn.Class
	running map[sojourn.SlotID]attempt
	busy    map[sojourn.Class]int // slots of each class that run something
	own     map[sojourn.Class]int // those of them that run the job
	phases  []int                 // running tasks of the job by phase
	ended   bool                  // the job is no longer live
	dropped bool                  // it was cancelled
	later   Later
}

// An attempt is what a slot runs.
type attempt struct {
	task  sojourn.TaskID
	class sojourn.Class
	own   bool // of the job
}

// observe takes an event.
func (f *follower) observe(e *history.Entry) error {
	ev := &e.Event
	if f.policy != nil {
		if err := f.policy.Observe(*ev); (err == nil) != (e.Err == nil) {
			f.differ()
		}
	}
	if e.Err != nil {
		return nil
	}
	f.pass(ev.At)
	if err := f.facts.Observe(*ev); err != nil {
		return err
	}
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
		f.start(ev.Slot.ID, ev.Task, ev.At.Add(-ev.Service))
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		f.stop(ev.Slot.ID)
	case sojourn.JobCancelled:
		f.dropped = f.dropped || ev.Job.ID == f.Job
	}
	f.end()
	return nil
}

// end notes the end of the job.
func (f *follower) end() {
	if f.job == nil || f.ended {
		return
	}
	if _, live := f.facts.Job(f.Job); live {
		return
	}
	if f.ended = true; !f.dropped {
		at := format.Seconds(f.facts.Now())
		f.Finish = &at
	}
}

// pass lets time pass up to an event, and counts what tasks of the job wait in it.
func (f *follower) pass(at sojourn.Time) {
	took := format.Seconds(at.Sub(f.facts.Now()))
	if f.Start == nil || took <= 0 {
		return
	}
	waits, behind := false, false
	for class := range f.waiting() {
		waits, behind = true, behind || f.busy[class] > f.own[class]
	}
	if waits {
		f.later.Waited += took
	}
	if behind {
		f.later.Behind += took
	}
}

// waiting yields the classes of the phases that have a task which could start now.
func (f *follower) waiting() iter.Seq[sojourn.Class] {
	return func(yield func(sojourn.Class) bool) {
		if f.job == nil || f.ended {
			return
		}
		j, ok := f.facts.Job(f.Job)
		if !ok || j.Cancelled || j.Left <= j.Running+j.Held {
			return
		}
		held := make([]int, len(j.Spec.Phases))
		for t := range f.facts.Held(f.Job) {
			held[t.Phase]++
		}
		for i := range j.Spec.Phases {
			ready := f.facts.Left(f.Job, i) > f.phases[i]+held[i]
			for before, finished := range j.Spec.WaitsFor(i) {
				ready = ready && j.Spec.Phases[before].Tasks-f.facts.Left(f.Job, before) >= finished
			}
			if ready && !yield(j.Spec.Phases[i].Class) {
				return
			}
		}
	}
}

// waits reports whether a task of the job could start now on a slot of a class.
func (f *follower) waits(on sojourn.Class) bool {
	for class := range f.waiting() {
		if class == on {
			return true
		}
	}
	return false
}

// arrive notes what is there when the job arrives.
func (f *follower) arrive(ev *sojourn.Event) {
	f.job, f.Name, f.Arrival = ev.Job, ev.Job.Name, format.Seconds(ev.At.Add(-ev.Service))
	f.Sequence = ev.Job.Sequence
	if ev.Job.Release > ev.At {
		at := format.Seconds(ev.Job.Release)
		f.Release = &at
	}
	f.phases = make([]int, len(ev.Job.Phases))
	for slot, class := range f.slots {
		if class == ev.Job.Phases[0].Class {
			f.Slots++
			if _, busy := f.running[slot]; !busy {
				f.Free++
			}
		}
	}
	for id, n := range f.count(ev.Job.Phases[0].Class) {
		f.Before = append(f.Before, Ahead{Job: id, Name: f.names[id], Running: n})
	}
	slices.SortFunc(f.Before, func(a, b Ahead) int { return cmp.Compare(a.Job, b.Job) })
}

// count returns how many tasks of each job run on slots of a class.
func (f *follower) count(class sojourn.Class) map[sojourn.JobID]int {
	count := map[sojourn.JobID]int{}
	for slot, a := range f.running {
		if c, ok := f.slots[slot]; ok && c == class {
			count[a.task.Job]++
		}
	}
	return count
}

// assign takes a decision.
func (f *follower) assign(e *history.Entry) error {
	var ahead *Ahead
	if e.OK && e.Assignment.Task.Job != f.Job && f.waits(f.slots[e.Slot]) {
		ahead = f.overtake(e.Assignment.Task.Job, f.slots[e.Slot])
	}
	if f.policy != nil {
		if a, ok := f.policy.Assign(e.Slot); ok != e.OK || ok && a != e.Assignment {
			if f.differ(); ahead != nil && ahead.Started == 1 {
				ahead.Quantities = nil // by these it would have decided otherwise
			}
		}
	}
	if !e.OK {
		return nil
	}
	f.start(e.Slot, e.Assignment.Task, e.At)
	return f.facts.Take(e.Assignment)
}

// differ gives the policy up.
func (f *follower) differ() { f.policy, f.Differs = nil, f.Differs || !f.ended }

func (f *follower) start(slot sojourn.SlotID, task sojourn.TaskID, at sojourn.Time) {
	class := f.slots[slot]
	own := f.job != nil && !f.ended && task.Job == f.Job
	f.running[slot] = attempt{task, class, own}
	f.busy[class]++
	if !own {
		return
	}
	f.own[class]++
	f.phases[task.Phase]++
	if f.Start == nil {
		start := format.Seconds(at)
		f.Start, f.Waited = &start, start-f.Arrival
	}
}

// stop ends what a slot runs.
func (f *follower) stop(slot sojourn.SlotID) {
	a, ok := f.running[slot]
	if !ok {
		return
	}
	delete(f.running, slot)
	f.busy[a.class]--
	if a.own {
		f.own[a.class]--
		f.phases[a.task.Phase]--
	}
}

// overtake notes that another job gets a slot that the job could have used.
func (f *follower) overtake(other sojourn.JobID, class sojourn.Class) *Ahead {
	list := &f.Before
	if f.Start != nil {
		list = &f.later.Before
	}
	i := slices.IndexFunc(*list, func(a Ahead) bool { return a.Job == other })
	if i < 0 {
		i = len(*list)
		a := Ahead{Job: other, Name: f.names[other]}
		if f.Start != nil {
			a.Running = f.count(class)[other]
		}
		*list = append(*list, a)
	}
	a := &(*list)[i]
	if a.Started++; a.Started > 1 || f.policy == nil {
		return a
	}
	explainer, ok := sojourn.As[sojourn.Explainer](f.policy)
	if !ok {
		return a
	}
	own, ok := explainer.Explain(f.Job)
	theirs, known := explainer.Explain(other)
	if !ok || !known {
		return a
	}
	for _, mine := range own {
		for _, his := range theirs {
			if his.Key == mine.Key && his.Value.String() != mine.Value.String() {
				a.Quantities = append(a.Quantities, Quantity{mine.Key, mine.Value.String(), his.Value.String()})
			}
		}
	}
	return a
}
