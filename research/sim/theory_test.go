package sim_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// The results of queueing theory for one server are compared in two steps:
//
//	formulas  ->  paths of the queue by its definition  ->  sim under a policy
//
// Formulas and definitions share no code with sim or a policy. Theory's servers can interrupt
// a job at any time. Jobs of n tasks, each the n-th part of their size, come close to that on one
// slot, the closer the greater n is.

// A size is a distribution of the sizes of jobs, in seconds, with mean 1.
type size struct {
	name    string
	sample  func(*rand.Rand) float64
	tail    func(x float64) float64 // P(S > x)
	longest float64                 // where sums end: the tail beyond is below 1e-12
}

var exponential = size{
	name:    "exponential",
	sample:  (*rand.Rand).ExpFloat64,
	tail:    func(x float64) float64 { return math.Exp(-x) },
	longest: 30,
}

// Nine jobs of ten have half the mean size, one of ten has 5.5 times the mean.
var hyperexponential = size{
	name: "hyperexponential",
	sample: func(r *rand.Rand) float64 {
		if r.Float64() < 0.9 {
			return 0.5 * r.ExpFloat64()
		}
		return 5.5 * r.ExpFloat64()
	},
	tail:    func(x float64) float64 { return 0.9*math.Exp(-x/0.5) + 0.1*math.Exp(-x/5.5) },
	longest: 160,
}

// All sizes from 0 to 2 s are equally likely.
var even = size{
	name:    "uniform",
	sample:  func(r *rand.Rand) float64 { return 2 * r.Float64() },
	tail:    func(x float64) float64 { return max(0, 1-x/2) },
	longest: 2,
}

// The formulas need moments of the sizes up to x. They are sums over cells of equal width.
const cells = 20000

// A cell is a range of sizes.
type cell struct {
	x, width float64 // its middle
	mass     float64 // P(S in it)
	tail     float64 // P(S > x)
	m1, m2   float64 // E[S; S <= x], E[S^2; S <= x]
}

func (s size) cells() []cell {
	list := make([]cell, cells)
	h := s.longest / cells
	var m1, m2 float64
	for i := range list {
		from := float64(i) * h
		c := &list[i]
		*c = cell{x: from + h/2, width: h, mass: s.tail(from) - s.tail(from+h), tail: s.tail(from + h/2)}
		c.m1, c.m2 = m1+c.mass*c.x/2, m2+c.mass*c.x*c.x/2
		m1, m2 = m1+c.mass*c.x, m2+c.mass*c.x*c.x
	}
	return list
}

// mean returns E[f(S)].
func mean(list []cell, f func(c cell) float64) (sum float64) {
	for _, c := range list {
		sum += c.mass * f(c)
	}
	return sum
}

// A discipline is a rule by which one server serves jobs, in theory.
type discipline struct {
	name string

	// mean is the mean sojourn time with Poisson arrivals at a rate rho.
	mean func(s size, rho float64) float64

	// index ranks the jobs that are there. The jobs with the least index are served, in
	// equal parts.
	index func(j *queued) float64

	policy func() sojourn.Policy

	// within is how far, times n, the mean of jobs of n tasks may be from the limit.
	within float64
}

var disciplines = []discipline{
	{"FIFO", pollaczekKhinchine, func(j *queued) float64 { return j.at },
		constructors.FIFO.With(fifo.Options{}), 1e-4},
	{"PS", func(_ size, rho float64) float64 { return 1 / (1 - rho) }, func(*queued) float64 { return 0 },
		pooled.Fair.With(fair.Options{}), 5},
	{"LAS", leastAttained, func(j *queued) float64 { return j.size - j.left },
		constructors.LAS.With(baseline.LASOptions{}), 2},
	{"SRPT", shortestRemaining, func(j *queued) float64 { return j.left },
		constructors.SRPT.With(baseline.SRPTOptions{}), 2},
	{"SJF, preemptive", shortestJob, func(j *queued) float64 { return j.size },
		constructors.HUWF.With(baseline.ListOptions{}), 2},
}

// Pollaczek (1930), Khinchine (1932).
func pollaczekKhinchine(s size, rho float64) float64 {
	return 1 + rho/2*mean(s.cells(), func(c cell) float64 { return c.x * c.x })/(1-rho)
}

// Schrage and Miller (1966).
func shortestRemaining(s size, rho float64) float64 {
	residence := 0.0 // the integral of dt / (1 - load(t)) from 0 to x
	return mean(s.cells(), func(c cell) float64 {
		idle := 1 - rho*c.m1
		residence += c.width / idle
		return rho/2*(c.m2+c.x*c.x*c.tail)/(idle*idle) + residence
	})
}

// A preemptive priority queue with a class for each size: Harchol-Balter, Performance
// Modeling and Design of Computer Systems (2013), chapter 32.
func shortestJob(s size, rho float64) float64 {
	return mean(s.cells(), func(c cell) float64 {
		idle := 1 - rho*c.m1
		return c.x/idle + rho/2*c.m2/(idle*idle)
	})
}

// Schrage (1967): the foreground-background queue.
func leastAttained(s size, rho float64) float64 {
	return mean(s.cells(), func(c cell) float64 {
		idle := 1 - rho*(c.m1+c.x*c.tail)
		return rho/2*(c.m2+c.x*c.x*c.tail)/(idle*idle) + c.x/idle
	})
}

// The formulas give the values that textbooks print.
func TestFormulas(t *testing.T) {
	for _, c := range []struct {
		discipline string
		size       size
		rho, want  float64
	}{
		{"FIFO", exponential, 0.5, 2}, {"FIFO", exponential, 0.8, 5}, {"FIFO", exponential, 0.9, 10},
		{"PS", exponential, 0.5, 2}, {"PS", hyperexponential, 0.8, 5}, {"PS", even, 0.9, 10},
		{"LAS", exponential, 0.5, 2}, {"LAS", exponential, 0.8, 5}, {"LAS", exponential, 0.9, 10},
		{"SRPT", exponential, 0.5, 1.4258}, {"SRPT", exponential, 0.8, 2.3532}, {"SRPT", exponential, 0.9, 3.5526},
		{"SJF, preemptive", exponential, 0.5, 1.5314}, {"SJF, preemptive", exponential, 0.8, 2.6589},
		{"SJF, preemptive", exponential, 0.9, 4.0518},
		{"FIFO", hyperexponential, 0.5, 1 + 0.5*(0.9*2*0.25+0.1*2*30.25)/2/0.5},
		{"FIFO", even, 0.5, 1 + 0.5*(4.0/3)/2/0.5},
	} {
		i := slices.IndexFunc(disciplines, func(d discipline) bool { return d.name == c.discipline })
		if got := disciplines[i].mean(c.size, c.rho); math.Abs(got/c.want-1) > 5e-4 {
			t.Errorf("%s, %s sizes, load %v: mean %.4f, want %.4f", c.discipline, c.size.name, c.rho, got, c.want)
		}
	}
}

// A queued job is a job on a path of the queue.
type queued struct {
	at, size float64
	left     float64 // of its size
	end      float64
}

// path draws jobs that arrive at a rate rho.
func path(s size, rho float64, jobs int, seed uint64) []queued {
	rng := rand.New(rand.NewPCG(seed, 1))
	list := make([]queued, jobs)
	now := 0.0
	for i := range list {
		now += rng.ExpFloat64() / rho
		size := max(1e-6, s.sample(rng))
		list[i] = queued{at: now, size: size, left: size}
	}
	return list
}

// serve computes the ends of the jobs on one server that a discipline shares, by its
// definition: the jobs with the least index share it until a job arrives, one ends, or
// the index of the served jobs reaches the index of another.
func (d discipline) serve(list []queued) {
	var there []*queued
	now, next := 0.0, 0
	for next < len(list) || len(there) > 0 {
		if len(there) == 0 {
			now = list[next].at
		}
		for next < len(list) && list[next].at <= now {
			there = append(there, &list[next])
			next++
		}
		const same = 1e-9
		least, second := math.Inf(1), math.Inf(1)
		for _, j := range there {
			least = min(least, d.index(j))
		}
		var served []*queued
		for _, j := range there {
			if d.index(j) <= least+same {
				served = append(served, j)
			} else {
				second = min(second, d.index(j))
			}
		}
		each := math.Inf(1) // the service of each of them until something changes
		for _, j := range served {
			each = min(each, j.left)
		}
		if d.name == "LAS" { // whose index grows while it is served
			each = min(each, second-least)
		}
		if next < len(list) {
			each = min(each, (list[next].at-now)/float64(len(served)))
		}
		now += each * float64(len(served))
		for _, j := range served {
			if j.left -= each; j.left <= same {
				j.end = now
			}
		}
		there = slices.DeleteFunc(there, func(j *queued) bool { return j.end > 0 })
		if next < len(list) && list[next].at-now < same {
			now = list[next].at
		}
	}
}

// meanOf returns the mean of a series of numbers, and its standard error from the means
// of 20 batches.
func meanOf(values []float64) (mean, stderr float64) {
	const batches = 20
	var sum, squares float64
	n := len(values) / batches
	for b := range batches {
		m := 0.0
		for _, x := range values[b*n : (b+1)*n] {
			m += x / float64(n)
		}
		sum, squares = sum+m, squares+m*m
	}
	mean = sum / batches
	return mean, math.Sqrt((squares/batches - mean*mean) / (batches - 1))
}

// The mean of a long path of the queue is that of the formula.
func TestFormulasOfPaths(t *testing.T) {
	jobs := 10_000
	if thorough {
		jobs = 300_000
	}
	for _, s := range []size{exponential, hyperexponential, even} {
		for _, rho := range []float64{0.5, 0.8} {
			for _, d := range disciplines {
				list := path(s, rho, jobs, 1)
				d.serve(list)
				var sojourn []float64
				for _, j := range list {
					sojourn = append(sojourn, j.end-j.at)
				}
				got, stderr := meanOf(sojourn)
				want := d.mean(s, rho)
				if math.Abs(got-want) > 4*stderr || thorough && stderr > 0.06*want {
					t.Errorf("%s, %s sizes, load %v: mean %.4f with a standard error of %.4f, want %.4f", d.name, s.name, rho, got, stderr, want)
				}
			}
		}
	}
}

// simulate runs a path under a policy. Each job is a chain of phases, or one phase of
// tasks, in equal parts of its size.
func simulate(t *testing.T, list []queued, slots, phases, tasks int, policy func() sojourn.Policy) []float64 {
	t.Helper()
	p := policy()
	jobs := func(yield func(*sim.Job, error) bool) {
		for i, q := range list {
			j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(i + 1)}, At: sojourn.Time(q.at * 1e9)}
			for range phases {
				j.Phases = append(j.Phases, sojourn.Phase{Tasks: tasks})
				j.AnyClass = append(j.AnyClass, true)
				j.Times = append(j.Times, sim.Times{Each: time.Duration(q.size * 1e9 / float64(phases*tasks))})
			}
			if !yield(j, nil) {
				return
			}
		}
	}
	res, err := sim.Run(context.Background(), sim.Config{Cluster: uniform(slots), Jobs: jobs, Policy: p, Records: true, NoAudit: true})
	if err != nil {
		t.Fatal(err)
	}
	var sojourn []float64
	for _, r := range res.JobRecords {
		sojourn = append(sojourn, r.Sojourn().Seconds())
	}
	return sojourn
}

// One task for each job, first come, first served. The recursions of Lindley (1952) for
// one server and of Kiefer and Wolfowitz (1955) for several give every sojourn time, to
// the nanosecond.
func TestFirstComeFirstServed(t *testing.T) {
	for _, servers := range []int{1, 2, 5} {
		list := path(hyperexponential, 0.9*float64(servers), 5000, 2)
		free := make([]sojourn.Time, servers) // when each server is free, ascending
		got := simulate(t, list, servers, 1, 1, disciplines[0].policy)
		for i, q := range list {
			at := sojourn.Time(q.at * 1e9)
			free[0] = max(free[0], at).Add(time.Duration(q.size * 1e9))
			if want := free[0].Sub(at).Seconds(); got[i] != want {
				t.Fatalf("%d servers, job %d: sojourn time %v s, want %v s", servers, i, got[i], want)
			}
			slices.Sort(free)
		}
	}
}

// Erlang's formula (1917): the mean sojourn time in M/M/k, first come, first served.
func TestErlang(t *testing.T) {
	jobs := 5000
	if thorough {
		jobs = 100_000
	}
	for _, c := range []struct {
		servers int
		load    float64
		want    float64 // with mean service times of 1
	}{{1, 0.5, 2}, {2, 0.8, 1 / (1 - 0.64)}, {4, 0.5, 1 + 0.17391304347826086/2}} {
		list := path(exponential, c.load*float64(c.servers), jobs, 3)
		got, stderr := meanOf(simulate(t, list, c.servers, 1, 1, disciplines[0].policy))
		if math.Abs(got-c.want) > 4*stderr || thorough && stderr > 0.02*c.want {
			t.Errorf("M/M/%d at load %v: mean %.4f with a standard error of %.4f, want %.4f", c.servers, c.load, got, stderr, c.want)
		}
	}
}

// Jobs of many small tasks on one slot have nearly the sojourn times of the discipline on
// the same path of the queue. The more tasks, the nearer they come.
func TestDisciplinesAreLimits(t *testing.T) {
	jobs, tasks := 500, []int{4, 32}
	if thorough {
		jobs, tasks = 4000, []int{4, 16, 64}
	}
	for _, s := range []size{exponential, hyperexponential, even} {
		list := path(s, 0.8, jobs, 4)
		for _, d := range disciplines {
			exact := slices.Clone(list)
			d.serve(exact)
			want := 0.0
			for _, j := range exact {
				want += (j.end - j.at) / float64(jobs)
			}
			for _, n := range tasks {
				got := 0.0
				for _, x := range simulate(t, list, 1, 1, n, d.policy) {
					got += x / float64(jobs)
				}
				t.Logf("%-16s %-16s %3d tasks: mean %.3f, %.3f in the limit (%+.1f %%)", d.name, s.name, n, got, want, 100*(got/want-1))
				if math.Abs(got/want-1) > d.within/float64(n) {
					t.Errorf("%s, %s sizes, jobs of %d tasks: mean %.3f, in the limit %.3f", d.name, s.name, n, got, want)
				}
			}
		}
	}
}

// SRPT on k servers of speed 1/k, whose jobs use one server at a time. It takes at least
// as long as one server of speed 1, and at most the bound of Grosof, Scully and
// Harchol-Balter, SRPT for Multiserver Systems (2018). Jobs are chains of small phases.
func TestSRPTOnSeveralServers(t *testing.T) {
	bound := func(rho, k float64) float64 {
		residence := 0.0
		return mean(exponential.cells(), func(c cell) float64 {
			idle := 1 - rho*c.m1
			residence += c.width / idle
			return rho/2*(c.m2+c.x*c.x*c.tail)/(idle*idle) + k*rho*c.m1*c.x/idle + k*residence
		})
	}
	for _, c := range []struct{ rho, k, want float64 }{{0.5, 2, 3.373}, {0.5, 4, 6.495}, {0.8, 2, 5.777}, {0.8, 4, 10.600}, {0.9, 2, 8.229}, {0.9, 4, 14.465}} {
		if got := bound(c.rho, c.k); math.Abs(got/c.want-1) > 5e-4 {
			t.Errorf("bound for %v servers at load %v: %.4f, want %.4f", c.k, c.rho, got, c.want)
		}
	}
	jobs := 1000
	if thorough {
		jobs = 20_000
	}
	srpt := disciplines[3]
	list := path(exponential, 0.8, jobs, 5)
	one := slices.Clone(list)
	srpt.serve(one)
	least := 0.0
	for _, j := range one {
		least += (j.end - j.at) / float64(jobs)
	}
	for _, c := range []struct {
		servers int
		about   float64 // a value from another simulation
	}{{2, 3.290}, {4, 5.154}} {
		slow := slices.Clone(list)
		for i := range slow {
			slow[i].size *= float64(c.servers)
		}
		got, stderr := meanOf(simulate(t, slow, c.servers, 16, 1, srpt.policy))
		most := bound(0.8, float64(c.servers))
		t.Logf("%d servers: mean %.3f with a standard error of %.3f; one server %.3f, bound %.3f", c.servers, got, stderr, least, most)
		if got < least || got > most || math.Abs(got-c.about) > 4*stderr+0.03*c.about {
			t.Errorf("%d servers: mean %.3f with a standard error of %.3f, want about %.3f, from %.3f to %.3f", c.servers, got, stderr, c.about, least, most)
		}
	}
}
