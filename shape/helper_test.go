package shape_test

import (
	"maps"
	"slices"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/shape"
)

func newFIFO(tb rapid.TB) sojourn.Policy {
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

func newFair(tb rapid.TB, shapes []shape.Resources, total shape.Resources) sojourn.Policy {
	costs, err := shape.Costs(shapes, total)
	if err != nil {
		tb.Fatal(err)
	}
	p, err := fair.New(fair.Options{Cost: costs})
	if err != nil {
		tb.Fatal(err)
	}
	return p
}

// A driver keeps a policy and a cluster together, and its own account of what it was told: rooms,
// what runs, and what the events said to be free.
type driver struct {
	tb     rapid.TB
	p      sojourn.Policy
	c      *shape.Cluster
	shapes []shape.Resources
	any    bool // the slots are on no node
	now    sojourn.Time
	events []sojourn.Event
	seen   int // events that the policy has observed

	rooms   map[sojourn.NodeID]shape.Resources
	free    map[sojourn.SlotID]sojourn.Slot
	running []attempt
}

type attempt struct {
	sojourn.Assignment
	node  sojourn.NodeID
	class sojourn.Class
	start sojourn.Time
}

func newDriver(tb rapid.TB, p sojourn.Policy, opts shape.Options) *driver {
	c, err := shape.New(p, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return &driver{tb: tb, p: c.Policy(), c: c, shapes: opts.Shapes, any: opts.AnyNode, rooms: map[sojourn.NodeID]shape.Resources{}, free: map[sojourn.SlotID]sojourn.Slot{}}
}

func (d *driver) observe(ev sojourn.Event) {
	ev.At = d.now
	d.seen++
	if err := d.p.Observe(ev); err != nil {
		d.tb.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

// report reports what the cluster has appended.
func (d *driver) report(events []sojourn.Event) {
	d.events = events
	for _, ev := range events {
		d.observe(ev)
		if ev.Kind == sojourn.SlotAdded {
			d.free[ev.Slot.ID] = ev.Slot
		} else {
			delete(d.free, ev.Slot.ID)
		}
	}
}

func (d *driver) must(events []sojourn.Event, err error) {
	if err != nil {
		d.tb.Fatal(err)
	}
	d.report(events)
}

func (d *driver) node(id sojourn.NodeID, room ...int64) {
	d.rooms[id] = slices.Clone(room)
	d.must(d.c.AppendNode(d.events[:0], d.now, id, 0, room))
}

func (d *driver) job(id sojourn.JobID, pool string, class, tasks int) {
	d.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks, Class: sojourn.Class(class)}}}})
}

// offer repeats its passes over the classes until one starts nothing, and then reserves nodes.
func (d *driver) offer() {
	seeker, _ := sojourn.As[sojourn.Seeker](d.p)
	for {
		started := false
		for class := range d.shapes {
			for {
				id, ok := seeker.Seek(sojourn.Class(class))
				if !ok {
					break
				}
				d.start(id)
				started = true
			}
		}
		if started {
			continue
		}
		events, err := d.c.AppendReserve(d.events[:0], d.now)
		d.must(events, err)
		if len(events) == 0 {
			return
		}
	}
}

// slotsOf returns the free slots of a class.
func (d *driver) slotsOf(class sojourn.Class) map[sojourn.SlotID]sojourn.Slot {
	of := maps.Clone(d.free)
	maps.DeleteFunc(of, func(_ sojourn.SlotID, s sojourn.Slot) bool { return s.Class != class })
	return of
}

func (d *driver) start(id sojourn.SlotID) {
	a, ok := d.p.Assign(id)
	if !ok {
		d.tb.Fatalf("Assign(%d) = false, but Seek named it", id)
	}
	slot, was := d.free[id]
	node, class, ok := d.c.Place(id)
	if !was || !ok || node != slot.Node && !d.any || class != slot.Class {
		d.tb.Fatalf("Place(%d) = %d, %d, %v, want that of %+v", id, node, class, ok, slot)
	}
	if len(d.running) < 100 && !d.fits(node, class) { // more would take long
		d.tb.Fatalf("Place(%d) = %d, where no task of class %d fits", id, node, class)
	}
	delete(d.free, id)
	d.running = append(d.running, attempt{a, node, class, d.now})
	d.report(d.c.AppendStart(d.events[:0], d.now, id))
}

// end ends the k-th running attempt.
func (d *driver) end(k int) {
	a := d.running[k]
	last := len(d.running) - 1
	d.running[k] = d.running[last]
	d.running = d.running[:last]
	d.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	if _, ok := d.rooms[a.node]; ok {
		s := sojourn.Slot{ID: a.Slot, Node: a.node, Class: a.class}
		if d.any {
			s.Node = 0
		}
		d.free[a.Slot] = s // unless it is removed now
	}
	d.report(d.c.AppendEnd(d.events[:0], d.now, a.Slot))
}

// fits adds up anew whether one more task of a class fits on a node.
func (d *driver) fits(id sojourn.NodeID, class sojourn.Class) bool {
	room, ok := d.rooms[id]
	for r, need := range d.shapes[class] {
		used := int64(0)
		for _, a := range d.running {
			if a.node == id {
				used += d.shapes[a.class][r]
			}
		}
		ok = ok && (need == 0 || need <= room[r]-used)
	}
	return ok
}

// check compares the free slots with what fits.
func (d *driver) check(reserved bool) {
	if d.any {
		d.checkAny(reserved)
		return
	}
	for id, room := range d.rooms {
		for class, need := range d.shapes {
			fits := d.fits(id, sojourn.Class(class))
			open := 0
			for _, s := range d.free {
				if s.Node == id && int(s.Class) == class {
					open++
				}
			}
			if open > 1 || open == 1 && !fits || open == 0 && fits && !reserved {
				d.tb.Fatalf("node %d with %v has %d open slots of %v, which fits: %v; running %+v", id, room, open, need, fits, d.running)
			}
		}
	}
	for _, s := range d.free {
		if d.rooms[s.Node] == nil {
			d.tb.Fatalf("slot %+v is free on a node that has left", s)
		}
	}
}

// checkAny is check with AnyNode: a class that fits somewhere has one slot. The policy of the cluster
// names a slot only if it fits.
func (d *driver) checkAny(reserved bool) {
	seeker, _ := sojourn.As[sojourn.Seeker](d.p)
	for class, need := range d.shapes {
		fits := false
		for id := range d.rooms {
			fits = fits || d.fits(id, sojourn.Class(class))
		}
		open := d.slotsOf(sojourn.Class(class))
		if len(open) > 1 || len(open) == 0 && fits && !reserved {
			d.tb.Fatalf("%d slots of %v are open, which fits: %v; rooms %v, running %+v", len(open), need, fits, d.rooms, d.running)
		}
		for id, s := range open {
			if s.Node != 0 {
				d.tb.Fatalf("slot %+v is on a node", s)
			}
			node, _, ok := d.c.Place(id)
			if ok && !d.fits(node, sojourn.Class(class)) || !ok && fits && !reserved {
				d.tb.Fatalf("Place(%d) = node %d, %v, where %v does not fit; rooms %v, running %+v", id, node, ok, need, d.rooms, d.running)
			}
			if ok {
				continue
			}
			if _, ok := d.p.Assign(id); ok {
				d.tb.Fatalf("Assign(%d) = true, want false: %v fits nowhere", id, need)
			}
			if got, ok := seeker.Seek(sojourn.Class(class)); ok {
				d.tb.Fatalf("Seek(%d) = %d, want false: %v fits nowhere", class, got, need)
			}
		}
	}
}
