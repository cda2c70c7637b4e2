package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// blocks returns for each task the instant t'_{n-1} before which Algorithm 3 does not
// start it, and the order of blocks and of C^LP in them.
//
// With t_0 = 0 and t_n = t 2^(n-1), t the least positive C^LP (erratum 10: the paper's t
// is 1, which leaves tasks that end before it without a block), block n has the tasks
// with C^LP in (t_{n-1}, t_n], tasks with C^LP = 0 start at 0, alpha_n is its work over the machines, and
//
//	t'_n = t + sum over k <= n of (t_k + alpha_k).
//
// Times are rounded up.
func (f *flat) blocks(c []float64) (notBefore []int64, order []int32) {
	first := math.Inf(1)
	for _, x := range c {
		if x > 0 {
			first = min(first, x)
		}
	}
	n := make([]int, len(c))
	last := 0
	for t, x := range c {
		if x > 0 {
			n[t] = 1
			for end := first; end < x; end *= 2 {
				n[t]++
			}
		}
		last = max(last, n[t])
	}
	load := make([]float64, last+1)
	for t, p := range f.p {
		k := f.units[f.unit[t]].class
		load[n[t]] += lp.Seconds(p) / float64(f.machines[k])
	}
	starts := make([]int64, last+1)
	at, end := first, first
	for k := 1; k <= last; k++ {
		starts[k] = ceil(at)
		at += end + load[k]
		end *= 2
	}
	notBefore = make([]int64, len(c))
	for t := range c {
		notBefore[t] = starts[n[t]]
	}
	// A task has a greater C^LP than those that it waits for. If rounding makes them equal, the
	// task still comes behind them, since ties go by number.
	order = lp.Order(c)
	return notBefore, order
}

// ceil returns seconds as nanoseconds, rounded up.
func ceil(s float64) int64 { return int64(math.Ceil(float64(s * 1e9))) }

// tMarS makes the schedule of Algorithm 3. Its list scheduling skips tasks that
// cannot start yet, as Lemma 4 needs (erratum 11). It shifts the schedule left, and
// returns this schedule or the dispatched order of C^LP, whichever is better.
func (w *workshop) tMarS() (layout, error) {
	if w.in.Objective != TaskCompletion {
		return layout{}, fmt.Errorf("%w: planner %v is for the completion of tasks", errors.ErrUnsupported, tMarS)
	}
	c := w.bound.Certificate.C
	notBefore, order := w.blocks(c)
	d := newDispatcher(w.flat)
	d.notBefore = notBefore
	out := w.newLayout()
	d.run(order, out)
	out = w.shiftLeft(out)
	if other := w.dispatch(order); w.objective(other) < w.objective(out) {
		out = other
	}
	return out, nil
}

// shiftLeft starts each task as early as possible with the same machine and the same order on each
// machine. No task starts later than before.
func (f *flat) shiftLeft(in layout) layout {
	order := make([]int32, len(f.p))
	for t := range order {
		order[t] = int32(t)
	}
	slices.SortFunc(order, func(a, b int32) int {
		return cmp.Or(cmp.Compare(in.start[a], in.start[b]), cmp.Compare(in.start[a]+f.p[a], in.start[b]+f.p[b]), cmp.Compare(a, b))
	})
	f = &flat{in: f.in, machines: f.machines, base: f.base, p: f.p, unit: f.unit, units: f.units, first: f.first, assigned: in.machine}
	return f.onAssigned(order, nil)
}

// onAssigned places tasks in an order, each on the machine that it is assigned to,
// and no task before its instant in notBefore, unless that is nil.
func (f *flat) onAssigned(order []int32, notBefore []int64) layout {
	out := f.newLayout()
	p := newPlacer(f)
	p.reset()
	free := make([]int64, f.base[len(f.base)-1])
	var place func(t int32)
	place = func(t int32) {
		m := f.assigned[t]
		s := max(p.earliest(t), free[m])
		if notBefore != nil {
			s = max(s, notBefore[t])
		}
		out.start[t], out.machine[t] = s, m
		free[m] = s + f.p[t]
		if i := f.unit[t]; p.deliver(t, free[m]) {
			for _, h := range p.held[i+1] {
				place(h)
			}
		}
	}
	for _, t := range order {
		if i := f.unit[t]; p.open(i) {
			place(t)
		} else {
			p.held[i] = append(p.held[i], t)
		}
	}
	return out
}
