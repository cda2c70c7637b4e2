package priority_test

import (
	"context"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/kit/priority"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A batch of 20 tasks of 2 minutes has priority -1 and finds 2 free slots. For an hour, a job of one task of 10 s and priority 0
// comes every 5.5 s, so that these need 91 % of the slots. Strictly by priority, they only wait for the first two tasks of
// the batch. With ageing of 10 minutes the batch takes a slot in between, and they wait for that, too. If a job that has
// waited for 30 s may have a task of the batch killed, two are.
func Example() {
	batch := &sim.Job{Job: sojourn.Job{ID: 1, Name: "batch", Priority: -1, Phases: []sojourn.Phase{{Tasks: 20}}}, Times: []sim.Times{{Each: 2 * time.Minute}}}
	jobs := []*sim.Job{batch}
	for i := range 654 { // an hour
		jobs = append(jobs, &sim.Job{At: sojourn.Time(time.Duration(i)*5500*time.Millisecond + time.Second), Job: sojourn.Job{ID: sojourn.JobID(i + 2), Phases: []sojourn.Phase{{Tasks: 1}}},
			Times: []sim.Times{{Each: 10 * time.Second}}})
	}
	for _, c := range []struct {
		name string
		o    priority.Options
	}{
		{"strict", priority.Options{}},
		{"age 10m", priority.Options{Age: 10 * time.Minute}},
		{"preempt", priority.Options{Preempt: 2, PreemptAfter: 30 * time.Second}},
	} {
		p, err := priority.New(func() sojourn.Policy { f, _ := fifo.New(fifo.Options{}); return f }, c.o)
		if err != nil {
			panic(err)
		}
		res, err := sim.Run(context.Background(), sim.Config{
			Cluster: sim.Cluster{Uniform: true, Nodes: []sim.Node{{Name: "a", Slots: []int{2}}}},
			Jobs:    sim.Jobs(jobs...), Policy: p, Estimates: sim.Estimates{Mode: sim.None}, Preempt: c.o.Preempt > 0, Records: true,
		})
		if err != nil {
			panic(err)
		}
		sum, worst := time.Duration(0), time.Duration(0)
		for _, r := range res.JobRecords[1:] {
			sum += r.Finish.Sub(r.Arrival)
			worst = max(worst, r.Finish.Sub(r.Arrival))
		}
		fmt.Printf("%-10s the short ones take %3.0f s in the mean and %3.0f s at most; the batch ends after %.1f h, with %d attempts killed\n",
			c.name, sum.Seconds()/654, worst.Seconds(), res.JobRecords[0].Finish.Sub(0).Seconds()/3600, res.Wasted)
	}
	// Output:
	// strict     the short ones take  51 s in the mean and 129 s at most; the batch ends after 1.2 h, with 0 attempts killed
	// age 10m    the short ones take 118 s in the mean and 165 s at most; the batch ends after 1.2 h, with 0 attempts killed
	// preempt    the short ones take  39 s in the mean and  69 s at most; the batch ends after 1.3 h, with 2 attempts killed
}
