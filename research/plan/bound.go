package plan

import (
	"slices"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A Bound is a lower bound of an instance, with proofs, from the linear program
// (1)-(4). Every schedule of the instance, by any policy, has an objective of at
// least LowerBound and at least BestLowerBound.
type Bound struct {
	// LowerBound is at most the value of the linear program (1)-(4), and at least
	// that of (1)-(3), in weight times seconds.
	LowerBound float64

	// UpperBoundLP is the value of a feasible point of the linear program: the value
	// of the program lies between LowerBound and UpperBoundLP. It is not an upper
	// bound for schedules.
	UpperBoundLP float64

	// Gap is (UpperBoundLP-LowerBound)/LowerBound; 0 if they are equal.
	Gap float64

	// BestLowerBound is the best bound known, at least LowerBound. It takes releases into
	// account, so it may be greater than the value of (1)-(4).
	BestLowerBound float64

	// Certificate proves LowerBound and UpperBoundLP. BestCertificate proves
	// BestLowerBound, if that is greater. Do not change either.
	Certificate     Certificate
	BestCertificate []Price

	// Smith, unless nil, proves BestLowerBound in place of BestCertificate: a Smith
	// ratio of each task, in weight per second of work. The tasks of a job together
	// take no more than its weight (see docs/theory/plan.md). Do not change
	// it.
	Smith []float64

	// raw is the C whose order of M is that of the feasible point. busy, for JobCompletion,
	// is the C_j in the mean of the schedules by Smith's rule.
	raw, busy []float64
}

// A Certificate proves bounds.
type Certificate struct {
	// Prices are the dual solution: at most one for each class. A class without a price is
	// free. D(N), which certify.Verify computes, is at least LowerBound.
	Prices []Price

	// C is the primal solution, in seconds: C_j of each job that satisfies (1)-(4)
	// when every task starts as late as C_j allows; or C_u of each task, for
	// TaskCompletion. UpperBoundLP is its value.
	C []float64
}

// LowerBound returns the bound of an instance. The counts in the options limit its
// work. Equal arguments give equal results on every platform. The error wraps
// ErrInstance or errors.ErrUnsupported, or names an option.
//
// The last release, the longest chain of times and delays, and the work of each class of
// machines over its machines may add up to 2^61-1 ns, which is 73 years. So with many
// machines there may be more work than [Plan] accepts. A single phase has at most 73 years
// of work.
func LowerBound(in Instance, o Options) (*Bound, error) {
	if err := in.check(true); err != nil {
		return nil, err
	}
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return lowerBound(newFlat(&in), &o)
}

// lowerBound is LowerBound of a valid instance.
func lowerBound(f *flat, o *Options) (*Bound, error) {
	gap, exact := o.Gap, o.exact
	if exact == 0 {
		exact = 300
	}
	small := len(f.in.Jobs) <= exact && f.in.Objective == JobCompletion
	if gap == 0 {
		gap = 1e-4
		if small {
			gap = 1e-6
		}
	}
	iterations := o.Iterations
	if iterations == 0 {
		iterations = min(max(30_000_000/max(len(f.p), 1), 20), 100)
	}
	b := &Bound{}
	var s *lp.Solution
	var cuts lp.Solution // with releases
	if f.in.Objective == TaskCompletion {
		tf, err := newTaskForm(f)
		if err != nil {
			return nil, err
		}
		s = lp.SolveByPrice(tf, gap, iterations, min(max(4*len(f.p), 100), 500))
	} else {
		jf := newJobForm(f)
		s = lp.SolveByPrice(jf, gap, iterations, min(max(4*len(jf.W), 100), 500))
		if small && (s.Gap() > gap || o.ReleaseCuts) {
			pivots := o.pivots
			if pivots == 0 {
				pivots = 20_000 + 100*len(jf.W)
			}
			g := newGenerator(jf, s)
			g.improve(gap, pivots)
			if o.ReleaseCuts {
				cuts = *s
				cuts.Lower, cuts.Prices = g.withReleases(gap, pivots)
			}
		}
	}
	if s.Gap() > gap && f.assigned == nil {
		f.schedulesAsPoints(o, s)
	}
	if f.timeless() {
		s.Raw = s.C
	}
	if f.assigned == nil {
		tight := s.Upper <= s.Lower
		if f.proved(s); tight && s.Upper <= float64(s.Lower*(1+1e-12)) || s.Upper < s.Lower {
			s.Upper = s.Lower // up to rounding
		}
		if cuts.Lower > 0 {
			f.proved(&cuts)
		}
	}
	b.LowerBound, b.UpperBoundLP, b.Gap = s.Lower, s.Upper, s.Gap()
	b.BestLowerBound = s.Lower
	if cuts.Lower > s.Lower {
		b.BestLowerBound, b.BestCertificate = cuts.Lower, pricesOf(cuts.Prices)
	}
	if f.in.Objective == JobCompletion && f.assigned == nil {
		busy := newBusyForm(f).solve(iterations, gap)
		b.busy = busy.c
		if busy.lower > b.BestLowerBound {
			b.BestLowerBound, b.BestCertificate = busy.lower, nil
			b.Smith = make([]float64, len(f.p))
			for t, i := range f.unit {
				b.Smith[t] = busy.pi[i]
			}
		}
	}
	b.Certificate, b.raw = Certificate{Prices: pricesOf(s.Prices), C: s.C}, s.Raw
	return b, nil
}

// timeless reports whether some tasks of f take no time. The job form lacks them. When
// the repair raises other tasks, such a task may lose its place in the order of M. The
// order of M at the feasible point itself is then used.
func (f *flat) timeless() bool {
	return f.in.Objective == JobCompletion && slices.Contains(f.p, 0)
}

// schedulesAsPoints replaces the feasible point of s by the ends of a schedule if they
// are better; the ends of every schedule satisfy (1)-(4). If the machines are not always
// busy, repaired points are far above the program's value, since jobs that arrive
// together are raised in their order.
func (f *flat) schedulesAsPoints(o *Options, s *lp.Solution) {
	w := &workshop{flat: f, o: o, bound: &Bound{raw: s.Raw}}
	for _, p := range []Planner{dispatch, wsrpt} {
		out, err := w.member(p)
		if err != nil {
			continue // WSRPT needs JobCompletion
		}
		v := f.objective(out)
		if v >= s.Upper {
			continue
		}
		s.Upper = v
		if f.in.Objective == TaskCompletion {
			s.C, s.Raw = make([]float64, len(f.p)), make([]float64, len(f.p))
			for t, at := range out.start {
				s.C[t], s.Raw[t] = lp.Seconds(at+f.p[t]), lp.Seconds(2*at+f.p[t])/2
			}
			continue
		}
		s.C = make([]float64, len(f.in.Jobs))
		for t, at := range out.start {
			j := f.units[f.unit[t]].job
			s.C[j] = max(s.C[j], lp.Seconds(at+f.p[t]))
		}
		s.Raw = s.C
	}
}

// middles returns the M of each task at the raw point of a solution of the linear
// program of f: C_j - h_u, or the point itself for TaskCompletion.
func (f *flat) middles(raw []float64) []float64 {
	if f.in.Objective == TaskCompletion {
		return raw
	}
	m := make([]float64, len(f.p))
	f.tails(func(t int32, q int64) {
		m[t] = raw[f.units[f.unit[t]].job] - float64(lp.Seconds(2*q-f.p[t])/2)
	})
	return m
}

// order returns the tasks in the order pi of Algorithm 2: by M, ties by number,
// which puts the tasks of a job before those that wait for them.
func (f *flat) order(raw []float64) []int32 { return lp.Order(f.middles(raw)) }
