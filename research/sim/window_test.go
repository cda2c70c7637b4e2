//go:build all

package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/research/trace"
	"github.com/sojourn-sched/sojourn/research/workload"
)

// TD's queues of jobs whose inputs are on one node each, with a pool for each job and with ten pools. A window of a minute, which is two to seven tasks, ends them no
// later than delay scheduling does, and as soon as Local, which looks at nothing but inputs; and the pools have as much as without one.
// go test -tags all ./research/sim -run TestWindowOnTD -v prints the table of docs/choose.md. served is Jain's index of what the pools have had when half of the time is over.
func TestWindowOnTD(t *testing.T) {
	const seeds = 5
	rack := time.Duration(0)
	for _, pools := range []int{1 << 20, 10} {
		for _, queue := range []string{"td-small", "td-mix", "td-large"} {
			ends, shares := map[string]float64{}, map[string]float64{}
			for _, tc := range []struct {
				name string
				fair fair.Options
			}{
				{"fair", fair.Options{}},
				{"fair:delay=5s", fair.Options{Delay: 5 * time.Second, RackDelay: &rack}},
				{"fair:window=20s", fair.Options{Window: 20 * time.Second}},
				{"fair:window=1m", fair.Options{Window: time.Minute}},
				{"fair:window=3m", fair.Options{Window: 3 * time.Minute}},
				{"fair:window=10m", fair.Options{Window: 10 * time.Minute}},
				{"local", fair.Options{}},
			} {
				var end, near, jain float64
				for seed := range uint64(seeds) {
					var p sojourn.Policy
					p, err := fair.New(tc.fair)
					if tc.name == "local" {
						p, err = baseline.NewLocal(baseline.LocalOptions{})
					}
					if err != nil {
						t.Fatal(err)
					}
					e, n, j := serveTD(t, queue, pools, seed, p)
					end, near, jain = end+e/seeds, near+n/seeds, jain+j/seeds
				}
				ends[tc.name], shares[tc.name] = end, jain
				served := ""
				if pools == 10 {
					served = fmt.Sprintf(", served %.4f", jain)
				}
				t.Logf("%-8s  %-19s  %-16s %4.0f s, %3.0f %% on the node%s", queue, map[bool]string{true: "10 pools", false: "a pool for each job"}[pools == 10], tc.name, end, 100*near, served)
			}
			if w := ends["fair:window=1m"]; w > ends["fair:delay=5s"] || w > 1.01*ends["local"] || pools == 10 && shares["fair:window=1m"] < shares["fair"]-.01 {
				t.Errorf("%s, %d pools: a window of a minute ends at %.0f s, delay scheduling at %.0f s, local at %.0f s; Jain %.4f, without a window %.4f", queue, pools,
					w, ends["fair:delay=5s"], ends["local"], shares["fair:window=1m"], shares["fair"])
			}
		}
	}
}

// serveTD returns when a queue ends, the part of the tasks that were on the node of their input, and Jain's index of what pools have had at half of that time.
func serveTD(t *testing.T, queue string, pools int, seed uint64, p sojourn.Policy) (end, near, jain float64) {
	g, err := workload.Lookup(queue)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := g.Jobs(seed, nil)
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := trace.ParseCluster(g.Cluster)
	if err != nil {
		t.Fatal(err)
	}
	var all []*sim.TaskRecord
	r, err := sim.Run(context.Background(), sim.Config{Cluster: cluster, Policy: p, NoAudit: true, Network: sim.Network{Bandwidth: 12_500 << 10},
		Jobs: func(yield func(*sim.Job, error) bool) {
			for j, err := range jobs {
				if j != nil {
					j.Pool = fmt.Sprint(int(j.ID) % pools)
				}
				if !yield(j, err) {
					return
				}
			}
		},
		Hooks: sim.Hooks{Attempt: func(r *sim.TaskRecord) { copied := *r; all = append(all, &copied) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	half := sojourn.Time(r.Makespan / 2)
	got := map[int]float64{}
	for _, a := range all {
		got[int(a.Task.Job)%pools] += min(a.End, half).Sub(min(a.Start, half)).Seconds()
	}
	sum, squares := 0.0, 0.0
	for _, x := range got { //sojourn:unordered sums
		sum, squares = sum+x, squares+x*x
	}
	return r.Makespan.Seconds(), float64(r.Locality[sojourn.NodeLocal]) / float64(r.Tasks), sum * sum / (float64(len(got)) * squares)
}
