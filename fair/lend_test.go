package fair_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// A spy is a FIFO policy that records what it is told of slots. It can refuse jobs and
// decline slots.
type spy struct {
	sojourn.Policy
	log      []string
	slots    map[sojourn.SlotID]bool // whether the slot is free
	most     int
	rejects  bool
	declines func(sojourn.SlotID) bool
	wake     sojourn.Time
	due      bool // NextWake is now until the next Tick
	now      sojourn.Time
}

func (s *spy) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.JobArrived && s.rejects {
		return &sojourn.EventError{Event: ev, Err: &sojourn.RejectedError{Job: ev.Job.ID, Misses: ev.Job.ID}}
	}
	if err := s.Policy.Observe(ev); err != nil {
		return err
	}
	s.now = ev.At
	switch ev.Kind {
	case sojourn.Tick:
		s.due = false
	case sojourn.SlotAdded:
		s.slots[ev.Slot.ID] = true
		s.most = max(s.most, len(s.slots))
	case sojourn.SlotRemoved:
		delete(s.slots, ev.Slot.ID)
	}
	s.log = append(s.log, ev.Kind.String())
	return nil
}

func (s *spy) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	if s.declines != nil && s.declines(id) {
		return sojourn.Assignment{}, false
	}
	a, ok := s.Policy.Assign(id)
	s.slots[id] = !ok
	return a, ok
}

func (s *spy) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	id, ok := s.Policy.(sojourn.Seeker).Seek(c)
	if !ok {
		return 0, false
	}
	for i := range sojourn.SlotID(100) {
		if s.slots[i] && i >= id && (s.declines == nil || !s.declines(i)) {
			return i, true
		}
	}
	return 0, false
}

// NextWake asks for a wake only while there is a slot.
func (s *spy) NextWake() (sojourn.Time, bool) {
	if s.due {
		return s.now, true
	}
	return s.wake, s.wake > s.now && len(s.slots) > 0
}

func spied(t *testing.T, slots int, pools map[string]fair.Pool) (*cluster, *spy) {
	s := &spy{Policy: newFIFO(), slots: map[sojourn.SlotID]bool{}}
	pools["spied"] = fair.Pool{Policy: func() sojourn.Policy { return s }}
	return newCluster(t, slots, fair.Options{Order: fair.Running, Pools: pools}), s
}

// The policy of a pool has as many slots as the pool, one for each running task: 2 of 4,
// and all of them when the pool is alone.
func TestPolicyOfAPoolIsLentSlotsOneByOne(t *testing.T) {
	c, s := spied(t, 4, map[string]fair.Pool{})
	c.arrive("spied", 100)
	c.arrive("other", 100)
	for range 50 {
		c.offer()
		if held := c.held()["spied"]; held != 2 || len(s.slots) != held {
			t.Fatalf("the pool runs %d tasks and its policy has slots %v, want 2 of both", held, s.slots)
		}
		c.tick(time.Second)
		c.finish()
	}
	if s.most > 3 {
		t.Errorf("the policy had up to %d slots, want at most 2 and the one that is offered", s.most)
	}
}

// If the policy of a pool refuses an event, fair refuses it with the same error and stays
// as it was.
func TestRefusalsOfThePolicyOfAPoolPassThrough(t *testing.T) {
	c, s := spied(t, 1, map[string]fair.Pool{})
	s.declines = func(sojourn.SlotID) bool { return true }
	c.arrive("spied", 1) // and a slot that it declines
	s.rejects = true
	job := &sojourn.Job{ID: 7, Pool: "spied", Phases: []sojourn.Phase{{Tasks: 1}}}
	err := c.p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: 5, Job: job})
	var rejected *sojourn.RejectedError
	if !errors.As(err, &rejected) || rejected.Job != 7 {
		t.Fatalf("Observe = %v, want the refusal of job 7", err)
	}
	if _, ok := c.p.Explain(7); ok {
		t.Error("a job that was refused is live")
	}
	s.rejects = false
	if err := c.p.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: 3, Job: job}); err != nil {
		t.Errorf("Observe at an earlier time than what was refused = %v, want nil", err)
	}
}

// If the policy of a pool declines a slot, the slot goes to the next pool. Seek names the
// slot that this pool takes.
func TestSlotsThatThePolicyOfAPoolDeclines(t *testing.T) {
	c, s := spied(t, 3, map[string]fair.Pool{"spied": {}, "other": {Max: fair.Slots{0: 1}}})
	s.declines = func(id sojourn.SlotID) bool { return id < 2 }
	c.arrive("spied", 5)
	if id, ok := c.p.Seek(0); !ok || id != 2 {
		t.Errorf("Seek(0) = %d, %v, want slot 2", id, ok)
	}
	if a, ok := c.p.Assign(0); ok {
		t.Errorf("Assign(0) = %+v, want none", a)
	}
	c.arrive("other", 5)
	if got, want := c.offer(), []string{"spied", "other"}; !slices.Equal(got, want) {
		t.Errorf("slots go to %v, want %v", got, want)
	}
	if len(s.slots) != 1 {
		t.Errorf("the policy has slots %v, want slot 2", s.slots)
	}
}

// With the order Service, a pool whose policy declines a slot keeps its deficit, since it had
// something to start all the time. While it declines, the other pool starts three tasks.
// Then it starts three tasks before the other does again: the tie at three goes to the
// pool that was served longest ago.
func TestDecliningCostsNoDeficit(t *testing.T) {
	s := &spy{Policy: newFIFO(), slots: map[sojourn.SlotID]bool{}}
	c := newCluster(t, 4, fair.Options{Order: fair.Service, Pools: map[string]fair.Pool{"spied": {Policy: func() sojourn.Policy { return s }}}})
	s.declines = func(id sojourn.SlotID) bool { return id < 3 }
	c.arrive("spied", 100)
	c.arrive("other", 100)
	next := func(id sojourn.SlotID) string {
		a, ok := c.p.Assign(id)
		if !ok {
			t.Fatalf("Assign(%d) = false, want a task", id)
		}
		c.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}})
		return c.pools[a.Task.Job]
	}
	var got []string
	for _, id := range []sojourn.SlotID{0, 1, 2, 3, 3, 3, 3, 3, 3} {
		got = append(got, next(id))
	}
	want := []string{"other", "other", "other", "spied", "spied", "spied", "other", "spied", "other"}
	if !slices.Equal(got, want) {
		t.Errorf("slots go to %v, want %v", got, want)
	}
}

// Before time passes, a pool with something to start is lent a free slot, since its
// policy may count the time in which it had one. It is woken at the instant that it asked
// for.
func TestPolicyOfAPoolWaitsWithASlot(t *testing.T) {
	c, s := spied(t, 2, map[string]fair.Pool{})
	s.declines = func(sojourn.SlotID) bool { return true }
	s.wake = 10
	c.arrive("spied", 1)
	c.offer()
	if at, ok := c.p.NextWake(); !ok || at != 10 {
		t.Errorf("NextWake() = %v, %v, want 10ns", at, ok)
	}
	s.log = nil
	c.tick(10)
	if got, want := strings.Join(s.log, " "), "SlotAdded Tick SlotRemoved"; got != want {
		t.Errorf("when time passes, the policy sees %q, want %q", got, want)
	}
	if s.now != 10 {
		t.Errorf("the policy believes that it is %v, want 10ns", s.now)
	}
	c.now = 12
	c.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 9, Pool: "other", Phases: []sojourn.Phase{{Tasks: 1}}}})
	if s.now != 12 || len(s.slots) != 0 {
		t.Errorf("after an event of another pool the policy has slots %v at %v, want none at 12ns", s.slots, s.now)
	}
}

// The policy of a pool learns which nodes have lost their data, even if the pool comes
// later.
func TestPolicyOfAPoolKnowsLostNodes(t *testing.T) {
	c, s := spied(t, 0, map[string]fair.Pool{})
	c.observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: 3, Rack: 1}})
	c.arrive("spied", 1)
	c.observe(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: 3, Rack: 1}})
	if got, want := strings.Join(s.log, " "), "NodeDown JobArrived NodeUp"; got != want {
		t.Errorf("the policy is told %q, want %q", got, want)
	}
}
