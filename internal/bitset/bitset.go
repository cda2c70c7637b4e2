// Package bitset keeps sets of small integers that know their least member.
//
// A set is a bitmap with a summary bitmap over its words, a summary over that
// one, and so on until one word is left. Adding and removing touch one word a
// level while words become or stop being empty, and Min reads one word a level:
// four levels for 16 million. Sets of integers below 64 are one word without a
// summary and without an allocation, which is what jobs of few tasks need.
package bitset

import "math/bits"

// A Set is a set of non-negative integers. The zero Set is empty and ready.
type Set struct {
	n     int
	small uint64 // members below 64, while levels is nil

	// levels[0] is the bitmap. Bit i of levels[k+1] is set if and only if word i of
	// levels[k] is not zero. The last level has one word.
	levels [][]uint64
}

// Full returns the set of the integers in [0, n).
func Full(n int) Set {
	var s Set
	s.AddRange(0, n)
	return s
}

// Sized returns an empty set that holds integers in [0, n) without allocating.
func Sized(n int) Set {
	var s Set
	if n > 64 {
		s.spill()
		s.grow(n)
	}
	return s
}

// Len returns the number of members.
func (s *Set) Len() int { return s.n }

// Has reports whether i is a member.
func (s *Set) Has(i int) bool {
	if s.levels == nil {
		return i < 64 && s.small&(1<<i) != 0
	}
	w := i >> 6
	return w < len(s.levels[0]) && s.levels[0][w]&(1<<(i&63)) != 0
}

// Add adds i. It allocates only if i is beyond every integer that the set has
// ever held.
func (s *Set) Add(i int) {
	if s.Has(i) {
		return
	}
	s.n++
	if s.levels == nil {
		if i < 64 {
			s.small |= 1 << i
			return
		}
		s.spill()
	}
	s.grow(i + 1)
	for k := range s.levels {
		w := i >> 6
		was := s.levels[k][w]
		s.levels[k][w] = was | 1<<(i&63)
		if was != 0 {
			return
		}
		i = w
	}
}

// Remove removes i, if it is a member.
func (s *Set) Remove(i int) {
	if !s.Has(i) {
		return
	}
	s.n--
	if s.levels == nil {
		s.small &^= 1 << i
		return
	}
	for k := range s.levels {
		w := i >> 6
		s.levels[k][w] &^= 1 << (i & 63)
		if s.levels[k][w] != 0 {
			return
		}
		i = w
	}
}

// Min returns the least member, or -1 if there is none.
func (s *Set) Min() int {
	if s.levels == nil {
		if s.small == 0 {
			return -1
		}
		return bits.TrailingZeros64(s.small)
	}
	if s.n == 0 {
		return -1
	}
	w := 0
	for k := len(s.levels) - 1; k >= 0; k-- {
		w = w<<6 | bits.TrailingZeros64(s.levels[k][w])
	}
	return w
}

// Next returns the least member that is at least i, or -1 if there is none. i is
// not negative.
func (s *Set) Next(i int) int {
	if s.levels == nil {
		if i >= 64 || s.small>>i == 0 {
			return -1
		}
		return i + bits.TrailingZeros64(s.small>>i)
	}
	for k := range s.levels { // up, until a word has a member after what is known to be empty
		w := i >> 6
		if w >= len(s.levels[k]) {
			return -1
		}
		if rest := s.levels[k][w] >> (i & 63); rest != 0 {
			i += bits.TrailingZeros64(rest)
			for ; k > 0; k-- {
				i = i<<6 | bits.TrailingZeros64(s.levels[k-1][i])
			}
			return i
		}
		i = w + 1
	}
	return -1
}

// NextGap returns the least integer that is at least i and no member. i is not
// negative. It reads each word between the two.
func (s *Set) NextGap(i int) int {
	if s.levels == nil {
		if i >= 64 {
			return i
		}
		return i + bits.TrailingZeros64(^(s.small >> i)) // shifted in zeros are no members
	}
	for w := i >> 6; w < len(s.levels[0]); w++ {
		if gaps := ^s.levels[0][w] >> (i & 63); gaps != 0 {
			return i + bits.TrailingZeros64(gaps)
		}
		i = (w + 1) << 6
	}
	return i
}

// Max returns the greatest member, or -1 if there is none.
func (s *Set) Max() int {
	if s.levels == nil {
		return bits.Len64(s.small) - 1
	}
	if s.n == 0 {
		return -1
	}
	w := 0
	for k := len(s.levels) - 1; k >= 0; k-- {
		w = w<<6 | (bits.Len64(s.levels[k][w]) - 1)
	}
	return w
}

// AddRange adds the integers in [from, to).
func (s *Set) AddRange(from, to int) {
	if from >= to {
		return
	}
	if s.levels == nil && to <= 64 {
		add := ^uint64(0) << from & (^uint64(0) >> (64 - to))
		s.small |= add
		s.n = bits.OnesCount64(s.small)
		return
	}
	s.spill()
	s.grow(to)
	for from < to {
		w := from >> 6
		end := from + min(to-from, 64-from&63)
		add := ^uint64(0) << (from & 63) & (^uint64(0) >> ((64 - end&63) & 63))
		was := s.levels[0][w]
		s.levels[0][w] = was | add
		s.n += bits.OnesCount64(add &^ was)
		if was == 0 {
			for k, i := 1, w; k < len(s.levels); k++ {
				s.levels[k][i>>6] |= 1 << (i & 63)
				i >>= 6
			}
		}
		from = end
	}
}

// RemoveRange removes the integers in [from, to).
func (s *Set) RemoveRange(from, to int) {
	for m := s.Next(from); m >= 0 && m < to; m = s.Next(m + 1) {
		s.Remove(m)
	}
}

// RemoveFrom removes every member that is at least from.
func (s *Set) RemoveFrom(from int) {
	for m := s.Max(); m >= from; m = s.Max() {
		s.Remove(m)
	}
}

// spill moves the small word into a bitmap.
func (s *Set) spill() {
	if s.levels == nil {
		s.levels = [][]uint64{{s.small}}
		s.small = 0
	}
}

// grow makes room for the integers below n, in steps that double.
func (s *Set) grow(n int) {
	words := (n-1)>>6 + 1 // n + 63 may be beyond an int of 32 bits
	if words <= len(s.levels[0]) {
		return
	}
	if len(s.levels[0]) > 1 {
		words = max(words, 2*len(s.levels[0]))
	}
	for k := 0; ; k++ {
		if k == len(s.levels) {
			var sum uint64
			if s.levels[k-1][0] != 0 {
				sum = 1
			}
			s.levels = append(s.levels, []uint64{sum})
		}
		if words > len(s.levels[k]) {
			level := make([]uint64, words)
			copy(level, s.levels[k])
			s.levels[k] = level
		}
		if words == 1 {
			return
		}
		words = (words + 63) >> 6
	}
}
