package slack

import (
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/vclock"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// Save writes the system. For each item that is not finished, in the order of
// [System.All], it calls value, which writes what the caller needs to recognise the
// item. It does not write slacks: equation (6) is exact and computes them from the
// rest. It does not write the instant and the number of slots either, which the
// caller knows.
func (s *System[T]) Save(w *snapshot.Writer, value func(*Item[T])) {
	latest, seq := snapshot.Seqs(s.seq, func(add func(uint64)) {
		for it := range s.late.all {
			add(it.seq)
		}
		for it := range s.v.all() {
			add(it.seq)
		}
	})
	w.Uint(latest)
	s.clock.Save(w)
	save := func(it *Item[T]) {
		it.tag.Save(w)
		w.Uint(seq(it.seq))
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
	for range s.late.all {
		lates++
	}
	w.Len(lates + s.v.len())
	for it := range s.late.all {
		save(it)
	}
	for it := range s.v.all() {
		save(it)
	}
}

// Restore reads what Save has written into a new system of the same mode, at the given
// instant and with the given number of slots. It calls value for each item that is not
// finished. value reads what the other value wrote, sets Value, and stores the item where
// the caller needs it. It also tests that the work, the weight and the state of the item
// are as they must be.
func (s *System[T]) Restore(r *snapshot.Reader, now sojourn.Time, slots int, value func(*Item[T])) {
	s.seq = r.Seq()
	s.clock.Restore(r, now, slots)
	var v []*Item[T]
	var last key
	var seqs []uint64
	for range r.Len() {
		it := s.alloc()
		it.key = key{wide.Restore192(r), r.Uint()}
		it.weight = r.Below(vclock.MaxWeight + 1)
		it.finished = r.Bool()
		if !it.finished {
			it.work = r.Below(vclock.MaxWork + 1)
			it.running = r.Below(math.MaxInt32)
			it.state = State(r.Below(uint64(Ready) + 1))
			value(it)
		}
		if !r.Check(it.weight > 0 && last.less(it.key) && it.seq <= s.seq, "an item does not fit") {
			return
		}
		last = it.key
		seqs = append(seqs, it.seq)
		if it.Late() {
			r.Check(!it.finished, "a finished item is late")
			s.late.insert(it)
			continue
		}
		if !s.clock.Admit(r, it.tag, it.weight) {
			return
		}
		v = append(v, it)
	}
	s.clock.Restored(r)
	slices.Sort(seqs)
	if !r.Check(len(slices.Compact(seqs)) == len(seqs), "two items have one number") {
		return
	}
	for _, it := range v {
		s.insert(it, s.v.addBefore(it.key, line{}))
	}
}
