package sim_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// gangJobs returns jobs with a workload's phases: seconds of arrival, and for each phase tasks and
// seconds.
func gangJobs(list ...[]int) (jobs []*sim.Job) {
	for i, l := range list {
		j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(i + 1)}, At: sojourn.Time(l[0]) * sojourn.Time(time.Second)}
		for k := 1; k < len(l); k += 2 {
			j.Phases = append(j.Phases, sojourn.Phase{Tasks: l[k]})
			j.Times = append(j.Times, sim.Times{Each: time.Duration(l[k+1]) * time.Second})
		}
		jobs = append(jobs, j)
	}
	return jobs
}

func gangConfig(p sojourn.Policy, places int, patience time.Duration, jobs []*sim.Job) sim.Config {
	return sim.Config{
		Cluster: sim.Cluster{Uniform: true, Nodes: []sim.Node{{Slots: []int{places}}}}, Policy: p, Records: true,
		Gangs: &sim.Gangs{Patience: patience},
		Jobs:  sim.Jobs(jobs...),
	}
}

// The example of four jobs on four slots of baseline's test: job 4 overtakes with EASY, and job 3 does
// not. The slots are used for 3*10 + 4*5 + 20 + 10 slot seconds of 35 s times 4.
func TestGangsByHand(t *testing.T) {
	jobs := gangJobs([]int{0, 3, 10}, []int{0, 4, 5}, []int{0, 1, 20}, []int{0, 1, 10})
	p := constructors.EASY.Must(baseline.BackfillOptions{Places: 4})
	res, err := sim.Run(context.Background(), gangConfig(p, 4, gang.Never, jobs))
	if err != nil {
		t.Fatal(err)
	}
	var starts, tasks []int
	for _, r := range res.JobRecords {
		starts, tasks = append(starts, int(time.Duration(r.FirstStart)/time.Second)), append(tasks, r.Tasks)
	}
	if want := []int{0, 10, 15, 0}; !slices.Equal(starts, want) {
		t.Errorf("starts %v, want %v", starts, want)
	}
	if !slices.Equal(tasks, []int{3, 4, 1, 1}) || res.Tasks != 9 || res.Attempts != 4 {
		t.Errorf("tasks %v of jobs, %d in all, %d attempts", tasks, res.Tasks, res.Attempts)
	}
	if want := 80.0 / 140; len(res.Utilisation) != 1 || res.Utilisation[0] != want {
		t.Errorf("utilisation %v, want %v", res.Utilisation, want)
	}
	if r := res.JobRecords[1]; r.Alone != 5*time.Second || r.Sojourn() != 15*time.Second {
		t.Errorf("job 2 takes %v, %v alone", r.Sojourn(), r.Alone)
	}
}

// Under every policy, with failures, refusals and several phases, no more tasks run than there are
// slots; each gang starts once its phase may; all jobs end; and a run repeated is the same.
func TestGangsStartWhole(t *testing.T) {
	subjects := []func() sojourn.Policy{
		constructors.FIFO.With(fifo.Options{}),
		pooled.Fair.With(fair.Options{}),
		constructors.LeastWork.With(leastwork.Options{}),
		constructors.LeastWork.With(leastwork.Options{Gangs: true}),
		func() sojourn.Policy { return struct{ sojourn.Policy }{constructors.FIFO.Must(fifo.Options{})} }, // no Seeker, no Explainer
	}
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 300).Draw(t, "places")
		var list [][]int
		at := 0
		for range rapid.IntRange(1, 8).Draw(t, "jobs") {
			at += rapid.IntRange(0, 5).Draw(t, "later")
			job := []int{at}
			for range rapid.IntRange(1, 3).Draw(t, "phases") {
				job = append(job, rapid.IntRange(1, places).Draw(t, "tasks"), rapid.IntRange(0, 9).Draw(t, "seconds"))
			}
			list = append(list, job)
		}
		k := rapid.IntRange(0, len(subjects)-1).Draw(t, "policy")
		patience := rapid.SampledFrom([]time.Duration{0, 5 * time.Second, gang.Never}).Draw(t, "patience")
		run := func() *sim.Result {
			jobs := gangJobs(list...)
			cfg := gangConfig(subjects[k](), places, patience, jobs)
			cfg.Faults = sim.Faults{Task: 0.2, Refuse: 0.1}
			used, widths := 0, map[sojourn.TaskID]int{}
			change := func(id sojourn.TaskID, n int) {
				width := jobs[id.Job-1].Phases[id.Phase].Tasks
				used += n * width
				if widths[id] += n; used > places || widths[id] > 1 {
					t.Fatalf("%d tasks run on %d slots, and %d attempts at gang %v", used, places, widths[id], id)
				}
			}
			cfg.Hooks.Assigned = func(_ sojourn.SlotID, a sojourn.Assignment, ok bool) {
				if ok {
					change(a.Task, 1)
				}
			}
			cfg.Hooks.Attempt = func(r *sim.TaskRecord) { change(r.Task, -1) }
			res, err := sim.Run(context.Background(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			if res.Finished != res.Jobs || used != 0 || !(res.Utilisation[0] <= 1) {
				t.Fatalf("%d of %d jobs finished, %d slots are held, utilisation %v", res.Finished, res.Jobs, used, res.Utilisation)
			}
			return res
		}
		a, b := run(), run()
		if !slices.Equal(a.JobRecords, b.JobRecords) || a.Events != b.Events {
			t.Fatal("two runs differ")
		}
	})
}

func TestGangsErrors(t *testing.T) {
	for _, tc := range []struct {
		change func(*sim.Config)
		want   string
	}{
		{func(c *sim.Config) { c.Cluster.Uniform = false }, "Cluster.Uniform"},
		{func(c *sim.Config) { c.Cluster.Nodes[0].Speed = 2 }, "speed 2"},
		{func(c *sim.Config) { c.Gangs.Patience = -1 }, "Gangs.Patience"},
		{func(c *sim.Config) { c.Faults.LoseOutput = true }, "Faults.LoseOutput"},
		{func(c *sim.Config) { c.Network.Bandwidth = 1 }, "Network.Bandwidth"},
		{func(c *sim.Config) { c.Cluster.Nodes[0].Slots[0] = 2 }, "job 1 of the workload: phase 0: gang: wider than the cluster: 3 places of 2"},
	} {
		p, _ := fifo.New(fifo.Options{})
		cfg := gangConfig(p, 4, 0, gangJobs([]int{0, 3, 1}))
		tc.change(&cfg)
		if _, err := sim.Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%v, want %q", err, tc.want)
		}
	}
	p, _ := fifo.New(fifo.Options{})
	jobs := gangJobs([]int{0, 0, 1})
	if _, err := sim.Run(context.Background(), gangConfig(p, 4, 0, jobs)); !errors.Is(err, sojourn.ErrInvalidJob) {
		t.Errorf("a phase of no tasks: %v", err)
	}
}

// Two nodes of two slots. The first gang has 3 members for 10 s, one of them on the second node, and the second 2 members for 3 s. The
// second node is down from 4 to 6 s. So the first gang fails at 4, where the second finds two slots, until 7. Then the first starts
// anew, until 17. The fourth second of the third job, on the first node alone from 20 on, is not disturbed when the second fails at 21.
func TestGangFailsAsAWhole(t *testing.T) {
	s := func(n int) sojourn.Time { return sojourn.Time(n) * sojourn.Time(time.Second) }
	cfg := gangConfig(constructors.FIFO.Must(fifo.Options{}), 4, 1000*time.Hour, gangJobs([]int{0, 3, 10}, []int{1, 2, 3}, []int{20, 2, 4}))
	cfg.Cluster.Nodes = []sim.Node{{Slots: []int{2}}, {Slots: []int{2}}}
	cfg.Faults.Script = []sim.NodeFault{{At: s(4), Node: 2}, {At: s(6), Node: 2, Up: true}, {At: s(21), Node: 2}}
	var got []string
	cfg.Hooks.Attempt = func(r *sim.TaskRecord) {
		got = append(got, fmt.Sprint(r.Task.Job, r.Start.Sub(0).Seconds(), r.End.Sub(0).Seconds(), r.Outcome))
	}
	res, err := sim.Run(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 0 4 " + sim.SlotLost.String(), "2 4 7 " + sim.Finished.String(), "1 7 17 " + sim.Finished.String(), "3 20 24 " + sim.Finished.String()}; !slices.Equal(got, want) {
		t.Errorf("attempts %q, want %q", got, want)
	}
	// The slots held are 3*4 + 2*3 + 3*10 + 2*4 = 56 slot seconds, of 4*24 less 2*2 and 2*3 while the second node is down.
	if want := 56.0 / 86; res.Utilisation[0] != want {
		t.Errorf("utilisation %v, want %v", res.Utilisation[0], want)
	}
}

// Whatever nodes fail and whenever, under every policy: gangs never hold more slots than the nodes have that are up, each that
// has lost a node fails at that instant, and all jobs end once all nodes are back.
func TestGangsOnNodesThatFail(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var nodes []sim.Node
		places := 0
		for range rapid.IntRange(1, 5).Draw(t, "nodes") {
			n := rapid.IntRange(1, 6).Draw(t, "slots")
			nodes, places = append(nodes, sim.Node{Slots: []int{n}}), places+n
		}
		var list [][]int
		for range rapid.IntRange(1, 6).Draw(t, "jobs") {
			list = append(list, []int{rapid.IntRange(0, 9).Draw(t, "at"), rapid.IntRange(1, places).Draw(t, "tasks"), rapid.IntRange(0, 9).Draw(t, "seconds")})
		}
		slices.SortFunc(list, func(a, b []int) int { return a[0] - b[0] })
		var script []sim.NodeFault
		at := 0
		up := make([]bool, len(nodes)+1)
		for range rapid.IntRange(0, 8).Draw(t, "changes") {
			at += rapid.IntRange(0, 4).Draw(t, "later")
			id := rapid.IntRange(1, len(nodes)).Draw(t, "node")
			script = append(script, sim.NodeFault{At: sojourn.Time(at) * sojourn.Time(time.Second), Node: sojourn.NodeID(id), Up: up[id]})
			up[id] = !up[id]
		}
		at++
		for id := 1; id <= len(nodes); id++ {
			if up[id] { // here: down
				script = append(script, sim.NodeFault{At: sojourn.Time(at) * sojourn.Time(time.Second), Node: sojourn.NodeID(id), Up: true})
			}
		}
		subjects := []sojourn.Policy{
			constructors.FIFO.Must(fifo.Options{}), pooled.Fair.Must(fair.Options{}), pooled.Fair.Must(fair.Options{Places: places}), constructors.LeastWork.Must(leastwork.Options{}), constructors.LeastWork.Must(leastwork.Options{Gangs: true}),
			constructors.EASY.Must(baseline.BackfillOptions{Places: places}), constructors.Conservative.Must(baseline.BackfillOptions{Places: places}),
		}
		k := rapid.IntRange(0, len(subjects)-1).Draw(t, "policy")
		patience := gang.Never
		if k < 2 || k == 3 {
			patience = rapid.SampledFrom([]time.Duration{0, 5 * time.Second}).Draw(t, "patience")
		}
		cfg := gangConfig(subjects[k], places, patience, gangJobs(list...))
		cfg.Cluster.Nodes, cfg.Faults.Script = nodes, script
		var records []sim.TaskRecord
		cfg.Hooks.Attempt = func(r *sim.TaskRecord) { records = append(records, *r) }
		res, err := sim.Run(context.Background(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if res.Finished != res.Jobs {
			t.Fatalf("%d of %d jobs finished", res.Finished, res.Jobs)
		}
		// Between two whole seconds nothing changes: all times are whole.
		for half := range at + 200 {
			now := sojourn.Time(half)*sojourn.Time(time.Second) + sojourn.Time(time.Second/2)
			left, held := places, 0
			down := make([]bool, len(nodes)+1)
			for _, c := range script {
				if c.At < now {
					down[c.Node] = !c.Up
				}
			}
			for id := range nodes {
				if down[id+1] {
					left -= nodes[id].Slots[0]
				}
			}
			for _, r := range records {
				if r.Start < now && r.End > now {
					held += list[r.Task.Job-1][1]
				}
			}
			if held > left {
				t.Fatalf("at %v gangs hold %d of %d slots: %+v", now, held, left, records)
			}
		}
		for _, r := range records {
			lost := slices.ContainsFunc(script, func(c sim.NodeFault) bool { return c.At == r.End && !c.Up })
			if r.Outcome != sim.Finished && (r.Outcome != sim.SlotLost || !lost) {
				t.Fatalf("an attempt ends with %v at %v, where no node fails", r.Outcome, r.End)
			}
		}
	})
}
