// Command shadowrun runs jobs under FIFO while the default policy watches, and prints how often both start the same, where
// they differ first, and what the other one would gain. The other one takes over, and runs the same jobs again.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/research/shadow"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal("shadowrun: ", err)
	}
}

func newFIFO() (sojourn.Policy, error)    { return fifo.New(fifo.Options{}) }
func newDefault() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }

// byName makes the policies that may decide. A journal keeps the name, and asks for it after a restart.
func byName(name string) (sojourn.Policy, error) {
	switch name {
	case "": // that of New
		return newFIFO()
	case "leastwork":
		return newDefault()
	}
	return nil, fmt.Errorf("no policy %q", name)
}

func run(ctx context.Context, w io.Writer) error {
	active, err1 := newFIFO()
	candidate, err2 := newDefault()
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	s, err := shadow.New(active, candidate, shadow.Options{Policy: byName})
	if err != nil {
		return err
	}
	var seen responses
	pool, err := live.New(s, live.Options{Slots: 2, Observer: &seen})
	if err != nil {
		return err
	}
	if err := mix(ctx, pool); err != nil {
		return err
	}
	fmt.Fprintf(w, "mean response: %v\n", seen.mean())
	p, err := s.Predict(ctx, newFIFO, newDefault) // waits until the other policy has seen all
	if err != nil {
		return err
	}
	r := s.Report()
	fmt.Fprintf(w, "%d starts, %d of the same job\n%v\n", r.Decisions, r.SameJob, r.First)
	fmt.Fprintf(w, "simulated: %v, and %v under the other policy\n", p.Active.Response.Round(time.Millisecond), p.Candidate.Response.Round(time.Millisecond))
	if err := s.Swap("leastwork"); err != nil {
		return err
	}
	seen = responses{}
	err = mix(ctx, pool)
	fmt.Fprintf(w, "mean response of the same jobs: %v\n", seen.mean())
	return errors.Join(err, pool.Close(ctx))
}

// responses sum up the times from submission to end.
type responses struct{ sum, jobs time.Duration }

func (r *responses) mean() time.Duration { return (r.sum / r.jobs).Round(time.Millisecond) }

// Note implements [live.Observer].
func (r *responses) Note(n live.Note) {
	if n.Kind == live.JobEnded {
		r.sum, r.jobs = r.sum+n.Age, r.jobs+1
	}
}

// mix runs a batch and then short jobs, to their ends.
func mix(ctx context.Context, pool *live.Pool) error {
	var jobs []*live.Handle
	for i := range 11 {
		tasks, length := 1, 10*time.Millisecond
		if i == 0 {
			tasks, length = 10, 40*time.Millisecond
		}
		sleep := func(context.Context, live.Task) error { time.Sleep(length); return nil }
		h, err := pool.Submit(ctx, live.Job{Phases: []live.Phase{{Tasks: tasks, Estimate: length, Run: sleep}}})
		if err != nil {
			return err
		}
		jobs = append(jobs, h)
	}
	for _, h := range jobs {
		if err := h.Wait(ctx); err != nil {
			return err
		}
	}
	return nil
}
