package sojourntest

import (
	"reflect"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// shrink returns a breach of the same law by a history from which no call can be
// left out any more.
func (b *breach) shrink(newPolicy func() sojourn.Policy, o *Options) *breach {
	s := &shrinker{newPolicy: newPolicy, o: o, best: b, bare: true}
	if !s.breaks(b.made) {
		s.bare = false
		if !s.breaks(b.made) {
			return b // as may be with a policy that is not deterministic
		}
	}
	for n := 0; n != len(s.best.made); {
		n = len(s.best.made)
		s.omit()
		s.simplify()
	}
	return s.best
}

// A shrinker looks for small histories that break a law.
type shrinker struct {
	newPolicy func() sojourn.Policy
	o         *Options
	best      *breach
	bare      bool // the calls alone break the law, without a drain and replays
	tries     int
}

// maxTries bounds the histories that a shrinker tries, so that it ends within
// seconds.
const maxTries = 400

// breaks makes the calls of h in a new trial, whatever comes of them now, and
// reports whether that breaks the law.
func (s *shrinker) breaks(h history) bool {
	if s.tries++; s.tries > maxTries {
		return false
	}
	tr := newTrial(s.newPolicy, s.o, newChance(uint64(len(h)), 0))
	tr.thorough = true
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
	if b == nil || b.law != s.best.law || b.culprit().ev.Kind != s.best.culprit().ev.Kind {
		return false
	}
	// What the end of the trial adds is made anew each time.
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

// simplify takes away from events what does not matter.
func (s *shrinker) simplify() {
	for i := range s.best.made {
		ways := []func(*sojourn.Event){
			func(ev *sojourn.Event) { ev.At = 0 },
			func(ev *sojourn.Event) { ev.Service = 0 },
		}
		if j := s.best.made[i].ev.Job; j != nil {
			phase := func(ev *sojourn.Event, k int) *sojourn.Phase {
				return &ev.Job.Phases[min(k, len(ev.Job.Phases)-1)] // which may have become fewer
			}
			ways = append(ways,
				func(ev *sojourn.Event) { ev.Job.Name, ev.Job.Pool = "", "" },
				func(ev *sojourn.Event) { ev.Job.Weight = 0 },
				func(ev *sojourn.Event) { ev.Job.Deadline = 0 },
				func(ev *sojourn.Event) { ev.Job.Demand = 0 })
			for k := range j.Phases {
				ways = append(ways,
					func(ev *sojourn.Event) { phase(ev, k).Bytes, phase(ev, k).Delays = nil, nil },
					func(ev *sojourn.Event) { phase(ev, k).Estimate, phase(ev, k).Estimates = 0, nil },
					func(ev *sojourn.Event) { phase(ev, k).Inputs = sojourn.Inputs{} },
					func(ev *sojourn.Event) { phase(ev, k).After = 0 },
					func(ev *sojourn.Event) { phase(ev, k).Tasks = 1 },
					func(ev *sojourn.Event) { ev.Job.Phases = ev.Job.Phases[:min(k+1, len(ev.Job.Phases))] })
			}
		}
		for _, simplify := range ways {
			ev := s.best.made[i].ev
			if ev.Job != nil {
				ev.Job = clone(ev.Job)
			}
			simplify(&ev)
			if !reflect.DeepEqual(ev, s.best.made[i].ev) {
				h := slices.Clone(s.best.made)
				h[i].ev = ev
				s.breaks(h)
			}
		}
	}
}
