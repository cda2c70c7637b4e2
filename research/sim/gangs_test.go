package sim_test

import (
	"context"
	"errors"
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
		{func(c *sim.Config) { c.Faults.MTBF, c.Faults.MTTR = 1, 1 }, "Faults.MTBF"},
		{func(c *sim.Config) { c.Faults.Script = []sim.NodeFault{{Node: 1}} }, "Faults.Script"},
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
