package locality

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// A watch is the index's data about a phase whose pending tasks at each node are
// watched.
type watch struct {
	number uint32
	weight uint64
	words  []word // by ID of the block, ascending
}

// A word says at which nodes of a block a phase has open tasks.
type word struct {
	*block
	open uint64
}

// A block is 64 nodes of neighbouring IDs with their loads. It knows the greatest
// load, so that a search can skip blocks that cannot beat what it has found.
type block struct {
	id    uint32 // NodeID / 64
	users int    // watched phases that have inputs here
	max   uint64
	load  [64]uint64
}

func (b *block) add(bit uint32, weight uint64) {
	b.load[bit] += weight
	b.max = max(b.max, b.load[bit])
}

func (b *block) sub(bit uint32, weight uint64) {
	was := b.load[bit]
	b.load[bit] -= weight
	if was == b.max {
		b.max = slices.Max(b.load[:])
	}
}

// Watch makes the index keep, at each node, whether the phase has tasks there
// that could start, and the sum of their weight over all watched phases. The number
// is small, and no other watched phase has the same one. If the phase is watched
// already, the latest call counts. A phase without inputs needs no watching. An
// event that revises, cancels or ends the job ends the watch.
func (x *Index[J]) Watch(j *ledger.Job[J], phase int, number uint32, weight uint64) {
	p := x.phase(j, phase)
	if p == nil {
		return
	}
	x.unwatch(p)
	w := &watch{number: number, weight: weight}
	p.watch = w
	for i, n := range p.nodes.places {
		id := uint32(n) / 64
		if len(w.words) == 0 || w.words[len(w.words)-1].id != id {
			w.words = append(w.words, word{block: x.block(id)})
		}
		h := &p.sites[i]
		if h.open == 0 {
			continue
		}
		last := &w.words[len(w.words)-1]
		last.open |= 1 << (n % 64)
		last.add(uint32(n%64), weight*uint64(h.open))
		h.site.mark(number)
	}
}

// block returns a block, makes it if needed, and counts one more user.
func (x *Index[J]) block(id uint32) *block {
	b := x.blocks[id]
	if b == nil {
		b = &block{id: id}
		x.blocks[id] = b
	}
	b.users++
	return b
}

// Unwatch ends a watch, if there is one.
func (x *Index[J]) Unwatch(j *ledger.Job[J], phase int) {
	if p := x.phase(j, phase); p != nil {
		x.unwatch(p)
	}
}

func (x *Index[J]) unwatch(p *phase) {
	w := p.watch
	if w == nil {
		return
	}
	p.reweigh(0)
	p.watch = nil
	for i := range p.sites {
		if p.sites[i].open > 0 {
			p.sites[i].site.unmark(w.number)
		}
	}
	for _, word := range w.words {
		if word.users--; word.users == 0 {
			delete(x.blocks, word.id)
		}
	}
}

// Reweigh changes the weight of a phase that is watched, if it is.
func (x *Index[J]) Reweigh(j *ledger.Job[J], phase int, weight uint64) {
	if p := x.phase(j, phase); p != nil && p.watch != nil {
		p.reweigh(weight)
	}
}

func (p *phase) reweigh(weight uint64) {
	w := p.watch
	if w.weight == weight {
		return
	}
	was := w.weight
	w.weight = weight
	k := 0
	for i, n := range p.nodes.places {
		for w.words[k].id != uint32(n)/64 {
			k++
		}
		if open := uint64(p.sites[i].open); open > 0 {
			b, bit := w.words[k].block, uint32(n%64)
			b.sub(bit, was*open)
			b.add(bit, weight*open)
		}
	}
}

// watched records that one more task, or one less, is open at place i of a watched
// phase.
func (p *phase) watched(i int, opened bool) {
	w, n, h := p.watch, p.nodes.places[i], &p.sites[i]
	word := w.at(uint32(n) / 64)
	bit := uint32(n % 64)
	if opened {
		word.add(bit, w.weight)
		if h.open == 1 {
			word.open |= 1 << bit
			h.site.mark(w.number)
		}
		return
	}
	word.sub(bit, w.weight)
	if h.open == 0 {
		word.open &^= 1 << bit
		h.site.unmark(w.number)
	}
}

// at returns the word of a block, which must exist. It needs no search if the IDs of
// the nodes have no large gaps.
func (w *watch) at(id uint32) *word {
	if i := uint64(id - w.words[0].id); i < uint64(len(w.words)) && w.words[i].id == id {
		return &w.words[i]
	}
	i, _ := slices.BinarySearchFunc(w.words, id, func(w word, id uint32) int { return cmp.Compare(w.id, id) })
	return &w.words[i]
}

func (s *site) mark(number uint32) {
	for int(number/64) >= len(s.numbers) {
		s.numbers = append(s.numbers, 0)
	}
	s.numbers[number/64] |= 1 << (number % 64)
}

func (s *site) unmark(number uint32) { s.numbers[number/64] &^= 1 << (number % 64) }

// Watched returns the numbers of the watched phases that have tasks at a node, as
// a bitmap: number i is bit i%64 of word i/64, and words at the end may be absent.
// It is valid until the next event or assignment. The caller must not change it.
func (x *Index[J]) Watched(n sojourn.NodeID) []uint64 {
	if s := x.sites[n]; s != nil {
		return s.numbers
	}
	return nil
}

// Load returns the sum of the weights of the tasks at a node, over the watched
// phases: R_n in TD's notation, if the weights are mean times.
func (x *Index[J]) Load(n sojourn.NodeID) uint64 {
	if b := x.blocks[uint32(n)/64]; b != nil {
		return b.load[n%64]
	}
	return 0
}

// Heaviest returns the node of the greatest load, the first of several, among the
// nodes that have a task of the phase and that may allows. It reports false if there
// is none. It is fast for watched phases: it looks at one word for 64 nodes, and
// into the word only if the block may beat what it has found.
func (x *Index[J]) Heaviest(j *ledger.Job[J], phase int, may func(sojourn.NodeID) bool) (best sojourn.NodeID, ok bool) {
	p := x.phase(j, phase)
	if p == nil {
		return 0, false
	}
	var load uint64
	if p.watch == nil {
		for i, n := range p.nodes.places {
			if p.sites[i].open == 0 {
				continue
			}
			if l := x.Load(n); (!ok || l > load) && may(n) {
				best, load, ok = n, l, true
			}
		}
		return best, ok
	}
	words := p.watch.words
	top := -1 // the block of the greatest maximum: after it, few others need a look
	for i := range words {
		if words[i].open != 0 && (top < 0 || words[i].max > words[top].max) {
			top = i
		}
	}
	if top < 0 {
		return 0, false
	}
	look := func(w *word) {
		for open := w.open; open != 0; open &= open - 1 {
			bit := uint32(bits.TrailingZeros64(open))
			n, l := sojourn.NodeID(w.id*64+bit), w.load[bit]
			if (!ok || l > load || l == load && n < best) && may(n) {
				best, load, ok = n, l, true
			}
		}
	}
	look(&words[top])
	for i := range words {
		w := &words[i]
		if i != top && w.open != 0 && (!ok || w.max > load || w.max == load && i < top) {
			look(w)
		}
	}
	return best, ok
}

// NextHolder returns the node with the least ID, at least from, that has a task of
// the phase that could start.
func (x *Index[J]) NextHolder(j *ledger.Job[J], phase int, from sojourn.NodeID) (sojourn.NodeID, bool) {
	p := x.phase(j, phase)
	if p == nil {
		return 0, false
	}
	i, ok := p.nodes.place(from)
	if !ok {
		i, _ = slices.BinarySearch(p.nodes.places, from)
	}
	for ; i < len(p.sites); i++ {
		if p.sites[i].open > 0 {
			return p.nodes.places[i], true
		}
	}
	return 0, false
}

// FindAt returns the lowest task of a ready phase whose input a slot can read from a
// given node. It reports false if there is none.
func (x *Index[J]) FindAt(j *ledger.Job[J], phase int, s sojourn.Slot, source sojourn.NodeID) (Pick, bool) {
	p := x.phase(j, phase)
	if p == nil {
		return Pick{}, false
	}
	i, ok := p.nodes.first(source)
	if !ok {
		return Pick{}, false
	}
	pick := Pick{Index: i, Locality: sojourn.Remote, Source: source}
	rack := s.Rack
	if rack == 0 {
		rack = x.ledger.Rack(s.Node)
	}
	switch {
	case source == s.Node:
		pick.Locality = sojourn.NodeLocal
	case rack != 0 && x.ledger.Rack(source) == rack:
		pick.Locality = sojourn.RackLocal
	}
	return pick, true
}

// FindLost returns the lowest task of a ready phase whose inputs are all on nodes
// that are down. It reports false if there is none.
func (x *Index[J]) FindLost(j *ledger.Job[J], phase int) (Pick, bool) {
	p := x.phase(j, phase)
	if p == nil {
		return Pick{}, false
	}
	i := p.lost.Min()
	return Pick{Index: uint32(max(i, 0)), Locality: sojourn.Remote}, i >= 0
}

// Anywhere returns how many pending tasks of a phase run equally well on any node.
func (x *Index[J]) Anywhere(j *ledger.Job[J], phase int) int {
	if p := x.phase(j, phase); p != nil {
		return p.free.Len()
	}
	return j.Phase(phase).Pending()
}
