// Command mix runs short interactive jobs among batch jobs, with real work for the processor, under
// several policies, and prints their mean response times. 90 % of the jobs have 1 to 4 tasks of 1 to
// 4 ms, the others 20 to 40 tasks of 10 ms. Nobody says how long tasks take.
//
//	go run ./mix
package main

import (
	"context"
	"crypto/sha256"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}

var policies = []struct {
	name string
	make func() sojourn.Policy
}{
	{"fifo", func() sojourn.Policy { return must(fifo.New(fifo.Options{})) }},
	{"leastwork", func() sojourn.Policy { return must(leastwork.New(leastwork.Options{})) }},
	{"fair", func() sojourn.Policy { return must(fair.New(fair.Options{})) }},
	{"hfsp", func() sojourn.Policy { return must(hfsp.New(hfsp.Options{})) }},
	{"hfsp, kill", func() sojourn.Policy { return must(hfsp.New(hfsp.Options{Preemption: hfsp.Kill})) }},
	{"pfsp", func() sojourn.Policy { return must(pfsp.New(pfsp.Options{})) }},
	{"las", func() sojourn.Policy { return must(baseline.NewLAS(baseline.LASOptions{})) }},
}

type job struct {
	at    time.Duration
	tasks int
	each  time.Duration
	kind  string
}

func main() {
	span := flag.Duration("span", 6*time.Second, "time in which jobs arrive")
	load := flag.Float64("load", 0.6, "of the slots")
	slots := flag.Int("slots", 2, "tasks at a time")
	seeds := flag.Int("seeds", 2, "repetitions")
	only := flag.String("only", "", "policies, with commas between")
	flag.Parse()
	rate := hashes()
	fmt.Printf("%d slots, load %.2f; %d hashes a ms\n", *slots, *load, rate)
	times := map[string]map[string][]float64{}
	for seed := range *seeds {
		jobs := draw(uint64(seed), *span, *load*float64(*slots))
		for _, p := range policies {
			if *only != "" && !slices.Contains(strings.Split(*only, ","), p.name) {
				continue
			}
			if times[p.name] == nil {
				times[p.name] = map[string][]float64{}
			}
			run(p.make(), *slots, jobs, rate, times[p.name])
		}
	}
	fmt.Printf("%-12s %10s %10s %12s %10s %8s\n", "mean, ms", "all", "over fifo", "interactive", "batch", "jobs")
	for _, p := range policies {
		t := times[p.name]
		if t == nil {
			continue
		}
		all := append(slices.Clone(t["interactive"]), t["batch"]...)
		base := mean(append(slices.Clone(times["fifo"]["interactive"]), times["fifo"]["batch"]...))
		fmt.Printf("%-12s %10.1f %+9.0f%% %12.1f %10.1f %8d\n", p.name, mean(all), 100*(mean(all)/base-1), mean(t["interactive"]), mean(t["batch"]), len(all))
	}
}

// hashes returns how many hashes take a millisecond on this machine, as it is now.
func hashes() int {
	const n = 2000
	var best time.Duration
	for range 50 {
		start := time.Now()
		work(n)
		if d := time.Since(start); best == 0 || d < best {
			best = d
		}
	}
	return int(n * time.Millisecond / best)
}

func work(n int) {
	var block [256]byte
	for range n {
		sum := sha256.Sum256(block[:])
		copy(block[:], sum[:])
	}
}

func draw(seed uint64, span time.Duration, slotsBusy float64) (jobs []job) {
	rng := rand.New(rand.NewPCG(seed, 1))
	mean := (0.9*6.25 + 0.1*300) * float64(time.Millisecond) // work of a job
	for at := 0.0; at < float64(span); at += rng.ExpFloat64() * mean / slotsBusy {
		j := job{time.Duration(at), 1 + rng.IntN(4), time.Millisecond + time.Duration(rng.Float64()*3e6), "interactive"}
		if rng.IntN(10) == 0 {
			j.tasks, j.each, j.kind = 20+rng.IntN(21), 10*time.Millisecond, "batch"
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// run runs the jobs and adds their response times in ms.
func run(policy sojourn.Policy, slots int, jobs []job, rate int, times map[string][]float64) {
	ctx := context.Background()
	pool := must(live.New(policy, live.Options{Slots: slots}))
	start := time.Now()
	var mu sync.Mutex
	var ends sync.WaitGroup
	for _, j := range jobs {
		time.Sleep(time.Until(start.Add(j.at)))
		h := must(pool.Submit(ctx, live.Job{Name: j.kind, Phases: []live.Phase{{Tasks: j.tasks, Run: func(ctx context.Context, _ live.Task) error {
			for left := j.each; left > 0; left -= time.Millisecond {
				work(int(float64(rate) * min(left, time.Millisecond).Seconds() * 1000))
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
			return nil
		}}}}))
		ends.Go(func() {
			if err := h.Wait(ctx); err != nil {
				log.Fatal(err)
			}
			took := time.Since(start.Add(j.at)).Seconds() * 1000
			mu.Lock()
			defer mu.Unlock()
			times[j.kind] = append(times[j.kind], took)
		})
	}
	ends.Wait()
	if err := pool.Close(ctx); err != nil {
		log.Fatal(err)
	}
}

func mean(list []float64) (sum float64) {
	for _, v := range list {
		sum += v / float64(len(list))
	}
	return sum
}
