// Package bitset keeps sets of small integers that know their least member.
//
// A set is a tree. A leaf is a bitmap of up to 4096 integers with a summary of its words. A
// node above has 64 parts and a summary of these. A part that is empty or full takes no memory
// until it changes. So the memory of a set depends on the members that were added or removed,
// and not on the size of the integers: the set of all integers below 2^31-1 takes some 4 kB.
// Adding, removing and finding members go down the levels: two for 262,144 integers, three for
// 16 million. Sets of integers below 64 are one word, without an allocation; this is enough for
// jobs of few tasks.
package bitset

import "math/bits"

// A Set is a set of non-negative integers below the greatest int. The zero Set is empty
// and ready.
type Set struct {
	n     int
	small uint64 // members below 64, while top is nil
	top   *node
}

// Full returns the set of the integers in [0, n).
func Full(n int) Set {
	var s Set
	if n <= leafSize {
		s = Sized(n)
	}
	s.AddRange(0, n)
	return s
}

// Sized returns an empty set for integers in [0, n). If n is at most 4096, adding them
// allocates nothing.
func Sized(n int) Set {
	var s Set
	if n > 64 {
		s.top = leaf((min(n, leafSize)-1)>>6 + 1)
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

// Add adds i. It allocates only if no integer near i was added or removed before.
func (s *Set) Add(i int) {
	if s.top == nil && i < 64 {
		if bit := uint64(1) << (i & 63); s.small&bit == 0 {
			s.small |= bit
			s.n++
		}
		return
	}
	if s.top == nil || i>>(s.top.shift&63) >= 64 {
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

// Remove removes i, if it is a member. It allocates only if no integer near i was added or
// removed before.
func (s *Set) Remove(i int) {
	nd := s.top
	if nd == nil {
		if s.Has(i) {
			s.small &^= 1 << (i & 63)
			s.n--
		}
		return
	}
	if i>>(nd.shift&63) >= 64 {
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
	if i>>(s.top.shift&63) >= 64 {
		return -1
	}
	return s.top.next(i)
}

// NextGap returns the least integer that is at least i and not a member. i is not
// negative. It reads each word between the two, except in parts that were never
// changed.
func (s *Set) NextGap(i int) int {
	if s.top == nil {
		if i >= 64 {
			return i
		}
		return i + bits.TrailingZeros64(^(s.small >> i)) // the zeros shifted in are no members
	}
	if i>>(s.top.shift&63) >= 64 {
		return i
	}
	if gap := s.top.nextGap(i); gap >= 0 {
		return gap
	}
	return 64 << s.top.shift
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

// RemoveFrom removes every member that is at least from.
func (s *Set) RemoveFrom(from int) { s.RemoveRange(from, s.Max()+1) }

// reach makes the tree high enough for i.
func (s *Set) reach(i int) {
	if s.top == nil {
		s.top = leaf(1)
		if s.small != 0 {
			s.top.some, s.top.words[0], s.small = 1, s.small, 0
		}
	}
	for i>>(s.top.shift&63) >= 64 {
		low := s.top
		s.top = &node{shift: low.shift + 6, branch: &branch{parts: []*node{low}}}
		if low.some != 0 {
			s.top.some = 1
		}
	}
}
