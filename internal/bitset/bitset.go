// Package bitset keeps sets of small integers that know their least member.
//
// A set has a window of 64 integers, whose members are one word in the set itself. When all or none of them
// are members, the window moves to the next change. So whoever adds or removes integers in order, or nearly
// so, seldom reads anything else: the tasks of a job start and finish like this.
//
// All other members are in a tree. A leaf is a bitmap of up to 4096 integers with a summary of its words. A
// node above has 64 parts and a summary of these. A part that is empty or full takes no memory
// until it changes. So the memory of a set depends on the members that were added or removed,
// and not on the size of the integers: the set of all integers below 2^31-1 takes some 4 kB.
// To move the window goes down the levels: two for 262,144 integers, three for
// 16 million. A set of integers below 64 has no tree; this is enough for jobs of few tasks.
package bitset

import "math/bits"

// A Set is a set of non-negative integers below 2^31-1. The zero Set is empty
// and ready.
type Set struct {
	n      int32
	window window
	near   uint64 // the members in the window
	top    *node  // those outside the window; nil until there is an integer above 63
}

// A window is twice the number of the word of 64 integers that it is. It is one more if there may be
// members below it.
type window uint32

// nowhere is a window in which no integer is. All members are in the tree.
const nowhere = window(1<<31/64)<<1 | 1

func (w window) word() int { return int(w >> 1) }

// over reports whether i is in the window.
func (w window) over(i int) bool { return uint(i)>>6 == uint(w>>1) }

// lowest reports whether no member is below the window.
func (w window) lowest() bool { return w&1 == 0 }

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
func (s *Set) Len() int { return int(s.n) }

// Has reports whether i is a member.
func (s *Set) Has(i int) bool {
	if s.window.over(i) {
		return s.near&(1<<(i&63)) != 0
	}
	return s.top != nil && s.top.has(i)
}

// Add adds i. It allocates only if no integer near the latest ones was added or removed before.
func (s *Set) Add(i int) {
	if !s.window.over(i) {
		if s.top == nil || i>>(s.top.shift&63) >= 64 {
			s.reach(i)
		}
		if s.near != 0 && s.near != all {
			s.addFar(i)
			return
		}
		s.move(i)
	}
	if bit := uint64(1) << (i & 63); s.near&bit == 0 {
		s.near |= bit
		s.n++
	}
}

// addFar adds i, which is outside the window, to the tree.
func (s *Set) addFar(i int) {
	if s.top.add(i) {
		s.n++
	}
	if i>>6 < s.window.word() {
		s.window |= 1
	}
}

// Remove removes i, if it is a member. It allocates only if no integer near the latest ones was added or
// removed before.
func (s *Set) Remove(i int) {
	if !s.window.over(i) {
		if s.top == nil || i>>(s.top.shift&63) >= 64 {
			return
		}
		if s.near != 0 {
			if s.top.remove(i) {
				s.n--
			}
			return
		}
		s.move(i)
	}
	if bit := uint64(1) << (i & 63); s.near&bit != 0 {
		s.near &^= bit
		s.n--
	}
}

// move makes the window that of i. The tree must reach i.
func (s *Set) move(i int) {
	was, to := s.window, window(i>>6)<<1
	far := s.far()
	if s.near != 0 {
		s.top.put(was.word(), s.near)
	}
	s.near = 0
	if far {
		s.near = s.top.take(i)
	}
	switch s.window = to; {
	case !s.far() || to < was && was.lowest():
	case to < was && was != nowhere || s.top.min() < i:
		s.window++
	}
}

// far reports whether the tree has members.
func (s *Set) far() bool { return int(s.n) > bits.OnesCount64(s.near) }

// leave puts the members in the window into the tree.
func (s *Set) leave() {
	if s.near != 0 {
		s.top.put(s.window.word(), s.near)
	}
	s.near, s.window = 0, nowhere
}

// Min returns the least member, or -1 if there is none.
func (s *Set) Min() int {
	switch {
	case s.n == 0:
		return -1
	case s.near == 0:
		return s.top.min()
	}
	least := s.window.word()<<6 | bits.TrailingZeros64(s.near)
	if s.window.lowest() || !s.far() {
		return least
	}
	return min(least, s.top.min())
}

// Max returns the greatest member, or -1 if there is none.
func (s *Set) Max() int {
	greatest := -1
	if s.near != 0 {
		greatest = s.window.word()<<6 | (bits.Len64(s.near) - 1)
	}
	if s.far() {
		greatest = max(greatest, s.top.max())
	}
	return greatest
}

// Next returns the least member that is at least i, or -1 if there is none. i is
// not negative.
func (s *Set) Next(i int) int {
	far := -1
	if s.top != nil && i>>(s.top.shift&63) < 64 {
		far = s.top.next(i)
	}
	start := s.window.word() << 6
	if i >= start+64 {
		return far
	}
	rest := s.near >> max(i-start, 0) << max(i-start, 0)
	if near := start | bits.TrailingZeros64(rest); rest != 0 && (far < 0 || near < far) {
		return near
	}
	return far
}

// NextGap returns the least integer that is at least i and not a member. i is not
// negative. It reads each word between the two, except in parts that were never
// changed.
func (s *Set) NextGap(i int) int {
	gap := s.farGap(i)
	if !s.window.over(gap) {
		return gap
	}
	if rest := ^s.near >> (gap & 63); rest != 0 {
		return gap + bits.TrailingZeros64(rest)
	}
	return s.farGap(gap | 63 + 1)
}

// farGap returns the least integer that is at least i and not in the tree.
func (s *Set) farGap(i int) int {
	if s.top == nil || i>>(s.top.shift&63) >= 64 {
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
		s.near |= span(from, to)
		s.n = int32(bits.OnesCount64(s.near))
		return
	}
	s.reach(to - 1)
	s.leave()
	s.n += int32(s.top.addRange(from, to))
}

// RemoveRange removes the integers in [from, to).
func (s *Set) RemoveRange(from, to int) {
	switch {
	case from >= to:
	case s.top == nil:
		if from < 64 {
			s.near &^= span(from, min(to, 64))
			s.n = int32(bits.OnesCount64(s.near))
		}
	case from>>s.top.shift < 64:
		if (to-1)>>s.top.shift >= 64 {
			to = 64 << s.top.shift
		}
		s.leave()
		s.n -= int32(s.top.removeRange(from, to))
	}
}

// RemoveFrom removes every member that is at least from.
func (s *Set) RemoveFrom(from int) { s.RemoveRange(from, s.Max()+1) }

// reach makes the tree high enough for i.
func (s *Set) reach(i int) {
	if s.top == nil {
		s.top = leaf(1)
	}
	for i>>(s.top.shift&63) >= 64 {
		low := s.top
		s.top = &node{shift: low.shift + 6, branch: &branch{parts: []*node{low}}}
		if low.some != 0 {
			s.top.some = 1
		}
	}
}
