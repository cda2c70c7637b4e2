// Command inference serves requests to a model on two accelerators, short interactive ones among batches, and prints the
// latencies of the interactive ones under several policies. Requests only sleep here.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

func main() {
	if err := compare(context.Background(), os.Stdout); err != nil {
		log.Fatal("inference: ", err)
	}
}

// compare prints one line for each policy.
func compare(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, "%-10s %12s %12s %12s\n", "policy", "median", "99 %", "batches end")
	for _, p := range []struct {
		name string
		make func() (sojourn.Policy, error)
	}{
		{"fifo", func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }},
		{"fair", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }},
		{"leastwork", func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }},
	} {
		policy, err := p.make()
		if err != nil {
			return err
		}
		latencies, end, err := serve(ctx, policy)
		if err != nil {
			return err
		}
		at := func(percent int) time.Duration {
			return latencies[(len(latencies)*percent+99)/100-1].Round(time.Millisecond)
		}
		fmt.Fprintf(w, "%-10s %12v %12v %12v\n", p.name, at(50), at(99), end.Round(time.Millisecond))
	}
	return nil
}

// request is a job of some prompts, each of which takes a time that grows with its tokens.
func request(name string, prompts, tokens int) live.Job {
	length := time.Duration(tokens) * 100 * time.Microsecond
	return live.Job{Name: name, Phases: []live.Phase{{Tasks: prompts, Estimate: length, Run: func(context.Context, live.Task) error {
		time.Sleep(length)
		return nil
	}}}}
}

// serve returns the latencies of 100 interactive requests, in increasing order, and when the batches ended.
func serve(ctx context.Context, policy sojourn.Policy) (latencies []time.Duration, end time.Duration, err error) {
	start := time.Now()
	var log responses
	pool, err := live.New(policy, live.Options{Slots: 2, Observer: &log})
	if err != nil {
		return nil, 0, err
	}
	for i := range 103 {
		j := request("batch", 20, 200)
		if i >= 3 {
			j = request("interactive", 1, 50)
			time.Sleep(10 * time.Millisecond)
		}
		if _, err := pool.Submit(ctx, j); err != nil {
			return nil, 0, err
		}
	}
	err = pool.Close(ctx) // waits for all of them
	slices.Sort(log.interactive)
	return log.interactive, log.batches.Sub(start), err
}

// responses are what the pool is observed for.
type responses struct {
	interactive []time.Duration
	batches     time.Time // when the last batch ended
}

// Note implements [live.Observer].
func (r *responses) Note(n live.Note) {
	switch {
	case n.Kind == live.JobEnded && n.Job.Name == "interactive":
		r.interactive = append(r.interactive, n.Age)
	case n.Kind == live.JobEnded:
		r.batches = time.Now()
	}
}
