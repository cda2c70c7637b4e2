package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// A Pool runs jobs of Go functions. Its methods may be called by several goroutines, also from
// tasks, except that a task must not wait for what needs its own slot.
type Pool struct {
	opt    Options
	policy sojourn.Policy

	// mu guards all that follows, the policy, and the fields of handles that say so. There is no
	// loop: whoever makes something happen takes the lock, reports it and starts what the policy
	// then assigns. Whoever ends an attempt goes on with the next one for its slot.
	mu        sync.Mutex
	d         *driver.Driver
	slots     []*slot // by ID; nil: no such slot
	spare     []sojourn.SlotID
	jobs      table
	timer     *time.Timer
	later     *time.Timer  // nil: New found no jobs
	armed     sojourn.Time // when the timer goes off; MaxInt64: never
	rng       *rand.Rand
	closed    bool
	over      bool // Close has let go of the policy
	kept      keeper
	broken    error                 // why a durable policy can be told nothing more
	stall     atomic.Pointer[stall] // written with the lock; nil: the store works
	stalled   error                 // of the latest stall
	synced    rounds                // of Wait of a durable policy
	written   rounds                // of Write
	leaving   context.Context       // ends when nobody waits for the store any more
	leave     context.CancelFunc
	announce  announcer
	classes   classes
	waiting   int           // calls in which tasks wait for jobs of the pool
	suspended bool          // no attempt is started, and jobs go on in another pool
	drained   chan struct{} // closed when the pool is closed and no job is left
	ignored   []*attempt
	suspects  suspects
	standby   *standby // unless nil: another process has the jobs
	follows   bool     // the policy follows another process without a lock, or did so until the pool was closed
	record    record
	trial     trial
	busy      sync.WaitGroup // goroutines that run attempts which are not given up
}

// A slot runs one attempt at a time, on a goroutine that is there as long as there are attempts.
type slot struct {
	sojourn.Slot
	a       *attempt // nil: idle
	spare   *attempt // that has ended, and nobody else knows; nil if there is none
	leaving bool
}

// marker is a node that no pool has. It is down in a policy that a pool uses.
const marker sojourn.NodeID = math.MaxUint32

// New returns a pool that runs jobs under a policy. The policy belongs to the pool until Close has
// returned. It is an error, which wraps [ErrInUse], if the policy is not free: another pool has it, it was restored from a
// snapshot of one that a pool had, it knows jobs or slots, or its time is ahead of Options.Now.
//
// If the policy is durable, as a journal.Journal is, the pool goes on with its jobs: see the package comment. If another process has them, the pool is a standby: see
// [ErrStandby]. A durable policy that a guard such as [sojourn.Locked] hides is an error.
func New(p sojourn.Policy, o Options) (*Pool, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	j, isDurable := sojourn.As[durable](p)
	var left leftovers
	var waits *standby
	if isDurable {
		var err error
		if waits, err = newStandby(j, &o); err != nil {
			return nil, err
		}
		if waits == nil {
			if left, err = clearOut(j, o.Now()); err != nil {
				return nil, err
			}
		}
	}
	if !isDurable {
		for range sojourn.All[durable](p) {
			return nil, ErrHidden
		}
	}
	o = o.withDefaults()
	o.Drop &^= sojourn.Supports(p)
	d, err := driver.New(p, driver.Options{Now: o.Now, Preempt: o.Preempt, Drop: o.Drop})
	if err != nil {
		return nil, err
	}
	if waits == nil {
		if err := takeOver(p, d, isDurable); err != nil {
			return nil, err
		}
	}
	q := &Pool{opt: o, policy: p, d: d, armed: math.MaxInt64, drained: make(chan struct{}), rng: rand.New(rand.NewPCG(o.Seed, 0)), announce: announcer{to: o.Observer, d: d}}
	q.leaving, q.leave = context.WithCancel(context.Background())
	q.record = newRecord(q, &o, isDurable)
	q.watched()
	q.timer = time.AfterFunc(driver.Never, func() { // the policy wants to be asked again, or wanted to be
		q.mu.Lock()
		defer q.mu.Unlock()
		q.armed = math.MaxInt64
		q.settle(nil)
	})
	if isDurable {
		q.kept.d = j
		q.listen(j, &q.synced, j.Wait)
		q.listen(j, &q.written, func(int64) error { return j.Write() })
		if waits != nil {
			q.standBy(waits)
		} else if err := q.resume(left); err != nil {
			return nil, err
		} else {
			q.watchPolicy()
		}
	}
	if _, err := q.AddSlots(o.Slots, sojourn.Slot{}); err != nil {
		stop, cancel := context.WithCancel(context.Background())
		cancel()
		_ = q.Suspend(stop) // the jobs that go on do so in the next pool
		return nil, err
	}
	return q, nil
}

// AddSlots adds slots and returns their IDs. They have the node, rack and class of like, whose ID
// does not matter. IDs of slots that have left are used again.
func (p *Pool) AddSlots(n int, like sojourn.Slot) (ids []sojourn.SlotID, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, ErrClosed
	}
	ids, err = p.addSlots(n, like)
	p.settle(nil)
	return ids, err
}

func (p *Pool) addSlots(n int, like sojourn.Slot) (ids []sojourn.SlotID, err error) {
	for range n {
		like.ID = sojourn.SlotID(len(p.slots))
		if k := len(p.spare); k > 0 {
			like.ID = p.spare[k-1]
		}
		if p.standby == nil { // otherwise it is told when it leads
			if err := p.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: like}); err != nil {
				return ids, err
			}
		}
		p.classes.add(like.Class)
		if int(like.ID) == len(p.slots) {
			p.slots = append(p.slots, nil)
		} else {
			p.spare = p.spare[:len(p.spare)-1]
		}
		p.slots[like.ID] = &slot{Slot: like}
		ids = append(ids, like.ID)
	}
	return ids, nil
}

// SetSlots gives the pool n slots of the class of like. Those that are added are as [Pool.AddSlots] has them. Idle ones that are too many
// are taken away at once, and busy ones as they become idle, whichever that is first: until then no other task starts on one
// (TestSetSlots). Slots that leave after Drain or Remove are not counted; later ones of AddSlots, Drain and Remove add to n or take from
// it, whichever slots are busy (TestSetSlotsThenDrain).
func (p *Pool) SetSlots(n int, like sojourn.Slot) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case n < 0 || n > sojourn.MaxSlots:
		return fmt.Errorf("live: SetSlots of %d: want 0 to %d", n, sojourn.MaxSlots)
	case p.closed:
		return ErrClosed
	case p.standby != nil:
		return p.standby.err
	}
	defer p.settle(nil)
	more := n
	var idle []*slot
	for _, s := range p.slots {
		if s != nil && s.Class == like.Class && !s.leaving {
			if more--; s.a == nil {
				idle = append(idle, s)
			}
		}
	}
	if more > 0 {
		p.classes.surplus(like.Class, 0)
		_, err := p.addSlots(more, like)
		return err
	}
	for k := len(idle) - 1; k >= 0 && more < 0; k-- {
		if err := p.remove(idle[k]); err != nil {
			return err
		}
		p.forgetSlot(idle[k])
		more++
	}
	p.classes.surplus(like.Class, -more)
	p.endStranded()
	return nil
}

// remove tells the policy that a slot leaves.
func (p *Pool) remove(s *slot) error {
	err := p.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: s.ID}})
	if err == nil {
		s.leaving = true
	}
	return err
}

// Drain takes a slot away as soon as it is idle. It returns an error if there is no such slot, or it
// is leaving already.
func (p *Pool) Drain(id sojourn.SlotID) error { return p.takeAway(id, false) }

// Remove takes a slot away. If an attempt runs there, its context ends, and the task runs again on
// another slot. It returns an error if there is no such slot, or it is leaving already.
func (p *Pool) Remove(id sojourn.SlotID) error { return p.takeAway(id, true) }

func (p *Pool) takeAway(id sojourn.SlotID, now bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return ErrClosed
	}
	if p.standby != nil {
		return p.standby.err
	}
	if err := p.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: id}}); err != nil {
		p.settle(nil)
		return err
	}
	s := p.slots[id]
	s.leaving = true
	p.boundSurplus(s.Class)
	switch {
	case s.a == nil:
		p.forgetSlot(s)
	case now:
		p.kill(s.a, ErrSlotRemoved)
	}
	p.endStranded()
	p.settle(nil)
	return nil
}

// boundSurplus sees to it that no more busy slots of a class are to leave than there are: idle ones leave instead.
func (p *Pool) boundSurplus(class sojourn.Class) {
	rest := p.classes.tooMany[class]
	if rest == 0 {
		return
	}
	var idle []*slot
	for _, s := range p.slots {
		switch {
		case s == nil || s.Class != class || s.leaving:
		case s.a == nil:
			idle = append(idle, s)
		default:
			rest--
		}
	}
	if rest <= 0 {
		return
	}
	for _, s := range idle[max(0, len(idle)-rest):] {
		if p.remove(s) == nil {
			p.forgetSlot(s)
		}
	}
	p.classes.surplus(class, p.classes.tooMany[class]-rest)
}

// forgetSlot forgets an idle slot that leaves.
func (p *Pool) forgetSlot(s *slot) {
	p.slots[s.ID] = nil
	p.spare = append(p.spare, s.ID)
	p.classes.remove(s.Class)
}

// Submit hands in a job. If the policy refuses it, the error is the policy's: an admission policy
// tells why, and [Offer] finds its counter-offer. Submit returns an error, and no job, also if the
// job is invalid, ctx has ended, or the pool is closed.
//
// The contexts of all tasks come from ctx. If ctx ends, the job is cancelled. Under a durable policy neither holds: the
// job is durable when Submit returns, and neither the values of ctx nor its end reach it.
//
// TestContextOfSubmit, TestDurableContext
func (p *Pool) Submit(ctx context.Context, j Job) (*Handle, error) {
	if ctx == nil {
		return nil, errors.New("live: Submit without a context")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	h, err := newHandle(ctx, p, &j)
	if err != nil {
		return nil, err
	}
	same, pos, err := p.submit(ctx, h, &j)
	for p.mended(ctx, err) {
		same, pos, err = p.submit(ctx, h, &j)
	}
	if err == nil {
		err = p.commit(ctx, pos)
	}
	switch {
	case err != nil:
		return nil, err
	case same != nil:
		return same, fmt.Errorf("%w: job %d", ErrDuplicate, same.spec.ID)
	}
	return h, nil
}

// submit hands in a job, and returns what has to be durable before it is acknowledged. If there is a job with the same key, it
// returns that one.
func (p *Pool) submit(ctx context.Context, h *Handle, j *Job) (same *Handle, pos int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.trouble() != nil:
		return nil, 0, p.trouble()
	case p.closed:
		return nil, 0, ErrClosed
	}
	if j.replaces != 0 && (p.record.jobs[j.replaces] == nil || p.record.jobs[j.replaces].again == nil) {
		return nil, 0, fmt.Errorf("live: job %d was submitted anew already", j.replaces)
	}
	if j.Key != "" {
		if id, ok := p.record.keys[j.Key]; ok && (id != j.replaces || p.jobs.get(id) != nil) {
			p.forgetOld()
			if same := p.find(id); same != nil {
				return same, p.kept.position(), nil
			}
		}
	}
	h.spec.ID = p.jobs.last + 1
	h.at = p.d.Now()
	if p.opt.MaxWaiting > 0 && p.jobs.waiting >= p.opt.MaxWaiting {
		p.announce.job(JobRefused, h, ErrFull)
		return nil, 0, ErrFull
	}
	if j.Deadline > 0 {
		h.spec.Deadline = h.at.Add(j.Deadline)
	}
	if j.Release > 0 {
		h.spec.Release = h.at.Add(j.Release)
	}
	h.spec = *h.spec.Without(p.opt.Drop)
	order, err := p.kept.order(h, j)
	if err != nil {
		return nil, 0, err
	}
	if order != nil { // the job is about to arrive
		if err := p.kept.d.Attach(h.spec.ID, order); isStalled(err) {
			p.beginStall(err) // there is room when the store works again
			return nil, 0, p.trouble()
		} else if err != nil {
			p.fail(err)
			p.settle(nil)
			return nil, 0, err
		}
	}
	if err := p.arrive(h, j.Phases); err != nil {
		if p.broken == nil {
			p.announce.job(JobRefused, h, err)
		}
		p.settle(nil)
		return nil, 0, err
	}
	p.jobs.add(h)
	if j.Key != "" {
		p.record.keys[j.Key] = h.spec.ID
	}
	if e := p.record.jobs[j.replaces]; e != nil {
		p.replaced(e)
	}
	p.announce.job(JobSubmitted, h, nil)
	p.noteClasses(h)
	if p.kept.d == nil && h.permit == nil && ctx.Done() != nil {
		h.extend().stop = context.AfterFunc(ctx, func() { p.cancel(h, context.Cause(ctx)) })
	}
	if j.Timeout > 0 {
		h.extend().timeout = time.AfterFunc(j.Timeout, func() { p.cancel(h, ErrJobTimeout) })
	}
	p.settle(nil)
	return nil, p.kept.position(), nil
}

// arrive reports a job, and binds the results of its phases if the policy accepts it.
func (p *Pool) arrive(h *Handle, phases []Phase) (err error) {
	reserved := 0
	for i := range phases {
		if r := phases[i].results; r != nil && err == nil {
			if err = r.reserve(h, phases[i].Tasks); err != nil {
				err = fmt.Errorf("live: phase %d: %w", i, err)
				break
			}
		}
		reserved++
	}
	if err == nil {
		err = p.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &h.spec})
	}
	for i := range phases[:reserved] {
		switch r := phases[i].results; {
		case r == nil:
		case err == nil:
			r.bind()
		default:
			r.free()
		}
	}
	return err
}

// cancel ends a job, if it has not ended.
func (p *Pool) cancel(h *Handle, why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.giveUp(h, why)
		p.settle(nil)
	}
}

// giveUp ends a job, if it has not ended. The caller settles.
func (p *Pool) giveUp(h *Handle, why error) {
	if h.ended || h.err != nil {
		return
	}
	p.recordEnd(h, why)
	h.err = why
	p.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: h.spec.ID}})
	p.suspects.drop(h)
	held := h.more.get().held
	for task, timer := range held { //sojourn:unordered all are stopped
		timer.Stop()
		delete(held, task)
	}
	if h.running == 0 {
		p.finish(h)
		return
	}
	for _, s := range p.slots {
		if s != nil && s.a != nil && s.a.h == h {
			p.kill(s.a, why)
		}
	}
}

// finish lets go of a job of which nothing is left.
func (p *Pool) finish(h *Handle) {
	if h.err == nil {
		h.err = p.broken
	}
	h.ended, h.pos = true, p.kept.position()
	p.announce.job(JobEnded, h, h.err)
	if h.done != nil {
		close(h.done)
	}
	if h.permit != nil && h.first.h == nil {
		h.permit.call()
	}
	m := h.more.get()
	if m.stop != nil {
		m.stop()
	}
	if m.timeout != nil {
		m.timeout.Stop()
	}
	if h.more != nil && !errors.Is(h.err, ErrSuspended) {
		p.forget(h)
	}
	p.jobs.remove(h.spec.ID)
	p.recorded(h)
	p.checkDrained()
}

func (p *Pool) checkDrained() {
	if p.closed && p.jobs.live == 0 {
		select {
		case <-p.drained:
		default:
			close(p.drained)
		}
	}
}

// settle does what the policy wants now. If that is an attempt on the slot of an attempt that has
// just ended, settle returns it, and the goroutine of the old one goes on with it.
func (p *Pool) settle(old *attempt) (next *attempt) {
	if p.over || p.suspended || p.standby != nil {
		return nil
	}
	if p.broken != nil {
		p.giveUpAll(p.broken)
		return nil
	}
	if p.stall.Load() != nil {
		return nil
	}
	if next = p.try(old); p.trial.a != nil {
		return next
	}
	if p.broken != nil {
		p.giveUpAll(p.broken)
		return nil
	}
	var start time.Time
	if p.announce.to != nil {
		start = time.Now()
	}
	r := p.d.Settle()
	p.announce.decision(start)
	if r.Err != nil {
		p.fail(r.Err)
		p.giveUpAll(p.broken)
		return nil
	}
	pos := p.kept.position()
	for i := range r.Starts {
		if a := p.launch(r.Starts[i], pos, old); a != nil {
			next = a
		}
	}
	for i := range r.Kills {
		if a := p.slots[r.Kills[i].Slot].a; !a.pinned {
			p.kill(a, ErrPreempted)
		}
	}
	if r.Sleep != driver.Never {
		if at := p.d.Time().Add(r.Sleep); at < p.armed {
			p.armed = at
			p.timer.Reset(r.Sleep)
		}
	}
	return next
}

// launch starts an attempt. If it is on the slot of an attempt that has just ended, launch returns it instead, for the goroutine of
// the old one.
func (p *Pool) launch(as sojourn.Assignment, pos int64, old *attempt) (next *attempt) {
	h := p.jobs.get(as.Task.Job)
	if h == nil || int(as.Slot) >= len(p.slots) || p.slots[as.Slot] == nil {
		panic(fmt.Sprintf("live: the policy starts task %v on slot %d, and the pool does not have both: it is not this pool's alone", as.Task, as.Slot))
	}
	s := p.slots[as.Slot]
	a := s.spare
	if s.spare = nil; a == nil {
		a = new(attempt)
	}
	if h.first.h == nil {
		p.jobs.waiting--
	}
	*a = attempt{Assignment: as, h: h, ctx: h.newContext(a), since: p.d.Time(), pos: pos, shared: h.work(int(as.Task.Phase)).timeout > 0}
	p.announce.task(TaskStarted, a, nil)
	s.a = a
	h.running++
	if h.permit != nil {
		h.permit.grant(a)
		return nil
	}
	if old != nil && a.Slot == old.Slot {
		return a
	}
	p.busy.Add(1)
	go p.work(a)
	return nil
}
