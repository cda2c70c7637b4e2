// Package choice tests which job a policy chooses. Use it if the rule of your policy can be
// written down as a comparison of two jobs. This is the test of package fifo:
//
//	rapid.Check(t, func(t *rapid.T) {
//		choice.Check(t, newPolicy(), choice.Options{Classes: 2, Phases: 3},
//			func(w *choice.World, c sojourn.Class, a, b *choice.Job) bool { return a.Seq < b.Seq })
//	})
//
// Tier: kit.
//
// Its account of the cluster is as simple as possible, with linear searches and rational
// numbers, and shares no code with the ledger.
package choice

import (
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// A Job has what a rule may look at.
type Job struct {
	Spec *sojourn.Job
	Seq  int // order of arrival
	phases
}

type phases []phase

type phase struct {
	state []state // by task
	start []sojourn.Time
}

type state uint8

const (
	pending state = iota
	running
	done
)

// World is the cluster at one instant.
type World struct {
	Now    sojourn.Time
	Jobs   []*Job // live, in the order of arrival
	slots  []*slot
	ranked bool // there is one class, so one ranking is right

	poolTurn map[poolClass]int // by assignments and arrivals so far
	turns    int
	poolWas  map[poolClass]int // poolTurn when it last began to run something
	poolOwes map[poolClass]bool
	attained map[*Job]time.Duration
	owed     map[*Job][]time.Duration // of an attempt that failed and is not charged yet
	tries    map[sojourn.TaskID]uint32
	seq      int
}

type slot struct {
	sojourn.Slot
	job     *Job // nil: free
	task    sojourn.TaskID
	attempt uint32
}

type poolClass struct {
	pool  string
	class sojourn.Class
}

// PoolTurn returns when a pool with live jobs was last served by a slot of class c. If
// it was not served since it got its first live job, it returns when it got that job. After an
// attempt that is not charged it is what it was when the pool last began to run something.
func (w *World) PoolTurn(name string, c sojourn.Class) int { return w.poolTurn[poolClass{name, c}] }

// Running returns the number of tasks of j that run on slots of class c.
func (w *World) Running(j *Job, c sojourn.Class) (n int) {
	for _, s := range w.slots {
		if s.job == j && s.Class == c {
			n++
		}
	}
	return n
}

// Remaining returns the sum of the estimates of the unfinished tasks of j.
func (w *World) Remaining(j *Job) (sum time.Duration) {
	for i := range j.phases {
		for k, st := range j.phases[i].state {
			if st != done {
				sum += j.Spec.Phases[i].EstimateOf(k)
			}
		}
	}
	return sum
}

// Left returns the number of unfinished tasks of j.
func (w *World) Left(j *Job) (n int) {
	for i := range j.phases {
		for _, st := range j.phases[i].state {
			if st != done {
				n++
			}
		}
	}
	return n
}

// Attained returns how long attempts of j have held slots, without those that are not charged: see
// [sojourn.Cause].
func (w *World) Attained(j *Job) time.Duration {
	sum := w.attained[j]
	for _, s := range w.slots {
		if s.job == j {
			sum += w.Now.Sub(j.phases[s.task.Phase].start[s.task.Index])
		}
	}
	return sum
}

// Startable reports whether j has a task that may start on a slot of class c.
func (w *World) Startable(j *Job, c sojourn.Class) bool {
	for i := range j.phases {
		if j.Spec.Phases[i].Class == c && j.open(i) && slices.Contains(j.phases[i].state, pending) {
			return true
		}
	}
	return false
}

// open reports whether the phases that phase i waits for have finished: those that it needs, or the
// one before it.
func (j *Job) open(i int) bool {
	needs := j.Spec.Phases[i].Needs
	if needs == nil && i > 0 {
		needs = []int{i - 1}
	}
	return !slices.ContainsFunc(needs, func(k int) bool {
		return slices.ContainsFunc(j.phases[k].state, func(st state) bool { return st != done })
	})
}

// Options say what jobs a history contains.
type Options struct {
	Classes int      // of slots and phases, at most
	Phases  int      // of a job, at most
	Pools   []string // to draw from; nil means only ""
}

// Check drives p through a random history on a few slots. It compares every answer
// of Assign with the job that comes first by the rule before, a strict total order
// of the jobs that can use a slot of class c. With one class, the ranking of a
// [sojourn.Explainer] must agree. Phases need others if p supports that. p must be new.
func Check(t *rapid.T, p sojourn.Policy, opts Options, before func(w *World, c sojourn.Class, a, b *Job) bool) {
	w := &World{
		poolTurn: map[poolClass]int{},
		poolWas:  map[poolClass]int{},
		poolOwes: map[poolClass]bool{},
		owed:     map[*Job][]time.Duration{},
		attained: map[*Job]time.Duration{},
		tries:    map[sojourn.TaskID]uint32{},
	}
	observe := func(ev sojourn.Event) {
		ev.At = w.Now
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v, want nil", ev, err)
		}
	}
	needs := sojourn.Supports(p)&sojourn.FeatureNeeds != 0
	opts.Classes = rapid.IntRange(1, opts.Classes).Draw(t, "classes")
	w.ranked = opts.Classes == 1
	for i := range rapid.IntRange(1, 8).Draw(t, "slots") {
		s := sojourn.Slot{ID: sojourn.SlotID(i), Class: sojourn.Class(i % opts.Classes)}
		w.slots = append(w.slots, &slot{Slot: s})
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
	}
	t.Repeat(map[string]func(*rapid.T){
		"wait":   func(t *rapid.T) { w.Now += sojourn.Time(rapid.IntRange(0, 5).Draw(t, "dt")) },
		"arrive": func(t *rapid.T) { w.arrive(t, opts, needs, observe) },
		"end":    func(t *rapid.T) { w.end(t, observe) },
		"assign": func(t *rapid.T) { w.assign(t, p, before) },
		"assign2": func(t *rapid.T) {
			for range 2 {
				w.assign(t, p, before)
			}
		},
	})
}

func (w *World) arrive(t *rapid.T, opts Options, needs bool, observe func(sojourn.Event)) {
	w.seq++
	w.turns++
	spec := &sojourn.Job{
		ID:     sojourn.JobID(w.seq),
		Weight: rapid.SampledFrom([]float64{0, 0.5, 1, 3, 1 << 20}).Draw(t, "weight"),
	}
	if opts.Pools != nil {
		spec.Pool = rapid.SampledFrom(opts.Pools).Draw(t, "pool")
	}
	j := &Job{Spec: spec, Seq: w.seq}
	for range rapid.IntRange(1, opts.Phases).Draw(t, "phases") {
		n := rapid.IntRange(1, 6).Draw(t, "tasks")
		ph := sojourn.Phase{Tasks: n, Class: sojourn.Class(rapid.IntRange(0, opts.Classes-1).Draw(t, "class"))}
		if needs && rapid.Bool().Draw(t, "needs") {
			ph.Needs = []int{}
			for k := range spec.Phases {
				if rapid.Bool().Draw(t, "this one") {
					ph.Needs = append(ph.Needs, k)
				}
			}
		}
		for range n {
			ph.Estimates = append(ph.Estimates, time.Duration(rapid.IntRange(1, 9).Draw(t, "estimate")))
		}
		spec.Phases = append(spec.Phases, ph)
		j.phases = append(j.phases, phase{make([]state, n), make([]sojourn.Time, n)})
	}
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: spec})
	if !slices.ContainsFunc(w.Jobs, func(k *Job) bool { return k.Spec.Pool == spec.Pool }) {
		for c := range opts.Classes {
			of := poolClass{spec.Pool, sojourn.Class(c)}
			w.poolTurn[of], w.poolWas[of], w.poolOwes[of] = w.turns, w.turns, false
		}
	}
	w.Jobs = append(w.Jobs, j)
}

func (w *World) end(t *rapid.T, observe func(sojourn.Event)) {
	var busy []*slot
	for _, s := range w.slots {
		if s.job != nil {
			busy = append(busy, s)
		}
	}
	if len(busy) == 0 {
		t.Skip("nothing runs")
	}
	s := rapid.SampledFrom(busy).Draw(t, "slot")
	kind := rapid.SampledFrom([]sojourn.EventKind{
		sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused,
	}).Draw(t, "kind")
	ev := sojourn.Event{Kind: kind, Task: s.task, Attempt: s.attempt, Slot: s.Slot}
	if kind == sojourn.TaskFailed {
		ev.Cause = sojourn.Cause(rapid.IntRange(0, 2).Draw(t, "cause"))
	}
	observe(ev)
	j := s.job
	ph := &j.phases[s.task.Phase]
	w.charge(s, &ev, w.Now.Sub(ph.start[s.task.Index]))
	ph.state[s.task.Index] = pending
	if kind == sojourn.TaskFinished {
		ph.state[s.task.Index] = done
	}
	s.job = nil
	left := slices.ContainsFunc(j.phases, func(p phase) bool {
		return slices.ContainsFunc(p.state, func(st state) bool { return st != done })
	})
	if !left {
		w.Jobs = slices.DeleteFunc(w.Jobs, func(k *Job) bool { return k == j })
	}
}

// charge charges the job on a slot for an attempt that an event ends, which held the slot so long.
func (w *World) charge(s *slot, ev *sojourn.Event, held time.Duration) {
	j, of := s.job, poolClass{s.job.Spec.Pool, s.Class}
	if ev.Kind == sojourn.TaskRefused || ev.Kind == sojourn.TaskFailed && ev.Cause != sojourn.CauseTask {
		w.poolTurn[of] = w.poolWas[of]
		return
	}
	failed := ev.Kind == sojourn.TaskFailed
	if w.owed[j] = append(w.owed[j], held); len(w.owed[j]) > 1 || !failed {
		for _, d := range w.owed[j] {
			w.attained[j] += d
		}
		w.owed[j] = nil
	}
	if failed && !w.poolOwes[of] {
		w.poolTurn[of], w.poolOwes[of] = w.poolWas[of], true
	} else {
		w.poolOwes[of] = false
	}
}

func (w *World) assign(t *rapid.T, p sojourn.Policy, before func(w *World, c sojourn.Class, a, b *Job) bool) {
	i := slices.IndexFunc(w.slots, func(s *slot) bool { return s.job == nil })
	if i < 0 {
		t.Skip("no slot is free")
	}
	s := w.slots[i]
	if err := p.Observe(sojourn.Event{Kind: sojourn.Tick, At: w.Now}); err != nil {
		t.Fatalf("Observe(Tick) = %v, want nil", err)
	}
	var want *Job
	for _, j := range w.Jobs {
		if w.Startable(j, s.Class) && (want == nil || before(w, s.Class, j, want)) {
			want = j
		}
	}
	if e, ok := sojourn.As[sojourn.Explainer](p); ok && w.ranked {
		for _, id := range e.AppendRanking(nil) {
			i := slices.IndexFunc(w.Jobs, func(j *Job) bool { return j.Spec.ID == id })
			if !w.Startable(w.Jobs[i], s.Class) {
				continue
			}
			if w.Jobs[i] != want {
				t.Fatalf("AppendRanking = %v, want job %d before the others that can start", e.AppendRanking(nil), want.Spec.ID)
			}
			break
		}
	}
	a, ok := p.Assign(s.ID)
	switch {
	case ok != (want != nil):
		t.Fatalf("Assign(%d) = %+v, %v, want job %v", s.ID, a, ok, want)
	case !ok:
		return
	case a.Task.Job != want.Spec.ID:
		t.Fatalf("Assign(%d) = task %v, want one of job %d", s.ID, a.Task, want.Spec.ID)
	}
	w.tries[a.Task]++
	if a.Attempt != w.tries[a.Task] {
		t.Fatalf("Assign(%d) = attempt %d of task %v, want %d", s.ID, a.Attempt, a.Task, w.tries[a.Task])
	}
	s.job, s.task, s.attempt = want, a.Task, a.Attempt
	want.phases[a.Task.Phase].state[a.Task.Index] = running
	want.phases[a.Task.Phase].start[a.Task.Index] = w.Now
	w.turns++
	of, running := poolClass{want.Spec.Pool, s.Class}, 0
	for _, j := range w.Jobs {
		if j.Spec.Pool == want.Spec.Pool {
			running += w.Running(j, s.Class)
		}
	}
	if running == 1 {
		w.poolWas[of] = w.poolTurn[of]
	}
	w.poolTurn[of] = w.turns
}
