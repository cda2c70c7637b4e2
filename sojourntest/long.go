package sojourntest

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// checkLong lets six jobs of five tasks share a slot, and again with all tasks twice as long, and so on. A policy may know times
// of its own: then the order may change where tasks become longer than one of these, but not each time. If a number of 32 bits
// wraps around, the order changes each time, as by chance. One doubling of twelve that changes nothing is enough to pass.
func checkLong(tb rapid.TB, newPolicy func() sojourn.Policy, o Options) {
	tb.Helper()
	const (
		jobs, tasks    = 6, 5
		races, doubled = 3, 4
		deadline       = sojourn.Time(1 << 62)
	)
	o.features = sojourn.Supports(newPolicy())
	shapes := plainJobs(&o, 1, tasks, deadline)
	if len(shapes) == 0 {
		return
	}
	var last, is *finish
	for n := range races {
		dr := newDraws(&o, newChance(uint64(n), 0))
		r := &race{kind: sojourn.JobArrived, slots: 1, all: true, arrivals: make([]sojourn.Time, jobs)}
		for i := range jobs {
			job := clone(shapes[0])
			job.ID, job.Weight = sojourn.JobID(i+1), 1
			r.jobs = append(r.jobs, job)
			r.tasks = append(r.tasks, time.Duration(dr.between(1<<19, 1<<22))<<31|time.Duration(dr.src.below(1<<30))<<1|1) // 13 to 104 days
		}
		for i := range doubled + 1 {
			for k, job := range r.jobs {
				if i > 0 {
					r.tasks[k] *= 2
				}
				for p := range job.Phases {
					job.Phases[p].Estimate = r.tasks[k]
				}
			}
			if is = r.run(newPolicy, 1); is == nil || last != nil && i > 0 && slices.Equal(is.h.starts(), last.h.starts()) {
				return
			}
			if i < doubled {
				last = is
			}
		}
	}
	a, b := untilApart(last.h, is.h)
	tb.Fatalf("law of %s\n\nBroken by this history:\n\n%s\nand by the same one with all times twice as long:\n\n%s", lawLong, a.text("", "", nil), b.text("", "", nil))
}

// starts returns the tasks of h in the order in which they start.
func (h history) starts() (list []sojourn.TaskID) {
	for i := range h {
		if h[i].assign && h[i].ok {
			list = append(list, h[i].a.Task)
		}
	}
	return list
}
