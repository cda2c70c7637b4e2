package certify

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn/mars/plan"
)

// Point returns the value of a point of the linear program (1)-(4) if it is feasible. For the
// completion of jobs, c is C_j of each job in seconds, and every task starts as late as C_j
// allows. For the completion of tasks, c is C_u of each task. The error says which inequality
// does not hold, or wraps [plan.ErrInstance].
func Point(in plan.Instance, c []float64) (value float64, err error) {
	if err := in.Check(); err != nil {
		return 0, err
	}
	return pointValue(&in, c)
}

func pointValue(in *plan.Instance, c []float64) (float64, error) {
	if in.Objective == plan.TaskCompletion {
		return taskPoint(in, c)
	}
	return jobPoint(in, c)
}

// A jobForm describes a job to the linear program (Fact 2).
type jobForm struct {
	tasks [][]lateTask // by class of machine
	c     float64      // c_j, the least C_j
}

// A lateTask is a task that starts as late as C_j allows: its M is C_j - h.
type lateTask struct{ h, p float64 }

// formOf returns the form of a job, by the definitions
//
//	q_u = p_u + max over v that wait for u of (d_uv + q_v)
//	h_u = q_u - p_u/2
//	c_j = r_j + max over u that wait for none of q_u
//
// from the last phase to the first.
func formOf(in *plan.Instance, job *plan.Job) jobForm {
	form := jobForm{tasks: make([][]lateTask, len(in.Machines))}
	var next []time.Duration // q_v of the next phase
	for k := len(job.Phases) - 1; k >= 0; k-- {
		p := &job.Phases[k]
		longest := time.Duration(0) // q_v
		if waits(job, k+1) {
			longest = slices.Max(next)
		}
		q := make([]time.Duration, p.Tasks)
		for u := range q {
			q[u] = p.TimeOf(u)
			if waits(job, k+1) {
				q[u] += longestTail(p, u, next, longest)
			}
			h := q[u].Seconds() - float64(p.TimeOf(u).Seconds()/2)
			form.tasks[p.Class] = append(form.tasks[p.Class], lateTask{h, p.TimeOf(u).Seconds()})
		}
		if !waits(job, k) {
			form.c = max(form.c, seconds(job.Release)+slices.Max(q).Seconds())
		}
		next = q
	}
	return form
}

// jobPoint is Point for the completion of jobs: C_j >= c_j is (1) to (3).
func jobPoint(in *plan.Instance, c []float64) (value float64, err error) {
	if len(c) != len(in.Jobs) {
		return 0, fmt.Errorf("%d completions of the linear program for %d jobs", len(c), len(in.Jobs))
	}
	middles := make([][]middle, len(in.Machines))
	for j := range in.Jobs {
		form := formOf(in, &in.Jobs[j])
		if !finite(c[j]) || c[j] < float64(form.c*(1-tolerance)) {
			return 0, fmt.Errorf("%s: the linear program ends it at %v, before %v", nameOf(in, j), c[j], form.c)
		}
		for k, tasks := range form.tasks {
			for _, u := range tasks {
				middles[k] = append(middles[k], middle{m: c[j] - u.h, p: u.p, off: float64(rounding * c[j])})
			}
		}
		value += float64(jobWeight(&in.Jobs[j]) * c[j])
	}
	return value, satisfies4(in, middles)
}

// taskPoint is Point for the completion of tasks, with M_u = C_u - p_u/2:
//
//	(11) C_u >= r_j + p_u    (12) C_v >= C_u + d_u + p_v where v waits for u
func taskPoint(in *plan.Instance, c []float64) (value float64, err error) {
	if len(c) != in.TaskCount() {
		return 0, fmt.Errorf("%d completions of the linear program for %d tasks", len(c), in.TaskCount())
	}
	middles := make([][]middle, len(in.Machines))
	for j := range in.Jobs {
		job := &in.Jobs[j]
		arrives := 0.0 // the last output of the phase before
		for k := range job.Phases {
			p := &job.Phases[k]
			least := seconds(job.Release) // of S_u
			if waits(job, k) {
				least = max(least, arrives)
			}
			arrives = 0
			own := c[:p.Tasks]
			c = c[p.Tasks:]
			for u, end := range own {
				time := p.TimeOf(u).Seconds()
				if start := end - time; !finite(end) || start < least-float64(tolerance*end) {
					return 0, fmt.Errorf("%s, phase %d, task %d: the linear program starts it at %v, before %v", nameOf(in, j), k, u, start, least)
				}
				arrives = max(arrives, end+delay(p, u, 0, 0).Seconds())
				middles[p.Class] = append(middles[p.Class], middle{m: end - float64(time/2), p: time, off: float64(rounding * end)})
				value += float64(taskWeight(job, k, u) * end)
			}
		}
	}
	return value, satisfies4(in, middles)
}

// A middle is the M and p of a task, and the possible error of M: C minus a long tail keeps
// the rounding of C.
type middle struct{ m, p, off float64 }

// rounding bounds the relative rounding of C and of the numbers subtracted from it.
const rounding = 1e-14

// satisfies4 returns an error if (4) does not hold in some class of machines:
//
//	sum over B of p_u M_u >= p(B)^2/2m for every set B of tasks.
//
// Of all sets, the prefixes of the order of M are violated most (Fact 1).
func satisfies4(in *plan.Instance, middles [][]middle) error {
	for k, list := range middles {
		slices.SortFunc(list, func(a, b middle) int { return cmp.Compare(a.m, b.m) })
		work, sum, off := 0.0, 0.0, 0.0 // p(B); the sum of p_u M_u, and its possible error
		for i, u := range list {
			work += u.p
			sum += float64(u.p * u.m)
			off += float64(u.p * u.off)
			if need := float64(work*work) / float64(2*in.Machines[k]); sum+off < float64(need*(1-tolerance)) {
				return fmt.Errorf("class %d: the linear program violates (4) for the first %d tasks: %v < %v", k, i+1, sum, need)
			}
		}
	}
	return nil
}
