package live

import (
	"errors"
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// takeOver makes a policy that of a pool, unless it is somebody else's.
func takeOver(p sojourn.Policy, d *driver.Driver, durable bool) error {
	err := d.Observe(sojourn.Event{Kind: sojourn.NodeDown, Slot: sojourn.Slot{Node: marker}})
	switch {
	case errors.Is(err, sojourn.ErrNodeState):
		return fmt.Errorf("%w: the policy: another pool has it, or had it when the snapshot was taken from which it was restored", ErrInUse)
	case errors.Is(err, sojourn.ErrTimeReversed):
		return fmt.Errorf("%w: the policy: it was used before, and its time is ahead of Options.Now; package journal lets jobs go on in another pool: %w", ErrInUse, err)
	case err != nil:
		return err
	case nobody(p):
		return errors.New("live: nobody decides: a wrapper has no policy inside")
	case durable:
		return nil
	}
	for id := range sojourn.Ranking(p) {
		err = fmt.Errorf("%w: the policy: it has job %d, which is not of this pool; package journal lets jobs go on in another pool", ErrInUse, id)
		break
	}
	for id := sojourn.SlotID(0); id < lookAt && err == nil; id++ {
		// No job has ID 0, so this is always refused, and those who watch the policy need not see it. That the slot is
		// not there comes first among the reasons.
		no := inside(p).Observe(sojourn.Event{Kind: sojourn.TaskAdopted, At: d.Time(), Slot: sojourn.Slot{ID: id}, Attempt: 1})
		if errors.Is(no, sojourn.ErrUnknownJob) {
			err = fmt.Errorf("%w: the policy: it has slot %d, which is not of this pool: %w", ErrInUse, id, sojourn.ErrDuplicateSlot)
		}
	}
	if err != nil {
		err = errors.Join(err, d.Observe(sojourn.Event{Kind: sojourn.NodeUp, Slot: sojourn.Slot{Node: marker}}))
	}
	return err
}

// lookAt is how many IDs of slots New looks at in a policy.
const lookAt = 1 << 10

// inside returns the policy inside of all that is wrapped around it.
func inside(p sojourn.Policy) sojourn.Policy {
	for {
		w, ok := p.(interface{ Unwrap() sojourn.Policy })
		if !ok || w.Unwrap() == nil {
			return p
		}
		p = w.Unwrap()
	}
}

// nobody reports whether there is no policy inside of all wrappers, so that nothing would ever start.
func nobody(p sojourn.Policy) bool {
	w, ok := inside(p).(interface{ Unwrap() sojourn.Policy })
	return ok && w.Unwrap() == nil
}

// must reports an event that cannot be wrong. Only the store of a durable policy can fail, and then nothing more is
// reported: the jobs go on in the next process.
func (p *Pool) must(ev sojourn.Event) {
	if p.broken != nil {
		return
	}
	if err := p.d.Observe(ev); err != nil {
		p.fail(err)
	}
}

// observe reports an event that the policy may refuse.
func (p *Pool) observe(ev sojourn.Event) error {
	if p.broken != nil {
		return p.broken
	}
	err := p.d.Observe(ev)
	if err != nil && p.kept.d != nil {
		if refused := (*sojourn.EventError)(nil); !errors.As(err, &refused) {
			p.fail(err)
		}
	}
	return err
}

// fail enters that the store of a durable policy has failed. The caller settles.
func (p *Pool) fail(err error) {
	if p.kept.d == nil {
		panic(err)
	}
	if p.broken == nil {
		p.broken = err
		p.announce.tell(Note{Kind: PoolBroken, At: p.d.Now(), Err: err})
		if d, ok := p.kept.d.(interface{ Abandon(error) }); ok {
			d.Abandon(err)
		}
	}
}

// Err returns why the pool is broken: the store of a durable policy has failed, or was closed. All jobs then end with this
// error, and the pool accepts no more. They go on when the cause is removed and another process, or another pool,
// opens the journal again. While the store is tried again, the error wraps [ErrStalled], and jobs wait; while another
// process has the jobs, [ErrStandby]. Err returns nil while the pool
// works, and of a pool that was closed in order.
//
// TestFullDisk, TestStall
func (p *Pool) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trouble()
}

// checked ends all jobs if the store of a durable policy has failed. The lock is not held.
func (p *Pool) checked(err error) error {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if !p.over && p.broken == nil {
			p.fail(err)
			p.giveUpAll(err)
		}
	}
	return err
}

// giveUpAll ends all jobs that have not ended. The caller settles, unless the policy can be told nothing more.
func (p *Pool) giveUpAll(why error) {
	for _, h := range p.jobs.all() {
		p.giveUp(h, why)
	}
}
