package rtmr

import (
	"fmt"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/slotvec"
)

// mebibyte is the unit of data in rates.
const mebibyte = 1 << 20

// ratioUnit is the resolution of eta and of the skew. They are rounded up once to a
// multiple of 2^-16, and are integers from then on.
const ratioUnit = 1 << 16

// An estimator bounds the times of tasks by the sizes of their inputs (Section
// IV-A). The paper takes a pure rate c: eps = c * max delta. Here a task takes
// startUp + c * delta. So tiny tasks, whose time is all start-up, do not raise the
// rate, and there is no division by empty inputs.
type estimator struct {
	rate    [2]int64 // c_m^max and c_r^max, in nanoseconds a MiB; 0 if unknown
	startUp int64    // nanoseconds
	ratio   int64    // eta, in 2^-16; 0 if unknown
}

func newEstimator(o *Options) estimator {
	return estimator{
		rate:    [2]int64{int64(o.MapRate), int64(o.ReduceRate)},
		startUp: int64(o.StartUp),
		ratio:   units(o.Ratio),
	}
}

// units returns x rounded up to a multiple of 2^-16, in that unit.
func units(x float64) int64 { return int64(math.Ceil(x * ratioUnit)) }

// bound returns the longest time that a task of a phase takes, at least 1 ns. It
// follows from the description, or otherwise from the size of the input. bound
// returns 0 if nothing is known.
func (e *estimator) bound(job *sojourn.Job, phase int, skew int64) int64 {
	p := &job.Phases[phase]
	most, unknown := p.Estimate, p.Estimate == 0
	if p.Estimates != nil {
		most, unknown = 0, false
		for i := range p.Estimates {
			d := p.EstimateOf(i)
			most, unknown = max(most, d), unknown || d == 0
		}
	}
	if !unknown {
		return int64(most)
	}
	stage := stageOf(p)
	size, ok := e.largestInput(job, phase, skew)
	if !ok || e.rate[stage] == 0 {
		return 0
	}
	return max(1, slotvec.Add(e.startUp, mulDiv(size, e.rate[stage], mebibyte)))
}

// largestInput returns the size of the largest input of a task of a phase (max
// delta_i); false if it is unknown. Without sizes, a reduce task may get all of the
// intermediate data, which is eta times the input. With a skew factor it gets at most
// this factor times its even share. eta*delta/R itself is not a bound.
func (e *estimator) largestInput(job *sojourn.Job, phase int, skew int64) (int64, bool) {
	p := &job.Phases[phase]
	if p.Bytes != nil {
		most := int64(0)
		for _, b := range p.Bytes {
			most = max(most, b)
		}
		return most, true
	}
	if phase == 0 || e.ratio == 0 || job.Phases[0].Bytes == nil {
		return 0, false
	}
	all := mulDiv(total(job.Phases[0].Bytes), e.ratio, ratioUnit)
	if skew > 0 {
		all = min(all, mulDiv(mulDiv(all, skew, ratioUnit), 1, int64(p.Tasks)))
	}
	return all, true
}

// learn learns from the measured service time of a finished task.
func (e *estimator) learn(job *sojourn.Job, task sojourn.TaskID, service time.Duration) {
	p := &job.Phases[task.Phase]
	if p.Bytes == nil || service <= 0 {
		return
	}
	size, t := p.Bytes[task.Index], int64(service)
	if size == 0 {
		e.startUp = max(e.startUp, t) // all of it is start-up
		return
	}
	s := stageOf(p)
	e.rate[s] = max(e.rate[s], mulDiv(max(0, t-e.startUp), mebibyte, size))
	if task.Phase == 1 && job.Phases[0].Bytes != nil {
		if in := total(job.Phases[0].Bytes); in > 0 {
			e.ratio = max(e.ratio, mulDiv(total(p.Bytes), ratioUnit, in))
		}
	}
}

func total(bytes []int64) (sum int64) {
	for _, b := range bytes {
		sum = slotvec.Add(sum, b)
	}
	return sum
}

// mulDiv returns x*y/z, rounded up, at most slotvec.Never.
func mulDiv(x, y, z int64) int64 {
	q, r := wide.Mul64(uint64(x), uint64(y)).QuoRem(wide.From64(uint64(z)))
	if q.Hi > 0 || q.Lo >= slotvec.Never {
		return slotvec.Never
	}
	if !r.IsZero() {
		q.Lo++
	}
	return int64(q.Lo)
}

// stageOf returns the stage of a phase of a supported job.
func stageOf(p *sojourn.Phase) int { return int(p.Class) }

// shape returns the phase of each stage of a job, -1 if it has none, and the bounds
// on the times of its tasks, with the pad. The error wraps ErrUnsupported.
func (p *Policy) shape(job *sojourn.Job) (phase [2]int, eps [2]int64, err error) {
	bad := func(format string, args ...any) ([2]int, [2]int64, error) {
		return phase, eps, fmt.Errorf("%w: %s", sojourn.ErrUnsupported, fmt.Sprintf(format, args...))
	}
	phase = [2]int{-1, -1}
	if n := len(job.Phases); n > 2 {
		return bad("%d phases, and a deadline can be guaranteed for a map and a reduce phase", n)
	}
	for i := range job.Phases {
		ph := &job.Phases[i]
		switch {
		case ph.Class != sojourn.MapClass && ph.Class != sojourn.ReduceClass:
			return bad("phase %d is of class %d, neither map nor reduce", i, ph.Class)
		case i == 1 && ph.Class == job.Phases[0].Class:
			return bad("both phases are of class %d: on shared slots nothing is guaranteed", ph.Class)
		case i == 1 && ph.Class == sojourn.MapClass:
			return bad("the map phase comes after the reduce phase")
		case i == 1 && job.Threshold(1) != job.Phases[0].Tasks:
			return bad("phase 1 may start before phase 0 ends (after %d), and would hold slots for longer than it works", ph.After)
		}
		stage := stageOf(ph)
		phase[stage] = i
		eps[stage] = p.est.bound(job, i, p.skew)
		if eps[stage] == 0 {
			return bad("phase %d has a task without an estimate", i)
		}
		eps[stage] = slotvec.Add(eps[stage], int64(p.opts.Latency))
	}
	return phase, eps, nil
}
