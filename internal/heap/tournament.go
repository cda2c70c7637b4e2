package heap

import "math/bits"

// A Tournament is a heap whose items are the leaves of a tree, in the order of their IDs: above two stands the one that
// comes first. It takes the place of a [Heap] where the least item gets a later key again and again: a key that changes
// meets one opponent at each level, whose place is known before, and no other item moves. A call takes O(log m), where m
// is the largest ID. Use [NewTournament] to make one.
//
// Its caller keeps the keys, and calls Set for an item whose key has changed before anything else.
type Tournament struct {
	less   func(a, b uint32) bool // of items that are in it
	groups []tree                 // of PageSize IDs each, so that no call copies more than one of them
	finals tree                   // between the winners of the groups
}

// A tree has a match for its leaves, the items or the winners of groups, two by two, then for the winners of these, and so on. Place 1 is that of
// the winner of all, and those who meet for place i are at 2i and 2i+1.
type tree []match

// A match has who is at 2i and at 2i+1, where i is its index.
type match [2]player

// A player is an item, as an [entry] in two words.
type player struct{ hi, low uint64 }

// nobody comes after all: squeeze returns nothing as great.
var nobody = player{1<<64 - 1, 1<<64 - 1}

func (p player) id() uint32 { return uint32(p.low) }

func (t tree) at(place int) *player { return &t[place/2][place%2] }

// leaf returns the place of a leaf.
func (t tree) leaf(n uint32) int { return len(t) + int(n) }

// NewTournament returns an empty tournament ordered by less, a strict total order.
func NewTournament(less func(a, b uint32) bool) *Tournament {
	return &Tournament{less: less, groups: []tree{newTree()}, finals: newTree()}
}

func newTree() tree { return tree{{nobody, nobody}} }

// Min returns the item with the least key; false if there is none.
func (t *Tournament) Min() (id uint32, ok bool) {
	first := &t.finals[0][1]
	return first.id(), *first != nobody
}

// Set files id, whether it was there or not. hi and lo are the prefix of its key, as of [New].
func (t *Tournament) Set(id uint32, hi, lo uint64) {
	t.put(id, player{hi, uint64(squeeze(lo))<<32 | uint64(id)})
}

// Remove takes id out, which must be there.
func (t *Tournament) Remove(id uint32) { t.put(id, nobody) }

func (t *Tournament) put(id uint32, p player) {
	group, n := id/PageSize, id%PageSize
	if uint64(group) >= uint64(len(t.groups)) || uint64(n) >= uint64(len(t.groups[group])) {
		t.grow(group, n)
	}
	if first, changed := t.play(t.groups[group], n, p, id); changed {
		t.play(t.finals, group, first, id)
	}
}

// play sets a leaf, and plays what that changes. id is the item whose key has changed. It returns who wins the tree, and
// false if that is known: somebody else than id who had won as far before.
func (t *Tournament) play(in tree, leaf uint32, p player, id uint32) (first player, changed bool) {
	for i := uint(len(in)) + uint(leaf); ; i /= 2 {
		match := &in[i/2]
		was := &match[i%2]
		if *was == p && p.id() != id {
			return p, false
		}
		*was = p
		if i == 1 {
			return p, true
		}
		other := &match[i%2^1]
		_, less := bits.Sub64(other.low, p.low, 0)
		_, less = bits.Sub64(other.hi, p.hi, less)
		if other.hi == p.hi && other.low>>32 == p.low>>32 {
			if less = 0; *other != nobody && t.less(other.id(), p.id()) {
				less = 1
			}
		}
		p.hi ^= (p.hi ^ other.hi) & -less // without a branch, which nobody could predict
		p.low ^= (p.low ^ other.low) & -less
	}
}

// grow makes room for a leaf of a group.
func (t *Tournament) grow(group, leaf uint32) {
	for uint64(group) >= uint64(len(t.groups)) {
		t.finals = t.finals.grown(len(t.groups) + 1)
		t.groups = append(t.groups, newTree())
	}
	t.groups[group] = t.groups[group].grown(int(leaf) + 1)
}

// grown returns a tree of at least so many leaves.
func (t tree) grown(leaves int) tree {
	for len(t) < leaves {
		to := make(tree, 2*len(t))
		for i := range to {
			to[i] = match{nobody, nobody}
		}
		to[0], to[1][0] = t[0], t[0][1]
		for level := 1; level < len(t); level *= 2 {
			copy(to[2*level:], t[level:2*level])
		}
		t = to
	}
	return t
}

// A Ranking goes through a tournament, the least key first. The tournament must not be changed meanwhile.
type Ranking struct {
	of     *Tournament
	won    []spot        // where somebody won
	winner *Heap[uint32] // who, by index in won; those above whom, or beside whom, nobody has come
}

// A spot is a place in the tree of a group, or of the finals: their group is -1.
type spot struct{ group, place int }

// Ranking returns a ranking before the first item. Each item costs O(log² m).
func (t *Tournament) Ranking() Ranking {
	r := Ranking{of: t, winner: New(t.less, nil)}
	r.add(spot{-1, 1})
	return r
}

// Next returns the next item; false if there is none.
func (r *Ranking) Next() (id uint32, ok bool) {
	i, ok := r.winner.Min()
	if !ok {
		return 0, false
	}
	id, _ = r.winner.MinKey()
	r.winner.Remove(i)
	group := int(id / PageSize)
	for s := (spot{group, r.of.groups[group].leaf(id % PageSize)}); s != r.won[i]; {
		if s.place == 1 { // the winner of a group is a leaf of the finals
			s = spot{-1, r.of.finals.leaf(uint32(group))}
			continue
		}
		r.add(spot{s.group, s.place ^ 1}) // who lost against it
		s.place /= 2
	}
	return id, true
}

// add adds who won at a place, if there is anybody.
func (r *Ranking) add(s spot) {
	in := r.of.finals
	if s.group >= 0 {
		in = r.of.groups[s.group]
	}
	if p := *in.at(s.place); p != nobody {
		r.winner.Set(uint32(len(r.won)), p.id())
		r.won = append(r.won, s)
	}
}
