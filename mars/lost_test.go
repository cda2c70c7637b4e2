package mars_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars"
)

// As long as no plan is made while an attempt runs, an attempt that is refused, preempted or lost with its slot leaves its job in its place: what
// starts next is what would start if the attempt had never been started.
//
// A plan is about the work that waits. One that is made meanwhile does not see the task that runs, so it may give its job another place, and that
// place stays until the next plan. The law of lost work of sojourntest, which knows no plans, does not hold.
func TestLostWorkIsNotCharged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		tasks := rapid.SliceOfN(rapid.IntRange(1, 3), 2, 5).Draw(t, "tasks")
		seconds := rapid.SliceOfN(rapid.IntRange(1, 50), len(tasks), len(tasks)).Draw(t, "seconds of a task")
		weights := rapid.SliceOfN(rapid.IntRange(1, 50), len(tasks), len(tasks)).Draw(t, "weights")
		before := rapid.IntRange(0, slots-1).Draw(t, "attempts before")
		pause := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "pause"))
		end := rapid.SampledFrom([]sojourn.Event{{Kind: sojourn.TaskRefused}, {Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
			{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost}}).Draw(t, "end")
		order := func(started bool) (list []sojourn.TaskID) {
			p := policy(mars.Options{})()
			now := sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				ev.At = now
				if err := p.Observe(ev); err != nil {
					t.Fatalf("Observe(%v) = %v", ev, err)
				}
			}
			for i := range slots {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
			}
			for i, n := range tasks {
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Weight: float64(weights[i]),
					Phases: []sojourn.Phase{{Tasks: n, Estimate: time.Duration(seconds[i]) * time.Second}}}})
			}
			for at, ok := p.(sojourn.Waker).NextWake(); ok; at, ok = p.(sojourn.Waker).NextWake() {
				now = at
				observe(sojourn.Event{Kind: sojourn.Tick})
			}
			for i := range before {
				p.Assign(sojourn.SlotID(i))
			}
			a, any := sojourn.Assignment{}, false
			if started {
				a, any = p.Assign(sojourn.SlotID(before))
			}
			now = now.Add(pause)
			observe(sojourn.Event{Kind: sojourn.Tick})
			if any {
				ev := end
				ev.Task, ev.Attempt, ev.Slot.ID = a.Task, a.Attempt, a.Slot
				observe(ev)
			}
			for i := before; i < slots; i++ {
				if a, ok := p.Assign(sojourn.SlotID(i)); ok {
					list = append(list, a.Task)
				}
			}
			return list
		}
		got, want := order(true), order(false)
		if len(got) != len(want) {
			t.Fatalf("after the lost attempt %v start, without it %v", got, want)
		}
		for i := range got {
			if got[i].Job != want[i].Job {
				t.Fatalf("after the lost attempt %v start, without it %v", got, want)
			}
		}
	})
}
