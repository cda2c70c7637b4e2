package certify

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/research/plan"
)

// cheapestTasks adds to total the part of a job in D(N) for the completion of tasks, or a little
// less: the minimum of the sum over u of
//
//	w_u C_u + p_u N1(M_u)
//
// over all C_u = M_u + p_u/2 that satisfy (11) and (12). If a phase waits for the one before
// it, (12) says that there is a barrier b. The tasks of the first phase have ended and their
// output has arrived by b, and the tasks of the second start at b or later. For a given b, each
// task minimises a convex function of its own.
func cheapestTasks(total *sum, v *valley, job *plan.Job) error {
	v.releasedAt(job.Release)
	for k := range job.Phases {
		switch {
		case waits(job, k): // counted with the phase before
			if waits(job, k+1) {
				return fmt.Errorf("%w: more than two phases that wait for one another", errors.ErrUnsupported)
			}
		case waits(job, k+1):
			cheapestBarrier(total, v, job, k)
		default:
			for u := range job.Phases[k].Tasks {
				addTask(total, v, taskOf(job, k, u))
			}
		}
	}
	return nil
}

// A spot is a task that ends at x + c or later, or at x + c or earlier. Its M is x + m/2 then.
type spot struct {
	payer
	w float64 // w_u
	c int64   // nanoseconds
}

// taskOf returns a task that starts at r_j + x.
func taskOf(job *plan.Job, k, u int) spot {
	p := &job.Phases[k]
	return startingAt(int64(job.Release), p, taskWeight(job, k, u), int64(p.TimeOf(u)))
}

// startingAt returns a task of a phase that starts at x and some nanoseconds.
func startingAt(start int64, p *plan.Phase, w float64, time int64) spot {
	return spot{payer{p.Class, time, 2*start + time}, w, start + time}
}

// of makes f the payment of a task, without w c.
func (v *valley) of(t spot) { v.w, v.payers = t.w, append(v.payers[:0], t.payer) }

// addTask adds the least payment of a task over all x, or a little less.
func addTask(total *sum, v *valley, t spot) {
	v.of(t)
	total.add(t.c, t.w)
	v.addLowest(total)
}

// A barrier is at b = x and some nanoseconds. Each task is given as it is on its own, and as it
// is if the barrier holds it: if it would run later, in the first phase, or earlier, in the second.
type barrier struct {
	v             *valley
	first, second [][2]spot
}

// cheapestBarrier adds the least payment of phase k of a job and the phase that waits for
// it: the minimum over b. The sum of the payments is a convex function of b.
func cheapestBarrier(total *sum, v *valley, job *plan.Job, k int) {
	p, next := &job.Phases[k], &job.Phases[k+1]
	b := barrier{v: v}
	least := int64(job.Release) // b
	for u := range p.Tasks {
		least = max(least, int64(job.Release)+int64(p.TimeOf(u)+delay(p, u)))
	}
	for u := range p.Tasks {
		start := least - int64(delay(p, u)+p.TimeOf(u))
		b.first = append(b.first, [2]spot{taskOf(job, k, u), startingAt(start, p, taskWeight(job, k, u), int64(p.TimeOf(u)))})
	}
	for u := range next.Tasks {
		b.second = append(b.second, [2]spot{taskOf(job, k+1, u), startingAt(least, next, taskWeight(job, k+1, u), int64(next.TimeOf(u)))})
	}
	x, loss := lowest(b.slope, b.guess, v.end)
	total.add(-1, loss)
	for _, t := range b.first {
		v.of(t[1])
		_, most := v.slope(x)
		b.add(total, t, most <= 0, x)
	}
	for _, t := range b.second {
		v.of(t[1])
		least, _ := v.slope(x)
		b.add(total, t, least >= 0, x)
	}
}

// add adds the payment of a task: at the barrier if it holds the task, and otherwise its least
// payment over all x, which is never greater.
func (b *barrier) add(total *sum, t [2]spot, held bool, x float64) {
	if !held {
		addTask(total, b.v, t[0])
		return
	}
	b.v.of(t[1])
	total.add(t[1].c, t[1].w)
	b.v.addAt(total, x)
}

// slope returns numbers that are at most and at least the derivative of the payments by b: the
// sum of the derivatives of the tasks that the barrier holds.
func (b *barrier) slope(x float64) (least, most float64) {
	var low, high sum
	for _, t := range b.first {
		b.v.of(t[1])
		least, most := b.v.slope(x)
		low.add(1, min(least, 0))
		high.add(1, min(most, 0))
	}
	for _, t := range b.second {
		b.v.of(t[1])
		least, most := b.v.slope(x)
		low.add(1, max(least, 0))
		high.add(1, max(most, 0))
	}
	return low.floor(), high.ceil()
}

// guess returns about the derivative.
func (b *barrier) guess(x float64) float64 {
	slope := 0.0
	for _, t := range b.first {
		b.v.of(t[1])
		slope += min(b.v.guess(x), 0)
	}
	for _, t := range b.second {
		b.v.of(t[1])
		slope += max(b.v.guess(x), 0)
	}
	return slope
}
