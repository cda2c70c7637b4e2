package asynq

import "sync"

// ended are the tasks of which a note has told that they ended well, until asynq has filed that. The zero value is empty.
type ended struct {
	mu    sync.Mutex
	tasks map[string]entry
	round int // counts listings
}

type entry struct {
	round int // of the note
	seen  int // the last one in which the task was still in the queue
}

func (e *ended) add(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.tasks == nil {
		e.tasks = map[string]entry{}
	}
	e.tasks[id] = entry{round: e.round}
}

func (e *ended) remove(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.tasks, id)
}

// has reports whether a task that is still in the queue has ended.
func (e *ended) has(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	known, ok := e.tasks[id]
	if ok {
		known.seen = e.round
		e.tasks[id] = known
	}
	return ok
}

// next begins a listing.
func (e *ended) next() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.round++
}

// forget forgets the tasks that were neither in this listing nor in the one before, since one listing may miss a task that
// went from one list of asynq to another.
func (e *ended) forget() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for id, known := range e.tasks {
		if max(known.round, known.seen) < e.round-1 {
			delete(e.tasks, id)
		}
	}
}
