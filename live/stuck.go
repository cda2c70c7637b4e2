package live

import (
	"context"
	"fmt"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// classes count the slots of each class.
type classes struct {
	slots   [sojourn.MaxClasses]int  // those that leave included, as long as they are busy
	lacking [sojourn.MaxClasses]bool // the observer was told that a job needs slots of the class, of which there are none
	emptied bool                     // some class has none any more, and nobody has looked since
	tooMany map[sojourn.Class]int    // busy slots that leave when they are idle, whichever these are; none is 0
}

// surplus says how many busy slots of a class are too many.
func (c *classes) surplus(class sojourn.Class, n int) {
	if n <= 0 {
		delete(c.tooMany, class)
		return
	}
	if c.tooMany == nil {
		c.tooMany = map[sojourn.Class]int{}
	}
	c.tooMany[class] = n
}

func (c *classes) add(class sojourn.Class) {
	c.slots[class]++
	c.lacking[class] = false
}

func (c *classes) remove(class sojourn.Class) {
	c.slots[class]--
	c.emptied = c.emptied || c.slots[class] == 0
}

// lacks returns a class without slots that a job needs.
func (c *classes) lacks(h *Handle) (sojourn.Class, bool) {
	for i := range h.spec.Phases {
		if class := h.spec.Phases[i].Class; h.work(i).left > 0 && c.slots[class] == 0 {
			return class, true
		}
	}
	return 0, false
}

// noteClasses tells the observer of jobs that need slots of a class of which there are none: of the first one for each class,
// until the class has slots.
func (p *Pool) noteClasses(h *Handle) {
	if p.announce.to == nil || p.closed {
		return
	}
	for i := range h.spec.Phases {
		class := h.spec.Phases[i].Class
		if h.err == nil && h.work(i).left > 0 && p.classes.slots[class] == 0 && !p.classes.lacking[class] {
			p.classes.lacking[class] = true
			p.announce.job(JobStuck, h, fmt.Errorf("%w: class %d", ErrNoSlots, class))
		}
	}
}

// caller returns the context of the attempt of a pool from which a context comes, nil if it comes from none.
func caller(ctx context.Context, p *Pool) *taskContext {
	c, _ := ctx.Value(contextKey{}).(*taskContext)
	if c == nil || c.h.pool != p {
		return nil
	}
	return c
}

// waits enters that the task from which ctx comes, if it is one of the same pool, waits for the job until over is called.
func (h *Handle) waits(ctx context.Context) (over func()) {
	p := h.pool
	c := caller(ctx, p)
	if c == nil {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := c.attempt()
	if a == nil {
		return func() {}
	}
	a.waits, a.shared = append(a.waits, h), true
	if p.trial.a == a { // it may wait for what is only started beside it
		go p.pass(a)
	}
	p.waiting++
	p.noteDeadlock()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		i := slices.Index(a.waits, h)
		a.waits = slices.Delete(a.waits, i, i+1)
		p.waiting--
	}
}

// noteDeadlock tells the observer of attempts that wait for jobs that cannot end before these attempts do.
func (p *Pool) noteDeadlock() {
	if p.announce.to == nil {
		return
	}
	list, blocked := p.deadlocked()
	for _, a := range list {
		if !a.stuck {
			a.stuck = true
			h := a.waits[slices.IndexFunc(a.waits, blocked)]
			p.announce.task(JobStuck, a, fmt.Errorf("%w: attempt %d at task %v waits for job %d", ErrDeadlock, a.Attempt, a.Task, h.spec.ID))
		}
	}
}

// deadlocked returns the attempts that wait for jobs that cannot end before these attempts do, and which jobs are such. It begins with
// all attempts that wait, and leaves out those whose jobs can end all the same, until no more can be left out.
func (p *Pool) deadlocked() (list []*attempt, blocked func(*Handle) bool) {
	if p.waiting == 0 || p.broken != nil {
		return nil, nil
	}
	type phase struct {
		h *Handle
		i int
	}
	var (
		stuck   = map[*Handle]int{} // attempts of each job in list
		running = map[phase]int{}
		open    [sojourn.MaxClasses]int // slots by class that may get free
	)
	for _, s := range p.slots {
		waits := s != nil && s.a != nil && len(s.a.waits) > 0 && s.a.cause == nil
		switch {
		case s == nil:
			continue
		case waits:
			list = append(list, s.a)
			stuck[s.a.h]++
		case !s.leaving:
			open[s.Class]++
		}
		if s.a != nil {
			running[phase{s.a.h, int(s.a.Task.Phase)}]++
		}
	}
	blocked = func(h *Handle) bool {
		if h.ended || h.err != nil {
			return false
		}
		for i := range h.spec.Phases {
			if int(h.work(i).left) > running[phase{h, i}] && (p.suspended || open[h.spec.Phases[i].Class] == 0) {
				return true
			}
		}
		return stuck[h] > 0
	}
	for n := -1; n != len(list); {
		n = len(list)
		list = slices.DeleteFunc(list, func(a *attempt) bool {
			if slices.ContainsFunc(a.waits, blocked) {
				return false
			}
			stuck[a.h]--
			if s := p.slots[a.Slot]; !s.leaving {
				open[s.Class]++
			}
			return true
		})
	}
	return list, blocked
}
