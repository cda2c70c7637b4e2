package hfsp

import (
	"cmp"
	"math"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
)

// A driver asks at every event which tasks to kill. Mostly the answer is none. So two sets of
// phases are kept in the order of service: claimants and phases with victims. Comparing the first
// claimant with the last phase with victims is enough to see that there is nothing to do. The search
// goes on from there, and takes time only for what it finds.
const (
	claims  vqueue.Mark = iota // phases that have something to start, and would not only wait in the slot
	victims                    // phases that have running tasks that may be killed, whatever is smaller
)

// An attempt is a running task that is not in training, and may be killed unless a guard
// spares it.
type attempt struct {
	start sojourn.Time
	task  uint32
	slot  sojourn.SlotID
}

// before reports whether a is killed before b, of the same phase: the youngest first.
func (a attempt) before(b attempt) bool {
	if a.start != b.start {
		return a.start > b.start
	}
	return a.task > b.task
}

func (a attempt) prefix() (hi, lo uint64) { return ^uint64(a.start), uint64(^a.task) }

// attempts are those of a phase.
type attempts struct {
	heap  *heap.Heap[attempt] // nil before the first one
	spare []uint32            // IDs that are not in the heap, of those below its greatest length so far
}

// targets are the running tasks that may be killed, whoever would get their slots. Without
// Kill there are none.
type targets struct {
	*options
	ledger  *ledger.Ledger[data]
	exposed []*[page]uint32   // by slot, in pages: 1 + the ID of the attempt in the attempts of its phase; 0 if it is not in
	guards  *heap.Heap[timer] // by handle: when KillFraction spares all that a phase runs; empty with KillAny
}

// page is how many slots share a page of targets.exposed: the IDs of slots may be large, and far apart.
const page = 1 << 10

// at returns the place of a slot in exposed, or nil if its page is missing.
func (t *targets) at(slot sojourn.SlotID) *uint32 {
	if i := int(slot / page); i < len(t.exposed) && t.exposed[i] != nil {
		return &t.exposed[i][slot%page]
	}
	return nil
}

// expose makes the task that runs on a slot one that may be killed.
func (t *targets) expose(ph *phase, slot sojourn.SlotID) {
	if !t.kill || t.ledger.Retiring(slot) || t.ledger.Pinned(slot) {
		return
	}
	a, _ := t.ledger.Attempt(slot)
	if !t.any && ph.job.Data.wasKilled(ph.index, a.Task.Index) {
		return
	}
	r := &ph.attempts
	if r.heap == nil {
		r.heap = heap.New(attempt.before, attempt.prefix)
	}
	id := uint32(r.heap.Len())
	if n := len(r.spare); n > 0 {
		id = r.spare[n-1]
		r.spare = r.spare[:n-1]
	}
	r.heap.Set(id, attempt{a.Start, a.Task.Index, slot})
	if t.at(slot) == nil {
		if more := int(slot/page) + 1 - len(t.exposed); more > 0 {
			t.exposed = append(t.exposed, make([]*[page]uint32, more)...)
		}
		t.exposed[slot/page] = new([page]uint32)
	}
	*t.at(slot) = id + 1
}

// cover undoes expose, if need be.
func (t *targets) cover(ph *phase, slot sojourn.SlotID) {
	if at := t.at(slot); at != nil && *at > 0 {
		id := *at - 1
		*at = 0
		ph.attempts.heap.Remove(id)
		ph.attempts.spare = append(ph.attempts.spare, id)
	}
}

// coverAll makes no task of a phase one that may be killed.
func (t *targets) coverAll(ph *phase) {
	if ph.attempts.heap != nil {
		for _, a := range ph.attempts.heap.All() {
			*t.at(a.slot) = 0
		}
		ph.attempts = attempts{}
	}
	t.guards.Remove(ph.handle)
}

// mark brings up to date whether a phase has victims, and until when if nothing happens:
// KillFraction spares its youngest task last.
func (t *targets) mark(ph *phase) {
	any := ph.attempts.heap != nil && ph.attempts.heap.Len() > 0
	t.guards.Remove(ph.handle)
	if any && !t.any {
		first, _ := ph.attempts.heap.MinKey()
		if until, ok := t.spareFrom(ph, first.start); ok {
			t.guards.Set(ph.handle, timer{until, ph.job.Seq(), ph.index, ph})
		}
	}
	ph.class.aging.SetMark(ph.item, victims, any)
}

// spareFrom returns from when on KillFraction spares a task of a phase that has started
// at an instant; false if never. It has run for longer than spared times the mean then.
func (t *targets) spareFrom(ph *phase, start sojourn.Time) (sojourn.Time, bool) {
	most, _ := wide.Mul64(ph.mean(), t.spared).QuoRem(wide.From64(1 << 16))
	if most.Hi > 0 || most.Lo >= uint64(math.MaxInt64-start) {
		return 0, false
	}
	return start + sojourn.Time(most.Lo) + 1, true
}

// expire takes the marks from phases of which all tasks are spared by now.
func (t *targets) expire() {
	for {
		next, ok := t.guards.MinKey()
		if !ok || next.at > t.ledger.Now() {
			return
		}
		t.guards.Remove(next.phase.handle)
		next.phase.class.aging.SetMark(next.phase.item, victims, false)
	}
}

// spares reports whether the guards protect a task.
func (t *targets) spares(ph *phase, task uint32, start sojourn.Time) bool {
	if t.any {
		return false
	}
	from, ok := t.spareFrom(ph, start)
	return ok && from <= t.ledger.Now() || ph.job.Data.wasKilled(ph.index, task)
}

// AppendPreemptions implements [sojourn.Preemptor]. For each class it goes through the
// tasks that Assign would start next if there were slots, and names a victim for each.
// Training tasks come first, as long as there are training slots: their victim is any
// task of another phase that is not in training itself. Then come the phases in the
// order of their virtual sizes: their victim is a task of a larger phase. Early tasks
// would only wait in their slots, so nothing is killed for them. Victims come from the
// phase that would be served last, its youngest task first [HFSP, section III-E].
//
// With Wait nothing is killed, except in one case. After slots or outputs were lost,
// early tasks may hold every slot of a class while tasks that can work want one, perhaps
// the very tasks that the early ones wait for. Then the policy names the youngest early
// task, with Kill too, in training or not, whether it was killed before or has run for long: it has done no work that could be lost.
//
// It takes O(log n) for each task that it names, and for each phase that finds no victim
// because only training tasks of other phases run. Delay scheduling takes O(slots log slots), and
// O(slots) for each phase that claims a slot, if there is something to start and only tasks that are
// served later hold slots for it. The case of early tasks takes O(slots).
func (p *Policy) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	var asked claimed
	for _, c := range p.classes {
		first, _, ok := c.first()
		if !ok {
			continue
		}
		before := len(dst)
		switch {
		case !p.kill:
		case p.patience.any:
			dst = p.appendVictimsNear(dst, c, &asked)
		default:
			dst = p.appendVictims(dst, c, &asked)
		}
		if len(dst) == before {
			dst = p.appendBlocker(dst, c, first)
		}
	}
	return dst
}

// appendBlocker names the youngest early task, if early tasks hold all slots of a
// class: more than they are allowed to, so that they will not get the slot back before
// the phase that goes first.
func (p *Policy) appendBlocker(dst []sojourn.Preemption, c *class, first *phase) []sojourn.Preemption {
	if c.gate.held <= c.gate.limit() || c.gate.held < c.gate.slots {
		return dst
	}
	var last sojourn.Preemption
	var start sojourn.Time
	for s, a := range p.ledger.Attempts() {
		ph := a.Job.Data.phases[a.Task.Phase]
		if s.Class == c.id && ph != nil && ph.early && !p.ledger.Retiring(s.ID) && !p.ledger.Pinned(s.ID) && (last.For == 0 || a.Start >= start) {
			last, start = sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: s.ID, For: first.job.Spec().ID}, a.Start
		}
	}
	if last.For == 0 {
		return dst // they are all on slots that leave, or may not be killed
	}
	return append(dst, last)
}

// appendVictims goes through those who claim slots from the first one on, and through
// those who have victims from the last one on, until they meet.
func (p *Policy) appendVictims(dst []sojourn.Preemption, c *class, asked *claimed) []sojourn.Preemption {
	left := c.training.left()
	free := p.ledger.FreeSlots(c.id)
	if free == 0 && !c.meet() {
		return dst
	}
	s := supply{targets: &p.targets, class: c, free: free, list: p.sources[:0]}
	defer func() {
		clear(s.list)
		p.sources = s.list[:0]
	}()
	var trained map[*phase]int
	if left > 0 {
		order := c.training.queue.Cursor()
		for _, k, ok := order.Next(); ok && left > 0 && s.any(); _, k, ok = order.Next() {
			ph := k.phase
			for range min(p.tasks-len(ph.samples), asked.left(ph), left) {
				if !s.claim(&dst, ph, true) {
					break
				}
				asked.add(ph)
				if trained == nil {
					trained = make(map[*phase]int)
				}
				trained[ph]++
				left--
			}
		}
	}
	for it := range c.aging.Marked(claims) {
		ph := it.Value
		for range min(ph.waiting()-trained[ph], asked.left(ph)) {
			if !s.claim(&dst, ph, false) {
				return dst // those that follow are not smaller
			}
			asked.add(ph)
		}
	}
	return dst
}

// claimed counts the slots that jobs claim in one answer, for jobs that bound how many of their tasks run at a time: what
// such a job claims for one phase it has no room for in another one, nor in another class.
type claimed struct{ jobs map[*job]int }

// left returns how many slots a phase may claim yet.
func (c *claimed) left(ph *phase) int {
	return min(ph.waiting(), ph.job.Room()-c.jobs[ph.job])
}

// add counts a slot that a phase claims.
func (c *claimed) add(ph *phase) {
	if !ph.job.Bounded() {
		return
	}
	if c.jobs == nil {
		c.jobs = make(map[*job]int)
	}
	c.jobs[ph.job]++
}

// A supply is where slots come from: those that are free, then the victims of a class,
// from the phase that is served last on.
type supply struct {
	targets *targets
	class   *class
	free    int
	list    []source             // that may have victims left, of those that were asked for
	last    *vqueue.Item[*phase] // up to which they were; nil at first
}

// A source is a phase that has victims. Its next victim is found when it is asked for:
// the first one costs nothing, those that follow take memory.
type source struct {
	phase  *phase
	order  heap.Cursor[attempt]
	victim attempt
	found  bool // victim is the next one, and not named yet
}

// next finds the next victim of a source; false if there is none.
func (s *supply) next(from *source) bool {
	if !from.found {
		_, from.victim, from.found = from.order.Next()
		from.found = from.found && !s.targets.spares(from.phase, from.victim.task, from.victim.start)
	}
	return from.found
}

// reach finds the next victim of source i, of those that have one; false if there are not
// so many.
func (s *supply) reach(i int) bool {
	for {
		if i == len(s.list) {
			it, ok := s.class.aging.LastMarked(victims, s.last)
			if !ok {
				return false
			}
			s.last = it
			s.list = append(s.list, source{phase: it.Value, order: it.Value.attempts.heap.Cursor()})
		}
		if s.next(&s.list[i]) {
			return true
		}
		s.list = slices.Delete(s.list, i, i+1)
	}
}

// any reports whether any slot is left.
func (s *supply) any() bool { return s.free > 0 || s.reach(0) }

// claim takes a slot for a phase, and reports whether there is one: by the priority of
// training that of any other phase, else that of the last phase if that is larger.
func (s *supply) claim(dst *[]sojourn.Preemption, ph *phase, prior bool) bool {
	if s.free > 0 {
		s.free--
		return true
	}
	if !prior && len(s.list) > 0 && !s.class.aging.Before(ph.item, s.list[0].phase.item) {
		return false // all others come before that one
	}
	i := 0
	for prior && s.reach(i) && s.list[i].phase == ph {
		i++
	}
	if !s.reach(i) {
		return false
	}
	from := &s.list[i]
	// Sizes are rounded. A phase that is smaller only by rounding would not get the slot.
	if !prior && !(s.class.aging.Before(ph.item, from.phase.item) && ph.smaller(from.phase)) {
		return false
	}
	a, _ := s.targets.ledger.Attempt(from.victim.slot)
	*dst = append(*dst, sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: from.victim.slot, For: ph.job.Spec().ID})
	from.found = false
	return true
}

// A running is a running task that may be killed.
type running struct {
	sojourn.Preemption
	slot  sojourn.Slot
	phase *phase
	start sojourn.Time
}

// appendVictimsNear does the same where phases wait for slots close to their inputs: who
// claims a slot is given the victim that would be the next, but for its place.
func (p *Policy) appendVictimsNear(dst []sojourn.Preemption, c *class, asked *claimed) []sojourn.Preemption {
	free := p.ledger.FreeSlots(c.id)
	left := c.training.left()
	if free == 0 && !c.meet() {
		return dst
	}
	victims := p.victims(c)

	// claim takes a victim that suits, on a slot that the phase would take, and reports
	// whether there may be more. If the phase declined the slot, because no task of it has
	// its input close enough, the victim would get it back.
	claim := func(ph *phase, suits func(running) bool) bool {
		if free > 0 {
			free--
			return true
		}
		i := slices.IndexFunc(victims, func(v running) bool { return suits(v) && p.patience.takes(ph, v.slot) })
		if i < 0 {
			return false
		}
		v := victims[i].Preemption
		v.For = ph.job.Spec().ID
		dst = append(dst, v)
		victims = slices.Delete(victims, i, i+1)
		return true
	}

	trained := make(map[*phase]int)
	for ph := range c.training.all {
		if left <= 0 || free == 0 && len(victims) == 0 {
			break
		}
		for range min(p.tasks-len(ph.samples), asked.left(ph), left) {
			if !claim(ph, func(v running) bool { return v.phase != ph }) {
				break
			}
			asked.add(ph)
			trained[ph]++
			left--
		}
	}
	for it := range c.aging.Marked(claims) {
		ph := it.Value
		if free == 0 && (len(victims) == 0 || !c.aging.Before(it, victims[0].phase.item)) {
			return dst
		}
		for range min(ph.waiting()-trained[ph], asked.left(ph)) {
			// Sizes are rounded. A phase that is smaller only by rounding would not get the slot.
			if !claim(ph, func(v running) bool { return c.aging.Before(it, v.phase.item) && ph.smaller(v.phase) }) {
				break
			}
			asked.add(ph)
		}
	}
	return dst
}

// meet reports whether any phase comes before one that has victims, or is in training
// while so many training slots are left.
func (c *class) meet() bool {
	last, ok := c.aging.LastMarked(victims, nil)
	if !ok || c.training.left() > 0 && c.training.queue.Len() > 0 {
		return ok
	}
	first, ok := c.aging.FirstMarked(claims)
	return ok && c.aging.Before(first, last)
}

// smaller reports whether the phase is of a smaller virtual size than another, in
// relation to their weights.
func (ph *phase) smaller(other *phase) bool {
	return wide.Mul64(ph.remaining(), other.job.Weight()).Less(wide.Mul64(other.remaining(), ph.job.Weight()))
}

// victims returns the tasks that may be killed, those to be killed first at the
// front.
func (p *Policy) victims(c *class) (list []running) {
	for s, a := range p.ledger.Attempts() {
		if s.Class != c.id || p.ledger.Retiring(s.ID) || p.ledger.Pinned(s.ID) {
			continue
		}
		ph := a.Job.Data.phases[a.Task.Phase]
		if ph == nil || ph.trains(a.Task.Index) || p.targets.spares(ph, a.Task.Index, a.Start) {
			continue
		}
		list = append(list, running{
			sojourn.Preemption{Task: a.Task, Attempt: a.Number, Slot: s.ID}, s, ph, a.Start})
	}
	slices.SortFunc(list, func(a, b running) int {
		switch {
		case a.phase == b.phase:
			return cmp.Or(cmp.Compare(b.start, a.start), cmp.Compare(b.Task.Index, a.Task.Index))
		case c.aging.Before(b.phase.item, a.phase.item):
			return -1
		}
		return 1
	})
	return list
}
