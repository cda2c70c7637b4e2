// Command peers measures what a decision costs in schedulers that other Go projects have, beside
// those of this library, in one run:
//
//	go run .                   every row
//	go run . -only 1000        rows whose name contains this
//
// One operation is one end and the decision that it makes possible. What is compared, and what is
// not:
//
//   - sojourn: TaskFinished on one of 256 busy slots, and Assign of that slot. Jobs, or pools with a
//     job each, have tasks without end. Nothing is started in fact.
//   - apiserver: API Priority and Fairness, the fair queues of the Kubernetes API server, with one
//     seat and requests that wait in every queue. A request that ends lets the next one go. The wake-up
//     of its goroutine is in the number: it cannot be had without. The row of one queue shows what
//     that is, and the difference to it what the choice among queues costs.
//   - floor: an indexed heap of jobs by what runs of them. No fair decision is below it.
//
// Times are processor times, the least of several runs that take turns. The rows of one number of jobs or
// pools are a group, and the last column is the quotient with its first row.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	fq "k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/queueset"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"
	"k8s.io/apiserver/pkg/util/flowcontrol/request"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
)

func main() {
	only := flag.String("only", "", "rows whose name contains this")
	reps := flag.Int("reps", 5, "runs of each row")
	flag.Parse()
	list := rows()
	list = slices.DeleteFunc(list, func(r row) bool { return !strings.Contains(r.name, *only) })
	least := make([]float64, len(list))
	for rep := range *reps {
		for i, r := range list {
			ns := float64(r.run(r.ops)) / float64(r.ops)
			if rep == 0 || ns < least[i] {
				least[i] = ns
			}
		}
	}
	fmt.Printf("%-36s %12s %12s\n", "", "ns, CPU", "quotient")
	first := 0
	for i, r := range list {
		if r.group != list[first].group {
			first = i
			fmt.Println()
		}
		fmt.Printf("%-36s %12.0f %12.1f\n", r.name, least[i], least[i]/least[first])
	}
}

// A row is measured by a function that does some operations, and returns the processor time that
// they took without what goes before.
type row struct {
	group string
	name  string
	ops   int
	run   func(ops int) time.Duration
}

func rows() (list []row) {
	for _, n := range []int{1000, 100_000} {
		group := fmt.Sprint(n, " jobs")
		list = append(list, row{group, "floor, " + group, 200_000, func(ops int) time.Duration { return floor(n, ops) }})
		for _, p := range []struct {
			name string
			make func() (sojourn.Policy, error)
		}{
			{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }},
			{"fair", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }},
			{"hfsp", func() (sojourn.Policy, error) { return hfsp.New(hfsp.Options{}) }},
			{"leastwork", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }},
		} {
			list = append(list, row{group, fmt.Sprintf("sojourn %s, %s", p.name, group), 200_000, func(ops int) time.Duration {
				return decisions(must(p.make()), n, false, ops)
			}})
		}
	}
	for _, n := range []int{1, 64, 1000} {
		group := fmt.Sprint(n, " pools")
		list = append(list,
			row{group, "sojourn fair, " + group, 200_000, func(ops int) time.Duration {
				return decisions(must(fair.New(fair.Options{})), n, true, ops)
			}},
			row{group, fmt.Sprintf("apiserver fair queueing, %d queues", n), 20_000, func(ops int) time.Duration { return fairQueues(n, ops) }})
	}
	return list
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// decisions measures a policy with n jobs, each in a pool of its own if pools is set.
func decisions(p sojourn.Policy, n int, pools bool, ops int) time.Duration {
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	const slots = 256
	running := make([]sojourn.Assignment, 0, slots)
	for id := range sojourn.SlotID(slots) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	for i := range n {
		job := &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 1 << 20, Estimate: time.Second}}}
		if pools {
			job.Pool = fmt.Sprint("pool", i)
		}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	}
	for id := range sojourn.SlotID(slots) {
		if a, ok := p.Assign(id); ok {
			running = append(running, a)
		}
	}
	step := func(i int) {
		now += sojourn.Time(time.Second / slots)
		a := &running[i%len(running)]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
		next, ok := p.Assign(a.Slot)
		if !ok {
			log.Fatalf("slot %d stays free", a.Slot)
		}
		*a = next
	}
	for i := range 5000 { // the first ends teach sizes
		step(i)
	}
	before := cpu()
	for i := range ops {
		step(i)
	}
	return cpu() - before
}

// floor measures a heap of jobs by the number of their running tasks, then by age.
func floor(n, ops int) time.Duration {
	type entry struct{ running, id int }
	less := func(a, b entry) bool { return a.running < b.running || a.running == b.running && a.id < b.id }
	heap, place := make([]entry, n), make([]int, n)
	for i := range heap {
		heap[i], place[i] = entry{0, i}, i
	}
	put := func(i int, e entry) { heap[i], place[e.id] = e, i }
	fix := func(i int) {
		e := heap[i]
		for i > 0 && less(e, heap[(i-1)/2]) {
			put(i, heap[(i-1)/2])
			i = (i - 1) / 2
		}
		for {
			c := 2*i + 1
			if c+1 < n && less(heap[c+1], heap[c]) {
				c++
			}
			if c >= n || !less(heap[c], e) {
				break
			}
			put(i, heap[c])
			i = c
		}
		put(i, e)
	}
	var running [256]int
	for i := range running {
		running[i] = heap[0].id
		heap[0].running++
		fix(0)
	}
	before := cpu()
	for i := range ops {
		at := place[running[i%len(running)]]
		heap[at].running--
		fix(at)
		running[i%len(running)] = heap[0].id
		heap[0].running++
		fix(0)
	}
	return cpu() - before
}

// fairQueues measures requests that wait in n queues for one seat. All of them wait before the
// first one may go.
func fairQueues(n, ops int) time.Duration {
	clock := eventclock.Real{}
	factory := queueset.NewQueueSetFactory(clock)
	gauges := metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, []string{"peers"})
	seats := metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, []string{"peers"})
	maker := must(factory.BeginConstruction(fq.QueuingConfig{Name: "peers", DesiredNumQueues: n, QueueLengthLimit: ops, HandSize: 1},
		gauges, seats, fq.NewNamedIntegrator(clock, "peers")))
	set := maker.Complete(fq.DispatchingConfig{ConcurrencyLimit: 1, ConcurrencyDenominator: 1})
	ctx := context.Background()
	start := func(i int, note func(bool)) fq.Request {
		r, _ := set.StartRequest(ctx, &request.WorkEstimate{InitialSeats: 1}, uint64(i), "", "peers", nil, nil, note)
		return r
	}
	hold, first := make(chan struct{}), make(chan struct{})
	var all, waiting sync.WaitGroup
	all.Go(func() {
		start(0, func(bool) {}).Finish(func() { close(first); <-hold })
	})
	<-first
	for i := range ops {
		waiting.Add(1)
		all.Go(func() {
			start(i, func(in bool) {
				if in {
					waiting.Done()
				}
			}).Finish(func() {})
		})
	}
	waiting.Wait()
	before := cpu()
	close(hold)
	all.Wait()
	return cpu() - before
}

// cpu is the time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
