package journal

import (
	"bytes"
	"errors"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// another returns another new policy.
func (j *Journal) another() (sojourn.Policy, error) {
	p, err := j.opts.Another()
	if err == nil {
		err = account.New(p).Err()
	}
	if err != nil {
		return nil, visible.Errorf("journal: Options.Another: %w", err)
	}
	if n := len(slices.Collect(sojourn.All[swapper](p))); n != len(j.shadows) {
		return nil, visible.Errorf("journal: Options.Another: it makes a %T with %d shadows inside, and the policy that Open gets has %d", p, n, len(j.shadows))
	}
	if s, ok := sojourn.As[sojourn.Snapshotter](p); ok {
		if blank, err := s.AppendBinary(nil); err == nil && bytes.Equal(blank, j.blank) {
			return p, nil
		}
	}
	return nil, visible.Errorf("journal: Options.Another: it makes a %T that is not new, or not like the policy that Open gets", p)
}

// compact gives a segment that has ended the state that its records lead to, in place of them: a crash at any moment leaves a
// segment that says the same.
func (j *Journal) compact(segment uint64) {
	l := &j.log
	size, err := l.rewrite(segment, j.another)
	if err == nil {
		j.setLimit(size)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.making, l.failing = false, err != nil
	l.cond.Broadcast()
	l.yield()
}

var errStopping = errors.New("the journal is being closed")

// rewrite makes the state of a segment that has ended, and removes those before it. It returns how many bytes the state takes.
func (l *log) rewrite(segment uint64, another func() (sojourn.Policy, error)) (size int, err error) {
	c, err := openChain(l.store, segment)
	if err != nil {
		return 0, err
	}
	p, err := another()
	if err != nil {
		return 0, err
	}
	other := &Journal{head: c.last().head, shadows: slices.Collect(sojourn.All[swapper](p))}
	other.log.stopped = &l.stopping
	if err := other.enforce(c[0].head.names); err != nil {
		return 0, err
	}
	if err := other.replay(c, p); err != nil {
		return 0, err
	}
	if g := c.last(); g.torn {
		return 0, g.damage("the record is damaged")
	}
	other.head.trace = c.last().trace // what follows it says so
	data, err := other.state(&other.head, false)
	if err == nil && other.swapped() != other.swaps {
		err = errors.New("journal: Options.Another: somebody swaps the policy that it makes")
	}
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	err = l.err
	l.mu.Unlock()
	if err == nil {
		err = l.heard(l.store.Create(segment, data))
	}
	if err == nil {
		err = l.trim(segment)
	}
	return len(data), err
}
