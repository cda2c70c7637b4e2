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

// Close ends the pool. It accepts no more jobs, waits until all jobs have ended, and takes all slots
// away. If ctx ends first, the jobs are cancelled, with [ErrClosed] as the reason, and Close waits
// for their attempts. For a hard stop, ctx has ended already. No goroutine of the pool is left when
// Close returns, except those of tasks that ignore their contexts.
//
// The error wraps the cause of ctx if it ended first, and [ErrAbandoned] if there are tasks that
// ignore their contexts. Another pool may have the policy afterwards, if its Now goes on from there.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	p.endStranded()
	p.checkDrained()
	p.settle(nil)
	p.mu.Unlock()
	var err error
	select {
	case <-p.drained:
	case <-ctx.Done():
		err = fmt.Errorf("live: closed before all jobs had ended: %w", context.Cause(ctx))
		p.mu.Lock()
		for _, h := range p.jobs.all() {
			p.giveUp(h, ErrClosed)
		}
		p.settle(nil)
		p.mu.Unlock()
		<-p.drained
	}
	p.busy.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(err, p.end())
}

// end lets go of the policy when no attempt runs and no job is left. It returns what was not as it should be.
func (p *Pool) end() error {
	if !p.over {
		for _, s := range p.slots {
			if s != nil {
				p.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: s.Slot})
				p.forget(s)
			}
		}
		p.timer.Stop()
		p.must(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: marker}})
		p.over = true
	}
	err := p.broken
	if len(p.ignored) > 0 {
		err = errors.Join(err, fmt.Errorf("%w: tasks %v", ErrAbandoned, p.ignored))
	}
	return err
}

// Suspend ends the pool, and leaves its jobs to the next one that gets the policy, if that is [Durable]. No attempt is
// started any more, and Suspend waits for those that run. If ctx ends first, their contexts end, with
// [ErrSlotRemoved] as the cause, and the tasks run again in the next pool. A handle whose job has not ended then has the error
// [ErrSuspended].
//
// The error is as that of [Pool.Close].
func (p *Pool) Suspend(ctx context.Context) error {
	p.mu.Lock()
	p.closed, p.suspended = true, true
	p.mu.Unlock()
	stop := context.AfterFunc(ctx, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, s := range p.slots {
			if s != nil && s.a != nil {
				p.kill(s.a, ErrSlotRemoved)
			}
		}
	})
	p.busy.Wait()
	var err error
	if !stop() {
		err = fmt.Errorf("live: suspended before all attempts had ended: %w", context.Cause(ctx))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range p.jobs.all() {
		p.letGo(h, ErrSuspended)
	}
	return errors.Join(err, p.end())
}

// letGo ends the handle of a job that goes on elsewhere.
func (p *Pool) letGo(h *Handle, why error) {
	held := h.more.get().held
	for _, task := range slices.SortedFunc(maps.Keys(held), compareTasks) {
		held[task].Stop()
		p.must(sojourn.Event{Kind: sojourn.TaskReady, Task: task})
	}
	clear(held)
	if h.err == nil {
		h.err = why
	}
	p.finish(h)
}

func compareTasks(a, b sojourn.TaskID) int {
	return cmp.Or(cmp.Compare(a.Job, b.Job), cmp.Compare(a.Phase, b.Phase), cmp.Compare(a.Index, b.Index))
}

// endStranded ends the jobs of a closed pool that need slots of a class that has none.
func (p *Pool) endStranded() {
	if !p.closed || p.suspended {
		return
	}
	var classes [1 << 8]bool
	for _, s := range p.slots {
		if s != nil { // one that leaves counts as long as it is busy
			classes[s.Class] = true
		}
	}
	for _, h := range p.jobs.all() {
		for i := range h.spec.Phases {
			if h.work[i].left > 0 && !classes[h.spec.Phases[i].Class] {
				p.giveUp(h, ErrNoSlots)
			}
		}
	}
}
