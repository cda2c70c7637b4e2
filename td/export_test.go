package td

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// Verify computes anew what p counts, and returns the first difference.
func Verify(p *Policy) error {
	for c, l := range p.lanes {
		if l == nil {
			continue
		}
		want := newLane(l.class)
		waits := 0
		for _, j := range p.ledger.AppendJobs(nil) {
			d, ph := &j.Data, j.Phase(0)
			if d.lane != l {
				continue
			}
			if d.status == infantile {
				if want.infantile != nil {
					return fmt.Errorf("class %d has two infantile jobs", c)
				}
				want.infantile = j
			}
			if d.status >= senile || j.Startable(0) == 0 {
				continue
			}
			want.startable++
			switch d.status {
			case waiting:
				waits++
			case teenaged:
				want.teenaged = append(want.teenaged, j)
			case adult:
				want.adults = append(want.adults, rank{d.amt, j.Seq(), d.seat, j})
				if ph.Running() < p.set.floor(d.demand) {
					want.short = append(want.short, j)
				}
			}
			if d.status == teenaged || d.status == adult {
				want.demand += d.demand
			}
			if d.status != waiting {
				want.occupied += ph.Running()
			}
		}
		bySeq := func(a, b *job) int { return cmp.Compare(a.Seq(), b.Seq()) }
		slices.SortFunc(want.teenaged, bySeq)
		slices.SortFunc(want.short, bySeq)
		slices.SortFunc(want.adults, compareRanks)
		busy := 0
		for s := range p.ledger.Attempts() {
			if int(s.Class) == c {
				busy++
			}
		}
		switch {
		case l.busy != busy:
			return fmt.Errorf("class %d: %d busy slots, want %d", c, l.busy, busy)
		case l.infantile != want.infantile:
			return fmt.Errorf("class %d: another infantile job", c)
		case l.startable != want.startable || l.demand != want.demand || l.occupied != want.occupied:
			return fmt.Errorf("class %d: startable, D, occupied = %d, %d, %d, want %d, %d, %d",
				c, l.startable, l.demand, l.occupied, want.startable, want.demand, want.occupied)
		case l.waiting.Len() != waits:
			return fmt.Errorf("class %d: %d jobs wait, want %d", c, l.waiting.Len(), waits)
		case !slices.Equal(l.teenaged, want.teenaged) || !slices.Equal(l.short, want.short) || !slices.Equal(l.adults, want.adults):
			return fmt.Errorf("class %d: lists of teenaged jobs and adults differ", c)
		case l.demand < 0 || l.senile() < 0:
			return fmt.Errorf("class %d: D = %d, Osen = %d", c, l.demand, l.senile())
		}
	}
	for n := range sojourn.NodeID(12) { // T7: R_n does not drift
		var load uint64
		for _, j := range p.ledger.AppendJobs(nil) {
			if j.Data.status.coScheduled() {
				load += j.Data.amt * uint64(p.index.Local(j, 0, n))
			}
		}
		if got := p.index.Load(n); got != load {
			return fmt.Errorf("R of node %d = %d, want %d", n, got, load)
		}
	}
	return nil
}

// CountCool counts how often p asks whether a node is cool.
func CountCool(p *Policy) *int {
	n := new(int)
	p.cool = func(id sojourn.NodeID) bool {
		*n++
		return p.isCool(id)
	}
	return n
}
