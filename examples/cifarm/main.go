// Command cifarm runs the builds of a CI farm of four workers. The branch main has twice the share of pull requests,
// which may have two workers at most. A build compiles, then tests and lints side by side, then reports. Steps only
// sleep here.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal("cifarm: ", err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	policy, err := fair.New(fair.Options{Pools: map[string]fair.Pool{
		"main":          {Weight: 2},
		"pull requests": {Max: fair.Slots{0: 2}},
	}})
	if err != nil {
		return err
	}
	pool, err := live.New(policy, live.Options{Slots: 4, Timeout: time.Second, Retry: live.Retry{Attempts: 2, Backoff: 10 * time.Millisecond}})
	if err != nil {
		return err
	}
	farm := farm{running: map[string]int{}, most: map[string]int{}}
	var builds []*live.Handle
	for _, b := range []struct{ pool, name string }{
		{"pull requests", "typo"}, {"pull requests", "feature"}, {"pull requests", "flaky"}, {"main", "release"}, {"main", "nightly"},
	} {
		h, err := pool.Submit(ctx, farm.build(b.pool, b.name))
		if err != nil {
			return err
		}
		builds = append(builds, h)
	}
	for _, h := range builds {
		err = errors.Join(err, h.Wait(ctx))
		fmt.Fprintf(w, "build %d: %d of %d steps\n", h.ID(), h.Progress().Done, h.Progress().Tasks)
	}
	err = errors.Join(err, pool.Close(ctx))
	fmt.Fprintf(w, "at most %d workers for pull requests, %d for main\n", farm.most["pull requests"], farm.most["main"])
	return err
}

// A farm counts how many workers each pool has.
type farm struct {
	mu            sync.Mutex
	running, most map[string]int
}

// build returns a job whose steps are phases: tests and lint wait for the compiler, and the report for both.
func (f *farm) build(pool, name string) live.Job {
	step := func(tasks int, length time.Duration, needs ...int) live.Phase {
		return live.Phase{Tasks: tasks, Needs: needs, Run: func(ctx context.Context, t live.Task) error {
			f.count(pool, 1)
			defer f.count(pool, -1)
			select {
			case <-time.After(length):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			if name == "flaky" && t.Phase == 1 && t.Index == 3 && t.Attempt == 1 {
				return errors.New("a test that fails now and then")
			}
			return nil
		}}
	}
	return live.Job{Name: name, Pool: pool, Phases: []live.Phase{
		step(1, 40*time.Millisecond), step(6, 20*time.Millisecond, 0), step(1, 20*time.Millisecond, 0), step(1, 10*time.Millisecond, 1, 2),
	}}
}

func (f *farm) count(pool string, by int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running[pool] += by
	f.most[pool] = max(f.most[pool], f.running[pool])
}
