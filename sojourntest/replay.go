package sojourntest

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// replay makes the calls of h on s, and compares their outcomes with those
// recorded in h; with views, also what the optional interfaces say after each.
func (tr *trial) replay(law string, s *subject, h history, views bool) {
	for i := range h {
		want := &h[i]
		got := *want
		what := panicked(func() {
			if want.assign {
				got.a, got.ok = s.Assign(want.slot)
			} else {
				got.err = sentinel(s.Observe(want.ev))
			}
		})
		if what != "" {
			tr.fail(law, h[:i+1], "replayed, %v panics: %s", want, what)
		}
		if !sameOutcome(&got, want) {
			tr.fail(law, h[:i+1], "replayed, line %d, %v = %s, want %s", i+2, want, got.outcome(), want.outcome())
		}
		if views {
			got.after = s.view(tr.o.classes())
			if diff := got.after.differs(&want.after); diff != "" {
				tr.fail(law, h[:i+1], "replayed, after line %d, %v: %s", i+2, want, diff)
			}
		}
	}
}

// replays checks the laws that compare histories: each rewrites the history of
// the trial into one whose outcome is known.
func (tr *trial) replays() {
	fresh := func() *subject { return newSubject(tr.newPolicy()) }
	// The order of a map is the same by chance now and then; not three times.
	tr.replay(lawDeterminism, fresh(), tr.h, true)
	tr.replay(lawDeterminism, fresh(), tr.h, false)
	tr.replay(lawDeterminism, fresh(), tr.h, false)
	tr.replay(lawAtomicity, fresh(), tr.h.where(func(c *call) bool { return c.err == nil }), false)
	tr.replay(lawDeclines, fresh(), tr.h.where(func(c *call) bool { return !c.assign || c.ok }), false)
	tr.replay(lawTicks, fresh(), tr.h.withTicks(), false)
	tr.replay(lawFlicker, fresh(), tr.h.withFlicker(), false)
	tr.replay(lawNames, fresh(), tr.h.renamed(), false)
	tr.replay(lawEpoch, fresh(), tr.h.postponed(1001*time.Hour+time.Minute+time.Second+1), false)
	tr.replay(lawFields, fresh(), tr.h.littered(), false)
	tr.replay(lawWrappers, newSubject(sojourn.NewLocked(wrapper{tr.newPolicy()})), tr.h, true)
	tr.restore(fresh)
}

// A wrapper hides nothing.
type wrapper struct{ p sojourn.Policy }

func (w wrapper) Observe(ev sojourn.Event) error { return w.p.Observe(ev) }

func (w wrapper) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return w.p.Assign(id) }

func (w wrapper) Unwrap() sojourn.Policy { return w.p }

// withTicks returns h without its refused events, and with as many Ticks as
// nobody asked for: before each call, one at once, and one half-way to the next
// event.
func (h history) withTicks() (out history) {
	h = h.where(func(c *call) bool { return c.err == nil })
	var now sojourn.Time
	for i := range h {
		if i == 0 {
			out = append(out, h[i])
			now = h[i].ev.At
			continue
		}
		ticks := []sojourn.Time{now}
		if !h[i].assign {
			ticks = append(ticks, now+(h[i].ev.At-now)/2)
			now = h[i].ev.At
		}
		for _, at := range ticks {
			if !h[i-1].after.due(at) {
				out = append(out, call{ev: sojourn.Event{Kind: sojourn.Tick, At: at}})
			}
		}
		out = append(out, h[i])
	}
	return out
}

// withFlicker returns h with slots that come and go between its calls, of classes
// of which no task could start at the time.
func (h history) withFlicker() (out history) {
	var now sojourn.Time
	for i := range h {
		out = append(out, h[i])
		if !h[i].assign && h[i].err == nil {
			now = h[i].ev.At
		}
		if h[i].after.due(now) {
			continue
		}
		for _, class := range h[i].idle {
			s := sojourn.Slot{ID: maxSlotID + 1<<9, Class: class}
			out = append(out,
				call{ev: sojourn.Event{Kind: sojourn.SlotAdded, At: now, Slot: s}},
				call{assign: true, slot: s.ID},
				call{ev: sojourn.Event{Kind: sojourn.SlotRemoved, At: now, Slot: s}})
		}
	}
	return out
}

// renamed returns h with other job IDs, in another order.
func (h history) renamed() history {
	name := func(id sojourn.JobID) sojourn.JobID {
		if id == 0 {
			return 0
		}
		return 1<<63 - id*id*1e9
	}
	return h.mapped(func(c *call) {
		if c.ev.Job != nil {
			j := *c.ev.Job // shares the lists, which nobody changes
			j.ID = name(j.ID)
			c.ev.Job = &j
		}
		c.ev.Task.Job = name(c.ev.Task.Job)
		c.rejection = nil // it is not compared
		c.a.Task.Job = name(c.a.Task.Job)
	})
}

// postponed returns h with all times later by d.
func (h history) postponed(d time.Duration) history {
	return h.mapped(func(c *call) {
		if c.ev.At >= 0 {
			c.ev.At = c.ev.At.Add(d)
		}
		if c.ev.Job != nil && c.ev.Job.Deadline > 0 {
			j := *c.ev.Job
			j.Deadline = j.Deadline.Add(d)
			c.ev.Job = &j
		}
		c.rejection = nil // it is not compared
	})
}

// littered returns h with nonsense in all fields that the kinds of its events do
// not use.
func (h history) littered() history {
	return h.mapped(func(c *call) {
		if c.assign || !c.ev.Kind.Valid() {
			return
		}
		ev := sojourn.Event{
			Kind: c.ev.Kind, At: c.ev.At,
			Cause: 77, Progress: 1<<16 - 1, Attempt: 1<<32 - 1, Service: -5,
			Task: sojourn.TaskID{Job: 1 << 50, Index: 1<<32 - 1, Phase: 1<<16 - 1},
			Slot: sojourn.Slot{ID: 1<<32 - 1, Node: 1 << 30, Rack: 1 << 30, Class: 200},
			Job:  &sojourn.Job{Weight: -1},
		}
		switch c.ev.Kind {
		case sojourn.SlotAdded:
			ev.Slot = c.ev.Slot
		case sojourn.SlotRemoved:
			ev.Slot.ID = c.ev.Slot.ID
		case sojourn.NodeDown, sojourn.NodeUp:
			ev.Slot.Node, ev.Slot.Rack = c.ev.Slot.Node, c.ev.Slot.Rack
		case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
			ev.Job = c.ev.Job
		case sojourn.JobCancelled:
			if ev.Job = c.ev.Job; ev.Job != nil {
				ev.Job = &sojourn.Job{ID: ev.Job.ID, Weight: -1}
			}
		case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone:
			ev.Task = c.ev.Task
		case sojourn.OutputLost:
			ev.Task, ev.Attempt = c.ev.Task, c.ev.Attempt
		case sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
			ev.Task, ev.Attempt, ev.Slot.ID = c.ev.Task, c.ev.Attempt, c.ev.Slot.ID
		}
		switch c.ev.Kind {
		case sojourn.TaskProgress:
			ev.Progress, ev.Service = c.ev.Progress, c.ev.Service
		case sojourn.TaskFailed:
			ev.Cause, ev.Service = c.ev.Cause, c.ev.Service
		case sojourn.TaskAdopted, sojourn.TaskFinished:
			ev.Service = c.ev.Service
		}
		c.ev = ev
	})
}

// restore stops at some call, and continues on policies restored from a
// snapshot: a new one, and one with a past of its own.
func (tr *trial) restore(fresh func() *subject) {
	if tr.s.snapshotter == nil || len(tr.h) == 0 {
		return
	}
	cut := 1 + tr.draw("cut", len(tr.h))
	before, after := tr.h[:cut], tr.h[cut:]
	data := tr.h[cut-1].after.state
	if len(data) == 0 {
		tr.fail(lawSnapshots, before, "AppendBinary(nil) appends nothing")
	}
	used := fresh()
	tr.replay(lawDeterminism, used, tr.h[:tr.draw("past", len(tr.h))], false)
	for _, s := range []*subject{fresh(), used} {
		if err := s.snapshotter.UnmarshalBinary(slices.Clone(data)); err != nil {
			tr.fail(lawSnapshots, before, "UnmarshalBinary of a snapshot taken after line %d: %v", cut+1, err)
		}
		if v := s.view(tr.o.classes()); v.differs(&before[cut-1].after) != "" {
			tr.fail(lawSnapshots, before, "restored after line %d, %s", cut+1, v.differs(&before[cut-1].after))
		}
		tr.replay(lawSnapshots, s, after, true)
	}

	s := fresh()
	tr.replay(lawDeterminism, s, before, false)
	for _, bad := range tr.damaged(data) {
		var err error
		if what := panicked(func() { err = s.snapshotter.UnmarshalBinary(bad) }); what != "" {
			tr.fail(lawSnapshots, before, "UnmarshalBinary(%.300q) panics: %s", bad, what)
		}
		if err == nil {
			tr.fail(lawSnapshots, before, "UnmarshalBinary(%.300q) = nil, but the snapshot was %.300q", bad, data)
		}
	}
	tr.replay(lawSnapshots, s, after, true)
}

// damaged returns snapshots with one bit flipped, and of a wrong length.
func (tr *trial) damaged(data []byte) [][]byte {
	list := [][]byte{nil, data[:tr.draw("length", len(data))], append(slices.Clone(data), 0)}
	const flips = 16
	for i := range flips {
		flipped := slices.Clone(data)
		flipped[(tr.draw("byte", len(data))+i*len(data)/flips)%len(data)] ^= 1 << tr.draw("bit", 8)
		list = append(list, flipped)
	}
	return list
}

// misuse offers slots that may not be offered, each to a policy of its own.
func (tr *trial) misuse() {
	bad := map[string]sojourn.SlotID{"unknown": maxSlotID + 1}
	for _, s := range tr.m.slots {
		if s.retiring {
			bad["retiring"] = s.ID
		} else if s.task != nil {
			bad["busy"] = s.ID
		}
	}
	for _, state := range []string{"unknown", "retiring", "busy"} {
		id, ok := bad[state]
		if !ok {
			continue
		}
		s := newSubject(tr.newPolicy())
		tr.replay(lawDeterminism, s, tr.h, false)
		if panicked(func() { s.Assign(id) }) == "" {
			tr.fail(lawMisuse, append(tr.h, call{assign: true, slot: id}), "Assign(%d) does not panic, although the slot is %s", id, state)
		}
	}
}
