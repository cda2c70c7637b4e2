package plan

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/lp"
	"pgregory.net/rapid"
)

// quick are options for many small instances.
var quick = Options{Evaluations: 20}

// Every planner makes feasible schedules with bounds that their certificates prove, and
// keeps its guarantee. Verify checks all of this.
func TestEverySchedulePassesVerify(t *testing.T) {
	for name, s := range map[string]shape{
		"jobs":  small,
		"tasks": {jobs: 4, phases: 2, tasks: 3, machines: 3, classes: 2, tasksWeigh: true, noBarrier: true},
	} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				in := draw(t, s)
				for _, s := range plans(t, in, quick) {
					if err := Certify.Verify(in, s); err != nil {
						t.Fatalf("%v: %v", s.Planner, err)
					}
				}
			})
		})
	}
}

// No schedule is better than the bounds. The best schedule is the hardest case.
func TestBoundsHoldForTheOptimum(t *testing.T) {
	for name, s := range map[string]shape{
		"jobs":        {jobs: 3, phases: 2, tasks: 2, machines: 2, classes: 1, noBarrier: true},
		"two classes": {jobs: 3, phases: 3, tasks: 2, machines: 2, classes: 2},
		"tasks":       {jobs: 3, phases: 2, tasks: 2, machines: 2, classes: 1, tasksWeigh: true},
	} {
		t.Run(name, func(t *testing.T) {
			worst := 0.0
			rapid.Check(t, func(t *rapid.T) {
				in := draw(t, s)
				if in.TaskCount() > 7 {
					t.SkipNow()
				}
				opt := optimum(in)
				o := quick
				o.ReleaseCuts = true
				for _, s := range plans(t, in, o) {
					if s.LowerBound > opt*(1+1e-12) || s.BestLowerBound > opt*(1+1e-12) {
						t.Fatalf("bounds %v and %v, optimum %v", s.LowerBound, s.BestLowerBound, opt)
					}
					if s.Objective < opt*(1-1e-12) {
						t.Fatalf("%v: objective %v, optimum %v", s.Planner, s.Objective, opt)
					}
					if s.Planner == bestOf && opt > 0 {
						worst = max(worst, s.Objective/opt)
					}
				}
			})
			t.Logf("best-of is at most %.3f times the optimum", worst)
		})
	}
}

// The starts and the ends of any feasible schedule satisfy (1)-(4).
func TestSchedulesSatisfyTheLinearProgram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, small)
		for _, s := range plans(t, in, quick) {
			c := make([]float64, len(in.Jobs))
			for j, end := range s.Completion {
				c[j] = time.Duration(end).Seconds()
			}
			if _, err := Certify.Point(in, c); err != nil {
				t.Fatalf("%v: %v", s.Planner, err)
			}
			type middle struct{ m, p float64 }
			byClass := make([][]middle, len(in.Machines))
			task := 0
			for j := range in.Jobs {
				for k := range in.Jobs[j].Phases {
					p := &in.Jobs[j].Phases[k]
					for i := range p.Tasks {
						d := p.TimeOf(i).Seconds()
						byClass[p.Class] = append(byClass[p.Class], middle{m: time.Duration(s.Start[task]).Seconds() + d/2, p: d})
						task++
					}
				}
			}
			for k, list := range byClass {
				slices.SortFunc(list, func(a, b middle) int { return cmp.Compare(a.m, b.m) })
				work, sum := 0.0, 0.0
				for i, u := range list { // every prefix, which implies every set
					work += u.p
					sum += u.p * u.m
					if need := work * work / float64(2*in.Machines[k]); sum < need*(1-1e-9) {
						t.Fatalf("%v: class %d: the first %d tasks violate (4): %v < %v", s.Planner, k, i+1, sum, need)
					}
				}
			}
		}
	})
}

// inner returns prices in the form of the solver.
func inner(prices []Price) []lp.Price {
	var list []lp.Price
	for _, p := range prices {
		list = append(list, lp.Price(p))
	}
	return list
}

// cost returns the integral of t N(t), piece by piece: on a line from (a, f) to (b, g) it is
// (b-a) (a (2f+g) + b (f+2g))/6.
func cost(p *Price) float64 {
	sum, a, f := 0.0, 0.0, 0.0
	for i, b := range p.T {
		g := p.V[i]
		if i == 0 {
			f = g
		}
		sum += (b - a) * (a*(2*f+g) + b*(f+2*g)) / 6
		a, f = b, g
	}
	return sum
}

// drawPrice draws a non-increasing N.
func drawPrice(t *rapid.T, in *Instance, scale float64) []Price {
	var list []Price
	for k := range in.Machines {
		n := rapid.IntRange(0, 5).Draw(t, "points")
		p := Price{Class: sojourn.Class(k)}
		for range n {
			p.T = append(p.T, scale*float64(rapid.IntRange(0, 12).Draw(t, "at"))/4)
			p.V = append(p.V, float64(rapid.IntRange(0, 8).Draw(t, "value"))/4)
		}
		slices.Sort(p.T)
		slices.SortFunc(p.V, func(a, b float64) int { return int(4 * (b - a)) })
		list = append(list, p)
	}
	return list
}

// D(N) is a lower bound for every N, and the solver and Verify compute the same D(N).
func TestEveryPriceProvesABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, small)
		b, err := LowerBound(in, Options{Gap: 1e-9})
		if err != nil {
			t.Fatal(err)
		}
		jf := newJobForm(newFlat(&in))
		scale := 0.0
		for _, c := range b.Certificate.C {
			scale = max(scale, c)
		}
		prices := drawPrice(t, &in, scale)
		proved, err := Certify.Prices(in, prices)
		if err != nil {
			t.Fatal(err)
		}
		if proved > b.UpperBoundLP*(1+1e-9) {
			t.Fatalf("prices prove %v, but the linear program has the value %v", proved, b.UpperBoundLP)
		}
		// D may be a small difference of large numbers.
		paid := 0.0
		for i := range prices {
			paid += float64(in.Machines[prices[i].Class]) * cost(&prices[i])
		}
		if got := jf.Proves(inner(prices), jf.C, 0); got > proved+1e-9*(paid+b.UpperBoundLP) || got < proved-1e-9*(paid+b.UpperBoundLP) {
			t.Fatalf("prices prove %v for the solver, %v for Verify", got, proved)
		}
		if b.Gap > 1e-8 {
			t.Fatalf("gap %v", b.Gap)
		}
	})
}

// All Smith ratios that take no more than the weight of a job prove bounds. The solver
// and Verify compute the same bound from the solver's own ratios.
func TestAllSmithRatiosProveABound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, small)
		ratios := make([]float64, in.TaskCount())
		first := 0
		for j := range in.Jobs {
			job := &in.Jobs[j]
			all, u := 0.0, first
			for k := range job.Phases {
				for i := range job.Phases[k].Tasks {
					ratios[u] = float64(rapid.IntRange(0, 4).Draw(t, "ratio"))
					all += ratios[u] * job.Phases[k].TimeOf(i).Seconds()
					u++
				}
			}
			part := float64(rapid.IntRange(0, 4).Draw(t, "part")) / 4
			for ; first < u; first++ {
				if all > 0 {
					ratios[first] *= part * job.weight() / all * (1 - 1e-12)
				}
			}
		}
		proved, err := Certify.SmithRatios(in, ratios)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range plans(t, in, quick) {
			if proved > s.Objective*(1+1e-9) {
				t.Fatalf("%v: objective %v, the ratios prove %v", s.Planner, s.Objective, proved)
			}
		}
		if len(in.Jobs) == 0 {
			return
		}
		f := newFlat(&in)
		busy := newBusyForm(f).solve(20, 1e-9)
		for u, i := range f.unit {
			ratios[u] = busy.pi[i]
		}
		if proved, err = Certify.SmithRatios(in, ratios); err != nil || math.Abs(proved-busy.lower) > 1e-9*proved {
			t.Fatalf("the solver says %v, Verify %v, %v", busy.lower, proved, err)
		}
	})
}

// value returns the value of the linear program.
func value(t *rapid.T, in Instance) float64 {
	b, err := LowerBound(in, Options{Gap: 1e-10})
	if err != nil {
		t.Fatal(err)
	}
	if b.LowerBound > b.UpperBoundLP*(1+1e-9) {
		t.Fatalf("lower bound %v, upper bound %v", b.LowerBound, b.UpperBoundLP)
	}
	return b.LowerBound
}

// clone returns a deep copy.
func clone(in Instance) Instance {
	in.Machines = slices.Clone(in.Machines)
	in.Jobs = slices.Clone(in.Jobs)
	for j := range in.Jobs {
		in.Jobs[j].Phases = slices.Clone(in.Jobs[j].Phases)
		for k := range in.Jobs[j].Phases {
			p := &in.Jobs[j].Phases[k]
			p.Times, p.Delays = slices.Clone(p.Times), slices.Clone(p.Delays)
		}
	}
	return in
}

// The bound scales with times and weights, does not depend on the order of jobs, and
// moves in the right direction when a part of the instance changes.
func TestBoundMovesWithTheInstance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, small)
		lb := value(t, in)
		const slack = 1e-7
		atLeast := func(what string, in Instance, least float64) {
			if got := value(t, in); got < least*(1-slack) {
				t.Fatalf("%s: %v, want at least %v", what, got, least)
			}
		}
		equal := func(what string, in Instance, want float64) {
			if got := value(t, in); math.Abs(got-want) > slack*want {
				t.Fatalf("%s: %v, want %v", what, got, want)
			}
		}
		if len(in.Jobs) == 0 {
			equal("no jobs", in, 0)
			return
		}
		j := rapid.IntRange(0, len(in.Jobs)-1).Draw(t, "job")
		more := time.Duration(rapid.IntRange(1, 1000).Draw(t, "more")) * time.Millisecond

		other := clone(in)
		rng := rand.New(rand.NewPCG(1, 2))
		rng.Shuffle(len(other.Jobs), func(a, b int) { other.Jobs[a], other.Jobs[b] = other.Jobs[b], other.Jobs[a] })
		equal("jobs in another order", other, lb)

		other = clone(in)
		for i := range other.Jobs {
			other.Jobs[i].Weight = 8 * other.Jobs[i].weight()
		}
		equal("weights times 8", other, 8*lb)

		other = clone(in)
		for i := range other.Jobs {
			other.Jobs[i].Release *= 5
			for k := range other.Jobs[i].Phases {
				p := &other.Jobs[i].Phases[k]
				for _, list := range [][]time.Duration{p.Times, p.Delays} {
					for n := range list {
						list[n] *= 5
					}
				}
			}
		}
		equal("times times 5", other, 5*lb)
		a, err := Plan(in, Options{Planner: marS})
		if err != nil {
			t.Fatal(err)
		}
		if b, err := Plan(other, Options{Planner: marS}); err != nil || b.Objective < lb*(1-slack)*5 {
			t.Fatalf("times times 5: objective %v, was %v, bound %v, error %v", b.Objective, a.Objective, lb, err)
		}

		other = clone(in)
		other.Jobs[j].Release = other.Jobs[j].Release.Add(more)
		atLeast("a later release", other, lb)

		other = clone(in)
		other.Jobs[j].Weight = 2 * other.Jobs[j].weight()
		atLeast("a higher weight", other, lb)

		other = clone(in)
		p := &other.Jobs[j].Phases[0]
		p.Times[0] += more
		atLeast("a longer task", other, lb)

		other = clone(in)
		for k := range other.Jobs[j].Phases {
			if list := other.Jobs[j].Phases[k].Delays; len(list) > 0 {
				list[0] += more
			}
		}
		atLeast("a longer delay", other, lb)

		other = clone(in)
		other.Machines[0]++
		if got := value(t, other); got > lb*(1+slack) {
			t.Fatalf("one machine more: %v, want at most %v", got, lb)
		}
	})
}

// On one machine, if all jobs have one task and are released at once, the bound is the
// optimum: the order of weight over time [Smith 1956].
func TestBoundIsExactOnOneMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, shape{jobs: 7, phases: 1, tasks: 1, machines: 1})
		for j := range in.Jobs {
			in.Jobs[j].Release = 0
		}
		s, err := Plan(in, Options{Planner: huwf, Gap: 1e-10})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(s.LowerBound-s.Objective) > 1e-8*s.Objective {
			t.Fatalf("bound %v, optimum %v", s.LowerBound, s.Objective)
		}
	})
}

// With a machine for each task, every job ends as early as it can, and the bound says so.
func TestBoundIsExactWithAMachineForEachTask(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, small)
		for k := range in.Machines {
			in.Machines[k] = max(in.TaskCount(), 1)
		}
		s, err := Plan(in, Options{Planner: marS})
		if err != nil {
			t.Fatal(err)
		}
		if want := newJobForm(newFlat(&in)).Trivial(); s.Objective < want || s.Objective > want*(1+1e-12) || s.LowerBound < want*(1-1e-12) {
			t.Fatalf("objective %v, bound %v, want %v", s.Objective, s.LowerBound, want)
		}
	})
}

// MarS works on any feasible point of the linear program, not only on an optimum. It
// starts no task later than 2+g times its M there (Theorem 3, erratum 6), whichever of
// the machines that are free in time it takes.
func TestMarSOnAnyFeasiblePoint(t *testing.T) {
	for name, longer := range map[string]bool{"longer reduces": true, "any": false} {
		t.Run(name, func(t *testing.T) {
			worst := 0.0
			rapid.Check(t, func(t *rapid.T) {
				s := shape{jobs: 6, phases: 2, tasks: 4, machines: 3, longerReduces: longer, noBarrier: true}
				in := draw(t, s)
				f := newFlat(&in)
				jf := newJobForm(f)
				raw := slices.Clone(jf.C)
				for j := range raw {
					raw[j] += float64(rapid.IntRange(0, 20).Draw(t, "later")) * jf.HMax / 8
				}
				c, _ := jf.RepairAlike(raw)
				b := &Bound{raw: raw}
				w := &workshop{flat: f, o: &quick, bound: b}
				factor := w.marsFactor()
				if longer && factor != 3 {
					t.Fatalf("factor %v, want 3", factor)
				}
				if factor < 3 || factor > 4 {
					t.Fatalf("factor %v", factor)
				}
				for _, p := range []Planner{marS, bestFit} {
					out := w.strict(w.order(), p)
					m := f.middles(c)
					for i, at := range out.start {
						if got := lp.Seconds(at); got > factor*m[i]*(1+1e-9) {
							t.Fatalf("%v: task %d starts at %v, M is %v, factor %v", p, i, got, m[i], factor)
						} else if m[i] > 0 {
							worst = max(worst, got/m[i])
						}
					}
				}
			})
			t.Logf("tasks start at most at %.3f M", worst)
		})
	}
}

// COGE comes to the value of the linear program. If it stops at epsilon, MarS still has a
// guarantee of (2+g)/(1-epsilon) over its value (erratum 3).
func TestCOGE(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, shape{jobs: 5, phases: 2, tasks: 3, machines: 2, classes: 1})
		r, err := COGE(in, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		last := r[len(r)-1]
		if lb := value(t, in); math.Abs(last.Value-lb) > 1e-7*lb || last.Violated > 0 {
			t.Fatalf("last round %+v, want the value %v", last, lb)
		}
		epsilon := rapid.SampledFrom([]float64{0.1, 0.3, 0.5}).Draw(t, "epsilon")
		r, err = COGE(in, epsilon, 0)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Plan(in, Options{Planner: marSCOGE, Epsilon: epsilon})
		if err != nil {
			t.Fatal(err)
		}
		f := newFlat(&in)
		factor := (&workshop{flat: f}).marsFactor()
		if v := r[len(r)-1].Value; s.Objective > factor/(1-epsilon)*v*(1+1e-9) {
			t.Fatalf("objective %v, the stopped program has the value %v, factor %v", s.Objective, v, factor)
		}
		for i, round := range r {
			if round.Feasible < round.Value*(1-1e-9) || i > 0 && round.Value < r[i-1].Value*(1-1e-9) {
				t.Fatalf("rounds %+v", r)
			}
		}
	})
}

// T-MarS ends each task within 7 times its C in the linear program (Theorem 5 with errata
// 9 to 11). This also holds before the schedule is shifted left.
func TestTMarSBound(t *testing.T) {
	worst := 0.0
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, shape{jobs: 6, phases: 2, tasks: 4, machines: 3, classes: 1, tasksWeigh: true, noBarrier: true})
		f := newFlat(&in)
		b, err := lowerBound(f, &quick)
		if err != nil {
			t.Fatal(err)
		}
		c := b.Certificate.C
		d := newDispatcher(f)
		var order []int32
		d.notBefore, order = f.blocks(c)
		blocks := f.newLayout()
		d.run(order, blocks)
		left := f.shiftLeft(blocks)
		for i := range c {
			end := lp.Seconds(blocks.start[i] + f.p[i])
			if end > 7*c[i]*(1+1e-9)+1e-8 {
				t.Fatalf("task %d ends at %v, C is %v", i, end, c[i])
			}
			if left.start[i] > blocks.start[i] {
				t.Fatalf("task %d starts at %d, shifted left at %d", i, blocks.start[i], left.start[i])
			}
			if c[i] > 0 {
				worst = max(worst, end/c[i])
			}
		}
	})
	t.Logf("tasks end at most at %.3f C", worst)
}

// Equal arguments give equal schedules, whatever was planned before.
func TestDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, small)
		a, b := plans(t, in, quick), plans(t, clone(in), quick)
		for i := range a {
			if !slices.Equal(a[i].Start, b[i].Start) || !slices.Equal(a[i].Machine, b[i].Machine) || a[i].LowerBound != b[i].LowerBound {
				t.Fatalf("%v: two runs differ", a[i].Planner)
			}
		}
	})
}

// The lower bound of the search for a minimum is below phi, also if the search stops
// early, since it comes from a tangent and not from a point.
func TestTangentsBoundTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, small)
		jf := newJobForm(newFlat(&in))
		end := 1e-9
		for _, c := range jf.C {
			end = max(end, c+jf.HMax)
		}
		curves := lp.Curves(jf.M, inner(drawPrice(t, &in, end)))
		tolerance := rapid.SampledFrom([]float64{1e6, 1, 0.1, 1e-3, 1e-13}).Draw(t, "tolerance")
		for j := range jf.W {
			start := end * float64(rapid.IntRange(0, 16).Draw(t, "start")) / 8
			at, below := jf.Best(j, start, curves, tolerance)
			if at < jf.C[j] {
				t.Fatalf("job %d: at %v, before %v", j, at, jf.C[j])
			}
			// The tangent is one at an instant that is rounded: what it changes in the payment counts,
			// which can be steep where the minimum is small.
			near := func(by float64) float64 { return jf.Payment(j, at*(1+by), curves) }
			rounding := 2e-9*(near(-1e-6)-near(1e-6)) + 1e-300 // of 4e-15 of that instant
			for i := range 65 {
				c := jf.C[j] + float64(i)/32*end
				phi := jf.W[j]*c + jf.Payment(j, c, curves)
				if below > phi*(1+1e-12)+rounding {
					t.Fatalf("job %d: the minimum is said to be at least %v, but at %v it is %v", j, below, c, phi)
				}
				if at := jf.W[j]*at + jf.Payment(j, at, curves); tolerance < 1e-9 && at > phi*(1+1e-9)+rounding {
					t.Fatalf("job %d: the minimum is said to be %v, but at %v it is %v", j, at, c, phi)
				}
			}
		}
	})
}

// The same holds for the completion of tasks and their barriers: a search for a barrier
// that stops early proves less, never more.
func TestBarriersBoundTheMinimum(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := draw(t, shape{jobs: 4, phases: 2, tasks: 3, machines: 2, classes: 2, tasksWeigh: true, noBarrier: true})
		tf, err := newTaskForm(newFlat(&in))
		if err != nil {
			t.Fatal(err)
		}
		end := 1e-9
		for i, m := range tf.Low {
			end = max(end, 2*(m+tf.P[i]))
		}
		prices := drawPrice(t, &in, end)
		d := lp.NewDual(tf, lp.Curves(tf.M, inner(prices)))
		paid := 0.0
		for k := range prices {
			paid += tf.M[k] * cost(&prices[k])
		}
		proved, err := Certify.Prices(in, prices)
		if err != nil {
			t.Fatal(err)
		}
		tolerance := rapid.SampledFrom([]float64{1e6, 1, 0.01, 1e-12}).Draw(t, "tolerance")
		tf.Minimise(d, slices.Clone(tf.Low), tolerance).Finish()
		got := d.Lower()
		// proved is a difference. The amount paid may be far larger than the difference.
		slack := 1e-12 * paid
		// A search ends where the rest is worth less than the tolerance, of the weights times a barrier.
		// Prices are zero from 3 end on, so no barrier is later than 4 end.
		rest := 0.0
		for _, w := range tf.W {
			rest += tolerance * w * 4 * end
		}
		if want := proved + paid; got > want*(1+1e-9)+slack || tolerance < 1e-9 && got < want*(1-1e-9)-slack-rest {
			t.Fatalf("tolerance %v: at least %v, want %v", tolerance, got, want)
		}
	})
}
