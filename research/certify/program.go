package certify

import (
	"cmp"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// Point returns the value of a point of the linear program (1)-(4) if it is feasible. For the
// completion of jobs, c is C_j of each job in seconds, and every task starts as late as C_j
// allows. For the completion of tasks, c is C_u of each task. The error says which inequality
// does not hold, or wraps [plan.ErrInstance].
//
// Completions in seconds are rounded. So each may be later than c says, by at most 2^-36 of itself
// (1.5e-11), or 2^-64 ns: a point of such times satisfies all inequalities, exactly. The value is that of c.
// A completion after 2^62 ns, which is 146 years, counts as that instant (TestAPointMayEndLate).
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
	tasks []lateTask    // that take time
	c     time.Duration // c_j, the least C_j
}

// A lateTask is a task that starts as late as C_j allows: its M is C_j - h.
type lateTask struct {
	class sojourn.Class
	p, h2 time.Duration // p and 2 h
}

// formOf returns the form of a job, by the definitions
//
//	q_u = p_u + d_u + max over v that wait for u of q_v
//	h_u = q_u - p_u/2
//	c_j = r_j + max over u that wait for none of q_u
//
// from the last phase to the first.
func formOf(job *plan.Job) jobForm {
	var form jobForm
	longest := time.Duration(0) // q_v of the next phase
	for k := len(job.Phases) - 1; k >= 0; k-- {
		p, after := &job.Phases[k], longest
		longest = 0
		for u := range p.Tasks {
			q := p.TimeOf(u)
			if waits(job, k+1) {
				q += delay(p, u) + after
			}
			longest = max(longest, q)
			if p.TimeOf(u) > 0 {
				form.tasks = append(form.tasks, lateTask{p.Class, p.TimeOf(u), 2*q - p.TimeOf(u)})
			}
		}
		if !waits(job, k) {
			form.c = max(form.c, time.Duration(job.Release)+longest)
		}
	}
	return form
}

// An instant is whole nanoseconds and a part of one, in units of 2^-64.
type instant struct {
	whole int64
	part  uint64
}

// add returns t, n half nanoseconds later.
func (t instant) add(n int64) instant {
	t.whole += n >> 1 // the rest is 0 or 1, even if n is negative
	part, carry := bits.Add64(t.part, uint64(n&1)<<63, 0)
	return instant{t.whole + int64(carry), part}
}

func (t instant) compare(u instant) int {
	return cmp.Or(cmp.Compare(t.whole, u.whole), cmp.Compare(t.part, u.part))
}

func (t instant) seconds() float64 {
	return (float64(t.whole) + float64(float64(t.part)*0x1p-64)) / 1e9
}

// slack is how much of itself a completion of a point may be later than it says.
const slack = 0x1p-36

// farthest is the latest completion of a point, in seconds: 2^62 ns, twice what all times of an instance
// add up to. A later one counts as this. Then the point of a program of jobs is no less feasible, since
// no inequality asks for an early end; so a point that passes is worth at least the least value.
const farthest = float64(1<<62) / 1e9

// placed returns an instant that is at least c, in seconds, and least, and at most c (1+slack), or
// an error.
func placed(c float64, least instant) (instant, error) {
	if !finite(c) || c > dearest {
		return instant{}, fmt.Errorf("ends it at %v", c)
	}
	c = min(c, farthest)
	t := instantOf(above(above(c*1e9) * (1 + slack/2)))
	if t.compare(least) >= 0 {
		return t, nil
	}
	if instantOf(below(below(below(c*(1e9*(1+slack)))))).compare(least) < 0 { // three steps for three roundings
		return instant{}, fmt.Errorf("ends it at %v, before %v", c, least.seconds())
	}
	return least, nil
}

// instantOf returns a number of nanoseconds below 2^63 as an instant, rounded up.
func instantOf(ns float64) instant {
	whole := math.Floor(ns)
	return instant{int64(whole), uint64(math.Ceil((ns - whole) * 0x1p64))}
}

// jobPoint is Point for the completion of jobs: C_j >= c_j is (1) to (3).
func jobPoint(in *plan.Instance, c []float64) (value float64, err error) {
	if len(c) != len(in.Jobs) {
		return 0, fmt.Errorf("%d completions of the linear program for %d jobs", len(c), len(in.Jobs))
	}
	var all sum
	middles := make([][]middle, len(in.Machines))
	for j := range in.Jobs {
		form := formOf(&in.Jobs[j])
		end, err := placed(c[j], instant{whole: int64(form.c)})
		if err != nil {
			return 0, fmt.Errorf("%s: the linear program %w", nameOf(in, j), err)
		}
		for _, u := range form.tasks {
			middles[u.class] = append(middles[u.class], middle{m: end.add(-int64(u.h2)), p: int64(u.p)})
		}
		all.addProduct(jobWeight(&in.Jobs[j]), c[j])
	}
	return all.ceil(), satisfies4(in, middles)
}

// taskPoint is Point for the completion of tasks, with M_u = C_u - p_u/2:
//
//	(11) C_u >= r_j + p_u    (12) C_v >= C_u + d_u + p_v where v waits for u
func taskPoint(in *plan.Instance, c []float64) (value float64, err error) {
	if len(c) != in.TaskCount() {
		return 0, fmt.Errorf("%d completions of the linear program for %d tasks", len(c), in.TaskCount())
	}
	var all sum
	middles := make([][]middle, len(in.Machines))
	for j := range in.Jobs {
		job := &in.Jobs[j]
		var before []instant // C_u of the phase before
		for k := range job.Phases {
			p := &job.Phases[k]
			ends := make([]instant, p.Tasks)
			least := instant{whole: int64(job.Release)} // S_v
			if waits(job, k) {
				least = lastArrival(&job.Phases[k-1], before, least)
			}
			for v := range ends {
				time := int64(p.TimeOf(v))
				if ends[v], err = placed(c[v], least.add(2*time)); err != nil {
					return 0, fmt.Errorf("%s, phase %d, task %d: the linear program %w", nameOf(in, j), k, v, err)
				}
				if time > 0 {
					middles[p.Class] = append(middles[p.Class], middle{m: ends[v].add(-time), p: time})
				}
				all.addProduct(taskWeight(job, k, v), c[v])
			}
			before, c = ends, c[p.Tasks:]
		}
	}
	return all.ceil(), satisfies4(in, middles)
}

// lastArrival returns when all outputs of phase p, whose tasks end as given, have arrived; at least t.
func lastArrival(p *plan.Phase, ends []instant, t instant) instant {
	for u, end := range ends {
		if a := end.add(2 * int64(delay(p, u))); a.compare(t) > 0 {
			t = a
		}
	}
	return t
}

// A middle is the M and p of a task.
type middle struct {
	m instant
	p int64
}

// satisfies4 returns an error if (4) does not hold in some class of machines:
//
//	sum over B of p_u M_u >= p(B)^2/2m for every set B of tasks.
//
// Of all sets, the prefixes of the order of M are violated most (Fact 1).
func satisfies4(in *plan.Instance, middles [][]middle) error {
	for k, list := range middles {
		slices.SortFunc(list, func(a, b middle) int { return a.m.compare(b.m) })
		var all sum // of p_u M_u
		work := int64(0)
		for i, u := range list {
			work += u.p
			all.addInteger(u.p, u.m.whole)
			all.add(u.p, float64(u.m.part>>32)*0x1p-32)
			all.add(u.p, float64(u.m.part&math.MaxUint32)*0x1p-64)
			w := above(float64(work))
			if got, need := all.floor(), above(above(w*w)/float64(2*in.Machines[k])); got < need {
				return fmt.Errorf("class %d: the linear program violates (4) for the first %d tasks: %v < %v", k, i+1, got, need)
			}
		}
	}
	return nil
}
