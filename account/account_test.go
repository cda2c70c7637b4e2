package account_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newFIFO(tb testing.TB) sojourn.Policy {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// An account around a policy keeps the contract. Its snapshot is one of both.
func TestConformance(t *testing.T) {
	histories.Set(t, histories.Count(t)/4)
	newPolicy := func() sojourn.Policy { return account.New(newFIFO(t)) }
	sojourntest.Run(t, newPolicy, sojourntest.Options{Others: []func() sojourn.Policy{
		func() sojourn.Policy { return account.New(nil) },
		func() sojourn.Policy {
			p, err := pooled.Fair(fair.Options{})
			if err != nil {
				t.Fatal(err)
			}
			return account.New(p)
		},
	}})
}

// An account hides nothing of the policy, not even an interface that it does not know.
func TestHidesNothing(t *testing.T) {
	a := account.New(odd{newFIFO(t)})
	if o, ok := sojourn.As[interface{ Odd() int }](a); !ok || o.Odd() != 7 {
		t.Errorf("As finds no Odd behind an account")
	}
	if _, ok := sojourn.As[sojourn.Seeker](a); !ok {
		t.Errorf("As finds no Seeker behind an account of a Seeker")
	}
	if _, err := account.New(plain{newFIFO(t)}).AppendBinary(nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("the snapshot of an account of a policy that cannot be saved: %v, want ErrUnsupported", err)
	}
}

// What cannot be restored says who says so.
func TestRestoreErrors(t *testing.T) {
	for _, p := range []sojourn.Policy{plain{newFIFO(t)}, newFIFO(t)} {
		err := account.New(p).Restore(account.New(newFIFO(t)).Facts(), nil)
		if err == nil || !strings.HasPrefix(err.Error(), "account: ") {
			t.Errorf("Restore of a %T from nothing: %v, want an error of package account", p, err)
		}
		if _, saves := sojourn.As[sojourn.Snapshotter](p); errors.Is(err, errors.ErrUnsupported) == saves {
			t.Errorf("Restore of a %T from nothing: %v, want ErrUnsupported: %v", p, err, !saves)
		}
	}
}

// odd has a method that no package knows.
type odd struct{ sojourn.Policy }

func (odd) Odd() int                 { return 7 }
func (o odd) Unwrap() sojourn.Policy { return o.Policy }

// plain is a policy without optional interfaces: it supports no feature.
type plain struct{ p sojourn.Policy }

func (p plain) Observe(ev sojourn.Event) error                      { return p.p.Observe(ev) }
func (p plain) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return p.p.Assign(id) }

// The rack of a node is a fact, although the slot that told of it has left.
func TestRebuildKeepsRacks(t *testing.T) {
	a := account.New(newFIFO(t))
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 3, Rack: 5}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2, Node: 3}},
		{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 1}},
	} {
		if err := a.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	b := account.New(newFIFO(t))
	if err := a.Rebuild(b); err != nil {
		t.Fatal(err)
	}
	for _, p := range []sojourn.Policy{a, b} {
		err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 4, Node: 3, Rack: 6}})
		if !errors.Is(err, sojourn.ErrInvalidSlot) {
			t.Errorf("a slot of node 3, of rack 5, on rack 6: %v, want ErrInvalidSlot", err)
		}
	}
	if len(b.Down()) != 0 {
		t.Errorf("nodes %v are down", b.Down())
	}
}

// A policy that does not support what the facts use is refused before it is told anything.
func TestRebuildRefuses(t *testing.T) {
	a := account.New(newFIFO(t))
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}, {Tasks: 1, Needs: []int{0}}}}},
	} {
		if err := a.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	into := account.New(plain{newFIFO(t)})
	err := a.Rebuild(into)
	if !errors.Is(err, sojourn.ErrUnsupported) || into.Live() != 0 {
		t.Errorf("Rebuild into a policy without features: %v, and %d jobs; want ErrUnsupported and none", err, into.Live())
	}
}

// Take enters what another scheduler decided, and refuses what it cannot have decided.
func TestTake(t *testing.T) {
	a := account.New(nil)
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded}, {Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2, Class: 1}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1}}}},
	} {
		if err := a.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	first, second := sojourn.TaskID{Job: 1}, sojourn.TaskID{Job: 1, Phase: 1}
	for i, as := range []sojourn.Assignment{
		{Task: second, Attempt: 1},                 // its phase waits
		{Task: first, Attempt: 2},                  // there was no first attempt
		{Task: first, Attempt: 1, Slot: 9},         // no such slot
		{Task: sojourn.TaskID{Job: 2}, Attempt: 1}, // no such job
		{Task: first, Attempt: 0},                  // no number
		{Task: first, Attempt: 1, Slot: 2},         // of another class
		{Task: first, Attempt: 1, Slot: 1<<32 - 1}, // no slot has that ID
	} {
		if err := a.Take(as); err == nil {
			t.Errorf("assignment %d, %+v, is taken", i, as)
		}
	}
	if err := a.Take(sojourn.Assignment{Task: first, Attempt: 1, Slot: 1}); err != nil {
		t.Fatal(err)
	}
	if at, ok := a.Attempt(1); !ok || at.Task != first {
		t.Errorf("Attempt(1) = %+v, %v", at, ok)
	}
	if err := a.Take(sojourn.Assignment{Task: first, Attempt: 2}); !errors.Is(err, sojourn.ErrTaskState) {
		t.Errorf("a task that runs is taken: %v", err)
	}
}

// No event may tell a number above 2^31, but a policy counts on from there, and Take follows it.
func TestTakeCountsOn(t *testing.T) {
	a, task := account.New(nil), sojourn.TaskID{Job: 1}
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}},
		{Kind: sojourn.TaskHeld, Task: task, Attempt: 1 << 31},
		{Kind: sojourn.TaskReady, Task: task},
	} {
		if err := a.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for n := uint32(1<<31 + 1); n < 1<<31+4; n++ {
		if err := a.Take(sojourn.Assignment{Task: task, Attempt: n + 1}); err == nil {
			t.Errorf("attempt %d is taken before attempt %d", n+1, n)
		}
		if err := a.Take(sojourn.Assignment{Task: task, Attempt: n}); err != nil {
			t.Fatal(err)
		}
		if err := a.Observe(sojourn.Event{Kind: sojourn.TaskRefused, Task: task, Attempt: n}); err != nil {
			t.Fatal(err)
		}
	}
}

// After any history, an account that is rebuilt into a policy and an account that are new has the
// same facts, and both go on accepting the same events. The policy under test is rebuilt after every
// few calls; the histories, and the judgement of its answers, are those of sojourntest. FIFO decides
// by facts alone, so it must decide as if nothing had been exchanged.
func TestConformanceRebuilt(t *testing.T) {
	for _, every := range []int{2, 9} {
		t.Run(fmt.Sprint("every=", every), func(t *testing.T) {
			histories.Set(t, max(histories.Count(t)*every/100, every))
			rebuilt, refused := 0, 0
			newPolicy := func() sojourn.Policy {
				return &changing{t: t, every: every, a: account.New(newFIFO(t)), m: model{jobs: map[sojourn.JobID]*modelJob{}, slots: map[sojourn.SlotID]*modelSlot{}},
					rebuilt: &rebuilt, refused: &refused}
			}
			sojourntest.Run(t, newPolicy, sojourntest.Options{})
			if rebuilt < 200 {
				t.Errorf("%d accounts were rebuilt, %d were not because of an attempt above 2^31", rebuilt, refused)
			}
		})
	}
}

// changing is a policy that is exchanged for another one every few calls, and that compares its
// account with a model.
type changing struct {
	t                *testing.T
	a                *account.Account
	m                model
	every, calls     int
	rebuilt, refused *int
}

// enough is after how many calls the policy stays the same. Histories have fewer calls. The law that
// finishing tasks allocates nothing has more.
const enough = 300

func (c *changing) Supports() sojourn.Features { return sojourn.Supports(c.a) }

func (c *changing) Observe(ev sojourn.Event) error {
	err := c.a.Observe(ev)
	if err == nil && c.calls < enough {
		c.m.observe(&ev)
		c.change()
	}
	return err
}

func (c *changing) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	as, ok := c.a.Assign(id)
	if ok && c.calls < enough {
		c.m.assign(as)
		c.change()
	}
	return as, ok
}

func (c *changing) change() {
	if c.calls++; c.calls%c.every != 0 {
		return
	}
	c.compare()
	next := account.New(newFIFO(c.t))
	if err := c.a.Rebuild(next); err != nil {
		*c.refused++
		if !errors.Is(err, sojourn.ErrUnsupported) || c.m.highest() <= 1<<31 {
			c.t.Fatalf("Rebuild: %v, where the highest number of an attempt is %d", err, c.m.highest())
		}
		return
	}
	if old, now := slices.Collect(c.a.Facts()), slices.Collect(next.Facts()); !slices.EqualFunc(old, now, sameFact) {
		c.t.Fatalf("the facts were\n%v\nand are\n%v", old, now)
	}
	*c.rebuilt++
	c.a = next
	c.compare()
}

// sameFact compares descriptions by identity, since an account keeps them as they are, but for those
// that only name a job.
func sameFact(a, b sojourn.Event) bool {
	if a.Kind == sojourn.JobCancelled && b.Kind == sojourn.JobCancelled {
		return a.At == b.At && a.Job.ID == b.Job.ID
	}
	return a == b
}

// A model says what is true in the simplest way.
type model struct {
	now   sojourn.Time
	jobs  map[sojourn.JobID]*modelJob
	slots map[sojourn.SlotID]*modelSlot
}

type modelJob struct {
	spec      *sojourn.Job
	told      sojourn.Time // when it arrived or was adopted
	age       time.Duration
	cancelled bool
	tasks     map[sojourn.TaskID]*modelTask // the others are pending
	known     []int                         // by phase: how many tasks it had last
}

type modelTask struct {
	state account.State
	last  uint32
}

type modelSlot struct {
	sojourn.Slot
	retiring bool
	busy     bool
	task     sojourn.TaskID
	attempt  uint32
	told     sojourn.Time
	ran      time.Duration
}

func (m *model) task(t sojourn.TaskID) *modelTask {
	j := m.jobs[t.Job]
	if j.tasks[t] == nil {
		j.tasks[t] = &modelTask{state: account.Pending}
	}
	return j.tasks[t]
}

func (m *model) observe(ev *sojourn.Event) {
	m.now = ev.At
	switch ev.Kind {
	case sojourn.SlotAdded:
		if s := m.slots[ev.Slot.ID]; s != nil {
			s.retiring = false
		} else {
			m.slots[ev.Slot.ID] = &modelSlot{Slot: ev.Slot}
		}
	case sojourn.SlotRemoved:
		if s := m.slots[ev.Slot.ID]; s.busy {
			s.retiring = true
		} else {
			delete(m.slots, ev.Slot.ID)
		}
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised:
		m.describe(ev)
	case sojourn.JobCancelled:
		j := m.jobs[ev.Job.ID]
		j.cancelled = true
		for _, t := range j.tasks {
			if t.state == account.Pending || t.state == account.Held {
				t.state = account.Unknown
			}
		}
	case sojourn.TaskHeld, sojourn.TaskReady:
		t := m.task(ev.Task)
		t.state = account.Held
		if ev.Kind == sojourn.TaskReady {
			t.state = account.Pending
		}
		if ev.Attempt > 0 {
			t.last = ev.Attempt
		}
	case sojourn.TaskDone:
		m.task(ev.Task).state = account.Done
	case sojourn.TaskAdopted:
		m.run(ev.Task, ev.Attempt, ev.Slot.ID, ev.Service)
	case sojourn.TaskFinished:
		m.end(ev.Slot.ID, account.Done)
	case sojourn.TaskFailed, sojourn.TaskRefused:
		m.end(ev.Slot.ID, account.Pending)
	case sojourn.OutputLost:
		m.task(ev.Task).state = account.Pending
	}
	m.forget()
}

// describe takes in a description of a job.
func (m *model) describe(ev *sojourn.Event) {
	j := m.jobs[ev.Job.ID]
	if j == nil {
		j = &modelJob{told: ev.At, tasks: map[sojourn.TaskID]*modelTask{}, known: make([]int, len(ev.Job.Phases))}
		if ev.Kind == sojourn.JobAdopted {
			j.age = ev.Service
		}
		m.jobs[ev.Job.ID] = j
	}
	j.spec = ev.Job
	for i, p := range ev.Job.Phases {
		if p.Held {
			for k := range min(p.Tasks, modelled) {
				t := sojourn.TaskID{Job: ev.Job.ID, Phase: uint16(i), Index: uint32(k)}
				if _, known := j.tasks[t]; !known && k >= j.known[i] {
					j.tasks[t] = &modelTask{state: account.Held}
				}
			}
		}
		j.known[i] = p.Tasks
	}
	for t := range j.tasks {
		if int(t.Index) >= ev.Job.Phases[t.Phase].Tasks {
			delete(j.tasks, t)
		}
	}
}

// modelled is how many held tasks of a phase a model has at first: more than sojourntest starts.
const modelled = 5000

func (m *model) assign(as sojourn.Assignment) { m.run(as.Task, as.Attempt, as.Slot, 0) }

func (m *model) run(t sojourn.TaskID, attempt uint32, id sojourn.SlotID, ran time.Duration) {
	*m.task(t) = modelTask{account.Running, attempt}
	s := m.slots[id]
	s.busy, s.task, s.attempt, s.told, s.ran = true, t, attempt, m.now, ran
}

func (m *model) end(id sojourn.SlotID, state account.State) {
	s := m.slots[id]
	s.busy = false
	t := m.task(s.task)
	t.state = state
	if m.jobs[s.task.Job].cancelled && state == account.Pending {
		t.state = account.Unknown
	}
	if s.retiring {
		delete(m.slots, id)
	}
}

// forget forgets jobs that have ended.
func (m *model) forget() {
	for id, j := range m.jobs {
		running, left := false, 0
		for _, p := range j.spec.Phases {
			left += p.Tasks
		}
		for _, t := range j.tasks {
			running = running || t.state == account.Running
			if t.state == account.Done {
				left--
			}
		}
		if !running && (left == 0 && !j.spec.Open || j.cancelled) {
			delete(m.jobs, id)
		}
	}
}

// highest returns the highest number of an attempt.
func (m *model) highest() (n uint32) {
	for _, j := range m.jobs {
		for _, t := range j.tasks {
			n = max(n, t.last)
		}
	}
	return n
}

// sum returns a+b, or the longest Duration if that is longer.
func sum(a sojourn.Time, b time.Duration) time.Duration {
	return time.Duration(min(uint64(a)+uint64(b), 1<<63-1))
}

// compare compares the answers of the account with the model.
func (c *changing) compare() {
	m, a, t := &c.m, c.a, c.t
	if a.Now() != m.now || a.Live() != len(m.jobs) {
		t.Fatalf("at %v %d jobs are live, want at %v %d", a.Now(), a.Live(), m.now, len(m.jobs))
	}
	for j := range a.Jobs() {
		k := m.jobs[j.Spec.ID]
		if k == nil || j.Spec != k.spec || j.Cancelled != k.cancelled || j.Age != sum(m.now-k.told, k.age) {
			t.Fatalf("job %+v at %v, want %+v", j, m.now, k)
		}
		held := []sojourn.TaskID{}
		running := 0
		for id, want := range k.tasks {
			state, last := a.Task(id)
			if state != want.state || state != account.Unknown && last != want.last && !k.cancelled {
				t.Fatalf("task %v is %v after attempt %d, want %v after %d", id, state, last, want.state, want.last)
			}
			switch state {
			case account.Held:
				held = append(held, id)
			case account.Running:
				running++
			}
		}
		big := slices.ContainsFunc(k.spec.Phases, func(p sojourn.Phase) bool { return p.Held && p.Tasks > modelled })
		if got := slices.Collect(a.Held(j.Spec.ID)); !big && (len(got) != len(held) || j.Held != len(held)) || j.Running != running {
			t.Fatalf("job %d holds %v and runs %d, want %v and %d", j.Spec.ID, got, j.Running, held, running)
		}
	}
	n := 0
	for s := range a.Slots() {
		n++
		want := m.slots[s.ID]
		at, busy := a.Attempt(s.ID)
		if want == nil || s != want.Slot || a.Retiring(s.ID) != want.retiring || busy != want.busy {
			t.Fatalf("slot %v, busy %v, want %+v", s, busy, want)
		}
		if busy && (at.Task != want.task || at.Number != want.attempt || at.Slot != s || at.Service != sum(m.now-want.told, want.ran)) {
			t.Fatalf("slot %v runs %+v, want %+v", s, at, want)
		}
	}
	if n != len(m.slots) {
		t.Fatalf("%d slots, want %d", n, len(m.slots))
	}
}

// What is no task of a live job is unknown: the next phase after the last one, and the next task of a phase.
func TestNoSuchTask(t *testing.T) {
	a := account.New(nil)
	job := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}, {Tasks: 3}}}
	if err := a.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
		t.Fatal(err)
	}
	for task, want := range map[sojourn.TaskID]bool{
		{Job: 1, Index: 1}:           true,
		{Job: 1, Index: 2}:           false,
		{Job: 1, Phase: 1, Index: 2}: true,
		{Job: 1, Phase: 1, Index: 3}: false,
		{Job: 1, Phase: 2}:           false,
		{Job: 2}:                     false,
	} {
		if got, attempt := a.Task(task); (got != account.Unknown) != want || attempt != 0 {
			t.Errorf("Task(%v) = %v, %d, want that it is known: %v", task, got, attempt, want)
		}
	}
}

// A task that a cancelled job did not start is unknown, and so is its attempt, though another task runs.
func TestTaskOfACancelledJob(t *testing.T) {
	a := account.New(constructors.FIFO.Must(fifo.Options{}))
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2}}}},
	} {
		if err := a.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	if _, ok := a.Assign(0); !ok {
		t.Fatal("nothing starts")
	}
	if err := a.Observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}}); err != nil {
		t.Fatal(err)
	}
	if state, last := a.Task(sojourn.TaskID{Job: 1}); state != account.Running || last != 1 {
		t.Errorf("the task that runs is %v, attempt %d, want running, 1", state, last)
	}
	if state, last := a.Task(sojourn.TaskID{Job: 1, Index: 1}); state != account.Unknown || last != 0 {
		t.Errorf("the task that was cancelled is %v, attempt %d, want unknown, 0", state, last)
	}
}
