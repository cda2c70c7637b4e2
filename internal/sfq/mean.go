package sfq

import (
	"math/bits"

	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/snapshot"
)

// A Mean is what the work of a flow has cost of late in the mean: the first ones, and then each further one with a sixteenth.
type Mean struct {
	Cost uint64
	Of   uint64 // how many; at most 16
}

// Add adds work that has ended. What somebody has told may be wrong by far: it counts as 16 times the mean
// at most, and one of the first five lets the mean be no more than 16 times as much.
func (m *Mean) Add(cost uint64, told bool) {
	m.Of = min(m.Of+1, 16)
	if told && m.Of > 1 {
		if hi, lo := bits.Mul64(max(m.Cost, 1), 16); hi == 0 {
			cost = min(cost, lo)
		}
		if m.Of <= 5 && cost < m.Cost/16 {
			m.Cost = 16 * cost
		}
	}
	m.Cost = Near(m.Cost, min(cost, MaxCost), m.Of)
}

// Usual returns the mean; 0 if that may be wrong by far.
func (m *Mean) Usual(told bool) uint64 {
	if told && m.Of < 3 {
		return 0
	}
	return m.Cost
}

// Proves returns what so many charges that are out are known to be worth: four times the mean each.
func (m *Mean) Proves(charges uint64, told bool) wide.Uint128 {
	return wide.Mul64(m.Usual(told), 4*charges)
}

// Save writes m.
func (m *Mean) Save(w *snapshot.Writer) {
	w.Uint(m.Cost)
	w.Uint(m.Of)
}

// RestoreMean reads what [Mean.Save] has written.
func RestoreMean(r *snapshot.Reader) Mean {
	m := Mean{r.Below(MaxCost + 1), r.Below(17)}
	r.Check(m.Of > 0 || m.Cost == 0, "the mean of nothing")
	return m
}

// Near returns what is a part of the way from a to x, rounded towards x, so that small costs get there.
func Near(a, x, part uint64) uint64 {
	if x >= a {
		return a + (x-a+part-1)/part
	}
	return a - (a-x+part-1)/part
}

// Proved returns how far virtual time passes at most when the flow is charged: to its tag, but what is out counts as no more than it is known to be
// worth. What it was charged may be wrong by far, and is taken back then, but virtual time is not.
func (a *Account) Proved(known uint64) Tag {
	if a.Charged() <= known {
		return a.tag
	}
	return a.Settled().Plus(known)
}
