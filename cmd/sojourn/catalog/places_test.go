package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Jobs that bound how many of their tasks run, and whose later phases may start early, end under every policy that takes them, though attempts
// fail and outputs are lost: no task that waits for its input has a place that what it waits for needs. The account is a set of finished tasks.
func TestBoundedJobsEnd(t *testing.T) {
	clusters := []sim.Cluster{{Uniform: true}, {}}
	for i := range 3 {
		clusters[0].Nodes = append(clusters[0].Nodes, sim.Node{Name: fmt.Sprint("n", i), Slots: []int{4}})
		clusters[1].Nodes = append(clusters[1].Nodes, sim.Node{Name: fmt.Sprint("n", i), Slots: []int{2, 2}})
	}
	rigid := map[string]bool{"fcfs": true, "easy": true, "conservative": true} // these refuse jobs of several phases
	for _, name := range append(catalog.Builtin().Names(), "hfsp:preemption=kill-any", "pfsp:fair-limit=0", "priority:inner=pfsp", "release:inner=hfsp") {
		finished := 0
		for seed := range uint64(24) {
			cluster := clusters[seed%2]
			r := rand.New(rand.NewPCG(seed, 1))
			specs := map[sojourn.JobID]*sim.Job{}
			var jobs []*sim.Job
			for i := range 6 {
				j := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(i + 1), Parallelism: uint32(1 + seed/2%2), Deadline: sojourn.Time(1000 * time.Hour)}, At: sojourn.Time(i) * sojourn.Time(5*time.Second)}
				for p := range 2 + int(seed/4%2) {
					ph := sojourn.Phase{Tasks: 1 + r.IntN(5), Class: sojourn.Class(min(p, 1))}
					if p > 0 {
						ph.After = r.IntN(1 + j.Phases[p-1].Tasks)
					}
					j.Phases = append(j.Phases, ph)
					j.Times = append(j.Times, sim.Times{Each: time.Duration(1+r.IntN(20)) * time.Second})
				}
				jobs, specs[j.ID] = append(jobs, j), j
			}
			p, err := catalog.Builtin().Make(name)
			if err != nil {
				t.Fatal(err)
			}
			faults := sim.Faults{Task: 0.3, Refuse: 0.1}
			if seed%3 > 0 {
				faults.MTBF, faults.MTTR, faults.LoseOutput = time.Duration(seed%3)*time.Minute, 20*time.Second, true
			}
			ctx, stop := context.WithCancelCause(context.Background())
			events := 0
			done := map[sojourn.TaskID]bool{}
			running := map[sojourn.JobID]int{}
			res, err := sim.Run(ctx, sim.Config{
				Cluster: cluster, Jobs: sim.Jobs(jobs...), Policy: p, Seed: seed, Estimates: sim.Estimates{Mode: sim.Exact},
				Faults: faults,
				Hooks: sim.Hooks{
					Event: func(ev sojourn.Event, err error) {
						if events++; events == 10_000 { // nodes fail for ever
							stop(errors.New("the jobs do not end"))
						}
						switch ev.Kind {
						case sojourn.TaskFinished:
							done[ev.Task] = true
							running[ev.Task.Job]--
						case sojourn.TaskFailed, sojourn.TaskRefused:
							running[ev.Task.Job]--
						case sojourn.OutputLost:
							delete(done, ev.Task)
						}
					},
					Assigned: func(_ sojourn.SlotID, a sojourn.Assignment, ok bool) {
						if !ok {
							return
						}
						j := specs[a.Task.Job]
						if running[j.ID]++; running[j.ID] > int(j.Parallelism) {
							t.Errorf("%s, seed %d: %v is the %d. task of its job at a time, want %d at most", name, seed, a.Task, running[j.ID], j.Parallelism)
						}
						for k := 0; a.Task.Phase > 0 && k < j.Phases[a.Task.Phase-1].Tasks; k++ {
							if before := (sojourn.TaskID{Job: j.ID, Phase: a.Task.Phase - 1, Index: uint32(k)}); !done[before] {
								t.Errorf("%s, seed %d: %v starts before %v has finished", name, seed, a.Task, before)
							}
						}
					},
				},
			})
			stop(nil)
			if err != nil {
				t.Errorf("%s, seed %d: %v", name, seed, err)
				continue
			}
			if res.Unfinished != 0 {
				t.Errorf("%s, seed %d: %d jobs never end", name, seed, res.Unfinished)
			}
			finished += res.Finished
		}
		if finished == 0 && !rigid[name] {
			t.Errorf("%s: no job has finished", name)
		}
	}
}
