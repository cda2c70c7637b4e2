package shape_test

import (
	"fmt"
	"log"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/shape"
)

// Two teams share a node of 9 CPUs and 18 GB. Pods of team a take 1 CPU and 4 GB, those of team b
// 3 CPUs and 1 GB. Each team gets two thirds of what it needs most.
func Example() {
	shapes := []shape.Resources{{1, 4}, {3, 1}} // pods of class 0 and 1
	costs, err := shape.Costs(shapes, shape.Resources{9, 18})
	if err != nil {
		log.Fatal(err)
	}
	policy, err := fair.New(fair.Options{Cost: costs})
	if err != nil {
		log.Fatal(err)
	}
	cluster, err := shape.New(policy, shape.Options{Shapes: shapes})
	if err != nil {
		log.Fatal(err)
	}
	now := sojourn.Time(0) // of a real driver: since its start
	observe := func(events ...sojourn.Event) {
		for _, ev := range events {
			if err := policy.Observe(ev); err != nil {
				log.Fatal(err)
			}
		}
	}
	// place does the duties of a driver at one instant. It returns the pods that start.
	place := func() (pods []sojourn.Assignment) {
		for {
			started := false
			for class := range shapes {
				for {
					slot, ok := policy.Seek(sojourn.Class(class))
					if !ok {
						break
					}
					a, ok := policy.Assign(slot)
					if !ok {
						break
					}
					started = true
					pods = append(pods, a)
					observe(cluster.AppendStart(nil, now, slot)...)
				}
			}
			if started {
				continue
			}
			events, err := cluster.AppendReserve(nil, now)
			if err != nil {
				log.Fatal(err)
			}
			if len(events) == 0 {
				return pods
			}
			observe(events...)
		}
	}

	events, err := cluster.AppendNode(nil, now, 1, 0, shape.Resources{9, 18})
	if err != nil {
		log.Fatal(err)
	}
	observe(events...)
	for i, team := range []string{"a", "b"} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Pool: team, Phases: []sojourn.Phase{{Tasks: 10, Class: sojourn.Class(i)}}}})
	}
	pods := place()
	for _, a := range pods {
		node, class, _ := cluster.Place(a.Slot)
		fmt.Printf("task %v starts on node %d with %v\n", a.Task, node, shapes[class])
	}

	now++ // a pod of team b ends: first the end, then what has become free
	ended := pods[1]
	observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: ended.Task, Attempt: ended.Attempt, Slot: sojourn.Slot{ID: ended.Slot}})
	observe(cluster.AppendEnd(nil, now, ended.Slot)...)
	for _, a := range place() {
		fmt.Printf("then task %v starts\n", a.Task)
	}
	// Output:
	// task 1/0/0 starts on node 1 with [1 4]
	// task 2/0/0 starts on node 1 with [3 1]
	// task 1/0/1 starts on node 1 with [1 4]
	// task 2/0/1 starts on node 1 with [3 1]
	// task 1/0/2 starts on node 1 with [1 4]
	// then task 2/0/2 starts
}
