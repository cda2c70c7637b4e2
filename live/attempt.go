package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// An attempt is what the pool knows of an attempt at a task. The lock of the pool guards what says so. The next attempt on the slot
// takes its place when it has ended, unless shared.
type attempt struct {
	sojourn.Assignment
	h     *Handle
	ctx   *taskContext
	since sojourn.Time // when it was assigned
	pos   int64        // what has to be durable before it starts

	// Guarded by the lock of the pool.
	grace   *time.Timer // goes off when the attempt is given up
	cause   error       // why it is being stopped
	waits   []*Handle   // that calls with its context wait for
	shared  bool        // a timer, a list or a call that waits may know it when it has ended
	gone    bool        // given up
	ignored bool        // it ignored the end of its context
	stuck   bool        // and the observer was told
	pinned  bool        // it is not preempted any more
}

func (a *attempt) task() Task { return Task{a.Task, a.Attempt, a.Slot, a.Source} }

// Pin keeps the task from being preempted from now on, until it returns: the policy takes another slot if it wants one.
// ctx is the context that the task was given, or one made from it. A task calls Pin before a part that must not be torn
// apart, such as a commit. If the task is being stopped already, Pin returns the cause, such as [ErrPreempted], and
// the task does better to return. Pin changes nothing else: the end of its job, of its time or of its slot still ends ctx.
// It panics if ctx comes from no task (TestPin).
func Pin(ctx context.Context) error {
	c := taskOf(ctx, "Pin")
	p := c.h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	a := c.attempt()
	if err := context.Cause(c); err != nil {
		if a != nil && a.cause != nil {
			return a.cause
		}
		return err
	}
	if a.pinned {
		return nil
	}
	a.pinned = true
	err := p.observe(driver.Pinned(sojourn.Preemption{Task: a.Task, Attempt: a.Attempt, Slot: a.Slot}))
	if err != nil && !errors.Is(err, sojourn.ErrUnknownKind) {
		return err
	}
	p.settle(nil)
	return nil
}

// Charge says what the attempt has cost so far, where that is not its time: tokens, bytes, money, in a unit that all tasks of the
// pool have in common. The last call before the task returns counts, and zero means the time. The policy learns it when the attempt
// ends ([sojourn.Event].Cost); package fair shares it between pools. ctx is as for [Pin] (TestCharge).
func Charge(ctx context.Context, cost uint64) {
	c := taskOf(ctx, "Charge")
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != returned {
		c.extend().cost = cost
	}
}

// A taskContext is the context of an attempt. Most tasks ask their context nothing, so the parts that cost time and memory are made
// when they are asked for. Somebody may have it for ever, so each attempt has one of its own: the first one that of the handle.
type taskContext struct {
	h *Handle
	a *attempt // guarded by the lock of the pool; of a later one, if its ctx is not this

	mu    sync.Mutex
	asked *asked // nil, or returned, for most tasks
}

// asked is what a context has if it is asked for, or ends before its task has returned.
type asked struct {
	over     error           // why the context has ended, unless it ended by itself
	cost     uint64          // that the task has told of
	deadline time.Time       // zero if there is none
	inner    context.Context // nil until somebody asks for it
	cancel   context.CancelCauseFunc
	stop     context.CancelFunc
}

// returned is what contexts of tasks that have returned share. It is not written.
var returned = &asked{over: context.Canceled}

// newContext returns the context of an attempt. The lock is held.
func (h *Handle) newContext(a *attempt) *taskContext {
	c := &h.first
	if c.h != nil {
		c = new(taskContext)
	}
	c.h, c.a = h, a
	return c
}

// attempt returns the attempt of the context; nil if another one has its place. The lock of the pool is held.
func (c *taskContext) attempt() *attempt {
	if c.a.ctx != c {
		return nil
	}
	return c.a
}

// extend returns what the context has, to write to it. c.mu is held.
func (c *taskContext) extend() *asked {
	switch c.asked {
	case nil:
		c.asked = new(asked)
	case returned:
		c.asked = &asked{over: returned.over}
	}
	return c.asked
}

// setDeadline gives the context a deadline, before anybody has it.
func (c *taskContext) setDeadline(at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.extend().deadline = at
}

// end ends the context.
func (c *taskContext) end(cause error) {
	c.mu.Lock()
	if c.asked == nil && cause == context.Canceled {
		c.asked = returned
	}
	x := c.asked
	if x == nil {
		x = c.extend()
	}
	first := x.over == nil
	if first {
		x.over = cause
	}
	cancel := x.cancel
	c.mu.Unlock()
	if first && cancel != nil {
		cancel(cause)
	}
}

// context returns the context that Go's own package made.
func (c *taskContext) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	x := c.extend()
	if x.inner == nil {
		x.inner, x.cancel = context.WithCancelCause(c.h.ctx)
		if !x.deadline.IsZero() {
			x.inner, x.stop = context.WithDeadlineCause(x.inner, x.deadline, ErrTaskTimeout)
		}
		if x.over != nil {
			x.cancel(x.over)
		}
	}
	return x.inner
}

// Done implements [context.Context].
func (c *taskContext) Done() <-chan struct{} { return c.context().Done() }

// contextKey is the key of the context of a task in itself.
type contextKey struct{}

// Value implements [context.Context].
func (c *taskContext) Value(key any) any {
	if _, ok := key.(contextKey); ok {
		return c
	}
	return c.context().Value(key)
}

// now returns what the context has, not to be written.
func (c *taskContext) now() asked {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked == nil {
		return asked{}
	}
	return *c.asked
}

// Deadline implements [context.Context].
func (c *taskContext) Deadline() (time.Time, bool) {
	at, ok := c.h.ctx.Deadline()
	if own := c.now().deadline; !own.IsZero() && (!ok || own.Before(at)) {
		return own, true
	}
	return at, ok
}

// Err implements [context.Context].
func (c *taskContext) Err() error {
	x := c.now()
	switch {
	case x.inner != nil || !x.deadline.IsZero():
		return c.context().Err()
	case x.over != nil:
		return context.Canceled
	}
	return c.h.ctx.Err()
}
