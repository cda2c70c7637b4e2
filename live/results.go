package live

import (
	"context"
	"fmt"
	"iter"
	"sync"
)

// Results are the values that the tasks of a phase return. Nobody has to read them: they are kept
// until the Results are forgotten, and no task waits.
type Results[T any] struct {
	// Phase is a phase of one job. Its fields, but Tasks, may be set before Submit.
	Phase Phase
	run   func(context.Context, Task) (T, error)

	mu     sync.Mutex
	h      *Handle
	bound  chan struct{} // closed when the job is submitted
	values []T           // of the tasks
	done   []int         // tasks that have succeeded, in the order of their ends
	isDone []bool
	more   chan struct{} // closed and replaced when a task ends
}

// Collect returns a phase of n tasks that return values:
//
//	sizes := live.Collect(len(files), func(ctx context.Context, t live.Task) (int64, error) { ... })
//	h, err := pool.Submit(ctx, live.Job{Phases: []live.Phase{sizes.Phase}})
//	for task, size := range sizes.All(ctx) {
//		...
//	}
//	err = h.Wait(ctx)
func Collect[T any](n int, run func(context.Context, Task) (T, error)) *Results[T] {
	r := &Results[T]{bound: make(chan struct{}), values: make([]T, max(n, 0)), isDone: make([]bool, max(n, 0)), more: make(chan struct{})}
	r.Phase.Tasks = n
	if r.run = run; run != nil {
		r.Phase.results = r
	}
	return r
}

// produce implements binder.
func (r *Results[T]) produce(ctx context.Context, t Task) (store func(), err error) {
	v, err := r.run(ctx, t)
	if err != nil {
		return nil, err
	}
	return func() { r.store(int(t.Index), v) }, nil
}

// reserve implements binder.
func (r *Results[T]) reserve(h *Handle, tasks int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.h != nil:
		return fmt.Errorf("%w: the results are those of another job or phase", ErrInUse)
	case tasks != len(r.values):
		return fmt.Errorf("%d tasks, want %d as Collect was told", tasks, len(r.values))
	}
	r.h = h
	return nil
}

// bind implements binder.
func (r *Results[T]) bind() { close(r.bound) }

// free implements binder.
func (r *Results[T]) free() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.h = nil
}

func (r *Results[T]) store(task int, v T) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[task], r.isDone[task] = v, true
	r.done = append(r.done, task)
	close(r.more)
	r.more = make(chan struct{})
}

// Get returns the value of a task. It reports false if the task has not succeeded.
func (r *Results[T]) Get(task int) (v T, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if task < 0 || task >= len(r.values) || !r.isDone[task] {
		return v, false
	}
	return r.values[task], true
}

// All iterates over the tasks and their values in the order in which the tasks succeed. It ends
// when all tasks of the phase have succeeded, the job has ended, or ctx has. Wait of the job's
// handle then tells whether something failed. Each iteration begins with the first value.
func (r *Results[T]) All(ctx context.Context) iter.Seq2[int, T] {
	return func(yield func(int, T) bool) {
		select {
		case <-r.bound:
		case <-ctx.Done():
			return
		}
		ended := false
		for i := 0; i < len(r.values); {
			r.mu.Lock()
			more, here := r.more, i < len(r.done)
			var task int
			var v T
			if here {
				task = r.done[i]
				v = r.values[task]
			}
			r.mu.Unlock()
			switch {
			case here:
				if !yield(task, v) {
					return
				}
				i++
				continue
			case ended:
				return
			}
			over := r.h.waits(ctx)
			select {
			case <-more:
			case <-r.h.Done():
				ended = true // and what came just before is still to be yielded
			case <-ctx.Done():
				over()
				return
			}
			over()
		}
	}
}
