package workqueue

import "github.com/sojourn-sched/sojourn"

// maxBatch is how many keys a batch has at most. It bounds what is done anew when keys leave
// their line.
const maxBatch = 64

// A line is what is queued of one pool with one priority, if all that a policy goes by is pools. The
// policy then chooses a pool, and the line says which of its keys comes first. So the policy need not know
// each key: it knows a batch of them, which costs less than a job for each.
type line[T comparable] struct {
	of     lineOf
	band   *band
	batch  *batch[T]  // with the tasks that are not started; nil only while there is no key
	keys   []*item[T] // in the order of arrival; nil for one that left
	popped int        // keys that were taken off the front, with nils
	queued int        // of keys, without nils; at least batch.open
}

type lineOf struct {
	priority int
	pool     string
}

// A batch is a job with a task for each of several keys. Which task stands for which key is open
// until it starts.
type batch[T comparable] struct {
	job     sojourn.Job
	phases  [1]sojourn.Phase // of job
	line    *line[T]
	open    int // tasks not started
	running int
}

// batches reports whether the policy goes by pools alone: it is fair, with no options, and
// knows nothing else of a key.
func (s *store[T]) batches() bool { return s.opts.Policy == nil && s.opts.Job == nil }

// queue puts a key at the end of the line of its pool.
func (s *store[T]) queue(it *item[T]) {
	of := lineOf{priority: it.priority}
	if s.opts.Pool != nil {
		of.pool = s.opts.Pool(it.key)
	}
	l := s.lines[of]
	if l == nil {
		l = &line[T]{of: of, band: it.band}
		s.lines[of] = l
		s.openBatch(l, 1)
	}
	it.line, it.place = l, l.popped+len(l.keys)
	l.keys = append(l.keys, it)
	l.queued++
}

// openBatch tells the policy of so many keys of a line.
func (s *store[T]) openBatch(l *line[T], keys int) {
	var b *batch[T]
	if n := len(s.idle); n > 0 {
		b, s.idle = s.idle[n-1], s.idle[:n-1]
	} else {
		b = &batch[T]{}
		s.jobs = append(s.jobs, b)
		b.job.ID = sojourn.JobID(len(s.jobs))
	}
	b.phases[0].Tasks = keys
	b.job.Pool, b.job.Phases = l.of.pool, b.phases[:]
	l.band.observe(sojourn.Event{Kind: sojourn.JobArrived, At: s.now, Job: &b.job}) // fair refuses no pool
	l.band.tasks += keys
	b.line, b.open = l, keys
	l.batch = b
}

// next takes the first key off the line of a batch of which the policy started a task.
func (s *store[T]) next(b *batch[T]) *item[T] {
	l := b.line
	for l.keys[0] == nil {
		l.keys, l.popped = l.keys[1:], l.popped+1
	}
	it := l.keys[0]
	l.keys[0] = nil
	l.keys, l.popped = l.keys[1:], l.popped+1
	l.queued--
	b.open--
	b.running++
	it.line = nil
	s.refill(l)
	return it
}

// refill gives a line a batch if its own has no task left, and ends it if it has no key.
func (s *store[T]) refill(l *line[T]) {
	switch {
	case l.queued == 0:
		delete(s.lines, l.of)
	case l.batch.open == 0:
		s.openBatch(l, min(l.queued, maxBatch))
	}
}

// leave takes a queued key out of its line.
func (s *store[T]) leave(it *item[T]) {
	l := it.line
	l.keys[it.place-l.popped] = nil
	l.queued--
	it.line = nil
	if b := l.batch; b.open > l.queued {
		l.band.tasks -= b.open - 1
		l.band.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: s.now, Job: &b.job})
		b.open = 0
		s.forget(b)
		s.refill(l)
	}
}

// finished notes that a task of a batch has ended.
func (s *store[T]) finished(b *batch[T]) {
	b.running--
	s.forget(b)
}

// forget lets the ID of a batch be used again if the policy knows no job by it.
func (s *store[T]) forget(b *batch[T]) {
	if b.open == 0 && b.running == 0 {
		b.line = nil
		s.idle = append(s.idle, b)
	}
}
