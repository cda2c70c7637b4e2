package baseline_test

import (
	"fmt"
	"log"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A job of 200 s arrives while the first task of a job of 100 s runs. SRPT serves the
// least remaining work first, and LAS the job that has had the least service.
func Example() {
	srpt, err := baseline.NewSRPT(baseline.SRPTOptions{})
	if err != nil {
		log.Fatal(err)
	}
	las, err := baseline.NewLAS(baseline.LASOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, p := range []sojourn.Policy{srpt, las} {
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				log.Fatal(err)
			}
		}
		arrive := func(id sojourn.JobID, tasks int, at sojourn.Time) {
			observe(sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: &sojourn.Job{ID: id,
				Phases: []sojourn.Phase{{Tasks: tasks, Estimate: 10 * time.Second}}}})
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}})
		arrive(1, 10, 0)
		if _, ok := p.Assign(0); !ok {
			log.Fatal("nothing runs")
		}
		arrive(2, 20, sojourn.Time(time.Second))
		observe(sojourn.Event{Kind: sojourn.SlotAdded, At: sojourn.Time(time.Second), Slot: sojourn.Slot{ID: 1}})
		if a, ok := p.Assign(1); ok {
			fmt.Println("slot 1 runs", a.Task)
		}
	}
	// Output:
	// slot 1 runs 1/0/1
	// slot 1 runs 2/0/0
}
