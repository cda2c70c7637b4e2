package plan

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// mares makes the schedules of MARES, the rival of Section 5.1.3 [8, Chen, Kodialam,
// Lakshman 2012]. Tasks are assigned to machines in advance: the longest task first, to
// the machine with the least work, so that the work of machines is even. Its linear
// program has (4) for each machine separately. Each machine starts its tasks in the
// order of their M in that program. A task also waits for its start in the program,
// since [8] treats it as unavailable before. H-MARES does not wait for that.
//
// The paper says no more about either; this package does not claim the factor 8 of [8].
func (w *workshop) mares(wait bool) (layout, error) {
	f := *w.flat
	f.assigned = f.balance()
	iterations := w.o.Iterations
	if iterations == 0 {
		iterations = min(max(30_000_000/max(len(f.p), 1), 20), 100)
	}
	var s *lp.Solution
	if f.in.Objective == TaskCompletion {
		tf, err := newTaskForm(&f)
		if err != nil {
			return layout{}, err
		}
		s = lp.SolveByPrice(tf, 1e-4, iterations, 200)
	} else {
		s = lp.SolveByPrice(newJobForm(&f), 1e-4, iterations, 200)
	}
	m := f.middles(s.Raw)
	var notBefore []int64
	if wait {
		notBefore = make([]int64, len(m))
		for t, x := range m {
			notBefore[t] = max(ceil(x-float64(lp.Seconds(f.p[t])/2)), 0)
		}
	}
	return f.onAssigned(lp.Order(m), notBefore), nil
}

// balance assigns tasks to machines, the longest first to the machine with the
// least work (LPT).
func (f *flat) balance() []int32 {
	order := make([]int32, len(f.p))
	for t := range order {
		order[t] = int32(t)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Or(cmp.Compare(f.p[b], f.p[a]), cmp.Compare(a, b)) })
	machines := make([]*leastFree, len(f.machines))
	for k, n := range f.machines {
		machines[k] = newLeastFree(f.base[k], n)
	}
	assigned := make([]int32, len(f.p))
	for _, t := range order {
		_, assigned[t] = machines[f.units[f.unit[t]].class].take(0, f.p[t])
	}
	return assigned
}
