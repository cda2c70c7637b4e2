package sim

import (
	"iter"

	"github.com/sojourn-sched/sojourn"
)

// inputs iterates over the phases whose output phase p reads: those that it needs, or the one
// before it. A phase of NoBarrier reads none.
func (j *Job) inputs(p int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if j.Phases[p].Needs == nil {
			if p > 0 && j.Phases[p].After != sojourn.NoBarrier {
				yield(p - 1)
			}
			return
		}
		for _, k := range j.Phases[p].Needs {
			if !yield(k) {
				return
			}
		}
	}
}

// hasNeeds reports whether a phase of j says what it needs.
func (j *Job) hasNeeds() bool { return j.Features()&sojourn.FeatureNeeds != 0 }

// listReaders lists the phases that read the output of each phase; nil if each is read by the
// next one at most.
func (j *Job) listReaders() [][]int {
	if !j.hasNeeds() {
		return nil
	}
	lists := make([][]int, len(j.Phases))
	for p := range j.Phases {
		for k := range j.inputs(p) {
			lists[k] = append(lists[k], p)
		}
	}
	return lists
}

// readersOf iterates over the phases that read the output of phase p.
func (j *job) readersOf(p int) iter.Seq[int] {
	return func(yield func(int) bool) {
		if j.readers == nil {
			if p+1 < len(j.phases) && j.Phases[p+1].After != sojourn.NoBarrier {
				yield(p + 1)
			}
			return
		}
		for _, k := range j.readers[p] {
			if !yield(k) {
				return
			}
		}
	}
}

// turnedBy iterates over the phases that may start, or no longer may, since of phase p another number of tasks than
// before is finished. All that read it are looked at only if it was or is whole, and else the next one.
func (j *job) turnedBy(p, before int) iter.Seq[int] {
	ph := &j.phases[p]
	looked := j.readersOf(p)
	if j.readers != nil && before != ph.tasks && ph.finished != ph.tasks {
		looked = func(yield func(int) bool) {
			if p+1 < len(j.phases) && j.Phases[p+1].Needs == nil {
				yield(p + 1)
			}
		}
	}
	return func(yield func(int) bool) {
		for k := range looked {
			least := ph.tasks
			if j.Phases[k].Needs == nil {
				least = j.Threshold(k)
			}
			if (before >= least) == (ph.finished >= least) {
				continue
			}
			if before < least {
				j.phases[k].unmet--
			} else {
				j.phases[k].unmet++
			}
			if !yield(k) {
				return
			}
		}
	}
}

// open reports whether enough tasks have finished for the tasks of phase p to start.
func (j *job) open(p int) bool { return j.phases[p].unmet == 0 }

// arrival returns when all that phase p reads is there; never if a phase that it reads has not
// finished.
func (j *job) arrival(p int) (at sojourn.Time) {
	if j.phases[p].missing > 0 {
		return never
	}
	return j.phases[p].input
}
