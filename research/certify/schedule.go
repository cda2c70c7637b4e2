package certify

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// A run is one task in a schedule.
type run struct {
	job, phase, index int
	start, end        sojourn.Time // S_u and S_u + p_u
	machine           int32
}

// verifySchedule checks a schedule without its bounds. cost is 1e9 times its objective.
func verifySchedule(in *plan.Instance, s *plan.Schedule) (cost sum, err error) {
	n := in.TaskCount()
	switch {
	case len(s.Start) != n || len(s.Machine) != n:
		return cost, fmt.Errorf("%d starts and %d machines for %d tasks", len(s.Start), len(s.Machine), n)
	case len(s.Completion) != len(in.Jobs):
		return cost, fmt.Errorf("%d completions for %d jobs", len(s.Completion), len(in.Jobs))
	}
	runs := make([]run, 0, n)
	for j := range in.Jobs {
		job := &in.Jobs[j]
		var before []run
		end := sojourn.Time(0) // C_j
		for k := range job.Phases {
			own, err := phaseRuns(in, s, j, k, len(runs))
			if err != nil {
				return cost, err
			}
			if waits(job, k) {
				if err := verifyWaits(&job.Phases[k-1], before, own); err != nil {
					return cost, fmt.Errorf("%s, phase %d: %w", nameOf(in, j), k, err)
				}
			}
			for u, r := range own {
				end = max(end, r.end)
				if in.Objective == plan.TaskCompletion {
					cost.add(int64(r.end), taskWeight(job, k, u))
				}
			}
			runs = append(runs, own...)
			before = own
		}
		if s.Completion[j] != end {
			return cost, fmt.Errorf("%s: completion %v, want %v", nameOf(in, j), s.Completion[j], end)
		}
		if in.Objective == plan.JobCompletion {
			cost.add(int64(end), jobWeight(job))
		}
	}
	// A sum of n products in float64 is off by at most this, in any order.
	rounding := float64(n+4) * 0x1p-52
	if want := cost.over(1e9); !(math.Abs(s.Objective-want) <= float64(rounding*want)) {
		return cost, fmt.Errorf("objective %v, want %v", s.Objective, want)
	}
	return cost, verifyMachines(in, runs)
}

// phaseRuns returns the tasks of phase k of job j if each runs on a machine of its class
// and starts no earlier than its release (1). first is the number of the phase's first
// task.
func phaseRuns(in *plan.Instance, s *plan.Schedule, j, k, first int) ([]run, error) {
	job := &in.Jobs[j]
	p := &job.Phases[k]
	lowest := 0 // the first machine of the class: machines are numbered through all classes
	for _, m := range in.Machines[:p.Class] {
		lowest += m
	}
	runs := make([]run, p.Tasks)
	for u := range runs {
		r := run{job: j, phase: k, index: u, start: s.Start[first+u], machine: s.Machine[first+u]}
		r.end = r.start.Add(p.TimeOf(u))
		switch m := int(r.machine); {
		case r.start < job.Release:
			return nil, fmt.Errorf("%s, phase %d, task %d: starts at %v, before the release of its job at %v", nameOf(in, j), k, u, r.start, job.Release)
		case m < lowest || m >= lowest+in.Machines[p.Class]:
			return nil, fmt.Errorf("%s, phase %d, task %d: machine %d is not of class %d", nameOf(in, j), k, u, m, p.Class)
		case r.end.Sub(r.start) != p.TimeOf(u): // S_u + p_u is beyond the last instant
			return nil, fmt.Errorf("%s, phase %d, task %d: starts at %v, later than can be told", nameOf(in, j), k, u, r.start)
		}
		runs[u] = r
	}
	return runs, nil
}

// verifyWaits checks (2), S_v >= S_u + p_u + d_u, between the runs of phase p, which are
// before, and those of the next phase, which are after.
func verifyWaits(p *plan.Phase, before, after []run) error {
	v := slices.MinFunc(after, func(a, b run) int { return cmp.Compare(a.start, b.start) }) // the others start later
	for _, u := range before {
		// S_v - S_u - p_u is at most 2^63-1 and d_u at least 0: there is no overflow.
		d := delay(p, u.index)
		if v.start < u.end || v.start.Sub(u.end) < d {
			return fmt.Errorf("task %d starts at %v, but what it waits for arrives from task %d at %v", v.index, v.start, u.index, u.end.Add(d))
		}
	}
	return nil
}

// verifyMachines checks that no machine runs two tasks at a time.
func verifyMachines(in *plan.Instance, runs []run) error {
	slices.SortStableFunc(runs, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.machine, b.machine), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end))
	})
	for i := 1; i < len(runs); i++ {
		if a, b := &runs[i-1], &runs[i]; a.machine == b.machine && b.start < a.end {
			return fmt.Errorf("machine %d: task %d of phase %d of %s starts at %v, while task %d of phase %d of %s runs until %v",
				a.machine, b.index, b.phase, nameOf(in, b.job), b.start, a.index, a.phase, nameOf(in, a.job), a.end)
		}
	}
	return nil
}
