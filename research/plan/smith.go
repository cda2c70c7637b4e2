package plan

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/detmath"
	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A busyForm describes an instance to the release-aware bound (see "Jobs that
// arrive over time" in docs/theory/plan.md). It has one group for each
// phase of a job; all work of a group has one Smith ratio.
type busyForm struct {
	*flat
	c      []float64 // the least C_j
	groups []group   // of the units, in their order
	after  [][]int32 // groups of each class, by head
	heap   []int32   // of groups; kept to be used again
	left   []float64 // of the work of each group
}

// A group is the work of a phase.
type group struct {
	head  float64 // when the first task can start, in seconds
	p     float64 // work
	h     float64 // C_j is at least h after the mean of M over the work
	m     float64 // machines of the class
	pi    float64 // Smith ratio: weight per second of work
	share float64 // of the weight of the job
	busy  float64 // the mean of M over the work in the schedule by pi
	mean  float64 // the same in the mean of such schedules
}

// newBusyForm returns the groups of an instance.
func newBusyForm(f *flat) *busyForm {
	b := &busyForm{flat: f, c: make([]float64, len(f.in.Jobs)), groups: make([]group, len(f.units)), after: make([][]int32, len(f.machines)), left: make([]float64, len(f.units))}
	heads, least := f.loadedHeads()
	for j, c := range least {
		b.c[j] = lp.Seconds(c)
	}
	for i := range f.units {
		b.groups[i].head = lp.Seconds(heads[i])
		b.groups[i].m = float64(f.machines[f.units[i].class])
	}
	f.loadedTails(func(i int32, rests []int64) {
		g, u := &b.groups[i], &f.units[i]
		work, each, equal := int64(0), 0.0, true
		for t := u.first; t < u.end; t++ {
			p := f.p[t]
			work += p
			each += float64(float64(lp.Seconds(p)*lp.Seconds(2*rests[t-u.first]+p)) * 0.5)
			equal = equal && p == f.p[u.first]
		}
		if g.p = lp.Seconds(work); work == 0 {
			return
		}
		b.after[u.class] = append(b.after[u.class], i)
		back := float64(g.p/g.m) / 2 // (4), with time running backwards from the end of the phase
		if equal {
			back = float64(wavesBack(int64(u.end-u.first), int64(f.machines[u.class])) * lp.Seconds(f.p[u.first]))
		}
		g.h = max(each/g.p, lp.Seconds(slices.Min(rests))+back)
	})
	for _, list := range b.after {
		slices.SortFunc(list, func(x, y int32) int {
			return cmp.Or(cmp.Compare(heads[x], heads[y]), cmp.Compare(x, y))
		})
	}
	return b
}

// wavesBack returns the least mean time from the middle of a task to the end of
// n tasks of length 1 on m machines.
func wavesBack(n, m int64) float64 {
	full := n / m
	sum := float64(float64(m*full) * float64(full) * 0.5)
	sum += float64(float64(n-m*full) * (float64(full) + 0.5))
	return sum / float64(n)
}

// span returns the least time that the tasks of a unit take on all machines.
func (f *flat) span(i int32) int64 {
	u := &f.units[i]
	n, m := int64(u.end-u.first), int64(f.machines[u.class])
	sum := int64(0)
	for _, p := range f.p[u.first:u.end] {
		sum += p
	}
	list := f.p[u.first:u.end]
	return max(slices.Max(list), (sum+m-1)/m, (n+m-1)/m*slices.Min(list))
}

// loadedHeads returns the earliest start of the tasks of each unit, and the least
// C_j of each job, if it has all machines to itself.
func (f *flat) loadedHeads() (heads, least []int64) {
	heads, least = f.heads(), make([]int64, len(f.in.Jobs))
	for i := range f.units {
		u := &f.units[i]
		if u.waits {
			b := &f.units[i-1]
			shortest := int64(math.MaxInt64)
			for t := b.first; t < b.end; t++ {
				shortest = min(shortest, b.delay(t))
				heads[i] = max(heads[i], heads[i-1]+f.p[t]+b.delay(t))
			}
			heads[i] = max(heads[i], heads[i-1]+f.span(int32(i-1))+shortest)
		}
	}
	f.loadedTails(func(i int32, rests []int64) {
		u := &f.units[i]
		c := heads[i] + f.span(i) + slices.Min(rests)
		for n, rest := range rests {
			c = max(c, heads[i]+f.p[u.first+int32(n)]+rest)
		}
		least[u.job] = max(least[u.job], c)
	})
	return heads, least
}

// loadedTails calls visit for each unit, the last first, with the least time from
// the end of each task to the end of the job. It is like tails, except that a unit
// that waits for the task takes at least its span.
func (f *flat) loadedTails(visit func(unit int32, rests []int64)) {
	var longest, span int64 // of the unit after: the longest from a start to the end; the span and the shortest rest
	for i := int32(len(f.units) - 1); i >= 0; i-- {
		u := &f.units[i]
		n := u.end - u.first
		rests := make([]int64, n)
		if u.feeds {
			for k := range rests {
				rests[k] = u.delay(u.first+int32(k)) + max(longest, span)
			}
		}
		visit(i, rests)
		longest = 0
		for k, r := range rests {
			longest = max(longest, f.p[u.first+int32(k)]+r)
		}
		span = f.span(i) + slices.Min(rests)
	}
}

// schedule makes the preemptive schedule by pi of each class, on one machine that is
// as fast as all of the class. At any time, this machine does the released work with
// the highest pi. schedule sets busy, and returns the bound that pi proves.
func (b *busyForm) schedule() float64 {
	for i := range b.groups {
		b.left[i] = b.groups[i].p
		b.groups[i].busy = 0
	}
	for _, list := range b.after {
		b.heap = b.heap[:0]
		now := 0.0
		for k := 0; k < len(list) || len(b.heap) > 0; {
			if len(b.heap) == 0 {
				now = max(now, b.groups[list[k]].head)
			}
			for k < len(list) && b.groups[list[k]].head <= now {
				b.push(list[k])
				k++
			}
			i := b.heap[0]
			g := &b.groups[i]
			end := now + b.left[i]/g.m
			done := k == len(list) || end <= b.groups[list[k]].head
			work := b.left[i]
			if !done {
				end = b.groups[list[k]].head
				work = min(work, float64((end-now)*g.m))
			}
			g.busy += float64(float64(work/g.p) * float64(now+float64((end-now)*0.5)))
			b.left[i] -= work
			if done {
				b.pop()
			}
			now = end
		}
	}
	var plus lp.Total
	for j := range b.in.Jobs {
		w := b.in.Jobs[j].weight()
		rest := w
		for i := b.first[j]; i < b.first[j+1]; i++ {
			g := &b.groups[i]
			if g.p > 0 {
				own := float64(g.pi * g.p)
				rest -= own
				plus.Add(float64(own * (g.h + g.busy)))
			}
		}
		plus.Add(float64(rest * b.c[j]))
	}
	return lp.Below(plus.Value(), 0)
}

// before orders the heap: the highest pi first.
func (b *busyForm) before(x, y int32) bool {
	px, py := b.groups[x].pi, b.groups[y].pi
	return px > py || px == py && x < y
}

func (b *busyForm) push(i int32) {
	b.heap = append(b.heap, i)
	for k := len(b.heap) - 1; k > 0; {
		up := (k - 1) / 2
		if !b.before(b.heap[k], b.heap[up]) {
			break
		}
		b.heap[k], b.heap[up] = b.heap[up], b.heap[k]
		k = up
	}
}

func (b *busyForm) pop() {
	n := len(b.heap) - 1
	b.heap[0] = b.heap[n]
	b.heap = b.heap[:n]
	for k := 0; ; {
		down := 2*k + 1
		if down >= n {
			break
		}
		if down+1 < n && b.before(b.heap[down+1], b.heap[down]) {
			down++
		}
		if !b.before(b.heap[down], b.heap[k]) {
			break
		}
		b.heap[k], b.heap[down] = b.heap[down], b.heap[k]
		k = down
	}
}

// A busySolution is a release-aware bound.
type busySolution struct {
	lower float64
	pi    []float64 // of each unit
	c     []float64 // C_j in the mean of the schedules
	upper float64   // the value of c
}

// solve searches for the pi that prove the best bound, by Frank and Wolfe's method
// on a smooth maximum. Each job divides its weight among its groups and c_j: the
// later one ends in the mean of the schedules so far, the more weight it gets.
func (b *busyForm) solve(iterations int, gap float64) busySolution {
	s := busySolution{lower: math.Inf(-1), upper: math.Inf(1), pi: make([]float64, len(b.groups)), c: make([]float64, len(b.c))}
	look := func() {
		if v := b.schedule(); v > s.lower {
			s.lower = v
			for i := range b.groups {
				s.pi[i] = b.groups[i].pi
			}
		}
	}
	b.divideByLoad()
	look()
	for i := range b.groups {
		b.groups[i].mean = b.groups[i].busy
	}
	for k := range iterations {
		heat := busyHeat(k)
		value := 0.0
		for j := range b.in.Jobs {
			s.c[j] = b.divideByLateness(j, heat)
			value += float64(b.in.Jobs[j].weight() * s.c[j])
		}
		s.upper = min(s.upper, value)
		if s.upper-s.lower <= gap*s.lower {
			break
		}
		look()
		step := 2 / float64(k+3)
		for i := range b.groups {
			g := &b.groups[i]
			g.mean += float64(step * (g.busy - g.mean))
		}
	}
	return s
}

// shareScale keeps the shares of a job from adding up to more than its weight.
const shareScale = 1 - 1e-12

// divideByLoad divides the weight of each job among its groups by their load.
func (b *busyForm) divideByLoad() {
	for j := range b.in.Jobs {
		all := 0.0
		for i := b.first[j]; i < b.first[j+1]; i++ {
			all += b.groups[i].p / b.groups[i].m
		}
		for i := b.first[j]; i < b.first[j+1]; i++ {
			if g := &b.groups[i]; g.p > 0 {
				g.share = float64(shareScale * (g.p / g.m / all))
				g.pi = float64(g.share*b.in.Jobs[j].weight()) / g.p
			}
		}
	}
}

// divideByLateness divides the weight of job j among c_j and its groups: the later one ends
// in the mean of the schedules so far, the more weight it gets. It returns the latest of
// these ends.
func (b *busyForm) divideByLateness(j int, heat float64) float64 {
	own := b.groups[b.first[j]:b.first[j+1]]
	top := b.c[j]
	for i := range own {
		if own[i].p > 0 {
			top = max(top, own[i].h+own[i].mean)
		}
	}
	unit := float64(heat * (top - lp.Seconds(int64(b.in.Jobs[j].Release))))
	if unit <= 0 {
		return top
	}
	all := detmath.Exp((b.c[j] - top) / unit)
	for i := range own {
		if g := &own[i]; g.p > 0 {
			g.share = detmath.Exp((g.h + g.mean - top) / unit)
			all += g.share
		}
	}
	for i := range own {
		if g := &own[i]; g.p > 0 {
			g.share *= shareScale / all
			g.pi = float64(g.share*b.in.Jobs[j].weight()) / g.p
		}
	}
	return top
}

// busyHeat returns how smooth the maximum is in a step.
func busyHeat(k int) float64 { return max(0.5/math.Sqrt(float64(k+1)), 0.01) }
