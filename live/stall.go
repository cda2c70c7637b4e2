package live

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A stall is the time in which the store of a durable policy fails, and is tried again. What happens is told to the policy, which
// keeps it in memory. Nothing is started.
type stall struct {
	err   error         // of Pool.Err
	over  chan struct{} // closed when the store works again, or nobody tries it any more
	wait  time.Duration // until the next try
	timer *time.Timer
}

const (
	firstTry = 100 * time.Millisecond
	mostWait = 5 * time.Second

	mostSilent = 10 * time.Second // without an answer of the store, after which it counts as one that fails
	lastAnswer = time.Second      // for which one is waited for when nobody needs it any more
)

// A silentError says that the store does not answer.
type silentError struct{}

func (silentError) Error() string { return fmt.Sprintf("live: it has not answered for %v", mostSilent) }

// Stalled returns true: it may answer later.
func (silentError) Stalled() bool { return true }

// Answers are what the calls of the durable policy that wait for its store have heard.
type answers struct {
	n     atomic.Int64 // calls
	heard atomic.Int64 // when the first of these began, or the last answer came: nanoseconds since 1970
	armed atomic.Bool  // somebody looks
}

// ask calls the durable policy in a goroutine of its own, since its store may never answer, and returns its error. If ctx or that of Close ends first, it
// does not wait for long.
func (p *Pool) ask(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	if p.answers.n.Load() == 0 { // before it is counted, so that nobody takes an old answer for the last one
		p.answers.heard.Store(time.Now().UnixNano())
	}
	p.answers.n.Add(1)
	if p.answers.armed.CompareAndSwap(false, true) {
		time.AfterFunc(mostSilent, p.listen)
	}
	go func() {
		err := call()
		p.answers.heard.Store(time.Now().UnixNano())
		p.answers.n.Add(-1)
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	case <-p.leaving.Done():
		ctx = p.leaving
	}
	late := time.NewTimer(lastAnswer)
	defer late.Stop()
	select {
	case err := <-done:
		return err
	case <-late.C:
		return fmt.Errorf("%w: it does not answer: %w", ErrStalled, context.Cause(ctx))
	}
}

// listen begins a stall if the store has not answered for too long.
func (p *Pool) listen() {
	if p.answers.n.Load() == 0 || p.leaving.Err() != nil { // nobody waits for it any more
		p.answers.armed.Store(false)
		return
	}
	silent := time.Since(time.Unix(0, p.answers.heard.Load()))
	if silent >= mostSilent {
		p.stalls(silentError{})
		silent = 0
	}
	time.AfterFunc(mostSilent-max(silent, 0), p.listen)
}

// isStalled reports whether an error of a durable policy says that the store may work later: see [Durable].
func isStalled(err error) bool {
	var s interface{ Stalled() bool }
	return errors.As(err, &s) && s.Stalled()
}

// stalls returns the stall that an error of a durable policy begins or belongs to; nil if it does neither.
func (p *Pool) stalls(err error) *stall {
	if err == nil || !isStalled(err) {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stall.Load()
	if s == nil && !p.over {
		s = &stall{err: fmt.Errorf("%w: %w", ErrStalled, err), over: make(chan struct{}), wait: firstTry}
		s.timer = time.AfterFunc(s.wait, p.tryStore)
		p.stall.Store(s)
		p.stalled = s.err
		p.announce.tell(Note{Kind: PoolStalled, At: p.d.Now(), Err: s.err})
	}
	return s
}

// tryStore tries whether the store works again.
func (p *Pool) tryStore() {
	err := p.kept.d.Wait(p.kept.d.End())
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stall.Load()
	switch {
	case s == nil: // the pool has ended
	case err != nil && isStalled(err):
		s.wait = min(2*s.wait, mostWait)
		s.timer.Reset(s.wait)
	case err != nil:
		p.endStall(s)
		p.fail(err)
		p.giveUpAll(err)
	default:
		p.endStall(s)
		p.announce.tell(Note{Kind: PoolMended, At: p.d.Now()})
		p.startCalls()
		p.settle(nil)
	}
}

// endStall lets those go on that wait.
func (p *Pool) endStall(s *stall) {
	s.timer.Stop()
	p.stall.Store(nil)
	close(s.over)
}

// commit returns when what was reported and decided before a position is durable. While the store fails, it waits until it works
// again, or ctx or that of Close has ended. The lock is not held.
func (p *Pool) commit(ctx context.Context, pos int64) error {
	if pos <= p.durable.Load() {
		return nil
	}
	return p.persist(ctx, ctx, p.wait(pos))
}

// commitNow is commit for who has no ctx: it does not wait for a store that fails.
func (p *Pool) commitNow(pos int64) error {
	if pos <= p.durable.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), mostSilent)
	defer cancel()
	_, err := p.askStore(ctx, p.wait(pos))
	return err
}

// wait returns what waits until the durable policy has kept what is before a position.
func (p *Pool) wait(pos int64) func() error {
	return func() error {
		err := p.kept.d.Wait(pos)
		for at := p.durable.Load(); err == nil && at < pos && !p.durable.CompareAndSwap(at, pos); at = p.durable.Load() {
		}
		return err
	}
}

// mended reports whether what a task of the pool hands in was refused because the store failed, and the store works again by now: the
// task waits for it, since its attempt is to go on. It reports false when ctx ends first.
func (p *Pool) mended(ctx context.Context, refused error) bool {
	if refused == nil || !errors.Is(refused, ErrStalled) {
		return false
	}
	c, _ := ctx.Value(contextKey{}).(*taskContext)
	return c != nil && c.h.pool == p && p.persist(ctx, ctx, func() error { return nil }) == nil
}

// persist is commit for a call of the durable policy, and for a second ctx, that of the call.
func (p *Pool) persist(ctx, asking context.Context, call func() error) error {
	for {
		s, err := p.askStore(asking, call)
		if s == nil {
			return err
		}
		select {
		case <-s.over:
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", s.err, context.Cause(ctx))
		case <-p.leaving.Done():
			return s.err
		}
	}
}

// askStore calls the durable policy, if there is one and its store is not known to fail. It returns the stall that prevents it, or that the
// call has begun, and its error.
func (p *Pool) askStore(ctx context.Context, call func() error) (*stall, error) {
	if p.kept.d == nil {
		return nil, nil
	}
	s := p.stall.Load()
	if s == nil {
		err := p.ask(ctx, call)
		if errors.Is(err, ErrStalled) { // ctx has ended
			return nil, err
		}
		if s = p.stalls(err); s == nil {
			return nil, p.checked(err)
		}
	}
	return s, s.err
}

// trouble returns why the pool does not do what it should, nil if it does. The lock is held.
func (p *Pool) trouble() error {
	switch s := p.stall.Load(); {
	case p.broken != nil:
		return p.broken
	case s != nil:
		return s.err
	case p.standby != nil:
		return p.standby.err
	}
	return nil
}
