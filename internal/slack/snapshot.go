package slack

import (
	"math"

	"github.com/sojourn-sched/sojourn/internal/snapshot"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// Save writes the system. For each item that is not finished, in the order of
// [System.All], it calls value, which writes what the caller needs to know the item
// again. Slacks are not written: equation (6) is exact, and tells them from the
// rest.
func (s *System[T]) Save(w *snapshot.Writer, value func(*Item[T])) {
	w.Uint(s.slots)
	w.Time(s.now)
	w.Uint(s.seq)
	w.Wide(s.g)
	w.Wide(s.carry)
	save := func(it *Item[T]) {
		w.Wide(it.tag)
		w.Uint(it.seq)
		w.Uint(it.weight)
		w.Bool(it.finished)
		if !it.finished {
			w.Uint(it.work)
			w.Uint(it.running)
			w.Uint(uint64(it.state))
			value(it)
		}
	}
	lates := 0
	for it := s.first; it != nil; it = it.next {
		lates++
	}
	w.Len(lates + s.v.len())
	for it := s.first; it != nil; it = it.next {
		save(it)
	}
	for it := range s.v.all() {
		save(it)
	}
}

// Restore reads what Save has written into a new system of the same mode. For each
// item that is not finished it calls value, which reads what value wrote, sets
// Value, and keeps the item where the caller keeps it.
func (s *System[T]) Restore(r *snapshot.Reader, value func(*Item[T])) {
	s.slots = r.Below(math.MaxInt32 + 1)
	s.now = r.Time()
	s.seq = r.Uint()
	s.g, s.carry = r.Wide(), r.Wide()
	var v []*Item[T]
	var last key
	for range r.Len() {
		it := s.alloc()
		it.key = key{r.Wide(), r.Uint()}
		it.weight = r.Below(1<<48 + 1)
		it.finished = r.Bool()
		if !it.finished {
			it.work = r.Below(1<<63 + 1)
			it.running = r.Uint()
			it.state = State(r.Below(uint64(Ready) + 1))
			value(it)
		}
		if !r.Check(it.weight > 0 && last.less(it.key) && it.seq <= s.seq, "an item does not fit") {
			return
		}
		last = it.key
		if it.Late() {
			r.Check(!it.finished, "a finished item is late")
			s.link(it)
			continue
		}
		most, _ := wide.Uint128{Hi: 1 << 61}.QuoRem(wide.From64(it.weight))
		if !r.Check(s.g.Less(it.tag) && it.tag.Hi < 1<<62 && it.tag.Sub(s.g).Less(most), "a tag is out of range") {
			return
		}
		s.weight = s.weight.Add(wide.From64(it.weight))
		v = append(v, it)
	}
	if !r.Check(s.carry.IsZero() || s.carry.Less(s.weight), "the carry is out of range") ||
		!r.Check(len(v) > 0 || s.g.IsZero(), "virtual time of nothing") {
		return
	}
	for _, it := range v {
		s.insert(it)
	}
}
