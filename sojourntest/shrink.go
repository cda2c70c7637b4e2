package sojourntest

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// shrink returns a breach of the same law by a history with small numbers, from which
// no call can be left out.
func (b *breach) shrink(newPolicy func() sojourn.Policy, o *Options) *breach {
	s := &shrinker{newPolicy: newPolicy, o: o, best: b}
	if !s.begin() {
		return b // possible if the policy is not deterministic
	}
	s.breaks(s.best.made.where(func(c *call) bool { return c.err == nil }))
	s.breaks(s.best.made.where(func(c *call) bool { return !c.assign || c.ok }))
	for s.progress = true; s.progress; {
		s.progress = false
		s.omit()
		s.omitPairs()
		s.omitPhases()
		s.foresee()
		s.simplify()
		s.hurry()
		s.renumber()
	}
	s.narrow()
	return s.best
}

// A shrinker looks for small histories that break a law.
type shrinker struct {
	newPolicy func() sojourn.Policy
	o         *Options
	best      *breach
	way       way
	progress  bool
	spent     int
}

// patience bounds the calls of the histories that a shrinker tries, so that it ends
// within seconds. The drain and the replays take as long as several times as many
// calls.
const (
	patience = 400_000
	epilogue = 16
)

// begin finds the simplest way in which the calls of the trial break the law once more. It first leaves out what the
// text of a history leaves out, so that the text repeats the failure.
func (s *shrinker) begin() bool {
	plain, _, err := readHistory(s.best.made.String())
	histories := []history{plain, s.best.made}
	if err != nil {
		histories = histories[1:]
	}
	changing := []bool{false, true}
	if !s.best.changing {
		changing = changing[:1]
	}
	for _, h := range histories {
		for ending := justCalls; ending <= thenEverything; ending++ {
			for _, changes := range changing {
				for mode := range 12 {
					if ending == justCalls && mode > 3 {
						break
					}
					s.way = way{ending: ending, plain: mode&1 == 0 && ending != justCalls, thorough: mode&2 == 0, changing: changes, seed: mode / 4}
					s.spent = 0 // the bound is for making the history smaller; the ways are few
					if s.breaks(h) {
						return true
					}
				}
			}
		}
	}
	return false
}

// lastDeadline returns the last deadline or release time of a job.
func (h history) lastDeadline() (t sojourn.Time) {
	for i := range h {
		if j := h[i].ev.Job; j != nil {
			t = max(t, j.Deadline, j.Release)
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
	if s.spent += len(h); s.way.ending != justCalls {
		s.spent += epilogue * len(h)
	}
	b := s.way.run(s.newPolicy, s.o, h)
	if !s.best.same(b) {
		return false
	}
	// What a later question finds shows some time after the call that caused it.
	if s.way.ending == justCalls && b.law != lawSnapshots && b.law != lawJobs && b.culprit().ev.Kind != s.best.culprit().ev.Kind {
		return false
	}
	s.best, s.progress = b, true
	return true
}

// foresee lets jobs arrive as they are revised later.
func (s *shrinker) foresee() {
	for i := 0; i < len(s.best.made); i++ {
		revised := &s.best.made[i]
		if revised.assign || revised.ev.Kind != sojourn.JobRevised || revised.ev.Job == nil {
			continue
		}
		h := slices.Clone(s.best.made)
		for k := range h[:i] {
			if ev := &h[k].ev; !h[k].assign && (ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted) && ev.Job != nil && ev.Job.ID == revised.ev.Job.ID {
				ev.Job = revised.ev.Job
			}
		}
		if s.breaks(slices.Delete(h, i, i+1)) {
			i = -1 // what was found may begin anew
		}
	}
}

// narrow leaves out as many as possible of the Ticks, of the slots that come and go, or of the fields with nonsense, that
// break a law, and names the fields that remain.
func (s *shrinker) narrow() {
	switch s.best.law {
	case lawTicks, lawFlicker, lawFields, lawPanics:
	default:
		return
	}
	if s.way.ending == justCalls {
		return
	}
	s.spent = min(s.spent, patience/2)
	made, left := s.best.made, map[int]bool{}
	first := true
	s.way.only = func(place int) bool {
		if first {
			left[place] = true
		}
		return left[place]
	}
	if !s.breaks(made) {
		s.way.only = nil
		return
	}
	first = false
	const few = 4 // below it, all lengths are tried: two may be needless together, but not one alone
	for size := -1; size != len(left); {
		size = len(left)
		for n := size; n > 0; n = min(n-1, max(n/2, few)) {
			for places := range slices.Chunk(slices.Sorted(maps.Keys(left)), n) {
				for _, p := range places {
					delete(left, p)
				}
				if !s.breaks(made) {
					for _, p := range places {
						left[p] = true
					}
				}
			}
		}
	}
	if s.best.law != lawFields {
		return
	}
	for _, p := range slices.Sorted(maps.Keys(left)) {
		i, l := p/len(litterers), litterers[p%len(litterers)]
		s.best.note += fmt.Sprintf("%s of line %d is nonsense, and a %v does not use it: ", l.field, i+1+above, s.best.history[i].ev.Kind)
	}
}

// omit leaves out as many calls as possible, first long stretches of them.
func (s *shrinker) omit() {
	for n := len(s.best.made) / 2; n > 0; n /= 2 {
		for i := len(s.best.made) - n; i >= 0; i -= n {
			h := s.best.made
			h = append(h[:i:i], h[min(i+n, len(h)):]...)
			if !s.breaks(h) {
				s.way.adapts = true
				s.breaks(h)
				s.way.adapts = false
			}
		}
	}
}

// omitPairs leaves out two calls at a time that need each other, such as a job and a slot that it takes.
func (s *shrinker) omitPairs() {
	const short = 12 // calls of a history of which all pairs are tried
	for i := 0; i < len(s.best.made) && len(s.best.made) <= short; i++ {
		for k := i + 1; k < len(s.best.made); k++ {
			h := slices.Delete(slices.Clone(s.best.made), k, k+1)
			if s.breaks(slices.Delete(h, i, i+1)) {
				i = -1 // begin anew
				break
			}
		}
	}
}

// omitPhases leaves out phases of jobs, with the calls about their tasks.
func (s *shrinker) omitPhases() {
	for i := 0; i < len(s.best.made); i++ {
		j := s.best.made[i].ev.Job
		if j == nil || len(j.Phases) < 2 {
			continue
		}
		for k := range j.Phases {
			if s.breaks(s.best.made.withoutPhase(j.ID, k)) {
				i = -1 // begin anew
				break
			}
		}
	}
}

// withoutPhase returns h without phase k of a job.
func (h history) withoutPhase(id sojourn.JobID, k int) (out history) {
	for _, c := range h {
		ev := &c.ev
		if ev.Task.Job == id && int(ev.Task.Phase) == k {
			continue
		}
		if ev.Task.Job == id && int(ev.Task.Phase) > k {
			ev.Task.Phase--
		}
		if ev.Job != nil && ev.Job.ID == id && len(ev.Job.Phases) > max(k, 1) {
			ev.Job = clone(ev.Job)
			ev.Job.Phases = slices.Delete(ev.Job.Phases, k, k+1)
			ev.Job.Phases[0].After = 0
			for i := range ev.Job.Phases {
				ev.Job.Phases[i].Needs = nil
			}
		}
		out = append(out, c)
	}
	return out
}

// simplify removes from events what does not matter, and lowers numbers. It does so for all jobs together, and then
// for each job and task in all calls about it.
func (s *shrinker) simplify() {
	jobs := func(ev *sojourn.Event) bool { return ev.Job != nil }
	for _, change := range jobChanges {
		s.change(jobs, func(ev *sojourn.Event) { change(ev.Job) })
	}
	for _, change := range phaseChanges {
		s.change(jobs, func(ev *sojourn.Event) {
			for k := range ev.Job.Phases {
				change(&ev.Job.Phases[k])
			}
		})
	}
	for i := 0; i < len(s.best.made); i++ {
		ev := s.best.made[i].ev
		self := func(other *sojourn.Event) bool { return i < len(s.best.made) && other == &s.best.made[i].ev }
		for _, change := range eventChanges {
			s.change(self, change)
		}
		if ev.Features()&sojourn.FeatureAttempts != 0 {
			s.change(self, func(ev *sojourn.Event) { ev.Attempt = 0 })
		}
		if ev.Task.Job != 0 {
			same := func(other *sojourn.Event) bool { return other.Task == ev.Task }
			s.change(same, func(ev *sojourn.Event) { ev.Task.Phase, ev.Task.Index = 0, 0 })
			s.change(same, func(ev *sojourn.Event) { ev.Task.Index = 0 })
		}
		if ev.Job == nil {
			continue
		}
		same := func(other *sojourn.Event) bool { return other.Job != nil && other.Job.ID == ev.Job.ID }
		for _, change := range jobChanges {
			s.change(same, func(ev *sojourn.Event) { change(ev.Job) })
		}
		for k := len(ev.Job.Phases) - 1; k >= 0; k-- {
			s.change(same, func(ev *sojourn.Event) { ev.Job.Phases = ev.Job.Phases[:min(k+1, len(ev.Job.Phases))] })
			for _, change := range phaseChanges {
				s.change(same, func(ev *sojourn.Event) {
					if k < len(ev.Job.Phases) {
						change(&ev.Job.Phases[k])
					}
				})
			}
		}
	}
}

// onPool returns a change of the pool of an event.
func onPool(change func(*sojourn.Pool)) func(*sojourn.Event) {
	return func(ev *sojourn.Event) {
		if ev.Pool != nil {
			p := *ev.Pool
			ev.Pool = &p
			change(&p)
		}
	}
}

// Changes that make a history simpler. None undoes another.
var (
	eventChanges = []func(*sojourn.Event){
		func(ev *sojourn.Event) { ev.Service = 0 },
		func(ev *sojourn.Event) { ev.Service = min(ev.Service, 1) },
		func(ev *sojourn.Event) { ev.Service = min(ev.Service, time.Second) },
		func(ev *sojourn.Event) { ev.Cost = 0 },
		func(ev *sojourn.Event) { ev.Cost = min(ev.Cost, 1) },
		func(ev *sojourn.Event) { ev.Progress = 0 },
		func(ev *sojourn.Event) { ev.Cause = 0 },
		func(ev *sojourn.Event) { ev.Slot.Node, ev.Slot.Rack = 0, 0 },
		func(ev *sojourn.Event) { ev.Slot.Rack = 0 },
		func(ev *sojourn.Event) { ev.Slot.Speed = 0 },
		onPool(func(p *sojourn.Pool) { p.Weight = 0 }),
		onPool(func(p *sojourn.Pool) { p.Min = nil }),
		onPool(func(p *sojourn.Pool) { p.Max = nil }),
		onPool(func(p *sojourn.Pool) { p.MaxJobs = 0 }),
		onPool(func(p *sojourn.Pool) { p.Paused = false }),
		func(ev *sojourn.Event) {
			if ev.Kind == sojourn.JobAdopted {
				ev.Kind, ev.Service = sojourn.JobArrived, 0
			}
		},
	}
	jobChanges = []func(*sojourn.Job){
		func(j *sojourn.Job) { j.Name, j.Pool = "", "" },
		func(j *sojourn.Job) { j.Name = "" },
		func(j *sojourn.Job) { j.Pool = "" },
		func(j *sojourn.Job) { j.Weight = 0 },
		func(j *sojourn.Job) {
			if j.Weight > 2 {
				j.Weight = 2
			}
		},
		func(j *sojourn.Job) { j.Deadline = 0 },
		func(j *sojourn.Job) { j.Release = 0 },
		func(j *sojourn.Job) { j.Sequence = "" },
		func(j *sojourn.Job) { j.Open = false },
		func(j *sojourn.Job) { j.Priority = 0 },
		func(j *sojourn.Job) { j.Priority = max(-1, min(j.Priority, 1)) },
		func(j *sojourn.Job) { j.Parallelism = 0 },
		func(j *sojourn.Job) { j.Parallelism = min(j.Parallelism, 1) },
	}
	phaseChanges = []func(*sojourn.Phase){
		func(p *sojourn.Phase) { p.Bytes = nil },
		func(p *sojourn.Phase) { p.Delays = nil },
		func(p *sojourn.Phase) { p.Inputs = sojourn.Inputs{} },
		func(p *sojourn.Phase) { p.Estimates = nil },
		func(p *sojourn.Phase) { p.Estimate = 0 },
		func(p *sojourn.Phase) { p.Estimate = min(p.Estimate, 1) },
		func(p *sojourn.Phase) { p.Estimate = min(p.Estimate, time.Second) },
		func(p *sojourn.Phase) { lower(p.Estimates, time.Second) },
		func(p *sojourn.Phase) { lower(p.Delays, time.Second) },
		func(p *sojourn.Phase) { lower(p.Bytes, 1) },
		func(p *sojourn.Phase) { p.After = 0 },
		func(p *sojourn.Phase) { p.Needs = nil },
		func(p *sojourn.Phase) { p.Needs = p.Needs[:len(p.Needs)/2] },
		func(p *sojourn.Phase) { p.Held = false },
		func(p *sojourn.Phase) { truncate(p, 1) },
		func(p *sojourn.Phase) { truncate(p, p.Tasks/2) },
		func(p *sojourn.Phase) { truncate(p, p.Tasks-1) },
	}
)

// lower lowers the numbers of a list to most.
func lower[T ~int64](list []T, most T) {
	for i := range list {
		list[i] = min(list[i], most)
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
	for i := 0; i < len(s.best.made); i++ {
		for _, step := range []sojourn.Time{0, 1, sojourn.Time(time.Second), sojourn.Time(time.Minute)} {
			h := s.best.made
			if i >= len(h) || h[i].assign {
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
				if ev.At -= by; ev.Job != nil {
					ev.Job = clone(ev.Job)
					for _, t := range []*sojourn.Time{&ev.Job.Deadline, &ev.Job.Release} {
						if *t > by {
							*t -= by
						}
					}
				}
			}
			if s.breaks(sooner) {
				break
			}
		}
	}
}

// renumber gives jobs, slots and nodes the numbers 1, 2, 3, and classes 0, 1, 2, in the order of their
// first mention, if the law stays broken.
func (s *shrinker) renumber() {
	jobs, slots, nodes := map[sojourn.JobID]sojourn.JobID{0: 0}, map[sojourn.SlotID]sojourn.SlotID{}, map[sojourn.NodeID]sojourn.NodeID{0: 0}
	job := func(id sojourn.JobID) sojourn.JobID { return next(jobs, id, sojourn.JobID(len(jobs))) }
	slot := func(id sojourn.SlotID) sojourn.SlotID { return next(slots, id, sojourn.SlotID(len(slots)+1)) }
	node := func(id sojourn.NodeID) sojourn.NodeID { return next(nodes, id, sojourn.NodeID(len(nodes))) }
	classes := map[sojourn.Class]sojourn.Class{}
	class := func(c sojourn.Class) sojourn.Class { return next(classes, c, sojourn.Class(len(classes))) }
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
			case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
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
		func(c *call) {
			if c.ev.Kind == sojourn.SlotAdded {
				c.ev.Slot.Class = class(c.ev.Slot.Class)
			}
			if c.ev.Job == nil {
				return
			}
			c.ev.Job = clone(c.ev.Job)
			for i := range c.ev.Job.Phases {
				c.ev.Job.Phases[i].Class = class(c.ev.Job.Phases[i].Class)
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
