package certify

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn/mars/plan"
)

// cheapestTasks is the part of a job in D(N) for the completion of tasks: the minimum of the
// sum over u of
//
//	w_u C_u + p_u N1(M_u)
//
// over all C_u = M_u + p_u/2 that satisfy (11) and (12). If a phase waits for the one before
// it, (12) says that there is a barrier b. The tasks of the first phase have ended and their
// output has arrived by b, and the tasks of the second start at b or later. For a given b, each
// task minimises a convex function of its own.
func cheapestTasks(job *plan.Job, prices [][]price, latest float64) (float64, error) {
	sum := 0.0
	for k := range job.Phases {
		switch {
		case waits(job, k): // counted with the phase before
			if waits(job, k+1) {
				return 0, fmt.Errorf("%w: more than two phases that wait for one another", errors.ErrUnsupported)
			}
		case waits(job, k+1):
			if job.Phases[k].Between != nil {
				return 0, fmt.Errorf("%w: delays between pairs of tasks", errors.ErrUnsupported)
			}
			sum += cheapestBarrier(job, k, prices, latest)
		default:
			for _, t := range payersOf(job, k, prices) {
				_, cost, _ := t.cheapest(t.earliest, max(t.earliest, latest))
				sum += cost
			}
		}
	}
	return sum, nil
}

// A payer is a task that chooses its M.
type payer struct {
	w, p, d  float64 // w_u, p_u and d_u
	earliest float64 // r_j + p_u/2
	prices   []price // of its class
}

func payersOf(job *plan.Job, k int, prices [][]price) []payer {
	p := &job.Phases[k]
	list := make([]payer, p.Tasks)
	for u := range list {
		time := p.TimeOf(u).Seconds()
		list[u] = payer{w: taskWeight(job, k, u), p: time, earliest: seconds(job.Release) + float64(time/2), prices: prices[p.Class]}
		if p.Between == nil {
			list[u].d = delay(p, u, 0, 0).Seconds()
		}
	}
	return list
}

// pays returns w_u C_u + p_u N1(M_u) at M_u = m, and its derivative.
func (t *payer) pays(m float64) (cost, slope float64) {
	cost, slope = float64(t.w*(m+float64(t.p/2))), t.w
	for i := range t.prices {
		n, n1 := t.prices[i].at(m)
		cost += float64(t.p * n1)
		slope -= float64(t.p * n)
	}
	return cost, slope
}

// cheapest returns the m in [low, high] at which the task pays least, the payment, and the
// derivative there. The derivative is not negative unless m is high.
func (t *payer) cheapest(low, high float64) (m, cost, slope float64) {
	high = max(low, high)
	if cost, slope := t.pays(low); slope >= 0 {
		return low, cost, slope
	}
	for range 100 {
		mid := low + float64((high-low)/2)
		if mid <= low || mid >= high {
			break
		}
		if _, s := t.pays(mid); s < 0 {
			low = mid
		} else {
			high = mid
		}
	}
	cost, slope = t.pays(high)
	return high, cost, slope
}

// cheapestBarrier returns the least payment of phase k of a job and the phase that waits for
// it: the minimum over b. The sum of the payments is a convex function of b. Its derivative is
// the sum of the derivatives of the tasks that the barrier holds: tasks of the first phase
// that would run later, and tasks of the second that would run earlier.
func cheapestBarrier(job *plan.Job, k int, prices [][]price, latest float64) float64 {
	first, second := payersOf(job, k, prices), payersOf(job, k+1, prices)
	at := func(b float64) (value, slope float64) {
		for i := range first {
			t := &first[i]
			last := b - t.d - float64(t.p/2)
			m, cost, s := t.cheapest(t.earliest, min(last, max(t.earliest, latest)))
			value += cost
			if m >= last && s < 0 {
				slope += s
			}
		}
		for i := range second {
			t := &second[i]
			start := b + float64(t.p/2)
			m, cost, s := t.cheapest(start, max(start, latest))
			value += cost
			if m <= start {
				slope += s
			}
		}
		return value, slope
	}
	lo, rise := seconds(job.Release), 0.0
	for _, t := range first {
		lo = max(lo, t.earliest+float64(t.p/2)+t.d)
	}
	for _, t := range second {
		rise += t.w
	}
	// From lo + latest on, no task pays a price: the tasks of the first phase are at their own
	// minima, and the second phase pays its weights.
	return lowest(at, lo, lo+latest, rise)
}
