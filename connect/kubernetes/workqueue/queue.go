package workqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/sojourn-sched/sojourn"
)

// A queue is client-go's queue with one difference: Get waits until the policy has chosen a
// key. Client-go's queue keeps which keys are queued, which are worked on, and the metrics.
type queue[T comparable] struct {
	inner *workqueue.Typed[T] // over store; its Get never blocks, since store.Len() > 0 then

	mu       sync.Mutex
	change   *sync.Cond // something happened that may let a worker start
	store    store[T]
	clock    clock.WithDelayedExecution
	epoch    time.Time
	timer    clock.Timer // for the policies' wakes; nil unless armed
	idle     int         // workers that wait in Get
	shutting bool
	drop     bool // what is queued when it is shut down
}

func newQueue[T comparable](name string, o Options[T]) (*queue[T], error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	q := &queue[T]{drop: o.Drop, clock: o.Clock, epoch: o.Clock.Now()}
	q.change = sync.NewCond(&q.mu)
	q.store.init(o)
	q.inner = workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[T]{
		Name: name, MetricsProvider: o.MetricsProvider, Clock: o.Clock, Queue: &q.store})
	return q, nil
}

// lock locks the queue and lets the store know the time.
func (q *queue[T]) lock() {
	q.mu.Lock()
	q.store.now = max(q.store.now, sojourn.Time(q.clock.Since(q.epoch)))
}

// Add implements [workqueue.TypedInterface] for client-go's delaying queue, which calls it when a
// delay is over. The priority of the key was raised when it was delayed.
func (q *queue[T]) Add(key T) {
	q.lock()
	defer q.mu.Unlock()
	if !q.shutting {
		q.store.due(key)
		q.inner.Add(key)
		q.change.Signal()
	}
}

// add adds a key with a priority, at once or, if later, by another call of Add. The greatest
// priority counts until the key is handed out.
func (q *queue[T]) add(key T, priority int, later bool) {
	q.lock()
	defer q.mu.Unlock()
	if q.shutting {
		return
	}
	q.store.raise(key, priority, later)
	if !later {
		q.inner.Add(key)
	}
	q.change.Signal()
}

// Len implements [workqueue.TypedInterface].
func (q *queue[T]) Len() int {
	q.lock()
	defer q.mu.Unlock()
	return q.store.Len()
}

// Get implements [workqueue.TypedInterface].
func (q *queue[T]) Get() (T, bool) {
	key, _, shutdown := q.get()
	return key, shutdown
}

func (q *queue[T]) get() (key T, priority int, shutdown bool) {
	q.lock()
	defer q.mu.Unlock()
	q.idle++
	defer func() { q.idle-- }()
	for {
		if q.shutting && q.drop {
			return key, 0, true
		}
		q.store.grow(q.idle)
		if priority, ok := q.store.choose(); ok {
			key, shutdown = q.inner.Get()
			q.change.Signal() // there may be a key for the next one, too
			return key, priority, shutdown
		}
		if q.shutting && (q.store.Len() == 0 || !q.arm() && q.store.running == 0) {
			q.change.Broadcast()
			return key, 0, true
		}
		q.arm()
		q.change.Wait()
		q.store.now = max(q.store.now, sojourn.Time(q.clock.Since(q.epoch)))
	}
}

// arm sets the timer to the first wake of a policy. It reports whether there is one.
func (q *queue[T]) arm() bool {
	if q.timer != nil {
		q.timer.Stop()
		q.timer = nil
	}
	at, ok := q.store.nextWake()
	if ok {
		q.timer = q.clock.AfterFunc(max(at.Sub(q.store.now), time.Millisecond), q.wake)
	}
	return ok
}

func (q *queue[T]) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.change.Signal()
}

// Done implements [workqueue.TypedInterface].
func (q *queue[T]) Done(key T) {
	q.lock()
	defer q.mu.Unlock()
	q.store.done(key)
	q.inner.Done(key) // pushes the key again if it was added meanwhile
	q.change.Signal()
	if q.shutting {
		q.change.Broadcast()
	}
}

// ShutDown implements [workqueue.TypedInterface].
func (q *queue[T]) ShutDown() {
	q.shutDown()
	q.inner.ShutDown()
}

// ShutDownWithDrain implements [workqueue.TypedInterface].
func (q *queue[T]) ShutDownWithDrain() {
	q.shutDown()
	q.inner.ShutDownWithDrain()
}

func (q *queue[T]) shutDown() {
	q.lock()
	defer q.mu.Unlock()
	q.shutting = true
	q.change.Broadcast()
}

// ShuttingDown implements [workqueue.TypedInterface].
func (q *queue[T]) ShuttingDown() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.shutting
}
