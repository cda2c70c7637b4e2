package sojourntest

import (
	"reflect"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// shrink returns a breach of the same law by a history with small numbers, from which
// no call can be left out.
func (b *breach) shrink(newPolicy func() sojourn.Policy, o *Options) *breach {
	s := &shrinker{newPolicy: newPolicy, o: o, best: b}
	found := false
	for mode := 0; mode < 8 && !found; mode++ {
		s.bare, s.plain, s.thorough = mode&2 == 0, mode&1 == 0, mode&4 == 0
		found = s.breaks(b.made)
	}
	if !found {
		return b // possible if the policy is not deterministic
	}
	s.breaks(s.best.made.where(func(c *call) bool { return c.err == nil }))
	s.breaks(s.best.made.where(func(c *call) bool { return !c.assign || c.ok }))
	for size := -1; size != s.best.made.size(); {
		size = s.best.made.size()
		s.omit()
		s.simplify()
		s.hurry()
		s.renumber()
	}
	return s.best
}

// A shrinker looks for small histories that break a law.
type shrinker struct {
	newPolicy func() sojourn.Policy
	o         *Options
	best      *breach
	bare      bool // the calls alone break the law, without a drain and replays
	plain     bool // the law breaks with small names and times in rewritten histories
	thorough  bool // the law breaks if all questions are asked after each call
	spent     int
}

// patience bounds the calls of the histories that a shrinker tries, so that it ends
// within seconds. The drain and the replays take as long as several times as many
// calls.
const (
	patience = 40_000
	epilogue = 16
)

// size is the measure that a shrinker reduces: the calls and the time that passes.
func (h history) size() (n int) {
	for i := range h {
		if n++; !h[i].assign && h[i].ev.At != h.timeBefore(i) {
			n++
		}
	}
	return n
}

// lastDeadline returns the last deadline of a job.
func (h history) lastDeadline() (t sojourn.Time) {
	for i := range h {
		if j := h[i].ev.Job; j != nil {
			t = max(t, j.Deadline)
		}
	}
	return t
}

// timeBefore returns the time of the call before one.
func (h history) timeBefore(call int) (t sojourn.Time) {
	for i := range call {
		if !h[i].assign {
			t = max(t, h[i].ev.At)
		}
	}
	return t
}

// breaks makes the calls of h in a new trial, whatever their outcomes, and reports
// whether this breaks the law.
func (s *shrinker) breaks(h history) bool {
	if s.spent > patience {
		return false
	}
	if s.spent += len(h); !s.bare {
		s.spent += epilogue * len(h)
	}
	tr := newTrial(s.newPolicy, s.o, newChance(uint64(len(h)), 0))
	tr.thorough, tr.plain = s.thorough, s.plain
	tr.extreme = h.lastDeadline() > lastTime || h.timeBefore(len(h)) > lastTime/2
	tr.names = smallNames(s.o)
	tr.names.classes = h.classes(tr.names.classes)
	tr.begin(s.best.changing)
	b := breachOf(func() {
		for _, c := range h {
			if !c.assign {
				if c.ev.Job != nil {
					c.ev.Job = clone(c.ev.Job)
				}
				tr.observe(c.ev)
			} else if slot := tr.m.slot(c.slot); slot != nil && slot.task == nil {
				tr.assign(c.slot)
			}
		}
		if s.bare {
			return
		}
		tr.misuse()
		tr.settle(seeking)
		tr.drain()
		tr.replays()
	})
	if b == nil || b.law != s.best.law {
		return false
	}
	// What a later question finds shows some time after the call that caused it.
	if s.bare && b.law != lawSnapshots && b.culprit().ev.Kind != s.best.culprit().ev.Kind {
		return false
	}
	// The end of the trial adds its own calls each time.
	b.made = h
	s.best = b
	return true
}

// omit leaves out as many calls as possible, first long stretches of them.
func (s *shrinker) omit() {
	for n := len(s.best.made) / 2; n > 0; n /= 2 {
		for i := len(s.best.made) - n; i >= 0; i -= n {
			h := s.best.made
			s.breaks(append(h[:i:i], h[min(i+n, len(h)):]...))
		}
	}
}

// simplify removes from events what does not matter. For jobs and tasks it does so in
// all calls about the same one.
func (s *shrinker) simplify() {
	for i := range s.best.made {
		ev := s.best.made[i].ev
		self := func(other *sojourn.Event) bool { return other == &s.best.made[i].ev }
		s.change(self, func(ev *sojourn.Event) { ev.Service = 0 })
		if ev.Features()&sojourn.FeatureAttempts != 0 {
			s.change(self, func(ev *sojourn.Event) { ev.Attempt = 0 })
		}
		s.change(self, func(ev *sojourn.Event) { ev.Progress, ev.Cause = 0, 0 })
		s.change(self, func(ev *sojourn.Event) { ev.Slot.Node, ev.Slot.Rack = 0, 0 })
		if ev.Task.Job != 0 {
			same := func(other *sojourn.Event) bool { return other.Task == ev.Task }
			s.change(same, func(ev *sojourn.Event) { ev.Task.Phase, ev.Task.Index = 0, 0 })
			s.change(same, func(ev *sojourn.Event) { ev.Task.Index = 0 })
		}
		if ev.Job == nil {
			continue
		}
		same := func(other *sojourn.Event) bool { return other.Job != nil && other.Job.ID == ev.Job.ID }
		for _, change := range []func(*sojourn.Job){
			func(j *sojourn.Job) { j.Name, j.Pool = "", "" },
			func(j *sojourn.Job) { j.Weight = 0 },
			func(j *sojourn.Job) { j.Deadline = 0 },
			func(j *sojourn.Job) { j.Demand = 0 },
		} {
			s.change(same, func(ev *sojourn.Event) { change(ev.Job) })
		}
		for k := len(ev.Job.Phases) - 1; k >= 0; k-- {
			for _, change := range []func(*sojourn.Job, *sojourn.Phase){
				func(j *sojourn.Job, _ *sojourn.Phase) { j.Phases = j.Phases[:k+1] },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Bytes, p.Delays = nil, nil },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Inputs = sojourn.Inputs{} },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Estimates = nil },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Estimate = 0 },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Estimate = min(p.Estimate, time.Second) },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.After = 0 },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Needs = nil },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Needs = p.Needs[:len(p.Needs)/2] },
				func(_ *sojourn.Job, p *sojourn.Phase) { p.Held = false },
				func(_ *sojourn.Job, p *sojourn.Phase) { truncate(p, 1) },
				func(_ *sojourn.Job, p *sojourn.Phase) { truncate(p, p.Tasks-1) },
			} {
				s.change(same, func(ev *sojourn.Event) {
					if k < len(ev.Job.Phases) {
						change(ev.Job, &ev.Job.Phases[k])
					}
				})
			}
		}
	}
}

// change tries f on the events that are in scope.
func (s *shrinker) change(inScope func(*sojourn.Event) bool, f func(*sojourn.Event)) {
	h := slices.Clone(s.best.made)
	changed := false
	for i := range h {
		if h[i].assign || !inScope(&s.best.made[i].ev) {
			continue
		}
		ev := &h[i].ev
		if ev.Job != nil {
			ev.Job = clone(ev.Job)
		}
		f(ev)
		changed = changed || !reflect.DeepEqual(*ev, s.best.made[i].ev)
	}
	if changed {
		s.breaks(h)
	}
}

// truncate leaves the first n tasks of a phase, if there are more.
func truncate(p *sojourn.Phase, n int) {
	if n < 1 || n >= p.Tasks {
		return
	}
	nodes := make([][]sojourn.NodeID, min(n, p.Inputs.Len()))
	for k := range nodes {
		nodes[k] = p.Inputs.Of(k)
	}
	p.Tasks, p.Inputs = n, sojourn.MakeInputs(nodes)
	p.Estimates, p.Bytes, p.Delays = p.Estimates[:min(n, len(p.Estimates))], p.Bytes[:min(n, len(p.Bytes))], p.Delays[:min(n, len(p.Delays))]
}

// hurry lets less time pass before each call, with deadlines at the same distance.
func (s *shrinker) hurry() {
	for i := range s.best.made {
		for _, step := range []sojourn.Time{0, 1, sojourn.Time(time.Second), sojourn.Time(time.Minute)} {
			h := s.best.made
			if h[i].assign {
				break
			}
			by := h[i].ev.At - h.timeBefore(i) - step
			if by <= 0 {
				break
			}
			sooner := slices.Clone(h)
			for k := i; k < len(h); k++ {
				ev := &sooner[k].ev
				if sooner[k].assign || ev.At < by {
					continue
				}
				if ev.At -= by; ev.Job != nil && ev.Job.Deadline > by {
					ev.Job = clone(ev.Job)
					ev.Job.Deadline -= by
				}
			}
			if s.breaks(sooner) {
				break
			}
		}
	}
}

// renumber gives jobs, slots and nodes the numbers 1, 2, 3 in the order of their
// first mention, if the law stays broken.
func (s *shrinker) renumber() {
	jobs, slots, nodes := map[sojourn.JobID]sojourn.JobID{0: 0}, map[sojourn.SlotID]sojourn.SlotID{}, map[sojourn.NodeID]sojourn.NodeID{0: 0}
	job := func(id sojourn.JobID) sojourn.JobID { return next(jobs, id, sojourn.JobID(len(jobs))) }
	slot := func(id sojourn.SlotID) sojourn.SlotID { return next(slots, id, sojourn.SlotID(len(slots)+1)) }
	node := func(id sojourn.NodeID) sojourn.NodeID { return next(nodes, id, sojourn.NodeID(len(nodes))) }
	for _, f := range []func(*call){
		func(c *call) {
			if ev := &c.ev; ev.Job != nil {
				ev.Job = clone(ev.Job)
				ev.Job.ID = job(ev.Job.ID)
			}
			c.ev.Task.Job = job(c.ev.Task.Job)
		},
		func(c *call) {
			switch c.ev.Kind {
			case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
				c.ev.Slot.ID = slot(c.ev.Slot.ID)
			}
			if c.assign {
				c.slot = slot(c.slot)
			}
		},
		func(c *call) {
			if c.ev.Slot.Node = node(c.ev.Slot.Node); c.ev.Job == nil {
				return
			}
			c.ev.Job = clone(c.ev.Job)
			for i := range c.ev.Job.Phases {
				p := &c.ev.Job.Phases[i]
				lists := make([][]sojourn.NodeID, p.Inputs.Len())
				for k := range lists {
					for _, n := range p.Inputs.Of(k) {
						lists[k] = append(lists[k], node(n))
					}
				}
				p.Inputs = sojourn.MakeInputs(lists)
			}
		},
	} {
		h := s.best.made.mapped(f)
		if !slices.EqualFunc(h, s.best.made, func(a, b call) bool { return reflect.DeepEqual(a.ev, b.ev) && a.slot == b.slot }) {
			s.breaks(h)
		}
	}
}

// next returns the value of a key in a map, which it sets to fresh if there is none.
func next[K comparable](names map[K]K, key, fresh K) K {
	name, ok := names[key]
	if !ok {
		name = fresh
		names[key] = name
	}
	return name
}
