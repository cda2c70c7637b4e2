package queue

import (
	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/ready"
)

// A filing is the [ready.Queue] of a queue, or stands in for it if keys are in groups: see [JobOrder.Group].
type filing[K any] struct {
	plain ready.Queue[K] // empty if there are groups

	less   func(a, b K) bool
	prefix func(K) (hi, lo uint64)
	group  func(K) int       // nil without groups
	groups []*heap.Groups[K] // by class; nil where the class was never used
}

func newFiling[K any](less func(a, b K) bool, prefix func(K) (hi, lo uint64), group func(K) int) filing[K] {
	return filing[K]{plain: ready.New(less, prefix), less: less, prefix: prefix, group: group}
}

// of returns what is filed for class c in groups; nil if nothing ever was.
func (f *filing[K]) of(c sojourn.Class) *heap.Groups[K] {
	if int(c) >= len(f.groups) {
		return nil
	}
	return f.groups[c]
}

// SetLevel files an item for class c at a level, or changes its key and its level.
func (f *filing[K]) SetLevel(c sojourn.Class, id uint32, level int, key K) {
	if f.group == nil {
		f.plain.SetLevel(c, id, level, key)
		return
	}
	for int(c) >= len(f.groups) {
		f.groups = append(f.groups, nil)
	}
	if f.groups[c] == nil {
		f.groups[c] = heap.NewGroups(f.less, f.prefix, f.group)
	}
	f.groups[c].Set(id, level, key)
}

// Remove removes an item from class c, if it is there.
func (f *filing[K]) Remove(c sojourn.Class, id uint32) {
	if f.group == nil {
		f.plain.Remove(c, id)
		return
	}
	f.of(c).Remove(id)
}

// Level returns the level at which an item is filed for class c; false if it is not.
func (f *filing[K]) Level(c sojourn.Class, id uint32) (int, bool) {
	if f.group == nil {
		return f.plain.Level(c, id)
	}
	return f.of(c).Level(id)
}

// move moves an item of class c to another level. The item keeps its key.
func (f *filing[K]) move(c sojourn.Class, id uint32, level int) {
	if f.group == nil {
		f.plain.Move(c, id, level)
		return
	}
	h := f.of(c)
	h.Set(id, level, h.Key(id))
}

// FirstUpTo returns the item of class c with the least key among those at most at the given
// level, with its key and its level; false if there is none.
func (f *filing[K]) FirstUpTo(c sojourn.Class, level int) (id uint32, key K, at int, ok bool) {
	if f.group == nil {
		return f.plain.FirstUpTo(c, level)
	}
	return f.of(c).MinUpTo(level)
}

// AnyUpTo reports whether anything is filed for class c at most at the given level.
func (f *filing[K]) AnyUpTo(c sojourn.Class, level int) bool {
	if f.group == nil {
		return f.plain.AnyUpTo(c, level)
	}
	return f.of(c).AnyUpTo(level)
}

// Len returns how many items are filed for class c.
func (f *filing[K]) Len(c sojourn.Class) int {
	if f.group == nil {
		return f.plain.Len(c)
	}
	return f.of(c).Len()
}
