// Package sfq is start-time fair queueing: the virtual time of flows side by side, and what each was charged. kit/flow and
// package fair are made of it. The rules, the bounds and their proof are in package kit/flow.
package sfq

import (
	"cmp"
	"math"
	"math/bits"

	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// The limits of weights and costs.
const (
	MaxWeight = 1<<48 - 1 // of a flow; the least weight is 1
	MaxCost   = 1<<63 - 1 // of a charge; a greater cost counts as this, and a cost of 0 as 1
)

// A Tag is an instant of virtual time: the service that a flow has had for each unit of its weight.
// It is a fraction, and exact. The zero Tag is the beginning.
type Tag struct {
	whole  wide.Uint128
	part   uint64 // below weight; 0 if the weight is 0
	weight uint64
}

// Compare returns -1, 0 or +1 as t is before, equal to or after u.
func (t Tag) Compare(u Tag) int {
	if t.whole != u.whole {
		return t.whole.Cmp(u.whole)
	}
	if t.part == 0 || u.part == 0 || t.weight == u.weight {
		return cmp.Compare(t.part, u.part)
	}
	a, b := wide.Mul64(t.part, u.weight), wide.Mul64(u.part, t.weight)
	return a.Cmp(b)
}

// Before reports whether t is before u.
func (t Tag) Before(u Tag) bool { return t.Compare(u) < 0 }

// Prefix returns two words in the order of tags, and then in that of a number that decides between
// equal tags. Tags that differ little have the same words.
func (t Tag) Prefix(then uint64) (hi, lo uint64) {
	if t.part != 0 {
		then = math.MaxUint64
	}
	return t.whole.Prefix(then)
}

// Fraction returns t as a fraction: hi*2^64 + lo + part/weight, with part below weight, or 0.
func (t Tag) Fraction() (hi, lo, part, weight uint64) {
	return t.whole.Hi, t.whole.Lo, t.part, t.weight
}

// Plus returns the tag after a flow of the tag has had so much service, which is at most [MaxCost].
func (t Tag) Plus(cost uint64) Tag {
	x := t.part + cost // below 2^48 + 2^63
	t.whole = t.whole.Add(wide.From64(x / t.weight))
	t.part = x % t.weight
	return t
}

// minus returns the tag before a flow had so much service, and the beginning if it cannot have had it.
func (t Tag) minus(cost uint64) Tag {
	if cost <= t.part {
		t.part -= cost
		return t
	}
	lack := cost - t.part
	steps := (lack + t.weight - 1) / t.weight
	if t.whole.Less(wide.From64(steps)) {
		return Tag{weight: t.weight}
	}
	t.whole = t.whole.Sub(wide.From64(steps))
	t.part = steps*t.weight - lack
	return t
}

// of returns the first tag, not before t, that a flow of a weight can have.
func (t Tag) of(weight uint64) Tag {
	if t.part == 0 || t.weight == weight {
		t.weight = weight
		return t
	}
	hi, lo := bits.Mul64(t.part, weight)
	part, rest := bits.Div64(hi, lo, t.weight) // at most weight
	if rest != 0 {
		part++
	}
	t.part, t.weight = part, weight
	if part == weight {
		t.part, t.whole = 0, t.whole.Add(wide.From64(1))
	}
	return t
}

// Weight returns the weight of the flow of the tag.
func (t Tag) Weight() uint64 { return t.weight }

// Service returns the service that brings a flow of t's weight from an earlier tag to t, rounded up.
func (t Tag) Service(from Tag) wide.Uint128 {
	if !from.Before(t) {
		return wide.Uint128{}
	}
	x := t.whole.Sub(from.whole).MulU64(t.weight).Add(wide.From64(t.part))
	if from.part == 0 {
		return x
	}
	y, _ := wide.Mul64(from.part, t.weight).QuoRem(wide.From64(from.weight)) // rounded down
	return x.Sub(y)
}

// Save writes t.
func (t Tag) Save(w *snapshot.Writer) {
	t.whole.Save(w)
	w.Uint(t.part)
	w.Uint(t.weight)
}

// RestoreTag reads what [Tag.Save] has written.
func RestoreTag(r *snapshot.Reader) Tag {
	t := Tag{whole: wide.Restore128(r), part: r.Uint(), weight: r.Below(MaxWeight + 1)}
	r.Check(t.whole.Hi < 1<<62, "a tag is out of range")
	r.Check(t.part < max(t.weight, 1), "a tag is no fraction")
	return t
}

// Cost returns the cost that counts.
func Cost(c uint64) uint64 { return min(max(c, 1), MaxCost) }
