package sim_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// BenchmarkRun measures events a second. The finish of a task and the assignment of the
// next one are one event.
func BenchmarkRun(b *testing.B) {
	for _, bc := range []struct {
		name   string
		slots  int
		policy func() sojourn.Policy
	}{
		{"policy=fifo/slots=90", 90, func() sojourn.Policy { return constructors.FIFO.Must(fifo.Options{}) }},
		{"policy=fifo/slots=10000", 10000, func() sojourn.Policy { return constructors.FIFO.Must(fifo.Options{}) }},
		{"policy=fair/slots=90", 90, func() sojourn.Policy { return pooled.Fair.Must(fair.Options{}) }},
		{"policy=fsp/slots=90", 90, func() sojourn.Policy { return constructors.FSP.Must(baseline.FSPOptions{}) }},
	} {
		for _, audit := range []bool{false, true} {
			b.Run(fmt.Sprintf("%s/audit=%v", bc.name, audit), func(b *testing.B) {
				// Jobs of 1 to 89 tasks of 1 to 30 s, at a load of 0.93.
				const n = 5000
				work := time.Duration(n) * 45 * 15500 * time.Millisecond
				gap := work / n / time.Duration(bc.slots) * 100 / 93
				jobs := func(yield func(*sim.Job, error) bool) {
					for i := range n {
						tasks, each := 1+i*37%89, time.Duration(1+i*17%30)*s
						j := &sim.Job{At: sojourn.Time(i) * sojourn.Time(gap), Times: []sim.Times{{Each: each}}}
						j.ID, j.Phases = sojourn.JobID(i+1), []sojourn.Phase{{Tasks: tasks}}
						if !yield(j, nil) {
							return
						}
					}
				}
				var events uint64
				for b.Loop() {
					r, err := sim.Run(context.Background(), sim.Config{
						Cluster: uniform(bc.slots), Jobs: jobs, Policy: bc.policy(), NoAudit: !audit,
					})
					if err != nil {
						b.Fatal(err)
					}
					events += r.Events
				}
				b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			})
		}
	}
}

// BenchmarkTransfers measures a run in which nearly every task transfers its input, on
// 100 nodes of 4 slots, and where all tasks read from one node.
func BenchmarkTransfers(b *testing.B) {
	for _, sources := range []int{100, 1} {
		b.Run(fmt.Sprintf("sources=%d", sources), func(b *testing.B) {
			const tasks = 20_000
			var lists [][]sojourn.NodeID
			j := &sim.Job{Times: []sim.Times{{}}}
			for i := range tasks {
				lists = append(lists, []sojourn.NodeID{sojourn.NodeID(1 + i*61%sources)})
				j.Times[0].List = append(j.Times[0].List, time.Duration(1+i*17%30)*s)
			}
			j.ID, j.Phases = 1, []sojourn.Phase{{Tasks: tasks, Inputs: sojourn.MakeInputs(lists)}}
			slots := make([]int, 100)
			for i := range slots {
				slots[i] = 4
			}
			transfers := 0
			for b.Loop() {
				r, err := sim.Run(context.Background(), sim.Config{
					Cluster: nodes(slots...), Jobs: sim.Jobs(j), Policy: constructors.FIFO.Must(fifo.Options{}), Network: sim.Network{Bandwidth: 12_500_000},
				})
				if err != nil {
					b.Fatal(err)
				}
				transfers += r.Transfers.Finished
			}
			b.ReportMetric(float64(transfers)/b.Elapsed().Seconds(), "transfers/s")
		})
	}
}
