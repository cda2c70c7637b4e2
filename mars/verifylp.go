package mars

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// priced is a Price with its integrals.
type priced struct {
	*Price
	beyond []float64
	from   float64
}

// proves returns D(N), the bound that prices prove.
func (in *Instance) proves(prices []Price) (float64, error) {
	byClass := make([][]priced, len(in.Machines))
	latest := 0.0 // nothing is paid from here on
	sum := 0.0
	for i := range prices {
		p := &prices[i]
		if err := p.check(len(in.Machines)); err != nil {
			return 0, fmt.Errorf("price %d: %w", i, err)
		}
		from := time.Duration(p.From).Seconds()
		byClass[p.Class] = append(byClass[p.Class], priced{p, p.beyond(), from})
		if n := len(p.T); n > 0 {
			latest = max(latest, p.T[n-1])
		}
		sum -= float64(float64(in.Machines[p.Class]) * p.cost(from))
	}
	for j := range in.Jobs {
		if in.Objective == TaskCompletion {
			v, err := in.cheapestTasks(j, latest, byClass)
			if err != nil {
				return 0, err
			}
			sum += v
			continue
		}
		masses, least := in.masses(j)
		sum += in.cheapest(j, masses, least, latest, byClass)
	}
	return sum, nil
}

// cheapest returns a number that
//
//	phi(C) = w_j C + sum over u of p_u (integral of N from C - d_u on)
//
// is nowhere below for C >= least, and that is attained but for rounding.
func (in *Instance) cheapest(j int, masses [][]mass, least, latest float64, prices [][]priced) float64 {
	w := in.Jobs[j].weight()
	release := time.Duration(in.Jobs[j].Release).Seconds()
	slope := func(c float64) (value, slope float64) {
		value, slope = float64(w*c), w
		for k, list := range prices {
			for _, p := range list {
				if p.from > release {
					continue
				}
				for _, m := range masses[k] {
					n, rest := p.at(c-m.d, p.beyond)
					value += float64(m.p * rest)
					slope -= float64(m.p * n)
				}
			}
		}
		return value, slope
	}
	longest := 0.0
	for _, list := range masses {
		for _, m := range list {
			longest = max(longest, m.d)
		}
	}
	lo, hi := least, max(least, latest+longest)
	value, s := slope(lo)
	if s >= 0 {
		return value
	}
	// Between lo, where phi falls, and hi, where it rises: secants of its slope, and
	// bisections lest they creep. phi lies above its tangent at lo, up to hi.
	end := w
	for i := range 200 {
		if float64(-s*(hi-lo)) <= 1e-13*value {
			break
		}
		mid := lo + float64((hi-lo)/2)
		if i%3 != 2 {
			// A little before the root of the secant, to keep lo tight.
			if at := lo + float64((hi-lo)*float64(s/(s-end))); at > lo && at < hi {
				mid = at
			}
		}
		if mid <= lo || mid >= hi {
			break
		}
		if v, sm := slope(mid); sm <= 0 {
			lo, value, s = mid, v, sm
		} else {
			hi, end = mid, sm
		}
	}
	return value + float64(s*(hi-lo))
}

// feasible returns the value of C, and an error if it does not satisfy (1)-(4).
func (in *Instance) feasible(c []float64) (float64, error) {
	if in.Objective == TaskCompletion {
		return in.feasibleTasks(c)
	}
	if len(c) != len(in.Jobs) {
		return 0, fmt.Errorf("%d completions of the linear program for %d jobs", len(c), len(in.Jobs))
	}
	byClass := make([][]middle, len(in.Machines))
	value := 0.0
	for j := range in.Jobs {
		masses, least := in.masses(j)
		if !(c[j] >= float64(least*(1-tolerance)) && c[j] <= math.MaxFloat64) {
			return 0, fmt.Errorf("job %d: the linear program ends it at %v, before %v", j, c[j], least)
		}
		for k, list := range masses {
			for _, m := range list {
				byClass[k] = append(byClass[k], middle{c[j] - m.d, m.p, float64(rounding * c[j])})
			}
		}
		value += float64(in.Jobs[j].weight() * c[j])
	}
	return value, in.satisfies4(byClass)
}

// A middle is the M and p of a task, and by how much M may be off: what is left of a C
// after a long tail has the rounding of C.
type middle struct{ m, p, off float64 }

// rounding bounds the rounding of C and of what is taken from it, relatively.
const rounding = 1e-14

// satisfies4 returns an error if (4) does not hold: of all sets, the prefixes of the
// order of M are violated most (Fact 1 of the package documentation).
func (in *Instance) satisfies4(byClass [][]middle) error {
	for k, list := range byClass {
		slices.SortFunc(list, func(a, b middle) int {
			if a.m < b.m {
				return -1
			}
			if a.m > b.m {
				return 1
			}
			return 0
		})
		work, sum, off := 0.0, 0.0, 0.0
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

// cheapestTasks is cheapest for TaskCompletion: each task pays
//
//	w_u C_u + p_u (integral of N from M_u on).
//
// What lies between two phases is an instant: the first has ended and arrived before
// it, the second starts after it.
func (in *Instance) cheapestTasks(j int, latest float64, prices [][]priced) (float64, error) {
	job := &in.Jobs[j]
	release := time.Duration(job.Release).Seconds()
	pay := func(k, i int, m float64) (value, slope float64) {
		p, w := job.Phases[k].TimeOf(i).Seconds(), job.weightOf(k, i)
		value, slope = float64(w*(m+float64(p/2))), w
		for _, pr := range prices[job.Phases[k].Class] {
			n, rest := pr.at(m, pr.beyond)
			value += float64(p * rest)
			slope -= float64(p * n)
		}
		return value, slope
	}
	// least returns where a task pays least in [low, high].
	least := func(k, i int, low, high float64) float64 {
		if _, s := pay(k, i, low); s >= 0 || high <= low {
			return low
		}
		for range 100 {
			mid := low + float64((high-low)/2)
			if mid <= low || mid >= high {
				break
			}
			if _, s := pay(k, i, mid); s < 0 {
				low = mid
			} else {
				high = mid
			}
		}
		return high
	}
	sum := 0.0
	for k := 0; k < len(job.Phases); k++ {
		p := &job.Phases[k]
		n := 0 // tasks of the next phase, if it waits
		if k+1 < len(job.Phases) && !job.Phases[k+1].NoBarrier {
			n = job.Phases[k+1].Tasks
		}
		if p.Between != nil && n > 0 || n > 0 && k+2 < len(job.Phases) && !job.Phases[k+2].NoBarrier {
			return 0, fmt.Errorf("job %d: %w", j, ErrUnsupported)
		}
		// total returns what both phases pay with a barrier at b, and the derivative.
		end := latest + release
		for i := range p.Tasks {
			end = max(end, release+p.TimeOf(i).Seconds()+p.delayOf(i).Seconds())
		}
		end += latest
		total := func(b float64) (value, slope float64) {
			for i := range p.Tasks {
				half := float64(p.TimeOf(i).Seconds() / 2)
				high := math.Inf(1)
				if n > 0 {
					high = b - half - p.delayOf(i).Seconds()
				}
				m := least(k, i, release+half, min(high, end))
				v, s := pay(k, i, m)
				value += v
				if m >= high && s < 0 {
					slope += s
				}
			}
			for i := range n {
				low := b + float64(job.Phases[k+1].TimeOf(i).Seconds()/2)
				m := least(k+1, i, low, low+end)
				v, s := pay(k+1, i, m)
				value += v
				if m <= low {
					slope += s
				}
			}
			return value, slope
		}
		low := release
		for i := range p.Tasks {
			low = max(low, release+p.TimeOf(i).Seconds()+p.delayOf(i).Seconds())
		}
		value, slope := total(low)
		high := low + end
		for range 100 {
			if n == 0 || slope >= 0 || float64(-slope*(high-low)) <= 1e-12*value {
				break
			}
			mid := low + float64((high-low)/2)
			if mid <= low || mid >= high {
				break
			}
			if v, s := total(mid); s <= 0 {
				low, value, slope = mid, v, s
			} else {
				high = mid
			}
		}
		if n > 0 {
			if slope < 0 {
				value += float64(slope * (high - low))
			}
			k++
		}
		sum += value
	}
	return sum, nil
}

// feasibleTasks is feasible for TaskCompletion.
func (in *Instance) feasibleTasks(c []float64) (float64, error) {
	if len(c) != in.TaskCount() {
		return 0, fmt.Errorf("%d completions of the linear program for %d tasks", len(c), in.TaskCount())
	}
	byClass := make([][]middle, len(in.Machines))
	value := 0.0
	task := 0
	for j := range in.Jobs {
		job := &in.Jobs[j]
		arrives := 0.0 // what the phase before delivers
		for k := range job.Phases {
			p := &job.Phases[k]
			low := time.Duration(job.Release).Seconds()
			if !p.NoBarrier {
				low = max(low, arrives)
			}
			arrives = 0
			for i := range p.Tasks {
				time := p.TimeOf(i).Seconds()
				if start := c[task] - time; !(start >= low-float64(tolerance*c[task]) && c[task] <= math.MaxFloat64) {
					return 0, fmt.Errorf("job %d, phase %d, task %d: the linear program starts it at %v, before %v", j, k, i, start, low)
				}
				arrives = max(arrives, c[task]+p.delayOf(i).Seconds())
				byClass[p.Class] = append(byClass[p.Class], middle{c[task] - float64(time/2), time, float64(rounding * c[task])})
				value += float64(job.weightOf(k, i) * c[task])
				task++
			}
		}
	}
	return value, in.satisfies4(byClass)
}
