package certify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars/plan"
)

// A run is one task in a schedule.
type run struct {
	job, phase, index int
	start, end        sojourn.Time // S_u and S_u + p_u
	machine           int32
}

// verifySchedule checks a schedule without its bounds.
func verifySchedule(in *plan.Instance, s *plan.Schedule) error {
	n := in.TaskCount()
	switch {
	case len(s.Start) != n || len(s.Machine) != n:
		return fmt.Errorf("%d starts and %d machines for %d tasks", len(s.Start), len(s.Machine), n)
	case len(s.Completion) != len(in.Jobs):
		return fmt.Errorf("%d completions for %d jobs", len(s.Completion), len(in.Jobs))
	}
	runs := make([]run, 0, n)
	objective := 0.0
	for j := range in.Jobs {
		job := &in.Jobs[j]
		var before []run
		end := sojourn.Time(0) // C_j
		for k := range job.Phases {
			own, err := phaseRuns(in, s, j, k, len(runs))
			if err != nil {
				return err
			}
			if waits(job, k) {
				if err := verifyWaits(&job.Phases[k-1], before, own); err != nil {
					return fmt.Errorf("%s, phase %d: %w", nameOf(in, j), k, err)
				}
			}
			for u, r := range own {
				end = max(end, r.end)
				if in.Objective == plan.TaskCompletion {
					objective += float64(taskWeight(job, k, u) * seconds(r.end))
				}
			}
			runs = append(runs, own...)
			before = own
		}
		if s.Completion[j] != end {
			return fmt.Errorf("%s: completion %v, want %v", nameOf(in, j), s.Completion[j], end)
		}
		if in.Objective == plan.JobCompletion {
			objective += float64(jobWeight(job) * seconds(end))
		}
	}
	if !near(s.Objective, objective) {
		return fmt.Errorf("objective %v, want %v", s.Objective, objective)
	}
	return verifyMachines(in, runs)
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

// verifyWaits checks (2), S_v >= S_u + p_u + d_uv, between the runs of phase p, which are
// before, and those of the next phase, which are after.
func verifyWaits(p *plan.Phase, before, after []run) error {
	if p.Between == nil {
		// d_uv is the same for all v: all of them wait for the last output to arrive.
		arrives := func(a run) sojourn.Time { return a.end.Add(delay(p, a.index, 0, len(after))) }
		last := slices.MaxFunc(before, func(a, b run) int { return cmp.Compare(arrives(a), arrives(b)) })
		before = []run{last}
	}
	for _, u := range before {
		for _, v := range after {
			if arrives := u.end.Add(delay(p, u.index, v.index, len(after))); v.start < arrives {
				return fmt.Errorf("task %d starts at %v, but what it waits for arrives from task %d at %v", v.index, v.start, u.index, arrives)
			}
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

// seconds returns an instant in the unit of objectives.
func seconds(t sojourn.Time) float64 { return time.Duration(t).Seconds() }
