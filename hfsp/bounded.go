package hfsp

import (
	"math"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A job may bound how many of its tasks run at a time (Parallelism). Then the start that takes the last room, and the end
// that makes room again, concern all its ready phases. So the queues of a class have the first of them only, in each
// order as many as there is room for. More of them are not given a slot, and claim none, before the next event.

// A line is the phases of a bounded job that could start something if there were room, in one order.
type line struct {
	before func(a, b *phase) bool
	show   func(ph *phase, on bool)
	shown  *heap.Heap[*phase] // the first ones, the last of them at the top
	hidden *heap.Heap[*phase] // the others, the first of them at the top
}

// settle shows the first n phases, and hides the others.
func (l *line) settle(n int) {
	for l.shown.Len() > n {
		l.move(l.shown, l.hidden, false)
	}
	for l.shown.Len() < n && l.hidden.Len() > 0 {
		l.move(l.hidden, l.shown, true)
	}
}

// move moves the phase at the top of a heap to another one.
func (l *line) move(from, to *heap.Heap[*phase], on bool) {
	ph, _ := from.MinKey()
	from.Remove(ph.place)
	to.Set(ph.place, ph)
	l.show(ph, on)
}

// add adds a phase. Settle the line afterwards.
func (l *line) add(ph *phase) {
	last, any := l.shown.MinKey()
	if on := any && l.before(ph, last); on {
		l.shown.Set(ph.place, ph)
		l.show(ph, on)
	} else {
		l.hidden.Set(ph.place, ph)
		l.show(ph, on)
	}
}

// A bound is what a class keeps of a bounded job.
type bound struct {
	class *class
	taken heap.Table[*phase] // by place
	spare heap.Table[uint32]
	lines []*line // the line of training, and those of service; nil where one was never used
}

// The line of training is the first one. In one of service, time does not change the order: all phases of it are late, or
// none is. It has one level, since the reserve may keep slots from those that are first, and early phases, which claim nothing, have
// lines of their own.
func (ph *phase) line() int {
	i := 1 + 4*ph.item.Level()
	if ph.early {
		i++
	}
	if ph.item.Late() {
		i += 2
	}
	return i
}

// bound returns what the class of a phase keeps of its job; nil if the job is not bounded.
func (ph *phase) bound() *bound {
	d := &ph.job.Data
	if !ph.job.Bounded() {
		return nil
	}
	for int(ph.class.id) >= len(d.bounds) {
		d.bounds = append(d.bounds, nil)
	}
	b := &d.bounds[ph.class.id]
	if *b == nil {
		*b = &bound{class: ph.class}
	}
	return *b
}

// enter lets a phase wait in a line.
func (b *bound) enter(ph *phase, i int) {
	if !ph.lined {
		ph.place, ph.lined = heap.Allot(&b.taken, &b.spare, ph), true
	}
	for i >= len(b.lines) {
		b.lines = append(b.lines, nil)
	}
	if b.lines[i] == nil {
		l := &line{before: (*phase).trainsBefore, show: b.class.train}
		if i > 0 {
			l.before, l.show = (*phase).before, b.class.serve
		}
		l.shown = heap.New(func(a, c *phase) bool { return l.before(c, a) }, nil)
		l.hidden = heap.New(l.before, nil)
		b.lines[i] = l
	}
	b.lines[i].add(ph)
}

// settle brings up to date which phases are shown.
func (b *bound) settle(room int) {
	if b.class.patience.any && room > 0 {
		room = math.MaxInt // any phase may be the one that is close enough
	}
	for _, l := range b.lines {
		if l != nil {
			l.settle(room)
		}
	}
}

// withdraw takes a phase out of the lines of its job, before anything changes that decides its place there. It stays in
// the queues of the class until it is filed anew.
func (ph *phase) withdraw() {
	if !ph.lined {
		return
	}
	b := ph.job.Data.bounds[ph.class.id]
	for _, l := range b.lines {
		if l != nil && !l.shown.Remove(ph.place) {
			l.hidden.Remove(ph.place)
		}
	}
	heap.Release(&b.taken, &b.spare, ph.place)
	ph.lined = false
}

// completed files a phase anew that is late from now on.
func (p *Policy) completed(it *vqueue.Item[*phase], _ sojourn.Time) {
	if ph := it.Value; ph != nil && ph.lined {
		ph.withdraw()
		p.touch(ph)
	}
}

// settle brings up to date which phases of a bounded job are shown, after an attempt has started or ended.
func (p *Policy) settle(j *job) {
	for _, b := range j.Data.bounds {
		if b != nil {
			b.settle(j.Room())
		}
	}
}
