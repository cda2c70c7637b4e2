package certify

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// SmithRatios returns a bound that ratios pi_u of tasks prove if jobs arrive over time. pi_u
// is in weight per second of work. No schedule of the instance has an objective below
//
//	sum over j of [(w_j - sum over u of pi_u p_u) c_j + sum over u of pi_u p_u (C_j - M_u) at least]
//	  + sum over u of pi_u p_u M_u in the preemptive schedule by Smith's rule,
//
// and the bound is that or a little less (section "Jobs that arrive over time" of package plan). The work of a job
// may not take more than its weight. The error says what is wrong with the ratios, or wraps
// [plan.ErrInstance] or, for the completion of tasks, [errors.ErrUnsupported]: the end of a job is then no
// part of the objective (TestSmithRatiosDoNotBoundTheCompletionOfTasks).
func SmithRatios(in plan.Instance, ratios []float64) (bound float64, err error) {
	if err := in.Check(); err != nil {
		return 0, err
	}
	return smithBound(&in, ratios)
}

func smithBound(in *plan.Instance, ratios []float64) (float64, error) {
	if in.Objective != plan.JobCompletion {
		return 0, fmt.Errorf("%w: Smith ratios for the completion of tasks", errors.ErrUnsupported)
	}
	if len(ratios) != in.TaskCount() {
		return 0, fmt.Errorf("%d Smith ratios for %d tasks", len(ratios), in.TaskCount())
	}
	sets := make([][]workSet, len(in.Machines)) // by class
	var total sum                               // at most 1e9 times the bound
	for j := range in.Jobs {
		job := &in.Jobs[j]
		chain := chainOf(in, job)
		var rest sum // w_j - sum over u of pi_u p_u
		rest.add(1, jobWeight(job))
		for k := range job.Phases {
			p := &job.Phases[k]
			own := make([]float64, p.Tasks)
			for u, pi := range ratios[:p.Tasks] {
				if !finite(pi) {
					return 0, fmt.Errorf("%s, phase %d, task %d: Smith ratio %v", nameOf(in, j), k, u, pi)
				}
				own[u] = down(pi / 1e9)
			}
			ratios = ratios[p.Tasks:]
			for _, b := range setsOf(p, own, chain.start[k], chain.after[k], in.Machines[p.Class]) {
				rest.add(-int64(b.p), b.pi)
				total.add(1, down(b.pi*b.back))
				sets[p.Class] = append(sets[p.Class], b)
			}
		}
		if rest.sign() < 0 {
			return 0, fmt.Errorf("%s: the Smith ratios of its tasks take more than its weight", nameOf(in, j))
		}
		total.add(int64(chain.c), rest.floor())
	}
	for k, list := range sets {
		smithsRule(&total, list, int64(in.Machines[k]))
	}
	return total.over(1e9), nil
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
		d := delay(before, u)
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
	longest := ch.span[k+1] + slices.Min(ch.after[k+1]) // from the first start of the next phase to C_j
	for v, a := range ch.after[k+1] {
		longest = max(longest, next.TimeOf(v)+a)
	}
	for u := range after {
		after[u] = delay(p, u) + longest
	}
	return after
}

// A workSet is a set B of tasks of one phase with one pi, here in weight per nanosecond of work.
type workSet struct {
	start time.Duration // none of its tasks starts before it
	p     time.Duration // p(B)
	pi    float64
	back  float64 // at most the least sum over B of p_u (C_j - M_u), in square nanoseconds
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
		b := workSet{start: start, pi: pi[order[0]]}
		if b.p, b.back = timeBack(p, order[:n], after, int64(m)); b.p > 0 {
			list = append(list, b)
		}
		order = order[n:]
	}
	return list
}

// timeBack returns p(B) of a set of tasks of a phase, and a number that is at most the least sum
// over B of p_u (C_j - M_u). That sum is at least the greater of two:
//
//	sum over B of p_u (a_u + p_u/2)        since u ends a_u before C_j, or earlier
//	p(B) (min of a_u) + p(B)^2/2m          (4) with time running backwards
//
// If all tasks take p, at most m of them lie in each interval of length p before the end.
// Then the sum of p (i + 1/2) p over the tasks, where i is the number of the interval,
// replaces p(B)^2/2m. Twice these numbers are sums of products of integers, but for p(B)^2/m.
func timeBack(p *plan.Phase, set []int, after []time.Duration, m int64) (work time.Duration, back float64) {
	var each, crowd sum
	least, first := after[set[0]], p.TimeOf(set[0])
	equal := true
	for _, u := range set {
		t := p.TimeOf(u)
		work += t
		each.addInteger(int64(t), int64(2*after[u]+t))
		least = min(least, after[u])
		equal = equal && t == first
	}
	crowd.addInteger(int64(work), int64(2*least))
	if equal {
		// Full intervals 0 to full-1 have m tasks each, and the next has the others.
		n := int64(len(set))
		full := n / m
		crowd.add(m*full*full+(n-m*full)*(2*full+1), down(down(float64(first))*down(float64(first))))
	} else {
		crowd.add(1, down(down(down(float64(work))*down(float64(work)))/float64(m)))
	}
	return work, max(each.floor(), crowd.floor()) / 2
}

// smithsRule adds the sum of pi p(B) M over all sets to total, or a little less. M is the mean time
// of the work of a set in the preemptive schedule by Smith's rule on one machine of speed m. At any
// time this machine does the work with the highest pi among the work that may start.
//
// It is busy from whole nanoseconds on, and then at since + y/m when it has done work y since then.
// So y is an integer whenever something begins or ends.
func smithsRule(total *sum, sets []workSet, m int64) {
	slices.SortStableFunc(sets, func(a, b workSet) int { return cmp.Compare(a.start, b.start) })
	left := make([]int64, len(sets)) // of p(B)
	open := heap.New(smithKey.before, nil)
	since, y := int64(0), int64(0)
	next := 0 // the first set that may not start yet
	for next < len(sets) || open.Len() > 0 {
		if open.Len() == 0 {
			since, y = int64(sets[next].start), 0
		}
		for ; next < len(sets) && workUntil(since, int64(sets[next].start), m) <= y; next++ {
			left[next] = int64(sets[next].p)
			open.Set(uint32(next), smithKey{sets[next].pi, next})
		}
		id, _ := open.Min()
		done := left[id]
		if next < len(sets) {
			done = min(done, workUntil(since, int64(sets[next].start), m)-y)
		}
		if left[id] -= done; left[id] == 0 {
			open.Remove(id)
		}
		// done is done around since + (y + done/2)/m.
		mean := down(down(float64(since)) + down(down(float64(2*y+done))/float64(2*m)))
		total.add(done, down(sets[id].pi*mean))
		y += done
	}
}

// workUntil returns how much a machine of speed m does between two instants, or a number that is
// more than the work of any instance.
func workUntil(since, until, m int64) int64 {
	hi, lo := bits.Mul64(uint64(until-since), uint64(m))
	if hi > 0 || lo > 1<<62 {
		return 1 << 62
	}
	return int64(lo)
}

// A smithKey orders work by pi, the highest first.
type smithKey struct {
	pi float64
	id int
}

func (a smithKey) before(b smithKey) bool { return a.pi > b.pi || a.pi == b.pi && a.id < b.id }
