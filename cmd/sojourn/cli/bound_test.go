package cli

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/spf13/cobra"
)

// generated returns a generated workload on a cluster, "" for that of the generator.
func generated(t *testing.T, gen, cluster string, seed uint64) *scenario {
	t.Helper()
	flags := runFlags{policies: builtin(), seed: seed}
	flags.input.cluster = cluster
	if err := flags.input.gen.Set(gen); err != nil {
		t.Fatal(err)
	}
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	cmd.SetErr(io.Discard)
	s, err := flags.open(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// simulated returns what comes out of a policy.
func simulated(t *testing.T, s *scenario, policy string) *sim.Result {
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

// No policy is below the bound, and none that learns of jobs when they arrive is
// better than a plan that knew of them before.
func TestPoliciesAgainstBoundAndPlan(t *testing.T) {
	policies := []string{"fifo", "fair", "las", "srpt", "fsp", "pfsp", "hfsp", "huwf", "hjwf", "stf", "htwf",
		"mars", "mars:batch=50s", "mars:batch=50s,commit=true"}
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
			b, err := newBound(s.workload, s.cluster)
			if err != nil {
				t.Fatal(err)
			}
			plan, err := mars.Plan(newInstance(s.workload, s.cluster), mars.Options{Evaluations: evaluations})
			if err != nil {
				t.Fatal(err)
			}
			for _, policy := range policies {
				res := simulated(t, s, policy)
				name := fmt.Sprintf("%s on %s, seed %d, %s", tc.gen, s.cluster.name, seed, policy)
				if got := res.WeightedCompletion; got < b.LowerBound || got < b.BestLowerBound {
					t.Errorf("%s: weighted completion %v, bounds %v and %v", name, got, b.LowerBound, b.BestLowerBound)
				} else if plan.Objective > got*(1+1e-12) {
					t.Errorf("%s: weighted completion %v, planned %v", name, got, plan.Objective)
				} else {
					closest, ahead = min(closest, got/b.BestLowerBound), min(ahead, got/plan.Objective)
				}
			}
		}
	}
	t.Logf("a policy was at %.4f times the bound, and at %.4f times the plan", closest, ahead)
}

// Dispatched offline, a list makes the same schedule as the policy of its name, which
// learns of jobs when they arrive, as long as nothing lies between two phases.
func TestListsOnlineAndOffline(t *testing.T) {
	lists := []mars.Planner{mars.HUWFDispatch, mars.HJWFDispatch, mars.STFDispatch, mars.HTWFDispatch}
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 1))
		between := func(least, most int) int { return least + rng.IntN(most-least+1) }
		w := &workload{name: "lists"}
		for id := range between(1, 20) {
			j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(id + 1), Weight: float64(between(1, 5))}}
			if id > 0 {
				j.At = w.jobs[id-1].At.Add(time.Duration(between(0, 4)) * time.Second)
			}
			for class := range sojourn.Class(between(1, 2)) {
				var list []time.Duration
				for range between(1, 9) {
					list = append(list, time.Duration(between(1, 6))*time.Second)
				}
				j.Phases = append(j.Phases, sojourn.Phase{Tasks: len(list), Class: class})
				j.Times = append(j.Times, sim.Times{List: list})
			}
			w.jobs = append(w.jobs, j)
		}
		for _, cluster := range []string{"3x1", "2x2+1"} {
			c, err := readCluster(cluster)
			if err != nil {
				t.Fatal(err)
			}
			s := &scenario{flags: &runFlags{policies: builtin()}, workload: w, cluster: c}
			plans, err := mars.PlanAll(newInstance(w, c), mars.Options{}, lists...)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range plans {
				policy := strings.TrimSuffix(p.Planner.String(), "-dispatch")
				ends := map[sojourn.JobID]sojourn.Time{}
				for _, r := range simulated(t, s, policy).JobRecords {
					ends[r.ID] = r.Finish
				}
				for i, j := range w.jobs {
					if ends[j.ID] != p.Completion[i] {
						t.Fatalf("seed %d, %s, %s: job %d ends at %v online, at %v offline", seed, cluster, policy, j.ID, ends[j.ID], p.Completion[i])
					}
				}
			}
		}
	}
}
