package live

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn/driver"
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

	mostSilent = 10          // seconds without an answer of the store, after which it counts as one that fails
	lastAnswer = time.Second // for which one is waited for when nobody needs it any more
)

// A silentError says that the store does not answer.
type silentError struct{}

func (silentError) Error() string {
	return fmt.Sprintf("live: it has not answered for %d s", mostSilent)
}

// Stalled returns true: it may answer later.
func (silentError) Stalled() bool { return true }

// Rounds are calls of the durable policy that wait for its store, each for all who came before it. They are made one after the other, in a goroutine
// that is there as long as somebody waits, since the store may never answer.
type rounds struct {
	end    func() int64          // of the durable policy
	call   func(pos int64) error // returns when the store has what is before a position
	kept   atomic.Int64          // a position: the store has what is before it
	second *time.Timer           // goes off while a call takes long, each second

	mu      sync.Mutex
	now     *round // nil: there is no goroutine
	next    *round // nil: nobody waits for it
	seconds int    // that it takes. A process that was stopped meanwhile has seen one
}

// A round is one call.
type round struct {
	pos  int64
	done chan struct{} // closed when it has returned
	err  error
}

// join returns the first round after which the store has what is before a position.
func (r *rounds) join(pos int64) *round {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now != nil && pos <= r.now.pos {
		return r.now
	}
	if r.next == nil {
		r.next = &round{done: make(chan struct{})}
	}
	x := r.next
	if r.now == nil {
		go r.run(r.begin())
	}
	return x
}

// begin makes the next round the one that is; nil if nobody waits for it. The lock is held.
func (r *rounds) begin() *round {
	r.now, r.next, r.seconds = r.next, nil, 0
	if r.now != nil {
		r.now.pos = r.end()
		r.second.Reset(time.Second)
	} else {
		r.second.Stop()
	}
	return r.now
}

// run makes the calls.
func (r *rounds) run(x *round) {
	for x != nil {
		if x.err = r.call(x.pos); x.err == nil {
			r.kept.Store(x.pos)
		}
		close(x.done)
		runtime.Gosched() // who has waited may want more at once, and shares the next round
		r.mu.Lock()
		x = r.begin()
		r.mu.Unlock()
	}
}

// listen prepares rounds.
func (p *Pool) listen(d durable, r *rounds, call func(pos int64) error) {
	r.end, r.call = d.End, call
	r.second = time.AfterFunc(driver.Never, func() {
		if r.isSilent() {
			p.stalls(silentError{})
		}
	})
	r.second.Stop()
}

// isSilent reports that the call takes too long, once. It is called each second.
func (r *rounds) isSilent() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		return false
	}
	r.seconds++
	if r.seconds < mostSilent {
		r.second.Reset(time.Second)
	}
	return r.seconds == mostSilent
}

// ask returns when the store has what is before a position, and its error. If ctx or that of Close ends first, it does not wait for long.
func (p *Pool) ask(ctx context.Context, r *rounds, pos int64) error {
	x := r.join(pos)
	select {
	case <-x.done:
		return x.err
	case <-ctx.Done():
	case <-p.leaving.Done():
		ctx = p.leaving
	}
	late := time.NewTimer(lastAnswer)
	defer late.Stop()
	select {
	case <-x.done:
		return x.err
	case <-late.C:
		return fmt.Errorf("%w: it does not answer: %w", ErrStalled, context.Cause(ctx))
	}
}

// isStalled reports whether an error of a durable policy says that the store may work later: see durable.
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
	return p.beginStall(err)
}

// beginStall begins a stall, unless there is one. The lock is held.
func (p *Pool) beginStall(err error) *stall {
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
	if pos <= p.synced.kept.Load() {
		return nil
	}
	return p.persist(ctx, ctx, &p.synced, pos)
}

// commitNow is commit for who has no ctx: it does not wait for a store that fails.
func (p *Pool) commitNow(pos int64) error {
	if pos <= p.synced.kept.Load() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), mostSilent*time.Second)
	defer cancel()
	_, err := p.askStore(ctx, &p.synced, pos)
	return err
}

// mended reports whether what a task of the pool hands in was refused because the store failed, and the store works again by now: the
// task waits for it, since its attempt is to go on. It reports false when ctx ends first.
func (p *Pool) mended(ctx context.Context, refused error) bool {
	if refused == nil || !errors.Is(refused, ErrStalled) {
		return false
	}
	c, _ := ctx.Value(contextKey{}).(*taskContext)
	if c == nil || c.h.pool != p {
		return false
	}
	s := p.stall.Load()
	return s == nil || p.outlast(ctx, s) == nil
}

// persist is commit for some rounds, and for a second ctx, that of the call.
func (p *Pool) persist(ctx, asking context.Context, r *rounds, pos int64) error {
	for {
		s, err := p.askStore(asking, r, pos)
		if s == nil {
			return err
		}
		if err := p.outlast(ctx, s); err != nil {
			return err
		}
	}
}

// outlast returns nil when a stall is over.
func (p *Pool) outlast(ctx context.Context, s *stall) error {
	select {
	case <-s.over:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", s.err, context.Cause(ctx))
	case <-p.leaving.Done():
		return s.err
	}
}

// askStore asks the store, if there is one and it is not known to fail. It returns the stall that prevents it, or that the
// call has begun, and its error.
func (p *Pool) askStore(ctx context.Context, r *rounds, pos int64) (*stall, error) {
	if p.kept.d == nil {
		return nil, nil
	}
	s := p.stall.Load()
	if s == nil {
		err := p.ask(ctx, r, pos)
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
