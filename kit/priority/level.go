package priority

import (
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/inside"
	"github.com/sojourn-sched/sojourn/internal/ready"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// Most is how many priorities may have live jobs at a time.
const Most = 64

// spare is how many policies without live jobs are kept, besides that of priority 0.
const spare = 8

// A level is the jobs of one priority and their policy. The policy knows these jobs, the slots on which they run, and the
// free ones.
type level struct {
	priority int32
	in       inside.Guest
	due      bool // it waits for this very instant, and has not got a Tick at it

	jobs    int    // live
	idle    uint64 // when it became idle, as counted in the Policy; 0 while it has jobs
	ready   ready.Queue[uint64]
	classes []class
}

// A class is what a level has on slots of one class.
type class struct {
	startable   int64        // tasks of its jobs that could start, if its policy wants
	since       sojourn.Time // when it last started something, or since when there are any
	first, last link         // its attempts that may be asked for, the youngest last
}

func newLevel(priority int32, in sojourn.Policy) *level {
	return &level{priority: priority, in: inside.New("priority", in), ready: ready.New(func(a, b uint64) bool { return a < b }, nil)}
}

// observe reports an event.
func (l *level) observe(ev sojourn.Event) error {
	err := l.in.Observe(ev)
	if err == nil {
		l.due = l.in.Due(ev.At)
	}
	return err
}

// must reports an event that fits.
func (l *level) must(ev sojourn.Event) {
	l.in.Must(ev)
	l.due = l.in.Due(ev.At)
}

// class returns what the level has on slots of class c.
func (l *level) class(c sojourn.Class) *class {
	for int(c) >= len(l.classes) {
		l.classes = append(l.classes, class{})
	}
	return &l.classes[c]
}

// wants reports whether the level has something to start on slots of class c, if its policy wants.
func (l *level) wants(c sojourn.Class) bool {
	return int(c) < len(l.classes) && l.classes[c].startable > 0
}

// find returns where the level of a priority is, or would be.
func (p *policy) find(priority int32) (int, bool) {
	return slices.BinarySearchFunc(p.levels, priority, func(l *level, priority int32) int {
		switch {
		case l.priority > priority:
			return -1
		case l.priority < priority:
			return 1
		}
		return 0
	})
}

// live returns how many levels have live jobs.
func (p *policy) live() (n int) {
	for _, l := range p.levels {
		if l.jobs > 0 {
			n++
		}
	}
	return n
}

// levelFor returns the level for a job of a priority, with all that its policy has to know. One that is new is not listed:
// see enter. An adopted job always gets one. Of the levels with live jobs, so many are about to lose them.
func (p *policy) levelFor(priority int32, adopted bool, leaving int) (*level, error) {
	i, ok := p.find(priority)
	if ok && p.levels[i].jobs > 0 {
		return p.levels[i], nil
	}
	if !adopted && p.live()-leaving >= Most {
		return nil, fmt.Errorf("%w: priority %d: jobs of %d priorities are live, and no more can be", sojourn.ErrUnsupported, priority, p.live())
	}
	if ok {
		return p.levels[i], nil
	}
	l := newLevel(priority, p.inside())
	now := p.ledger.Now()
	l.must(sojourn.Event{Kind: sojourn.Tick, At: now})
	for _, s := range p.ledger.AppendDown(nil) {
		l.must(sojourn.Event{Kind: sojourn.NodeDown, At: now, Slot: s})
	}
	for s := range p.ledger.Slots() {
		if _, busy := p.ledger.Busy(s.ID); !busy {
			l.must(sojourn.Event{Kind: sojourn.SlotAdded, At: now, Slot: s})
		}
	}
	return l, nil
}

// enter makes a job one of a level.
func (p *policy) enter(l *level, j *ledger.Job[job]) {
	if i, ok := p.find(l.priority); !ok {
		p.levels = slices.Insert(p.levels, i, l)
	}
	l.jobs++
	l.idle = 0
	j.Data.level, j.Data.startable = l, make([]int32, j.NumSides())
	p.count(j)
}

// leave takes a job out of its level. Of the levels without jobs, the one that became so first goes.
func (p *policy) leave(j *ledger.Job[job]) {
	l := j.Data.level
	for i := range j.Data.startable {
		l.recount(p, j, j.Side(i), &j.Data.startable[i], 0)
	}
	if l.jobs--; l.jobs > 0 {
		return
	}
	p.idle++
	l.idle = p.idle
	var first *level
	n := 0
	for _, o := range p.levels {
		if o.idle > 0 && o.priority != 0 {
			if n++; first == nil || o.idle < first.idle {
				first = o
			}
		}
	}
	if n > spare {
		p.levels = slices.DeleteFunc(p.levels, func(o *level) bool { return o == first })
	}
}

// count brings up to date what a job could start.
func (p *policy) count(j *ledger.Job[job]) {
	for i := range j.Data.startable {
		side := j.Side(i)
		j.Data.level.recount(p, j, side, &j.Data.startable[i], int32(side.Startable()))
	}
}

// recount changes how many tasks of a side could start.
func (l *level) recount(p *policy, j *ledger.Job[job], side *ledger.Side, counted *int32, n int32) {
	if n == *counted {
		return
	}
	c := l.class(side.Class())
	if c.startable == 0 {
		c.since = p.ledger.Now()
	}
	c.startable += int64(n - *counted)
	*counted = n
	if n > 0 {
		l.ready.Set(side.Class(), j.Handle(), j.Seq())
	} else {
		l.ready.Remove(side.Class(), j.Handle())
	}
}
