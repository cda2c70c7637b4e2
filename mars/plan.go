package mars

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
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

	// Guarantee is the factor over LowerBound that the schedule was proved not to
	// exceed before it was made: that of its planner (3 by Theorem 3 where no task
	// of a job takes longer than those that wait for it, else at most 4, see
	// erratum 6; 7 for TMarS by Theorem 5) times UpperBoundLP/LowerBound. 0 if the
	// planner has none. What was reached is [Schedule.Ratio].
	Guarantee float64

	Bound
}

// Ratio returns Objective over LowerBound: no schedule is better by a greater
// factor. It is 1 where both are 0.
func (s *Schedule) Ratio() float64 {
	if s.Objective == s.LowerBound {
		return 1
	}
	return s.Objective / s.LowerBound
}

// Plan makes a schedule, and a bound that proves how good it is. Its work is bounded
// by the counts in the options, and equal arguments give equal results on every
// platform. The error wraps ErrInstance or ErrUnsupported, or names an option.
func Plan(in Instance, o Options) (*Schedule, error) {
	list, err := PlanAll(in, o, o.Planner)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// PlanAll makes a schedule by each of several planners, whatever Options.Planner
// says. They share one bound.
func PlanAll(in Instance, o Options, planners ...Planner) ([]*Schedule, error) {
	if err := in.Check(); err != nil {
		return nil, err
	}
	for _, p := range planners {
		o.Planner = p
		if err := o.check(); err != nil {
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
		s, err := w.make(p)
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
	pi    []int32 // the order of MarS, once it was needed
}

// order returns the order of MarS.
func (w *workshop) order() []int32 {
	if w.pi == nil {
		w.pi = w.flat.order(w.bound.raw)
	}
	return w.pi
}

// make makes the schedule of a planner.
func (w *workshop) make(p Planner) (*Schedule, error) {
	factor, upper := 0.0, w.bound.UpperBoundLP // of the feasible point that the factor is over
	var out plan
	switch p {
	case BestOf:
		out, factor = w.bestOf(), w.marsFactor()
	case MarS:
		out, factor = w.strict(w.order(), MarS), w.marsFactor()
	case BestFit:
		out, factor = w.strict(w.order(), BestFit), w.marsFactor()
	case Insertion:
		out = w.strict(w.order(), Insertion)
	case Dispatch:
		out = w.dispatch(w.order())
	case MarSCOGE:
		if w.in.Objective != JobCompletion {
			return nil, fmt.Errorf("%w: planner %v is for the completion of jobs", ErrUnsupported, p)
		}
		epsilon := w.o.Epsilon
		if epsilon == 0 {
			epsilon = 0.3
		}
		rounds, c := coge(newJobForm(w.flat), epsilon, w.o.Rounds)
		out = w.strict(w.flat.order(c), MarS)
		factor, upper = w.marsFactor(), rounds[len(rounds)-1].Feasible
	case TMarS:
		var err error
		if out, err = w.tMarS(); err != nil {
			return nil, err
		}
		// C^H <= 7 C^LP in each class of machines, and across classes t' adds up their
		// loads: no factor is proved there.
		if factor = 7; len(w.machines) > 1 {
			factor = 0
		}
	case MARES, HMARES:
		var err error
		if out, err = w.mares(p == MARES); err != nil {
			return nil, err
		}
	default:
		order, dispatched, err := w.list(p)
		if err != nil {
			return nil, err
		}
		if dispatched {
			out = w.dispatch(order)
		} else {
			out = w.strict(order, MarS)
		}
	}
	s := &Schedule{Planner: p, Machine: out.machine, Bound: *w.bound, Objective: w.objective(out)}
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
	}
	return s, nil
}

// strict places a list in its order, on machines chosen as the planner says.
func (w *workshop) strict(order []int32, p Planner) plan {
	out := w.newPlan()
	var machines []machinesOf
	switch p {
	case BestFit:
		machines = eachClass(w.flat, newBestFit)
	case Insertion:
		machines = eachClass(w.flat, newFirstFit)
	default:
		machines = eachClass(w.flat, newLeastFree)
	}
	newPlacer(w.flat).inOrder(order, machines, out)
	return out
}

// dispatch dispatches a list.
func (w *workshop) dispatch(order []int32) plan {
	out := w.newPlan()
	newDispatcher(w.flat).run(order, out)
	return out
}

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
			d, pv := int64(0), shortest
			switch {
			case a.delays != nil:
				d = a.delays[t-a.first]
			case a.between != nil:
				for v, duv := range a.row(t) {
					g = max(g, stretch(w.p[t], duv, w.p[b.first+int32(v)]))
				}
				continue
			}
			g = max(g, stretch(w.p[t], d, pv))
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

// list returns the order of a planner that goes by one, and whether it is
// dispatched.
func (w *workshop) list(p Planner) (tasks []int32, dispatched bool, err error) {
	var order weightorder.Order
	switch p {
	case HUWF, HUWFDispatch:
		order = weightorder.HUWF
	case HJWF, HJWFDispatch:
		order = weightorder.HJWF
	case STF, STFDispatch:
		order = weightorder.STF
	case HTWF, HTWFDispatch:
		order = weightorder.HTWF
	default:
		return nil, false, fmt.Errorf("%w: planner %v", ErrUnsupported, p)
	}
	keys := make([]float64, len(w.p))
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
	switch p {
	case HUWFDispatch, HJWFDispatch, STFDispatch, HTWFDispatch:
		dispatched = true
	}
	return w.sorted(keys), dispatched, nil
}

// large is the number of tasks beyond which best-of tries neither insertion, whose
// cost grows with the idle times, nor by default a local search.
const large = 200_000

// bestOf returns the best of MarS, best-fit, dispatch, insertion and a local search
// that starts from those. It keeps the guarantee of MarS, which is a member.
func (w *workshop) bestOf() plan {
	best := w.strict(w.order(), MarS)
	value := w.objective(best)
	try := func(p plan) {
		if v := w.objective(p); v < value {
			best, value = p, v
		}
	}
	try(w.strict(w.order(), BestFit))
	try(w.dispatch(w.order()))
	if len(w.p) <= large {
		try(w.strict(w.order(), Insertion))
	}
	if n := w.evaluations(); n > 0 {
		s := newSearch(w, best, n)
		s.run()
		return s.best
	}
	return best
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
