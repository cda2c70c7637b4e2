package catalog_test

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// shapes say which phases the i-th of n phases needs; without needs, each phase follows the one before.
var shapes = []struct {
	name        string
	needs       func(i, n int, r *rand.Rand) []int
	parallelism uint32
}{
	{"line", nil, 0},
	{"line, one task at a time", nil, 1},
	{"line without barriers", nil, 0},
	{"line without barriers, one task at a time", nil, 1},
	{"line without barriers, three tasks at a time", nil, 3},
	{"chain", chain, 0},
	{"chain, one task at a time", chain, 1},
	{"star", star, 0}, // all wait for the first
	{"star, one task at a time", star, 1},
	{"star, three tasks at a time", star, 3},
	{"sink", func(i, n int, _ *rand.Rand) (needs []int) { // the last waits for all
		for k := 0; i == n-1 && k < i; k++ {
			needs = append(needs, k)
		}
		return needs
	}, 0},
	{"layers", func(i, _ int, _ *rand.Rand) []int { // of 16, each phase waits for two
		if i < 16 {
			return nil
		}
		first := i/16*16 - 16
		needs := []int{first + i%16, first + (i+1)%16}
		slices.Sort(needs)
		return needs
	}, 0},
	{"random", func(i, _ int, r *rand.Rand) []int {
		if i == 0 {
			return nil
		}
		needs := []int{r.IntN(i), r.IntN(i)}
		slices.Sort(needs)
		return slices.Compact(needs)
	}, 0},
	{"random, many tasks at a time", func(i, _ int, r *rand.Rand) []int {
		if i == 0 {
			return nil
		}
		return []int{r.IntN(i)}
	}, 1000},
}

func chain(i, _ int, _ *rand.Rand) []int {
	if i == 0 {
		return nil
	}
	return []int{i - 1}
}

func star(i, _ int, _ *rand.Rand) []int {
	if i == 0 {
		return nil
	}
	return []int{0}
}

// graph returns a job of n phases of one task.
func graph(shape, n int) *sim.Job {
	s, r := shapes[shape], rand.New(rand.NewPCG(1, uint64(n)))
	j := &sim.Job{Job: sojourn.Job{ID: 1, Phases: make([]sojourn.Phase, n), Parallelism: s.parallelism}}
	for i := range j.Phases {
		j.Phases[i] = sojourn.Phase{Tasks: 1}
		switch {
		case s.needs != nil:
			j.Phases[i].Needs = append([]int{}, s.needs(i, n, r)...)
		case strings.HasPrefix(s.name, "line without barriers"):
			j.Phases[i].After = sojourn.NoBarrier
		}
		j.Times = append(j.Times, sim.Times{Each: time.Duration(1+i%7) * time.Second})
	}
	return j
}

// spent returns the processor time of this process. The system may count it in steps of 10 ms.
func spent() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// With 32 times as many phases and dependencies, a policy and the simulation take about 32 times as much time and
// memory, for each shape of a graph that it does not refuse: quadratic growth is 1024 times, and the limit of the time is far from both. The clock may
// only acquit. Who is too slow by the clock is judged by the least of ten processor times of each size, so that a busy machine makes no test red.
func TestGraphsGrowAsTheirPhases(t *testing.T) {
	const few, times, limit = 40, 32, 120
	cluster := sim.Cluster{Uniform: true, Nodes: []sim.Node{{Slots: []int{4}}}}
	for _, name := range append(catalog.Builtin().Names(), "hfsp:preemption=kill-any", "hfsp:late=first,reserve=0.1,training-tasks=1") {
		for shape := range shapes {
			run := func(j *sim.Job) {
				p, err := catalog.Builtin().Make(name)
				var res *sim.Result
				if err == nil {
					res, err = sim.Run(context.Background(), sim.Config{Cluster: cluster, Jobs: sim.Jobs(j), Policy: p, Estimates: sim.Estimates{Mode: sim.Exact}})
				}
				if err != nil {
					t.Fatalf("%s, %s: %v", name, shapes[shape].name, err)
				}
				if res.Finished+res.Unsupported != 1 || res.Unsupported == 0 && j.Features().Check(sojourn.Supports(p)) != nil {
					t.Fatalf("%s, %s: the job neither ended nor was refused: %+v", name, shapes[shape].name, res)
				}
			}
			measure := func(j *sim.Job, n int) (least time.Duration, bytes uint64) {
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				for range n {
					from := time.Now()
					run(j)
					if d := time.Since(from); least == 0 || d < least {
						least = d
					}
				}
				runtime.ReadMemStats(&after)
				return least, (after.TotalAlloc - before.TotalAlloc) / uint64(n)
			}
			processor := func(j *sim.Job) float64 {
				n, from := 0, spent()
				for ; spent() < from+100*time.Millisecond; n++ {
					run(j)
				}
				return (spent() - from).Seconds() / float64(n)
			}
			small, large := graph(shape, few), graph(shape, times*few)
			took, bytes := measure(small, 3)
			took32, bytes32 := measure(large, 1)
			ratio, memory := float64(took32)/float64(took), float64(bytes32)/float64(bytes)
			leastSmall, leastLarge := math.Inf(1), math.Inf(1)
			for k := 0; ratio > limit && k < 10 || 0 < k && k < 3; k++ { // on a busy machine processor time varies, too
				leastSmall, leastLarge = min(leastSmall, processor(small)), min(leastLarge, processor(large))
				ratio = leastLarge / leastSmall
			}
			if ratio > limit {
				t.Errorf("%s, %s: %d times as many phases take %.0f times as much processor time, want at most %d", name, shapes[shape].name, times, ratio, limit)
			}
			if memory > 2*times {
				t.Errorf("%s, %s: %d times as many phases take %.0f times as much memory, want at most %d", name, shapes[shape].name, times, memory, 2*times)
			}
		}
	}
}
