package certify_test

import (
	"encoding/binary"
	"math"
	"math/big"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/plan"
)

// A source makes instances, prices, ratios and schedules of bytes. It is all zeros in the end.
type source struct{ bytes []byte }

func (s *source) next(n int) uint64 {
	var b [8]byte
	s.bytes = s.bytes[copy(b[:n], s.bytes):]
	return binary.LittleEndian.Uint64(b[:])
}

// below returns a number from 0 to n-1.
func (s *source) below(n int) int { return int(s.next(1)) % n }

// pick returns one of a list.
func pick[T any](s *source, list []T) T { return list[s.below(len(list))] }

// Lengths of time at the ends of what an instance may have, and others that differ from one
// another by very much.
var (
	lengths = []time.Duration{0, 1, 2, 3, 1000, 65537, time.Second, time.Second + 1, 3 * time.Second, time.Hour, 1 << 40, 1<<50 + 1, 365 * 24 * time.Hour, 1 << 58}
	short   = []time.Duration{0, 1, 2, 3, 5, 7}
	weights = []float64{0, 1, 2, 0.5, plan.MinWeight, plan.MaxWeight, 1e9, 3, 1.0 / 3, 1 << 32, 1.0 / (1 << 16), 0.1}
)

// instance returns an instance of at most five tasks.
func (s *source) instance(objective plan.Objective) plan.Instance {
	in := plan.Instance{Objective: objective}
	for range 1 + s.below(2) {
		in.Machines = append(in.Machines, 1+s.below(3))
	}
	list := pick(s, [][]time.Duration{lengths, short})
	most := 3
	if objective == plan.TaskCompletion {
		most = 2
	}
	left := 5
	for len(in.Jobs) < 3 && left > 0 {
		job := plan.Job{Weight: pick(s, weights), Release: sojourn.Time(pick(s, list)) * sojourn.Time(s.below(2))}
		for k := range 1 + s.below(most) {
			if left == 0 {
				break
			}
			p := plan.Phase{Tasks: 1 + s.below(min(3, left)), Class: sojourn.Class(s.below(len(in.Machines))), NoBarrier: k > 0 && s.below(5) == 0}
			left -= p.Tasks
			if p.Time = pick(s, list); s.below(2) == 0 {
				p.Times = s.times(p.Tasks, list)
			}
			for objective == plan.TaskCompletion && len(p.Weights) < p.Tasks {
				p.Weights = append(p.Weights, pick(s, weights))
			}
			job.Phases = append(job.Phases, p)
		}
		for k := range job.Phases {
			if p := &job.Phases[k]; s.below(2) == 0 {
				p.Delays = s.times(p.Tasks, list)
			}
		}
		in.Jobs = append(in.Jobs, job)
	}
	return in
}

func (s *source) times(n int, list []time.Duration) []time.Duration {
	times := make([]time.Duration, n)
	for i := range times {
		times[i] = pick(s, list)
	}
	return times
}

// instants returns instants in seconds at which something may happen, and others beside them.
func instants(in *plan.Instance) []float64 {
	list := []float64{0, 1e-20, 5e-10, 1e-9, 1e-10}
	for j := range in.Jobs {
		r := time.Duration(in.Jobs[j].Release).Seconds()
		for k := range in.Jobs[j].Phases {
			for u := range in.Jobs[j].Phases[k].Tasks {
				x := in.Jobs[j].Phases[k].TimeOf(u).Seconds()
				for _, y := range []float64{x, x / 2, r, r + x/2, r + x} {
					list = append(list, y, math.Nextafter(y, math.Inf(1)), y+1e-10)
				}
			}
		}
	}
	return list
}

// number returns any number that is at least 0, or one of 10^-15 to 10^24.
func (s *source) number() float64 {
	if s.below(8) == 0 {
		if x := math.Abs(math.Float64frombits(s.next(8))); x <= math.MaxFloat64 {
			return x
		}
	}
	return math.Pow(10, float64(s.below(40)-15))
}

// prices returns prices of some classes.
func (s *source) prices(in *plan.Instance, at []float64) []plan.Price {
	var list []plan.Price
	for k := range in.Machines {
		for range s.below(3) {
			p := plan.Price{Class: sojourn.Class(k)}
			if s.below(3) == 0 {
				p.From = pick(s, in.Jobs).Release
			}
			for range 1 + s.below(3) {
				t := at[int(s.next(2))%len(at)]
				if s.below(8) == 0 {
					t = s.number()
				}
				p.T, p.V = append(p.T, t+time.Duration(p.From).Seconds()), append(p.V, s.number())
			}
			slices.Sort(p.T)
			slices.Sort(p.V)
			slices.Reverse(p.V)
			list = append(list, p)
		}
	}
	return list
}

// ratios returns Smith ratios that take about the weight of each job, or a part.
func (s *source) ratios(in *plan.Instance) []float64 {
	var list []float64
	for j := range in.Jobs {
		job := &in.Jobs[j]
		first, work := len(list), 0.0
		for k := range job.Phases {
			for u := range job.Phases[k].Tasks {
				pi := s.number()
				if p := job.Phases[k].TimeOf(u).Seconds(); p > 0 {
					pi = float64(s.below(4)) / p
					work += pi * p
				}
				list = append(list, pi)
			}
		}
		part := pick(s, []float64{1, 1, 1 - 1e-15, 1 + 1e-15, 0.5}) * weightOf(job.Weight) / max(work, 1)
		for k, u := 0, first; k < len(job.Phases); k++ {
			for i := range job.Phases[k].Tasks {
				if job.Phases[k].TimeOf(i) > 0 {
					list[u] *= part
				}
				u++
			}
		}
	}
	return list
}

// weightOf returns the weight of a job: 0 means 1.
func weightOf(w float64) float64 {
	if w == 0 {
		return 1
	}
	return w
}

// A placing is a task while schedules are enumerated.
type placing struct {
	job, phase, index int
	weight            float64
	start, end        int64
	machine           int32
	done              bool
}

// An enumeration looks at all schedules that start each task as early as the order of tasks and
// their machines allow. One of them is the best: any schedule can be moved to the left.
type enumeration struct {
	in    *plan.Instance
	tasks []placing
	free  [][]int64 // of each class, when its machines are free
	least float64
	best  big.Float // 1e9 times the objective of the best, exactly
	found []placing
}

// optimum returns the best schedule of an instance.
func optimum(in *plan.Instance) *enumeration {
	e := &enumeration{in: in, least: math.Inf(1)}
	for j := range in.Jobs {
		job := &in.Jobs[j]
		for k := range job.Phases {
			for u := range job.Phases[k].Tasks {
				w := 0.0
				if in.Objective == plan.TaskCompletion {
					if w = weightOf(job.Weight); job.Phases[k].Weights != nil {
						w = job.Phases[k].Weights[u]
					}
				}
				e.tasks = append(e.tasks, placing{job: j, phase: k, index: u, weight: w})
			}
		}
	}
	for _, m := range in.Machines {
		e.free = append(e.free, make([]int64, min(m, len(e.tasks))))
	}
	e.place(len(e.tasks))
	return e
}

// place places the tasks that are left in all ways.
func (e *enumeration) place(left int) {
	if left == 0 {
		e.weigh()
		return
	}
	for i := range e.tasks {
		t := &e.tasks[i]
		ready, ok := e.ready(t)
		if t.done || !ok {
			continue
		}
		p := &e.in.Jobs[t.job].Phases[t.phase]
		base := int32(0)
		for _, m := range e.in.Machines[:p.Class] {
			base += int32(m)
		}
		free := e.free[p.Class]
		for m, old := range free {
			if slices.Contains(free[:m], old) {
				continue
			}
			t.start, t.machine, t.done = max(ready, old), base+int32(m), true
			t.end = t.start + int64(p.TimeOf(t.index))
			free[m] = t.end
			e.place(left - 1)
			free[m], t.done = old, false
		}
	}
}

// ready returns when a task may start, and whether the tasks that it waits for are placed.
func (e *enumeration) ready(t *placing) (int64, bool) {
	job := &e.in.Jobs[t.job]
	at := int64(job.Release)
	if t.phase == 0 || job.Phases[t.phase].NoBarrier {
		return at, true
	}
	for _, u := range e.tasks {
		if u.job != t.job || u.phase != t.phase-1 {
			continue
		}
		if !u.done {
			return 0, false
		}
		d := time.Duration(0)
		if p := &job.Phases[u.phase]; p.Delays != nil {
			d = p.Delays[u.index]
		}
		at = max(at, u.end+int64(d))
	}
	return at, true
}

// weigh compares the schedule with the best so far.
func (e *enumeration) weigh() {
	value, ends := 0.0, make([]int64, len(e.in.Jobs))
	for _, t := range e.tasks {
		ends[t.job] = max(ends[t.job], t.end)
		value += t.weight * float64(t.end)
	}
	jobs := e.in.Objective == plan.JobCompletion
	for j, end := range ends {
		if jobs {
			value += weightOf(e.in.Jobs[j].Weight) * float64(end)
		}
	}
	if value > e.least*(1+1e-12) {
		return
	}
	all := exactly(0)
	for _, t := range e.tasks {
		all.Add(all, exactly(t.weight, float64(t.end>>32)*(1<<32)))
		all.Add(all, exactly(t.weight, float64(t.end&math.MaxUint32)))
	}
	for j, end := range ends {
		if jobs {
			all.Add(all, exactly(weightOf(e.in.Jobs[j].Weight), float64(end>>32)*(1<<32)))
			all.Add(all, exactly(weightOf(e.in.Jobs[j].Weight), float64(end&math.MaxUint32)))
		}
	}
	if e.found == nil || all.Cmp(&e.best) < 0 {
		e.least = min(e.least, value)
		e.best.Set(all)
		e.found = slices.Clone(e.tasks)
	}
}

// exactly returns the product of some numbers.
func exactly(list ...float64) *big.Float {
	all := new(big.Float).SetPrec(2048).SetInt64(1)
	for _, x := range list {
		all.Mul(all, new(big.Float).SetFloat64(x))
	}
	return all
}

// refutes reports whether a bound is above the optimum.
func (e *enumeration) refutes(bound float64) bool { return exactly(bound, 1e9).Cmp(&e.best) > 0 }
