package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

// A standby is what a pool keeps while another process has the jobs: their handles, so that it has little to do when it takes over.
type standby struct {
	follow func() error // of the policy
	err    error        // of Pool.Err
	told   string       // what the observer was told of it, and when
	at     time.Time
	clock  *clock // nil: the owner's is used
	timer  *time.Timer
	acc    *account.Account // from which the handles were made
	warm   []warmed         // by ID
	seen   sojourn.JobID    // jobs up to this one have a handle, or have ended
}

const (
	followEvery = 20 * time.Millisecond // a standby looks whether the other process is there
	tellEvery   = time.Second           // at most, an observer is told that a standby waits for something else
)

// A clock tells the time of a durable policy. One of the machine that is set later does not hold jobs up, or let them go.
type clock struct {
	first sojourn.Time
	start time.Time
}

func (c *clock) set(d durable)     { c.start = time.Now(); c.first = d.Time(c.start) }
func (c *clock) now() sojourn.Time { return c.first.Add(time.Since(c.start)) }

// newStandby returns a standby if another process has the jobs of a policy; otherwise nil. It gives o a clock.
func newStandby(d durable, o *Options) (s *standby, err error) {
	if f, ok := d.(interface{ Follow() error }); ok {
		if err = f.Follow(); isStandby(err) {
			s = &standby{follow: f.Follow, err: fmt.Errorf("%w: %w", ErrStandby, err)}
		} else if err != nil {
			return nil, err
		}
	}
	if o.Now == nil {
		c := new(clock)
		c.set(d)
		o.Now = c.now
		if s != nil {
			s.clock = c
		}
	}
	return s, nil
}

// isStandby reports whether an error of a durable policy says that another process has it.
func isStandby(err error) bool {
	var s interface{ Standby() bool }
	return errors.As(err, &s) && s.Standby()
}

// standBy begins to follow.
func (p *Pool) standBy(s *standby) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.standby, p.follows = s, true
	s.prepare(p)
	s.timer = time.AfterFunc(followEvery, p.followLeader)
	s.tell(p)
}

// tell tells the observer why the pool waits, if that is news.
func (s *standby) tell(p *Pool) {
	if text := s.err.Error(); text != s.told && (s.told == "" || time.Since(s.at) >= tellEvery) {
		s.told, s.at = text, time.Now()
		p.announce.tell(Note{Kind: PoolStandby, At: p.d.Now(), Err: s.err})
	}
}

// followLeader looks what the other process has done, and takes its place if it has gone. It may wait for a network, or read much,
// while the pool is asked; nobody asks the policy meanwhile.
func (p *Pool) followLeader() {
	p.mu.Lock()
	s := p.standby
	p.mu.Unlock()
	if s == nil {
		return
	}
	err := s.follow()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.standby == nil { // the pool was closed meanwhile
		return
	}
	if isStandby(err) {
		s.err = fmt.Errorf("%w: %w", ErrStandby, err)
		s.prepare(p)
		s.tell(p)
		s.timer.Reset(followEvery)
		return
	}
	p.follows = false
	if err == nil {
		if err = p.leadNow(s); err == nil {
			p.standby = nil
			p.watchPolicy()
			p.settle(nil)
			return
		}
	}
	for _, x := range p.slots {
		if x != nil {
			p.forgetSlot(x) // the policy may never have been told of it
		}
	}
	p.standby = nil
	p.fail(err)
	p.giveUpAll(err)
}

// watchPolicy lets the pool learn that its durable policy takes no more, though it tells it nothing: another process may have begun with the jobs,
// whose attempts here are to end.
func (p *Pool) watchPolicy() {
	if d, ok := p.kept.d.(interface {
		AfterFailure(f func(error)) (stop func() bool)
	}); ok {
		stop := d.AfterFailure(func(err error) {
			_ = p.checked(err)
			p.mu.Lock()
			defer p.mu.Unlock()
			p.settle(nil)
		})
		context.AfterFunc(p.leaving, func() { stop() })
	}
}

// leadNow goes on with the jobs, as New does.
func (p *Pool) leadNow(s *standby) error {
	if s.clock != nil {
		s.clock.set(p.kept.d)
	}
	left, err := clearOut(p.kept.d, max(p.opt.Now(), p.d.Now()))
	if err == nil {
		err = takeOver(p.policy, p.d, true)
	}
	if err != nil {
		return err
	}
	p.announce.tell(Note{Kind: PoolStandby, At: p.d.Now()})
	if err := p.resumeLocked(left); err != nil {
		return err
	}
	for _, x := range p.slots {
		if err := p.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: x.Slot}); err != nil {
			return err
		}
	}
	return nil
}

// leaveStandby ends the waiting for the other process. The lock is held.
func (p *Pool) leaveStandby() {
	if p.standby == nil {
		return
	}
	p.standby.timer.Stop()
	p.timer.Stop()
	for _, x := range p.slots {
		if x != nil {
			p.forgetSlot(x)
		}
	}
	p.standby, p.over = nil, true
}

// A warmed handle is that of a job which was live when it was made.
type warmed struct {
	h     *Handle
	spec  *sojourn.Job // from which it was made
	until sojourn.Time
}

// prepare makes handles of the jobs that have arrived since, and forgets those that have ended when they are many.
func (s *standby) prepare(p *Pool) {
	acc, last := p.kept.d.Account(), p.kept.d.MaxJob()
	if acc != s.acc { // it was read anew
		s.acc, s.warm, s.seen = acc, nil, 0
	}
	add := func(job account.Job) {
		if h, until, err := newResumed(p, job); err == nil { // otherwise it is an error when this process leads
			s.warm = append(s.warm, warmed{h, job.Spec, until})
		}
	}
	if last-s.seen > sojourn.JobID(4*acc.Live()+1000) {
		for _, job := range sortedJobs(acc) {
			if job.Spec.ID > s.seen {
				add(job)
			}
		}
	} else {
		for id := s.seen + 1; id <= last; id++ {
			if job, live := acc.Job(id); live {
				add(job)
			}
		}
	}
	s.seen = last
	if len(s.warm) > 2*acc.Live()+1000 {
		s.warm = slices.DeleteFunc(s.warm, func(w warmed) bool {
			_, live := acc.Job(w.h.spec.ID)
			return !live
		})
	}
}

// take returns the handle of a job that goes on, and when it is given up; 0: never. It is called for jobs in the order of their IDs.
func (s *standby) take(p *Pool, job account.Job) (*Handle, sojourn.Time, error) {
	if s == nil {
		return newResumed(p, job)
	}
	for len(s.warm) > 0 && s.warm[0].h.spec.ID < job.Spec.ID {
		s.warm = s.warm[1:]
	}
	if len(s.warm) == 0 || s.warm[0].spec != job.Spec { // it has arrived just now, or was revised
		return newResumed(p, job)
	}
	w := s.warm[0]
	w.h.count(p.kept.d.Account(), job)
	return w.h, w.until, nil
}
