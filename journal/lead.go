package journal

import (
	"context"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// AfterFailure calls f in a goroutine of its own when the journal takes no more though nobody has closed it: an error of the store was the last
// one, another process leads, or [Journal.Abandon] was called. The error says which. A driver that has nothing to write would not learn of it
// otherwise. Stop ends that, as that of [context.AfterFunc] does.
//
// TestAfterFailure
func (j *Journal) AfterFailure(f func(error)) (stop func() bool) {
	over := j.log.over
	return context.AfterFunc(over, func() { f(context.Cause(over)) })
}

// Abandon ends the journal for a driver that cannot go on, because of err: what was appended is written, if that is possible, and then
// another process may lead, though nobody has called Close. It does not wait. It does nothing if the journal takes no more already.
//
// TestAbandon
func (j *Journal) Abandon(err error) {
	go func() {
		l := &j.log
		_ = l.settle()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.abandon(visible.Errorf("journal: it was abandoned: %w", err))
	}()
}

// begins enters that the journal has all that was written, and may write.
func (l *log) begins(retry bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.retry, l.leads = retry, true
	if s, ok := l.store.(interface{ OnLost(func(error)) }); ok {
		s.OnLost(func(err error) {
			go func() {
				l.mu.Lock()
				defer l.mu.Unlock()
				l.abandon(failure(err))
			}()
		})
	}
}

// abandon enters the last error, unless there is one, and lets go of the store. The lock is held, but for a while at the end.
func (l *log) abandon(err error) {
	if l.err != nil {
		return
	}
	l.err = err
	l.failed.Store(true)
	l.cond.Broadcast()
	if l.leads { // otherwise Open or Follow returns it
		l.stopping.Store(true)
		l.cancel(err)
		l.yield()
	}
}

// yield lets another process lead after the last error, unless something is being written: then it is called again at the end of that. The lock is
// held, but for a while.
func (l *log) yield() {
	if !l.leads || l.err == nil || l.yielded || l.busy || l.making {
		return
	}
	l.yielded = true
	s, ok := l.store.(interface{ Yield() })
	if !ok {
		return
	}
	l.busy = true
	l.mu.Unlock()
	s.Yield()
	l.mu.Lock()
	l.busy = false
	l.cond.Broadcast()
}
