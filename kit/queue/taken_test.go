package queue_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
)

// After Take or TakeOf, whatever comes next without Update says so, also where the job has more to start.
func TestTakeWithoutUpdate(t *testing.T) {
	type jobs = queue.Jobs[struct{}, uint64]
	for takes, take := range map[string]func(*jobs) *ledger.Job[struct{}]{
		"Take":   func(q *jobs) *ledger.Job[struct{}] { j, _ := q.Take(0); return j },
		"TakeOf": func(q *jobs) *ledger.Job[struct{}] { j := q.Ledger.Job(7); q.TakeOf(j, 0); return j },
	} {
		for next, call := range map[string]func(*jobs){
			"Assign": func(q *jobs) { q.Assign(1) },
			"Take":   func(q *jobs) { q.Take(1) },
			"TakeOf": func(q *jobs) { q.TakeOf(q.Ledger.Job(8), 1) },
			"Seek":   func(q *jobs) { q.Seek(0) },
			"Apply":  func(q *jobs) { q.Apply(&sojourn.Event{Kind: sojourn.Tick}) },
		} {
			for _, tasks := range []int{1, 2} {
				for _, updates := range []bool{false, true} {
					q := queue.NewJobs(queue.JobOrder[struct{}, uint64]{
						Key:  func(j *ledger.Job[struct{}]) uint64 { return j.Seq() },
						Less: func(a, b uint64) bool { return a < b },
					})
					for _, ev := range []sojourn.Event{
						{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 0}},
						{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}},
						{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 7, Phases: []sojourn.Phase{{Tasks: tasks}}}},
						{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 8, Phases: []sojourn.Phase{{Tasks: 1}}}},
					} {
						q.File(&ev, q.Apply(&ev))
					}
					if j := take(q); updates {
						q.Update(q.Ledger.Job(8))
						q.Update(j)
					} else {
						q.Update(q.Ledger.Job(8)) // not the one that was taken
					}
					said := func() (said string) {
						defer func() { said = fmt.Sprint(recover()) }()
						call(q)
						return ""
					}()
					if says := strings.Contains(said, "job 7 was taken and is not filed: call Update"); says == updates {
						t.Errorf("%s of a job of %d tasks, updated: %v; then %s: %s", takes, tasks, updates, next, said)
					}
				}
			}
		}
	}
}
