package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/lp"
	"github.com/sojourn-sched/sojourn/internal/weightorder"
)

// A Schedule says when and where each task runs, and proves how good that is.
type Schedule struct {
	// Planner is what made the schedule.
	Planner Planner

	// Start and Machine are S_u and the machine of each task, in the order of
	// [Instance]. Machines are numbered from 0 through all classes.
	Start   []sojourn.Time
	Machine []int32

	// Completion is C_j of each job: when the last of its tasks ends.
	Completion []sojourn.Time

	// Objective is the objective of the schedule, in weight times seconds.
	Objective float64

	// Guarantee is the factor over LowerBound that the planner guarantees, times
	// UpperBoundLP/LowerBound; 0 if the planner guarantees none. By Theorem 3 the
	// factor is 3 if no task of a job takes longer than those that wait for it,
	// and otherwise at most 4 (erratum 6). For TMarS it is 7 by Theorem 5.
	// [Schedule.Ratio] is the factor that was reached.
	Guarantee float64

	Bound
}

// Ratio returns Objective over LowerBound: no schedule is better by a greater factor. It
// is 1 if both are 0.
func (s *Schedule) Ratio() float64 {
	if s.Objective == s.LowerBound {
		return 1
	}
	return s.Objective / s.LowerBound
}

// Plan makes a schedule, and a bound that proves how good it is. The counts in the
// options limit its work. Equal arguments give equal results on every platform. The
// error wraps ErrInstance or errors.ErrUnsupported, or names an option.
func Plan(in Instance, o Options) (*Schedule, error) {
	list, err := All(in, o, o.Planner)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// All makes a schedule by each of the given planners, and ignores Options.Planner. The
// schedules share one bound.
func All(in Instance, o Options, planners ...Planner) ([]*Schedule, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	for _, p := range planners {
		o.Planner = p
		if err := o.Validate(); err != nil {
			return nil, err
		}
	}
	f := newFlat(&in)
	b, err := lowerBound(f, &o)
	if err != nil {
		return nil, err
	}
	w := &workshop{flat: f, o: &o, bound: b}
	var list []*Schedule
	for _, p := range planners {
		s, err := w.make(cmp.Or(p, bestOf))
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, nil
}

// A workshop makes schedules of one instance.
type workshop struct {
	*flat
	o     *Options
	bound *Bound
	pi    []int32 // the order of MarS, after its first use
}

// order returns the order of MarS.
func (w *workshop) order() []int32 {
	if w.pi == nil {
		w.pi = w.flat.order(w.bound.raw)
	}
	return w.pi
}

// make makes the schedule of a planner, with its objective and guarantee.
func (w *workshop) make(p Planner) (*Schedule, error) {
	var out layout
	var err error
	factor, upper := 0.0, w.bound.UpperBoundLP // value of the feasible point to which the factor applies
	switch p {
	case bestOf:
		out, err = w.bestOf()
		factor = w.marsFactor()
	case marSCOGE:
		if err := w.forJobs(p); err != nil {
			return nil, err
		}
		jf := newJobForm(w.flat)
		rounds, c := coge(jf, cmp.Or(w.o.Epsilon, 0.3), w.o.Rounds)
		if w.timeless() {
			c, _ = jf.RepairByItem(c)
		}
		out = w.strict(w.flat.order(c), marS)
		factor, upper = w.marsFactor(), rounds[len(rounds)-1].Feasible
	default:
		out, err = w.member(p)
		switch p {
		case marS, bestFit:
			factor = w.marsFactor()
		case tMarS:
			// C^H <= 7 C^LP in each class of machines, and across classes t' adds up their
			// loads: no factor is proved there.
			if len(w.machines) == 1 {
				factor = 7
			}
		}
	}
	if err != nil {
		return nil, err
	}
	s := &Schedule{Planner: p, Machine: out.machine, Bound: *w.bound}
	s.Objective = max(w.objective(out), s.BestLowerBound) // a sum may round below the bound
	s.Start = make([]sojourn.Time, len(out.start))
	for t, at := range out.start {
		s.Start[t] = sojourn.Time(at)
	}
	s.Completion = make([]sojourn.Time, len(w.in.Jobs))
	for t, at := range out.start {
		j := w.units[w.unit[t]].job
		s.Completion[j] = max(s.Completion[j], sojourn.Time(at+w.p[t]))
	}
	if factor > 0 {
		s.Guarantee = factor
		if upper > w.bound.LowerBound {
			s.Guarantee = float64(factor * (upper / w.bound.LowerBound))
		}
		if float64(s.Guarantee*s.LowerBound)*(1-0x1p-50) < s.Objective { // equal, but for the rounding of the bound
			s.Guarantee *= 1 + 0x1p-48
		}
	}
	return s, nil
}

// member makes the plan of a planner other than bestof.
func (w *workshop) member(p Planner) (layout, error) {
	switch p {
	case marS, bestFit, insertion:
		return w.strict(w.order(), p), nil
	case dispatch:
		return w.dispatch(w.order()), nil
	case busyDispatch:
		if err := w.forJobs(p); err != nil {
			return layout{}, err
		}
		return w.dispatch(w.busyOrder()), nil
	case wsrpt:
		if err := w.forJobs(p); err != nil {
			return layout{}, err
		}
		out := w.newLayout()
		newDispatcher(w.flat).dynamic(w.order(), out)
		return out, nil
	case soMarS:
		return w.online(w.o.Online)
	case tMarS:
		return w.tMarS()
	case maresWaiting, maresAtOnce:
		return w.mares(p == maresWaiting)
	}
	keys, dispatched, err := w.list(p)
	if err != nil {
		return layout{}, err
	}
	batched := *w
	if b := w.o.Online.Batch; b > 0 {
		batched.flat = w.batched(int64(b))
	}
	order := lp.Order(keys)
	if dispatched {
		return batched.dispatch(order), nil
	}
	if batched.flat != w.flat {
		slices.SortStableFunc(order, func(a, b int32) int {
			return cmp.Compare(batched.units[w.unit[a]].release, batched.units[w.unit[b]].release)
		})
	}
	return batched.strict(order, marS), nil
}

// batched returns the flat form of the instance, with each release moved to the end of
// its batch interval. Intervals are counted from the first release, as in a
// [mars.Policy].
func (f *flat) batched(interval int64) *flat {
	b := *f
	b.units = slices.Clone(f.units)
	anchor := int64(math.MaxInt64)
	for i := range b.units {
		anchor = min(anchor, b.units[i].release)
	}
	for i := range b.units {
		if rest := (b.units[i].release - anchor) % interval; rest > 0 {
			b.units[i].release += interval - rest
		}
	}
	return &b
}

// strict places a list in its order, on the machines that the planner chooses.
func (w *workshop) strict(order []int32, p Planner) layout {
	out := w.newLayout()
	var machines []machinesOf
	switch p {
	case bestFit:
		machines = eachClass(w.flat, newBestFit)
	case insertion:
		machines = eachClass(w.flat, newFirstFit)
	default:
		machines = eachClass(w.flat, newLeastFree)
	}
	newPlacer(w.flat).inOrder(order, machines, out)
	return out
}

// dispatch dispatches a list.
func (w *workshop) dispatch(order []int32) layout {
	out := w.newLayout()
	newDispatcher(w.flat).run(order, out)
	return out
}

// forJobs returns an error if the objective is not the completion of jobs.
func (w *workshop) forJobs(p Planner) error {
	if w.in.Objective != JobCompletion {
		return fmt.Errorf("%w: planner %v is for the completion of jobs", errors.ErrUnsupported, p)
	}
	return nil
}

// busyOrder returns the tasks by their M, with the ends of jobs in the mean of the
// schedules of the release-aware bound.
func (w *workshop) busyOrder() []int32 { return w.flat.order(w.bound.busy) }

// marsFactor returns the factor of Theorem 3 with erratum 6, which holds for each
// task and so for both objectives: 2+g, where
//
//	g = max over tasks u and v, v waiting for u, of (d+p_u)/(d+(p_u+p_v)/2), at least 1.
//
// It is 0, for none, if the tasks of a job run on more than one class of machine:
// the machines of a class may idle while their jobs wait for another.
func (w *workshop) marsFactor() float64 {
	g := 1.0
	for i := 1; i < len(w.units); i++ {
		a, b := &w.units[i-1], &w.units[i]
		if !b.waits {
			continue
		}
		if a.class != b.class {
			return 0
		}
		shortest := slices.Min(w.p[b.first:b.end])
		for t := a.first; t < a.end; t++ {
			g = max(g, stretch(w.p[t], a.delay(t), shortest))
		}
	}
	return 2 + g
}

// stretch returns (d+pu)/(d+(pu+pv)/2).
func stretch(pu, d, pv int64) float64 {
	if pu <= pv {
		return 1
	}
	return float64(2*(d+pu)) / float64(2*d+pu+pv)
}

// list returns the keys of a planner that orders tasks by keys, the least first, and
// whether it dispatches.
func (w *workshop) list(p Planner) (keys []float64, dispatched bool, err error) {
	name, dispatched := strings.CutSuffix(string(p), "-dispatch")
	order, ok := map[string]weightorder.Order{
		"huwf": weightorder.HUWF, "hjwf": weightorder.HJWF, "stf": weightorder.STF, "htwf": weightorder.HTWF,
	}[name]
	if !ok {
		return nil, false, fmt.Errorf("%w: planner %v", errors.ErrUnsupported, p)
	}
	keys = make([]float64, len(w.p))
	for j := range w.in.Jobs {
		job := &w.in.Jobs[j]
		work := int64(0)
		for i := w.first[j]; i < w.first[j+1]; i++ {
			for _, p := range w.p[w.units[i].first:w.units[i].end] {
				work += p
			}
		}
		for i := w.first[j]; i < w.first[j+1]; i++ {
			u := &w.units[i]
			for t := u.first; t < u.end; t++ {
				keys[t] = order.Key(weightorder.Task{
					JobWeight: job.weight(),
					JobWork:   float64(work),
					Weight:    job.weightOf(int(u.phase), int(t-u.first)),
					Time:      float64(w.p[t]),
				})
			}
		}
	}
	return keys, dispatched, nil
}

// large is the number of tasks beyond which best-of tries neither insertion, whose
// cost grows with the idle times, nor by default a local search.
const large = 200_000

// bestOf returns the best of its members and of a local search that starts from the
// best of those. It keeps the guarantee of MarS, which is the first.
func (w *workshop) bestOf() (layout, error) {
	best := w.strict(w.order(), marS)
	value := w.objective(best)
	for _, p := range w.members() {
		out, err := w.member(p)
		if p == soMarS && errors.Is(err, errors.ErrUnsupported) {
			continue
		}
		if err != nil {
			return layout{}, err
		}
		if v := w.objective(out); v < value {
			best, value = out, v
		}
	}
	if n := w.evaluations(); n > 0 {
		best = newSearch(w, best, n).run()
	}
	return best, nil
}

// members returns the planners beside MarS that best-of tries. Greedy ones are often
// better than MarS, above all if the machines are not always busy: then the linear
// program says little about which job comes first.
func (w *workshop) members() []Planner {
	list := []Planner{bestFit, dispatch}
	if w.in.Objective == JobCompletion {
		list = append(list, busyDispatch, huwfDispatch, wsrpt)
		if len(w.in.Jobs) <= 300 { // each plan of so-mars looks at all live jobs
			list = append(list, soMarS)
		}
	} else {
		list = append(list, stfDispatch, htwfDispatch, tMarS)
	}
	if len(w.p) <= large {
		list = append(list, insertion)
	}
	return list
}

// evaluations returns the budget of the local search.
func (w *workshop) evaluations() int {
	if w.o.Evaluations != 0 {
		return max(w.o.Evaluations, 0)
	}
	if len(w.p) > large {
		return 0
	}
	return min(4_000_000/max(len(w.p), 1), 1000)
}
