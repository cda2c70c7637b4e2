package driver_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/sojourn-sched/sojourn/td"
)

func must[P any](p P, err error) P {
	if err != nil {
		panic(err)
	}
	return p
}

// bare hides what a policy can do besides to observe and to assign.
type bare struct{ sojourn.Policy }

// subjects have every optional interface that matters to a driver, or lack it.
func subjects() map[string]func() sojourn.Policy {
	wait := 3 * time.Second
	return map[string]func() sojourn.Policy{
		"fifo":      constructors.FIFO.With(fifo.Options{}),
		"bare":      func() sojourn.Policy { return bare{constructors.FIFO.Must(fifo.Options{})} },
		"leastwork": constructors.LeastWork.With(leastwork.Options{}),
		"pfsp":      constructors.PFSP.With(pfsp.Options{}),
		"hfsp":      constructors.HFSP.With(hfsp.Options{Preemption: hfsp.Kill}),
		"td":        constructors.TD.With(td.Options{}),
		"fair": func() sojourn.Policy {
			return pooled.Fair.Must(fair.Options{Delay: wait, RackDelay: &wait,
				Preemption: fair.Preemption{FairTimeout: 2 * time.Second, Interval: time.Second}})
		},
	}
}

// A reference drives a policy by the loop that package sojourn describes, word for word. It keeps
// its account of slots as a list.
type reference struct {
	policy  sojourn.Policy
	free    []sojourn.Slot
	killing map[sojourn.Preemption]bool // with For zero
}

func (r *reference) assign(slot sojourn.SlotID, starts *[]sojourn.Assignment) bool {
	a, ok := r.policy.Assign(slot)
	if ok {
		*starts = append(*starts, a)
		r.free = slices.DeleteFunc(r.free, func(s sojourn.Slot) bool { return s.ID == slot })
	}
	return ok
}

func (r *reference) settle(now sojourn.Time) (starts []sojourn.Assignment, kills []sojourn.Preemption, wake sojourn.Time) {
	seeker, seeks := sojourn.As[sojourn.Seeker](r.policy)
	preemptor, preempts := sojourn.As[sojourn.Preemptor](r.policy)
	waker, wakes := sojourn.As[sojourn.Waker](r.policy)
	for {
		started := false
		for class := range sojourn.Class(3) {
			if seeks {
				for slot, ok := seeker.Seek(class); ok; slot, ok = seeker.Seek(class) {
					started = r.assign(slot, &starts) || started
				}
				continue
			}
			for id := range sojourn.SlotID(400) {
				if slices.ContainsFunc(r.free, func(s sojourn.Slot) bool { return s.ID == id && s.Class == class }) {
					started = r.assign(id, &starts) || started
				}
			}
		}
		if started {
			continue
		}
		if preempts {
			for _, v := range preemptor.AppendPreemptions(nil) {
				attempt := sojourn.Preemption{Task: v.Task, Attempt: v.Attempt, Slot: v.Slot} // whoever needs the slot
				if !r.killing[attempt] {
					r.killing[attempt] = true
					kills = append(kills, v)
				}
			}
		}
		wake = math.MaxInt64
		if wakes {
			if at, ok := waker.NextWake(); ok {
				wake = at
			}
		}
		if len(kills) > 0 || wake > now {
			return starts, kills, wake
		}
		if err := r.policy.Observe(sojourn.Event{Kind: sojourn.Tick, At: now}); err != nil {
			panic(err)
		}
	}
}

// A world draws what happens in a cluster. Both drivers hear of it.
type world struct {
	t       *rapid.T
	now     sojourn.Time
	ref     *reference
	d       *driver.Driver
	slots   map[sojourn.SlotID]sojourn.Slot // that are there, also those that retire
	retired map[sojourn.SlotID]bool
	running []sojourn.Assignment
	since   map[sojourn.SlotID]sojourn.Time
	jobs    sojourn.JobID
}

func (w *world) report(ev sojourn.Event) {
	got := w.d.Observe(ev)
	ev.At = w.now
	if ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed {
		ev.Service = max(w.now.Sub(w.since[ev.Slot.ID]), 1)
	}
	want := w.ref.policy.Observe(ev)
	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Fatalf("%v: the driver says %v, the policy %v", ev, got, want)
	}
	if got != nil {
		return
	}
	s, there := w.slots[ev.Slot.ID]
	release := func() {
		if w.retired[s.ID] {
			delete(w.slots, s.ID)
			delete(w.retired, s.ID)
			return
		}
		w.ref.free = append(w.ref.free, s)
	}
	switch ev.Kind {
	case sojourn.SlotAdded:
		w.slots[ev.Slot.ID] = ev.Slot
		if !there {
			w.ref.free = append(w.ref.free, ev.Slot)
		}
		delete(w.retired, ev.Slot.ID)
	case sojourn.SlotRemoved:
		if n := len(w.ref.free); n == len(slices.DeleteFunc(slices.Clone(w.ref.free), func(f sojourn.Slot) bool { return f.ID == s.ID })) {
			w.retired[s.ID] = true
			return
		}
		w.ref.free = slices.DeleteFunc(w.ref.free, func(f sojourn.Slot) bool { return f.ID == s.ID })
		delete(w.slots, s.ID)
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		release()
		w.running = slices.DeleteFunc(w.running, func(a sojourn.Assignment) bool { return a.Slot == ev.Slot.ID })
		for v := range w.ref.killing {
			if v.Slot == ev.Slot.ID {
				delete(w.ref.killing, v)
			}
		}
	}
}

// happen draws one event.
func (w *world) happen() {
	ids := []sojourn.SlotID{0, 1, 2, 3, 5, 63, 64, 300}
	switch k := rapid.IntRange(0, 9).Draw(w.t, "what"); {
	case k <= 1:
		s := sojourn.Slot{ID: rapid.SampledFrom(ids).Draw(w.t, "slot"), Node: sojourn.NodeID(rapid.IntRange(1, 3).Draw(w.t, "node"))}
		s.Class = sojourn.Class(rapid.IntRange(0, 1).Draw(w.t, "class"))
		if old, there := w.slots[s.ID]; there {
			s = old
		}
		w.report(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
	case k == 2:
		w.report(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: rapid.SampledFrom(ids).Draw(w.t, "slot")}})
	case k <= 4:
		w.jobs++
		j := &sojourn.Job{ID: w.jobs, Pool: rapid.SampledFrom([]string{"", "a"}).Draw(w.t, "pool")}
		for i := range rapid.IntRange(1, 2).Draw(w.t, "phases") {
			ph := sojourn.Phase{Tasks: rapid.IntRange(1, 6).Draw(w.t, "tasks"), Class: sojourn.Class(i),
				Estimate: time.Duration(rapid.IntRange(0, 3).Draw(w.t, "estimate")) * time.Second}
			if rapid.Bool().Draw(w.t, "placed") {
				ph.Inputs = sojourn.MakeInputs(slices.Repeat([][]sojourn.NodeID{{sojourn.NodeID(1 + w.jobs%3)}}, ph.Tasks))
			}
			j.Phases = append(j.Phases, ph)
		}
		w.report(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
	case k == 5:
		w.report(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: sojourn.JobID(rapid.Uint64Range(0, uint64(w.jobs)).Draw(w.t, "job"))}})
	case len(w.running) > 0:
		a := rapid.SampledFrom(w.running).Draw(w.t, "attempt")
		w.report(rapid.SampledFrom([]sojourn.Event{driver.Finished(a), driver.Finished(a), driver.Refused(a),
			driver.Failed(a, sojourn.CauseTask), driver.Failed(a, sojourn.CauseSlotLost)}).Draw(w.t, "end"))
	}
}

// A driver starts and kills what the loop in the comment of package sojourn starts and kills, in the
// same order, and sleeps as long.
func TestDecidesAsTheLoopOfPackageSojourn(t *testing.T) {
	for name, newPolicy := range subjects() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := &world{t: t, slots: map[sojourn.SlotID]sojourn.Slot{}, retired: map[sojourn.SlotID]bool{}, since: map[sojourn.SlotID]sojourn.Time{}}
				w.ref = &reference{policy: newPolicy(), killing: map[sojourn.Preemption]bool{}}
				w.d = must(driver.New(newPolicy(), driver.Options{Now: func() sojourn.Time { return w.now }, Preempt: -1}))
				for range rapid.IntRange(1, 40).Draw(t, "instants") {
					w.now += sojourn.Time(rapid.IntRange(0, 2000).Draw(t, "ms")) * sojourn.Time(time.Millisecond)
					for range rapid.IntRange(0, 3).Draw(t, "events") {
						w.happen()
					}
					w.compare()
				}
			})
		})
	}
}

// compare settles both and compares what they want. Some victims end at once, others never.
func (w *world) compare() {
	for {
		starts, kills, wake := w.ref.settle(w.now)
		r := w.d.Settle()
		if !slices.Equal(r.Starts, starts) || !slices.Equal(r.Kills, kills) {
			w.t.Fatalf("at %v: starts %v, kills %v; want %v, %v", w.now, r.Starts, r.Kills, starts, kills)
		}
		if len(kills) == 0 { // otherwise the sleep does not matter: ends follow
			if want := wake.Sub(w.now); wake == math.MaxInt64 && r.Sleep != driver.Never || wake < math.MaxInt64 && r.Sleep != want {
				w.t.Fatalf("at %v: sleep %v, want %v", w.now, r.Sleep, want)
			}
		}
		w.running = append(w.running, starts...)
		for _, a := range starts {
			w.since[a.Slot] = w.now
		}
		ended := false
		for _, v := range kills {
			if rapid.Bool().Draw(w.t, "dies at once") {
				w.report(driver.Failed(sojourn.Assignment{Task: v.Task, Attempt: v.Attempt, Slot: v.Slot}, sojourn.CausePreempted))
				ended = true
			}
		}
		if !ended {
			return
		}
	}
}

// A call is what a policy was told, or what it started.
type call struct {
	ev sojourn.Event
	a  sojourn.Assignment
}

// A tape keeps the calls of a policy.
type tape struct {
	sojourn.Policy
	calls []call
}

func (p *tape) Unwrap() sojourn.Policy { return p.Policy }

func (p *tape) Observe(ev sojourn.Event) error {
	p.calls = append(p.calls, call{ev: ev})
	return p.Policy.Observe(ev)
}

func (p *tape) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Policy.Assign(id)
	if ok {
		p.calls = append(p.calls, call{a: a})
	}
	return a, ok
}

// workload draws jobs of two phases that arrive in bunches.
func workload(seed uint64) func(yield func(*sim.Job, error) bool) {
	return func(yield func(*sim.Job, error) bool) {
		rng := rand.New(rand.NewPCG(seed, 1))
		at := sojourn.Time(0)
		for id := range sojourn.JobID(25) {
			at += sojourn.Time(rng.IntN(3)) * sojourn.Time(time.Second)
			j := &sim.Job{At: at, Job: sojourn.Job{ID: id + 1, Pool: []string{"", "a"}[rng.IntN(2)]}}
			for class := range sojourn.Class(1 + rng.IntN(2)) {
				ph := sojourn.Phase{Tasks: 1 + rng.IntN(12), Class: class}
				nodes := make([][]sojourn.NodeID, ph.Tasks)
				for i := range nodes {
					nodes[i] = []sojourn.NodeID{sojourn.NodeID(1 + rng.IntN(3))}
				}
				if class == 0 {
					ph.Inputs = sojourn.MakeInputs(nodes)
				}
				j.Phases = append(j.Phases, ph)
				j.Times = append(j.Times, sim.Times{Each: time.Duration(1+rng.IntN(5)) * time.Second})
			}
			if !yield(j, nil) {
				return
			}
		}
	}
}

// The simulator has a loop of its own, since it checks each answer. A driver that hears of the
// same events at the same instants makes the same calls, in the same order.
func TestDecidesAsTheSimulator(t *testing.T) {
	nodes := []sim.Node{{Name: "a", Slots: []int{2, 1}}, {Name: "b", Slots: []int{2, 1}}, {Name: "c", Slots: []int{2, 1}}}
	for name, newPolicy := range subjects() {
		ticks, kills := 0, 0
		for seed := range uint64(4) {
			want := &tape{Policy: newPolicy()}
			if _, err := sim.Run(context.Background(), sim.Config{
				Cluster: sim.Cluster{Nodes: nodes}, Jobs: workload(seed), Policy: want, Seed: seed, Preempt: true,
				Faults: sim.Faults{Task: 0.1, Refuse: 0.1, MTBF: time.Minute, MTTR: 5 * time.Second},
			}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			got, now := &tape{Policy: newPolicy()}, sojourn.Time(0)
			d := must(driver.New(got, driver.Options{Now: func() sojourn.Time { return now }, Preempt: -1}))
			if name == "bare" {
				d = must(driver.New(bare{got}, driver.Options{Now: func() sojourn.Time { return now }, Preempt: -1}))
			}
			for i, c := range want.calls {
				if c.ev.Kind != 0 && c.ev.At > now && i == len(got.calls) { // the instant before is over
					d.Settle()
				}
				switch {
				case i < len(got.calls): // the driver has made this call
				case c.ev.Kind == 0 || c.ev.Kind == sojourn.Tick:
					if c.ev.Kind == sojourn.Tick {
						now = c.ev.At
					}
					d.Settle()
				default:
					now = c.ev.At
					if err := d.Observe(c.ev); err != nil {
						t.Fatalf("%s: %v", name, err)
					}
				}
				if i >= len(got.calls) || got.calls[i] != c {
					t.Fatalf("%s, seed %d: call %d is %+v, want %+v", name, seed, i, got.calls[min(i, len(got.calls)-1)], c)
				}
				if c.ev.Kind == sojourn.Tick {
					ticks++
				} else if c.ev.Cause == sojourn.CausePreempted {
					kills++
				}
			}
		}
		if name == "fair" && (ticks == 0 || kills == 0) || name == "hfsp" && kills == 0 {
			t.Errorf("%s: %d ticks and %d kills: the histories test too little", name, ticks, kills)
		}
	}
}

// A demand is a policy that wants what it is told to want.
type demand struct {
	sojourn.Policy
	victims []sojourn.Preemption
	wake    sojourn.Time
	asked   int
	takes   func()
}

func (p *demand) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	p.asked++
	p.takes()
	return append(dst, p.victims...)
}

func (p *demand) NextWake() (sojourn.Time, bool) { return p.wake, p.wake > 0 }

func newDemand() *demand {
	return &demand{Policy: constructors.FIFO.Must(fifo.Options{}), takes: func() {}}
}

// The policy is asked for preemptions at most once in the time of the option, and for at most a
// hundredth of the time. The driver asks later what it could not ask at once, and a victim is named once.
func TestPreemptionsAreAskedSeldom(t *testing.T) {
	p, now := newDemand(), sojourn.Time(0)
	d := must(driver.New(p, driver.Options{Now: func() sojourn.Time { return now }, Preempt: 10 * time.Millisecond}))
	step := func(at, wantSleep time.Duration, wantAsked, wantKills int, events ...sojourn.Event) driver.Round {
		t.Helper()
		now = sojourn.Time(at)
		for _, ev := range events {
			if err := d.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		r := d.Settle()
		if r.Sleep != wantSleep || p.asked != wantAsked || len(r.Kills) != wantKills {
			t.Fatalf("at %v: sleep %v, asked %d times, %d kills; want %v, %d, %d", at, r.Sleep, p.asked, len(r.Kills), wantSleep, wantAsked, wantKills)
		}
		return r
	}
	const ms = time.Millisecond
	slot := sojourn.Event{Kind: sojourn.SlotAdded}
	job := sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}}
	step(0, driver.Never, 1, 0, slot)
	r := step(1*ms, 9*ms, 1, 0, job)
	a := r.Starts[0]
	p.victims = []sojourn.Preemption{{Task: a.Task, Attempt: 1, Slot: 0}, {Task: a.Task, Attempt: 2, Slot: 0}, {Slot: 9}, {Slot: sojourn.MaxSlots}}
	step(10*ms, driver.Never, 2, 1)
	step(19*ms, driver.Never, 2, 0)
	step(30*ms, driver.Never, 2, 0) // nothing has changed
	p.takes = func() { now = now.Add(2 * ms) }
	step(40*ms, driver.Never, 3, 0, sojourn.Event{Kind: sojourn.Tick})
	p.takes = func() { now = now.Add(-1e17) }
	step(239*ms, 1*ms, 3, 0, sojourn.Event{Kind: sojourn.Tick})
	step(240*ms, driver.Never, 4, 0)
	p.victims = p.victims[:0]
	step(250*ms, driver.Never, 5, 0, driver.Failed(a, sojourn.CausePreempted))
}

// A policy that is due while it kills gets its Tick after the caller has heard of the kill, which may change
// what it wants.
func TestKillsGoBeforeTicks(t *testing.T) {
	p, seen := newDemand(), &ticks{Policy: constructors.FIFO.Must(fifo.Options{})}
	p.Policy = seen
	d := must(driver.New(p, driver.Options{Now: func() sojourn.Time { return 1 }, Preempt: time.Millisecond}))
	for _, ev := range []sojourn.Event{{Kind: sojourn.SlotAdded}, {Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}}} {
		if err := d.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	p.takes = func() { // asked after the start, it names the attempt, and is due
		p.victims, p.wake = []sojourn.Preemption{{Task: sojourn.TaskID{Job: 1}, Attempt: 1}}, 1
	}
	if r := d.Settle(); len(r.Starts) != 1 || len(r.Kills) != 1 || p.asked != 1 || r.Sleep != 0 || seen.n != 0 {
		t.Errorf("%d starts, %d kills, asked %d times, sleep %v, %d ticks; want 1, 1, 1, 0 and none", len(r.Starts), len(r.Kills), p.asked, r.Sleep, seen.n)
	}
}

// ticks counts the Ticks that a policy gets.
type ticks struct {
	sojourn.Policy
	n int
}

func (p *ticks) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.Tick {
		p.n++
	}
	return p.Policy.Observe(ev)
}

// A turn lets slot 2 go first, then slot 1, then slot 0, and each only at a Tick of its own.
type turn struct {
	sojourn.Policy
	next   sojourn.SlotID
	ticks  bool
	ticked bool
}

func (p *turn) Observe(ev sojourn.Event) error {
	p.ticked = p.ticked || ev.Kind == sojourn.Tick
	return p.Policy.Observe(ev)
}

func (p *turn) Assign(id sojourn.SlotID) (a sojourn.Assignment, ok bool) {
	if id != p.next || p.ticks && !p.ticked {
		return a, false
	}
	p.next--
	p.ticked = false
	return p.Policy.Assign(id)
}

func (p *turn) NextWake() (sojourn.Time, bool) { return 0, p.ticks && !p.ticked && p.next < 3 }

// A slot that was declined is offered again after an assignment, in this class and in others, and
// after a Tick of the same instant.
func TestDeclinedSlotsAreOfferedAgain(t *testing.T) {
	for _, ticks := range []bool{false, true} {
		p := &turn{Policy: bare{constructors.FIFO.Must(fifo.Options{})}, next: 2, ticks: ticks}
		d := must(driver.New(p, driver.Options{Now: func() sojourn.Time { return 0 }}))
		job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}, {Tasks: 1, Class: 1, After: sojourn.NoBarrier}}}
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded},
			{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Class: 1}},
			{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}},
			{Kind: sojourn.JobArrived, Job: job},
		} {
			if err := d.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		var got []sojourn.SlotID
		for _, a := range d.Settle().Starts {
			got = append(got, a.Slot)
		}
		if want := []sojourn.SlotID{2, 1, 0}; !slices.Equal(got, want) {
			t.Errorf("ticks %v: slots %v started, want %v", ticks, got, want)
		}
	}
}

// A counter counts the questions of a driver.
type counter struct {
	*fifo.Policy
	seeks int
}

func (p *counter) Seek(c sojourn.Class) (sojourn.SlotID, bool) { p.seeks++; return p.Policy.Seek(c) }

// The only free slot of a class is offered without a question, and without garbage.
func TestBusyClusterIsCheap(t *testing.T) {
	p := &counter{Policy: must(fifo.New(fifo.Options{}))}
	d := must(driver.New(p, driver.Options{Now: func() sojourn.Time { return 0 }}))
	for id := range sojourn.SlotID(3) {
		if err := d.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 4000}}}}); err != nil {
		t.Fatal(err)
	}
	running := slices.Clone(d.Settle().Starts)
	if p.seeks != 2 {
		t.Errorf("%d seeks for 3 slots, want 2", p.seeks)
	}
	i := 0
	if got := testing.AllocsPerRun(3000, func() {
		if err := d.Observe(driver.Finished(running[i%3])); err != nil {
			t.Fatal(err)
		}
		running[i%3] = d.Settle().Starts[0]
		i++
	}); got != 0 || p.seeks != 2 {
		t.Errorf("%v allocations and %d more seeks, want none", got, p.seeks-2)
	}
}

// Without the option the policy is not asked.
func TestPreemptionsAreNotAsked(t *testing.T) {
	p := newDemand()
	d := must(driver.New(p, driver.Options{Now: func() sojourn.Time { return 0 }}))
	if err := d.Observe(sojourn.Event{Kind: sojourn.SlotAdded}); err != nil {
		t.Fatal(err)
	}
	if d.Settle(); p.asked != 0 {
		t.Errorf("asked %d times, want never", p.asked)
	}
}

// If the clock jumps back, time goes on from where it was. A clock that jumps ahead makes the policy wake.
func TestClockThatJumps(t *testing.T) {
	p := newDemand()
	seen := &tape{Policy: p}
	now := sojourn.Time(time.Hour)
	d := must(driver.New(seen, driver.Options{Now: func() sojourn.Time { return now }}))
	if err := d.Observe(sojourn.Event{Kind: sojourn.SlotAdded}); err != nil {
		t.Fatal(err)
	}
	now, p.wake = 5, sojourn.Time(2*time.Hour)
	if err := d.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}}); err != nil {
		t.Fatal(err)
	}
	if r := d.Settle(); r.Sleep != time.Hour || d.Time() != sojourn.Time(time.Hour) {
		t.Errorf("sleep %v at %v, want 1h at 1h", r.Sleep, d.Time())
	}
	now = sojourn.Time(time.Minute) + 5
	if r := d.Settle(); r.Sleep != 59*time.Minute {
		t.Errorf("sleep %v, want 59m", r.Sleep)
	}
	now = sojourn.Time(1000*time.Hour) + 5
	if r := d.Settle(); r.Sleep != 0 { // this policy is always due
		t.Errorf("sleep %v, want 0", r.Sleep)
	}
	if last := seen.calls[len(seen.calls)-1].ev; last.Kind != sojourn.Tick || last.At != sojourn.Time(1001*time.Hour) || d.Now() != last.At {
		t.Errorf("the last call is %v, want a Tick at 1001h", last)
	}
}

// A policy that ends too early for what it is told refuses the event; the driver's account stays.
func TestRefusedEventsChangeNothing(t *testing.T) {
	d := must(driver.New(newDemand(), driver.Options{Now: func() sojourn.Time { return 0 }}))
	held := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1, Held: true}}}
	if err := d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: held}); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("a feature that the policy does not know: %v", err)
	}
	for range 2 {
		_ = d.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.MaxSlots - 1}})
	}
	_ = d.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.MaxSlots}})
	_ = d.Observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}})
	_ = d.Observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: sojourn.MaxSlots}})
	if err := d.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 2}}}}); err != nil {
		t.Fatal(err)
	}
	if r := d.Settle(); len(r.Starts) != 1 || r.Starts[0].Slot != sojourn.MaxSlots-1 {
		t.Errorf("starts %v, want one on the greatest slot", r.Starts)
	}
}

// Jobs lose what the policy does not know and Drop names, when they arrive, are adopted and are revised; they keep what
// the policy knows, and are refused for the rest.
func TestDrop(t *testing.T) {
	for _, tc := range []struct {
		name     string
		supports sojourn.Features
		drop     sojourn.Features
		want     string // of what the policy is told, or the error
	}{
		{"nothing", 0, 0, "Job.Parallelism, Job.Release, Job.Priority"},
		{"one", sojourn.FeaturePriority, sojourn.FeatureParallelism, "Job.Release"},
		{"all", 0, math.MaxUint32, ""},
		{"what is known", sojourn.FeaturePriority | sojourn.FeatureParallelism, math.MaxUint32, "priority 3 parallelism 2 release 0s"},
		{"what is not used", sojourn.FeaturePriority | sojourn.FeatureParallelism | sojourn.FeatureRelease, sojourn.FeatureSequence, "priority 3 parallelism 2 release 9ns"},
	} {
		p := &listener{supports: tc.supports}
		d := must(driver.New(p, driver.Options{Now: func() sojourn.Time { return 0 }, Drop: tc.drop}))
		job := &sojourn.Job{ID: 1, Priority: 3, Parallelism: 2, Release: 9, Phases: []sojourn.Phase{{Tasks: 1}}}
		for _, kind := range []sojourn.EventKind{sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised} {
			p.told = nil
			err := d.Observe(sojourn.Event{Kind: kind, Job: job})
			want := cmp.Or(tc.want, "priority 0 parallelism 0 release 0s")
			switch {
			case err != nil && (!errors.Is(err, sojourn.ErrUnsupported) || !strings.HasSuffix(err.Error(), ": "+want) || p.told != nil):
				t.Errorf("%s, %v: %v, want one that says %s", tc.name, kind, err, want)
			case err == nil && want != fmt.Sprintf("priority %d parallelism %d release %v", p.told.Priority, p.told.Parallelism, p.told.Release):
				t.Errorf("%s, %v: the policy is told %+v, want %s", tc.name, kind, p.told, want)
			}
		}
		if job.Priority != 3 || job.Parallelism != 2 || job.Release != 9 {
			t.Errorf("%s: the job that was reported has changed: %+v", tc.name, job)
		}
		_ = d.Observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: job})
		if d.Observe(sojourn.Event{Kind: sojourn.JobArrived}) == nil {
			t.Errorf("%s: no job arrives", tc.name)
		}
	}
}

// A listener remembers the job that it was told last.
type listener struct {
	supports sojourn.Features
	told     *sojourn.Job
}

func (p *listener) Supports() sojourn.Features { return p.supports }

func (p *listener) Observe(ev sojourn.Event) error {
	if ev.Job == nil {
		return errors.New("no job")
	}
	p.told = ev.Job
	return nil
}

func (p *listener) Assign(sojourn.SlotID) (sojourn.Assignment, bool) {
	return sojourn.Assignment{}, false
}

func TestOptions(t *testing.T) {
	if _, err := driver.New(nil, driver.Options{Now: func() sojourn.Time { return 0 }}); err == nil {
		t.Error("a driver of no policy was made")
	}
	if _, err := driver.New(newDemand(), driver.Options{}); err == nil {
		t.Error("a driver without a clock was made")
	}
}
