package door

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/internal/heap"
	"github.com/sojourn-sched/sojourn/live"
)

// A Door lets so many requests at a time into a handler. Its methods may be called by several goroutines.
type Door struct {
	o    Options
	pool *live.Pool
	own  bool // NewFair has made the pool

	halfLife time.Duration // of debts, in the policy of NewFair; 0 if it is not known

	reading atomic.Int64 // bodies

	mu       sync.Mutex // held before the lock of the pool
	inFlight int
	closed   bool
	empty    chan struct{} // closed when the door is closed and nobody is here
	line
}

const halfLife = 20 * time.Second

// NewFair returns a door that lets in inFlight requests at a time, fair between tenants by the time that they are in the handler, and
// between the sessions of a tenant. It has the order of package fair, with a half-life of 20 s: what a tenant has had beyond the others
// counts half after 20 s without requests.
func NewFair(inFlight int, o Options) (*Door, error) {
	if inFlight < 1 || inFlight > sojourn.MaxSlots {
		return nil, fmt.Errorf("door: InFlight is %d: want 1 to %d", inFlight, sojourn.MaxSlots)
	}
	policy, err := fair.New(fair.Options{HalfLife: halfLife})
	if err != nil {
		return nil, err
	}
	pool, err := live.New(policy, live.Options{Slots: inFlight})
	if err != nil {
		return nil, err
	}
	d, err := New(pool, o)
	if err != nil {
		return nil, errors.Join(err, pool.Close(context.Background()))
	}
	d.own, d.halfLife = true, halfLife
	return d, nil
}

// New returns a door over the slots of class 0 of a pool, which others may use as well. The tenant of a request is the
// pool of its job, and its session a pool below. It is an error if there is no such slot, or if the policy of the pool is
// durable, as in a journal: requests do not survive the process. An observer of the pool must not call the door, as it must not call the pool.
func New(p *live.Pool, o Options) (*Door, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, errors.New("door: no pool")
	}
	over, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := p.Enter(over, live.Job{}); !errors.Is(err, context.Canceled) {
		return nil, err // it says what kind of pool it is
	}
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 10_000)
	o.MaxTenants = cmp.Or(o.MaxTenants, 10_000)
	o.Buffer = cmp.Or(o.Buffer, 64<<10)
	d := &Door{o: o, pool: p, empty: make(chan struct{})}
	d.tenants, d.paused = map[string]*tenant{}, map[string]bool{}
	d.largest = heap.New(func(a, b size) bool { return a.here > b.here || a.here == b.here && a.seq < b.seq }, nil)
	d.least = heap.New(func(a, b turn) bool { return a.tag < b.tag || a.tag == b.tag && a.id < b.id }, nil)
	for _, s := range p.Status().Slots {
		if s.Slot.Class == 0 && !s.Leaving {
			d.inFlight++
		}
	}
	if d.inFlight == 0 {
		return nil, errors.New("door: a pool without slots of class 0")
	}
	return d, nil
}

// A Request is what a door knows of a request. The zero Request is valid.
type Request struct {
	Tenant, Session  string
	Estimate, Within time.Duration // see Options
}

// A Pass is a request that was admitted.
type Pass struct {
	door    *Door
	wait    waitContext
	t       *tenant
	permit  *live.Permit // nil if it has the place of another one
	arrived time.Time

	// Guarded by the lock of the door.
	state state
	since time.Time // when it was admitted
	cost  uint64

	guess  float64 // what it was charged then, in expect.go
	priced bool    // in the unit of costs
}

type state uint8

const (
	waits state = iota
	runs
	gone
)

// A passKey asks for the pass of a door, or of the last one before the handler if that is nil.
type passKey struct{ door *Door }

// A waitContext is the context of Enter, and ends besides when the door refuses the request. What comes from it knows the pass. Most requests need
// not wait, or are not refused while they do: what makes the context end by itself is made when it is asked for.
type waitContext struct {
	context.Context
	p *Pass

	mu     sync.Mutex
	inner  context.Context // that of Enter, until somebody waits for the end of c while the request may be refused
	cancel context.CancelCauseFunc
	over   bool // the request is not refused any more
}

// ends makes the context that can end by itself.
func (c *waitContext) ends() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel == nil && !c.over {
		c.inner, c.cancel = context.WithCancelCause(c.inner)
	}
	return c.inner
}

// end ends the context of a request that is refused while it waits.
func (c *waitContext) end(cause error) {
	c.ends()
	c.cancel(cause)
}

// settle says that the request is not refused any more. When it is not here any more, what has been made ends.
func (c *waitContext) settle(here bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.over = true; !here && c.cancel != nil {
		c.cancel(nil)
	}
}

// now returns the context that says whether c has ended.
func (c *waitContext) now() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inner
}

// Done implements [context.Context].
func (c *waitContext) Done() <-chan struct{} { return c.ends().Done() }

// Err implements [context.Context].
func (c *waitContext) Err() error { return c.now().Err() }

// Value implements [context.Context].
func (c *waitContext) Value(key any) any {
	if k, ok := key.(passKey); ok && (k.door == nil || k.door == c.p.door) {
		return c.p
	}
	return c.now().Value(key)
}

// Enter waits until the request is admitted. The caller must call Leave then, deferred, and work with the context of [Pass.Context]. If the
// request is not admitted, the error is a [*Refusal], or the cause of ctx if that ends first: the request is then never admitted
// (TestGoneWhileWaiting). If ctx is that of a request that is in the handler, Enter returns at once: there is no second place to wait for, and Leave
// of the second pass does nothing (TestEnterInside).
func (d *Door) Enter(ctx context.Context, q Request) (*Pass, error) {
	if ctx.Err() == nil && d.inside(ctx) {
		now := time.Now()
		return &Pass{door: d, wait: waitContext{Context: ctx}, arrived: now, since: now, state: gone}, nil
	}
	return d.enter(ctx, &comer{}, q)
}

func (d *Door) enter(ctx context.Context, c *comer, q Request) (*Pass, error) {
	if q.Estimate < 0 || q.Within < 0 {
		d.mu.Lock()
		d.refused++
		d.mu.Unlock()
		return nil, &Refusal{Status: 500, Why: ErrRequest, Cause: fmt.Errorf("estimate %v, within %v: want none that is negative", q.Estimate, q.Within)}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	name := poolName(q.Tenant, d.o.Paths)
	p := &Pass{door: d, arrived: time.Now()}
	p.wait.Context, p.wait.inner, p.wait.p = ctx, ctx, p
	if err := d.arrive(p, c, name); err != nil {
		return nil, err
	}
	if d.o.MaxWait > 0 {
		late := time.AfterFunc(d.o.MaxWait, func() { d.late(p) })
		defer late.Stop()
	}
	j := live.Job{Pool: p.t.name, Deadline: q.Within}
	if q.Session != "" {
		j.Pool += session + element(q.Session)
	}
	if q.Estimate > 0 {
		j.Phases = []live.Phase{{Tasks: 1, Estimate: q.Estimate}}
	}
	var err error
	p.permit, err = d.pool.Enter(&p.wait, j)
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case err == nil && p.state == waits:
		d.admit(p)
		p.wait.settle(true)
		return p, nil
	case err == nil: // it was refused in this moment
		p.permit.Leave(nil)
		err = context.Cause(&p.wait)
	}
	t := p.t
	d.depart(p)
	p.wait.settle(false)
	err = refusal(err, &q)
	if r := (*Refusal)(nil); errors.As(err, &r) && r.Cause != nil { // the pool has refused it
		d.refused++
		if errors.Is(err, live.ErrFull) {
			r.After = max(seconds(d.soon(t, time.Now())), time.Second)
		}
	}
	return nil, err
}

// refusal returns the error of Enter for one of the pool.
func refusal(err error, q *Request) error {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return r
	}
	var refused *sojourn.EventError
	offer, rejected := live.Offer(err)
	switch {
	case rejected:
		return &Refusal{Status: 429, After: max(offer-q.Within, 1), Why: ErrDeadline, Cause: err}
	case errors.As(err, new(*sojourn.RejectedError)):
		return &Refusal{Status: 429, Why: ErrDeadline, Cause: err}
	case errors.Is(err, live.ErrClosed), errors.Is(err, live.ErrSuspended), errors.Is(err, live.ErrNoSlots):
		return &Refusal{Status: 503, Why: ErrClosed, Cause: err}
	case errors.Is(err, live.ErrFull):
		return &Refusal{Status: 503, Why: ErrFull, Cause: err}
	case errors.As(err, &refused):
		return &Refusal{Status: 500, Why: ErrRequest, Cause: err}
	}
	return err
}

// Context returns the context for the work, which comes from that of Enter. It ends when the client has gone, when the policy wants the
// place back, and at the latest with Leave.
func (p *Pass) Context() context.Context {
	if p.permit == nil { // a second one inside: see Enter
		return p.wait.Context
	}
	return p.permit.Context()
}

// Leave gives the place back. To leave again does nothing. What the request has used is charged, whatever came of it
// (TestPanicsAreCharged).
func (p *Pass) Leave() {
	d := p.door
	d.mu.Lock()
	first := p.state == runs
	if first {
		d.depart(p)
	}
	d.mu.Unlock()
	if !first {
		return
	}
	p.permit.Leave(nil)
	p.wait.settle(false)
}

// maxCost is the most that a request can have cost: beyond it a mean would not be exact.
const maxCost = 1 << 53

// Charge says what the request has cost so far, in a unit that all requests have in common, such as tokens: see [Charge].
func (p *Pass) Charge(cost uint64) {
	p.door.mu.Lock()
	defer p.door.mu.Unlock()
	if p.state == runs {
		p.cost = min(cost, maxCost)
	}
}

// Waited returns how long the request has waited.
func (p *Pass) Waited() time.Duration { return p.since.Sub(p.arrived) }

// passOf returns the pass that a context comes from, as of a door, nil if there is none.
func passOf(ctx context.Context, d *Door) *Pass {
	p, _ := ctx.Value(passKey{d}).(*Pass)
	return p
}

// inside reports whether a context comes from a request that is in the handler.
func (d *Door) inside(ctx context.Context) bool {
	p := passOf(ctx, d)
	if p == nil {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return p.state == runs
}

// Charge says what the request of ctx has cost so far, in a unit that all requests have in common. It may be called while a
// response is streamed; the last call before the request leaves counts. Until three requests have called it, costs are times in the handler. A request
// that does not, or says 0, where others do, is charged what such a time has cost of late (TestChargeOfFew): say 1 for what is free.
// A cost above 2^53 counts as 2^53, and a wrong one is paid by the tenant that said so, and by no other (TestWrongCharge, TestWrongChargeBeforeOthersCome). It does nothing if ctx comes from no request that a door has admitted (TestCharge).
func Charge(ctx context.Context, cost uint64) {
	if p := passOf(ctx, nil); p != nil {
		p.Charge(cost)
	}
}

// Waited returns how long the request of ctx has waited before the door, for logs and the header Server-Timing. It is 0 if ctx
// comes from no request that a door has admitted.
func Waited(ctx context.Context) time.Duration {
	if p := passOf(ctx, nil); p != nil {
		return p.Waited()
	}
	return 0
}
