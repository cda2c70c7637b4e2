package gang

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// Errors about the width of a gang.
var (
	ErrWidth   = errors.New("gang: the width is below 1")
	ErrTooWide = errors.New("gang: wider than the cluster")
)

// Widths maps widths of gangs to classes of slots. Class c is for gangs of up to Width(c) places
// that are wider than Width(c-1). The zero value has no class.
//
// Up to 256 places each width has a class. Beyond, only widths of b significant bits have one, as
// in 101100000, and the number of places itself. b is the greatest for which 256 classes are
// enough. A gang that is rounded up holds less than 1/2^(b-1) of its width more than it needs: less
// than 1/16 on up to 131,072 places.
type Widths struct {
	list []int // increasing, by class; at most sojourn.MaxClasses
}

// MakeWidths returns the classes of a cluster of so many places, which must be from 1 to
// sojourn.MaxSlots.
func MakeWidths(places int) (Widths, error) {
	if places < 1 || places > sojourn.MaxSlots {
		return Widths{}, fmt.Errorf("gang: %d places, want 1 to %d", places, sojourn.MaxSlots)
	}
	for b := bits.Len(uint(places)); ; b-- {
		var list []int
		for w := 1; w < places && len(list) < sojourn.MaxClasses; w = roundUp(w+1, b) {
			list = append(list, w)
		}
		if len(list) < sojourn.MaxClasses {
			return Widths{append(list, places)}, nil
		}
	}
}

// roundUp returns the least number of b significant bits that is not below n.
func roundUp(n, b int) int {
	low := max(0, bits.Len(uint(n))-b)
	return (n + 1<<low - 1) >> low << low
}

// Len returns the number of classes.
func (w Widths) Len() int { return len(w.list) }

// Width returns how many places a gang slot of a class takes. It is 0 if there is no such class.
func (w Widths) Width(c sojourn.Class) int {
	if int(c) >= len(w.list) {
		return 0
	}
	return w.list[c]
}

// Class returns the class of gangs of a width. The error is [ErrWidth] or wraps [ErrTooWide].
func (w Widths) Class(width int) (sojourn.Class, error) {
	if width < 1 {
		return 0, ErrWidth
	}
	c, _ := slices.BinarySearch(w.list, width)
	if c == len(w.list) {
		return 0, fmt.Errorf("%w: %d places of %d", ErrTooWide, width, w.Width(sojourn.Class(max(0, len(w.list)-1))))
	}
	return sojourn.Class(c), nil
}

// fill chooses among gangs of the given widths: it goes from the widest to the narrowest, the
// first of equals first, and takes each that fits into what is left of the free places. It
// returns the indices of those taken, the widest first.
func fill(free int, widths []int) []int {
	order := make([]int, len(widths))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return widths[b] - widths[a] })
	return slices.DeleteFunc(order, func(i int) bool {
		if widths[i] > free {
			return true
		}
		free -= widths[i]
		return false
	})
}
