package sojourn_test

import (
	"errors"
	"fmt"
	"log"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
)

// A driver reports what happens and offers free slots. Here two slots run a job
// of two tasks and a job of one; every task takes ten seconds, so that the third
// starts when the first two have finished.
func Example() {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			fmt.Println(err)
		}
	}
	var running []sojourn.Assignment
	offer := func(now sojourn.Time) {
		for _, slot := range []sojourn.SlotID{0, 1} {
			if a, ok := p.Assign(slot); ok {
				fmt.Printf("%v: slot %d starts task %v\n", now, a.Slot, a.Task)
				running = append(running, a)
			}
		}
	}

	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}})
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}})
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1}}}})
	offer(0)

	now := sojourn.Time(10 * time.Second)
	for _, a := range running {
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: a.Attempt,
			Slot: sojourn.Slot{ID: a.Slot}, Service: 10 * time.Second})
	}
	offer(now)

	// Output:
	// 0s: slot 0 starts task 1/0/0
	// 0s: slot 1 starts task 1/0/1
	// 10s: slot 0 starts task 2/0/0
}

// As finds what else a policy can do. A FIFO can name the slot to offer and say
// why a job waits, but needs no timers.
func ExampleAs() {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}

	_, wakes := sojourn.As[sojourn.Waker](p)
	_, seeks := sojourn.As[sojourn.Seeker](p)
	fmt.Println("waker:", wakes)
	fmt.Println("seeker:", seeks)

	// Output:
	// waker: false
	// seeker: true
}

// Two goroutines submit jobs to one policy. The methods that As finds take the
// lock, too.
func ExampleLocked() {
	inner, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	p := sojourn.NewLocked(inner)

	var wg sync.WaitGroup
	for id := sojourn.JobID(1); id <= 2; id++ {
		wg.Go(func() {
			job := &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1}}}
			if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
				fmt.Println(err)
			}
		})
	}
	wg.Wait()

	if e, ok := sojourn.As[sojourn.Explainer](p); ok {
		fmt.Println(len(e.AppendRanking(nil)), "jobs wait")
	}
	// Output: 2 jobs wait
}

// A policy refuses an event that does not fit, says which event and why, and
// does not change.
func ExampleEventError() {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		log.Fatal(err)
	}
	job := &sojourn.Job{ID: 7, Phases: []sojourn.Phase{{Tasks: 1}}}

	p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job, At: sojourn.Time(time.Minute)})

	fmt.Println(err)
	fmt.Println(errors.Is(err, sojourn.ErrDuplicateJob))
	var ee *sojourn.EventError
	if errors.As(err, &ee) {
		fmt.Println(ee.Event.Kind, "of job", ee.Event.Job.ID)
	}
	// Output:
	// sojourn: JobArrived job 7 at 1m0s: job is already live
	// true
	// JobArrived of job 7
}

// The input of task 0 is on two nodes, that of task 2 on one, and task 1 runs
// equally well anywhere.
func ExampleMakeInputs() {
	in := sojourn.MakeInputs([][]sojourn.NodeID{{1, 7}, {}, {2}})
	for i := range in.Len() {
		fmt.Println(i, in.Of(i))
	}
	// Output:
	// 0 [1 7]
	// 1 []
	// 2 [2]
}

// Check says what a policy would find wrong with a job, before the job is sent.
func ExampleJob_Check() {
	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{
		{Tasks: 4},
		{Tasks: 2, After: 5},
	}}
	fmt.Println(job.Check())
	// Output: invalid job: phase 1: after 5 of 4 tasks
}

// A job of forty maps and four reduces, which may start when half of the maps have finished.
func ExampleMapClass() {
	job := sojourn.Job{ID: 1, Phases: []sojourn.Phase{
		{Tasks: 40, Class: sojourn.MapClass},
		{Tasks: 4, Class: sojourn.ReduceClass, After: 20},
	}}
	fmt.Println(job.Check())
	for phase, tasks := range job.WaitsFor(1) {
		fmt.Printf("reduces wait for %d tasks of phase %d\n", tasks, phase)
	}
	// Output:
	// <nil>
	// reduces wait for 20 tasks of phase 0
}
