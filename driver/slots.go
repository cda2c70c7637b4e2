package driver

import (
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/bitset"
)

// slots is the account of the slots. Events have passed the policy before they come here, so
// they fit.
type slots struct {
	classes []class
	listed  bool // the free slots are listed, for policies that do not name those worth offering
	pages   []*[pageSize]place
}

// A class is the account of the free slots of one class.
type class struct {
	free int
	last sojourn.SlotID // that became free; the only free one if it still is free, and free is 1
	list bitset.Set     // of the free slots, if they are listed
}

// Pages keep a large ID from taking memory for all IDs below it. They are small, since a forecast makes a driver for each draw.
const (
	pageBits = 6
	pageSize = 1 << pageBits
)

// A place is what is known of a slot ID.
type place struct {
	task    sojourn.TaskID // that runs there, unless the state is absent or free
	since   sojourn.Time   // when it was assigned
	attempt uint32
	class   sojourn.Class
	state   state
	killed  bool // the owner was told to kill the attempt
}

type state uint8

const (
	absent state = iota
	free
	busy
	retiring // busy, and leaves with its attempt
)

// at returns the place of an ID, which is below MaxSlots.
func (s *slots) at(id sojourn.SlotID) *place {
	for int(id>>pageBits) >= len(s.pages) {
		s.pages = append(s.pages, nil)
	}
	page := &s.pages[id>>pageBits]
	if *page == nil {
		*page = new([pageSize]place)
	}
	return &(*page)[id%pageSize]
}

// observe applies an event that the policy accepted.
func (s *slots) observe(ev *sojourn.Event) {
	switch ev.Kind {
	case sojourn.SlotAdded:
		p := s.at(ev.Slot.ID)
		if p.state == retiring {
			p.state = busy
			return
		}
		p.class = ev.Slot.Class
		for int(p.class) >= len(s.classes) {
			s.classes = append(s.classes, class{})
		}
		s.release(ev.Slot.ID, p)
	case sojourn.SlotRemoved:
		p := s.at(ev.Slot.ID)
		if p.state == busy {
			p.state = retiring
			return
		}
		p.state = absent
		s.take(ev.Slot.ID, p)
	case sojourn.TaskAdopted:
		s.start(ev.Slot.ID, ev.Task, ev.Attempt, ev.At.Add(-ev.Service))
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p := s.at(ev.Slot.ID)
		if p.state == retiring {
			p.state = absent
			return
		}
		s.release(ev.Slot.ID, p)
	}
}

func (s *slots) release(id sojourn.SlotID, p *place) {
	p.state = free
	c := &s.classes[p.class]
	c.free++
	c.last = id
	if s.listed {
		c.list.Add(int(id))
	}
}

// take undoes release.
func (s *slots) take(id sojourn.SlotID, p *place) {
	c := &s.classes[p.class]
	c.free--
	if s.listed {
		c.list.Remove(int(id))
	}
}

// only returns the only free slot of a class, if it is known.
func (s *slots) only(c sojourn.Class) (sojourn.SlotID, bool) {
	k := &s.classes[c]
	if k.free != 1 {
		return 0, false
	}
	p := s.at(k.last)
	return k.last, p.state == free && p.class == c
}

// start counts a free slot as busy.
func (s *slots) start(id sojourn.SlotID, task sojourn.TaskID, attempt uint32, since sojourn.Time) {
	p := s.at(id)
	s.take(id, p)
	p.task, p.attempt, p.since, p.state, p.killed = task, attempt, since, busy, false
}

// service returns how long ago the attempt was assigned that an event reports, 0 if it does not run.
// At least 1 ns has passed, since 0 means that nobody measured.
func (s *slots) service(ev *sojourn.Event) time.Duration {
	if ev.Slot.ID >= sojourn.MaxSlots {
		return 0
	}
	if p := s.at(ev.Slot.ID); p.state >= busy && p.task == ev.Task && p.attempt == ev.Attempt {
		return max(ev.At.Sub(p.since), 1)
	}
	return 0
}

// kill reports whether the attempt runs and is not being killed yet. From then on it is.
func (s *slots) kill(v *sojourn.Preemption) bool {
	if v.Slot >= sojourn.MaxSlots {
		return false
	}
	p := s.at(v.Slot)
	if p.state < busy || p.killed || p.task != v.Task || p.attempt != v.Attempt {
		return false
	}
	p.killed = true
	return true
}

func (s *slots) noneFree() bool {
	for c := range s.classes {
		if s.classes[c].free > 0 {
			return false
		}
	}
	return true
}
