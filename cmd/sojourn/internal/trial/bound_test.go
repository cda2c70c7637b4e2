package trial

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/research/plan"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// generated returns a generated workload on a cluster. The cluster "" is that of the
// generator.
func generated(t *testing.T, gen, cluster string, seed uint64) *Scenario {
	t.Helper()
	with := Setup{Policies: catalog.Builtin(), Seed: seed}
	with.Source.Cluster = cluster
	if err := with.Source.Gen.Set(gen); err != nil {
		t.Fatal(err)
	}
	s, err := with.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// simulated returns the result of a policy.
func simulated(t *testing.T, s *Scenario, policy string) *sim.Result {
	t.Helper()
	specs, err := catalog.Parse(policy)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := s.config(specs[0])
	if err != nil {
		t.Fatal(err)
	}
	res, err := sim.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if res.Finished < res.Jobs {
		t.Fatalf("%s: %d of %d jobs finished", policy, res.Finished, res.Jobs)
	}
	return res
}

// No policy is below the bound, also if it leaves slots idle. No policy that learns of
// jobs when they arrive is better than a plan that knew of them before.
func TestPoliciesAgainstBoundAndPlan(t *testing.T) {
	policies := []string{"fifo", "fair", "las", "srpt", "fsp", "pfsp", "hfsp", "huwf", "hjwf", "stf", "htwf",
		"mars", "mars:batch=50s", "mars:batch=50s,commit=true",
		"default", "srpt:reserve=0.3", "las:reserve=0.3", "hfsp:reserve=0.3", "pfsp:reserve=0.3,counted=true", "fair:reserve=0.3"}
	type workload struct{ gen, cluster string }
	all := []workload{
		{"mars-random:jobs=4", ""}, {"mars-random:jobs=6,slot=10s", ""},
		{"mars-uniform-times:jobs=5", ""}, {"mars-random:jobs=5,release=zero", ""},
		{"poisson:jobs=15", "20x1"}, {"bursty:jobs=15", "20x1"}, {"bursty:jobs=15", "10x2+1"},
		{"hfsp-dev:jobs=12", ""},
	}
	seeds, evaluations := 1, 50
	if thorough {
		seeds, evaluations = 2, 200
		all = append(all, []workload{
			{"mars-random:jobs=20", ""}, {"mars-random:jobs=60", ""}, {"mars-random:jobs=40,slot=10s", ""},
			{"mars-uniform-times:jobs=40", ""}, {"mars-random:jobs=30,release=zero", ""},
			{"poisson:jobs=60", "20x1"}, {"bursty:jobs=60", "20x1"}, {"bursty:jobs=60", "10x2+1"},
			{"hfsp-dev", ""},
		}...)
	}
	closest, ahead := 2.0, 2.0
	for _, tc := range all {
		for seed := range uint64(seeds) {
			s := generated(t, tc.gen, tc.cluster, seed)
			b, err := newBound(s.Workload.All(), s.Cluster, boundPart)
			if err != nil {
				t.Fatal(err)
			}
			best, err := plan.Plan(NewInstance(s.Workload, s.Cluster), plan.Options{Evaluations: evaluations})
			if err != nil {
				t.Fatal(err)
			}
			for _, policy := range policies {
				res := simulated(t, s, policy)
				name := fmt.Sprintf("%s on %s, seed %d, %s", tc.gen, s.Cluster.Name, seed, policy)
				if got := res.WeightedCompletion; got < b.LowerBound || got < b.BestLowerBound {
					t.Errorf("%s: weighted completion %v, bounds %v and %v", name, got, b.LowerBound, b.BestLowerBound)
				} else if best.Objective > got*(1+1e-12) {
					t.Errorf("%s: weighted completion %v, planned %v", name, got, best.Objective)
				} else {
					closest, ahead = min(closest, got/b.BestLowerBound), min(ahead, got/best.Objective)
				}
			}
		}
	}
	t.Logf("a policy was at %.4f times the bound, and at %.4f times the plan", closest, ahead)
}

// A workload in parts has a bound that holds, too. Where the parts do not meet, it is the
// bound of the whole. At each 1,000 s arrive two jobs, a map of 5 s and one of 7 s, on
// one slot. They end 5 s and 12 s later at best.
func TestBoundInParts(t *testing.T) {
	for seed := range uint64(1) {
		s := generated(t, "bursty:jobs=60,load=0.9", "5x1", seed)
		for _, part := range []int{1, 2, 7, 59, 60} {
			b, err := newBound(s.Workload.All(), s.Cluster, part)
			if err != nil {
				t.Fatal(err)
			}
			for _, policy := range []string{"fifo", "srpt", "mars"} {
				if res := simulated(t, s, policy); !(res.WeightedCompletion >= b.BestLowerBound*(1-1e-12) && b.BestLowerBound >= b.LowerBound && b.LowerBound > 0) {
					t.Errorf("seed %d, parts of %d: %s is at %v, bounds %v and %v", seed, part, policy, res.WeightedCompletion, b.LowerBound, b.BestLowerBound)
				}
			}
		}
	}
	c, err := input.ReadCluster("1x1")
	if err != nil {
		t.Fatal(err)
	}
	w, want := &input.Workload{}, 0.0
	for id := range 40 {
		j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(id + 1), Phases: []sojourn.Phase{{Tasks: 1}}}}
		j.At, j.Times = sojourn.Time(id/2*1000)*sojourn.Time(time.Second), []sim.Times{{Each: time.Duration(5+id%2*2) * time.Second}}
		w.Jobs = append(w.Jobs, j)
		want += float64(id/2*1000 + 5 + id%2*7)
	}
	b, err := newBound(w.All(), c, 2)
	if err != nil || math.Abs(b.LowerBound/want-1) > 1e-6 {
		t.Errorf("%v, bound %+v, want %v", err, b, want)
	}
	if got := b.MeanSojourn(); math.Abs(got-8.5) > 1e-3 {
		t.Errorf("mean sojourn time %v, want at least 8.5", got)
	}
}

// If there is no bound, the reason names the job by its ID.
func TestNoBoundNamesTheJob(t *testing.T) {
	c, err := input.ReadCluster("2x1+0")
	if err != nil {
		t.Fatal(err)
	}
	w := &input.Workload{}
	for _, id := range []sojourn.JobID{7, 100, 1 << 63} {
		j := &sim.Job{Job: sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}, Times: []sim.Times{{Each: 1}}}
		if id > 1000 {
			j.Phases[0].Class = sojourn.ReduceClass
		}
		w.Jobs = append(w.Jobs, j)
	}
	if _, err := newBound(w.All(), c, 2); err == nil || !strings.Contains(err.Error(), "job 9223372036854775808: phase 0: no machines of class 1") {
		t.Errorf("%v, want the job of ID 2^63", err)
	}
}

// A list that is dispatched offline makes the same schedule as the policy of its name,
// which learns of jobs when they arrive, as long as nothing lies between two phases.
func TestListsOnlineAndOffline(t *testing.T) {
	lists := []plan.Planner{"huwf-dispatch", "hjwf-dispatch", "stf-dispatch", "htwf-dispatch"}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		between := func(least, most int) int { return least + rng.IntN(most-least+1) }
		w := &input.Workload{Name: "lists"}
		for id := range between(1, 20) {
			j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(id + 1), Weight: float64(between(1, 5))}}
			if id > 0 {
				j.At = w.Jobs[id-1].At.Add(time.Duration(between(0, 4)) * time.Second)
			}
			for class := range sojourn.Class(between(1, 2)) {
				var list []time.Duration
				for range between(1, 9) {
					list = append(list, time.Duration(between(1, 6))*time.Second)
				}
				j.Phases = append(j.Phases, sojourn.Phase{Tasks: len(list), Class: class})
				j.Times = append(j.Times, sim.Times{List: list})
			}
			w.Jobs = append(w.Jobs, j)
		}
		for _, cluster := range []string{"3x1", "2x2+1"} {
			c, err := input.ReadCluster(cluster)
			if err != nil {
				t.Fatal(err)
			}
			s := &Scenario{Setup: Setup{Policies: catalog.Builtin()}, Workload: w, Cluster: c}
			plans, err := plan.All(NewInstance(w, c), plan.Options{}, lists...)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range plans {
				policy := strings.TrimSuffix(string(p.Planner), "-dispatch")
				ends := map[sojourn.JobID]sojourn.Time{}
				for _, r := range simulated(t, s, policy).JobRecords {
					ends[r.ID] = r.Finish
				}
				for i, j := range w.Jobs {
					if ends[j.ID] != p.Completion[i] {
						t.Fatalf("seed %d, %s, %s: job %d ends at %v online, at %v offline", seed, cluster, policy, j.ID, ends[j.ID], p.Completion[i])
					}
				}
			}
		}
	}
}

// The bound of jobs whose phases form a graph is at most the best of all schedules.
func TestBoundOfGraphs(t *testing.T) {
	tight := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 17))
		between := func(from, to int) int { return from + rng.IntN(to-from+1) }
		w, tasks := &input.Workload{}, 0
		for id := range between(1, 2) {
			j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(id + 1), Weight: float64(between(1, 3))}, At: sojourn.Time(id) * sojourn.Time(between(0, 2)) * sojourn.Time(time.Second)}
			for i := range between(2, 3) {
				ph := sojourn.Phase{Tasks: 1, Needs: []int{}}
				if tasks < 4 {
					ph.Tasks = between(1, 2)
				}
				for k := range i {
					if between(0, 1) == 1 {
						ph.Needs = append(ph.Needs, k)
					}
				}
				var times sim.Times
				for range ph.Tasks {
					times.List = append(times.List, time.Duration(between(1, 4))*time.Second)
				}
				tasks += ph.Tasks
				j.Phases, j.Times, j.AnyClass = append(j.Phases, ph), append(j.Times, times), append(j.AnyClass, true)
			}
			w.Jobs = append(w.Jobs, j)
		}
		machines := between(1, 3)
		c, err := input.ReadCluster(fmt.Sprintf("%dx1", machines))
		if err != nil {
			t.Fatal(err)
		}
		b, err := newBound(w.All(), c, boundPart)
		if err != nil {
			t.Fatal(err)
		}
		best := best(w.Jobs, machines)
		if b.BestLowerBound > best*(1+1e-9) {
			t.Fatalf("seed %d: bound %v, and the best schedule has %v", seed, b.BestLowerBound, best)
		}
		if b.BestLowerBound > best*(1-1e-9) {
			tight++
		}
	}
	if tight < 10 {
		t.Errorf("the bound is reached in %d of 60 cases, want at least 10", tight)
	}
}

// best returns the least sum of weight times completion, in seconds, of all schedules of jobs whose
// phases all say what they need. It tries the tasks in all orders of their starts.
func best(jobs []*sim.Job, machines int) float64 {
	type task struct{ job, phase, index int }
	var all []task
	for a, j := range jobs {
		for b := range j.Phases {
			for k := range j.Phases[b].Tasks {
				all = append(all, task{a, b, k})
			}
		}
	}
	least := math.Inf(1)
	ends := map[task]float64{}
	free := make([]float64, machines)
	var extend func()
	extend = func() {
		if len(ends) == len(all) {
			sum := 0.0
			for a, j := range jobs {
				last := 0.0
				for t, end := range ends {
					if t.job == a {
						last = max(last, end)
					}
				}
				sum += j.Weight * last
			}
			least = min(least, sum)
			return
		}
		for _, t := range all {
			if _, done := ends[t]; done {
				continue
			}
			start, open := time.Duration(jobs[t.job].At).Seconds(), true
			for _, k := range jobs[t.job].Phases[t.phase].Needs {
				for i := range jobs[t.job].Phases[k].Tasks {
					end, done := ends[task{t.job, k, i}]
					start, open = max(start, end), open && done
				}
			}
			if !open {
				continue
			}
			m := 0
			for i := range free {
				if free[i] < free[m] {
					m = i
				}
			}
			was := free[m]
			free[m] = max(was, start) + jobs[t.job].Times[t.phase].List[t.index].Seconds()
			ends[t] = free[m]
			extend()
			delete(ends, t)
			free[m] = was
		}
	}
	extend()
	return least
}

// A policy that does not know what the jobs use is named, with what they use.
func TestUnsupportedFeatureIsAnError(t *testing.T) {
	j := &sim.Job{Job: sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1, Needs: []int{}}}}, Times: []sim.Times{{Each: time.Second}}, AnyClass: []bool{true}}
	c, err := input.ReadCluster("1x1")
	if err != nil {
		t.Fatal(err)
	}
	s := &Scenario{Setup: Setup{Policies: catalog.Builtin()}, Workload: &input.Workload{Name: "jobs", Jobs: []*sim.Job{j}}, Cluster: c}
	for policy, want := range map[string]string{"fifo": "", "default": "", "mars:batch=1s": "policy mars:batch=1s does not know Phase.Needs, which job 1 of jobs uses"} {
		specs, err := catalog.Parse(policy)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.config(specs[0]); err == nil && want != "" || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", policy, err, want)
		}
	}
}
