package heap

import "iter"

// A Table is a list that grows by pages: no call copies more than [PageSize] elements, however long it is, and elements
// that have left the first page stay where they are. Up to one page it is a slice, and costs what a slice costs. The
// zero Table is empty.
type Table[T any] struct {
	first []T            // page 0, or what of it was needed so far
	rest  []*[PageSize]T // the other pages
	n     int            // elements; those beyond are zero
}

// PageSize is how many elements of a [Table] are in one page.
const PageSize = 4096

// Len returns the number of elements.
func (t *Table[T]) Len() int { return t.n }

// At returns the place of element i, until the table grows.
func (t *Table[T]) At(i uint32) *T {
	if uint64(i) < uint64(len(t.first)) {
		return &t.first[i]
	}
	return &t.rest[i/PageSize-1][i%PageSize]
}

// Grow appends zero elements until there are n.
func (t *Table[T]) Grow(n int) {
	if n <= t.n {
		return
	}
	t.n = n
	if have := len(t.first); have < min(n, PageSize) {
		first := make([]T, min(max(n, 2*have), PageSize))
		copy(first, t.first)
		t.first = first
	}
	for n > PageSize*(1+len(t.rest)) {
		t.rest = append(t.rest, new([PageSize]T))
	}
}

// Append adds an element at the end.
func (t *Table[T]) Append(x T) {
	t.Grow(t.n + 1)
	*t.At(uint32(t.n - 1)) = x
}

// Pop removes the last element, and returns it. There must be one.
func (t *Table[T]) Pop() (x T) {
	t.n--
	last := t.At(uint32(t.n))
	x, *last = *last, x
	return x
}

// Reset makes the table empty. It keeps page 0.
func (t *Table[T]) Reset() {
	clear(t.first)
	t.rest, t.n = nil, 0
}

// All iterates over the elements in their order. The table must not grow meanwhile.
func (t *Table[T]) All() iter.Seq2[uint32, T] {
	return func(yield func(uint32, T) bool) {
		for i := range uint32(t.n) {
			if !yield(i, *t.At(i)) {
				return
			}
		}
	}
}

// Slice returns a copy of the elements.
func (t *Table[T]) Slice() []T {
	all := make([]T, 0, t.n)
	for _, x := range t.All() {
		all = append(all, x)
	}
	return all
}

// TableOf returns a table of the given elements.
func TableOf[T any](all []T) (t Table[T]) {
	t.Grow(len(all))
	for i, x := range all {
		*t.At(uint32(i)) = x
	}
	return t
}

// Allot puts x into a table and returns its ID, which is small, so that whatever belongs to an entry
// can be kept in tables and heaps:
//
//	id := heap.Allot(&p.jobs, &p.spare, j)
//	*p.jobs.At(id) == j
//	heap.Release(&p.jobs, &p.spare, id)
//
// With the table goes the list of its free IDs. The ID is the one that became free last, or the next
// one that was never used. IDs depend only on the order of the calls: a policy that saves both goes on
// with the same ones.
func Allot[T any](table *Table[T], free *Table[uint32], x T) uint32 {
	if free.n == 0 {
		table.Append(x)
		return uint32(table.n - 1)
	}
	id := free.Pop()
	*table.At(id) = x
	return id
}

// Release sets the entry of an ID to zero and makes the ID free.
func Release[T any](table *Table[T], free *Table[uint32], id uint32) {
	var none T
	*table.At(id) = none
	free.Append(id)
}
