package slack

import (
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// The lates are the items that are virtually complete and not really finished.
type lates[T any] struct {
	mode        vqueue.Late
	front, back *Item[T]               // in the order of their virtual completion
	service     *heap.Heap[lateKey[T]] // the items that are not drained, in the order of service
	work        num                    // sum of the real work left, in units
}

// A lateKey is the place of a late item in the order of service.
type lateKey[T any] struct {
	blocked         bool
	running, weight uint64
	seq             uint64
	it              *Item[T]
}

func newLates[T any](mode vqueue.Late) lates[T] {
	switch mode {
	case vqueue.LateDefault, vqueue.LateFirst:
		return lates[T]{mode: mode, service: heap.New(func(a, b lateKey[T]) bool { return a.seq < b.seq }, func(k lateKey[T]) (hi, lo uint64) { return k.seq, 0 })}
	case vqueue.LateShare:
		return lates[T]{mode: mode, service: heap.New(lateKey[T].lessByShare, nil)}
	}
	panic("slack: unknown order of late items")
}

func (a lateKey[T]) lessByShare(b lateKey[T]) bool {
	if a.blocked != b.blocked {
		return b.blocked
	}
	// a.running/a.weight against b.running/b.weight
	if c := wide.Mul64(a.running, b.weight).Cmp(wide.Mul64(b.running, a.weight)); c != 0 {
		return c < 0
	}
	return a.seq < b.seq
}

// insert puts an item behind all others.
func (l *lates[T]) insert(it *Item[T]) {
	it.prev, it.next = l.back, nil
	if l.back == nil {
		l.front = it
	} else {
		l.back.next = it
	}
	l.back = it
	l.work = l.work.add(work(it.work))
	l.update(it)
}

// remove removes an item that has no work left.
func (l *lates[T]) remove(it *Item[T]) {
	l.service.Remove(it.id)
	if it.prev == nil {
		l.front = it.next
	} else {
		it.prev.next = it.next
	}
	if it.next == nil {
		l.back = it.prev
	} else {
		it.next.prev = it.prev
	}
}

// update updates the place of an item in the order of service.
func (l *lates[T]) update(it *Item[T]) {
	if !it.constrains() {
		l.service.Remove(it.id)
		return
	}
	l.service.Set(it.id, lateKey[T]{it.state == Blocked, it.running, it.weight, it.seq, it})
}

// first returns the first item in the order of service that is not drained, or nil.
func (l *lates[T]) first() *Item[T] {
	k, _ := l.service.MinKey()
	return k.it
}

// firstReady returns the first item in the order of service that is ready, or nil.
func (l *lates[T]) firstReady() *Item[T] {
	if it := l.first(); it == nil || it.state == Ready {
		return it
	}
	for it := range l.all { // the first in service is blocked
		if it.state == Ready {
			return it
		}
	}
	return nil
}

// guard returns the last late item before this one that is not drained, or nil. All
// late items are before those in V. If late items share, none of them is before
// another.
func (l *lates[T]) guard(it *Item[T]) *Item[T] {
	if l.service.Len() == 0 {
		return nil
	}
	before := l.back
	if it.Late() {
		if l.mode == vqueue.LateShare {
			return nil
		}
		before = it.prev
	}
	for before != nil && !before.constrains() {
		before = before.prev
	}
	return before
}

// slack returns s of an item in units: minus the work left of it and of the items
// before it.
func (l *lates[T]) slack(it *Item[T]) (s num) {
	for ; it != nil; it = it.prev {
		s = s.sub(work(it.work))
	}
	return s
}

// all iterates over the items in the order of their virtual completion.
func (l *lates[T]) all(yield func(*Item[T]) bool) {
	for it := l.front; it != nil; it = it.next {
		if !yield(it) {
			return
		}
	}
}
