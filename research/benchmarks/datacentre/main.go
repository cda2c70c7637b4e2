// Command datacentre simulates a large cluster under each policy, and prints what that costs.
//
//	go run ./datacentre                                          a million jobs on a million slots
//	go run ./datacentre -nodes 1000 -jobs 100000 -only fifo      a smaller one, under one policy
//
// Jobs arrive as a Poisson process. The number of their tasks has a bounded Pareto distribution with
// mean 100: most have a few, some have ten thousand. A job has a task time of a minute on average
// (exponential), and its tasks take half to three halves of that. Jobs are drawn when they arrive.
// Policies are told true sizes.
package main

import (
	"context"
	"flag"
	"fmt"
	"iter"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"syscall"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/sim"
)

var policies = []struct {
	name string
	make func() (sojourn.Policy, error)
}{
	{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }},
	{"fair", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }},
	{"hfsp", func() (sojourn.Policy, error) { return hfsp.New(hfsp.Options{}) }},
	{"pfsp", func() (sojourn.Policy, error) { return pfsp.New(pfsp.Options{}) }},
	{"leastwork", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }},
}

func main() {
	nodes := flag.Int("nodes", 100_000, "nodes of ten slots")
	jobs := flag.Int("jobs", 1_000_000, "jobs")
	load := flag.Float64("load", 0.8, "work that arrives, as a part of what the slots can do")
	audit := flag.Bool("audit", true, "compare with fluid fair sharing")
	only := flag.String("only", "", "policies whose name contains this")
	profile := flag.String("cpuprofile", "", "file for a profile")
	flag.Parse()
	if *profile != "" {
		f, err := os.Create(*profile)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			log.Fatal(err)
		}
		defer pprof.StopCPUProfile()
	}
	fmt.Printf("%d nodes, %d slots, %d jobs, load %v\n", *nodes, *nodes*10, *jobs, *load)
	fmt.Printf("%-10s %12s %12s %8s %8s %14s %14s %10s\n", "policy", "tasks", "events", "wall (s)", "CPU (s)", "events/s, CPU", "tasks/s, CPU", "heap (MB)")
	for _, p := range policies {
		if !strings.Contains(p.name, *only) {
			continue
		}
		policy, err := p.make()
		if err != nil {
			log.Fatal(err)
		}
		cfg := sim.Config{Policy: policy, NoAudit: !*audit, Jobs: workload(*jobs, *nodes*10, *load)}
		cfg.Cluster.Nodes = make([]sim.Node, *nodes)
		for i := range cfg.Cluster.Nodes {
			cfg.Cluster.Nodes[i] = sim.Node{Slots: []int{10}}
		}
		heap := progress(&cfg, *jobs)
		runtime.GC()
		before, start := cpu(), time.Now()
		res, err := sim.Run(context.Background(), cfg)
		if err != nil {
			log.Fatal(err)
		}
		took := (cpu() - before).Seconds()
		fmt.Printf("%-10s %12d %12d %8.1f %8.1f %14.0f %14.0f %10d\n", p.name, res.Tasks, res.Events, time.Since(start).Seconds(), took,
			float64(res.Events)/took, float64(res.Tasks)/took, *heap>>20)
	}
}

// progress shows on standard error, if that is a terminal, how many jobs have ended. It returns where the
// greatest memory seen is.
func progress(cfg *sim.Config, jobs int) *uint64 {
	heap, done := new(uint64), 0
	step := max(jobs/50, 1)
	info, err := os.Stderr.Stat()
	person := err == nil && info.Mode()&os.ModeCharDevice != 0
	cfg.Hooks.Job = func(*sim.JobRecord) {
		if done++; done%step == 0 {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			*heap = max(*heap, m.Sys-m.HeapReleased)
			if person {
				fmt.Fprintf(os.Stderr, "\r%3d %%\r", 100*done/jobs)
			}
		}
	}
	return heap
}

// workload draws jobs, always the same.
func workload(jobs, slots int, load float64) iter.Seq2[*sim.Job, error] {
	const meanTasks, meanTime, most, shape = 100, 60, 10_000, 1.1
	least := leastTasks(meanTasks, most, shape)
	gap := meanTasks * meanTime / (load * float64(slots)) // s
	return func(yield func(*sim.Job, error) bool) {
		rng := rand.New(rand.NewPCG(1, 2))
		at := 0.0
		for i := range jobs {
			at += gap * rng.ExpFloat64()
			r := math.Pow(least/most, shape)
			tasks := max(int(least/math.Pow(1-rng.Float64()*(1-r), 1/shape)), 1)
			each := meanTime * rng.ExpFloat64() * 1e9
			times := make([]time.Duration, tasks)
			for k := range times {
				times[k] = time.Duration((0.5 + rng.Float64()) * each)
			}
			job := &sim.Job{At: sojourn.Time(at * 1e9), Times: []sim.Times{{List: times}}}
			job.ID, job.Phases = sojourn.JobID(i+1), []sojourn.Phase{{Tasks: tasks}}
			if !yield(job, nil) {
				return
			}
		}
	}
}

// leastTasks returns the lower end of a bounded Pareto distribution of a mean.
func leastTasks(mean, most, shape float64) float64 {
	low, high := 1e-3, mean
	for range 100 {
		l := (low + high) / 2
		if m := math.Pow(l, shape) / (1 - math.Pow(l/most, shape)) * shape / (shape - 1) * (math.Pow(l, 1-shape) - math.Pow(most, 1-shape)); m < mean {
			low = l
		} else {
			high = l
		}
	}
	return low
}

// cpu is the time that this process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
