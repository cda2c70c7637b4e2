package slack

import (
	"math/big"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/vclock"
)

// A vector is a slack system in rational numbers: the late jobs and then V, in
// order, with v, w and weight of each. All its numbers are computed from these,
// without any history.
type vector []job

type job struct {
	v, w, weight *big.Rat
	late         bool
	state        State
}

// slacks returns s of each job by equation (6), with weights.
func (x vector) slacks() []*big.Rat {
	s := make([]*big.Rat, len(x))
	for i := range x {
		s[i] = new(big.Rat)
		for j := range i {
			s[i].Add(s[i], x[j].v)
		}
		behind := new(big.Rat)
		for _, j := range x[i:] {
			if !j.late { // a late job takes no share of V
				behind.Add(behind, j.weight)
			}
		}
		s[i].Add(s[i], behind.Mul(behind, x[i].v).Quo(behind, x[i].weight))
		for j := range i + 1 {
			s[i].Sub(s[i], x[j].w)
		}
	}
	return s
}

// guard returns the job before i with something to start that has the least
// slack, or -1.
func (x vector) guard(s []*big.Rat, i int) int {
	least := -1
	for j := range i {
		if x[j].state != Drained && (least < 0 || s[j].Cmp(s[least]) < 0) {
			least = j
		}
	}
	return least
}

// completable reports whether job i is, by the definition.
func (x vector) completable(s []*big.Rat, i int) bool {
	for j := range i {
		if x[j].state != Drained && (x[j].late || s[j].Cmp(x[i].w) < 0) {
			return false
		}
	}
	return true
}

// least returns the completable job to serve, or -1.
func (x vector) least(s []*big.Rat) int {
	best := -1
	for i := range x {
		if x[i].state == Ready && x.completable(s, i) && (best < 0 || !x[best].late && x[i].w.Cmp(x[best].w) < 0) {
			best = i
		}
	}
	return best
}

// state returns the system as a vector, and the items in the same order.
func (s *System[T]) vector() (x vector, items []*Item[T]) {
	for it := range s.late.all {
		items = append(items, it)
	}
	items = slices.AppendSeq(items, s.v.all())
	for _, it := range items {
		j := job{new(big.Rat), rat(0, it.work), rat(0, it.weight), it.Late(), it.state}
		if !j.late {
			// F - g, less what the carry makes of it.
			g, carry := s.clock.State()
			all := s.clock.Weight()
			now := new(big.Rat).Add(fromWide(g).integer(), new(big.Rat).Quo(fromWide(carry).integer(), rat(all.Hi, all.Lo)))
			j.v.Sub(fromWide(it.tag).integer(), now).Mul(j.v, j.weight).Quo(j.v, unit())
		}
		if it.finished {
			j.state = Drained
		}
		x = append(x, j)
	}
	return x, items
}

func rat(hi, lo uint64) *big.Rat {
	x := new(big.Int).SetUint64(hi)
	return new(big.Rat).SetInt(x.Lsh(x, 64).Or(x, new(big.Int).SetUint64(lo)))
}

// rat returns x in slot-nanoseconds.
func (x num) rat() *big.Rat {
	if x.isNegative() {
		y := x.neg().rat()
		return y.Neg(y)
	}
	y := x.integer()
	return y.Quo(y, unit())
}

// integer returns x, which is not negative.
func (x num) integer() *big.Rat {
	y := rat(x.hi, x.mid)
	y.Mul(y, rat(1, 0))
	return y.Add(y, rat(0, x.lo))
}

// unit returns how many units of work there are in a slot-nanosecond.
func unit() *big.Rat { return rat(1<<(vclock.Shift-64), 0) }

// NextCompletion returns the instant, rounded up, of the next virtual completion if nothing happens before; false if there
// is none within the range of sojourn.Time.
func (s *System[T]) NextCompletion() (sojourn.Time, bool) {
	tag, _, ok := s.head()
	if !ok {
		return 0, false
	}
	return s.clock.Next(tag)
}
