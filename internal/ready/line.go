package ready

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// A Line is the phases of a job that could start a task if there were room for it by [sojourn.Job.Parallelism]. The first one
// of each class, by its number, may start, while there is room. So the start that takes the last room, and the end that
// makes room again, concern one phase of each class and not all. The zero Line is empty.
type Line struct {
	classes []lane // by class
}

// A lane is the part of one class.
type lane struct {
	open  bitset.Set // phases that could start a task
	first int        // 1 more than the phase that may; 0 if none may
}

func (l *Line) lane(c sojourn.Class) *lane {
	for int(c) >= len(l.classes) {
		l.classes = append(l.classes, lane{})
	}
	return &l.classes[c]
}

// Set says whether a phase could start a task. Call Settle afterwards.
func (l *Line) Set(c sojourn.Class, phase int, open bool) {
	if open {
		l.lane(c).open.Add(phase)
	} else {
		l.lane(c).open.Remove(phase)
	}
}

// First reports whether a phase is the one that may start.
func (l *Line) First(c sojourn.Class, phase int) bool { return l.lane(c).first == phase+1 }

// Settle calls with each phase that may start no more, and then with the one that may, class by class.
func (l *Line) Settle(room bool, file func(phase int, first bool)) {
	for c := range l.classes {
		a := &l.classes[c]
		was := a.first
		if a.first = 0; room && a.open.Len() > 0 {
			a.first = a.open.Min() + 1
		}
		if was > 0 && was != a.first {
			file(was-1, false)
		}
		if a.first > 0 {
			file(a.first-1, true)
		}
	}
}
