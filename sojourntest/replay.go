package sojourntest

import (
	"errors"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// replay makes the calls of h on s, and compares their outcomes with those recorded
// in h. With views it also compares the answers of the optional interfaces wherever
// the trial asked all questions.
func (w *witness) replay(law string, s *subject, h history, views bool) {
	w.replayFrom(law, s, h, 0, views)
}

// replayFrom is replay of the calls from number from on, on a policy that has had the
// calls before.
func (w *witness) replayFrom(law string, s *subject, h history, from int, views bool) {
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
			w.fail(lawPanics, h[:i+1], "replayed by the law of %s, %v panics: %s", nameOf(law), want, what)
		}
		if !sameOutcome(&got, want) {
			w.fail(law, h[:i+1], "replayed, line %d, %v = %s, want %s", i+1+above, want, got.outcome(), want.outcome())
		}
		if views && want.after.full {
			if diff := s.view(w.names.classes, true).differs(want.after); diff != "" {
				w.fail(law, h[:i+1], "replayed, after line %d, %v: %s", i+1+above, want, diff)
			}
		}
	}
}

// replays checks the laws that compare histories: each rewrites the history of
// the trial into one whose outcome is known.
func (tr *trial) replays() {
	h := tr.h
	plain := tr.fresh
	// By chance the order of a map is sometimes the same, but not in all these replays.
	tr.together(true,
		rewriting{lawDeterminism, h, plain},
		rewriting{lawWrappers, h, tr.wrapped})
	fits := h.where(func(c *call) bool { return c.err == nil })
	starts := fits.where(func(c *call) bool { return !c.assign || c.ok })
	by := tr.scale()
	slow := tr.fresh
	if by > 1 {
		slow = func() *subject { return newSubject(func() sojourn.Policy { return tr.o.Scaled(by) }) }
	}
	tr.together(false,
		rewriting{lawAtomicity, fits, plain},
		rewriting{lawDeclines, h.where(func(c *call) bool { return !c.assign || c.ok }), plain},
		rewriting{lawDeclines, starts, plain},
		rewriting{lawSlotOrder, starts.slotsReversed(), plain},
		rewriting{lawScale, starts.slotsReversed().scaled(by), slow})
	tr.together(false,
		rewriting{lawTicks, h.withTicks(tr.only), plain},
		rewriting{lawFlicker, h.withFlicker(tr.only), plain},
		rewriting{lawFlicker, h.withTicks(nil).withFlicker(nil), plain})
	later := func(h history) history {
		if tr.extreme {
			return h // there may be no room
		}
		return h.postponed(tr.shift())
	}
	if len(tr.options) == 1 { // otherwise they change between an arrival and its TaskHeld events
		tr.together(false, rewriting{lawHeld, h.heldOneByOne(), plain})
	}
	alike := tr.alike(h)
	tr.together(false,
		rewriting{lawNames, tr.renamed(h), plain},
		rewriting{lawAlike, alike, plain},
		rewriting{lawEpoch, later(h), plain},
		rewriting{lawFields, h.littered(tr.only), plain},
		rewriting{lawRestated, tr.restated(h), plain},
		rewriting{lawRestated, tr.restated(later(tr.renamed(alike)).littered(nil)), plain})
	tr.heavier()
	tr.lost()
	tr.restore(plain)
	tr.probes()
}

// A rewriting is a history that must have the outcomes of the trial's history, by a
// law.
type rewriting struct {
	law   string
	h     history
	fresh func() *subject
}

// together replays the last of a list, which combines all the others. If that breaks a
// law, it looks which of the others breaks it alone.
func (tr *trial) together(views bool, list ...rewriting) {
	all := list[len(list)-1]
	replay := func(r rewriting) { tr.replay(r.law, r.fresh(), r.h, views) }
	if tr.only != nil { // each by itself, where it is asked for
		for _, r := range list[:len(list)-1] {
			replay(r)
		}
		return
	}
	if b := breachOf(func() { replay(all) }); b != nil {
		for _, r := range list {
			replay(r)
		}
		panic(b)
	}
}

// A wrapper hides nothing, and has an interface that no other wrapper knows.
type wrapper struct{ p sojourn.Policy }

func (w wrapper) Observe(ev sojourn.Event) error { return w.p.Observe(ev) }

func (w wrapper) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return w.p.Assign(id) }

func (w wrapper) Unwrap() sojourn.Policy { return w.p }

func (w wrapper) unheardOf() {}

// hidden returns a policy behind a wrapper that hides nothing, and behind a lock or the
// wrapper under test. These must not hide interfaces that they do not know.
func (w *witness) hidden(p sojourn.Policy) sojourn.Policy {
	wrap := w.o.Wrap
	if wrap == nil {
		wrap = func(p sojourn.Policy) sojourn.Policy { return sojourn.NewLocked(p) }
	}
	p = wrap(wrapper{p})
	found := 0
	for range sojourn.All[interface{ unheardOf() }](p) {
		found++
	}
	if found != 1 {
		w.fail(lawWrappers, nil, "a policy inside can do something that a %T does not know; All finds %d such policies, want 1", p, found)
	}
	return p
}

// restore checks the law of snapshots. A policy stops after some calls, perhaps before the first. A
// policy that is restored from its snapshot continues until it stops as well; in a thorough trial
// this happens at each call. Then a used policy is restored, and snapshots are offered that must be
// refused.
func (w *witness) restore(fresh func() *subject) {
	if w.s.snapshotter == nil {
		return
	}
	stops := 3
	if w.thorough {
		stops = len(w.h)
	}
	s, at := fresh(), 0
	for range stops {
		cut := at + 1
		if !w.thorough {
			cut = at + w.src.below(len(w.h)-at+1)
		}
		for cut > at && !w.after(cut).full {
			cut--
		}
		w.replayFrom(lawSnapshots, s, w.h[:cut], at, false)
		at = cut
		data, err := s.snapshotter.AppendBinary(nil)
		if err != nil {
			continue // it was so in the trial, which has compared it
		}
		next := fresh()
		w.unmarshal(next, data, at)
		s = next
	}
	w.replayFrom(lawSnapshots, s, w.h, at, false)
	w.compare(lawSnapshots, s, len(w.h), "restored, and at the end")

	cut := w.src.below(len(w.h) + 1)
	for !w.after(cut).full { // as the first is, before any call
		cut--
	}
	data := w.after(cut).state
	if w.after(cut).err != nil {
		return
	}
	if len(data) == 0 {
		w.fail(lawSnapshots, w.h[:cut], "AppendBinary(nil) appends nothing")
	}
	used := fresh()
	w.replay(lawDeterminism, used, w.h[:w.src.below(len(w.h)+1)], false)
	w.unmarshal(used, data, cut)
	w.replayFrom(lawSnapshots, used, w.h, cut, false)

	if w.spares {
		return
	}
	s = fresh()
	w.replay(lawDeterminism, s, w.h[:cut], false)
	w.refuses(s, data, cut)
	w.replayFrom(lawSnapshots, s, w.h, cut, false)
}

// after returns the answers of the optional interfaces after a number of calls.
func (w *witness) after(calls int) *view {
	if calls == 0 {
		return w.first
	}
	return w.h[calls-1].after
}

// unmarshal restores s from a snapshot that was taken after a number of calls.
func (w *witness) unmarshal(s *subject, data []byte, calls int) {
	shown, data := w.h[:calls], slices.Clone(data)
	if arrivals := shown.arrivals(); len(s.options) > 1 && s.arrivals != arrivals {
		s.beAfter(arrivals)
	}
	var err error
	if what := panicked(func() { err = s.snapshotter.UnmarshalBinary(data) }); what != "" {
		w.fail(lawSnapshots, shown, "UnmarshalBinary of a snapshot taken after line %d panics: %s", calls+above, what)
	}
	if err != nil {
		w.fail(lawSnapshots, shown, "UnmarshalBinary of a snapshot taken after line %d: %v", calls+above, err)
	}
	for i := range data {
		data[i] = ^data[i] // the bytes are the caller's, who may use them for something else
	}
	w.compare(lawSnapshots, s, calls, "restored")
}

// arrivals returns how many arrivals were accepted.
func (h history) arrivals() (n int) {
	for i := range h {
		if k := h[i].ev.Kind; h[i].err == nil && (k == sojourn.JobArrived || k == sojourn.JobAdopted) {
			n++
		}
	}
	return n
}

// compare compares the answers of s after a number of calls with those in the trial.
func (w *witness) compare(law string, s *subject, calls int, when string) {
	if diff := s.view(w.names.classes, true).differs(w.after(calls)); diff != "" {
		w.fail(law, w.h[:calls], "%s after line %d, %s", when, calls+above, diff)
	}
}

// refuses offers bytes that must be refused. s, which has had a number of calls,
// must refuse damaged copies of its snapshot, and snapshots taken under other
// options. Policies under other options must refuse the snapshot of s.
func (w *witness) refuses(s *subject, data []byte, calls int) {
	shown := w.h[:calls]
	whole := false
	refuse := func(s *subject, data []byte, what string, args ...any) {
		var err error
		if what := panicked(func() { err = s.snapshotter.UnmarshalBinary(data) }); what != "" {
			w.fail(lawSnapshots, shown, "UnmarshalBinary(%.300q) panics: %s", data, what)
		}
		if err == nil {
			w.fail(lawSnapshots, shown, "UnmarshalBinary = nil of a snapshot "+what, args...)
		}
		if whole != errors.Is(err, sojourn.ErrForeignSnapshot) {
			w.fail(lawSnapshots, shown, "UnmarshalBinary = %v; want an error that wraps ErrForeignSnapshot if the snapshot is whole, and no others; of one "+what,
				append([]any{err}, args...)...)
		}
	}
	w.damaged(data, func(bad []byte, what string) { refuse(s, bad, "%s: %.300q", what, data) })
	whole = true
	for i, newOther := range w.o.Others {
		other := newSubject(newOther)
		if other.snapshotter == nil {
			w.fail(lawSnapshots, nil, "Options.Others[%d] returns a policy that is no Snapshotter", i)
		}
		was := other.view(w.names.classes, true)
		refuse(other, slices.Clone(data), "that Options.Others[%d] returns a policy for, under other options", i)
		if v := other.view(w.names.classes, true); v.differs(was) != "" {
			w.fail(lawSnapshots, shown, "after a snapshot taken under other options was refused, %s", v.differs(was))
		}
		refuse(s, slices.Clone(was.state), "of the policy that Options.Others[%d] returns, under other options", i)
	}
	w.compare(lawSnapshots, s, calls, "bad snapshots were refused")
}

// damaged calls f with copies of a snapshot that have one bit flipped or a wrong
// length: with all such copies if the snapshot is small, and otherwise with a
// bounded number of them, evenly spread.
func (w *witness) damaged(data []byte, f func(bad []byte, what string)) {
	const (
		flips   = 256
		lengths = 64
	)
	step := 1 + len(data)/lengths
	for n := w.src.below(step); n < len(data); n += step {
		f(slices.Clone(data[:n]), "that is cut short")
	}
	f(append(slices.Clone(data), 0), "that is too long")
	step = 1 + 8*len(data)/flips
	for i := w.src.below(step); i < 8*len(data); i += step {
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
		s := tr.fresh()
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
