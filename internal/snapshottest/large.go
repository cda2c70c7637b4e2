package snapshottest

import (
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Large tests that a job of the greatest possible number of tasks takes little memory, in a
// policy and in its snapshot. The memory must depend on the tasks that are started, held or
// finished, and not on the announced ones. The job arrives, runs on a few slots, and is
// held, revised, saved, restored and cancelled. The policy must accept jobs of a map and a
// reduce phase with estimates, and slots of both classes.
func Large(t *testing.T, newPolicy func() sojourn.Policy) {
	t.Helper()
	const memory = 256 << 10 // bytes that may be allocated in all; two bits a task were 512 MiB
	least := uint64(math.MaxUint64)
	for range 5 { // the runtime allocates beside the policy now and then
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		large(t, newPolicy)
		runtime.ReadMemStats(&after)
		if least = min(least, after.TotalAlloc-before.TotalAlloc); least <= memory {
			return
		}
	}
	t.Errorf("a job of %d tasks took %d bytes, want at most %d", sojourn.MaxTasks, least, memory)
}

// large is the life of the job.
func large(t *testing.T, newPolicy func() sojourn.Policy) {
	t.Helper()
	const saved = 8 << 10 // bytes of a snapshot
	d := newDriver(newPolicy(), nil)
	must := func(kind sojourn.EventKind, ev sojourn.Event) {
		t.Helper()
		ev.Kind = kind
		if err := d.observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	job := func(tasks int) *sojourn.Job {
		return &sojourn.Job{ID: 1, Weight: 1, Deadline: 1 << 62, Phases: []sojourn.Phase{
			{Tasks: tasks, Estimate: time.Second}, {Tasks: 1, Class: 1, Estimate: time.Second},
		}}
	}
	const slots = 4
	for id := range sojourn.SlotID(slots) {
		must(sojourn.SlotAdded, sojourn.Event{Slot: sojourn.Slot{ID: id, Node: sojourn.NodeID(1 + id), Class: sojourn.Class(id % 2)}})
	}
	last := sojourn.TaskID{Job: 1, Index: sojourn.MaxTasks - 2}
	must(sojourn.JobArrived, sojourn.Event{Job: job(sojourn.MaxTasks - 1)})
	must(sojourn.TaskHeld, sojourn.Event{Task: last})
	must(sojourn.TaskReady, sojourn.Event{Task: last})
	ended := d.run(t, slots, 10)
	if ended < 10 {
		t.Errorf("%d tasks ran, want 10 at least", ended)
	}
	must(sojourn.JobRevised, sojourn.Event{Job: job(1 << 20)})
	must(sojourn.JobRevised, sojourn.Event{Job: job(sojourn.MaxTasks - 1)})
	data := save(t, d.p)
	again := newPolicy()
	if err := restore(again, data); err != nil {
		t.Fatal(err)
	}
	same(t, save(t, again), data)
	must(sojourn.JobCancelled, sojourn.Event{Job: &sojourn.Job{ID: 1}})
	if len(data) > saved {
		t.Errorf("its snapshot has %d bytes, want at most %d", len(data), saved)
	}
}

// run runs tasks of a second each on slots, for the given number of rounds, and returns how
// many ended.
func (d *driver) run(t *testing.T, slots sojourn.SlotID, rounds int) (ended int) {
	t.Helper()
	must := func(ev sojourn.Event) {
		t.Helper()
		if err := d.observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for range rounds {
		for w, ok := sojourn.As[sojourn.Waker](d.p); ok; {
			at, wakes := w.NextWake()
			if !wakes || at > d.now {
				break
			}
			must(sojourn.Event{Kind: sojourn.Tick})
		}
		for id := range slots {
			if a, ok := d.p.Assign(id); ok {
				d.running[id] = a
			}
		}
		d.now += sojourn.Time(time.Second)
		for id := range slots {
			if a, busy := d.running[id]; busy {
				must(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}, Service: time.Second})
				delete(d.running, id)
				ended++
			}
		}
	}
	return ended
}
