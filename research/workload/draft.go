package workload

import (
	"errors"
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// A draft is a job before its arrival is fixed.
type draft struct {
	job      sim.Job       // without ID, At and Deadline
	at       float64       // arrival, in nanoseconds
	deadline time.Duration // from the arrival; 0 if there is none
}

// anyPhase adds a phase that leaves its class to the cluster, like all phases of the
// job, and returns it. Times are in nanoseconds.
func (d *draft) anyPhase(tasks int, time func(task int) float64) *sojourn.Phase {
	d.job.AnyClass = append(d.job.AnyClass, true)
	return d.phase(0, tasks, time)
}

// phase adds a phase and returns it. Times are in nanoseconds.
func (d *draft) phase(class sojourn.Class, tasks int, time func(task int) float64) *sojourn.Phase {
	times := sim.Times{Each: duration(time(0))}
	for i := 1; i < tasks; i++ {
		t := duration(time(i))
		if times.List == nil && t != times.Each {
			times.List = makeEqual(times.Each, i, tasks)
			times.Each = 0
		}
		if times.List != nil {
			times.List = append(times.List, t)
		}
	}
	d.job.Phases = append(d.job.Phases, sojourn.Phase{Tasks: tasks, Class: class})
	d.job.Times = append(d.job.Times, times)
	return &d.job.Phases[len(d.job.Phases)-1]
}

// makeEqual returns n equal durations, with room for total.
func makeEqual(each time.Duration, n, total int) []time.Duration {
	list := make([]time.Duration, n, total)
	for i := range list {
		list[i] = each
	}
	return list
}

// duration rounds a number of nanoseconds, at least 0, to the nearest. A number out
// of range becomes the longest duration, which finish refuses.
func duration(ns float64) time.Duration {
	if ns = math.Floor(float64(ns) + 0.5); ns < math.MaxInt64 {
		return time.Duration(ns)
	}
	return math.MaxInt64
}

// finish returns the job. Its arrival is rounded here, once.
func (d *draft) finish(id uint64, stretch float64) (*sim.Job, error) {
	var work time.Duration
	for p, times := range d.job.Times {
		for i := range d.job.Phases[p].Tasks {
			t := times.Of(i)
			if t == math.MaxInt64 || t > math.MaxInt64-work {
				return nil, fmt.Errorf("job %d: its tasks take longer than time can tell", id)
			}
			work += t
		}
	}
	at := duration(float64(d.at * stretch))
	if at >= math.MaxInt64-d.deadline {
		return nil, fmt.Errorf("job %d: it arrives later than time can tell", id)
	}
	job := d.job
	job.ID = sojourn.JobID(id)
	job.At = sojourn.Time(at)
	if d.deadline > 0 {
		job.Deadline = job.At.Add(d.deadline)
	}
	return &job, nil
}

// arrivals yields n jobs. gap returns the time before the arrival of job i, in
// nanoseconds, and body draws the rest of the job.
func arrivals(n int, gap func(i int) float64, body func(i int, d *draft)) iter.Seq[*draft] {
	return func(yield func(*draft) bool) {
		at := 0.0
		for i := range n {
			at += gap(i)
			d := &draft{at: at}
			body(i, d)
			if !yield(d) {
				return
			}
		}
	}
}

// A capacity is the slots that a load refers to.
type capacity struct {
	uniform bool   // slots[0] run anything
	slots   [2]int // of each class
}

// stretchFor returns the factor of all times of arrival that gives the workload a
// load: the work of all jobs, divided by what the slots can do from the first
// arrival to the last. If there are two classes, the busier one counts.
func stretchFor(drafts iter.Seq[*draft], load float64, c capacity) (float64, error) {
	var work [2]float64 // nanoseconds
	first, last := math.NaN(), 0.0
	for d := range drafts {
		if math.IsNaN(first) {
			first = d.at
		}
		last = d.at
		for p := range d.job.Phases {
			class := 0
			if !c.uniform {
				class = int(d.job.ClassOf(p))
			}
			for i := range d.job.Phases[p].Tasks {
				work[class] += float64(d.job.Times[p].Of(i))
			}
		}
	}
	switch {
	case math.IsNaN(first):
		return 0, errNoJobs
	case last == first:
		return 0, errors.New("option load: all jobs arrive at once, so that no load can be had by moving them")
	}
	busy := 0.0 // the time that the slots of the busier class need
	for class, slots := range c.slots {
		if slots > 0 {
			busy = max(busy, work[class]/float64(slots))
		}
	}
	span := busy / load
	// Rounding moves an arrival by half a nanosecond.
	if !(span >= 1000) {
		return 0, fmt.Errorf("option load: %v leaves %v ns between the first arrival and the last, want at least 1000", load, span)
	}
	return span / (last - first), nil
}
