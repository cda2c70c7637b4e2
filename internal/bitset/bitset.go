// Package bitset keeps sets of small integers that know their least member.
//
// A set is a tree: a leaf is a bitmap of up to 4096 integers with a summary of its
// words, a node above has 64 parts and a summary of these. A part that is empty or full
// takes no memory until it becomes something else, so that the memory of a set follows
// what was added to it or removed from it, and not the size of its members: the integers
// below 2^31-1 take some 4 kB. Adding, removing and finding members go down the levels: two for
// 262,144 integers, three for 16 million. Sets of integers below 64 are one word, without an
// allocation, which is what jobs of few tasks need.
package bitset

import "math/bits"

// A Set is a set of non-negative integers below the greatest int. The zero Set is empty
// and ready.
type Set struct {
	n     int
	small uint64 // members below 64, while top is nil
	top   *node
}

// A node is the tree of the integers below 64<<shift, or of those from a multiple of that
// on. Parts that are beyond the end of words or parts have no member.
type node struct {
	shift uint
	some  uint64   // parts that have a member
	full  uint64   // parts that are full, and have no node of their own; none in a leaf
	words []uint64 // the parts of a leaf
	parts []*node  // the parts of another node; nil if they are empty, as they were from the start, or full
}

const (
	leafShift = 6 // of a leaf: its parts are words
	all       = ^uint64(0)
	leafSize  = 64 << leafShift
)

// Full returns the set of the integers in [0, n).
func Full(n int) Set {
	var s Set
	s.AddRange(0, n)
	return s
}

// Sized returns an empty set to which integers in [0, n) can be added, of n up to 4096
// without an allocation.
func Sized(n int) Set {
	var s Set
	if n > 64 {
		s.top = &node{shift: leafShift, words: make([]uint64, (min(n, leafSize)-1)>>6+1)}
	}
	return s
}

// Len returns the number of members.
func (s *Set) Len() int { return s.n }

// Has reports whether i is a member.
func (s *Set) Has(i int) bool {
	if s.top == nil {
		return i < 64 && s.small&(1<<(i&63)) != 0
	}
	return s.top.has(i)
}

func (nd *node) has(i int) bool {
	if i>>nd.shift >= 64 {
		return false
	}
	for nd.shift > leafShift {
		k := i >> (nd.shift & 63) & 63
		if nd.full&(1<<(k&63)) != 0 {
			return true
		}
		if nd.some&(1<<(k&63)) == 0 {
			return false
		}
		nd = nd.parts[k]
	}
	k := i >> leafShift & 63
	return k < len(nd.words) && nd.words[k]&(1<<(i&63)) != 0
}

// Add adds i. It allocates only where no integer near i was added or removed before.
func (s *Set) Add(i int) {
	if s.top == nil && i < 64 {
		if bit := uint64(1) << (i & 63); s.small&bit == 0 {
			s.small |= bit
			s.n++
		}
		return
	}
	if s.top == nil || i>>s.top.shift >= 64 {
		s.reach(i)
	}
	nd := s.top
	for nd.shift > leafShift {
		k := i >> (nd.shift & 63) & 63
		if nd.full&(1<<(k&63)) != 0 {
			return
		}
		nd.some |= 1 << (k & 63)
		nd = nd.part(k)
	}
	k := i >> leafShift & 63
	if k >= len(nd.words) {
		nd.grow(k)
	}
	if word, bit := &nd.words[k], uint64(1)<<(i&63); *word&bit == 0 {
		*word |= bit
		nd.some |= 1 << (k & 63)
		s.n++
	}
}

// Remove removes i, if it is a member. It allocates only where no integer near i was added
// or removed before.
func (s *Set) Remove(i int) {
	nd := s.top
	if nd == nil {
		if s.Has(i) {
			s.small &^= 1 << (i & 63)
			s.n--
		}
		return
	}
	if i>>nd.shift >= 64 {
		return
	}
	for nd.shift > leafShift {
		k := i >> (nd.shift & 63) & 63
		if nd.some&(1<<(k&63)) == 0 {
			return
		}
		nd = nd.part(k)
	}
	k := i >> leafShift & 63
	if k >= len(nd.words) {
		return
	}
	word, bit := &nd.words[k], uint64(1)<<(i&63)
	if *word&bit == 0 {
		return
	}
	s.n--
	if *word &^= bit; *word == 0 {
		if nd.some &^= 1 << (k & 63); nd.some == 0 {
			s.top.prune(i)
		}
	}
}

// prune records that the leaf of i is empty.
func (nd *node) prune(i int) {
	if nd.shift == leafShift {
		return
	}
	k := i >> nd.shift & 63
	if nd.parts[k].prune(i); nd.parts[k].some == 0 {
		nd.some &^= 1 << k
	}
}

// Min returns the least member, or -1 if there is none.
func (s *Set) Min() int {
	switch {
	case s.n == 0:
		return -1
	case s.top == nil:
		return bits.TrailingZeros64(s.small)
	}
	return s.top.min()
}

// min returns the least member. There must be one.
func (nd *node) min() int {
	i := 0
	for nd.shift > leafShift {
		k := bits.TrailingZeros64(nd.some)
		i |= k << (nd.shift & 63)
		if nd.full&(1<<(k&63)) != 0 {
			return i
		}
		nd = nd.parts[k]
	}
	k := bits.TrailingZeros64(nd.some)
	return i | k<<leafShift | bits.TrailingZeros64(nd.words[k])
}

// Max returns the greatest member, or -1 if there is none.
func (s *Set) Max() int {
	switch {
	case s.n == 0:
		return -1
	case s.top == nil:
		return bits.Len64(s.small) - 1
	}
	i := 0
	for nd := s.top; ; {
		k := bits.Len64(nd.some) - 1
		i |= k << nd.shift
		switch {
		case nd.shift == leafShift:
			return i | (bits.Len64(nd.words[k]) - 1)
		case nd.full&(1<<k) != 0:
			return i | (1<<nd.shift - 1)
		}
		nd = nd.parts[k]
	}
}

// Next returns the least member that is at least i, or -1 if there is none. i is
// not negative.
func (s *Set) Next(i int) int {
	if s.top == nil {
		if i >= 64 || s.small>>i == 0 {
			return -1
		}
		return i + bits.TrailingZeros64(s.small>>i)
	}
	if i>>s.top.shift >= 64 {
		return -1
	}
	return s.top.next(i)
}

// next returns the least member from i on, which is below 64<<shift; -1 if there is none.
func (nd *node) next(i int) int {
	k := i >> nd.shift
	rest := i & (1<<nd.shift - 1) // of i, within part k
	switch {
	case nd.some&(1<<k) == 0:
	case nd.full&(1<<k) != 0:
		return i
	case nd.shift > leafShift:
		if at := nd.parts[k].next(rest); at >= 0 {
			return k<<nd.shift | at
		}
	default:
		if word := nd.words[k] >> rest; word != 0 {
			return i + bits.TrailingZeros64(word)
		}
	}
	later := nd.some &^ (1<<k | (1<<k - 1))
	if later == 0 {
		return -1
	}
	k = bits.TrailingZeros64(later)
	switch {
	case nd.full&(1<<k) != 0:
		return k << nd.shift
	case nd.shift > leafShift:
		return k<<nd.shift | nd.parts[k].min()
	}
	return k<<nd.shift | bits.TrailingZeros64(nd.words[k])
}

// NextGap returns the least integer that is at least i and no member. i is not
// negative. It reads each word between the two but those of parts that were never
// changed.
func (s *Set) NextGap(i int) int {
	if s.top == nil {
		if i >= 64 {
			return i
		}
		return i + bits.TrailingZeros64(^(s.small >> i)) // shifted in zeros are no members
	}
	if i>>s.top.shift >= 64 {
		return i
	}
	if gap := s.top.nextGap(i); gap >= 0 {
		return gap
	}
	return 64 << s.top.shift
}

// nextGap returns the least integer from i on that is below 64<<shift and no member; -1
// if there is none.
func (nd *node) nextGap(i int) int {
	for k := i >> nd.shift; k < 64; k++ {
		rest := max(i-k<<nd.shift, 0)
		switch {
		case nd.some&(1<<k) == 0:
			return k<<nd.shift | rest
		case nd.full&(1<<k) != 0:
		case nd.shift > leafShift:
			if gap := nd.parts[k].nextGap(rest); gap >= 0 {
				return k<<nd.shift | gap
			}
		default:
			if gaps := ^nd.words[k] >> rest; gaps != 0 {
				return k<<nd.shift | (rest + bits.TrailingZeros64(gaps))
			}
		}
	}
	return -1
}

// AddRange adds the integers in [from, to).
func (s *Set) AddRange(from, to int) {
	if from >= to {
		return
	}
	if s.top == nil && to <= 64 {
		s.small |= span(from, to)
		s.n = bits.OnesCount64(s.small)
		return
	}
	s.reach(to - 1)
	s.n += s.top.addRange(from, to)
}

// addRange adds the integers in [from, to), which is not empty, and returns how many of
// them were no members.
func (nd *node) addRange(from, to int) (added int) {
	for k := from >> nd.shift; k <= (to-1)>>nd.shift; k++ {
		bit := uint64(1) << k
		lo, hi := nd.within(k, from, to)
		switch {
		case nd.full&bit != 0:
			continue
		case nd.shift == leafShift:
			nd.grow(k)
			was := nd.words[k]
			nd.words[k] |= span(lo, hi)
			added += bits.OnesCount64(nd.words[k] &^ was)
		case lo == 0 && hi == 1<<nd.shift:
			added += hi - nd.count(k)
			nd.full |= bit
			nd.drop(k)
		default:
			added += nd.part(k).addRange(lo, hi)
		}
		nd.some |= bit
	}
	return added
}

// RemoveRange removes the integers in [from, to).
func (s *Set) RemoveRange(from, to int) {
	switch {
	case from >= to:
	case s.top == nil:
		if from < 64 {
			s.small &^= span(from, min(to, 64))
			s.n = bits.OnesCount64(s.small)
		}
	case from>>s.top.shift < 64:
		if (to-1)>>s.top.shift >= 64 {
			to = 64 << s.top.shift
		}
		s.n -= s.top.removeRange(from, to)
	}
}

// removeRange removes the integers in [from, to), which is not empty, and returns how many
// of them were members.
func (nd *node) removeRange(from, to int) (removed int) {
	for k := from >> nd.shift; k <= (to-1)>>nd.shift; k++ {
		bit := uint64(1) << k
		lo, hi := nd.within(k, from, to)
		switch {
		case nd.some&bit == 0:
		case nd.shift == leafShift:
			was := nd.words[k]
			if nd.words[k] &^= span(lo, hi); nd.words[k] == 0 {
				nd.some &^= bit
			}
			removed += bits.OnesCount64(was &^ nd.words[k])
		case lo == 0 && hi == 1<<nd.shift:
			removed += nd.count(k)
			nd.some &^= bit
			nd.full &^= bit
			nd.drop(k)
		default:
			part := nd.part(k)
			if removed += part.removeRange(lo, hi); part.some == 0 {
				nd.some &^= bit
			}
		}
	}
	return removed
}

// RemoveFrom removes every member that is at least from.
func (s *Set) RemoveFrom(from int) { s.RemoveRange(from, s.Max()+1) }

// within returns the part of [from, to) that lies in part k, counted from the first integer
// of that.
func (nd *node) within(k, from, to int) (lo, hi int) {
	start := k << nd.shift
	return max(from-start, 0), min(to-start, 1<<nd.shift)
}

// span returns the word of the integers in [from, to), which is not empty.
func span(from, to int) uint64 { return all << from & (all >> (64 - to)) }

// count returns the number of members of part k of a node that is no leaf.
func (nd *node) count(k int) (n int) {
	switch {
	case nd.some&(1<<k) == 0:
		return 0
	case nd.full&(1<<k) != 0:
		return 1 << nd.shift
	}
	part := nd.parts[k]
	if part.shift == leafShift {
		for _, word := range part.words {
			n += bits.OnesCount64(word)
		}
		return n
	}
	for i := range 64 {
		n += part.count(i)
	}
	return n
}

// part returns part k of a node that is no leaf, as a node that can be changed.
func (nd *node) part(k int) *node {
	if k < len(nd.parts) && nd.parts[k] != nil {
		return nd.parts[k]
	}
	return nd.newPart(k)
}

func (nd *node) newPart(k int) *node {
	nd.grow(k)
	part := &node{shift: nd.shift - 6}
	if bit := uint64(1) << k; nd.full&bit != 0 {
		nd.full &^= bit
		part.fill()
	}
	nd.parts[k] = part
	return part
}

// fill makes an empty node full.
func (nd *node) fill() {
	nd.some = all
	if nd.shift > leafShift {
		nd.full = all
		return
	}
	nd.grow(63)
	for k := range nd.words {
		nd.words[k] = all
	}
}

// drop forgets the node of part k.
func (nd *node) drop(k int) {
	if k < len(nd.parts) {
		nd.parts[k] = nil
	}
}

// grow makes room for part k, in steps that double.
func (nd *node) grow(k int) {
	if nd.shift == leafShift {
		nd.words = room(nd.words, k)
	} else {
		nd.parts = room(nd.parts, k)
	}
}

// room returns a list that has an element k, of those below 64.
func room[T any](list []T, k int) []T {
	if k < len(list) {
		return list
	}
	n := k + 1
	if len(list) > 0 {
		n = min(max(n, 2*len(list)), 64)
	}
	return append(list, make([]T, n-len(list))...)
}

// reach makes the tree high enough for i.
func (s *Set) reach(i int) {
	if s.top == nil {
		s.top = &node{shift: leafShift}
		if s.small != 0 {
			s.top.some, s.top.words = 1, []uint64{s.small}
			s.small = 0
		}
	}
	for i>>s.top.shift >= 64 {
		low := s.top
		s.top = &node{shift: low.shift + 6, parts: []*node{low}}
		if low.some != 0 {
			s.top.some = 1
		}
	}
}
