package live

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// An attempt is an attempt at a task, and its context. Most tasks ask their context nothing, so
// the parts that cost time are made when they are asked for.
type attempt struct {
	sojourn.Assignment
	h        *Handle
	since    sojourn.Time // when it was assigned
	pos      int64        // what has to be durable before it starts
	deadline time.Time    // of the context; zero if there is none
	grace    *time.Timer  // goes off when the attempt is given up; guarded by the lock of the pool
	cause    error        // why it is being stopped; guarded by the lock of the pool
	gone     bool         // given up; guarded by the lock of the pool
	ignored  bool         // it ignored the end of its context; guarded by the lock of the pool
	waits    []*Handle    // that calls with its context wait for; guarded by the lock of the pool
	stuck    bool         // and the observer was told; guarded by the lock of the pool
	pinned   bool         // it is not preempted any more; guarded by the lock of the pool

	mu     sync.Mutex
	over   error           // why the context has ended, unless it ended by itself
	inner  context.Context // nil until somebody asks for it
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
}

func (a *attempt) task() Task { return Task{a.Task, a.Attempt, a.Slot, a.Source} }

// Pin keeps the task from being preempted from now on, until it returns: the policy takes another slot if it wants one.
// ctx is the context that the task was given, or one made from it. A task calls Pin before a part that must not be torn
// apart, such as a commit. If the task is being stopped already, Pin returns the cause, such as [ErrPreempted], and
// the task does better to return. Pin changes nothing else: the end of its job, of its time or of its slot still ends ctx.
// It panics if ctx comes from no task (TestPin).
func Pin(ctx context.Context) error {
	a, _ := ctx.Value(attemptKey{}).(*attempt)
	if a == nil {
		panic("live: Pin of a context that comes from no task")
	}
	p := a.h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := context.Cause(a); err != nil {
		return cmp.Or(a.cause, err)
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

// end ends the context.
func (a *attempt) end(cause error) {
	a.mu.Lock()
	first := a.over == nil
	if first {
		a.over = cause
	}
	cancel := a.cancel
	a.mu.Unlock()
	if first && cancel != nil {
		cancel(cause)
	}
}

// context returns the context that Go's own package made.
func (a *attempt) context() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.inner == nil {
		a.inner, a.cancel = context.WithCancelCause(a.h.ctx)
		if !a.deadline.IsZero() {
			a.inner, a.stop = context.WithDeadlineCause(a.inner, a.deadline, ErrTaskTimeout)
		}
		if a.over != nil {
			a.cancel(a.over)
		}
	}
	return a.inner
}

// Done implements [context.Context].
func (a *attempt) Done() <-chan struct{} { return a.context().Done() }

// attemptKey is the key of the attempt in its own context.
type attemptKey struct{}

// Value implements [context.Context].
func (a *attempt) Value(key any) any {
	if _, ok := key.(attemptKey); ok {
		return a
	}
	return a.context().Value(key)
}

// Deadline implements [context.Context].
func (a *attempt) Deadline() (time.Time, bool) {
	at, ok := a.h.ctx.Deadline()
	if !a.deadline.IsZero() && (!ok || a.deadline.Before(at)) {
		return a.deadline, true
	}
	return at, ok
}

// Err implements [context.Context].
func (a *attempt) Err() error {
	a.mu.Lock()
	simple := a.inner == nil && a.deadline.IsZero()
	over := a.over
	a.mu.Unlock()
	switch {
	case !simple:
		return a.context().Err()
	case over != nil:
		return context.Canceled
	}
	return a.h.ctx.Err()
}
