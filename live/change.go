package live

import (
	"maps"

	"github.com/sojourn-sched/sojourn"
)

// ChangePool changes how the jobs of a pool of the policy, those whose Job.Pool is its name, are treated from now on: its
// weight, its limits, and whether it is paused. What runs goes on. change is told how they are treated now, and says all about it:
//
//	err := p.ChangePool("etl", func(n *sojourn.Pool) { n.Paused = true })
//
// No other change comes between, so none is lost (TestChangesAtOnce). The pool is locked meanwhile: change must not call it, and must not
// wait. The zero sojourn.Pool is again what the policy was made with; change may leave Name as it is. The error wraps
// [sojourn.ErrInvalidPool], or [sojourn.ErrUnsupported] if the policy has no pools, as all but package fair, or cannot
// treat this one so, and is [ErrClosed] if the pool is closed; then nothing has changed. Under a durable policy, the change
// is durable when ChangePool returns (TestChangePool).
func (p *Pool) ChangePool(name string, change func(*sojourn.Pool)) error {
	pos, err := p.changePool(name, change)
	if err != nil {
		return err
	}
	return p.commitNow(pos)
}

// changePool is ChangePool, and returns what has to be durable before it is acknowledged.
func (p *Pool) changePool(name string, change func(*sojourn.Pool)) (pos int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || p.suspended {
		return 0, ErrClosed
	}
	if err := p.trouble(); err != nil {
		return 0, err
	}
	n, _ := p.settings(name)
	change(&n)
	n.Name, n.Min, n.Max = name, maps.Clone(n.Min), maps.Clone(n.Max)
	if err = p.observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &n}); err == nil {
		pos = p.kept.position()
		told := p.told(name)
		if told == nil { // the policy has pools, and does not say how it treats them
			told = &n
		}
		p.announce.changed(told)
	}
	p.settle(nil)
	return pos, err
}

// Settings returns how the jobs of a pool of the policy are treated now, whether or not there are any. It reports false if there
// can be no such pool, or the policy has no pools: it is no [sojourn.Sharer].
func (p *Pool) Settings(name string) (n sojourn.Pool, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settings(name)
}

func (p *Pool) settings(name string) (n sojourn.Pool, ok bool) {
	s, any := policyAs[sojourn.Sharer](p)
	if !any {
		return n, false
	}
	n, ok = s.Pool(name)
	n.Min, n.Max = maps.Clone(n.Min), maps.Clone(n.Max)
	return n, ok
}

// told returns what observers are told of a pool of the policy; nil if there are none.
func (p *Pool) told(name string) *sojourn.Pool {
	if n, ok := p.settings(name); ok {
		return &n
	}
	return nil
}

// Shares returns what each pool of the policy with live jobs has of the slots of a class, and what it is entitled to; nil if
// the policy has no pools. It takes time in proportion to the live jobs.
func (p *Pool) Shares(c sojourn.Class) []sojourn.Share {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s, ok := policyAs[sojourn.Sharer](p); ok {
		return s.AppendShares(nil, c)
	}
	return nil
}

// policyAs returns the policy as a T, for a question. It reports false if it is none, and of a pool that is a standby or was one until it was closed, whose policy
// follows that of another process without a lock.
func policyAs[T any](p *Pool) (t T, ok bool) {
	if p.follows {
		return t, false
	}
	return sojourn.As[T](p.policy)
}
