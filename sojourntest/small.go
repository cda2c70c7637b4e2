package sojourntest

import (
	"cmp"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	format "github.com/sojourn-sched/sojourn/history"
)

// A Small is a world that is small enough to walk through all its histories. The zero Small has two slots and up to two
// jobs of one or two tasks, of which 1 or 2 seconds are told. Each task takes 1 or 2 seconds, whatever was told.
//
// A history begins with the slots. Then jobs arrive and attempts end, at whole seconds or at the instants at which an
// attempt has taken its time, and in all orders within an instant. After each event the driver offers the free slots at
// once, or waits for another event of the same instant. Histories that differ only in names are walked once: jobs are
// numbered in the order of their arrival, and of slots, nodes or tasks that nothing but a number tells apart the first
// stands for all.
type Small struct {
	// Slots are there from the beginning. Nil means two slots of the class of the jobs; if these have two classes, one of each.
	Slots []sojourn.Slot

	// Jobs are what may arrive. Their IDs do not count, and Release and Deadline, if not 0, are counted from the arrival. Nil means
	// plain jobs that the policy supports.
	Jobs []*sojourn.Job

	// Most is how many jobs arrive at most. Zero means 2.
	Most int

	// Events is how many events a history has at most after the slots; what is due after them comes to its end without a
	// choice. The driver's Ticks do not count. Zero means 7.
	Events int

	// Takes returns how long an attempt may take if so long was told of its task: ascending, and above 0. Nil means 1 or 2 seconds.
	Takes func(told time.Duration) []time.Duration

	// Also are kinds of events that happen, too, at any instant at which they fit. A failure has each cause of package sojourn,
	// and a revision makes a job any other one of Jobs.
	Also []sojourn.EventKind
}

// Exactly is a value for [Small.Takes]: each attempt takes what was told of its task.
func Exactly(told time.Duration) []time.Duration { return []time.Duration{told} }

// AtMost is a value for [Small.Takes]: each attempt takes what was told of its task, or any number of whole seconds less.
func AtMost(told time.Duration) (list []time.Duration) {
	for d := time.Second; d < told; d += time.Second {
		list = append(list, d)
	}
	return append(list, told)
}

// All checks the laws of [Run] on every history of a small world, in the same order each time. One line of a test is enough:
//
//	sojourntest.All(t, newPolicy, sojourntest.Options{}, sojourntest.Small{})
//
// Where the laws leave a choice, such as which attempt is lost or where a policy is saved, it is made at random from the
// number of the history, so that it is the same each time. One kind of event that does not fit is tried in each history,
// and damaged snapshots are offered in one of 64. The log says how many histories there were: go test -v prints it.
//
// A policy cannot be copied, so each history is made from its beginning. What it shares with the one before is not judged
// again. To restore a snapshot instead takes as long as some 18 calls do (BenchmarkShared).
//
// Tests: TestAllFindsWhatIsBroken, TestWalkRepeatsNothing.
func All(t *testing.T, newPolicy func() sojourn.Policy, o Options, w Small) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	n, found := walkAll(newPolicy, &o, w)
	t.Log(n)
	if found != nil {
		t.Fatal(found.report(newPolicy, &o))
	}
}

// Walk makes every history of a small world, each until all jobs have ended or nothing can happen any more, and gives it to
// check. It judges no law. Use it for what a policy promises beyond them, such as a bound on sojourn times. The entries are
// those of package history: the events with their answers, and what each offer returned. check must not keep them. An error of
// check fails the test with the history.
//
//	sojourntest.Walk(t, newPolicy, sojourntest.Small{Takes: sojourntest.Exactly, Most: 3, Events: 20}, func(h []history.Entry) error { ... })
//
// Test: TestWalkRepeatsNothing.
func Walk(t *testing.T, newPolicy func() sojourn.Policy, w Small, check func([]format.Entry) error) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	n, err := walk(newPolicy, w, check)
	t.Log(n)
	if err != nil {
		t.Fatal(err)
	}
}

// counts say what was walked.
type counts struct{ histories, calls, judged int }

func (n counts) String() string {
	return fmt.Sprintf("%d histories, %d calls, %d of them after what a history shares with the one before", n.histories, n.calls, n.judged)
}

// walkAll is All. It returns the first law that is broken.
func walkAll(newPolicy func() sojourn.Policy, o *Options, w Small) (n counts, found *breach) {
	var (
		odo   odometer
		known history // what the next history shares with the last one
	)
	for more := true; more && found == nil; {
		found = breachOf(func() {
			tr := newTrial(newPolicy, o, still{})
			tr.extreme, tr.curious, tr.known = false, false, known
			tr.phase = n.histories % fullEvery
			s := newStroll(w, &tr.draws, tr)
			s.walk(&odo, false)
			n.histories++
			n.calls += len(tr.h)
			n.judged += len(tr.h) - len(known)
			made := tr.h
			tr.src, tr.spares = newChance(uint64(n.histories), 0), n.histories%64 != 1
			tr.misuse()
			tr.misfit()
			tr.drain()
			tr.replays()
			var calls int
			if calls, more = odo.next(); more {
				known = made[:calls:calls]
			}
		})
	}
	return n, found
}

// walk is Walk.
func walk(newPolicy func() sojourn.Policy, w Small, check func([]format.Entry) error) (n counts, err error) {
	var (
		odo  odometer
		o    Options
		list []format.Entry
	)
	for more := true; more; {
		p := newPolicy()
		o.features = sojourn.Supports(p)
		dr := newDraws(&o, still{})
		d := &driver{s: newSubject(func() sojourn.Policy { return p }), m: dr.m}
		what := panicked(func() { newStroll(w, &dr, d).walk(&odo, true) })
		n.histories++
		n.calls += len(d.h)
		list = d.h.entries(list[:0])
		if what != "" {
			err = errors.New("panics: " + what)
		} else if d.err != nil {
			err = d.err
		} else {
			err = check(list)
		}
		if err != nil {
			return n, fmt.Errorf("%w\n\nin this history, number %d:\n\n%s", err, n.histories, d.h)
		}
		var shared int
		shared, more = odo.next()
		n.judged += len(d.h) - shared
	}
	return n, nil
}

// entries appends the calls of h to list.
func (h history) entries(list []format.Entry) []format.Entry {
	now := sojourn.Time(0)
	for i := range h {
		c := &h[i]
		if c.assign {
			list = append(list, format.Entry{Kind: format.Assign, At: now, Slot: c.slot, Assignment: c.a, OK: c.ok})
			continue
		}
		if list = append(list, format.Entry{Kind: format.Observe, Event: c.ev, Err: c.answer()}); c.err == nil {
			now = c.ev.At
		}
	}
	return list
}

// An odometer makes the choices of all histories of a world one after the other: the last choice that can be made otherwise is
// the first to change.
type odometer struct {
	digits []digit
	at     int // the next choice
}

// A digit is a choice among several, and how many calls had been made before.
type digit struct{ is, of, calls int }

func (o *odometer) choose(n, calls int) int {
	if n == 1 {
		return 0
	}
	if o.at == len(o.digits) {
		o.digits = append(o.digits, digit{0, n, calls})
	}
	d := o.digits[o.at]
	if d.of != n || d.calls != calls {
		panic(&breach{law: lawDeterminism, what: fmt.Sprintf("after the same calls, there are %d choices after %d calls; before, there were %d after %d", n, calls, d.of, d.calls)})
	}
	o.at++
	return d.is
}

// next goes on to the next history, and returns how many calls it shares with the last; false if there is none.
func (o *odometer) next() (calls int, ok bool) {
	o.digits = o.digits[:o.at]
	for o.at = 0; len(o.digits) > 0; o.digits = o.digits[:len(o.digits)-1] {
		if d := &o.digits[len(o.digits)-1]; d.is+1 < d.of {
			d.is++
			return d.calls, true
		}
	}
	return 0, false
}

// still is a source that always makes the first choice.
type still struct{}

func (still) below(int) int { return 0 }
func (still) more() bool    { return false }

// A hand makes the calls of a stroll.
type hand interface {
	observe(ev sojourn.Event) error
	settle(order int) (taken bool) // offers, and reports a Tick as long as the policy wants one
	wakes() (sojourn.Time, bool)   // when the policy wants a Tick
	made() int                     // calls
}

func (w *witness) wakes() (sojourn.Time, bool) { return w.last.wake, w.last.waits }
func (w *witness) made() int                   { return len(w.h) }

// A driver makes calls, and judges nothing but what a driver must.
type driver struct {
	s   *subject
	m   *model
	h   history
	err error // of an event that the policy should have accepted
}

func (d *driver) observe(ev sojourn.Event) error {
	err := d.s.Observe(ev)
	c := call{ev: ev, err: sentinel(err)}
	errors.As(err, &c.rejection)
	d.h = append(d.h, c)
	if d.m.follow(&c); err != nil && c.rejection == nil && d.err == nil {
		d.err = err
	}
	return err
}

func (d *driver) settle(int) (taken bool) {
	for range 1000 {
		progress := false
		for _, id := range d.m.free() {
			c := call{assign: true, slot: id}
			c.a, c.ok = d.s.Assign(id)
			d.h = append(d.h, c)
			d.m.follow(&c)
			progress = progress || c.ok
		}
		taken = taken || progress
		if at, ok := d.wakes(); ok && at <= d.m.now {
			d.observe(sojourn.Event{Kind: sojourn.Tick, At: d.m.now})
		} else if !progress {
			return taken
		}
	}
	d.err = errors.New("the policy wants one Tick after the other at one instant")
	return taken
}

func (d *driver) wakes() (sojourn.Time, bool) {
	if d.s.waker == nil {
		return 0, false
	}
	return d.s.waker.NextWake()
}

func (d *driver) made() int { return len(d.h) }

// A stroll is one history of a small world.
type stroll struct {
	Small
	hand
	dr *draws
	m  *model

	now     sojourn.Time // not before that of the model
	arrived int
	events  int                             // so far, without the slots
	started map[sojourn.SlotID]sojourn.Time // when what runs there was started
	dirty   bool                            // something has happened that was not followed by an offer
	idle    int                             // how often time has passed while nothing ran and nothing happened
	over    bool
	named   bool // nodes are told apart by inputs
	seen    []alias
}

func newStroll(w Small, dr *draws, by hand) *stroll {
	s := &stroll{Small: w, hand: by, dr: dr, m: dr.m, started: map[sojourn.SlotID]sojourn.Time{}}
	s.Most, s.Events = cmp.Or(w.Most, 2), cmp.Or(w.Events, 7)
	if s.Takes == nil {
		s.Takes = func(time.Duration) []time.Duration { return []time.Duration{time.Second, 2 * time.Second} }
	}
	if s.Jobs == nil {
		s.Jobs = plainSmall(dr.o)
	}
	if s.Slots == nil {
		var classes []sojourn.Class
		for _, j := range s.Jobs {
			for _, p := range j.Phases {
				if !slices.Contains(classes, p.Class) {
					classes = append(classes, p.Class)
				}
			}
		}
		for i := range max(2, len(classes)) {
			s.Slots = append(s.Slots, sojourn.Slot{ID: sojourn.SlotID(i), Class: classes[i%len(classes)]})
		}
	}
	for _, j := range s.Jobs {
		for _, p := range j.Phases {
			s.named = s.named || p.Inputs.Len() > 0
		}
	}
	return s
}

// plainSmall returns plain jobs of one or two tasks in each phase, of which 1 or 2 seconds are told.
func plainSmall(o *Options) (list []*sojourn.Job) {
	for tasks := 1; tasks <= 2; tasks++ {
		for length := time.Second; length <= 2*time.Second; length += time.Second {
			j := plainJobs(o, 1, tasks, sojourn.Time(time.Hour))[0]
			for i := range j.Phases {
				j.Phases[i].Estimate = length
			}
			list = append(list, j)
		}
	}
	return list
}

// A move is an event, an offer, or that time passes.
type move struct {
	ev   sojourn.Event
	does func() // if it is no event
}

// walk makes the history that the odometer says, until there is nothing left to choose or, with toEnd, until nothing is left to do.
func (s *stroll) walk(odo *odometer, toEnd bool) {
	for _, slot := range s.Slots {
		s.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
	}
	s.dirty = false
	for !s.over {
		moves := s.moves()
		if len(moves) == 0 {
			if moves = s.rest(); len(moves) == 0 || !toEnd {
				return
			}
		}
		mv := moves[odo.choose(len(moves), s.made())]
		if mv.does != nil {
			mv.does()
			continue
		}
		s.events++
		s.tell(mv.ev)
	}
}

// tell reports an event now.
func (s *stroll) tell(ev sojourn.Event) {
	ev.At = s.now
	if ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted {
		s.arrived++
		ev.Job = s.job(ev.Job, sojourn.JobID(s.arrived))
	}
	s.observe(ev)
	at, waits := s.wakes()
	s.dirty, s.idle = len(s.m.free()) > 0 || waits && at <= s.now, 0 // else an offer makes no call
	s.look()
}

// look learns what was started and what has ended.
func (s *stroll) look() {
	for _, slot := range s.m.slots {
		if slot.task == nil {
			delete(s.started, slot.ID)
		} else if _, known := s.started[slot.ID]; !known {
			s.started[slot.ID] = s.now
		}
	}
}

func (s *stroll) offer() {
	s.settle(ascending)
	s.dirty = false
	s.look()
}

// moves returns what can happen next.
func (s *stroll) moves() (list []move) {
	if s.events >= s.Events {
		return nil
	}
	s.seen = s.seen[:0]
	add := func(ev sojourn.Event) {
		ev.At = s.now
		if a := s.aliasOf(&ev); !slices.Contains(s.seen, a) && s.m.check(&ev) == nil {
			s.seen = append(s.seen, a)
			list = append(list, move{ev: ev})
		}
	}
	quiet := len(s.m.jobs) == 0
	if s.arrived < s.Most {
		for _, j := range s.Jobs {
			list = append(list, move{ev: sojourn.Event{Kind: sojourn.JobArrived, Job: j}})
		}
	}
	for _, slot := range s.m.busy() {
		if slices.Contains(s.takes(slot), s.ran(slot)) {
			ev := report(sojourn.TaskFinished, slot)
			ev.Service = s.ran(slot)
			add(ev)
		}
	}
	for _, kind := range s.Also {
		for _, ev := range s.also(kind) {
			add(ev)
		}
	}
	switch {
	case s.dirty:
		list = append(list, move{does: s.offer})
	case quiet && s.idle == 0 && s.arrived < s.Most && s.arrived > 0:
		list = append(list, move{does: func() { s.over = true }})
		fallthrough
	default:
		if at, ok := s.until(); ok {
			list = append(list, move{does: func() { s.pass(at) }})
		}
	}
	return list
}

// rest returns the one thing that is left to do after the events that are chosen.
func (s *stroll) rest() []move {
	if s.dirty {
		return []move{{does: s.offer}}
	}
	for _, slot := range s.m.busy() {
		if takes := s.takes(slot); s.ran(slot) >= takes[len(takes)-1] {
			ev := report(sojourn.TaskFinished, slot)
			ev.Service = s.ran(slot)
			return []move{{ev: ev}}
		}
	}
	if len(s.m.jobs) == 0 {
		return nil
	}
	if at, ok := s.until(); ok {
		return []move{{does: func() { s.pass(at) }}}
	}
	return nil
}

// job returns a job as it arrives now.
func (s *stroll) job(j *sojourn.Job, id sojourn.JobID) *sojourn.Job {
	j = clone(j)
	j.ID = id
	if j.Deadline != 0 {
		j.Deadline += s.now
	}
	if j.Release != 0 {
		j.Release += s.now
	}
	return j
}

// takes returns how long the attempt on a slot may take.
func (s *stroll) takes(slot *modelSlot) []time.Duration {
	id := slot.task.id
	return s.Takes(s.m.job(id.Job).spec.Phases[id.Phase].EstimateOf(int(id.Index)))
}

// ran returns for how long the attempt on a slot has run.
func (s *stroll) ran(slot *modelSlot) time.Duration { return s.now.Sub(s.started[slot.ID]) }

// mostIdle is how many seconds pass while nothing runs and nothing happens.
const mostIdle = 2

// until returns until when time can pass: to the next instant at which something can happen. It may not pass while an attempt
// has to end, nor where nothing could happen later.
func (s *stroll) until() (at sojourn.Time, ok bool) {
	busy := s.m.busy()
	if len(busy) == 0 {
		wake, waits := s.wakes()
		switch {
		case len(s.m.jobs) > 0 && waits && wake > s.now && s.events >= s.Events:
			return wake, s.idle < 100
		case s.idle >= mostIdle || s.arrived == 0, len(s.m.jobs) == 0 && (s.arrived == s.Most || s.idle > 0):
			return 0, false
		}
	}
	at = s.now.Add(time.Second) - s.now%sojourn.Time(time.Second)
	for _, slot := range busy {
		takes := s.takes(slot)
		if s.ran(slot) >= takes[len(takes)-1] {
			return 0, false
		}
		for _, d := range takes {
			if end := s.started[slot.ID].Add(d); end > s.now {
				at = min(at, end)
			}
		}
	}
	return at, true
}

// pass lets time pass, and does what the policy wants meanwhile.
func (s *stroll) pass(until sojourn.Time) {
	for range 1000 {
		at, ok := s.wakes()
		if !ok || at > until {
			break
		}
		s.now = max(s.now, at)
		s.observe(sojourn.Event{Kind: sojourn.Tick, At: s.now})
		s.offer()
	}
	s.now = until
	if s.idle++; len(s.m.busy()) > 0 {
		s.idle = 0
	}
}

// also returns events of a kind that may happen now.
func (s *stroll) also(kind sojourn.EventKind) (list []sojourn.Event) {
	switch kind {
	case sojourn.SlotAdded:
		for _, slot := range s.Slots {
			list = append(list, sojourn.Event{Kind: kind, Slot: slot}) // those that are there do not fit
		}
		return list
	case sojourn.NodeDown, sojourn.NodeUp:
		for _, slot := range s.Slots {
			if slot.Node != 0 {
				list = append(list, sojourn.Event{Kind: kind, Slot: sojourn.Slot{Node: slot.Node, Rack: slot.Rack}})
			}
		}
		return list
	case sojourn.JobRevised:
		for _, live := range s.m.jobs {
			for _, j := range s.Jobs {
				j = s.job(j, live.spec.ID)
				j.Name, j.Pool, j.Sequence = live.spec.Name, live.spec.Pool, live.spec.Sequence
				if describe(j) != describe(live.spec) {
					list = append(list, sojourn.Event{Kind: kind, Job: j})
				}
			}
		}
		return list
	case sojourn.JobAdopted:
		if s.arrived < s.Most {
			for _, j := range s.Jobs {
				list = append(list, sojourn.Event{Kind: kind, Job: j})
			}
		}
		return list
	}
	for _, ev := range s.dr.candidates(kind) {
		slot := s.m.slot(ev.Slot.ID)
		switch kind {
		case sojourn.TaskFailed:
			ev.Service = s.ran(slot)
			for _, ev.Cause = range []sojourn.Cause{sojourn.CauseTask, sojourn.CausePreempted, sojourn.CauseSlotLost} {
				list = append(list, ev)
			}
			continue
		case sojourn.TaskRefused:
			if s.ran(slot) > 0 {
				continue
			}
		case sojourn.TaskProgress:
			ev.Service, ev.Progress = s.ran(slot), sojourn.MaxProgress/2
		}
		list = append(list, ev)
	}
	return list
}

// An alias is what an event is about but for names that nothing tells apart.
type alias struct {
	kind  sojourn.EventKind
	cause sojourn.Cause
	job   *sojourn.Job // of a job that comes
	text  string       // of a revision
	id    sojourn.JobID
	task  taskAlias
	slot  slotAlias
	node  string
}

// A taskAlias stands for the tasks of a phase in one state.
type taskAlias struct {
	id       sojourn.TaskID // the index is 0 if all tasks of the phase are described alike
	state    taskState
	attempts uint32
	pinned   bool
}

// A slotAlias stands for the slots that are alike and on which the same runs.
type slotAlias struct {
	sojourn.Slot // the ID and the node are 0, but for policies that tell slots apart
	known        bool
	retiring     bool
	started      sojourn.Time
	task         taskAlias
}

func (s *stroll) aliasOf(ev *sojourn.Event) alias {
	a := alias{kind: ev.Kind, cause: ev.Cause}
	switch ev.Kind {
	case sojourn.JobAdopted:
		a.job = ev.Job
	case sojourn.JobRevised:
		a.text = describe(ev.Job)
	case sojourn.JobCancelled:
		a.id = ev.Job.ID
	case sojourn.NodeDown, sojourn.NodeUp:
		a.node = s.nodeAlias(ev.Slot.Node)
	case sojourn.SlotAdded, sojourn.SlotRemoved:
		a.slot, a.node = s.slotAlias(ev.Slot, s.m.slot(ev.Slot.ID)), s.nodeAlias(ev.Slot.Node)
	default:
		if t := s.m.task(ev.Task); t != nil {
			a.task = s.taskAlias(t)
		}
		if slot := s.m.slot(ev.Slot.ID); slot != nil && namesSlot(ev.Kind) {
			a.slot, a.node = s.slotAlias(slot.Slot, slot), s.nodeAlias(slot.Node)
		}
	}
	return a
}

func (s *stroll) taskAlias(t *modelTask) taskAlias {
	a := taskAlias{t.id, t.state, t.attempts, t.pinned}
	if p := &s.m.job(t.id.Job).spec.Phases[t.id.Phase]; p.Estimates == nil && p.Bytes == nil && p.Delays == nil && p.Inputs.Len() == 0 {
		a.id.Index = 0
	}
	return a
}

// slotAlias returns what stands for a slot, of which the model knows something unless it is nil.
func (s *stroll) slotAlias(is sojourn.Slot, slot *modelSlot) slotAlias {
	a := slotAlias{Slot: is}
	if a.Node = 0; !s.dr.o.TellsSlotsApart {
		a.ID = 0
	}
	if slot != nil {
		a.known, a.retiring, a.started = true, slot.retiring, s.started[slot.ID]
		if slot.task != nil {
			a.task = s.taskAlias(slot.task)
		}
	}
	return a
}

// nodeAlias returns what stands for a node: what its slots are, and its number if inputs name nodes.
func (s *stroll) nodeAlias(n sojourn.NodeID) string {
	if n == 0 {
		return ""
	}
	var list []string
	for _, slot := range s.m.slots {
		if slot.Node == n {
			list = append(list, fmt.Sprint(s.slotAlias(slot.Slot, slot)))
		}
	}
	slices.Sort(list)
	name := fmt.Sprint(s.m.down[n], s.m.racks[n], list)
	if s.named {
		name += fmt.Sprint(n)
	}
	return name
}
