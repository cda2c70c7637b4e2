package journal

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// restore reads the last of the segments, and those that it follows. It removes those that are not needed.
func (j *Journal) restore(list []uint64, p sojourn.Policy) error {
	number := list[len(list)-1]
	c, err := openChain(j.log.store, number)
	if err != nil {
		return err
	}
	j.log.base, j.head = c[0].number, c.last().head
	if j.opts.Policy != "" {
		j.head.name = j.opts.Policy
	}
	j.restored.Segment = number
	if err := j.restorePolicy(c, p); err != nil {
		return err
	}
	j.pruneUnborn()
	if err := j.goOn(c.last()); err != nil {
		return err
	}
	for _, old := range list[:len(list)-1] {
		if !j.opts.Keep && old < j.log.base {
			if err := j.log.store.Remove(old); err != nil {
				return failure(err)
			}
		}
	}
	return nil
}

// goOn goes on with a segment that was read.
func (j *Journal) goOn(g *segment) error {
	if g.ended != 0 {
		return g.missing(j.log.store)
	}
	if g.torn {
		j.restored.Cut = int64(len(g.data)) - g.at
	}
	j.head.names = j.names()
	j.log.last, j.log.trace = j.acc.Now(), g.trace
	j.since = g.at - g.body
	if err := j.log.renew(g); err != nil {
		return failure(err)
	}
	if j.restored.Rebuilt == nil {
		return nil
	}
	// The next Open then restores this policy, and not the one before.
	if err := j.snapshot(false); err != nil {
		_ = j.snapshot(true) // it saves no policy, so it cannot fail
	}
	l := &j.log
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lead(true)
	return l.err
}

// restorePolicy makes p what it was, or tells it the facts.
func (j *Journal) restorePolicy(c chain, p sojourn.Policy) error {
	why := error(nil)
	if j.opts.Rebuild {
		why = errors.New("Options.Rebuild says so")
	} else if err := j.enforce(c[0].head.names); err != nil {
		return err
	} else {
		start := c.clone()
		if why = j.replay(c, p); why == nil || final(why) {
			return why
		}
		copy(c, start)
	}
	g := c[0]
	follower := &follower{j: j, acc: account.New(nil)}
	j.owned, j.kept, j.unborn = maps.Clone(g.owned), maps.Clone(g.kept), slices.Clone(g.unborn)
	for ev := range g.told() {
		if err := follower.event(&ev); err != nil {
			return g.damage("a fact does not fit: %v", err)
		}
	}
	j.restored.Records = 0
	if err := c.read(follower, &g); err != nil && !final(err) {
		return g.damage("a record does not fit: %v", err)
	} else if err != nil {
		return err
	}
	j.restored.Records += g.facts.Len()
	j.acc = account.New(p)
	if err := follower.acc.Rebuild(j.acc); err != nil {
		return visible.Errorf("journal: %s: %w", g.file, err)
	}
	j.restored.Rebuilt = why
	return nil
}

// replay restores p from the snapshot and asks it again. If p is not what it was, it is new again, and the error says
// why.
func (j *Journal) replay(c chain, p sojourn.Policy) error {
	g := c[0]
	s, saves := sojourn.As[sojourn.Snapshotter](p)
	var blank []byte
	if saves {
		if b, err := s.AppendBinary(nil); err == nil {
			blank = b
		} else {
			saves = false
		}
	}
	j.acc = account.New(p)
	j.owned, j.kept, j.unborn = maps.Clone(g.owned), maps.Clone(g.kept), slices.Clone(g.unborn)
	told := false // p
	at := g
	err := func() error {
		if g.policy != nil {
			if err := j.acc.Restore(g.told(), g.policy); err != nil {
				return err
			}
		} else if g.facts.Len() > 0 {
			return errors.New("the segment has no snapshot of the policy")
		}
		told = true
		j.restored.Records = g.facts.Len()
		return ask(func() error { return c.read((*asker)(j), &at) })
	}()
	if err == nil || !told || final(err) {
		return err
	}
	if saves {
		if s.UnmarshalBinary(blank) == nil {
			return fmt.Errorf("byte %d: %w", at.at, err)
		}
	}
	return visible.Errorf("journal: %s: byte %d: %w: %w", at.file, at.at, ErrDiffers, err)
}

// ask calls what asks the policy again.
func ask(read func() error) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *sojourn.SlotError:
			err = fmt.Errorf("slot %d was assigned, but is not free", r.Slot)
		default:
			panic(r)
		}
	}()
	return read()
}

// final reports whether an error is one of the journal, which no other policy can help.
func final(err error) bool {
	var bad *DamageError
	return errors.As(err, &bad) || errors.Is(err, ErrVersion) || errors.Is(err, ErrDiffers)
}

// attaches reads an attachment: that of a live job, or that of one whose arrival is to follow.
func (j *Journal) attaches(id sojourn.JobID, data []byte, acc *account.Account) {
	j.owned.set(id, data)
	if n := len(j.unborn); len(data) == 0 || n > 0 && j.unborn[n-1] == id {
		return
	}
	if id <= j.head.maxJob {
		if _, live := acc.Job(id); live {
			return
		}
	}
	j.unborn = append(j.unborn, id)
}

// arrives reads an event, which may be the arrival that follows an attachment.
func (j *Journal) arrives(ev *sojourn.Event) {
	j.sawJob(ev)
	if n := len(j.unborn); n > 0 && ev.Job != nil && j.unborn[n-1] == ev.Job.ID {
		j.unborn = j.unborn[:n-1]
	}
}

// pruneUnborn forgets the attachments of jobs that have not arrived: that may be what was torn.
func (j *Journal) pruneUnborn() {
	for _, id := range j.unborn {
		if _, live := j.acc.Job(id); !live {
			delete(j.owned, id)
		}
	}
	j.unborn = nil
}

// An asker asks the policy again.
type asker Journal

func (a *asker) event(ev *sojourn.Event) error {
	if a.log.stopped != nil && a.log.stopped.Load() {
		return errStopping
	}
	a.restored.Records++
	if err := a.acc.Observe(*ev); err != nil {
		return fmt.Errorf("the policy refuses what it had accepted: %w", err)
	}
	(*Journal)(a).arrives(ev)
	a.owned.observe(ev, a.acc)
	return nil
}

func (a *asker) attach(id sojourn.JobID, data []byte) error {
	(*Journal)(a).attaches(id, data, a.acc)
	return nil
}

func (a *asker) keep(key string, data []byte) error {
	a.kept.set(key, data)
	return nil
}

func (a *asker) assign(want *sojourn.Assignment) error {
	a.restored.Records++
	got, ok := a.acc.Assign(want.Slot)
	if !ok || got != *want {
		return fmt.Errorf("the policy decides otherwise: slot %d got task %v, attempt %d; now %v, attempt %d", want.Slot, want.Task, want.Attempt, got.Task, got.Attempt)
	}
	return nil
}

// A follower keeps account of what was decided.
type follower struct {
	j   *Journal
	acc *account.Account
}

func (f *follower) event(ev *sojourn.Event) error {
	f.j.restored.Records++
	f.j.arrives(ev)
	if err := f.acc.Observe(*ev); err != nil {
		return err
	}
	f.j.owned.observe(ev, f.acc)
	return nil
}

func (f *follower) attach(id sojourn.JobID, data []byte) error {
	f.j.attaches(id, data, f.acc)
	return nil
}

func (f *follower) keep(key string, data []byte) error {
	f.j.kept.set(key, data)
	return nil
}

func (f *follower) assign(as *sojourn.Assignment) error {
	f.j.restored.Records++
	return f.acc.Take(*as)
}
