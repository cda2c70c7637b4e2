package sim_test

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
)

// A speculator drives a policy and runs copies of stragglers. A policy knows nothing of copies: for
// it, a copy is a job of one task, in the same pool.
type speculator struct {
	policy  sojourn.Policy
	now     int // in seconds
	patient int // how long an attempt runs before it gets a copy; 0 for no copies
	next    sojourn.JobID
	slots   []attempt                        // by slot
	copies  map[sojourn.TaskID]sojourn.JobID // of running tasks
	origin  map[sojourn.JobID]sojourn.TaskID // of copies: the task
}

type attempt struct {
	sojourn.Assignment
	start, end int
}

func (d *speculator) observe(ev sojourn.Event) {
	ev.At = sojourn.Time(d.now) * sojourn.Time(time.Second)
	if err := d.policy.Observe(ev); err != nil {
		panic(err)
	}
}

// arrive tells the policy of a job of n tasks of 10 s each.
func (d *speculator) arrive(n int) sojourn.JobID {
	d.next++
	d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: d.next, Pool: "web",
		Phases: []sojourn.Phase{{Tasks: n, Estimate: 10 * time.Second}}}})
	return d.next
}

// report reports the end of the attempt on a slot, which is free then.
func (d *speculator) report(kind sojourn.EventKind, slot int) {
	a := d.slots[slot]
	d.slots[slot] = attempt{}
	d.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
}

// runs returns the slot that runs a task, -1 if none does.
func (d *speculator) runs(id sojourn.TaskID) int {
	for i, a := range d.slots {
		if a.Attempt > 0 && a.Task == id {
			return i
		}
	}
	return -1
}

// finish ends an attempt that has done its work, and returns the task that is done.
func (d *speculator) finish(slot int) sojourn.TaskID {
	task := d.slots[slot].Task
	d.report(sojourn.TaskFinished, slot)
	if original, ok := d.origin[task.Job]; ok { // the copy wins
		delete(d.origin, task.Job)
		delete(d.copies, original)
		// Kill the original here. The task is done, so report that it finished, not that it failed.
		d.report(sojourn.TaskFinished, d.runs(original))
		return original
	}
	if id, ok := d.copies[task]; ok { // the original wins
		delete(d.origin, id)
		delete(d.copies, task)
		d.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
		if k := d.runs(sojourn.TaskID{Job: id}); k >= 0 { // kill the copy
			d.report(sojourn.TaskFailed, k)
		}
	}
	return task
}

// speculate makes a copy of each attempt that has run for too long.
func (d *speculator) speculate() {
	for i := range d.slots {
		a := &d.slots[i]
		_, isCopy := d.origin[a.Task.Job]
		_, hasCopy := d.copies[a.Task]
		if a.Attempt > 0 && d.patient > 0 && !isCopy && !hasCopy && d.now-a.start >= d.patient {
			id := d.arrive(1)
			d.copies[a.Task], d.origin[id] = id, a.Task
		}
	}
}

// speculation runs 500 jobs of 10 tasks on 20 slots. One attempt of ten takes five times as long. It
// returns the mean sojourn time, and how many copies there were.
func speculation(patient int) (mean float64, copies int) {
	d := &speculator{policy: pooled.Fair.Must(fair.Options{}), patient: patient, slots: make([]attempt, 20),
		copies: map[sojourn.TaskID]sojourn.JobID{}, origin: map[sojourn.JobID]sojourn.TaskID{}}
	for i := range d.slots {
		d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	const jobs = 500
	arrived, left, sum, arrivals := map[sojourn.JobID]int{}, map[sojourn.JobID]int{}, 0, 0
	for ; (arrivals < jobs || len(left) > 0) && d.now < 100_000; d.now++ { // some 5,000 seconds
		for i := range d.slots {
			if d.slots[i].Attempt > 0 && d.slots[i].end == d.now {
				id := d.finish(i).Job
				if left[id]--; left[id] == 0 {
					sum += d.now - arrived[id]
					delete(left, id)
				}
			}
		}
		if d.now%10 == 0 && arrivals < jobs {
			id := d.arrive(10)
			arrived[id], left[id] = d.now, 10
			arrivals++
		}
		d.speculate()
		for {
			slot, ok := d.policy.(sojourn.Seeker).Seek(0)
			if !ok {
				break
			}
			a, _ := d.policy.Assign(slot)
			takes := 10
			if rng.IntN(10) == 0 {
				takes = 50
			}
			d.slots[slot] = attempt{a, d.now, d.now + takes}
		}
	}
	return float64(sum) / jobs, int(d.next) - jobs
}

// Speculative execution without help from the policy: see speculator.
func Example_speculation() {
	mean, _ := speculation(0)
	fmt.Printf("no copies: mean sojourn time %.1f s\n", mean)
	for _, patient := range []int{15, 20} {
		mean, copies := speculation(patient)
		fmt.Printf("copies after %d s: mean sojourn time %.1f s, %d copies of 5000 tasks\n", patient, mean, copies)
	}
	// Output:
	// no copies: mean sojourn time 35.5 s
	// copies after 15 s: mean sojourn time 21.9 s, 505 copies of 5000 tasks
	// copies after 20 s: mean sojourn time 24.3 s, 502 copies of 5000 tasks
}
