package sim_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Jobs of 40, 12 and 2 tasks arrive one second apart at four slots. Their task times are
// unknown.
func Example() {
	var jobs []*sim.Job
	for i, tasks := range []int{40, 12, 2} {
		jobs = append(jobs, &sim.Job{
			Job:   sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks}}},
			At:    sojourn.Time(i) * sojourn.Time(time.Second),
			Times: []sim.Times{{Each: 10 * time.Second}},
		})
	}
	first, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	equal, err := fair.New(fair.Options{})
	if err != nil {
		log.Fatal(err)
	}
	least, err := leastwork.New(leastwork.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range []sojourn.Policy{first, equal, least} {
		res, err := sim.Run(context.Background(), sim.Config{
			Cluster:   sim.Cluster{Uniform: true, Nodes: []sim.Node{{Name: "a", Slots: []int{4}}}},
			Jobs:      sim.Jobs(jobs...),
			Policy:    p,
			Estimates: sim.Estimates{Mode: sim.None},
			Records:   true,
		})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("mean sojourn time %.1f s:", res.Sojourn.Mean)
		for _, r := range res.JobRecords {
			fmt.Printf(" %v", r.Sojourn())
		}
		fmt.Println()
	}
	// Output:
	// mean sojourn time 122.3 s: 1m40s 2m9s 2m18s
	// mean sojourn time 79.0 s: 2m20s 1m9s 28s
	// mean sojourn time 69.0 s: 2m20s 49s 18s
}
