package td

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// requestAsPrinted is Algorithms 1 to 3 as the paper prints them, with the changes that
// they cannot do without:
//
//   - "is empty" in lines 9 and 19 of Algorithm 1 is "is not empty";
//   - a slot counts as released when its task ends, and not each time that it asks;
//   - a job that becomes senile leaves its other set;
//   - demands are limited;
//   - a slot on which no task has run yet asks as if its last job were senile.
//
// If a function finds nothing, the slot gets nothing.
func (p *Policy) requestAsPrinted(l *lane, s sojourn.Slot) (choice, bool) {
	if c, ok := p.fromQueue(&p.first, s, p.give); ok { // the paper has no reduces
		return c, true
	}
	last := p.last.get(s.ID)
	if last != nil && last.Data.lane == l && (last.Data.teen || last.Data.short) {
		return p.give(last, 0, s) // lines 2 to 4
	}
	if last == nil || last.Data.status >= senile { // lines 6 to 18
		p.updateOnce(l)
	}
	if len(l.teenaged) > 0 { // lines 19 to 21
		return p.give(l.teenaged[0], 0, s)
	}
	if c, ok := p.assignAsPrinted(l, s); ok {
		return c, true
	}
	return p.fromQueue(&p.early, s, p.give)
}

// assignAsPrinted is Algorithm 2.
func (p *Policy) assignAsPrinted(l *lane, s sojourn.Slot) (choice, bool) {
	a := ask{lane: l, slot: s, near: p.index.Watched(s.Node)}
	if c, ok := p.localAdult(a, true); ok { // lines 2 to 5
		return c, true
	}
	if c, ok := p.localInfantile(a, true); ok { // lines 6 to 8
		return c, true
	}
	for _, r := range slices.Backward(l.adults) { // lines 9 to 13
		if p.underH(l, r.job, r.job.Data.demand) {
			return p.remote(r.job, 0, s)
		}
	}
	if i := l.infantile; i != nil { // lines 14 to 16
		return p.remote(i, 0, s)
	}
	return choice{}, false
}
