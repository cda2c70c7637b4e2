package sojourn_test

import (
	"errors"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// tell reports events to a policy that must accept them.
func tell(p sojourn.Policy, events ...sojourn.Event) {
	for _, ev := range events {
		if err := p.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
}

// An urgent policy is fair, but gives a job whose name begins with "urgent" a
// thousand times the weight. You need not write a policy from nothing: if you
// embed a policy, you keep everything that it can do.
type urgent struct{ *fair.Policy }

// Observe implements [sojourn.Policy].
func (p urgent) Observe(ev sojourn.Event) error {
	told := ev
	if ev.Job != nil && strings.HasPrefix(ev.Job.Name, "urgent") && ev.Job.Check() == nil {
		job := *ev.Job // the original belongs to the driver
		job.Weight = 1000
		told.Job = &job
	}
	err := p.Policy.Observe(told)
	var e *sojourn.EventError
	if errors.As(err, &e) {
		e.Event = ev // as the driver knows it
	}
	return err
}

// A policy of your own, in thirty lines.
func Example_policy() {
	inner, err := fair.New(fair.Options{})
	if err != nil {
		log.Fatal(err)
	}
	p := urgent{inner}
	tell(p,
		sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Name: "report", Phases: []sojourn.Phase{{Tasks: 9}}}},
		sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Name: "urgent fix", Phases: []sojourn.Phase{{Tasks: 2}}}},
	)
	for slot := range sojourn.SlotID(4) {
		tell(p, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
		if a, ok := p.Assign(slot); ok {
			fmt.Println("slot", slot, "runs", a.Task)
		}
	}
	// Output:
	// slot 0 runs 1/0/0
	// slot 1 runs 2/0/0
	// slot 2 runs 2/0/1
	// slot 3 runs 1/0/1
}

// The shortest job goes first, no matter when it came.
func ExampleRanking() {
	p, err := baseline.NewSRPT(baseline.SRPTOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i, tasks := range []int{40, 3, 12} {
		tell(p, sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Minute}}}})
	}
	for id := range sojourn.Ranking(p) {
		fmt.Println("job", id)
	}
	// Output:
	// job 2
	// job 3
	// job 1
}

// A driver sleeps until an event comes or the policy's timer goes off. Here a
// job that has run one task waits for a slot on the node of its other input, and then takes another slot.
func ExampleWaker() {
	p, err := fair.New(fair.Options{Delay: 20 * time.Millisecond, RackDelay: new(time.Duration)})
	if err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	observe := func(ev sojourn.Event) {
		ev.At = sojourn.Time(time.Since(start))
		tell(p, ev)
	}
	events := make(chan sojourn.Event, 8)
	events <- sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0, Node: 7}}
	events <- sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{
		{Tasks: 2, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{7}, {3}})}}}}

	for ended := 0; ended < 2; {
		var timer <-chan time.Time // nil: never
		if at, ok := p.NextWake(); ok {
			timer = time.After(time.Until(start.Add(time.Duration(at))))
		}
		select {
		case ev := <-events:
			fmt.Println(ev.Kind)
			observe(ev)
			if ev.Kind == sojourn.TaskFinished {
				ended++
			}
		case <-timer:
			fmt.Println("waited long enough")
			observe(sojourn.Event{Kind: sojourn.Tick})
		}
		for slot, ok := p.Seek(0); ok; slot, ok = p.Seek(0) {
			if a, ok := p.Assign(slot); ok {
				fmt.Printf("task %v starts on slot %d, with its input %v\n", a.Task, a.Slot, a.Locality)
				go func() {
					time.Sleep(100 * time.Millisecond) // the work
					events <- sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}
				}()
			}
		}
	}
	// Output:
	// SlotAdded
	// JobArrived
	// task 1/0/0 starts on slot 0, with its input node
	// TaskFinished
	// waited long enough
	// task 1/0/1 starts on slot 0, with its input remote
	// TaskFinished
}

// A pool should have at least one slot. It has none for ten seconds, and gets
// one back.
func ExamplePreemptor() {
	p, err := fair.New(fair.Options{
		Pools:      map[string]fair.Pool{"web": {Min: fair.Slots{0: 1}}},
		Preemption: fair.Preemption{MinTimeout: 10 * time.Second, Interval: time.Second},
	})
	if err != nil {
		log.Fatal(err)
	}
	now := sojourn.Time(0)
	// settle does the duties of a driver at one instant.
	settle := func() {
		for {
			for slot, ok := p.Seek(0); ok; slot, ok = p.Seek(0) {
				if a, ok := p.Assign(slot); ok {
					fmt.Printf("%v: task %v starts\n", now, a.Task)
				}
			}
			victims := p.AppendPreemptions(nil)
			for _, v := range victims {
				fmt.Printf("%v: task %v is killed for job %d\n", now, v.Task, v.For)
				tell(p, sojourn.Event{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted, At: now,
					Task: v.Task, Attempt: v.Attempt, Slot: sojourn.Slot{ID: v.Slot}})
			}
			at, ok := p.NextWake()
			switch {
			case ok && at <= now:
				tell(p, sojourn.Event{Kind: sojourn.Tick, At: now})
			case len(victims) == 0:
				return
			}
		}
	}
	arrives := func(id sojourn.JobID, pool string) sojourn.Event {
		return sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: 2}}}}
	}

	tell(p, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}}, sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}})
	tell(p, arrives(1, "batch"))
	settle()
	now = now.Add(time.Second)
	tell(p, arrives(2, "web"))
	settle()
	for at, ok := p.NextWake(); ok && at < sojourn.Time(time.Minute); at, ok = p.NextWake() { // nothing else happens
		now = at
		tell(p, sojourn.Event{Kind: sojourn.Tick, At: now})
		settle()
	}
	// Output:
	// 0s: task 1/0/0 starts
	// 0s: task 1/0/1 starts
	// 12s: task 1/0/0 is killed for job 2
	// 12s: task 2/0/0 starts
}

// A policy is saved, and another one continues from the same state.
func ExampleSnapshotter() {
	policy := func() *fifo.Policy {
		p, err := fifo.New(fifo.Options{})
		if err != nil {
			log.Fatal(err)
		}
		return p
	}
	p := policy()
	tell(p,
		sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}},
		sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}},
		sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}},
	)
	if a, ok := p.Assign(0); ok {
		fmt.Println("before:", a.Task)
	}
	saved, err := p.AppendBinary(nil)
	if err != nil {
		log.Fatal(err)
	}

	q := policy()
	if err := q.UnmarshalBinary(saved); err != nil {
		log.Fatal(err)
	}
	if a, ok := q.Assign(1); ok {
		fmt.Println("after: ", a.Task)
	}
	saved[len(saved)/2] ^= 1
	fmt.Println("damaged:", q.UnmarshalBinary(saved) != nil)
	// Output:
	// before: 1/0/0
	// after:  1/0/1
	// damaged: true
}
