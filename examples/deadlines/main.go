// Command deadlines accepts jobs by their deadlines, on two slots. A job that would make another one late is
// refused, and takes the counter-offer. Tasks only sleep here.
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/rtmr"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal("deadlines: ", err)
	}
}

func run(ctx context.Context, w io.Writer) error {
	policy, err := rtmr.New(rtmr.Options{})
	if err != nil {
		return err
	}
	var ends ends
	pool, err := live.New(policy, live.Options{Slots: 2, Observer: &ends})
	if err != nil {
		return err
	}
	const ms = time.Millisecond
	for _, j := range []live.Job{
		job("report", 4, 100*ms, 220*ms), // needs both slots all the time
		job("import", 2, 50*ms, 150*ms),  // would make the report late
		job("backup", 3, 150*ms, time.Second),
	} {
		_, err := pool.Submit(ctx, j)
		if later, ok := live.Offer(err); ok {
			fmt.Fprintf(w, "%s within %v: refused, offered %v\n", j.Name, j.Deadline, later.Round(10*ms))
			j.Deadline = later // the user takes it
			_, err = pool.Submit(ctx, j)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "%s within %v: accepted\n", j.Name, j.Deadline.Round(10*ms))
	}
	if err := pool.Close(ctx); err != nil { // waits for all
		return err
	}
	for _, end := range ends {
		fmt.Fprintf(w, "%s ends after %v, in time: %v\n", end.Job.Name, end.Age.Round(10*ms), end.At <= end.Job.Deadline)
	}
	return nil
}

// job returns a job whose tasks take nine tenths of the estimate, which is a bound: the policy promises nothing if a task
// takes longer.
func job(name string, tasks int, estimate, deadline time.Duration) live.Job {
	sleep := func(context.Context, live.Task) error { time.Sleep(estimate * 9 / 10); return nil }
	return live.Job{Name: name, Deadline: deadline, Phases: []live.Phase{{Tasks: tasks, Estimate: estimate, Run: sleep}}}
}

// ends are the ends of jobs.
type ends []live.Note

// Note implements [live.Observer].
func (e *ends) Note(n live.Note) {
	if n.Kind == live.JobEnded {
		*e = append(*e, n)
	}
}
