package gang

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Never as [Options].Patience makes no reservations.
const Never time.Duration = math.MaxInt64

// never is an instant that is not known or does not come.
const never = sojourn.Time(math.MaxInt64)

// Options describe a [Cluster].
type Options struct {
	// Places is how many members of gangs can run at a time, at most: from 1 to
	// sojourn.MaxSlots.
	Places int

	// Turns, unless nil, says whose turn it is: places are reserved for a gang of the class that it names.
	// Package fair does so, so that pools get their shares of the places however wide their gangs are, and package
	// leastwork with its option Gangs. Patience counts only while it says that it is nobody's turn, as these two
	// always do without their options.
	Turns Turns

	// Patience is how long the gang that waits longest waits until places are reserved for it.
	// Zero means that it has a reservation at once, as in EASY backfilling. [Never] means that
	// there are no reservations: for policies that reserve places themselves.
	Patience time.Duration
}

// Turns are a policy that knows which class comes first, whatever is free.
type Turns interface {
	// Turn returns the class of the task that would be the next to start if a slot of each class that
	// fits were free. It reports false if nothing would. Places are reserved for it at once if limits say when they
	// will be free. Else other gangs may take places first, while it is its turn: passes times as many as it needs.
	Turn(fits func(sojourn.Class) bool) (c sojourn.Class, passes int, ok bool)
}

// A Gang waits to be started.
type Gang struct {
	Task  sojourn.TaskID // the one task that it is for the policy
	Width int            // how many places it needs at a time

	// Limit is how long it runs at most. Zero means that this is not known. If gangs run for
	// longer than their limits, the bound on waiting grows: see the package comment.
	Limit time.Duration
}

// A Cluster turns free places into gang slots. It is not safe for concurrent use. Its answers
// depend only on the calls so far.
type Cluster struct {
	widths   Widths
	patience time.Duration
	turns    Turns // nil if the gang that waits longest comes first
	places   int
	used     int    // places of running gangs
	turn     *class // whose turn it was when AppendChanges was called last; nil if nobody's

	classes []class                  // by class
	waiting map[sojourn.TaskID]since // those in classes
	seq     uint64
	slots   []slot           // by ID
	spare   []sojourn.SlotID // IDs without a slot, the next one last
	ends    []end            // scratch
}

// A class has the gangs of one width, and its gang slots.
type class struct {
	width int
	gangs []waiting        // in the order in which they began to wait
	free  []sojourn.SlotID // slots that the policy sees and that run nothing

	// passed is how many places other gangs took while it was the turn of this class, since one of its own took its turn.
	passed int64
}

// waiting is a gang that waits.
type waiting struct {
	Gang
	since
}

// since is a place in the order of waiting.
type since struct {
	at    sojourn.Time
	seq   uint64
	class sojourn.Class
}

// A slot runs one gang at a time.
type slot struct {
	class sojourn.Class
	busy  bool
	gang  Gang         // that it runs, if busy
	end   sojourn.Time // when that ends by its limit; never if it has none
}

// end is the end of a running gang by its limit.
type end struct {
	at    sojourn.Time
	width int
}

// New returns a cluster on which nothing runs or waits, or what is wrong with the options.
func New(o Options) (*Cluster, error) {
	if o.Patience < 0 {
		return nil, fmt.Errorf("gang: Options.Patience = %v, want at least 0", o.Patience)
	}
	widths, err := MakeWidths(o.Places)
	if err != nil {
		return nil, err
	}
	c := &Cluster{widths: widths, patience: o.Patience, turns: o.Turns, places: o.Places, waiting: map[sojourn.TaskID]since{}}
	for _, w := range widths.list {
		c.classes = append(c.classes, class{width: w})
	}
	return c, nil
}

// Widths returns the classes of the cluster.
func (c *Cluster) Widths() Widths { return c.widths }

// Class returns the class of gangs of a width: see [Widths.Class].
func (c *Cluster) Class(width int) (sojourn.Class, error) { return c.widths.Class(width) }

// Free returns how many places run nothing. It is negative while more gangs run than fit, after
// the cluster has shrunk.
func (c *Cluster) Free() int { return c.places - c.used }

// Wait adds a gang that could be started from now on, as soon as its task may. The error is about
// its width or its limit, or says that the task waits already.
func (c *Cluster) Wait(g Gang, now sojourn.Time) error {
	k, err := c.widths.Class(g.Width)
	if err != nil {
		return err
	}
	if g.Limit < 0 {
		return fmt.Errorf("gang: negative limit %v", g.Limit)
	}
	if _, ok := c.waiting[g.Task]; ok {
		return fmt.Errorf("gang: task %v waits already", g.Task)
	}
	c.seq++
	s := since{now, c.seq, k}
	c.waiting[g.Task] = s
	c.classes[k].gangs = append(c.classes[k].gangs, waiting{g, s})
	return nil
}

// Leave removes a gang that does not wait any more, for example because its job was cancelled. It
// reports whether the gang waited.
func (c *Cluster) Leave(task sojourn.TaskID) bool {
	_, ok := c.take(task)
	return ok
}

func (c *Cluster) take(task sojourn.TaskID) (Gang, bool) {
	s, ok := c.waiting[task]
	if !ok {
		return Gang{}, false
	}
	delete(c.waiting, task)
	k := &c.classes[s.class]
	i, _ := slices.BinarySearchFunc(k.gangs, s.seq, func(w waiting, seq uint64) int {
		switch {
		case w.seq < seq:
			return -1
		case w.seq > seq:
			return 1
		}
		return 0
	})
	g := k.gangs[i].Gang
	k.gangs = slices.Delete(k.gangs, i, i+1)
	return g, true
}

// Start records that the policy has assigned a gang to a gang slot. The gang waits no more. It
// panics if the gang does not wait, or the slot is not one that the policy could assign: then the
// account of the driver and that of the policy differ.
func (c *Cluster) Start(a sojourn.Assignment, now sojourn.Time) {
	if int64(a.Slot) >= int64(len(c.slots)) {
		panic(fmt.Sprintf("gang: Start on slot %d, which does not exist", a.Slot))
	}
	s := &c.slots[a.Slot]
	k := &c.classes[s.class]
	i := slices.Index(k.free, a.Slot)
	if i < 0 {
		panic(fmt.Sprintf("gang: Start on slot %d, which is not free", a.Slot))
	}
	if w, ok := c.waiting[a.Task]; !ok || w.class != s.class {
		panic(fmt.Sprintf("gang: Start of task %v on slot %d, whose class it does not wait for", a.Task, a.Slot))
	}
	k.free = slices.Delete(k.free, i, i+1)
	s.gang, _ = c.take(a.Task)
	s.busy, s.end = true, never
	if s.gang.Limit > 0 && s.gang.Limit < never.Sub(now) {
		s.end = now.Add(s.gang.Limit)
	}
	c.used += k.width
	switch c.turn {
	case nil:
	case k:
		k.passed = 0
	default:
		c.turn.passed += int64(k.width)
	}
}

// End records that the gang on a slot has ended, with all its members, and returns it. Report its
// end to the policy as well, before the next call of AppendChanges. To start it again, call Wait.
// It panics if the slot runs nothing.
func (c *Cluster) End(id sojourn.SlotID) Gang {
	if int64(id) >= int64(len(c.slots)) || !c.slots[id].busy {
		panic(fmt.Sprintf("gang: End on slot %d, which runs nothing", id))
	}
	s := &c.slots[id]
	s.busy = false
	k := &c.classes[s.class]
	k.free = append(k.free, id)
	c.used -= k.width
	return s.gang
}

// Resize changes the number of places, from 0 to Options.Places. If fewer are left than are used,
// no slot exists until enough gangs have ended.
func (c *Cluster) Resize(places int) error {
	if most := c.widths.list[len(c.widths.list)-1]; places < 0 || places > most {
		return fmt.Errorf("gang: %d places, want 0 to %d", places, most)
	}
	c.places = places
	return nil
}

// AppendChanges appends the events that make the free gang slots of the policy those that should
// exist now, SlotRemoved before SlotAdded. The driver reports them with its time. A class has a
// free slot if a gang of this class waits, fits, and delays no reservation; it has at most one.
// After each Start ask again: other slots may have to leave before the next one is offered.
func (c *Cluster) AppendChanges(dst []sojourn.Event, now sojourn.Time) []sojourn.Event {
	r := c.reserve(now)
	for i := range c.classes {
		k := &c.classes[i]
		keep := 0
		if c.open(k, r, now) {
			keep = 1
		}
		for len(k.free) > keep {
			last := len(k.free) - 1
			id := k.free[last]
			k.free, c.spare = k.free[:last], append(c.spare, id)
			dst = append(dst, sojourn.Event{Kind: sojourn.SlotRemoved, At: now, Slot: sojourn.Slot{ID: id}})
		}
	}
	for i := range c.classes {
		if k := &c.classes[i]; len(k.free) == 0 && c.open(k, r, now) {
			id := c.newSlot(sojourn.Class(i))
			k.free = append(k.free, id)
			dst = append(dst, sojourn.Event{Kind: sojourn.SlotAdded, At: now, Slot: sojourn.Slot{ID: id, Class: sojourn.Class(i)}})
		}
	}
	return dst
}

// FreeSlot returns the free slot of a class that the policy was told of. It reports false if there
// is none.
func (c *Cluster) FreeSlot(k sojourn.Class) (sojourn.SlotID, bool) {
	if int(k) >= len(c.classes) || len(c.classes[k].free) == 0 {
		return 0, false
	}
	return c.classes[k].free[0], true
}

// newSlot returns the ID of a slot that the policy does not know.
func (c *Cluster) newSlot(k sojourn.Class) sojourn.SlotID {
	if n := len(c.spare); n > 0 {
		id := c.spare[n-1]
		c.spare = c.spare[:n-1]
		c.slots[id] = slot{class: k}
		return id
	}
	c.slots = append(c.slots, slot{class: k})
	return sojourn.SlotID(len(c.slots) - 1)
}

// open reports whether a class should have a free slot.
func (c *Cluster) open(k *class, r reservation, now sojourn.Time) bool {
	if len(k.gangs) == 0 || k.width > c.Free() {
		return false
	}
	if !r.stands || k == r.class || k.width <= r.extra {
		return true
	}
	if r.shadow == never {
		return false
	}
	for i := range k.gangs {
		if d := k.gangs[i].Limit; d == 0 || d > r.shadow.Sub(now) {
			return false
		}
	}
	return true
}

// A reservation is for the gang that has waited longest, or whose turn it is.
type reservation struct {
	stands bool
	class  *class
	shadow sojourn.Time // when its places will be free; never if that is not known
	extra  int          // places that are free then and that it does not need
}

// first returns the class that places are reserved for, of those that fit into the cluster; nil if there is
// none: that of the gang whose turn it is, or, if it is nobody's, that of the gang which has waited longest, if it has waited
// long enough. Others may take so many times as many places first, while it is not known when it will fit.
func (c *Cluster) first(now sojourn.Time) (first *class, passes int) {
	c.turn = nil
	if c.turns != nil {
		k, passes, ok := c.turns.Turn(func(k sojourn.Class) bool {
			return int(k) < len(c.classes) && len(c.classes[k].gangs) > 0 && c.classes[k].width <= c.places
		})
		if ok {
			c.turn = &c.classes[k]
			return c.turn, passes
		}
	}
	for i := range c.classes {
		k := &c.classes[i]
		if len(k.gangs) > 0 && k.width <= c.places && (first == nil || k.gangs[0].seq < first.gangs[0].seq) {
			first = k
		}
	}
	if first == nil || c.patience == Never || now.Sub(first.gangs[0].at) < c.patience {
		return nil, 0
	}
	return first, 0
}

// reserve returns the reservation of this instant.
func (c *Cluster) reserve(now sojourn.Time) reservation {
	first, passes := c.first(now)
	if first == nil {
		return reservation{}
	}
	r := reservation{stands: true, class: first}
	if first.width <= c.Free() { // it may start; what starts before it must leave room for it
		r.shadow, r.extra = now, c.Free()-first.width
		return r
	}
	c.ends = c.ends[:0]
	for i := range c.slots {
		if s := &c.slots[i]; s.busy {
			at := s.end
			if at <= now {
				at = never // it runs on after its limit
			}
			c.ends = append(c.ends, end{at, c.widths.Width(s.class)})
		}
	}
	r.shadow, r.extra = shadow(c.Free(), first.width, c.ends)
	r.stands = r.shadow != never || first.passed >= int64(passes)*int64(first.width)
	return r
}

// shadow returns when a width will be free, and how many more places are free then.
func shadow(free, width int, ends []end) (sojourn.Time, int) {
	slices.SortFunc(ends, func(a, b end) int {
		switch {
		case a.at < b.at:
			return -1
		case a.at > b.at:
			return 1
		}
		return 0
	})
	for i, e := range ends {
		if e.at == never {
			break
		}
		free += e.width
		if free >= width && (i+1 == len(ends) || ends[i+1].at > e.at) {
			return e.at, free - width
		}
	}
	return never, 0
}

// Order returns the classes whose slots to offer, in this order, so that the first gangs of a
// ranking of jobs fill the free places: see the package comment. Only classes with a free slot appear, one
// time for each of their gangs that is chosen. The driver offers a slot of each, with
// AppendChanges after each Start. A class may have lost its slot meanwhile; it is then skipped.
func (c *Cluster) Order(ranking iter.Seq[sojourn.JobID]) []sojourn.Class {
	byJob := map[sojourn.JobID][]since{}
	for i := range c.classes {
		k := &c.classes[i]
		if len(k.free) == 0 {
			continue
		}
		for j := range k.gangs {
			id := k.gangs[j].Task.Job
			byJob[id] = append(byJob[id], k.gangs[j].since)
		}
	}
	if len(byJob) == 0 {
		return nil
	}
	var widths []int
	var order []sojourn.Class
	sum := 0
	for id := range ranking {
		for _, s := range byJob[id] {
			widths = append(widths, c.widths.Width(s.class))
			order = append(order, s.class)
			sum += c.widths.Width(s.class)
		}
		if sum >= c.Free() {
			break
		}
	}
	list := fill(c.Free(), widths)
	classes := make([]sojourn.Class, len(list))
	for i, k := range list {
		classes[i] = order[k]
	}
	return classes
}
