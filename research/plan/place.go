package plan

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn/internal/lp"
)

// A layout is where and when each task runs, on a flat instance.
type layout struct {
	start   []int64
	machine []int32
}

func (f *flat) newLayout() layout {
	return layout{make([]int64, len(f.p)), make([]int32, len(f.p))}
}

// objective returns the objective of a plan. It adds the terms in the order of
// jobs. Rounding is monotone, so a plan that ends each job no later than another
// has no larger sum.
func (f *flat) objective(p layout) float64 {
	sum := 0.0
	for j := range f.in.Jobs {
		job := &f.in.Jobs[j]
		end := int64(0)
		for i := f.first[j]; i < f.first[j+1]; i++ {
			u := &f.units[i]
			for t := u.first; t < u.end; t++ {
				c := p.start[t] + f.p[t]
				end = max(end, c)
				if f.in.Objective == TaskCompletion {
					sum += float64(job.weightOf(int(u.phase), int(t-u.first)) * lp.Seconds(c))
				}
			}
		}
		if f.in.Objective == JobCompletion {
			sum += float64(job.weight() * lp.Seconds(end))
		}
	}
	return sum
}

// A placer makes plans from lists of tasks. Its buffers are used again.
type placer struct {
	*flat
	left  []int32   // tasks of each unit that are not placed
	ready []int64   // when the tasks of a unit may start
	held  [][]int32 // tasks of each unit that came up before they could be placed
}

func newPlacer(f *flat) *placer {
	return &placer{flat: f, left: make([]int32, len(f.units)), ready: make([]int64, len(f.units)), held: make([][]int32, len(f.units))}
}

func (p *placer) reset() {
	for i := range p.units {
		u := &p.units[i]
		p.left[i], p.ready[i] = u.end-u.first, u.release
		p.held[i] = p.held[i][:0]
	}
}

// earliest returns when a task of an open unit may start.
func (p *placer) earliest(task int32) int64 { return p.ready[p.unit[task]] }

// open reports whether everything that unit i waits for is placed.
func (p *placer) open(i int32) bool { return !p.units[i].waits || p.left[i-1] == 0 }

// deliver reports the end of a placed task to the unit after its own, and reports
// whether that unit is open now.
func (p *placer) deliver(task int32, end int64) bool {
	i := p.unit[task]
	u := &p.units[i]
	p.left[i]--
	if !u.feeds {
		return false
	}
	p.ready[i+1] = max(p.ready[i+1], end+u.delay(task))
	return p.left[i] == 0
}

// machinesOf is a set of machines by when they are free.
type machinesOf interface {
	// take books a task of length p that may start at ready or later, and returns
	// its start.
	take(ready, p int64) (start int64, machine int32)
}

// inOrder places tasks one after the other in the order of a list, each on the
// machine and at the time that the machines of its class give. A task that comes
// before the tasks that it waits for is held back until the last of them is placed
// (Algorithm 2 with the repair of erratum 7).
func (p *placer) inOrder(order []int32, machines []machinesOf, out layout) {
	p.reset()
	for _, t := range order {
		if i := p.unit[t]; p.open(i) {
			p.place(t, machines, out)
		} else {
			p.held[i] = append(p.held[i], t)
		}
	}
}

// place places a task of an open unit, and the tasks that were held back for it.
func (p *placer) place(t int32, machines []machinesOf, out layout) {
	i := p.unit[t]
	k := p.units[i].class
	s, m := machines[k].take(p.earliest(t), p.p[t])
	out.start[t], out.machine[t] = s, m
	if p.deliver(t, s+p.p[t]) {
		for _, h := range p.held[i+1] {
			p.place(h, machines, out)
		}
	}
}

// leastFree takes the machine that is free first (Algorithm 2, line 11), the first
// of several.
type leastFree struct{ heap keys }

func newLeastFree(first, n int) *leastFree {
	l := &leastFree{make(keys, n)}
	for i := range l.heap {
		l.heap[i] = key{0, int32(first + i)}
	}
	return l
}

func (l *leastFree) take(ready, p int64) (int64, int32) {
	top := l.heap[0]
	s := max(ready, top.at)
	l.heap.replace(key{s + p, top.id})
	return s, top.id
}

// lastFree takes the machine that becomes free last among those that allow the
// earliest start: it leaves the least idle time. Start times are those of
// leastFree in the same state, and Lemma 2 holds as well.
type lastFree struct{ sorted []key }

func newBestFit(first, n int) *lastFree {
	b := &lastFree{make([]key, n)}
	for i := range b.sorted {
		b.sorted[i] = key{0, int32(first + i)}
	}
	return b
}

func (b *lastFree) take(ready, p int64) (int64, int32) {
	at, _ := slices.BinarySearchFunc(b.sorted, key{ready, math.MaxInt32}, key.compare)
	at = max(at-1, 0) // the last that is free by then, or the first of all
	id := b.sorted[at].id
	s := max(ready, b.sorted[at].at)
	moved := key{s + p, id}
	to, _ := slices.BinarySearchFunc(b.sorted[at+1:], moved, key.compare)
	copy(b.sorted[at:], b.sorted[at+1:at+1+to])
	b.sorted[at+to] = moved
	return s, id
}

// firstFit books the earliest time that fits, also before what was placed earlier.
type firstFit struct {
	gaps []gap // in the order of their starts; every machine has one without an end
}

type gap struct {
	start, end int64
	id         int32
}

func (g gap) compare(h gap) int {
	return key{g.start, g.id}.compare(key{h.start, h.id})
}

func newFirstFit(first, n int) *firstFit {
	f := &firstFit{make([]gap, n)}
	for i := range f.gaps {
		f.gaps[i] = gap{0, math.MaxInt64, int32(first + i)}
	}
	return f
}

func (f *firstFit) take(ready, p int64) (int64, int32) {
	// Among the gaps in which the task can start when it is ready, the one that
	// starts last leaves the least idle time.
	at, _ := slices.BinarySearchFunc(f.gaps, gap{start: ready, id: math.MaxInt32}, gap.compare)
	for i := at - 1; i >= 0; i-- {
		if f.gaps[i].end-ready >= p {
			return f.book(i, ready, p)
		}
	}
	for i := at; ; i++ {
		if f.gaps[i].end-f.gaps[i].start >= p {
			return f.book(i, f.gaps[i].start, p)
		}
	}
}

// book uses a part of gap i. The parts before and after it are new gaps.
func (f *firstFit) book(i int, start, p int64) (int64, int32) {
	g := f.gaps[i]
	before, after := gap{g.start, start, g.id}, gap{start + p, g.end, g.id}
	if after.start < after.end {
		to, _ := slices.BinarySearchFunc(f.gaps[i+1:], after, gap.compare)
		if before.start < before.end {
			f.gaps[i] = before
			f.gaps = slices.Insert(f.gaps, i+1+to, after)
		} else {
			copy(f.gaps[i:], f.gaps[i+1:i+1+to])
			f.gaps[i+to] = after
		}
	} else if before.start < before.end {
		f.gaps[i] = before
	} else {
		f.gaps = slices.Delete(f.gaps, i, i+1)
	}
	return start, g.id
}

// eachClass returns the machines of each class.
func eachClass[M machinesOf](f *flat, build func(first, n int) M) []machinesOf {
	list := make([]machinesOf, len(f.machines))
	for k, n := range f.machines {
		list[k] = build(f.base[k], n)
	}
	return list
}

// A key orders machines and events by time, then by number.
type key struct {
	at int64
	id int32
}

func (a key) less(b key) bool { return a.at < b.at || a.at == b.at && a.id < b.id }

func (a key) compare(b key) int {
	switch {
	case a.less(b):
		return -1
	case b.less(a):
		return 1
	}
	return 0
}

// keys is a binary min-heap. A sorted slice is one.
type keys []key

func (h *keys) push(k key) {
	*h = append(*h, k)
	s := *h
	i := len(s) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !k.less(s[up]) {
			break
		}
		s[i] = s[up]
		i = up
	}
	s[i] = k
}

func (h *keys) pop() key {
	s := *h
	top, last := s[0], s[len(s)-1]
	*h = s[:len(s)-1]
	if len(s) > 1 {
		(*h).replace(last)
	}
	return top
}

// replace puts k in the place of the least key.
func (h keys) replace(k key) {
	i := 0
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].less(h[c]) {
			c++
		}
		if !h[c].less(k) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = k
}
