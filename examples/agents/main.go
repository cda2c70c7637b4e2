// Command agents serves the calls of programs that make one after another, such as agents and workflows, and prints how long the programs
// took: a program is one job, its calls are tasks that come one by one, and the program that has had least is served first. Calls only sleep here.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

func las() (sojourn.Policy, error) { return baseline.NewLAS(baseline.LASOptions{}) }

// fairLAS is fair between tenants, and serves in each of them the program first that has had least.
func fairLAS() (sojourn.Policy, error) {
	return fair.New(fair.Options{Pools: map[string]fair.Pool{"*": {Policy: func() sojourn.Policy {
		p, err := las()
		if err != nil {
			panic(err) // the zero options are never wrong
		}
		return p
	}}}})
}

// A program is a job of a pool. Its methods may be called by several goroutines.
type program struct {
	pool   *live.Pool
	tenant string

	mu    sync.Mutex
	job   *live.Handle // nil before the first call
	calls []func(context.Context)
}

// call waits until it is the turn of the program, and calls f.
func (g *program) call(f func(context.Context)) error {
	done := make(chan struct{})
	job, err := g.add(func(ctx context.Context) { defer close(done); f(ctx) })
	if err != nil {
		return err
	}
	select {
	case <-done:
		return nil
	case <-job.Done(): // it was cancelled, or this was the last call
		return job.Wait(context.Background())
	}
}

func (g *program) add(f func(context.Context)) (job *live.Handle, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == nil {
		g.job, err = g.pool.Submit(context.Background(), live.Job{Pool: g.tenant, Open: true, Phases: []live.Phase{{Tasks: 1, Run: g.run}}})
	} else {
		_, err = g.job.Add(0, 0) // one more task, of unknown length
	}
	if err == nil {
		g.calls = append(g.calls, f)
	}
	return g.job, err
}

// run is the function of all tasks.
func (g *program) run(ctx context.Context, t live.Task) error {
	g.mu.Lock()
	f := g.calls[t.Index]
	g.calls[t.Index] = nil
	g.mu.Unlock()
	f(ctx)
	return nil
}

// end says that no more calls come.
func (g *program) end() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == nil {
		return nil
	}
	return g.job.Complete()
}

func main() {
	if err := compare(os.Stdout, time.Millisecond); err != nil {
		log.Fatal("agents: ", err)
	}
}

// compare serves three programs of 20 calls of 10 units, and twenty of three calls of one unit that come meanwhile, on two slots.
func compare(w io.Writer, unit time.Duration) error {
	fmt.Fprintf(w, "%-5s %14s %14s\n", "", "short programs", "long programs")
	for _, p := range []struct {
		name string
		make func() (sojourn.Policy, error)
	}{{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }}, {"las", las}} {
		policy, err := p.make()
		if err != nil {
			return err
		}
		pool, err := live.New(policy, live.Options{Slots: 2})
		if err != nil {
			return err
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		took := map[int]time.Duration{}
		start := func(calls, size int) {
			wg.Go(func() {
				began, g := time.Now(), &program{pool: pool}
				for range calls {
					if err := g.call(func(context.Context) { time.Sleep(time.Duration(size) * unit) }); err != nil {
						log.Print(err)
					}
				}
				if err := g.end(); err != nil {
					log.Print(err)
				}
				mu.Lock()
				took[size] += time.Since(began)
				mu.Unlock()
			})
		}
		for range 3 {
			start(20, 10)
		}
		for range 20 {
			time.Sleep(12 * unit)
			start(3, 1)
		}
		wg.Wait()
		fmt.Fprintf(w, "%-5s %14v %14v\n", p.name, (took[1] / 20).Round(unit), (took[10] / 3).Round(unit))
		if err := pool.Close(context.Background()); err != nil {
			return err
		}
	}
	return nil
}
