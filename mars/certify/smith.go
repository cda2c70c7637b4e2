package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/mars/plan"
)

// SmithRatios returns the bound that ratios pi_u of tasks prove if jobs arrive over time. pi_u
// is in weight per second of work. No schedule of the instance has an objective below
//
//	sum over j of [(w_j - sum over u of pi_u p_u) c_j + sum over u of pi_u p_u (C_j - M_u) at least]
//	  + sum over u of pi_u p_u M_u in the preemptive schedule by Smith's rule,
//
// up to rounding (section "Jobs that arrive over time" of package plan). The work of a job
// may not take more than its weight. The objective is the completion of jobs. The error says
// what is wrong with the ratios, or wraps [plan.ErrInstance].
func SmithRatios(in plan.Instance, ratios []float64) (bound float64, err error) {
	if err := in.Check(); err != nil {
		return 0, err
	}
	return smithBound(&in, ratios)
}

func smithBound(in *plan.Instance, ratios []float64) (float64, error) {
	if len(ratios) != in.TaskCount() {
		return 0, fmt.Errorf("%d Smith ratios for %d tasks", len(ratios), in.TaskCount())
	}
	sets := make([][]workSet, len(in.Machines)) // by class
	bound := 0.0
	for j := range in.Jobs {
		job := &in.Jobs[j]
		chain := chainOf(in, job)
		rest := jobWeight(job) // w_j - sum over u of pi_u p_u
		for k := range job.Phases {
			p := &job.Phases[k]
			own := ratios[:p.Tasks]
			ratios = ratios[p.Tasks:]
			if u := slices.IndexFunc(own, func(pi float64) bool { return !finite(pi) }); u >= 0 {
				return 0, fmt.Errorf("%s, phase %d, task %d: Smith ratio %v", nameOf(in, j), k, u, own[u])
			}
			for _, b := range setsOf(p, own, chain.start[k], chain.after[k], in.Machines[p.Class]) {
				rest -= float64(b.pi * b.p)
				bound += float64(b.pi * b.back)
				sets[p.Class] = append(sets[p.Class], b)
			}
		}
		if rest < 0 {
			return 0, fmt.Errorf("%s: the Smith ratios of its tasks take more than its weight", nameOf(in, j))
		}
		bound += float64(rest * chain.c.Seconds())
	}
	for k, list := range sets {
		bound += smithsRule(list, float64(in.Machines[k]))
	}
	return bound, nil
}

// A chain has bounds on the instants of a job that has all machines to itself.
type chain struct {
	span  []time.Duration   // of each phase: the least time that it takes
	start []time.Duration   // of each phase: no task starts before it
	after [][]time.Duration // a_u of each task: the least time from its end to C_j
	c     time.Duration     // c_j, the least C_j
}

func chainOf(in *plan.Instance, job *plan.Job) chain {
	n := len(job.Phases)
	ch := chain{span: make([]time.Duration, n), start: make([]time.Duration, n), after: make([][]time.Duration, n)}
	for k := range n {
		p := &job.Phases[k]
		ch.span[k] = leastSpan(p, in.Machines[p.Class])
		ch.start[k] = ch.earliest(job, k)
	}
	for k := n - 1; k >= 0; k-- {
		ch.after[k] = ch.tails(job, k)
		// All tasks of the phase, and then each by itself.
		ch.c = max(ch.c, ch.start[k]+ch.span[k]+slices.Min(ch.after[k]))
		for u, a := range ch.after[k] {
			ch.c = max(ch.c, ch.start[k]+job.Phases[k].TimeOf(u)+a)
		}
	}
	return ch
}

// leastSpan returns a lower bound of the time that a phase takes on m machines. It is the
// greatest of its longest task, its work on all machines, and tasks/m tasks, rounded up, one
// after the other on one machine.
func leastSpan(p *plan.Phase, m int) time.Duration {
	work, longest, shortest := time.Duration(0), time.Duration(0), p.TimeOf(0)
	for u := range p.Tasks {
		d := p.TimeOf(u)
		work, longest, shortest = work+d, max(longest, d), min(shortest, d)
	}
	waves := (p.Tasks + m - 1) / m
	return max(longest, (work+time.Duration(m)-1)/time.Duration(m), time.Duration(waves)*shortest)
}

// earliest returns when phase k may start, given the start of the phase before it. Each task of
// that phase must have ended and its output arrived, and so must the last of them.
func (ch *chain) earliest(job *plan.Job, k int) time.Duration {
	start := time.Duration(job.Release)
	if !waits(job, k) {
		return start
	}
	before := &job.Phases[k-1]
	shortest := time.Duration(math.MaxInt64) // delay
	for u := range before.Tasks {
		d := shortestDelay(before, u, job.Phases[k].Tasks)
		shortest = min(shortest, d)
		start = max(start, ch.start[k-1]+before.TimeOf(u)+d)
	}
	return max(start, ch.start[k-1]+ch.span[k-1]+shortest)
}

// tails returns a_u of the tasks of phase k, given a_v of the next phase. Between u and C_j,
// the output of u arrives and each task v of the next phase runs with everything that follows
// it; this includes the last v.
func (ch *chain) tails(job *plan.Job, k int) []time.Duration {
	after := make([]time.Duration, job.Phases[k].Tasks)
	if !waits(job, k+1) {
		return after
	}
	p, next := &job.Phases[k], &job.Phases[k+1]
	tail := make([]time.Duration, next.Tasks) // from the start of v to C_j
	for v, a := range ch.after[k+1] {
		tail[v] = next.TimeOf(v) + a
	}
	all := ch.span[k+1] + slices.Min(ch.after[k+1]) // from the first start to C_j
	longest := slices.Max(tail)
	for u := range after {
		after[u] = max(longestTail(p, u, tail, longest), shortestDelay(p, u, next.Tasks)+all)
	}
	return after
}

// A workSet is a set B of tasks of one phase with one pi.
type workSet struct {
	start float64 // none of its tasks starts before it
	p     float64 // p(B)
	pi    float64
	back  float64 // the least sum over B of p_u (C_j - M_u)
}

// setsOf returns the tasks of a phase in sets of one pi, without tasks that take no time.
func setsOf(p *plan.Phase, pi []float64, start time.Duration, after []time.Duration, m int) []workSet {
	order := make([]int, p.Tasks)
	for u := range order {
		order[u] = u
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(pi[a], pi[b]) })
	var list []workSet
	for len(order) > 0 {
		n := 1
		for n < len(order) && pi[order[n]] == pi[order[0]] {
			n++
		}
		b := workSet{start: start.Seconds(), pi: pi[order[0]]}
		if b.p, b.back = timeBack(p, order[:n], after, m); b.p > 0 {
			list = append(list, b)
		}
		order = order[n:]
	}
	return list
}

// timeBack returns p(B) of a set of tasks of a phase, and the least sum over B of
// p_u (C_j - M_u). It is the greater of two:
//
//	sum over B of p_u (a_u + p_u/2)        since u ends a_u before C_j, or earlier
//	p(B) (min of a_u) + p(B)^2/2m          (4) with time running backwards
//
// If all tasks take p, at most m of them lie in each interval of length p before the end.
// Then the sum of p (i + 1/2) p over the tasks, where i is the number of the interval,
// replaces p(B)^2/2m.
func timeBack(p *plan.Phase, set []int, after []time.Duration, m int) (work, back float64) {
	total, each := time.Duration(0), 0.0
	least, equal := after[set[0]], true
	for _, u := range set {
		t := p.TimeOf(u)
		total += t
		each += float64(t.Seconds() * (after[u].Seconds() + float64(t.Seconds()/2)))
		least = min(least, after[u])
		equal = equal && t == p.TimeOf(set[0])
	}
	work = total.Seconds()
	crowd := float64(work*work) / float64(2*m)
	if equal {
		crowd = 0
		t := p.TimeOf(set[0]).Seconds()
		for i := 0; i*m < len(set); i++ {
			crowd += float64(float64(min(m, len(set)-i*m)) * float64(t*t) * (float64(i) + 0.5))
		}
	}
	return work, max(each, float64(work*least.Seconds())+crowd)
}

// smithsRule returns the sum of pi p(B) M over all sets. M is the mean time of the work of a
// set in the preemptive schedule by Smith's rule on one machine of speed m. At any time this
// machine does the work with the highest pi among the work that may start.
func smithsRule(sets []workSet, m float64) float64 {
	slices.SortStableFunc(sets, func(a, b workSet) int { return cmp.Compare(a.start, b.start) })
	left := make([]float64, len(sets)) // of p(B)
	open := heap.New(smithKey.before, nil)
	sum, now, next := 0.0, 0.0, 0 // next is the first set that may not start yet
	for next < len(sets) || open.Len() > 0 {
		if open.Len() == 0 {
			now = max(now, sets[next].start)
		}
		for ; next < len(sets) && sets[next].start <= now; next++ {
			left[next] = sets[next].p
			open.Set(uint32(next), smithKey{sets[next].pi, next})
		}
		id, _ := open.Min()
		done, until := left[id], now+left[id]/m
		if next < len(sets) && sets[next].start < until {
			until = sets[next].start
			done = min(done, float64(m*(until-now)))
		} else {
			open.Remove(id)
		}
		left[id] -= done
		sum += float64(sets[id].pi * float64(done*float64((now+until)/2)))
		now = until
	}
	return sum
}

// A smithKey orders work by pi, the highest first.
type smithKey struct {
	pi float64
	id int
}

func (a smithKey) before(b smithKey) bool { return a.pi > b.pi || a.pi == b.pi && a.id < b.id }
