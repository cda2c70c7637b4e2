package plan

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// optimum returns the least objective of any schedule of a tiny instance. It tries every
// order in which tasks can start, and puts each task on the machine of its class that is
// free first. One of these schedules is optimal: take the tasks of an optimal schedule in
// the order of their starts, and each of them can start as early on the machine that is
// free first.
func optimum(in Instance) float64 {
	type task struct {
		job, phase, index int
		end               sojourn.Time
		done              bool
	}
	var tasks []task
	for j := range in.Jobs {
		for k := range in.Jobs[j].Phases {
			for i := range in.Jobs[j].Phases[k].Tasks {
				tasks = append(tasks, task{job: j, phase: k, index: i})
			}
		}
	}
	free := make([][]sojourn.Time, len(in.Machines))
	for k, m := range in.Machines {
		free[k] = make([]sojourn.Time, m)
	}
	// earliest returns when a task may start. It returns false if a task that it waits
	// for is not placed.
	earliest := func(t *task) (sojourn.Time, bool) {
		job := &in.Jobs[t.job]
		at := job.Release
		if t.phase == 0 || job.Phases[t.phase].NoBarrier {
			return at, true
		}
		before := &job.Phases[t.phase-1]
		for i := range tasks {
			u := &tasks[i]
			if u.job != t.job || u.phase != t.phase-1 {
				continue
			}
			if !u.done {
				return 0, false
			}
			d := time.Duration(0)
			if before.Delays != nil {
				d = before.Delays[u.index]
			}
			at = max(at, u.end.Add(d))
		}
		return at, true
	}
	best := math.Inf(1)
	value := func() float64 {
		sum := 0.0
		for j := range in.Jobs {
			end := sojourn.Time(0)
			w := in.Jobs[j].Weight
			if w == 0 {
				w = 1
			}
			for i := range tasks {
				if tasks[i].job != j || !tasks[i].done {
					continue
				}
				end = max(end, tasks[i].end)
				if in.Objective == TaskCompletion {
					tw := w
					if list := in.Jobs[j].Phases[tasks[i].phase].Weights; list != nil {
						tw = list[tasks[i].index]
					}
					sum += tw * time.Duration(tasks[i].end).Seconds()
				}
			}
			if in.Objective == JobCompletion {
				sum += w * time.Duration(end).Seconds()
			}
		}
		return sum
	}
	var try func(left int)
	try = func(left int) {
		v := value() // the objective only grows with more tasks
		if v >= best {
			return
		}
		if left == 0 {
			best = v
			return
		}
		for i := range tasks {
			t := &tasks[i]
			if t.done {
				continue
			}
			at, ok := earliest(t)
			if !ok {
				continue
			}
			p := &in.Jobs[t.job].Phases[t.phase]
			machines := free[p.Class]
			m := 0
			for k := range machines {
				if machines[k] < machines[m] {
					m = k
				}
			}
			was := machines[m]
			t.done, t.end = true, max(at, was).Add(p.TimeOf(t.index))
			machines[m] = t.end
			try(left - 1)
			t.done = false
			machines[m] = was
		}
	}
	try(len(tasks))
	return best
}
