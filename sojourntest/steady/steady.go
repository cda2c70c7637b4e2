// Package steady measures a policy: the cost of one finish and one decision while the number
// of live jobs stays the same. Use it in the benchmarks of your policy, to compare it with
// other policies and with a [Floor] that no fair decision can be below:
//
//	func BenchmarkSteady(b *testing.B) { steady.Run(b, newPolicy, steady.Sizes...) }
//
// Tier: kit.
//
// [Life] measures the whole life of a job of one task, [Idle] whether jobs, pools and slots that have nothing to do cost
// anything, [Questions] what a driver asks, and [Snapshot] what it costs to save and restore.
package steady

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// slots is how many slots are busy between two operations.
const slots = 256

// warmUp is how many operations go before those that are measured.
const warmUp = 4096

// Sizes are the numbers of live jobs at which policies are measured.
var Sizes = []int{1000, 100_000, 1_000_000}

// Run measures a policy at each number of live jobs. One operation is one
// TaskFinished on a slot drawn at random and one Assign of that slot. A slot that is declined
// stays free, so that a policy that reserves slots soon has them. 4,096 operations go before
// those that are measured: what a policy does once, when the first tasks have finished, is not in
// the number. All jobs are of one phase, class and pool, with weights from 1 to 8.
func Run(b *testing.B, newPolicy func() sojourn.Policy, sizes ...int) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) { run(b, newPolicy(), n, 0) })
	}
}

// Idle measures a policy at 1,000 live jobs, without and with a hundred thousand
// jobs that have nothing to start, in ten thousand pools that have nothing else, and a
// hundred thousand free slots that nothing can run on.
func Idle(b *testing.B, newPolicy func() sojourn.Policy) {
	for _, idle := range []int{0, 100_000} {
		b.Run(fmt.Sprintf("idle=%d", idle), func(b *testing.B) { run(b, newPolicy(), 1000, idle) })
	}
}

func run(b *testing.B, p sojourn.Policy, jobs, idle int) {
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			b.Fatal(err)
		}
	}
	tasks := max(100, 50_000_000/jobs)
	for i := range slots {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	for i := range jobs {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: sojourn.JobID(i + 1), Weight: float64(1 + i%8),
			Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Duration(1+i%100) * time.Second}},
		}})
	}
	for i := range idle {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(slots + i), Class: 1}})
		id := sojourn.JobID(jobs + i + 1)
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
			ID: id, Pool: fmt.Sprint("idle", i%(idle/10)), Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}},
		}})
		observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: id}})
	}
	now := sojourn.Time(0)
	if w, ok := sojourn.As[sojourn.Waker](p); ok { // what the driver owes, also if it takes several Ticks
		for at, ok := w.NextWake(); ok && at <= now+sojourn.Time(time.Millisecond); at, ok = w.NextWake() {
			now = at
			observe(sojourn.Event{Kind: sojourn.Tick, At: now})
		}
	}
	running := make([]sojourn.Assignment, 0, slots)
	for i := range slots {
		if a, ok := p.Assign(sojourn.SlotID(i)); ok {
			running = append(running, a)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	step := func() {
		now += 1000
		i := r.IntN(len(running))
		a := running[i]
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: a.Attempt,
			Slot: sojourn.Slot{ID: a.Slot}, Service: time.Second})
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

// Floor measures the least cost of a fair decision: the same operations on an
// indexed binary heap of plain keys (running/weight, arrival). There is nothing
// else: no account of slots, tasks or attempts, and no check.
func Floor(b *testing.B, sizes ...int) {
	for _, n := range sizes {
		b.Run(fmt.Sprintf("jobs=%d", n), func(b *testing.B) {
			h := floorHeap{entries: make([]floorEntry, n), pos: make([]int32, n), running: make([]int32, n)}
			for i := range n {
				h.entries[i], h.pos[i] = floorEntry{0, int32(i)}, int32(i)
			}
			var busy [slots]int32
			for i := range busy {
				busy[i] = h.assign()
			}
			r := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for b.Loop() {
				i := r.IntN(slots)
				h.add(busy[i], -1)
				busy[i] = h.assign()
			}
		})
	}
}

type floorEntry struct {
	share uint64 // running/weight in 2^-32
	job   int32  // in the order of arrival
}

type floorHeap struct {
	entries []floorEntry
	pos     []int32
	running []int32
}

func (e floorEntry) before(f floorEntry) bool {
	return e.share < f.share || e.share == f.share && e.job < f.job
}

func (h *floorHeap) assign() int32 {
	job := h.entries[0].job
	h.add(job, 1)
	return job
}

func (h *floorHeap) add(job, by int32) {
	h.running[job] += by
	e := floorEntry{uint64(h.running[job]) << 32 / uint64(1+job%8), job}
	i := int(h.pos[job])
	for i > 0 && e.before(h.entries[(i-1)/2]) {
		h.entries[i] = h.entries[(i-1)/2]
		h.pos[h.entries[i].job] = int32(i)
		i = (i - 1) / 2
	}
	for c := 2*i + 1; c < len(h.entries); c = 2*i + 1 {
		if c+1 < len(h.entries) && h.entries[c+1].before(h.entries[c]) {
			c++
		}
		if !h.entries[c].before(e) {
			break
		}
		h.entries[i] = h.entries[c]
		h.pos[h.entries[i].job] = int32(i)
		i = c
	}
	h.entries[i], h.pos[job] = e, int32(i)
}
