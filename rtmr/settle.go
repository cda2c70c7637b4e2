package rtmr

import (
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/slotvec"
)

// A reason says why promises are void: the hypotheses that did not hold.
type reason uint8

const (
	byOverrun  reason = 1 << iota // H1: an attempt outlasted its estimate
	bySlots                       // H2: slots were lost
	byFailure                     // H2: a task has to run again
	byHold                        // H3: a task may not start
	byIdling                      // H3: free slots were not offered
	byAdoption                    // the job was adopted and did not fit, or its attempts ran already
	byRevision                    // the job was revised while its promise was void
)

var reasonTexts = [...]string{
	"an attempt outlasts its estimate", "slots were lost", "a task has to run again",
	"a task is or was held", "free slots were not offered", "adopted", "revised",
}

// String lists the reasons.
func (r reason) String() string {
	var all []string
	for i, text := range reasonTexts {
		if r&(1<<i) != 0 {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// restores bounds how many void promises one evaluation tries to restore, the most
// urgent first.
const restores = 8

// settle brings the marks up to date with the present instant.
//
// The hard marks are those that held when the instant began, or when the last task was
// assigned or job admitted in it. The marks are computed from them and from what the
// account says now, whenever something asks for them, so that neither asking nor a slot
// that comes and goes within an instant leaves a trace.
func (p *Policy) settle() {
	if p.fresh {
		return
	}
	p.restore()
	p.fresh = true
	if p.unsettled() || p.idled {
		cause := p.cause
		if p.slots[maps] < p.hardSlots[maps] || p.slots[reduces] < p.hardSlots[reduces] {
			cause |= bySlots
		}
		p.evaluate(p.now(), cause)
	}
}

// unsettled reports whether something happened at this instant that the hard marks do
// not know of.
func (p *Policy) unsettled() bool { return p.dirty || p.slots != p.hardSlots }

// restore makes the marks the hard ones again.
func (p *Policy) restore() {
	if p.soft {
		for _, j := range p.order.jobs {
			j.Data.mark = j.Data.hard
		}
		p.root = p.hardRoot
		p.soft = false
		p.reorder()
	}
	p.fresh = false
}

// harden makes the marks, which are up to date, hard.
func (p *Policy) harden() {
	if p.soft {
		p.voids = 0
		for _, j := range p.order.jobs {
			j.Data.hard = j.Data.mark
			if j.Data.mark.promise == void {
				p.voids++
			}
		}
		p.soft, p.stale, p.hardRoot = false, false, p.root
	}
	p.dirty, p.cause, p.hardSlots, p.idled = false, 0, p.slots, false
}

// idling reports whether a free slot waits in vain for being offered although a task
// could start there, and since when. That is no news while the pad on the times of
// tasks allows for it. It is looked at when time passes.
func (p *Policy) idling() (since sojourn.Time, ok bool) {
	for s, free := range p.free {
		if free > 0 && p.choose(sojourn.Class(s)) != nil {
			if p.waits {
				return p.since, true
			}
			return p.ledger.Now(), true
		}
	}
	return 0, false
}

// reorder files all jobs anew after marks have changed.
func (p *Policy) reorder() {
	for _, j := range p.order.jobs {
		p.setKey(j)
	}
	p.order.sort()
	for _, j := range p.order.jobs {
		p.refile(j)
	}
}

// evaluate finds out which promises hold as of an instant, after something happened
// that they had not reckoned with: promises that cannot be kept become void, and void
// ones are restored where they fit. cause is what has happened that the hard marks do not
// know of, if the marks do not know of it yet either; what time alone has done is added.
func (p *Policy) evaluate(now int64, cause reason) {
	if p.due(now) {
		cause |= byOverrun
	}
	if p.idled {
		cause |= byIdling
	}
	p.reality(&p.base, now)
	changed := p.opts.Booking == Chain
	p.list = p.promised(p.list[:0], now, nil)
	w, keep := &p.walk, p.list[:0]
	w.begin(&p.base, now)
	for i := range p.list {
		en := p.list[i]
		if _, e := w.try(&en); en.late(e) {
			en.job.Data.mark = mark{promise: void, why: cause}
			changed = true
			continue
		}
		w.keep()
		keep = append(keep, en)
	}
	p.list = keep
	tries := 0
	for _, j := range p.order.jobs {
		d := &j.Data
		if d.mark.promise != void || j.Cancelled || d.deadline <= now {
			continue
		}
		if tries++; tries > restores {
			break
		}
		en := p.entry(j, now)
		en.promised, en.place = true, p.place(d.deadline)
		p.virtual(&en)
		if en.stuck || en.running[maps] == never || en.running[reduces] == never {
			continue
		}
		a, first := p.admission(en, now)
		place, broken, _ := a.decide()
		if broken != nil {
			continue
		}
		en.place = place
		p.list = slices.Insert(p.list, first+a.natural(place), en)
		d.mark = mark{promise: kept, place: place}
		changed = true
	}
	if p.opts.Booking == Chain {
		p.rebase(now)
	}
	if changed {
		p.soft = true
		p.reorder()
	}
}

// place returns the place of a job of that deadline.
func (p *Policy) place(deadline int64) int64 {
	if p.opts.Order == FIFO {
		return 0
	}
	return deadline
}

// entry describes what is left of a job.
func (p *Policy) entry(j *job, now int64) entry {
	d := &j.Data
	en := entry{
		job: j, id: j.Spec.ID, eps: d.eps, seq: j.Seq,
		promised: d.mark.promise == kept && !j.Cancelled, deadline: d.deadline, place: d.mark.place,
	}
	for s := range en.tasks {
		if d.phase[s] < 0 {
			continue
		}
		en.tasks[s] = p.left(j, s)
		en.stuck = en.stuck || !j.Cancelled && en.tasks[s] > int64(j.Phases[d.phase[s]].Pending())
		en.running[s] = d.running[s].end(d.eps[s], now)
	}
	if d.mark.started == 0 {
		p.virtual(&en)
	}
	return en
}

// end returns when all running attempts have ended at the latest: 0 if none runs, and
// never if one has outlasted its estimate.
func (s *starts) end(eps, now int64) int64 {
	last, ok := s.last()
	if !ok {
		return 0
	}
	if slotvec.Add(int64(s.runs[s.head].at), eps) < now {
		return never
	}
	return slotvec.Add(int64(last), eps)
}

// promised appends the entries of the jobs whose deadlines must be kept, in the order in
// which they are served, without one of them.
func (p *Policy) promised(dst []entry, now int64, without *job) []entry {
	for _, j := range p.order.jobs {
		if j.Data.mark.promise == kept && !j.Cancelled && j != without {
			dst = append(dst, p.entry(j, now))
		}
	}
	return dst
}

// admission prepares the test of a candidate among the jobs of p.list, the first of which
// have started with Chain and are not overtaken; the vectors are in p.base.
func (p *Policy) admission(cand entry, now int64) (a *admission, first int) {
	w := &p.walk
	w.begin(&p.base, now)
	for first < len(p.list) && p.list[first].job.Data.mark.started > 0 {
		w.pass(&p.list[first])
		first++
	}
	for s := range w.at {
		p.head[s] = append(p.head[s][:0], w.at[s]...)
	}
	return p.test(cand, p.list[first:], now), first
}

// test prepares the test of a candidate among jobs behind the vectors in p.head.
func (p *Policy) test(cand entry, list []entry, now int64) *admission {
	a := &p.admit
	a.list, a.base, a.cand, a.now = list, &p.head, cand, now
	a.one = p.opts.OnePosition || p.opts.Order == FIFO
	return a
}
