package sim

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
)

// alone returns the time that a job takes on the idle cluster, by a list
// schedule of its true times. It schedules the tasks of a phase in the order of
// their index, each on the slot that becomes free first, and among these on the
// fastest. A phase starts when the outputs of all tasks of the phases that it
// reads have arrived; a phase of NoBarrier starts at once. Phases that run at the
// same time on the same slots are scheduled one after the other. The result is
// 0 if a phase finds no slot.
func (a *arrivals) alone(j *job) time.Duration {
	overlap := j.readers != nil
	for p := range j.phases[1:] {
		overlap = overlap || j.Phases[p+1].After == sojourn.NoBarrier
	}
	for c := range a.benches {
		a.benches[c] = bench{speeds: a.speeds[c]}
		if overlap {
			a.benches[c].free = make([]time.Duration, len(a.speeds[c]))
		}
	}
	var end time.Duration
	a.arrived = a.arrived[:0]
	for p := range j.phases {
		class := int(j.told.Phases[p].Class)
		if class >= len(a.benches) || len(a.speeds[class]) == 0 {
			return 0
		}
		b := &a.benches[class]
		from := time.Duration(0)
		for k := range j.inputs(p) {
			from = max(from, a.arrived[k])
		}
		schedule := b.list
		if even := b.speeds[0] == b.speeds[len(b.speeds)-1]; even && !overlap {
			switch {
			case j.Times[p].List == nil:
				schedule = b.rounds
			case j.Phases[p].Tasks <= len(b.speeds):
				schedule = b.atOnce
			}
		}
		finish, arrived := schedule(from, &j.Phases[p], j.Times[p])
		a.arrived = append(a.arrived, arrived)
		end = max(end, finish)
	}
	return end
}

// A bench holds the slots of a class for one job alone. Slots are named by their
// rank: the fastest first.
type bench struct {
	speeds []float64       // by rank
	free   []time.Duration // when each slot becomes free; nil if all are free whenever a phase starts
}

// A lane is a slot with the time when it becomes free.
type lane struct {
	at   time.Duration
	rank int
}

func (l lane) before(o lane) bool { return l.at < o.at || l.at == o.at && l.rank < o.rank }

// list schedules the tasks of a phase from an instant on. It returns when the
// last one finishes, and when the last output arrives at the next phase.
func (b *bench) list(from time.Duration, ph *sojourn.Phase, t Times) (finish, arrived time.Duration) {
	busy, used := heap.New(lane.before, func(l lane) (hi, lo uint64) { return uint64(l.at), uint64(l.rank) }), 0 // slots from rank used on are idle and not in the heap
	if b.free != nil {
		for rank, at := range b.free {
			busy.Set(uint32(rank), lane{max(at, from), rank})
		}
		used = len(b.free)
	}
	for i := range ph.Tasks {
		next, ok := busy.MinKey()
		if idle := (lane{from, used}); used < len(b.speeds) && (!ok || idle.before(next)) {
			next = idle
			used++
		}
		d, ok := stretch(t.Of(i), 1, b.speeds[next.rank])
		if !ok {
			d = math.MaxInt64
		}
		next.at = later(next.at, d)
		busy.Set(uint32(next.rank), next)
		if b.free != nil {
			b.free[next.rank] = next.at
		}
		finish = max(finish, next.at)
		arrived = max(arrived, later(next.at, delay(ph, i)))
	}
	return finish, arrived
}

// rounds is list for the case that all slots are free and of one speed, and all
// tasks are alike: the tasks run in rounds. Without delays the cost does not
// depend on the number of tasks.
func (b *bench) rounds(from time.Duration, ph *sojourn.Phase, t Times) (finish, arrived time.Duration) {
	each, ok := stretch(t.Each, 1, b.speeds[0])
	if !ok {
		each = math.MaxInt64
	}
	end := func(task int) time.Duration { return later(from, times(each, task/len(b.speeds)+1)) }
	finish = end(ph.Tasks - 1)
	arrived = finish
	for i := range ph.Delays {
		arrived = max(arrived, later(end(i), ph.Delays[i]))
	}
	return finish, arrived
}

// atOnce is list for the case that all slots are free and of one speed, and that there
// is one for each task.
func (b *bench) atOnce(from time.Duration, ph *sojourn.Phase, t Times) (finish, arrived time.Duration) {
	for i := range ph.Tasks {
		d, ok := stretch(t.Of(i), 1, b.speeds[0])
		if !ok {
			d = math.MaxInt64
		}
		end := later(from, d)
		finish = max(finish, end)
		arrived = max(arrived, later(end, delay(ph, i)))
	}
	return finish, arrived
}

// delay returns how long the output of a task takes to reach the next phase.
func delay(ph *sojourn.Phase, task int) time.Duration {
	if ph.Delays == nil {
		return 0
	}
	return ph.Delays[task]
}

// later returns a+b, or the longest time if that is out of range.
func later(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// times returns n*d, or the longest time if that is out of range.
func times(d time.Duration, n int) time.Duration {
	if d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}
