package sojourntest

import (
	"errors"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// replay makes the calls of h on s, and compares their outcomes with those
// recorded in h; with views, also what the optional interfaces say, where the trial
// asked for everything.
func (tr *trial) replay(law string, s *subject, h history, views bool) {
	tr.replayFrom(law, s, h, 0, views)
}

// replayFrom is replay of the calls from a number on, on a policy that has come so
// far.
func (tr *trial) replayFrom(law string, s *subject, h history, from int, views bool) {
	for i := from; i < len(h); i++ {
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
		if views && want.after.full {
			if diff := s.view(tr.names.classes, true).differs(want.after); diff != "" {
				tr.fail(law, h[:i+1], "replayed, after line %d, %v: %s", i+2, want, diff)
			}
		}
	}
}

// replays checks the laws that compare histories: each rewrites the history of
// the trial into one whose outcome is known.
func (tr *trial) replays() {
	h := tr.h
	plain := func() sojourn.Policy { return tr.newPolicy() }
	// The order of a map is the same by chance now and then; not in all these replays.
	tr.together(true,
		rewriting{lawDeterminism, h, plain},
		rewriting{lawWrappers, h, tr.wrapped})
	fits := h.where(func(c *call) bool { return c.err == nil })
	tr.together(false,
		rewriting{lawAtomicity, fits, plain},
		rewriting{lawDeclines, h.where(func(c *call) bool { return !c.assign || c.ok }), plain},
		rewriting{lawDeclines, fits.where(func(c *call) bool { return !c.assign || c.ok }), plain})
	tr.together(false,
		rewriting{lawTicks, h.withTicks(), plain},
		rewriting{lawFlicker, h.withFlicker(), plain},
		rewriting{lawFlicker, h.withTicks().withFlicker(), plain})
	later := func(h history) history {
		if tr.extreme {
			return h // there may be no room
		}
		return h.postponed(tr.shift())
	}
	tr.together(false,
		rewriting{lawNames, tr.renamed(h), plain},
		rewriting{lawEpoch, later(h), plain},
		rewriting{lawFields, h.littered(), plain},
		rewriting{lawFields, later(tr.renamed(h)).littered(), plain})
	tr.restore(func() *subject { return newSubject(tr.newPolicy()) })
}

// A rewriting is a history that has the outcomes of the trial's by a law.
type rewriting struct {
	law       string
	h         history
	newPolicy func() sojourn.Policy
}

// together replays the last of a list, which does what all of them do at once. Where
// that breaks a law, it looks which of them does by itself.
func (tr *trial) together(views bool, list ...rewriting) {
	all := list[len(list)-1]
	replay := func(r rewriting) { tr.replay(r.law, newSubject(r.newPolicy()), r.h, views) }
	if b := breachOf(func() { replay(all) }); b != nil {
		for _, r := range list {
			replay(r)
		}
		panic(b)
	}
}

// shift is by how much times are later when the epoch is another.
func (tr *trial) shift() time.Duration {
	if tr.plain {
		return time.Second + 1
	}
	return 1001*time.Hour + time.Minute + time.Second + 1
}

// A wrapper hides nothing, and can do something that no other wrapper has heard of.
type wrapper struct{ p sojourn.Policy }

func (w wrapper) Observe(ev sojourn.Event) error { return w.p.Observe(ev) }

func (w wrapper) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return w.p.Assign(id) }

func (w wrapper) Unwrap() sojourn.Policy { return w.p }

func (w wrapper) unheardOf() {}

// wrapped returns a policy behind a wrapper that hides nothing, and behind a lock or the
// wrapper under test, which may not hide what it does not know.
func (tr *trial) wrapped() sojourn.Policy {
	wrap := tr.o.Wrap
	if wrap == nil {
		wrap = func(p sojourn.Policy) sojourn.Policy { return sojourn.NewLocked(p) }
	}
	p := wrap(wrapper{tr.newPolicy()})
	found := 0
	for range sojourn.All[interface{ unheardOf() }](p) {
		found++
	}
	if found != 1 {
		tr.fail(lawWrappers, nil, "a policy inside can do something that a %T does not know; All finds %d such policies, want 1", p, found)
	}
	return p
}

// withTicks returns h without its refused events, and with as many Ticks as
// nobody asked for: before each call, one at once, and one half-way to the next
// event.
func (h history) withTicks() (out history) {
	h = h.where(func(c *call) bool { return c.err == nil })
	out = make(history, 0, 3*len(h))
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
	out = make(history, 0, 4*len(h))
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
			s := sojourn.Slot{ID: flicker, Class: class}
			out = append(out,
				call{ev: sojourn.Event{Kind: sojourn.SlotAdded, At: now, Slot: s}},
				call{assign: true, slot: s.ID},
				call{ev: sojourn.Event{Kind: sojourn.SlotRemoved, At: now, Slot: s}})
		}
	}
	return out
}

// renamed returns h with other job IDs, in another order.
func (tr *trial) renamed(h history) history {
	known := map[sojourn.JobID]bool{}
	for i := range h {
		known[h[i].ev.Task.Job] = true
		if h[i].ev.Job != nil {
			known[h[i].ev.Job.ID] = true
		}
	}
	delete(known, 0)
	other := map[sojourn.JobID]sojourn.JobID{}
	for i, id := range sorted(known) {
		other[id] = math.MaxUint64 - sojourn.JobID(i*i)*1e9
		if tr.plain {
			other[id] = sojourn.JobID(len(known) + 1 - i)
		}
	}
	name := func(id sojourn.JobID) sojourn.JobID { return other[id] }
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

// restore checks the law of snapshots. A policy stops at some calls, the first of
// which may be before all others, and one restored from its snapshot goes on, until
// it stops as well: at each call if the trial is thorough. Then a policy with a past of its own is restored, and snapshots
// are offered that must be refused.
func (tr *trial) restore(fresh func() *subject) {
	if tr.s.snapshotter == nil {
		return
	}
	stops := 3
	if tr.thorough {
		stops = len(tr.h)
	}
	s, at := fresh(), 0
	for range stops {
		cut := at + 1
		if !tr.thorough {
			cut = at + tr.src.below(len(tr.h)-at+1)
		}
		for cut > at && !tr.after(cut).full {
			cut--
		}
		tr.replayFrom(lawSnapshots, s, tr.h[:cut], at, false)
		at = cut
		data, err := s.snapshotter.AppendBinary(nil)
		if err != nil {
			continue // it was so in the trial, and was looked at there
		}
		next := fresh()
		tr.unmarshal(next, data, at)
		s = next
	}
	tr.replayFrom(lawSnapshots, s, tr.h, at, false)
	tr.compare(lawSnapshots, s, len(tr.h), "restored, and at the end")

	cut := tr.src.below(len(tr.h) + 1)
	for !tr.after(cut).full { // as the first is, before any call
		cut--
	}
	data := tr.after(cut).state
	if tr.after(cut).err != nil {
		return
	}
	if len(data) == 0 {
		tr.fail(lawSnapshots, tr.h[:cut], "AppendBinary(nil) appends nothing")
	}
	used := fresh()
	tr.replay(lawDeterminism, used, tr.h[:tr.src.below(len(tr.h)+1)], false)
	tr.unmarshal(used, data, cut)
	tr.replayFrom(lawSnapshots, used, tr.h, cut, false)

	s = fresh()
	tr.replay(lawDeterminism, s, tr.h[:cut], false)
	tr.refuses(s, data, cut)
	tr.replayFrom(lawSnapshots, s, tr.h, cut, false)
}

// after returns what the optional interfaces said when a number of calls had been
// made.
func (tr *trial) after(calls int) *view {
	if calls == 0 {
		return tr.first
	}
	return tr.h[calls-1].after
}

// unmarshal restores s from a snapshot that was taken after a number of calls.
func (tr *trial) unmarshal(s *subject, data []byte, calls int) {
	shown, data := tr.h[:calls], slices.Clone(data)
	var err error
	if what := panicked(func() { err = s.snapshotter.UnmarshalBinary(data) }); what != "" {
		tr.fail(lawSnapshots, shown, "UnmarshalBinary of a snapshot taken after line %d panics: %s", calls+1, what)
	}
	if err != nil {
		tr.fail(lawSnapshots, shown, "UnmarshalBinary of a snapshot taken after line %d: %v", calls+1, err)
	}
	for i := range data {
		data[i] = ^data[i] // the bytes are the caller's, who may use them for something else
	}
	tr.compare(lawSnapshots, s, calls, "restored")
}

// compare compares what s says after a number of calls with what was said in the trial.
func (tr *trial) compare(law string, s *subject, calls int, when string) {
	if diff := s.view(tr.names.classes, true).differs(tr.after(calls)); diff != "" {
		tr.fail(law, tr.h[:calls], "%s after line %d, %s", when, calls+1, diff)
	}
}

// refuses offers bytes to s, which has made a number of calls, that it must refuse:
// a snapshot of it that is damaged, and one that was taken under other options; and
// a snapshot of it to policies under other options.
func (tr *trial) refuses(s *subject, data []byte, calls int) {
	shown := tr.h[:calls]
	refuse := func(s *subject, data []byte, what string, args ...any) {
		var err error
		if what := panicked(func() { err = s.snapshotter.UnmarshalBinary(data) }); what != "" {
			tr.fail(lawSnapshots, shown, "UnmarshalBinary(%.300q) panics: %s", data, what)
		}
		if err == nil {
			tr.fail(lawSnapshots, shown, "UnmarshalBinary = nil of a snapshot "+what, args...)
		}
	}
	tr.damaged(data, func(bad []byte, what string) { refuse(s, bad, "%s: %.300q", what, data) })
	for i, newOther := range tr.o.Others {
		other := newSubject(newOther())
		if other.snapshotter == nil {
			tr.fail(lawSnapshots, nil, "Options.Others[%d] returns a policy that is no Snapshotter", i)
		}
		was := other.view(tr.names.classes, true)
		refuse(other, slices.Clone(data), "that Options.Others[%d] returns a policy for, under other options", i)
		if v := other.view(tr.names.classes, true); v.differs(was) != "" {
			tr.fail(lawSnapshots, shown, "after a snapshot taken under other options was refused, %s", v.differs(was))
		}
		refuse(s, slices.Clone(was.state), "of the policy that Options.Others[%d] returns, under other options", i)
	}
	tr.compare(lawSnapshots, s, calls, "bad snapshots were refused")
}

// damaged calls f with copies of a snapshot of which one bit is flipped or that have
// a wrong length: with all of them if it is small, and else with as many, evenly
// spread.
func (tr *trial) damaged(data []byte, f func(bad []byte, what string)) {
	const (
		flips   = 256
		lengths = 64
	)
	step := 1 + len(data)/lengths
	for n := tr.src.below(step); n < len(data); n += step {
		f(slices.Clone(data[:n]), "that is cut short")
	}
	f(append(slices.Clone(data), 0), "that is too long")
	step = 1 + 8*len(data)/flips
	for i := tr.src.below(step); i < 8*len(data); i += step {
		bad := slices.Clone(data)
		bad[i/8] ^= 1 << (i % 8)
		f(bad, "of which a bit is flipped")
	}
}

// misuse offers slots that may not be offered, each to a policy of its own.
func (tr *trial) misuse() {
	bad := map[string]sojourn.SlotID{"unknown": flicker}
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
		shown := append(tr.h, call{assign: true, slot: id})
		var err *sojourn.SlotError
		switch r := recovered(func() { s.Assign(id) }); {
		case r == nil:
			tr.fail(lawMisuse, shown, "Assign(%d) does not panic, although the slot is %s", id, state)
		case !errors.As(asError(r), &err) || err.Slot != id || err.Busy != (state == "busy"):
			tr.fail(lawMisuse, shown, "Assign(%d) of a slot that is %s panics with %#v, want a *SlotError that says so", id, state, r)
		}
		if diff := s.view(tr.names.classes, true).differs(tr.last); diff != "" {
			tr.fail(lawMisuse, shown, "after Assign(%d) of a slot that is %s, %s", id, state, diff)
		}
	}
}

// recovered returns what f panics with, or nil.
func recovered(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return nil
}

// asError returns r if it is an error.
func asError(r any) error {
	err, _ := r.(error)
	return err
}
