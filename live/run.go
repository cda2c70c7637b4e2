package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/trace"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// work runs an attempt, and then those that the policy assigns to its slot when one has ended.
func (p *Pool) work(a *attempt) {
	inTask := false
	defer func() {
		if !inTask { // or the pool itself panics
			return
		}
		// runtime.Goexit: this goroutine cannot go on.
		if next := p.report(a, nil, ErrGoexit); next != nil {
			go p.work(next)
		}
	}()
	for a != nil {
		inTask = true
		store, err := p.call(a)
		inTask = false
		a = p.report(a, store, err)
	}
}

// call calls the function of a task.
func (p *Pool) call(a *attempt) (store func(), err error) {
	defer func() {
		if x := recover(); x != nil {
			store, err = nil, &PanicError{Value: x, Stack: debug.Stack()}
		}
	}()
	r := &p.synced
	if p.opt.UnsyncedStarts {
		r = &p.written
	}
	if a.pos > r.kept.Load() || p.opt.UnsyncedStarts && p.stall.Load() != nil { // then nobody can tell what was written
		err = p.persist(a.ctx, context.Background(), r, a.pos)
	}
	if err != nil {
		return nil, err
	}
	w := a.h.work(int(a.Task.Phase))
	if t := p.limit(a); t != nil {
		defer t.Stop()
	}
	if trace.IsEnabled() {
		defer trace.StartRegion(a.ctx, cmp.Or(a.h.spec.Name, "sojourn task")).End()
	}
	if w.run != nil {
		return nil, w.run(a.ctx, a.task())
	}
	return a.h.more.results[a.Task.Phase].produce(a.ctx, a.task())
}

// limit gives an attempt a deadline, before anybody has its context, if it has one. It returns the timer that gives the attempt up.
func (p *Pool) limit(a *attempt) *time.Timer {
	d := a.h.work(int(a.Task.Phase)).timeout
	if d == 0 {
		return nil
	}
	a.ctx.setDeadline(time.Now().Add(d))
	return time.AfterFunc(d+p.opt.Grace, func() { p.overdue(a) })
}

// kill ends the context of an attempt, unless it has ended.
func (p *Pool) kill(a *attempt, cause error) {
	if a.cause == nil {
		a.cause = cause
		a.ctx.end(cause)
		a.shared = true
		p.announce.task(TaskStopped, a, cause)
		a.grace = time.AfterFunc(p.opt.Grace, func() { p.overdue(a) })
	}
}

// overdue is called when an attempt still runs after its context has ended and the grace is over.
func (p *Pool) overdue(a *attempt) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.slots[a.Slot]; s == nil || s.a != a || a.gone {
		return
	}
	if !a.ignored {
		a.ignored = true
		p.ignored = append(p.ignored, a)
		p.announce.task(TaskIgnores, a, cmp.Or(a.cause, ErrTaskTimeout))
	}
	if errors.Is(a.cause, ErrPreempted) {
		return // it would run twice at a time
	}
	a.gone = true
	p.ended(a, nil, ErrAbandoned)
	if next := p.settle(a); next != nil {
		go p.work(next)
		return
	}
	p.busy.Done()
}

// report reports the end of an attempt and returns the next one for this goroutine.
func (p *Pool) report(a *attempt, store func(), err error) *attempt {
	a.ctx.end(context.Canceled)
	p.mu.Lock()
	next, last := p.follow(a, store, err)
	pos := p.kept.position()
	p.mu.Unlock()
	if last {
		_ = p.commit(p.leaving, pos) // the next start would; an error comes again with whatever happens next
		p.busy.Done()
	}
	return next
}

// follow applies the end of an attempt and returns the next one. If there is none, it reports whether the goroutine
// still counts as busy.
func (p *Pool) follow(a *attempt, store func(), err error) (next *attempt, last bool) {
	if a.ignored {
		i := slices.Index(p.ignored, a)
		p.ignored = slices.Delete(p.ignored, i, i+1)
		p.announce.task(TaskReturned, a, err)
	}
	if a.gone {
		return nil, false
	}
	p.ended(a, store, err)
	next = p.settle(a)
	return next, next == nil
}

// ended applies the end of an attempt, without what the policy then wants.
func (p *Pool) ended(a *attempt, store func(), err error) {
	h, s := a.h, p.slots[a.Slot]
	if a.grace != nil {
		a.grace.Stop()
	}
	lost := err != nil && errors.Is(a.cause, ErrSlotRemoved)
	lost = lost || p.stalled != nil && errors.Is(err, p.stalled) // what the store did is no failure of the task
	preempted := err != nil && errors.Is(a.cause, ErrPreempted)
	ev := driver.Finished(a.Assignment)
	switch {
	case lost:
		ev = driver.Failed(a.Assignment, sojourn.CauseSlotLost)
	case preempted:
		ev = driver.Failed(a.Assignment, sojourn.CausePreempted)
	case err != nil:
		ev = driver.Failed(a.Assignment, sojourn.CauseTask)
	}
	ev.Cost = a.ctx.now().cost
	if err == nil && h.err == nil && h.completeWith(h.left-1) {
		p.recordEnd(h, nil)
	}
	if n := p.classes.tooMany[s.Class]; n > 0 && !s.leaving && p.remove(s) == nil { // before another task starts here
		p.classes.surplus(s.Class, n-1)
	}
	p.must(ev)
	p.announce.task(TaskEnded, a, err)
	s.a = nil
	if !a.shared {
		s.spare = a
	}
	if s.leaving {
		p.forgetSlot(s)
		defer p.endStranded()
	}
	if p.suspended {
		defer p.noteDeadlock()
	}
	h.running--
	switch {
	case h.err != nil:
	case err == nil:
		if store != nil {
			store()
		}
		p.forgetTrouble(h, a.Task)
		h.left--
		h.work(int(a.Task.Phase)).left--
	case h.permit != nil:
		if m := h.extend(); lost || preempted {
			p.away(h)
		} else {
			m.failures++
			m.past.failures++
			m.past.first = failure(err)
		}
		p.giveUp(h, err) // nobody would do it again
	case lost || preempted:
		p.away(h)
		p.await(h, a.Task)
	default:
		p.failed(h, a.Task, err)
	}
	p.leaveTrial(a)
	if !h.ended && h.running == 0 && (h.completeWith(h.left) || h.err != nil) {
		p.finish(h)
	}
}

// failed decides what becomes of a task that failed by itself.
func (p *Pool) failed(h *Handle, task sojourn.TaskID, err error) {
	if h.ctx.Err() != nil { // that is why, and the watch over the context is only late
		p.giveUp(h, context.Cause(h.ctx))
		return
	}
	m := h.extend()
	t := m.tasks[task]
	t.failures++
	m.failures++
	m.set(task, t)
	if m.past.first == "" && p.record.most > 0 {
		m.past.first = failure(err)
		p.keepPast(h)
	}
	n, retry := t.failures, p.retry(h)
	switch {
	case retry.Budget > 0 && m.failures >= retry.Budget:
		p.giveUp(h, &TaskError{task, n, fmt.Errorf("%w, after %d failures in the job: %w", ErrBudget, m.failures, err)})
		return
	case n >= retry.Attempts:
		p.giveUpTask(h, task, &TaskError{task, n, err})
		return
	}
	p.keepTrouble(h, task, t)
	wait := retry.wait(n, p.rng.Float64())
	if wait <= 0 {
		p.await(h, task)
		return
	}
	p.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: task})
	if m.held == nil {
		m.held = map[sojourn.TaskID]held{}
	}
	m.held[task] = held{time.AfterFunc(wait, func() { p.ready(h, task) }), p.d.Time().Add(wait)}
}

// ready is called when the back-off of a task is over.
func (p *Pool) ready(h *Handle, task sojourn.TaskID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := h.more.held[task]; !ok {
		return // the job was given up meanwhile
	}
	delete(h.more.held, task)
	p.must(sojourn.Event{Kind: sojourn.TaskReady, Task: task})
	p.await(h, task)
	p.settle(nil)
}
