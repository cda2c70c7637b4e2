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
func sortByM(list []Scanned) {
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
		return
	}
	radixSort(list)
}

// radixSort sorts by digits of the bits of M, the least significant first. The bits
// of floating-point numbers sort like the numbers once the sign bit is flipped, and
// all bits of negative numbers.
func radixSort(list []Scanned) {
	const digits, width = 6, 11
	bits := func(m float64) uint64 {
		b := math.Float64bits(m)
		if b>>63 != 0 {
			return ^b
		}
		return b | 1<<63
	}
	var counts [digits][1 << width]int32
	for i := range list {
		b := bits(list[i].M)
		for d := range digits {
			counts[d][b>>(d*width)&(1<<width-1)]++
		}
	}
	from, to := list, make([]Scanned, len(list))
	for d := range digits {
		sum := int32(0)
		one := false // all have the same digit
		for i, n := range counts[d] {
			one = one || int(n) == len(list)
			counts[d][i] = sum
			sum += n
		}
		if one {
			continue
		}
		for i := range from {
			at := &counts[d][bits(from[i].M)>>(d*width)&(1<<width-1)]
			to[*at] = from[i]
			*at++
		}
		from, to = to, from
	}
	if &from[0] != &list[0] {
		copy(list, from)
	}
}
