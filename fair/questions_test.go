package fair_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// with returns a function that makes policies under some options.
func with(opts fair.Options) func() sojourn.Policy {
	return func() sojourn.Policy { return newWith(opts) }
}

// guests are all policies that a pool can have, with options that make them wait.
var guests = map[string]func() sojourn.Policy{
	"deadline":     constructors.Deadline.With(baseline.DeadlineConstraintOptions{HoldSlots: true}),
	"fair":         with(fair.Options{Order: fair.Service}),
	"fair,fair":    with(fair.Options{Pools: map[string]fair.Pool{"*": {Policy: with(fair.Options{Delay: 2})}}}),
	"fair,hfsp":    with(fair.Options{Pools: map[string]fair.Pool{"a": {Policy: constructors.HFSP.With(hfsp.Options{Delta: 4, NodeDelay: 3, RackDelay: 2})}}}),
	"fair,kill":    with(fair.Options{Preemption: fair.Preemption{FairTimeout: time.Millisecond, Interval: time.Millisecond}}),
	"fair,mars":    with(fair.Options{Pools: map[string]fair.Pool{"a": {Policy: constructors.MarS.With(mars.Options{Interval: 3})}}}),
	"fair,wait":    with(fair.Options{Delay: 3}),
	"fifo":         constructors.FIFO.With(fifo.Options{}),
	"fsp":          constructors.FSP.With(baseline.FSPOptions{}),
	"fsp,share":    constructors.FSP.With(baseline.FSPOptions{Late: vqueue.LateShare}),
	"hfsp":         constructors.HFSP.With(hfsp.Options{Delta: 4, DefaultTaskTime: 5}),
	"hfsp,kill":    constructors.HFSP.With(hfsp.Options{Delta: 4, Preemption: hfsp.Kill}),
	"hfsp,wait":    constructors.HFSP.With(hfsp.Options{Delta: 4, NodeDelay: 3, RackDelay: 2, EarlyDelay: 5}),
	"huwf":         constructors.HUWF.With(baseline.ListOptions{}),
	"las":          constructors.LAS.With(baseline.LASOptions{}),
	"leastwork":    constructors.LeastWork.With(leastwork.Options{}),
	"local":        constructors.Local.With(baseline.LocalOptions{}),
	"mars":         constructors.MarS.With(mars.Options{Interval: 3}),
	"mars,batch":   constructors.MarS.With(mars.Options{Batch: 5, Commit: true}),
	"pfsp":         constructors.PFSP.With(pfsp.Options{}),
	"pfsp,fsp":     constructors.PFSP.With(pfsp.Options{Order: pfsp.FSP, UpdateInterval: 3}),
	"rtmr":         constructors.RTMR.With(rtmr.Options{}),
	"rtmr,chain":   constructors.RTMR.With(rtmr.Options{Booking: rtmr.Chain, Feedback: true, Latency: 2}),
	"srpt":         constructors.SRPT.With(baseline.SRPTOptions{}),
	"td":           constructors.TD.With(td.Options{}),
	"td,strict":    constructors.TD.With(td.Options{HotPolicy: td.Strict, Theta: 1, SelfTune: true, SplitTime: 3}),
	"stf,htwf,...": constructors.HTWF.With(baseline.ListOptions{}),
}

// host returns a policy whose pool "a" keeps a guest, whose pools below "u" get a guest
// each, and whose pool "b" fair serves itself.
func host(guest func() sojourn.Policy) *fair.Policy {
	return newWith(fair.Options{Pools: map[string]fair.Pool{"a": {Policy: guest}, "u/*": {Policy: guest}, "b": {Weight: 2}}}).(*fair.Policy)
}

// An act is a call and its result.
type act struct {
	ev    sojourn.Event
	offer bool // a slot; otherwise the slot of ev
	a     sojourn.Assignment
	ok    bool
	err   error
}

// do makes the call on p, and reports whether the result is the same.
func (c *act) do(p *fair.Policy) (got act, same bool) {
	got = *c
	if c.offer {
		got.a, got.ok = p.Assign(c.ev.Slot.ID)
	} else {
		got.err = p.Observe(c.ev)
	}
	return got, got.a == c.a && got.ok == c.ok && fmt.Sprint(got.err) == fmt.Sprint(c.err)
}

// A story draws calls and makes them.
type story struct {
	t       *rapid.T
	p       *fair.Policy
	acts    []act
	now     sojourn.Time
	running []sojourn.Assignment
	free    map[sojourn.SlotID]bool
	jobs    sojourn.JobID
}

func (s *story) n(n int) int { return rapid.IntRange(0, n-1).Draw(s.t, "n") }

func (s *story) observe(ev sojourn.Event) {
	ev.At = s.now
	c, _ := (&act{ev: ev}).do(s.p)
	s.acts = append(s.acts, c)
}

func (s *story) slot(i int) sojourn.Slot {
	return sojourn.Slot{ID: sojourn.SlotID(i), Node: sojourn.NodeID(1 + i/2), Rack: sojourn.RackID(1 + i/4), Class: sojourn.Class(i % 2)}
}

func (s *story) step() {
	switch s.n(9) {
	case 0:
		s.jobs++
		job := &sojourn.Job{ID: s.jobs, Name: "job", Pool: []string{"a", "a", "u/1", "u/2", "b"}[s.n(5)], Weight: float64(s.n(3))}
		if s.n(2) == 0 {
			job.Deadline = s.now.Add(time.Duration(1 + s.n(100)))
		}
		inputs := make([][]sojourn.NodeID, 1+s.n(4))
		for i := range inputs {
			inputs[i] = []sojourn.NodeID{sojourn.NodeID(1 + s.n(4))}
		}
		job.Phases = []sojourn.Phase{{Tasks: len(inputs), Estimate: time.Duration(1 + s.n(9)), Inputs: sojourn.MakeInputs(inputs)}}
		if s.n(2) == 0 {
			job.Phases = append(job.Phases, sojourn.Phase{Tasks: 1 + s.n(3), Class: sojourn.ReduceClass, Estimate: time.Duration(1 + s.n(9))})
		}
		s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	case 1, 2:
		if len(s.running) > 0 {
			i := s.n(len(s.running))
			a := s.running[i]
			s.running = slices.Delete(s.running, i, i+1)
			kind := []sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused}[s.n(5)]
			s.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			s.free[a.Slot] = true
		}
	case 3:
		s.now = s.now.Add([]time.Duration{1, 1, 2, 3, 10, 100}[s.n(6)])
		s.observe(sojourn.Event{Kind: sojourn.Tick})
	case 4:
		s.observe(sojourn.Event{Kind: sojourn.Tick})
	case 5:
		s.now = s.now.Add(time.Duration(s.n(4)))
	case 6:
		ids := slices.Sorted(maps.Keys(s.free))
		for range 1 + s.n(2) {
			if len(ids) == 0 {
				break
			}
			i := s.n(len(ids))
			c, _ := (&act{offer: true, ev: sojourn.Event{Slot: sojourn.Slot{ID: ids[i]}}}).do(s.p)
			s.acts = append(s.acts, c)
			if c.ok {
				s.running = append(s.running, c.a)
				delete(s.free, ids[i])
			}
			ids = slices.Delete(ids, i, i+1)
		}
	case 7:
		id := sojourn.JobID(1 + s.n(int(s.jobs)+1))
		task := sojourn.TaskID{Job: id, Index: uint32(s.n(3))}
		switch s.n(4) {
		case 0:
			s.observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
		case 1:
			s.observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: task})
		case 2:
			s.observe(sojourn.Event{Kind: sojourn.TaskReady, Task: task})
		case 3:
			if len(s.running) > 0 {
				a := s.running[s.n(len(s.running))]
				s.observe(sojourn.Event{Kind: sojourn.TaskProgress, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Progress: uint16(1 + s.n(10000)), Service: time.Duration(s.n(9))})
			}
		}
	case 8:
		if s.n(3) == 0 {
			s.observe(sojourn.Event{Kind: []sojourn.EventKind{sojourn.NodeDown, sojourn.NodeUp}[s.n(2)], Slot: sojourn.Slot{Node: sojourn.NodeID(1 + s.n(4))}})
		} else if i := len(s.free) + len(s.running); i < 8 {
			s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s.slot(i)})
			s.free[sojourn.SlotID(i)] = true
		}
	}
}

// ask asks one question, whose number is below questions.
func ask(p *fair.Policy, question, about int) {
	switch question {
	case 0:
		p.NextWake()
	case 1:
		p.Seek(sojourn.Class(about % 2))
	case 2:
		p.AppendPreemptions(nil)
	case 3:
		p.AppendRanking(nil)
	case 4:
		p.Explain(sojourn.JobID(about))
	case 5:
		p.AppendBinary(nil)
	case 6:
		p.Admit(&sojourn.Job{ID: 1 << 40, Pool: []string{"a", "u/1", "u/9", "b"}[about%4], Deadline: sojourn.Time(about), Phases: []sojourn.Phase{{Tasks: 2, Estimate: 5}}})
	}
}

const questions = 7

func saved(tb rapid.TB, p *fair.Policy) []byte {
	tb.Helper()
	data, err := p.AppendBinary(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return data
}

// A question changes nothing: no later decision, no later answer, and no byte of a
// snapshot. This holds for every policy that a pool can have, and for any questions in
// any order between two calls. A Tick that no policy waits for changes nothing either,
// and a restored policy goes on alike.
func TestQuestionsChangeNothing(t *testing.T) {
	names := slices.Sorted(maps.Keys(guests))
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "guest")
		guest := guests[name]
		s := story{t: t, p: host(guest), free: map[sojourn.SlotID]bool{}}
		for i := range 4 {
			s.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s.slot(i)})
			s.free[sojourn.SlotID(i)] = true
		}
		for range 80 {
			s.step()
		}
		s.now++
		s.observe(sojourn.Event{Kind: sojourn.Tick}) // so that the time is the same for all

		asked, ticked, restored := host(guest), host(guest), host(guest)
		cut := rapid.IntRange(0, len(s.acts)).Draw(t, "cut")
		now := sojourn.Time(0)
		for i := range s.acts {
			c := &s.acts[i]
			for range rapid.IntRange(0, 3).Draw(t, "questions") {
				ask(asked, rapid.IntRange(0, questions-1).Draw(t, "question"), rapid.IntRange(1, 20).Draw(t, "about"))
			}
			if got, same := c.do(asked); !same {
				t.Fatalf("%s: when questions are asked, call %d, %+v, comes to %+v", name, i, *c, got)
			}
			if at, ok := ticked.NextWake(); !c.offer && c.err == nil && (!ok || at > now) {
				now = now.Add(time.Duration(rapid.Int64Range(0, int64(c.ev.At-now)).Draw(t, "tick")))
				if !ok || at > now {
					if err := ticked.Observe(sojourn.Event{Kind: sojourn.Tick, At: now}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if !c.offer && c.err == nil {
				now = c.ev.At
			}
			if got, same := c.do(ticked); !same {
				t.Fatalf("%s: with Ticks in between, call %d, %+v, comes to %+v", name, i, *c, got)
			}
			if i == cut {
				data := saved(t, restored)
				restored = host(guest)
				if err := restored.UnmarshalBinary(data); err != nil {
					t.Fatal(err)
				}
			}
			if got, same := c.do(restored); !same {
				t.Fatalf("%s: restored before call %d, call %d, %+v, comes to %+v", name, cut, i, *c, got)
			}
		}
		want := saved(t, s.p)
		for what, p := range map[string]*fair.Policy{"questions were asked": asked, "Ticks came in between": ticked, "it was restored": restored} {
			if got := saved(t, p); !bytes.Equal(got, want) {
				i := 0
				for i < min(len(got), len(want)) && got[i] == want[i] {
					i++
				}
				t.Fatalf("%s: if %s, other bytes are saved from byte %d of %d on:\n%.60q, want\n%.60q", name, what, i, len(want), got[i:], want[i:])
			}
		}
	})
}

// A driver asks for the next wake before or after it offers free slots; the loop in the
// package comment of sojourn asks after. With both orders everything starts and finishes,
// under every policy that a pool can have.
func TestBothLoopsStartEverything(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(guests)) {
		for _, before := range []bool{false, true} {
			p := host(guests[name])
			d := driver{t: t, name: fmt.Sprintf("%s, asking before offering %v", name, before), p: p, before: before}
			for i := range 2 {
				d.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Node: sojourn.NodeID(1 + i), Class: sojourn.Class(i)}})
			}
			d.now = 10
			for i, pool := range []string{"a", "u/1", "b", "a", "u/2"} {
				d.arrive(sojourn.JobID(1+i), pool)
				if i == 3 {
					d.run() // then the pools are empty, and other policies serve the last job
				}
			}
			d.run()
			d.arrive(9, "a")
			d.run()
		}
	}
}

// A driver runs tasks of 5 ns.
type driver struct {
	t       *testing.T
	name    string
	p       *fair.Policy
	before  bool
	now     sojourn.Time
	running []sojourn.Assignment
	jobs    []sojourn.JobID
}

func (d *driver) observe(ev sojourn.Event) {
	ev.At = d.now
	if err := d.p.Observe(ev); err != nil {
		d.t.Fatalf("%s: %v", d.name, err)
	}
}

func (d *driver) arrive(id sojourn.JobID, pool string) {
	d.jobs = append(d.jobs, id)
	job := &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: 3, Estimate: 5, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{3}, {1}, {2}})}}}
	if !strings.HasPrefix(d.name, "deadline") { // which promises nothing to a pool without slots
		job.Phases = append(job.Phases, sojourn.Phase{Tasks: 2, Estimate: 5, Class: sojourn.ReduceClass})
	}
	d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
}

func (d *driver) offer() {
	for class := range sojourn.Class(2) {
		for {
			id, ok := d.p.Seek(class)
			if !ok {
				break
			}
			a, ok := d.p.Assign(id)
			if !ok {
				d.t.Fatalf("%s: Seek names slot %d, which is declined", d.name, id)
			}
			d.running = append(d.running, a)
		}
	}
}

// run goes on until all jobs have ended.
func (d *driver) run() {
	for range 1000 {
		for ticks := 0; ; ticks++ {
			if !d.before {
				d.offer()
			}
			if at, ok := d.p.NextWake(); !ok || at > d.now {
				break
			}
			if ticks == 10 {
				d.t.Fatalf("%s: NextWake does not go on after %d Ticks", d.name, ticks)
			}
			d.observe(sojourn.Event{Kind: sojourn.Tick})
		}
		if d.before {
			d.offer()
		}
		next, ok := d.p.NextWake()
		switch {
		case len(d.running) > 0 && (!ok || next > d.now+5):
			d.now += 5
			for _, a := range d.running {
				d.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}, Service: 5})
			}
			d.running = d.running[:0]
		case ok:
			d.now = max(d.now, next)
			d.observe(sojourn.Event{Kind: sojourn.Tick})
		default:
			for _, id := range d.jobs {
				if attrs, ok := d.p.Explain(id); ok {
					d.t.Fatalf("%s: nothing runs and nothing is waited for, but job %d has not ended: %v", d.name, id, attrs)
				}
			}
			return
		}
	}
	d.t.Fatalf("%s: jobs have not ended", d.name)
}

// A policy that is due at this very instant is lent no slot before the Tick that the
// driver owes, since a slot would set its timer off. Not even an event that is refused
// may lend one.
func TestPolicyThatIsDueIsLeftAlone(t *testing.T) {
	c, s := spied(t, 1, map[string]fair.Pool{})
	c.arrive("spied", 1)
	s.due = true
	c.arrive("spied", 1)
	s.log = nil
	ask(c.p, 1, 0)
	ask(c.p, 0, 0)
	if _, ok := c.p.Assign(0); ok {
		t.Error("Assign = true, want false before the Tick")
	}
	s.rejects = true
	if err := c.p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: 7, Job: &sojourn.Job{ID: 77, Pool: "spied", Phases: []sojourn.Phase{{Tasks: 1}}}}); !errors.Is(err, sojourn.ErrRejected) {
		t.Errorf("Observe = %v, want %v", err, sojourn.ErrRejected)
	}
	if len(s.log) > 0 {
		t.Errorf("the policy is told %v, want nothing", s.log)
	}
	if at, ok := c.p.NextWake(); !ok || at != c.now {
		t.Errorf("NextWake() = %v, %v, want now", at, ok)
	}
	c.tick(0)
	if got := c.offer(); !slices.Equal(got, []string{"spied"}) {
		t.Errorf("after the Tick slots go to %v, want spied", got)
	}
}
