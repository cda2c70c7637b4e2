package pfsp_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// As long as no job has used up its estimate, an attempt that is refused, preempted or lost with its slot leaves its job in its place: what
// starts next is what would start if the attempt had never been started.
//
// A job that has used it up is taken to need twice as much when a slot is offered to it. So what others are offered meanwhile counts, and the
// law of lost work of sojourntest, which knows no estimates, does not hold.
func TestLostWorkIsNotCharged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		jobs := rapid.SliceOfN(rapid.IntRange(1, 50), 2, 5).Draw(t, "seconds of a task")
		before := rapid.IntRange(0, slots-1).Draw(t, "attempts before")
		while := rapid.IntRange(0, 4).Draw(t, "fifths of its estimate")
		end := rapid.SampledFrom([]sojourn.Event{{Kind: sojourn.TaskRefused}, {Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
			{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost}}).Draw(t, "end")
		order := func(started bool) (list []sojourn.TaskID) {
			p := maker(pfsp.Options{})()
			now := sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				ev.At = now
				if err := p.Observe(ev); err != nil {
					t.Fatalf("Observe(%v) = %v", ev, err)
				}
			}
			assign := func(slot int) sojourn.Assignment {
				a, ok := p.Assign(sojourn.SlotID(slot))
				if !ok {
					t.Fatalf("slot %d stays idle", slot)
				}
				return a
			}
			for i := range slots {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
			}
			shortest := 50 * time.Second
			for i, s := range jobs {
				each := time.Duration(s) * time.Second
				shortest = min(shortest, each)
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: 5, Estimate: each}}}})
			}
			for i := range before {
				assign(i)
			}
			pause := shortest / 5 * time.Duration(while)
			if started {
				a := assign(before)
				now = now.Add(pause)
				ev := end
				ev.Task, ev.Attempt, ev.Slot.ID = a.Task, a.Attempt, a.Slot
				observe(ev)
			} else {
				now = now.Add(pause)
				observe(sojourn.Event{Kind: sojourn.Tick})
			}
			for i := before; i < slots; i++ {
				list = append(list, assign(i).Task)
			}
			return list
		}
		got, want := order(true), order(false)
		for i := range got {
			if got[i].Job != want[i].Job {
				t.Fatalf("after the lost attempt %v start, without it %v", got, want)
			}
		}
	})
}
