package live

import (
	"cmp"
	"context"
	"errors"
	"time"
)

// A Permit is a slot on which the goroutine works that has called [Pool.Enter]. Its methods may be called by several goroutines.
type Permit struct {
	h    *Handle
	turn chan struct{} // closed when the permit has an attempt, or its job has ended without one; nil if that was so at once
	late *time.Timer   // goes off when the time of the attempt and the grace are over; nil if there is no such time

	// Guarded by the lock of the pool.
	a   *attempt     // nil before it is granted, and after Leave
	ctx *taskContext // of the attempt; it stays
}

// alone is the phase of most permits.
var alone = [1]Phase{{Tasks: 1}}

// Enter waits until the policy gives the job a slot, for work that the caller does itself: a request is served on the
// goroutine of its connection. The job has one task without a function; a job without phases is such a one. The caller works with
// [Permit.Context], and gives the slot back by [Permit.Leave], deferred, so that the slot is not lost if the work panics:
//
//	permit, err := pool.Enter(ctx, live.Job{Pool: customer})
//	if err != nil {
//		return err
//	}
//	defer permit.Leave(nil)
//
// A permit is an attempt at a task like any other: for Status, Explain, observers, limits of the pool, timeouts,
// preemption, Drain, Remove, Suspend and Close. But there is only one attempt: Retry and MaxFailedTasks say nothing, and
// Key, Handler, Payload and Open are errors, as is a durable policy, since the work does not survive the process.
//
// If ctx ends first, the error is its cause, and nothing is left of the job. No permit is returned whose context has ended. If ctx
// ends later, so does the context of the permit; the slot is busy until Leave. The other errors are those of Submit and of
// [Handle.Wait].
//
// TestEnter, TestEnterGivesUp, TestPermitsCount, TestEnterRefuses
func (p *Pool) Enter(ctx context.Context, j Job) (*Permit, error) {
	if len(j.Phases) == 0 {
		j.Phases = alone[:]
	}
	switch ph := &j.Phases[0]; {
	case ctx == nil:
		return nil, errors.New("live: Enter without a context")
	case p.kept.d != nil:
		return nil, errors.New("live: Enter under a durable policy: work of the caller does not survive the process")
	case j.Key != "" || j.Handler != "" || j.Payload != nil || j.Open:
		return nil, errors.New("live: Enter with a key, a handler or a payload, or of an open job: want none of them")
	case len(j.Phases) != 1 || ph.Tasks != 1 || ph.Run != nil || ph.results != nil:
		return nil, errors.New("live: Enter wants one phase of one task without a function")
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	j.enters = true
	h, err := newHandle(ctx, p, &j)
	if err != nil {
		return nil, err
	}
	m := h.permit
	m.h = h
	if _, _, err := p.submit(ctx, h, &j); err != nil {
		return nil, err
	}
	p.mu.Lock()
	if m.a == nil && !h.ended {
		m.turn = make(chan struct{})
		p.mu.Unlock()
		over := h.waits(ctx)
		select {
		case <-m.turn:
		case <-ctx.Done():
			p.cancel(h, context.Cause(ctx))
		}
		over()
		p.mu.Lock()
	}
	err = h.err // the job has ended, or is about to
	if m.a != nil {
		m.late = p.limit(m.a)
	}
	p.mu.Unlock()
	if err = cmp.Or(err, context.Cause(ctx)); err != nil {
		m.Leave(err)
		return nil, err
	}
	return m, nil
}

// Context returns the context of the work, which comes from that of Enter. It ends with the cause [ErrPreempted] when the policy
// wants the slot back, and for the other reasons for which the context of a task ends, at the latest with Leave. [Pin] takes it.
func (m *Permit) Context() context.Context { return m.ctx }

// Leave gives the slot back. The error is that of the work: the job has failed with it, and a policy may not charge work that was
// lost. Whoever has used the slot to no avail, and is to pay for it, says nil. To leave again does nothing.
func (m *Permit) Leave(err error) {
	p := m.h.pool
	p.mu.Lock()
	a := m.a
	m.a = nil
	p.mu.Unlock()
	if a == nil {
		return
	}
	if m.late != nil {
		m.late.Stop()
	}
	if next := p.report(a, nil, err); next != nil {
		go p.work(next)
	}
}

// grant lets the caller of Enter go on. The lock is held.
func (m *Permit) grant(a *attempt) {
	m.a, m.ctx = a, a.ctx
	m.h.pool.busy.Add(1)
	m.call()
}

// call wakes the caller of Enter, if it waits. The lock is held.
func (m *Permit) call() {
	if m.turn != nil {
		close(m.turn)
	}
}
