package release

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// facts are the events that tell the states of the tasks of a job that has just arrived, none of which runs.
func facts(j *ledger.Job[job]) iter.Seq[sojourn.Event] {
	return func(yield func(sojourn.Event) bool) {
		for i := range j.NumPhases() {
			for k := range j.Spec().Phases[i].Tasks {
				for _, ev := range states(j, i, uint32(k)) {
					if !yield(ev) {
						return
					}
				}
			}
		}
	}
}

// states returns the events that tell the state of a task and the number of the last attempt at it: none if
// the description implies both.
func states(j *ledger.Job[job], phase int, index uint32) (list []sojourn.Event) {
	held := j.Spec().Phases[phase].Held
	tell := func(kind sojourn.EventKind, attempt uint32) {
		task := sojourn.TaskID{Job: j.Spec().ID, Phase: uint16(phase), Index: index}
		list = append(list, sojourn.Event{Kind: kind, Task: task, Attempt: attempt})
	}
	toggle := func(attempt uint32) {
		if held {
			tell(sojourn.TaskReady, attempt)
		} else {
			tell(sojourn.TaskHeld, attempt)
		}
		held = !held
	}
	if n := j.LastAttempt(phase, index); n > 0 {
		toggle(n)
	}
	switch {
	case j.Phase(phase).IsDone(index):
		tell(sojourn.TaskDone, 0)
	case j.IsHeld(phase, index) != held:
		toggle(0)
	}
	return list
}
