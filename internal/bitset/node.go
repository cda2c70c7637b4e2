package bitset

import "math/bits"

// A node is a tree of 64<<shift integers, from a multiple of that number on. Parts beyond
// the end of words or parts have no member.
type node struct {
	shift   uint
	some    uint64   // parts that have a member
	words   []uint64 // the parts of a leaf
	*branch          // of other nodes
}

// A branch is what nodes have that are not leaves.
type branch struct {
	full  uint64  // parts that are full and have no node of their own
	parts []*node // nil if a part is full, or has always been empty
}

const (
	leafShift = 6 // of a leaf: its parts are words
	all       = ^uint64(0)
	leafSize  = 64 << leafShift
)

// leaf returns an empty leaf with so many words. Two words lie behind the node, in the same 64 bytes: whoever
// reads the node has read the words.
func leaf(words int) *node {
	if words > 2 {
		return &node{shift: leafShift, words: make([]uint64, words)}
	}
	l := new(struct {
		node
		room [2]uint64
	})
	l.shift, l.words = leafShift, l.room[:words]
	return &l.node
}

func (nd *node) has(i int) bool {
	if i>>(nd.shift&63) >= 64 {
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

// add adds i, which is below 64<<shift, and reports whether it was no member.
func (nd *node) add(i int) bool {
	for nd.shift > leafShift {
		k := i >> (nd.shift & 63) & 63
		if nd.full&(1<<(k&63)) != 0 {
			return false
		}
		nd.some |= 1 << (k & 63)
		nd = nd.part(k)
	}
	k := i >> leafShift & 63
	if k >= len(nd.words) {
		nd.grow(k)
	}
	word, bit := &nd.words[k], uint64(1)<<(i&63)
	if *word&bit != 0 {
		return false
	}
	*word |= bit
	nd.some |= 1 << (k & 63)
	return true
}

// remove removes i, which is below 64<<shift, and reports whether it was a member.
func (nd *node) remove(i int) bool {
	top := nd
	for nd.shift > leafShift {
		k := i >> (nd.shift & 63) & 63
		if nd.some&(1<<(k&63)) == 0 {
			return false
		}
		nd = nd.part(k)
	}
	k := i >> leafShift & 63
	if k >= len(nd.words) {
		return false
	}
	word, bit := &nd.words[k], uint64(1)<<(i&63)
	if *word&bit == 0 {
		return false
	}
	if *word &^= bit; *word == 0 {
		if nd.some &^= 1 << (k & 63); nd.some == 0 {
			top.prune(i)
		}
	}
	return true
}

// put adds the members of a word that has none.
func (nd *node) put(word int, members uint64) {
	i := word << leafShift
	for nd.shift > leafShift {
		k := i >> (nd.shift & 63) & 63
		nd.some |= 1 << (k & 63)
		nd = nd.part(k)
	}
	k := word & 63
	if k >= len(nd.words) {
		nd.grow(k)
	}
	nd.words[k] = members
	nd.some |= 1 << (k & 63)
}

// take removes the members of the word of i, and returns them. i is below 64<<shift.
func (nd *node) take(i int) (members uint64) {
	top := nd
	for nd.shift > leafShift {
		k := i >> (nd.shift & 63) & 63
		if nd.some&(1<<(k&63)) == 0 {
			return 0
		}
		nd = nd.part(k)
	}
	k := i >> leafShift & 63
	if nd.some&(1<<(k&63)) == 0 {
		return 0
	}
	members, nd.words[k] = nd.words[k], 0
	if nd.some &^= 1 << (k & 63); nd.some == 0 {
		top.prune(i)
	}
	return members
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

// max returns the greatest member. There must be one.
func (nd *node) max() int {
	i := 0
	for {
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

// next returns the least member from i on, which is below 64<<shift; -1 if there is none.
func (nd *node) next(i int) int {
	k := i >> nd.shift
	rest := i & (1<<nd.shift - 1) // of i, within part k
	switch {
	case nd.some&(1<<k) == 0:
	case nd.shift == leafShift:
		if word := nd.words[k] >> rest; word != 0 {
			return i + bits.TrailingZeros64(word)
		}
	case nd.full&(1<<k) != 0:
		return i
	default:
		if at := nd.parts[k].next(rest); at >= 0 {
			return k<<nd.shift | at
		}
	}
	later := nd.some &^ (1<<k | (1<<k - 1))
	if later == 0 {
		return -1
	}
	k = bits.TrailingZeros64(later)
	switch {
	case nd.shift == leafShift:
		return k<<nd.shift | bits.TrailingZeros64(nd.words[k])
	case nd.full&(1<<k) != 0:
		return k << nd.shift
	}
	return k<<nd.shift | nd.parts[k].min()
}

// nextGap returns the least integer from i on that is below 64<<shift and no member; -1
// if there is none.
func (nd *node) nextGap(i int) int {
	for k := i >> nd.shift; k < 64; k++ {
		rest := max(i-k<<nd.shift, 0)
		switch {
		case nd.some&(1<<k) == 0:
			return k<<nd.shift | rest
		case nd.shift == leafShift:
			if gaps := ^nd.words[k] >> rest; gaps != 0 {
				return k<<nd.shift | (rest + bits.TrailingZeros64(gaps))
			}
		case nd.full&(1<<k) != 0:
		default:
			if gap := nd.parts[k].nextGap(rest); gap >= 0 {
				return k<<nd.shift | gap
			}
		}
	}
	return -1
}

// addRange adds the integers in [from, to), which is not empty, and returns how many of
// them were not members.
func (nd *node) addRange(from, to int) (added int) {
	for k := from >> nd.shift; k <= (to-1)>>nd.shift; k++ {
		bit := uint64(1) << k
		lo, hi := nd.within(k, from, to)
		switch {
		case nd.shift == leafShift:
			nd.grow(k)
			was := nd.words[k]
			nd.words[k] |= span(lo, hi)
			added += bits.OnesCount64(nd.words[k] &^ was)
		case nd.full&bit != 0:
			continue
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

// within returns the part of [from, to) that lies in part k, counted from the first integer
// of part k.
func (nd *node) within(k, from, to int) (lo, hi int) {
	start := k << nd.shift
	return max(from-start, 0), min(to-start, 1<<nd.shift)
}

// span returns the word with the integers in [from, to), which is not empty.
func span(from, to int) uint64 { return all << from & (all >> (64 - to)) }

// count returns the number of members of part k of a node that is not a leaf.
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

// part returns part k of a node that is not a leaf, as a node that can be changed.
func (nd *node) part(k int) *node {
	if k < len(nd.parts) && nd.parts[k] != nil {
		return nd.parts[k]
	}
	return nd.newPart(k)
}

func (nd *node) newPart(k int) *node {
	nd.grow(k)
	part := &node{shift: nd.shift - 6}
	if part.shift > leafShift {
		part.branch = new(branch)
	}
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

// room returns list, extended so that it has an element k. k is below 64.
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
