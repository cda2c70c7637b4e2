package slack

import (
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// virtual returns the units of virtual work that an item in V has left, without deducting
// its share of the carry.
func (s *System[T]) virtual(it *Item[T]) num { return fromWide(s.clock.Left(it.tag, it.weight)) }

// share returns the rule of arrival as a line: phi v_j/phi_j for each j, where phi is the
// weight of an item.
func (s *System[T]) share(it *Item[T]) line {
	phi := int64(it.weight)
	g, _ := s.clock.State()
	return line{phi, fromWide(g).times(-phi)}
}

// addWork sets w of an item. It raises s of the item and of all behind it by as much as w
// falls, equations (7) and (9).
func (s *System[T]) addWork(it *Item[T], left uint64) {
	fall := work(it.work).sub(work(left))
	it.work = left
	s.base = s.base.sub(fall) // for all; shift takes it back for those before it
	if it.Late() {
		s.late.work = s.late.work.sub(fall)
		return
	}
	it.addAhead(constant(fall.neg()))
	it.leaf.tallyUp()
}

// enter puts an item with the given units of virtual work left into V: the rule
// of arrival. Items before it gain phi v_j/phi_j. Items behind it gain v - w,
// which is the rounding of v.
func (s *System[T]) enter(it *Item[T], left wide.Uint192, latest vclock.Tag) {
	if left.IsZero() {
		s.base = s.base.add(work(it.work)) // w of a late item counts for all in V
		s.addLate(it)
		return
	}
	it.tag = s.clock.Enter(left, it.weight, latest)
	behind := s.virtual(it).sub(work(it.work))
	s.base = s.base.sub(behind)
	s.insert(it, s.v.addBefore(it.key, s.share(it).add(constant(behind.neg()))))
}

// move sets w of an item in V, as addWork does, and then gives the item another tag and other
// work, with the weight as it is.
//
// What counts for items behind a place goes into base, for all, and is taken back for those
// before the place.
func (s *System[T]) move(it *Item[T], was, left uint64, tag vclock.Tag) {
	fall := work(it.work).sub(work(was)) // for items behind the old place
	v, w, share := s.virtual(it), work(was), s.share(it)
	from, to := it.key, key{tag, it.seq}
	it.key, it.work = to, left
	newV, newW := s.virtual(it), work(left)
	behind := newV.sub(v).sub(newW.sub(w)) // for items behind both places
	s.base = s.base.sub(fall).sub(behind)
	var between line // for items between the places
	if from.less(to) {
		between = share.add(constant(w.sub(v))) // (14)
		s.v.remove(it, between.add(constant(fall)).neg())
		between = between.add(constant(behind.neg()))
	} else {
		between = constant(newV.sub(newW)).add(share.neg()) // (16)
		s.v.remove(it, between.add(constant(fall.add(behind).neg())))
		between = between.neg()
	}
	s.insert(it, s.v.addBefore(to, between)) // (15), (17)
}

// insert puts an item into V after its effect on the others has been applied. Its own s
// follows from s of the item before it:
//
//	s_i - s_{i-1} = (phi_i + ... + phi_m) (F_i - F_{i-1}) - w_i.
func (s *System[T]) insert(it *Item[T], at spot[T]) {
	var value num
	if pred, before := at.pred(); pred != nil {
		behind := s.clock.Weight().Sub(at.weight)
		value = before.add(fromWide(it.tag.Sub(pred.tag)).timesWide(behind))
	} else {
		g, carry := s.clock.State()
		value = fromWide(it.tag.Sub(g)).timesWide(s.clock.Weight()).sub(fromWide(carry)).sub(s.late.work).add(s.base)
	}
	s.v.insert(it, value.sub(work(it.work)), at)
}

// leave undoes enter, before the item is virtually complete. The clock must stand at the
// current instant.
func (s *System[T]) leave(it *Item[T]) {
	v, share := s.virtual(it), s.share(it)
	behind := work(it.work).sub(v)
	s.base = s.base.sub(behind)
	s.v.remove(it, share.add(constant(behind)).neg())
	s.base = s.base.sub(fromWide(s.clock.Leave(it.weight)))
	if s.v.len() == 0 {
		s.base = num{} // virtual time starts from zero
	}
}

// addLate makes an item late that has left V. Its work counts in s of all items in V.
func (s *System[T]) addLate(it *Item[T]) {
	it.key = key{seq: s.nextSeq()}
	s.late.insert(it)
}
