package queue_test

import (
	"cmp"
	"fmt"
	"log"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// Fewest tasks left first, and then by arrival.
func ExampleNewJobs() {
	type key struct{ left, seq uint64 }
	q := queue.NewJobs(queue.JobOrder[struct{}, key]{
		Key:  func(j *ledger.Job[struct{}]) key { return key{uint64(j.Left()), j.Seq()} },
		Less: func(a, b key) bool { return cmp.Or(cmp.Compare(a.left, b.left), cmp.Compare(a.seq, b.seq)) < 0 },
	})
	observe := func(ev sojourn.Event) {
		if err := q.Ledger.Check(&ev); err != nil {
			log.Fatal(err)
		}
		q.File(&ev, q.Apply(&ev))
	}
	for i, tasks := range []int{5, 2, 3} {
		job := &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks}}}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}})

	fmt.Println(q.AppendRanking(nil))
	a, ok := q.Assign(0)
	fmt.Println(a.Task, ok)

	// Output:
	// [2 3 1]
	// 2/0/0 true
}
