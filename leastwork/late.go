package leastwork

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
	"github.com/sojourn-sched/sojourn/internal/charge"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

const (
	// patience is how many times the work of a job its class offers, after the job joined it, until
	// the job is late.
	patience = 512

	// share is one over the part of its slot time that a class gives to late jobs.
	share = 16

	// most bounds by how many octaves a guess is taken to be off.
	most = 10
)

// A clock shows the slot time that a class has offered, whether it was used or not: the integral
// of the number of its slots over time, in slot-nanoseconds. It begins at dawn, and is below 2^88.
type clock struct {
	offered wide.Uint128 // until since
	since   sojourn.Time
	slots   uint64 // from then on
}

// dawn is what each clock shows at first, so that jobs may have joined before: no job is older than
// 2^63 ns. It is 2^87.
var dawn = wide.Mul64(1<<63, sojourn.MaxSlots)

// before returns what c would have shown so long ago, if its slots had been the same since then.
func (c *clock) before(now sojourn.Time, ago time.Duration) wide.Uint128 {
	return c.read(now).Sub(wide.Mul64(uint64(ago), c.slots))
}

// read returns what c shows at an instant.
func (c *clock) read(now sojourn.Time) wide.Uint128 {
	return c.offered.Add(wide.Mul64(uint64(now-c.since), c.slots))
}

// set changes the number of slots.
func (c *clock) set(now sojourn.Time, slots int) { *c = clock{c.read(now), now, uint64(slots)} }

// when returns the first instant at which c shows at least v, if its slots stay as they are; false
// if that is beyond the range of [sojourn.Time].
func (c *clock) when(v wide.Uint128) (sojourn.Time, bool) {
	if !c.offered.Less(v) {
		return c.since, true
	}
	if c.slots == 0 {
		return 0, false
	}
	wait, rest := v.Sub(c.offered).QuoRem(wide.From64(c.slots))
	if !rest.IsZero() {
		wait = wait.Add(wide.From64(1))
	}
	if wait.Hi != 0 || wait.Lo > uint64(math.MaxInt64-c.since) {
		return 0, false
	}
	return c.since + sojourn.Time(wait.Lo), true
}

// A turn says when a class serves its late jobs.
type turn struct {
	clock
	held bitset.Set // slots of the class that run what was started because it was late; each is busy

	// What the clock shows when the next late job may start, or could have if it had been late; while
	// something is held, for the time before it.
	next wide.Uint128
	owed charge.Debt
}

// open reports whether a job may start at an instant that is late from due on.
func (t *turn) open(now sojourn.Time, due wide.Uint128) bool {
	shown := t.read(now)
	return !t.full() && !shown.Less(due) && !shown.Less(t.next)
}

// full reports whether late jobs hold as many slots as they may.
func (t *turn) full() bool { return uint64(t.held.Len())*share >= t.slots }

// begin takes in that a job starts on a slot that is late from due on.
func (t *turn) begin(id sojourn.SlotID, due wide.Uint128) {
	t.held.Add(int(id))
	t.next = later(t.next, due)
}

// end takes in that an event ends an attempt that began at start. A class that has fewer slots
// than share gives late jobs more than their part while one runs, so that the next one has to wait.
func (t *turn) end(ev *sojourn.Event, start sojourn.Time) {
	id := int(ev.Slot.ID)
	if !t.held.Has(id) {
		return
	}
	t.held.Remove(id)
	if t.slots >= share {
		return
	}
	if due, ok := t.owed.End(ev, ev.At.Sub(start)); ok {
		t.next = t.next.AddCapped(wide.Mul64(share, due))
	}
}

func later(a, b wide.Uint128) wide.Uint128 {
	if a.Less(b) {
		return b
	}
	return a
}

// turn returns the turn of a class.
func (p *Policy) turn(c sojourn.Class) *turn {
	for int(c) >= len(p.turns) {
		p.turns = append(p.turns, turn{clock: clock{offered: dawn}})
	}
	return &p.turns[c]
}

// join lets a side of a job join its class, as if that had happened so long ago.
func (p *Policy) join(j *ledger.Job[jobData], i int, ago time.Duration) {
	j.Data.sides[i].joined = p.turn(j.Side(i).Class()).before(p.queue.Ledger.Now(), ago)
	p.postpone(j, i)
}

// postpone computes when a side is late, from when it joined and what work it has now. Where that is
// a guess which is usually off by a factor, its work is taken to be more by that factor.
func (p *Policy) postpone(j *ledger.Job[jobData], i int) {
	off, b, side := octaves(0), p.beliefs.of(j.Side(i).Class()), &j.Data.sides[i]
	if side.told {
		off = b.offBy(true)
	}
	if side.untold {
		off = max(off, b.offBy(false))
	}
	p.setDue(j, i, side.joined.AddCapped(allowance(side.work, min(int(off.whole()/octave), most), j.Weight())))
}

// setDue changes when a side is late.
func (p *Policy) setDue(j *ledger.Job[jobData], i int, due wide.Uint128) {
	side := &j.Data.sides[i]
	if side.due = due; side.filed {
		p.due.Set(j.Side(i).Class(), j.Handle(), key{due, j.Seq()})
	}
}

// allowance returns how much a class offers until a job is late of so much work, that may be more by
// so many octaves.
func allowance(work wide.Uint128, off int, weight uint64) wide.Uint128 {
	work = weigh(work, 0, false, weight) // below 2^115
	return work.MulU64(patience << off)
}

// delay takes in what an event about a task does to when its job is late. If another phase can
// start by it, that joins its class: of an adopted job as long ago as the job had come when it was
// adopted, if a task was told to be done. If an attempt failed, the time for which it held its slot
// is work of the job, when it is charged: before the next phase joins, which begins anew.
func (p *Policy) delay(ev *sojourn.Event, c ledger.Change[jobData]) {
	j, i := c.Job, int(ev.Task.Phase)
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		k := j.Phase(i).Side()
		side := &j.Data.sides[k]
		wasted := ev.At.Sub(c.Start)
		if ev.Kind == sojourn.TaskFinished {
			wasted = 0
		}
		if due, ok := side.owed.End(ev, wasted); ok && due > 0 {
			more := allowance(wide.From64(due), 0, j.Weight())
			side.joined = side.joined.AddCapped(more)
			p.setDue(j, k, side.due.AddCapped(more))
		}
	}
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskDone:
		ago := time.Duration(0)
		if ev.Kind == sojourn.TaskDone {
			ago = j.Data.age
		}
		p.fed = j.AppendFed(p.fed[:0], i)
		for _, k := range p.fed {
			if j.Phase(k).Ready() && j.Phase(i).Done() == waitsFor(j.Spec(), k, i) {
				p.join(j, j.Phase(k).Side(), ago)
			}
		}
	}
}

// waitsFor returns how many tasks of phase i have to finish before phase k may start, which waits
// for it; 0 if phase k needs none of it.
func waitsFor(spec *sojourn.Job, k, i int) int {
	if spec.Phases[k].Needs != nil {
		return spec.Phases[i].Tasks
	}
	return spec.Threshold(k)
}

// fileDue files a job by when it is late, where it has something to start. Most events change neither.
func (p *Policy) fileDue(j *ledger.Job[jobData]) {
	for i := range j.NumSides() {
		account, side := j.Side(i), &j.Data.sides[i]
		starts := account.Startable() > 0
		switch {
		case starts && !side.filed:
			p.due.Set(account.Class(), j.Handle(), key{side.due, j.Seq()})
		case !starts && side.filed:
			p.due.Remove(account.Class(), j.Handle())
		}
		side.filed = starts
	}
}

// late returns the job that gets the next slot of a class because it is late, and since when; nil if
// none does.
func (p *Policy) late(c sojourn.Class) (j *ledger.Job[jobData], due wide.Uint128) {
	h, first, ok := p.due.First(c)
	if !ok || !p.turns[c].open(p.queue.Ledger.Now(), first.work) {
		return nil, due
	}
	return p.queue.Ledger.ByHandle(h), first.work
}

// NextWake implements [sojourn.Waker]: it returns when the next job becomes late that may
// then start on a slot which is free now, but is kept for shorter tasks.
func (p *Policy) NextWake() (next sojourn.Time, ok bool) {
	now := p.queue.Ledger.Now()
	for c := range p.turns {
		class, t := sojourn.Class(c), &p.turns[c]
		_, due, any := p.due.First(class)
		if !any || t.full() || p.queue.Ledger.FreeSlots(class) == 0 || t.open(now, due.work) {
			continue
		}
		if at, fits := t.when(later(due.work, t.next)); fits && (!ok || at < next) {
			next, ok = at, true
		}
	}
	return next, ok
}

// lateIn returns how long it takes until j is late on the slots of some class; false if nothing of it
// can start, or no class has slots that goes on for so long.
func (p *Policy) lateIn(j *ledger.Job[jobData]) (wait time.Duration, ok bool) {
	now := p.queue.Ledger.Now()
	for i := range j.NumSides() {
		side := j.Side(i)
		at, fits := p.turns[side.Class()].when(j.Data.sides[i].due)
		if w := max(0, at.Sub(now)); fits && side.Startable() > 0 && (!ok || w < wait) {
			wait, ok = w, true
		}
	}
	return wait, ok
}
