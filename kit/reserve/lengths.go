package reserve

import (
	"cmp"
	"math/bits"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// buckets is the number of buckets of lengths: half octaves of nanoseconds.
const buckets = 126

// maxLengths bounds what a Lengths counts.
const maxLengths = 1 << 32

// Bucket returns the half octave of a length of d nanoseconds: floor(2 log2 d), and 0 for less
// than one.
func Bucket(d time.Duration) uint8 {
	if d < 1 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(d), uint64(d)) // 2 log2 d = log2 d^2
	if hi > 0 {
		return uint8(63 + bits.Len64(hi))
	}
	return uint8(bits.Len64(lo) - 1)
}

// Longest returns the longest estimate among the tasks of a phase. A task without an estimate
// counts as unknown.
func Longest(ph *sojourn.Phase, unknown time.Duration) time.Duration {
	if ph.Estimates == nil {
		return cmp.Or(ph.Estimate, unknown)
	}
	longest := time.Duration(0)
	for i := range ph.Tasks {
		longest = max(longest, cmp.Or(ph.EstimateOf(i), unknown))
	}
	return longest
}

// Lengths is a histogram of the lengths of the phases that have arrived. The zero Lengths
// is empty and ready.
type Lengths struct {
	// below[b] is the number of phases in buckets below b. Invariant: it never decreases with
	// b, and the last one, which counts all phases, is below maxLengths.
	below [buckets + 1]uint64
}

// Add counts a phase. At 2^32 phases it halves all buckets, rounding down.
func (h *Lengths) Add(bucket uint8) {
	for b := int(bucket) + 1; b <= buckets; b++ {
		h.below[b]++
	}
	if h.below[buckets] < maxLengths {
		return
	}
	sum, last := uint64(0), uint64(0)
	for b := 1; b <= buckets; b++ {
		sum += (h.below[b] - last) / 2
		last, h.below[b] = h.below[b], sum
	}
}

// Rank returns the part of the phases that are shorter than those of a bucket. Phases in the
// bucket count half.
func (h *Lengths) Rank(bucket uint8) Rank {
	return Rank{h.below[bucket] + h.below[bucket+1], 2 * h.below[buckets]}
}
