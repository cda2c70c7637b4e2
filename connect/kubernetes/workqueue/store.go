package workqueue

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// A store keeps the keys that are queued or worked on. It is the storage under client-go's queue,
// which calls Touch, Push, Len and Pop under its own lock; all else is called under the
// queue's.
type store[T comparable] struct {
	opts  Options[T]
	now   sojourn.Time // never decreases
	slots int          // of each band: as many as workers were ever busy or waiting at once

	bands    []*band    // by falling priority
	items    []*item[T] // item i has the job with ID i+1
	free     []*item[T] // of items, without a key
	fresh    []item[T]  // that items will have
	byKey    map[T]*item[T]
	adding   int        // the priority of a key that is added now
	delayed  map[T]int  // the greatest priority with which a key that is not queued was delayed
	outcasts []*item[T] // queued without a job, since no policy accepts it, in the order of arrival
	queued   int
	running  int
	chosen   *item[T] // what Pop returns

	lines map[lineOf]*line[T] // of what is queued, if batches
	jobs  []*batch[T]         // if batches, batch i has ID i+1, and not item i
	idle  []*batch[T]         // of jobs, without a job
}

// An item is a key that is queued or worked on. While it is worked on, it may have been added
// again: client-go's queue knows that, and pushes it when its worker is done.
type item[T comparable] struct {
	key      T
	job      sojourn.Job        // of band's policy while the key is queued or worked on, unless it is an outcast or batches
	band     *band              // nil for an outcast
	task     sojourn.Assignment // while it is worked on
	line     *line[T]           // while it is queued, if batches
	place    int                // in line, counted from its first key ever
	priority int                // with which it is queued, or was handed out
	again    int                // with which it is queued again; only if readded
	queued   bool
	readded  bool
}

func (s *store[T]) init(o Options[T]) {
	s.opts = o
	s.byKey, s.delayed, s.lines = map[T]*item[T]{}, map[T]int{}, map[lineOf]*line[T]{}
}

// raise notes that a key is added with a priority, at once or, if later, after a delay. Of several
// priorities the greatest counts.
func (s *store[T]) raise(key T, priority int, later bool) {
	it := s.byKey[key]
	switch {
	case it != nil && it.queued:
		s.move(it, priority)
	case it != nil && !later:
		if !it.readded || priority > it.again {
			it.readded, it.again = true, priority
		}
	default:
		if old, ok := s.delayed[key]; ok {
			priority = max(priority, old)
		}
		if later {
			s.delayed[key] = priority
		} else {
			s.adding = priority
			delete(s.delayed, key)
		}
	}
}

// due notes that the delay of a key is over.
func (s *store[T]) due(key T) {
	priority := s.delayed[key]
	delete(s.delayed, key)
	s.raise(key, priority, false)
}

// move puts a queued key behind those of a priority, if that is greater than its own.
func (s *store[T]) move(it *item[T], priority int) {
	if priority <= it.priority {
		return
	}
	switch {
	case it.line != nil:
		s.leave(it)
	case it.band != nil:
		it.band.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: s.now, Job: &it.job})
	default:
		s.outcasts = slices.DeleteFunc(s.outcasts, func(o *item[T]) bool { return o == it })
	}
	s.enqueue(it, priority)
}

// Touch implements client-go's Queue. A queued key was added again; raise has seen to it.
func (s *store[T]) Touch(T) {}

// Push implements client-go's Queue: a key is queued, for the first time or again.
func (s *store[T]) Push(key T) {
	s.queued++
	it, priority := s.byKey[key], s.adding
	switch {
	case it == nil:
		it = s.newItem(key)
	case it.readded:
		priority, it.readded = it.again, false
	}
	s.enqueue(it, priority)
}

// newItem returns an item for a key.
func (s *store[T]) newItem(key T) *item[T] {
	var it *item[T]
	if n := len(s.free); n > 0 {
		it, s.free = s.free[n-1], s.free[:n-1]
	} else {
		if len(s.fresh) == 0 {
			s.fresh = make([]item[T], 64) // one by one they take more time
		}
		it, s.fresh = &s.fresh[0], s.fresh[1:]
		s.items = append(s.items, it)
		it.job.ID = sojourn.JobID(len(s.items))
	}
	it.key = key
	s.byKey[key] = it
	return it
}

// enqueue tells the policy of a priority of a key.
func (s *store[T]) enqueue(it *item[T], priority int) {
	it.queued, it.priority, it.band = true, priority, s.band(priority)
	if it.band == nil {
		s.outcasts = append(s.outcasts, it)
		return
	}
	if s.batches() {
		s.queue(it)
		return
	}
	id := it.job.ID
	s.describe(it)
	err := it.band.accept(s.now, &it.job)
	if err == nil {
		return
	}
	if s.opts.Refused != nil {
		s.opts.Refused(it.key, err)
	}
	it.job = sojourn.Job{ID: id, Phases: oneTask}
	if it.band.accept(s.now, &it.job) != nil {
		it.band, s.outcasts = nil, append(s.outcasts, it)
	}
}

// describe makes the job of an item that of its key. If there is no Options.Job, the rest of the job is
// zero at any time.
func (s *store[T]) describe(it *item[T]) {
	switch {
	case s.opts.Job != nil:
		id := it.job.ID
		it.job = s.opts.Job(it.key)
		it.job.ID = id
		if len(it.job.Phases) > 0 {
			phase := it.job.Phases[0]
			phase.Tasks = 1
			it.job.Phases = []sojourn.Phase{phase}
			return
		}
	case s.opts.Pool != nil:
		it.job.Pool = s.opts.Pool(it.key)
	}
	it.job.Phases = oneTask
}

// oneTask is the only phase of jobs of which no more is known. Nobody changes it.
var oneTask = []sojourn.Phase{{Tasks: 1}}

// Len implements client-go's Queue.
func (s *store[T]) Len() int { return s.queued }

// Pop implements client-go's Queue: it returns what choose chose.
func (s *store[T]) Pop() T {
	it := s.chosen
	s.chosen = nil
	it.queued = false
	s.queued--
	s.running++
	return it.key
}

// grow lets each policy know of the workers: those that are busy, and so many idle ones.
func (s *store[T]) grow(idle int) {
	for ; s.slots < s.running+idle; s.slots++ {
		for _, b := range s.bands {
			b.observe(sojourn.Event{Kind: sojourn.SlotAdded, At: s.now, Slot: sojourn.Slot{ID: sojourn.SlotID(s.slots)}})
		}
	}
}

// choose chooses the key that the next worker gets: that of the greatest priority whose policy
// starts one. It returns its priority, and reports false if there is none.
func (s *store[T]) choose() (priority int, ok bool) {
	for _, b := range s.bands {
		if a, ok := b.assign(s.now); ok {
			if s.batches() {
				s.chosen = s.next(s.jobs[a.Task.Job-1])
			} else {
				s.chosen = s.items[a.Task.Job-1]
			}
			s.chosen.task = a
			return s.chosen.priority, true
		}
	}
	if len(s.outcasts) > 0 {
		s.chosen = s.outcasts[0]
		s.outcasts = slices.Delete(s.outcasts, 0, 1)
		return s.chosen.priority, true
	}
	return 0, false
}

// done notes that a worker is done with a key.
func (s *store[T]) done(key T) {
	it := s.byKey[key]
	if it == nil || it.queued {
		return // nobody works on it; client-go's queue ignores that, too
	}
	if it.band != nil {
		it.band.observe(sojourn.Event{Kind: sojourn.TaskFinished, At: s.now, Task: it.task.Task,
			Attempt: it.task.Attempt, Slot: sojourn.Slot{ID: it.task.Slot}})
		if s.batches() {
			s.finished(s.jobs[it.task.Task.Job-1])
		}
	}
	s.running--
	if !it.readded {
		delete(s.byKey, key)
		var zero T
		it.key, it.band, it.job.Pool = zero, nil, ""
		if s.opts.Job != nil {
			it.job = sojourn.Job{ID: it.job.ID}
		}
		s.free = append(s.free, it)
	}
}

// nextWake returns the first instant at which a policy wants to be asked again.
func (s *store[T]) nextWake() (first sojourn.Time, ok bool) {
	for _, b := range s.bands {
		if at, wakes := b.nextWake(); wakes && (!ok || at < first) {
			first, ok = at, true
		}
	}
	return first, ok
}

// band returns the band of a priority. It makes it if there is none; nil if that fails.
func (s *store[T]) band(priority int) *band {
	i, ok := s.find(priority)
	if ok {
		return s.bands[i]
	}
	if len(s.bands) >= maxBands {
		s.bands = slices.DeleteFunc(s.bands, func(b *band) bool { return b.tasks == 0 })
		i, _ = s.find(priority)
	}
	b, err := newBand(s.opts.policy(), priority, s.slots)
	if err != nil {
		return nil
	}
	s.bands = slices.Insert(s.bands, i, b)
	return b
}

func (s *store[T]) find(priority int) (int, bool) {
	return slices.BinarySearchFunc(s.bands, priority, func(b *band, p int) int { return cmp.Compare(p, b.priority) })
}
