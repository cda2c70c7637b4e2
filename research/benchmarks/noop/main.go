// Command noop measures what a task that does nothing costs under package live, beside pond and
// conc. It prints the processor time of a task, with its submission and the collection of its
// garbage: the least and the median of several runs.
//
//	go run ./noop                  on one processor
//	go run ./noop -procs 2         on two
//	go run ./noop -only pfsp       some rows
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alitto/pond/v2"
	"github.com/sourcegraph/conc/pool"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/pfsp"
)

func main() {
	procs := flag.Int("procs", 1, "processors, and slots")
	reps := flag.Int("reps", 5, "runs of each row")
	only := flag.String("only", "", "rows whose name contains this")
	profile := flag.String("cpuprofile", "", "file for a profile")
	flag.Parse()
	runtime.GOMAXPROCS(*procs)
	if *profile != "" {
		f := must(os.Create(*profile))
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("%-22s %14s %22s   %s\n", "ns a task, CPU", "1,000 queued", "100,000 queued", "at most")
	for _, r := range rows() {
		if !strings.Contains(r.name, *only) {
			continue
		}
		fmt.Printf("%-22s", r.name)
		for _, n := range []int{1000, 100_000} {
			least, median := measure(*reps, n, func() { r.run(*procs, n) })
			fmt.Printf("   %6.0f (%6.0f)", least, median)
		}
		if r.bar > 0 {
			fmt.Printf("   %6d", r.bar)
		}
		fmt.Println()
	}
	fmt.Println("the least and, in brackets, the median")
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// measure returns the processor time of a task in ns. Runs of few tasks are repeated.
func measure(reps, n int, run func()) (least, median float64) {
	times := max(1, 20_000/n)
	var list []float64
	for range reps {
		runtime.GC()
		before := cpu()
		for range times {
			run()
		}
		list = append(list, float64(cpu()-before)/float64(n*times))
	}
	slices.Sort(list)
	return list[0], list[len(list)/2]
}

// cpu is the time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

type row struct {
	name string
	bar  int // ns; 0: none
	run  func(slots, n int)
}

func rows() (list []row) {
	for _, p := range []struct {
		name string
		make func() sojourn.Policy
		bar  int
	}{
		{"leastwork", func() sojourn.Policy { return must(leastwork.New(leastwork.Options{})) }, 4000},
		{"fifo", func() sojourn.Policy { return must(fifo.New(fifo.Options{})) }, 2000},
		{"fair", func() sojourn.Policy { return must(fair.New(fair.Options{})) }, 2000},
		{"hfsp", func() sojourn.Policy { return must(hfsp.New(hfsp.Options{})) }, 4000},
		{"pfsp", func() sojourn.Policy { return must(pfsp.New(pfsp.Options{})) }, 4000},
	} {
		list = append(list,
			row{"live, one job, " + p.name, 500, func(slots, n int) { oneJob(p.make(), slots, n) }},
			row{"live, jobs, " + p.name, p.bar, func(slots, n int) { manyJobs(p.make(), slots, n) }})
	}
	return append(list, row{"pond, Submit", 0, pondSubmit}, row{"pond, Go", 0, pondGo}, row{"conc, no queue", 0, concGo})
}

func noop(context.Context, live.Task) error { return nil }

func bag(n int, run func(context.Context, live.Task) error) live.Job {
	return live.Job{Phases: []live.Phase{{Tasks: n, Run: run}}}
}

func oneJob(policy sojourn.Policy, slots, n int) {
	ctx := context.Background()
	p := must(live.New(policy, live.Options{Slots: slots}))
	check(must(p.Submit(ctx, bag(n, noop))).Wait(ctx))
	check(p.Close(ctx))
}

// manyJobs queues all jobs before the first one may start.
func manyJobs(policy sojourn.Policy, slots, n int) {
	ctx := context.Background()
	p := must(live.New(policy, live.Options{Slots: slots}))
	gate := make(chan struct{})
	must(p.Submit(ctx, bag(slots, func(context.Context, live.Task) error { <-gate; return nil })))
	jobs := make([]*live.Handle, n)
	for i := range jobs {
		jobs[i] = must(p.Submit(ctx, bag(1, noop)))
	}
	close(gate)
	for _, h := range jobs {
		check(h.Wait(ctx))
	}
	check(p.Close(ctx))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func pondSubmit(slots, n int) {
	p := pond.NewPool(slots)
	gate := make(chan struct{})
	for range slots {
		p.Submit(func() { <-gate })
	}
	for range n {
		p.Submit(func() {})
	}
	close(gate)
	p.StopAndWait()
}

func pondGo(slots, n int) {
	p := pond.NewPool(slots)
	gate := make(chan struct{})
	for range slots {
		check(p.Go(func() { <-gate }))
	}
	for range n {
		check(p.Go(func() {}))
	}
	close(gate)
	p.StopAndWait()
}

// concGo has no queue: Go waits for a free goroutine.
func concGo(slots, n int) {
	p := pool.New().WithMaxGoroutines(slots)
	for range n {
		p.Go(func() {})
	}
	p.Wait()
}
