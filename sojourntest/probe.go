package sojourntest

import (
	"time"

	"github.com/sojourn-sched/sojourn"
)

// ends are how attempts end after a policy was restored, in turn. What a policy keeps of an end, it shows at the second or third one of
// the same job.
var ends = [...]sojourn.Event{
	{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask},
	{Kind: sojourn.TaskRefused},
	{Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
	{Kind: sojourn.TaskFinished},
	{Kind: sojourn.TaskFailed, Cause: sojourn.CauseTask},
}

// steps are how long attempts run that end so.
var steps = [...]time.Duration{time.Second, 1, time.Minute, time.Second, 0, 7 * time.Second}

// probes does so after two calls of the trial; in a thorough trial after each, with all ends first.
func (tr *trial) probes() {
	if tr.s.snapshotter == nil || tr.spares {
		return
	}
	if tr.thorough {
		for cut := range len(tr.h) + 1 {
			for turn := range ends {
				tr.probe(cut, turn)
			}
		}
		return
	}
	for range 2 {
		cut := tr.src.below(len(tr.h) + 1)
		for !tr.after(cut).full {
			cut--
		}
		tr.probe(cut, tr.src.below(len(ends)))
	}
}

// probe goes on from a full view of the trial with a policy that has had the calls before, and with one that was restored. What the trial
// itself goes on with seldom shows what a snapshot lacks: few of its attempts end in another way than by success.
func (tr *trial) probe(cut, turn int) {
	b := tr.branch(tr.h[:cut])
	if b.m.now > lastTime || tr.after(cut).err != nil {
		return
	}
	restored := tr.fresh()
	tr.unmarshal(restored, tr.after(cut).state, cut)
	same := func(c call) call {
		made := c
		b.make(&made, func() { made.on(b.s) })
		b.m.follow(&made)
		got := c
		if what := panicked(func() { got.on(restored) }); what != "" {
			tr.fail(lawSnapshots, b.h, "restored after line %d, %v panics: %s", cut+above, &made, what)
		}
		if !sameOutcome(&got, &made) {
			tr.fail(lawSnapshots, b.h, "restored after line %d, %v = %s, want %s", cut+above, &made, got.outcome(), made.outcome())
		}
		return made
	}
	for _, step := range steps {
		for _, id := range b.m.free() {
			same(call{assign: true, slot: id})
		}
		if len(b.m.busy()) == 0 {
			break
		}
		at := b.m.now.Add(step)
		same(call{ev: sojourn.Event{Kind: sojourn.Tick, At: at}})
		for _, s := range b.m.busy() {
			ev, is := ends[turn%len(ends)], report(0, s)
			ev.At, ev.Task, ev.Attempt, ev.Slot = at, is.Task, is.Attempt, is.Slot
			same(call{ev: ev})
			turn++
		}
	}
	if diff := restored.view(tr.names.classes, true).differs(b.s.view(tr.names.classes, true)); diff != "" {
		tr.fail(lawSnapshots, b.h, "restored after line %d, and at the end, %s", cut+above, diff)
	}
}

// on makes a call, and takes in its outcome.
func (c *call) on(s *subject) {
	if c.assign {
		c.a, c.ok = s.Assign(c.slot)
	} else {
		c.err = sentinel(s.Observe(c.ev))
	}
}
