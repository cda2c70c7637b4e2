package plan

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars"
	"pgregory.net/rapid"
)

// idles returns a task that waits although it could start on a free machine, and the
// instant. It returns false if there is none.
func idles(in *Instance, s *Schedule) (task int, at sojourn.Time, found bool) {
	f := newFlat(in)
	p := newPlacer(f)
	p.reset()
	order := make([]int32, len(f.p))
	for t := range order {
		order[t] = int32(t)
	}
	for _, t := range order { // phases are listed in their order
		p.deliver(t, int64(s.Start[t])+f.p[t])
	}
	for t, start := range s.Start {
		class := f.units[f.unit[t]].class
		ready := p.earliest(int32(t))
		for m := f.base[class]; m < f.base[class+1] && int64(start) > ready; m++ {
			// The machine is busy from ready to start if the tasks that run on it follow
			// one another.
			var own []int32
			for u := range s.Start {
				if int(s.Machine[u]) == m && f.p[u] > 0 {
					own = append(own, int32(u))
				}
			}
			slices.SortFunc(own, func(a, b int32) int { return cmp.Compare(s.Start[a], s.Start[b]) })
			free := ready
			for _, u := range own {
				if int64(s.Start[u]) <= free {
					free = max(free, int64(s.Start[u])+f.p[u])
				}
			}
			if free < int64(start) {
				return t, sojourn.Time(free), true
			}
		}
	}
	return 0, 0, false
}

// No machine idles until the next plan, however long the interval between plans is, and
// none idles under a dispatched list. With a batch interval machines do idle, since the
// interval asks for it.
func TestNothingWaitsForAPlan(t *testing.T) {
	history := func(t *rapid.T) (waited bool) {
		in := draw(t, shape{jobs: 6, phases: 3, tasks: 4, machines: 3, classes: 2, positive: true, noBarrier: true})
		for j := range in.Jobs {
			in.Jobs[j].Weight = float64(rapid.IntRange(1, 9).Draw(t, "weight"))
		}
		check := func(o Options, planners ...Planner) bool {
			list, err := All(in, o, planners...)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				if task, at, found := idles(&in, s); found {
					if o.Online.Batch == 0 {
						t.Fatalf("%v, interval %v: task %d waits at %v", s.Planner, o.Online.Interval, task, at)
					}
					return true
				}
			}
			return false
		}
		check(Options{}, dispatch, busyDispatch, wsrpt, huwfDispatch, stfDispatch)
		for _, interval := range []time.Duration{1, 0, time.Hour} {
			check(Options{Online: mars.Options{Interval: interval}}, soMarS)
		}
		return check(Options{Online: mars.Options{Batch: 1 << 40}}, soMarS)
	}
	rapid.Check(t, func(t *rapid.T) { history(t) })
	for seed := range 1000 {
		if rapid.Custom(history).Example(seed) {
			return
		}
	}
	t.Error("no batch was waited for in 1,000 instances")
}

// The lists of batches by hand: one machine, batches of 10 s from 0 on. Job 0 takes 4 s
// from 0 on. Job 1, released at 1 with 12 s, and job 2, released at 3 with 3 s, are
// planned at 10, the shorter one first. Job 3, released at 11 with 1 s, is planned at 20
// and waits for job 1.
//
// Reference: Section 5.3.
func TestBatchedListsByHand(t *testing.T) {
	job := func(at, seconds float64) Job {
		return Job{Release: sojourn.Time(sec(at)), Phases: []Phase{same(1, sec(seconds))}}
	}
	in := Instance{Machines: []int{1}, Jobs: []Job{job(0, 4), job(1, 12), job(3, 3), job(11, 1)}}
	for planner, want := range map[Planner][]float64{
		huwf:         {0, 13, 10, 25},
		huwfDispatch: {0, 13, 10, 25},
		soMarS:       {0, 13, 10, 25},
	} {
		s := mustPlan(t, in, Options{Planner: planner, Online: mars.Options{Batch: sec(10)}})
		for j, at := range s.Start {
			if at != sojourn.Time(sec(want[j])) {
				t.Errorf("%v: starts %v, want %v", planner, s.Start, want)
				break
			}
		}
	}
}

// Instants stay in range for every interval that is accepted. Job 1 waits for the end of
// the batch. Longer intervals are refused.
func TestLongestInterval(t *testing.T) {
	const longest = math.MaxInt64 / 4
	for _, opts := range []mars.Options{{Batch: longest + 1}, {Interval: longest + 1}, {Batch: math.MaxInt64}} {
		if _, err := mars.New(opts); err == nil {
			t.Errorf("%+v is accepted", opts)
		}
	}
	job := func(at sojourn.Time) Job {
		return Job{Release: at, Phases: []Phase{{Tasks: 1, Time: time.Second}}}
	}
	in := Instance{Machines: []int{1}, Jobs: []Job{job(0), job(longest / 2)}}
	for _, planner := range []Planner{huwf, huwfDispatch, soMarS, bestOf} {
		s, err := Plan(in, Options{Planner: planner, Online: mars.Options{Batch: longest}})
		if err != nil {
			t.Fatal(err)
		}
		if err := Certify.Verify(in, s); err != nil || planner != bestOf && s.Start[1] != longest {
			t.Errorf("%v: starts %v, %v", planner, s.Start, err)
		}
	}
}

// The C_j of a plan come close to the value of the linear program of all waiting jobs,
// whose bounds have proofs of their own.
func TestPlansOfThePolicySolveTheProgram(t *testing.T) {
	worst := 0.0
	for seed := range uint64(10) {
		in := gen(t, "mars-uniform-times", seed, 50, map[string]string{"jobs": "30", "release": "zero", "delay": "0"})
		p, err := mars.New(mars.Options{})
		if err != nil {
			t.Fatal(err)
		}
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		for id := range in.Machines[0] {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
		}
		for j := range in.Jobs {
			// The policy is told the same: task times do not differ within a phase.
			in.Jobs[j].Release = 0
			job := &sojourn.Job{ID: sojourn.JobID(j + 1), Weight: in.Jobs[j].Weight}
			for _, ph := range in.Jobs[j].Phases {
				job.Phases = append(job.Phases, sojourn.Phase{Tasks: ph.Tasks, Estimate: ph.TimeOf(0)})
			}
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		}
		observe(sojourn.Event{Kind: sojourn.Tick})
		c := make([]float64, len(in.Jobs))
		for j := range c {
			attrs, _ := p.Explain(sojourn.JobID(j + 1))
			for _, a := range attrs {
				if a.Key == "C" {
					c[j] = a.Value.Float64()
				}
			}
		}
		// Raise the point by the least amount that makes it satisfy the program.
		raise := 0.0
		for range 60 {
			if _, err := Certify.Point(in, c); err == nil {
				break
			}
			raise += 0.25
			for j := range c {
				c[j] += 0.25
			}
		}
		b, err := LowerBound(in, Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := 0.0
		for j := range c {
			v += in.Jobs[j].Weight * c[j]
		}
		worst = max(worst, v/b.LowerBound)
	}
	t.Logf("at most %.4f times the lower bound", worst)
	if worst > 1.02 {
		t.Errorf("%.4f times the lower bound", worst)
	}
}
