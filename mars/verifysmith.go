package mars

import (
	"container/heap"
	"fmt"
	"math"
	"slices"
	"time"
)

// smithSet is work of one phase with one Smith ratio.
type smithSet struct {
	release, work, left, ratio float64
}

type smithHeap []*smithSet

func (h smithHeap) Len() int           { return len(h) }
func (h smithHeap) Less(i, j int) bool { return h[i].ratio > h[j].ratio }
func (h smithHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *smithHeap) Push(x any)        { *h = append(*h, x.(*smithSet)) }
func (h *smithHeap) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// smithProves returns the bound that Smith ratios of tasks prove.
func (in *Instance) smithProves(ratios []float64) (float64, error) {
	if len(ratios) != in.TaskCount() {
		return 0, fmt.Errorf("%d Smith ratios for %d tasks", len(ratios), in.TaskCount())
	}
	sets := make([][]*smithSet, len(in.Machines))
	sum, first := 0.0, 0
	for j := range in.Jobs {
		job := &in.Jobs[j]
		n := len(job.Phases)
		spans, starts, firsts := make([]time.Duration, n), make([]time.Duration, n), make([]int, n)
		// Forwards: when each phase can start.
		for k := range n {
			p := &job.Phases[k]
			firsts[k] = first
			first += p.Tasks
			spans[k] = p.least(in.Machines[p.Class])
			starts[k] = time.Duration(job.Release)
			if k == 0 || p.NoBarrier {
				continue
			}
			before := &job.Phases[k-1]
			shortest := time.Duration(math.MaxInt64)
			for u := range before.Tasks {
				d := before.delayOf(u)
				if before.Between != nil {
					d = slices.Min(before.Between[u*p.Tasks : (u+1)*p.Tasks])
				}
				shortest = min(shortest, d)
				starts[k] = max(starts[k], starts[k-1]+before.TimeOf(u)+d)
			}
			starts[k] = max(starts[k], starts[k-1]+spans[k-1]+shortest)
		}
		// Backwards: what follows each task.
		var next []time.Duration
		var least time.Duration
		weight := job.weight()
		for k := n - 1; k >= 0; k-- {
			p := &job.Phases[k]
			follows := make([]time.Duration, p.Tasks)
			if k+1 < n && !job.Phases[k+1].NoBarrier {
				after := &job.Phases[k+1]
				all := spans[k+1] + slices.Min(next)
				longest := time.Duration(0)
				for v, f := range next {
					longest = max(longest, f+after.TimeOf(v))
				}
				for u := range follows {
					if p.Between == nil {
						follows[u] = p.delayOf(u) + max(longest, all)
						continue
					}
					row := p.Between[u*after.Tasks : (u+1)*after.Tasks]
					follows[u] = slices.Min(row) + all
					for v, d := range row {
						follows[u] = max(follows[u], d+after.TimeOf(v)+next[v])
					}
				}
			}
			least = max(least, starts[k]+spans[k]+slices.Min(follows))
			own := ratios[firsts[k]:first:first][:p.Tasks]
			order := make([]int, p.Tasks)
			for u := range order {
				order[u] = u
				least = max(least, starts[k]+p.TimeOf(u)+follows[u])
				if !(own[u] >= 0 && own[u] <= math.MaxFloat64) {
					return 0, fmt.Errorf("job %d, phase %d, task %d: Smith ratio %v", j, k, u, own[u])
				}
			}
			slices.SortFunc(order, func(a, b int) int {
				switch {
				case own[a] < own[b]:
					return -1
				case own[a] > own[b]:
					return 1
				}
				return 0
			})
			for a := 0; a < len(order); {
				b := a
				var work time.Duration
				each, shortest, equal := 0.0, time.Duration(math.MaxInt64), true
				for ; b < len(order) && own[order[b]] == own[order[a]]; b++ {
					u := order[b]
					d := p.TimeOf(u)
					work += d
					each += float64(d.Seconds() * (follows[u].Seconds() + float64(d.Seconds()*0.5)))
					shortest = min(shortest, follows[u])
					equal = equal && d == p.TimeOf(order[a])
				}
				if work > 0 {
					m := float64(in.Machines[p.Class])
					back := float64(work.Seconds()*work.Seconds()) / (2 * m)
					if equal {
						back = 0
						d := p.TimeOf(order[a]).Seconds()
						for i := 0; i < b-a; i += in.Machines[p.Class] {
							wave := min(b-a-i, in.Machines[p.Class])
							back += float64(float64(wave) * float64(d*d) * (float64(i/in.Machines[p.Class]) + 0.5))
						}
					}
					s := &smithSet{starts[k].Seconds(), work.Seconds(), work.Seconds(), own[order[a]]}
					weight -= float64(s.ratio * s.work)
					sum += float64(s.ratio * max(each, float64(s.work*shortest.Seconds())+back))
					sets[p.Class] = append(sets[p.Class], s)
				}
				a = b
			}
			next = follows
		}
		if weight < 0 {
			return 0, fmt.Errorf("job %d: the Smith ratios of its tasks take more than its weight", j)
		}
		sum += float64(weight * least.Seconds())
	}
	for k, list := range sets {
		sum += preemptive(list, float64(in.Machines[k]))
	}
	return sum, nil
}

// least returns the least time that the phase takes on m machines.
func (p *Phase) least(m int) time.Duration {
	var work, longest time.Duration
	shortest := p.TimeOf(0)
	for u := range p.Tasks {
		d := p.TimeOf(u)
		work += d
		longest, shortest = max(longest, d), min(shortest, d)
	}
	waves := time.Duration((p.Tasks + m - 1) / m)
	return max(longest, (work+time.Duration(m)-1)/time.Duration(m), waves*shortest)
}

// preemptive returns the integral of t times the ratio of the work done at t in the
// preemptive schedule by Smith's rule at a speed of m.
func preemptive(sets []*smithSet, m float64) float64 {
	slices.SortFunc(sets, func(a, b *smithSet) int {
		switch {
		case a.release < b.release:
			return -1
		case a.release > b.release:
			return 1
		}
		return 0
	})
	var open smithHeap
	sum, now, i := 0.0, 0.0, 0
	for i < len(sets) || len(open) > 0 {
		if len(open) == 0 {
			now = max(now, sets[i].release)
		}
		for i < len(sets) && sets[i].release <= now {
			heap.Push(&open, sets[i])
			i++
		}
		s := open[0]
		until := now + s.left/m
		if i < len(sets) && sets[i].release < until {
			until = sets[i].release
			done := min(s.left, float64(m*(until-now)))
			sum += float64(s.ratio * float64(done*float64((now+until)/2)))
			s.left -= done
		} else {
			sum += float64(s.ratio * float64(s.left*float64((now+until)/2)))
			heap.Pop(&open)
		}
		now = until
	}
	return sum
}
