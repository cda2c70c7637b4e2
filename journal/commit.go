package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// begin makes a segment, of which a number of bytes is synced, the current one.
func (l *log) begin(segment uint64, size int64) {
	l.segment, l.size, l.synced, l.marked = segment, size, size, 0
	l.latest.Store(segment)
}

// renew writes what was read of a segment anew, and makes that the current one. What was read may be in the memory of the
// operating system only, for ever: after a failed sync Linux takes it for written, and the next sync does nothing.
func (l *log) renew(g *segment) error {
	e := encoder{buf: g.data[:g.at]}
	e.numbers(kindMark, uint64(g.at), uint64(g.at)) // true as soon as there is such a segment
	if err := l.heard(l.store.Create(g.number, e.buf)); err != nil {
		return err
	}
	l.begin(g.number, int64(len(e.buf)))
	return nil
}

// heard counts an answer of the store.
func (l *log) heard(err error) error {
	l.answers.Add(1)
	return err
}

func (l *log) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// End returns the position after the last record so far. Call it while the driver's lock is held, then unlock, then
// call Wait.
func (j *Journal) End() int64 {
	j.log.mu.Lock()
	defer j.log.mu.Unlock()
	return j.log.end
}

// Wait returns when all records before a position are synced: they survive the loss of power. Whoever comes first
// writes and syncs for all; those who come meanwhile wait for the next round. So a hundred goroutines that wait
// together cost about two syncs.
//
// If another policy has taken over in a shadow inside, that is durable, too.
func (j *Journal) Wait(pos int64) error {
	if err := j.keepSwapped(); err != nil {
		return j.note(err)
	}
	return j.note(j.log.advance(pos, true))
}

// Flush waits for all records so far.
func (j *Journal) Flush() error { return j.Wait(j.End()) }

// Write gives all records so far to the operating system, without a sync: they survive the end of this process, but
// not the loss of power.
func (j *Journal) Write() error { return j.note(j.log.advance(j.End(), false)) }

// mostSilent is for how many seconds Close waits for an answer of the store.
const mostSilent = 10

// Close waits for all records, and closes the store. The journal takes no more. If the store answers nothing for 10 s, as on a disk that is gone, Close
// returns an error that names it and wraps [os.ErrDeadlineExceeded]. What Wait has returned nil for is there then; the rest may be, or a part from its
// beginning. The store stays in use, and a folder locked, until it answers after all, or the process ends (TestCloseOfASilentStore).
func (j *Journal) Close() error {
	done := make(chan error, 1)
	go func() { done <- j.close() }()
	l := &j.log
	heard := l.answers.Load()
	for silent := 0; silent < mostSilent; silent++ {
		second, stop := context.WithTimeout(context.Background(), time.Second)
		select {
		case err := <-done:
			stop()
			return err
		case <-second.Done():
			stop()
		}
		if n := l.answers.Load(); n != heard {
			heard, silent = n, -1
		}
	}
	err := failure(fmt.Errorf("%s: no answer for %d s: %w", l.store.Name(max(l.latest.Load(), 1)), mostSilent, os.ErrDeadlineExceeded))
	l.mu.Lock()
	defer l.mu.Unlock()
	l.abandon(err)
	return err
}

// close is Close, and waits for as long as the store does not answer.
func (j *Journal) close() error {
	j.following.Lock()
	defer j.following.Unlock()
	if j.standby != nil {
		j.standby = nil
		j.log.mu.Lock()
		j.log.err = visible.Errorf("journal: %w", ErrClosed)
		j.log.mu.Unlock()
		return j.log.store.Close()
	}
	j.log.stopping.Store(true)
	err := j.Flush()
	if err == nil {
		err = j.note(j.log.settle())
	}
	j.log.failed.Store(true)
	l := &j.log
	l.mu.Lock()
	for l.busy || l.making {
		l.cond.Wait()
	}
	last := l.err == nil && err == nil
	if l.err == nil {
		l.err = visible.Errorf("journal: %w", ErrClosed)
	}
	l.busy = true
	l.mu.Unlock() // the store may not answer
	if last {
		err = l.write(nil, true) // that all is synced: damage can then be told from a torn write
	}
	if e := l.store.Close(); err == nil {
		err = e
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	return err
}

// advance returns when all before a position is synced, or only written.
func (l *log) advance(pos int64, sync bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	fails := l.fails
	for {
		done := l.written
		if sync {
			done = l.durable
		}
		switch {
		case done >= pos && (sync || l.stall == nil): // after a failed sync, nobody can tell what was written
			return nil
		case l.err != nil:
			return l.err
		case l.fails != fails && l.stall != nil: // who waits does not try it again, each for all
			return l.stall
		case l.busy:
			l.cond.Wait()
		default:
			l.lead(sync)
		}
	}
}

// settle returns when everything is synced, and no segment is about to begin.
func (l *log) settle() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	fails := l.fails
	for l.err == nil && (l.durable < l.end || l.next != nil) {
		switch {
		case l.fails != fails && l.stall != nil:
			return l.stall
		case l.busy:
			l.cond.Wait()
		default:
			l.lead(true)
		}
	}
	return l.err
}

// lead writes what there is. The caller has the lock, which is free while the store works.
func (l *log) lead(sync bool) {
	if l.next != nil && l.making { // the state of the segment before is on its way
		l.cond.Wait()
		return
	}
	buf, next, end := l.buf, l.next, l.end
	l.buf, l.spare, l.next, l.busy = l.spare[:0], nil, nil, true
	l.mu.Unlock()
	all := buf
	if len(l.unwritten) > 0 { // it may be much: nobody waits while it is copied
		all, l.unwritten = append(l.unwritten, buf...), nil
	}
	data, start := all, end-int64(len(all))
	l.taken = start
	sync = sync || l.retry && l.tail.n+len(all) > mostTail
	err := l.mend()
	if next != nil && err == nil {
		k := next.at - start
		if err = l.write(data[:k:k], true); err == nil {
			err = l.rotate(next)
		}
		data = data[k:]
		if next.begun {
			next = nil
		}
	}
	if err == nil {
		err = l.write(data, sync)
	}
	l.mu.Lock()
	l.busy = false
	switch {
	case err == nil:
		l.written, l.stall = end, nil
		if sync {
			l.durable = end
		}
	case l.retry && !errors.Is(err, ErrLocked): // another process has it from now on
		if l.stall == nil {
			l.stalledAt = l.end
		}
		l.stall = &stallError{err}
		l.fails++
		l.next = cmp.Or(next, l.next)
		l.unwritten = all[l.taken-start:]
	default:
		l.abandon(failure(err))
	}
	if len(l.unwritten) == 0 && cap(buf) <= 2*overflow {
		l.spare = buf[:0]
	}
	l.cond.Broadcast()
	l.yield() // the last error may have come meanwhile
}

// write appends data to the segment, and what it knows to be synced before.
func (l *log) write(data []byte, sync bool) error {
	n := len(data)
	if l.synced > l.marked {
		e := encoder{buf: data}
		e.numbers(kindMark, uint64(l.size)+uint64(len(data)), uint64(l.synced))
		data = e.buf
	}
	if len(data) > 0 {
		l.keepTail(data)
		l.size += int64(len(data))
		l.taken += int64(n)
		l.marked = max(l.marked, l.synced)
		if err := l.heard(l.store.Append(l.segment, data)); err != nil {
			l.torn = true
			return err
		}
	}
	if sync && l.size > l.synced {
		if err := l.heard(l.store.Sync(l.segment)); err != nil {
			l.torn = true
			return err
		}
		l.synced = l.size
		l.tail.reset()
	}
	return nil
}

// rotate begins the next segment. It ends the one before only after that, so that one of them always counts.
func (l *log) rotate(r *rotation) error {
	data := r.data
	if err := l.heard(l.store.Create(l.segment+1, data)); err != nil {
		return err
	}
	old := l.segment
	if l.keep {
		e := encoder{}
		if !r.ended {
			e.numbers(kindEnd, old+1)
			l.taken -= int64(len(e.buf)) // it has no position
			r.ended = true
		}
		if err := l.write(e.buf, true); err != nil {
			return err
		}
	}
	l.begin(old+1, int64(len(data)))
	r.begun = true
	if l.keep {
		return nil
	}
	if r.follows {
		l.start(old)
		return nil
	}
	l.due = old + 1
	return l.trimDue()
}

// trim removes the segments of the chain before one that has a state.
func (l *log) trim(base uint64) error {
	for ; l.base < base; l.base++ {
		if err := l.heard(l.store.Remove(l.base)); err != nil && !(l.retry && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

// start lets a segment that has ended get its own state. It is not being done for another one.
func (l *log) start(segment uint64) {
	if l.inline {
		l.compact(segment)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.making = true
	go l.compact(segment)
}
