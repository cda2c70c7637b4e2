package mars

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// This file shares no code with the solvers: it starts from the Instance and from
// the definitions, as a reader of the paper would.

// tolerance is how far floating point may be off, relatively, in what is verified.
// Starts, machines and completions are integers and are verified exactly.
const tolerance = 1e-9

// Verify checks a schedule, and the proof of its bounds, independently of how they
// were made. Of the schedule it checks that each task runs on a machine of its
// class, not before its job is released and what it waits for has arrived (1), (2);
// that no machine runs two tasks at a time; that completions and the objective are
// what they should be. Of the certificates, that the prices are prices and prove
// LowerBound and BestLowerBound, that C satisfies (1)-(4) and has the value
// UpperBoundLP, that Gap follows, and that no bound is above the objective.
//
// It takes O(n log n) for n tasks, and some seconds for a million. The error wraps
// ErrInstance or ErrSchedule and names the first thing that is wrong.
func Verify(in Instance, s *Schedule) error {
	if err := in.Check(); err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("%w: nil", ErrSchedule)
	}
	if err := verifyTimes(&in, s); err != nil {
		return fmt.Errorf("%w: %w", ErrSchedule, err)
	}
	if err := verifyBound(&in, &s.Bound); err != nil {
		return fmt.Errorf("%w: %w", ErrSchedule, err)
	}
	if best := max(s.LowerBound, s.BestLowerBound); best > float64(s.Objective*(1+tolerance)) {
		return fmt.Errorf("%w: the lower bound %v is above the objective %v", ErrSchedule, best, s.Objective)
	}
	if s.Guarantee != 0 && s.Objective > float64(float64(s.Guarantee*s.LowerBound)*(1+tolerance)) {
		return fmt.Errorf("%w: the objective %v is above the guarantee %v times the lower bound %v", ErrSchedule, s.Objective, s.Guarantee, s.LowerBound)
	}
	return nil
}

// placed is one task of an instance.
type placed struct {
	task              int
	job, phase, index int
	start, end        sojourn.Time
	machine           int32
}

// verifyTimes checks the schedule without its bounds.
func verifyTimes(in *Instance, s *Schedule) error {
	n := in.TaskCount()
	switch {
	case len(s.Start) != n || len(s.Machine) != n:
		return fmt.Errorf("%d starts and %d machines for %d tasks", len(s.Start), len(s.Machine), n)
	case len(s.Completion) != len(in.Jobs):
		return fmt.Errorf("%d completions for %d jobs", len(s.Completion), len(in.Jobs))
	}
	lowest := make([]int, len(in.Machines)+1)
	for k, m := range in.Machines {
		lowest[k+1] = lowest[k] + m
	}
	value := 0.0
	task := 0
	for j := range in.Jobs {
		job := &in.Jobs[j]
		var end sojourn.Time
		before := 0 // the first task of the phase before
		for k := range job.Phases {
			p := &job.Phases[k]
			for i := range p.Tasks {
				at := s.Start[task+i]
				place := func() string { return fmt.Sprintf("job %d, phase %d, task %d", j, k, i) }
				if at < job.Release {
					return fmt.Errorf("%s: starts at %v, before the release of its job at %v", place(), at, job.Release)
				}
				if m := int(s.Machine[task+i]); m < lowest[p.Class] || m >= lowest[p.Class+1] {
					return fmt.Errorf("%s: machine %d is not of class %d", place(), m, p.Class)
				}
				c := at.Add(p.TimeOf(i))
				if c-at != sojourn.Time(p.TimeOf(i)) {
					return fmt.Errorf("%s: starts at %v, later than can be told", place(), at)
				}
				end = max(end, c)
				if in.Objective == TaskCompletion {
					value += float64(job.weightOf(k, i) * (float64(c) / 1e9))
				}
			}
			if k > 0 && !p.NoBarrier {
				if err := verifyWaits(&job.Phases[k-1], p, s.Start[before:task], s.Start[task:task+p.Tasks]); err != nil {
					return fmt.Errorf("job %d, phase %d: %w", j, k, err)
				}
			}
			before = task
			task += p.Tasks
		}
		if s.Completion[j] != end {
			return fmt.Errorf("job %d: completion %v, want %v", j, s.Completion[j], end)
		}
		if in.Objective == JobCompletion {
			value += float64(job.weight() * (float64(end) / 1e9))
		}
	}
	if !(math.Abs(s.Objective-value) <= tolerance*value) {
		return fmt.Errorf("objective %v, want %v", s.Objective, value)
	}

	byMachine := make([]placed, 0, n)
	task = 0
	for j := range in.Jobs {
		for k := range in.Jobs[j].Phases {
			p := &in.Jobs[j].Phases[k]
			for i := range p.Tasks {
				at := s.Start[task]
				byMachine = append(byMachine, placed{task: task, job: j, phase: k, index: i, start: at, end: at.Add(p.TimeOf(i)), machine: s.Machine[task]})
				task++
			}
		}
	}
	slices.SortFunc(byMachine, func(a, b placed) int {
		return cmp.Or(cmp.Compare(a.machine, b.machine), cmp.Compare(a.start, b.start), cmp.Compare(a.end, b.end), cmp.Compare(a.task, b.task))
	})
	for i := 1; i < len(byMachine); i++ {
		if a, b := &byMachine[i-1], &byMachine[i]; a.machine == b.machine && b.start < a.end {
			return fmt.Errorf("machine %d: task %d of phase %d of job %d starts at %v, while task %d of phase %d of job %d runs until %v",
				a.machine, b.index, b.phase, b.job, b.start, a.index, a.phase, a.job, a.end)
		}
	}
	return nil
}

// verifyWaits checks (2) between two phases.
func verifyWaits(a, b *Phase, starts, waiting []sojourn.Time) error {
	if a.Between != nil {
		for u, su := range starts {
			for v, sv := range waiting {
				if arrives := su.Add(a.TimeOf(u) + a.Between[u*b.Tasks+v]); sv < arrives {
					return fmt.Errorf("task %d starts at %v, but what it waits for arrives from task %d at %v", v, sv, u, arrives)
				}
			}
		}
		return nil
	}
	var arrives sojourn.Time
	from := 0
	for u, su := range starts {
		if at := su.Add(a.TimeOf(u) + a.delayOf(u)); at > arrives {
			arrives, from = at, u
		}
	}
	for v, sv := range waiting {
		if sv < arrives {
			return fmt.Errorf("task %d starts at %v, but what it waits for arrives from task %d at %v", v, sv, from, arrives)
		}
	}
	return nil
}

// A mass is work of a job whose middle is d seconds before its end at the latest.
type mass struct{ d, p float64 }

// masses returns, for each class, the work of a job, and the least C_j (in
// seconds): the job form, from the definitions.
func (in *Instance) masses(j int) (byClass [][]mass, least float64) {
	job := &in.Jobs[j]
	byClass = make([][]mass, len(in.Machines))
	var q []time.Duration // of the phase after
	for k := len(job.Phases) - 1; k >= 0; k-- {
		p := &job.Phases[k]
		own := make([]time.Duration, p.Tasks)
		var longest time.Duration
		waited := k+1 < len(job.Phases) && !job.Phases[k+1].NoBarrier
		if waited {
			longest = slices.Max(q)
		}
		for u := range own {
			after := longest
			if waited && p.Between != nil {
				after = 0
				for v, qv := range q {
					after = max(after, p.Between[u*len(q)+v]+qv)
				}
			} else if waited {
				after += p.delayOf(u)
			}
			own[u] = p.TimeOf(u) + after
			d := own[u].Seconds() - float64(p.TimeOf(u).Seconds()/2)
			byClass[p.Class] = append(byClass[p.Class], mass{d, p.TimeOf(u).Seconds()})
		}
		if k == 0 || p.NoBarrier {
			least = max(least, time.Duration(job.Release).Seconds()+slices.Max(own).Seconds())
		}
		q = own
	}
	return byClass, least
}

// at returns N(t) and the integral of N from t on.
func (p *Price) at(t float64, beyond []float64) (value, integral float64) {
	i := sort.Search(len(p.T), func(i int) bool { return p.T[i] > t })
	switch {
	case i == len(p.T):
		return 0, 0
	case i == 0:
		return p.V[0], beyond[0] + float64(p.V[0]*(p.T[0]-t))
	}
	share := (p.T[i] - t) / (p.T[i] - p.T[i-1])
	value = p.V[i] + float64(share*(p.V[i-1]-p.V[i]))
	return value, beyond[i] + float64((p.T[i]-t)*float64((value+p.V[i])/2))
}

// beyond returns the integral of N from each point on.
func (p *Price) beyond() []float64 {
	list := make([]float64, len(p.T))
	for i := len(p.T) - 2; i >= 0; i-- {
		list[i] = list[i+1] + float64((p.T[i+1]-p.T[i])*float64((p.V[i]+p.V[i+1])/2))
	}
	return list
}

// cost returns the integral of (t-r) N(t) from r on: what a machine earns.
func (p *Price) cost(r float64) float64 {
	sum, last, value := 0.0, r, 0.0
	if len(p.T) > 0 {
		value = p.V[0]
	}
	for i, t := range p.T {
		if t > last {
			// The integrand is a product of two linear functions: Simpson's rule is exact.
			mid := float64((last + t) / 2)
			middle := float64(float64(mid-r) * float64((value+p.V[i])/2))
			sum += float64((t - last) / 6 * (float64((last-r)*value) + float64(4*middle) + float64((t-r)*p.V[i])))
			last = t
		}
		value = p.V[i]
	}
	return sum
}

// check returns what is wrong with a price by itself.
func (p *Price) check(classes int) error {
	if int(p.Class) >= classes || len(p.T) != len(p.V) {
		return fmt.Errorf("class %d, %d times and %d values", p.Class, len(p.T), len(p.V))
	}
	for i := range p.T {
		if !(p.T[i] >= 0 && p.V[i] >= 0 && p.T[i] <= math.MaxFloat64 && p.V[i] <= math.MaxFloat64) {
			return fmt.Errorf("point %d: (%v, %v)", i, p.T[i], p.V[i])
		}
		if i > 0 && (p.T[i] < p.T[i-1] || p.V[i] > p.V[i-1]) {
			return fmt.Errorf("point %d: (%v, %v) comes after (%v, %v)", i, p.T[i], p.V[i], p.T[i-1], p.V[i-1])
		}
	}
	return nil
}

// verifyBound checks certificates.
func verifyBound(in *Instance, b *Bound) error {
	if !(b.LowerBound >= 0 && b.UpperBoundLP >= 0 && b.BestLowerBound >= b.LowerBound) {
		return fmt.Errorf("bounds %v, %v and %v", b.LowerBound, b.UpperBoundLP, b.BestLowerBound)
	}
	proved, err := in.proves(b.Certificate.Prices)
	if err != nil {
		return err
	}
	if b.LowerBound > float64(proved*(1+tolerance)) {
		return fmt.Errorf("the lower bound is %v, its certificate proves %v", b.LowerBound, proved)
	}
	for _, p := range b.Certificate.Prices {
		if p.From != 0 {
			return fmt.Errorf("the certificate of the linear program has a price from %v on", p.From)
		}
	}
	if b.BestLowerBound > b.LowerBound {
		if b.Smith != nil {
			proved, err = in.smithProves(b.Smith)
		} else {
			proved, err = in.proves(b.BestCertificate)
		}
		if err != nil {
			return err
		}
		if b.BestLowerBound > float64(proved*(1+tolerance)) {
			return fmt.Errorf("the best lower bound is %v, its certificate proves %v", b.BestLowerBound, proved)
		}
	}
	value, err := in.feasible(b.Certificate.C)
	if err != nil {
		return err
	}
	if !(math.Abs(b.UpperBoundLP-value) <= tolerance*value) {
		return fmt.Errorf("the value of the linear program's point is %v, want %v", b.UpperBoundLP, value)
	}
	gap := 0.0
	if b.UpperBoundLP != b.LowerBound {
		gap = (b.UpperBoundLP - b.LowerBound) / b.LowerBound
	}
	if !(math.Abs(b.Gap-gap) <= tolerance) {
		return fmt.Errorf("gap %v, want %v", b.Gap, gap)
	}
	return nil
}
