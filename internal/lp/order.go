package lp

import (
	"math"
	"slices"
)

// A Scanned is an item in the order of M.
type Scanned struct {
	M         float64
	Item, Job int32
}

// Order returns the indices of m in ascending order of M, ties by index.
func Order(m []float64) []int32 {
	list := make([]Scanned, len(m))
	for i, at := range m {
		list[i] = Scanned{M: at, Item: int32(i)}
	}
	sortByM(list)
	order := make([]int32, len(m))
	for i, s := range list {
		order[i] = s.Item
	}
	return order
}

// sortByM sorts by M, ties in the order they have.
func sortByM(list []Scanned) { new(sorter).sort(list).Finish() }

// The radix sort looks at so many digits of so many bits.
const digits, width = 6, 11

// A sorter sorts by M. What it needs for that is kept to be used again.
type sorter struct {
	counts *[digits][1 << width]int32 // of the items with a digit; nil as long as no list was long
	spare  []Scanned
}

// sort sorts by M, ties in the order they have. A long list is sorted by the digits of the
// bits of M, the least significant first.
func (t *sorter) sort(list []Scanned) Course {
	if len(list) < 1000 {
		slices.SortStableFunc(list, func(a, b Scanned) int {
			switch {
			case a.M < b.M:
				return -1
			case a.M > b.M:
				return 1
			}
			return 0
		})
		return nil
	}
	t.counts = new([digits][1 << width]int32)
	t.spare = slices.Grow(t.spare[:0], len(list))[:len(list)]
	from, to := list, t.spare
	parts := []func() Course{func() Course {
		return span(len(list), 4, func(a, z int) {
			for i := a; i < z; i++ {
				b := bits(list[i].M)
				for d := range digits {
					t.counts[d][b>>(d*width)&(1<<width-1)]++
				}
			}
		})
	}}
	for d := range digits {
		parts = append(parts, func() Course {
			if !t.sum(d, len(list)) {
				return nil
			}
			return span(len(list), 4, func(a, z int) {
				for i := a; i < z; i++ {
					at := &t.counts[d][bits(from[i].M)>>(d*width)&(1<<width-1)]
					to[*at] = from[i]
					*at++
				}
				if z == len(list) {
					from, to = to, from
				}
			})
		})
	}
	return inTurn(append(parts, func() Course {
		if &from[0] != &list[0] {
			copy(list, from)
		}
		return nil
	})...)
}

// sum turns the counts of a digit into the place of its first item. It reports whether the n
// items have different ones.
func (t *sorter) sum(digit, n int) bool {
	sum := int32(0)
	for i, count := range t.counts[digit] {
		if int(count) == n {
			return false
		}
		t.counts[digit][i] = sum
		sum += count
	}
	return true
}

// bits sort like the numbers: the bits of floating-point numbers do so once the sign bit is
// flipped, and all bits of negative numbers.
func bits(m float64) uint64 {
	b := math.Float64bits(m)
	if b>>63 != 0 {
		return ^b
	}
	return b | 1<<63
}
