package steady

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Life measures the whole life of a job of one task, as most jobs of a queue are, at each number of
// live jobs. One operation is the end of the only task of a job, with which the job leaves, the
// arrival of another job, the Ticks that the policy wants until then, and the Assign of the slot that
// became free. As in [Run], 4,096 operations go before those that are measured, and a slot that is
// declined stays free. Jobs differ in their weights, estimates and times, and the number of waiting
// jobs stays the same.
func Life(b *testing.B, newPolicy func() sojourn.Policy, sizes ...int) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) { life(b, newPolicy(), n) })
	}
}

func life(b *testing.B, p sojourn.Policy, jobs int) {
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	waker, wakes := sojourn.As[sojourn.Waker](p)
	pass := func(t time.Duration) { // what the driver owes on the way, also if it takes several Ticks
		end := now + sojourn.Time(t)
		if wakes {
			for at, ok := waker.NextWake(); ok && at <= end; at, ok = waker.NextWake() {
				now = max(now, at)
				observe(sojourn.Event{Kind: sojourn.Tick})
			}
		}
		now = end
	}
	r := rand.New(rand.NewPCG(1, 2))
	next := sojourn.JobID(0)
	arrive := func() {
		next++
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: next, Weight: float64(1 + next%8), Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Duration(1+r.IntN(100)) * time.Second}},
		}})
	}
	for i := range slots {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	for range jobs {
		arrive()
	}
	pass(time.Millisecond)
	running := make([]sojourn.Assignment, 0, slots)
	for i := range slots {
		if a, ok := p.Assign(sojourn.SlotID(i)); ok {
			running = append(running, a)
		}
	}
	step := func() {
		pass(200 * time.Millisecond) // 256 slots and tasks of 50 s
		i := r.IntN(len(running))
		a := running[i]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot},
			Service: time.Duration(1+r.IntN(100)) * time.Second})
		arrive()
		if next, ok := p.Assign(a.Slot); ok {
			running[i] = next
			return
		}
		last := len(running) - 1
		running[i] = running[last]
		if running = running[:last]; last < slots/2 {
			b.Fatal("half of the slots have nothing to run")
		}
	}
	for range warmUp {
		step()
	}
	b.ReportAllocs()
	for b.Loop() {
		step()
	}
}
