package shape

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// Costs returns what a slot of each shape takes of a cluster that has total: for each resource, in
// units of 2^-32 of it, rounded to the nearest integer, but not to 0. A part of the whole is
// 2^32-1. These are the Cost of package fair. It is an error if a shape needs nothing, or more than
// there is. See there about totals that change.
func Costs(shapes []Resources, total Resources) (map[sojourn.Class][]uint32, error) {
	if err := (Options{Shapes: shapes}).Validate(); err != nil {
		return nil, err
	}
	if err := total.check(len(shapes[0])); err != nil {
		return nil, fmt.Errorf("shape: the total %w", err)
	}
	costs := make(map[sojourn.Class][]uint32, len(shapes))
	for class, s := range shapes {
		of := make([]uint32, len(s))
		for i, need := range s {
			if need > total[i] {
				return nil, fmt.Errorf("shape: Shapes[%d] needs %d of resource %d, of which there are %d", class, need, i, total[i])
			}
			of[i] = part(uint64(need), uint64(total[i]))
		}
		costs[sojourn.Class(class)] = of
	}
	return costs, nil
}

// part returns n/total in units of 2^-32, for n <= total < 2^63.
func part(n, total uint64) uint32 {
	switch n {
	case 0:
		return 0
	case total:
		return math.MaxUint32
	}
	hi, lo := bits.Mul64(n, 1<<32)
	q, rest := bits.Div64(hi, lo, total)
	if rest >= total-rest {
		q++
	}
	return uint32(min(max(q, 1), math.MaxUint32))
}

// Quantize returns at most most shapes such that each request fits into one of them, and by request
// the class of that shape. If there are no more different requests than that, they are the shapes.
// Otherwise each amount is rounded up to a grid: to so many binary digits as give few enough
// shapes, and if one digit gives too many, to powers of 4, 16, 256 and so on. So amounts are
// rounded up by less than the factor 1 + 2^-k with k+1 digits. Requests that become equal share a
// shape, which is as large as they need, resource by resource. Amounts of 0 stay 0 unless there are
// more combinations of resources than shapes; then one shape holds everything. Shapes and classes
// are in the order of the first requests.
//
// A shape may fit on no node although each of its requests does: see [Cluster.Holds].
func Quantize(requests []Resources, most int) (shapes []Resources, classes []sojourn.Class, err error) {
	if most < 1 || most > maxShapes {
		return nil, nil, fmt.Errorf("shape: %d shapes: want 1 to %d", most, maxShapes)
	}
	for i, r := range requests {
		if err := r.check(len(requests[0])); err != nil {
			return nil, nil, fmt.Errorf("shape: request %d %w", i, err)
		}
		if slices.Max(r) == 0 {
			return nil, nil, fmt.Errorf("shape: request %d needs nothing: want an amount above 0", i)
		}
	}
	for grid := finest; ; grid = grid.coarser() {
		if shapes, classes = group(requests, grid, most); len(shapes) <= most {
			return shapes, classes, nil
		}
	}
}

// A grid says how amounts are rounded. With digits above 0, it keeps so many binary digits.
// Otherwise it rounds up to powers of 2^power; with a power of 64, everything is one.
type grid struct{ digits, power int }

var finest = grid{digits: 64}

func (g grid) coarser() grid {
	switch {
	case g.digits == 64:
		return grid{digits: 8}
	case g.digits > 1:
		return grid{digits: g.digits - 1}
	}
	return grid{power: max(2*g.power, 2)}
}

// up returns the place of an amount on the grid.
func (g grid) up(n int64) uint64 {
	x := uint64(n)
	switch {
	case g.power > 64:
		return 0
	case x == 0:
		return 0
	case g.digits > 0:
		shift := max(bits.Len64(x)-g.digits, 0)
		return (x + 1<<shift - 1) >> shift << shift
	}
	return 1 + uint64((bits.Len64(x-1)+g.power-1)/g.power)
}

// group groups the requests that are at one place of the grid. It may stop after more than most.
func group(requests []Resources, g grid, most int) (shapes []Resources, classes []sojourn.Class) {
	known := make(map[string]int)
	var key []byte
	for _, r := range requests {
		key = key[:0]
		for _, n := range r {
			key = binary.BigEndian.AppendUint64(key, g.up(n))
		}
		i, ok := known[string(key)]
		if !ok {
			i = len(shapes)
			known[string(key)] = i
			shapes = append(shapes, make(Resources, len(r)))
			if len(shapes) > most {
				return shapes, nil
			}
		}
		for k, n := range r {
			shapes[i][k] = max(shapes[i][k], n)
		}
		classes = append(classes, sojourn.Class(i))
	}
	return shapes, classes
}
