package plan

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// An error that says what is wrong with an Instance wraps ErrInstance. If a
// planner's theory does not cover a valid instance, the error wraps
// [errors.ErrUnsupported].
var ErrInstance = errors.New("invalid instance")

// An Instance of the MapReduce server-job organizer problem (Section 3.1): jobs
// whose tasks are not interrupted and run on identical machines, one at a time on
// each. Do not change it while it is in use.
//
// Tasks are numbered from 0 in the order of jobs, of the phases of a job and of
// the tasks of a phase.
type Instance struct {
	// Machines is the number of machines of each class. A phase runs on the machines of its
	// class. The paper has one class: Machines: []int{50}.
	Machines []int

	// Jobs lists the jobs, in any order. There may be none.
	Jobs []Job

	// Objective is the quantity to minimise. Zero is the paper's sum of w_j C_j.
	Objective Objective
}

// An Objective measures a schedule, in units of weight times seconds. Less is better.
type Objective uint8

const (
	// JobCompletion is the total weighted job completion time, the sum of w_j C_j
	// over jobs (Section 3.1).
	JobCompletion Objective = iota
	// TaskCompletion is the total weighted task completion time, the sum of w_u C_u
	// over tasks (Section 4.4).
	TaskCompletion
)

// A Job of an Instance.
type Job struct {
	// ID names the job in errors. Zero means its place in Jobs, from 0.
	ID sojourn.JobID

	// Release is r_j: no task starts before it.
	Release sojourn.Time

	// Weight is w_j. Zero means 1, as in [sojourn.Job]. Otherwise it is in
	// [MinWeight, MaxWeight].
	Weight float64

	// Phases is a chain: each phase waits for the one before it. A MapReduce job
	// has two, its map tasks and its reduce tasks. There is at least one.
	Phases []Phase
}

// Bounds of the weights of an Instance. They are wider than those of [sojourn.Job], which
// policies count in units of 2^-16. Bounds and offline planners compute with float64, and
// these weights are far enough from its limits for all sums and products. so-mars is a
// policy, so it accepts only weights of [sojourn.Job].
const (
	MinWeight = 1e-30
	MaxWeight = 1e30
)

// A Phase of a Job: tasks that do not depend on one another.
type Phase struct {
	// Tasks is the number of tasks, at least 1.
	Tasks int

	// Class is the class of machine that the tasks run on.
	Class sojourn.Class

	// Time is p_u, the processing time of every task, if Times is nil. It may be zero.
	Time time.Duration

	// Times, unless nil, holds p_u of each task.
	Times []time.Duration

	// Delays, unless nil, holds d_u of each task: a task v of the next phase starts
	// no earlier than S_u + p_u + d_u (2).
	Delays []time.Duration

	// Weights, unless nil, holds w_u of each task for [TaskCompletion], each zero
	// or between MinWeight and MaxWeight. Nil means that each task has the weight
	// of its job. Other objectives ignore it.
	Weights []float64

	// NoBarrier, which is not in the paper, says that the phase needs nothing from
	// the phase before it: its tasks may start when the job is released. Delays
	// of the phase before then have no effect.
	NoBarrier bool
}

// TimeOf returns p_u of a task of the phase.
func (p *Phase) TimeOf(task int) time.Duration {
	if p.Times != nil {
		return p.Times[task]
	}
	return p.Time
}

// weight returns w_j.
func (j *Job) weight() float64 {
	if j.Weight == 0 {
		return 1
	}
	return j.Weight
}

// weightOf returns w_u of a task of a phase of j.
func (j *Job) weightOf(phase, task int) float64 {
	if w := j.Phases[phase].Weights; w != nil {
		return w[task]
	}
	return j.weight()
}

// TaskCount returns the number of tasks of all jobs.
func (in *Instance) TaskCount() int {
	n := 0
	for j := range in.Jobs {
		for k := range in.Jobs[j].Phases {
			n += in.Jobs[j].Phases[k].Tasks
		}
	}
	return n
}

// horizon bounds the sum of releases, times and delays, so that twice the sum is still a
// valid instant.
const horizon = math.MaxInt64 / 4

// Check returns the first thing that is wrong with the instance, or nil. The error wraps
// [ErrInstance] and names the place. It finds a phase whose class has no machine, a weight
// that is not a number or out of range, a negative time, and a list of the wrong length. It
// also finds times that are too long for a schedule: the last release, all times and the
// longest delay of each phase may add up to at most 2^61-1 ns, which is 73 years.
// [LowerBound] accepts instances of more work.
func (in *Instance) Check() error { return in.check(false) }

// check is Check. For bounds alone, it allows longer times: then the only schedules made of
// the instance let no machine idle while a task may start. In such a schedule, each instant
// after the last release belongs to the chain of tasks and delays that ends last, or all
// machines of a class are busy. So it ends by the last release plus the longest chain plus,
// for each class, its work over its machines.
func (in *Instance) check(bounds bool) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInstance, fmt.Sprintf(format, args...))
	}
	if in.Objective > TaskCompletion {
		return bad("unknown objective %d", in.Objective)
	}
	total := 0
	for k, m := range in.Machines {
		if m < 0 || m > math.MaxInt32-total {
			return bad("%d machines of class %d", m, k)
		}
		total += m
	}
	if total < 1 {
		return bad("no machines")
	}
	if len(in.Jobs) > math.MaxInt32 {
		return bad("%d jobs", len(in.Jobs))
	}
	latest, length := int64(0), int64(0) // the last release; all times and delays one after the other
	longest := int64(0)                  // chain
	work := make([]wide.Uint128, len(in.Machines))
	tasks := int64(0)
	for i := range in.Jobs {
		j := &in.Jobs[i]
		id := j.ID
		if id == 0 {
			id = sojourn.JobID(i)
		}
		switch {
		case j.Release < 0:
			return bad("job %d: negative release %v", id, j.Release)
		case j.Weight != 0 && !(j.Weight >= MinWeight && j.Weight <= MaxWeight):
			return bad("job %d: weight %v is not in [%v, %v]", id, j.Weight, MinWeight, MaxWeight)
		case len(j.Phases) == 0:
			return bad("job %d: no phases", id)
		}
		latest = max(latest, int64(j.Release))
		chain := int64(0)
		for k := range j.Phases {
			sum, own, msg := j.Phases[k].check(in.Machines)
			if msg != "" {
				return bad("job %d: phase %d: %s", id, k, msg)
			}
			if bounds {
				c := j.Phases[k].Class
				work[c] = work[c].Add(wide.From64(uint64(sum)))
				chain = min(chain+own, horizon+1)
				longest = max(longest, chain)
				if length = spread(work, in.Machines); length > horizon-min(longest, horizon) || length+longest > horizon-min(latest, horizon) {
					return bad("job %d: phase %d: releases, chains of times and delays, and work over machines add up to more than can be told", id, k)
				}
			} else if length += sum; length > horizon-latest {
				return bad("job %d: phase %d: releases, times and delays add up to more than can be told", id, k)
			}
			if tasks += int64(j.Phases[k].Tasks); tasks > math.MaxInt32 {
				return bad("more than %d tasks", math.MaxInt32)
			}
		}
	}
	if latest > horizon-length-longest {
		return bad("releases, times and delays add up to more than can be told")
	}
	return nil
}

// spread returns the sum over classes of work over machines, each rounded up, or a number
// above the horizon.
func spread(work []wide.Uint128, machines []int) int64 {
	sum := int64(0)
	for k, w := range work {
		if w.IsZero() {
			continue
		}
		each, _ := w.QuoRem(wide.From64(uint64(machines[k])))
		if each.Hi > 0 || each.Lo >= horizon || sum > horizon {
			return horizon + 1
		}
		sum += int64(each.Lo) + 1
	}
	return sum
}

// check returns what is wrong with p by itself, or "" and two bounds: sum, on the time of
// all its tasks and its longest delay one after the other; and own, on the time of one task
// and its delay.
func (p *Phase) check(machines []int) (sum, own int64, msg string) {
	n := p.Tasks
	switch {
	case n < 1 || n > math.MaxInt32:
		return 0, 0, fmt.Sprintf("%d tasks", n)
	case int(p.Class) >= len(machines) || machines[p.Class] == 0:
		return 0, 0, fmt.Sprintf("no machines of class %d", p.Class)
	case p.Times == nil && p.Time < 0:
		return 0, 0, fmt.Sprintf("negative time %v", p.Time)
	case p.Times == nil && int64(p.Time) > horizon/int64(n):
		return 0, 0, fmt.Sprintf("%d tasks of %v are more than can be told", n, p.Time)
	case p.Times != nil && len(p.Times) != n:
		return 0, 0, fmt.Sprintf("%d times for %d tasks", len(p.Times), n)
	case p.Delays != nil && len(p.Delays) != n:
		return 0, 0, fmt.Sprintf("%d delays for %d tasks", len(p.Delays), n)
	case p.Weights != nil && len(p.Weights) != n:
		return 0, 0, fmt.Sprintf("%d weights for %d tasks", len(p.Weights), n)
	}
	if p.Times == nil {
		sum, own = int64(p.Time)*int64(n), int64(p.Time)
	}
	for i, d := range p.Times {
		if d < 0 {
			return 0, 0, fmt.Sprintf("task %d: negative time %v", i, d)
		}
		if int64(d) > horizon-sum {
			return 0, 0, fmt.Sprintf("task %d: the times add up to more than can be told", i)
		}
		sum, own = sum+int64(d), max(own, int64(d))
	}
	longest := int64(0)
	for i, d := range p.Delays {
		if d < 0 {
			return 0, 0, fmt.Sprintf("delay %d: negative, %v", i, d)
		}
		longest = max(longest, int64(d))
	}
	if longest > horizon-sum {
		return 0, 0, "times and delays are longer than can be told"
	}
	for i, w := range p.Weights {
		if w != 0 && !(w >= MinWeight && w <= MaxWeight) {
			return 0, 0, fmt.Sprintf("task %d: weight %v is neither 0 nor in [%v, %v]", i, w, MinWeight, MaxWeight)
		}
	}
	return sum + longest, own + longest, ""
}
