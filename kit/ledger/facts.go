package ledger

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
)

// Facts iterates over events that tell a policy which has just been told of the job the states of its tasks, as far as the
// description does not imply them, and the numbers of the attempts at them: phase by phase, tasks in increasing
// order, first those that are pending, then those that are held, then those that are done. They leave out what
// runs, and their At is zero. It takes O(n log n) for n such tasks.
//
// A number takes an event of its own, besides the one that tells the state: without the number a later OutputLost
// would not fit.
func (j *job) Facts() iter.Seq[sojourn.Event] {
	return func(yield func(sojourn.Event) bool) {
		f := facts{job: j, yield: yield}
		var tries []tried
		for t, n := range j.tried() {
			tries = append(tries, tried{t.Phase, t.Index, n})
		}
		for i := range j.phases {
			n := 0
			for n < len(tries) && int(tries[n].phase) == i {
				n++
			}
			if !f.pending(i, tries[:n]) || !f.held(i, tries[:n]) || !f.done(i) {
				return
			}
			tries = tries[n:]
		}
	}
}

// A tried is a task with its number of attempts: see [Job.Tried].
type tried struct {
	phase    uint16
	index    uint32
	attempts uint32
}

// facts tells events until nobody wants more.
type facts struct {
	*job
	yield func(sojourn.Event) bool
}

// tell tells a kind of event of a task, and reports whether more are wanted.
func (f *facts) tell(kind sojourn.EventKind, phase int, index, attempt uint32) bool {
	return f.yield(sojourn.Event{Kind: kind, Task: sojourn.TaskID{Job: f.id, Phase: uint16(phase), Index: index}, Attempt: attempt})
}

// pending tells which tasks of a phase are pending, as far as the description does not imply it, or
// they were attempted.
func (f *facts) pending(i int, tries []tried) bool {
	p := &f.phases[i]
	if f.spec.Phases[i].Held {
		for k, ok := p.nextPending(0); ok; k, ok = p.nextPending(k + 1) {
			if !f.tell(sojourn.TaskReady, i, k, f.LastAttempt(i, k)) {
				return false
			}
		}
		return true
	}
	for _, t := range tries {
		if t.attempts > 0 && p.IsPending(t.index) &&
			!(f.tell(sojourn.TaskHeld, i, t.index, t.attempts) && f.tell(sojourn.TaskReady, i, t.index, 0)) {
			return false
		}
	}
	return true
}

// held tells which tasks of a phase are held.
func (f *facts) held(i int, tries []tried) bool {
	if f.spec.Phases[i].Held { // the others are held from the beginning
		for _, t := range tries {
			if t.attempts > 0 && f.IsHeld(i, t.index) &&
				!(f.tell(sojourn.TaskReady, i, t.index, t.attempts) && f.tell(sojourn.TaskHeld, i, t.index, 0)) {
				return false
			}
		}
		return true
	}
	for k, ok := f.NextHeld(i, 0); ok; k, ok = f.NextHeld(i, k+1) {
		if !f.tell(sojourn.TaskHeld, i, k, f.LastAttempt(i, k)) {
			return false
		}
	}
	return true
}

// done tells which tasks of a phase are done.
func (f *facts) done(i int) bool {
	number := sojourn.TaskHeld
	if f.spec.Phases[i].Held {
		number = sojourn.TaskReady
	}
	p := &f.phases[i]
	for k, ok := p.nextDone(0); ok; k, ok = p.nextDone(k + 1) {
		if n := f.LastAttempt(i, k); n > 0 && !f.tell(number, i, k, n) {
			return false
		}
		if !f.tell(sojourn.TaskDone, i, k, 0) {
			return false
		}
	}
	return true
}
