package live

import (
	"bytes"
	"context"
	"fmt"

	"github.com/sojourn-sched/sojourn"
)

// What a task may save, and the tasks of one job together, where each of them counts perSaved bytes more.
const (
	maxSaved      = 4 << 10
	maxSavedByJob = 64 << 10
	perSaved      = 32
)

// savedKey is the letter of keys under which a durable policy keeps what tasks have saved.
const savedKey = "s"

// Save keeps bytes of a task: how far it is, or its result. They take the place of what the task has saved before; empty data takes
// that away. ctx is the context that the task was given, or one made from it.
//
//	func count(ctx context.Context, t live.Task, payload []byte) error {
//		at := parse(live.Saved(ctx)) // nil at first
//		for ; at < end; at++ {
//			...
//			if err := live.Save(ctx, format(at)); err != nil {
//				return err
//			}
//		}
//		return nil
//	}
//
// The next attempt at the task reads them by [Saved]. Everybody else finds them in [Handle.Ended], also while the job lives, and in
// [Pool.Ended] for as long as the job is remembered. Under a durable policy they have survived when Save returns nil, so each call
// costs a sync; calls at the same time share one. A task that is being stopped may save until it returns.
//
// A task may save at most 4 KiB, and the tasks of a job 64 KiB, where each task counts 32 bytes more. Save also returns an error if
// there are too many bytes, if the job has ended or was cancelled, if the task has returned or was given up, and if the policy's store fails. Only in the last
// case it is not known whether the bytes survive; otherwise nothing has changed. Save panics if ctx comes from no task.
//
// TestSavedAtEachWrite, TestSavedAtRandom, TestSaveRefused
func Save(ctx context.Context, data []byte) error {
	c := taskOf(ctx, "Save")
	p := c.h.pool
	pos, err := p.save(c, data)
	for p.mended(ctx, err) {
		pos, err = p.save(c, data)
	}
	if err != nil {
		return err
	}
	return p.commit(ctx, pos)
}

// Saved returns what the task has saved, in this attempt or before it, not to be changed; nil if that is nothing, or the task has
// returned. ctx is as for [Save].
func Saved(ctx context.Context) []byte {
	c := taskOf(ctx, "Saved")
	p := c.h.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if a := p.current(c); a != nil {
		return a.h.more.get().saved[a.Task]
	}
	return nil
}

// taskOf returns the context of the task from which ctx comes.
func taskOf(ctx context.Context, call string) *taskContext {
	c, _ := ctx.Value(contextKey{}).(*taskContext)
	if c == nil {
		panic("live: " + call + " of a context that comes from no task")
	}
	return c
}

// current returns the attempt of a context; nil if it has ended or was given up. The lock is held.
func (p *Pool) current(c *taskContext) *attempt {
	a := c.attempt()
	if a == nil || int(a.Slot) >= len(p.slots) || p.slots[a.Slot] == nil || p.slots[a.Slot].a != a {
		return nil
	}
	return a
}

// save enters what a task saves, and returns what has to be durable before that is acknowledged.
func (p *Pool) save(c *taskContext, data []byte) (pos int64, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a, h := p.current(c), c.h
	switch {
	case p.trouble() != nil:
		return 0, p.trouble()
	case a == nil:
		return 0, fmt.Errorf("live: Save after the task has ended: %w", context.Cause(c))
	case h.err != nil:
		return 0, h.err
	}
	m := h.more.get()
	size, all := cost(data), m.savedSize+cost(data)-cost(m.saved[a.Task])
	if len(data) > maxSaved || all > maxSavedByJob {
		return 0, fmt.Errorf("live: task %v saves %d bytes, and so those of its job count %d: want at most %d, and %d", a.Task, len(data), all, maxSaved, maxSavedByJob)
	}
	h.extend().savedSize = all
	if size == 0 {
		delete(h.more.saved, a.Task)
	} else {
		putSaved(&h.more.saved, a.Task, bytes.Clone(data))
	}
	if p.keep(keyOfTask(savedKey, a.Task), data); p.broken != nil {
		p.settle(nil)
		return 0, p.broken
	}
	return p.kept.position(), nil
}

func cost(data []byte) int {
	if len(data) == 0 {
		return 0
	}
	return len(data) + perSaved
}

// byText returns what tasks have saved by the text of their IDs; nil if that is nothing.
func byText(saved map[sojourn.TaskID][]byte) map[string][]byte {
	if len(saved) == 0 {
		return nil
	}
	texts := make(map[string][]byte, len(saved))
	for id, data := range saved { //sojourn:unordered it fills a map
		texts[id.String()] = data
	}
	return texts
}

func putSaved(m *map[sojourn.TaskID][]byte, id sojourn.TaskID, data []byte) {
	if *m == nil {
		*m = map[sojourn.TaskID][]byte{}
	}
	(*m)[id] = data
}

// forgetSaved takes away what tasks have saved from what is kept for the next process.
func (p *Pool) forgetSaved(saved map[sojourn.TaskID][]byte) {
	for _, id := range sortedTasks(saved) {
		p.keep(keyOfTask(savedKey, id), nil)
	}
}

// resumeSaved gives jobs what their tasks have saved in processes before, and forgets the rest.
func (p *Pool) resumeSaved(saved map[sojourn.TaskID][]byte) {
	for _, id := range sortedTasks(saved) {
		if h := p.jobs.get(id.Job); h != nil {
			m := h.extend()
			putSaved(&m.saved, id, saved[id])
			m.savedSize += cost(saved[id])
		} else if e := p.record.jobs[id.Job]; e != nil {
			putSaved(&e.saved, id, saved[id])
		} else {
			p.keep(keyOfTask(savedKey, id), nil)
		}
	}
	for _, e := range p.record.jobs { //sojourn:unordered each by itself
		e.Saved = byText(e.saved)
	}
}
