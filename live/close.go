package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// Close ends the pool. It accepts no more jobs and no more tasks, waits until all jobs have ended, and takes all slots
// away. If ctx ends first, the jobs are cancelled, with [ErrClosed] as the reason, and Close waits
// for their attempts. For a hard stop, ctx has ended already. No goroutine of the pool is left when
// Close returns, except those of tasks that ignore their contexts.
//
// Once ctx has ended, Close returns after two times Options.Grace and three seconds at the latest: one Grace for tasks, one for OnEnd, a second for each call of a store
// that does not answer. Its error then wraps [ErrStalled], and the last ends may not be durable: the next process may run these tasks again. Otherwise all is
// durable when Close returns (TestEndOverADeadDisk).
//
// The error wraps the cause of ctx if it ended first, [ErrAbandoned] if there are tasks that
// ignore their contexts, the error of [Pool.Err], and the [*PanicError] of an observer. Another pool may have the policy afterwards, if its Now goes on from there.
//
// A task or an OnEnd that closes its own pool would wait for itself. If ctx comes from it, Close returns [ErrDeadlock] at once,
// and the pool stays open (TestCallsFromTasks, TestCallsFromOnEnd).
func (p *Pool) Close(ctx context.Context) error {
	if err := mayEnd(ctx, p, "Close"); err != nil {
		return err
	}
	p.mu.Lock()
	p.leaveStandby()
	p.closed = true
	p.completeAll()
	p.endStranded()
	p.checkDrained()
	p.settle(nil)
	p.mu.Unlock()
	var err error
	select {
	case <-p.drained:
	case <-ctx.Done():
		p.mu.Lock()
		if p.jobs.live > 0 {
			err = fmt.Errorf("live: closed before all jobs had ended: %w", context.Cause(ctx))
		}
		p.giveUpAll(ErrClosed)
		p.settle(nil)
		p.leave()
		p.mu.Unlock()
		<-p.drained
	}
	defer context.AfterFunc(ctx, p.leave)()
	p.busy.Wait()
	p.stopCalls(ctx)
	kept := p.flush(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, p.end(kept))
}

// flush returns when all that was told the policy is durable, or why that is not known.
func (p *Pool) flush(ctx context.Context) error {
	p.mu.Lock()
	over, pos := p.over, p.kept.position()
	p.mu.Unlock()
	if over {
		return nil
	}
	return p.commit(ctx, pos)
}

// completeAll lets open jobs end as others do.
func (p *Pool) completeAll() {
	p.look(func(h *Handle) {
		if spec := *h.latest(); spec.Open && h.err == nil && !h.more.get().parked { // which goes on elsewhere
			spec.Open = false
			if err := p.replace(h, &spec); err != nil {
				p.giveUp(h, err)
			}
		}
	})
}

// end lets go of the policy when no attempt runs and no job is left. It returns what was not as it should be. kept is why
// it is not known whether all is durable.
func (p *Pool) end(kept error) error {
	if !p.over {
		for _, s := range p.slots {
			if s != nil {
				if p.standby == nil { // otherwise it was told of none
					p.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s.Slot})
				}
				p.forgetSlot(s)
			}
		}
		p.timer.Stop()
		if p.trial.timer != nil {
			p.trial.timer.Stop()
		}
		if p.later != nil {
			p.later.Stop()
		}
		p.must(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: marker}})
		p.over = true
	}
	err := errors.Join(cmp.Or(p.trouble(), kept), p.announce.blind)
	if s := p.stall.Load(); s != nil {
		p.endStall(s)
	}
	p.leave()
	for _, a := range p.ignored {
		err = errors.Join(err, fmt.Errorf("%w: attempt %d at task %v", ErrAbandoned, a.Attempt, a.Task))
	}
	return err
}

// mayEnd returns why a call with ctx may not end the pool, or nil.
func mayEnd(ctx context.Context, p *Pool, what string) error {
	if ctx == nil {
		return fmt.Errorf("live: %s without a context", what)
	}
	if ctx.Value(endKey{}) == p && ctx.Err() == nil {
		return fmt.Errorf("%w: %s waits for OnEnd, which calls it", ErrDeadlock, what)
	}
	c := caller(ctx, p)
	if c == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	a := c.attempt()
	if a == nil {
		return nil
	}
	if s := p.slots[a.Slot]; s != nil && s.a == a {
		return fmt.Errorf("%w: %s waits for task %v, which calls it", ErrDeadlock, what, a.Task)
	}
	return nil
}

// Suspend ends the pool, and leaves its jobs to the next one that gets the policy, if that is durable. No attempt is
// started any more, and Suspend waits for those that run. If ctx ends first, their contexts end, with
// [ErrSlotRemoved] as the cause, and the tasks run again in the next pool. A handle whose job has not ended then has the error
// [ErrSuspended].
//
// The pool is locked for 512 jobs at a time (TestEndHoldsNobodyUp). The error is as that of [Pool.Close]. Under a policy that is not durable, the jobs are lost, and the policy is free.
func (p *Pool) Suspend(ctx context.Context) error {
	if err := mayEnd(ctx, p, "Suspend"); err != nil {
		return err
	}
	p.mu.Lock()
	p.leaveStandby()
	p.closed, p.suspended = true, true
	p.noteDeadlock()
	p.mu.Unlock()
	var err error
	stop := context.AfterFunc(ctx, func() {
		defer p.leave() // when it is known why attempts end
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.slots {
			if s != nil && s.a != nil {
				p.kill(s.a, ErrSlotRemoved)
				err = fmt.Errorf("live: suspended before all attempts had ended: %w", context.Cause(ctx))
			}
		}
	})
	p.busy.Wait()
	stop()
	p.stopCalls(ctx)
	kept := p.flush(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look(func(h *Handle) { letGo(p, h, ErrSuspended) })
	return errors.Join(err, p.end(kept))
}

// letGo ends the handle of a job that goes on elsewhere.
func letGo(p *Pool, h *Handle, why error) {
	held := h.more.get().held
	for _, task := range slices.SortedFunc(maps.Keys(held), compareTasks) {
		held[task].Stop()
		p.must(sojourn.Event{Kind: sojourn.TaskReady, Task: task})
	}
	clear(held)
	if p.kept.d == nil && h.err == nil {
		p.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: h.spec.ID}})
	}
	if h.err == nil {
		h.err = why
	}
	p.finish(h)
}

func compareTasks(a, b sojourn.TaskID) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Index, b.Index))
}

// endStranded ends the jobs of a closed pool that need slots of a class that has none. If the pool is open, the observer is told
// that they wait, and of tasks that wait for
// a slot that has left.
func (p *Pool) endStranded() {
	switch {
	case p.suspended:
	case p.closed:
		p.look(func(h *Handle) {
			if h.more.get().parked {
				letGo(p, h, ErrSuspended)
			} else if class, ok := p.classes.lacks(h); ok {
				p.giveUp(h, fmt.Errorf("%w: class %d", ErrNoSlots, class))
			}
		})
	default:
		if p.classes.emptied {
			p.classes.emptied = false
			p.look(p.noteClasses)
		}
		p.noteDeadlock()
	}
}
