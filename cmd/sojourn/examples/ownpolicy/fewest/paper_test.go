package fewest

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// With one slot and tasks of one length, no order of the jobs has a smaller sum of
// sojourn times than the order of the policy.
//
// Reference: Smith, Various optimizers for single-stage production, 1956, theorem 3.
func TestSmith(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tasks := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 5).Draw(t, "tasks")
		p := newPolicy()
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		for i, n := range tasks {
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: n}}}})
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded})
		left, sum, now := append([]int(nil), tasks...), 0, 0
		for a, ok := p.Assign(0); ok; a, ok = p.Assign(0) {
			now++
			observe(sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(now), Task: a.Task, Attempt: a.Attempt, Service: 1})
			job := a.Task.Job - 1
			if left[job]--; left[job] == 0 {
				sum += now
			}
		}
		if want := least(tasks, 0); sum != want {
			t.Fatalf("%v tasks: the sojourn times add up to %d, want %d", tasks, sum, want)
		}
	})
}

// least returns the least sum of the ends of jobs that start at an instant, over all
// orders.
func least(tasks []int, now int) int {
	best := 0
	for i, n := range tasks {
		rest := append(append([]int(nil), tasks[:i]...), tasks[i+1:]...)
		if sum := now + n + least(rest, now+n); i == 0 || sum < best {
			best = sum
		}
	}
	return best
}
