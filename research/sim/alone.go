package sim

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// alone returns the time that a job takes on the idle cluster, by a list
// schedule of its true times. It schedules the tasks of a phase in the order of
// their index, each on the slot that becomes free first, and among these on the
// fastest. A phase starts when the outputs of all tasks of the phases that it
// reads have arrived; a phase of NoBarrier starts at once. Phases that run at the
// same time on the same slots are scheduled one after the other. A job that bounds how many
// of its tasks run at a time has so many of the fastest slots of each class. A task that comes later
// than the job does not start before. The result is 0 if a phase finds no slot.
func (a *arrivals) alone(j *job) time.Duration {
	overlap := j.readers != nil
	for p := range j.phases[1:] {
		overlap = overlap || j.Phases[p+1].After == sojourn.NoBarrier
	}
	for c := range a.benches {
		speeds := a.speeds[c]
		if n := j.told.Parallelism; n > 0 && int64(n) < int64(len(speeds)) {
			speeds = speeds[:n]
		}
		a.benches[c] = bench{speeds: speeds}
		if overlap {
			a.benches[c].lanes = new(lanes)
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
		if even := b.speeds[0] == b.speeds[len(b.speeds)-1]; even && !overlap && j.Times[p].Added == nil {
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
	speeds []float64 // by rank
	lanes  *lanes    // when each slot becomes free; nil if all are free whenever a phase starts
}

// list schedules the tasks of a phase from an instant on. It returns when the
// last one finishes, and when the last output arrives at the next phase.
func (b *bench) list(from time.Duration, ph *sojourn.Phase, t Times) (finish, arrived time.Duration) {
	l := b.lanes
	if l == nil {
		l = new(lanes)
	}
	start := from
	for i := range ph.Tasks {
		if t.Added != nil {
			from = max(start, t.Added[i])
		}
		rank, free := l.first(from, len(b.speeds))
		d, ok := stretch(t.Of(i), 1, b.speeds[rank])
		if !ok {
			d = math.MaxInt64
		}
		end := later(max(free, from), d)
		l.set(rank, end)
		finish = max(finish, end)
		arrived = max(arrived, later(end, delay(ph, i)))
	}
	return finish, arrived
}

// lanes are slots by rank, with the time when each becomes free. Those from used on are free from the start. The least
// times of pairs, of pairs of pairs and so on stand above: those of nodes 2i and 2i+1 at i, and those of slots from size on.
type lanes struct {
	used, size int
	free       []time.Duration // 2 size of them; those of slots that are not used are the greatest
}

// first returns the slot on which a task can start first that cannot start before an instant, the fastest of those, and
// when the slot becomes free. There are so many slots.
func (l *lanes) first(from time.Duration, slots int) (rank int, free time.Duration) {
	least := time.Duration(math.MaxInt64)
	if l.used > 0 {
		least = l.free[1]
	}
	if least > from && l.used < slots {
		return l.used, 0 // it can start at once, and on no faster one
	}
	at := 1
	for least = max(least, from); at < l.size; {
		if at *= 2; l.free[at] > least {
			at++
		}
	}
	return at - l.size, l.free[at]
}

// set says when a slot becomes free, one that is used or the next one.
func (l *lanes) set(rank int, free time.Duration) {
	if rank == l.size {
		l.grow()
	}
	l.used = max(l.used, rank+1)
	at := l.size + rank
	for l.free[at] = free; at > 1; at /= 2 {
		l.free[at/2] = min(l.free[at&^1], l.free[at|1])
	}
}

// grow makes room for twice as many slots.
func (l *lanes) grow() {
	was := l.free[min(l.size, len(l.free)):]
	l.size = max(1, 2*l.size)
	l.free = make([]time.Duration, 2*l.size)
	for i := range l.free {
		l.free[i] = math.MaxInt64
	}
	copy(l.free[l.size:], was)
	for at := l.size - 1; at > 0; at-- {
		l.free[at] = min(l.free[2*at], l.free[2*at+1])
	}
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
