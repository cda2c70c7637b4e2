package workqueue

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// A Queue is a [workqueue.TypedRateLimitingInterface] in the order of a policy. It is safe for
// concurrent use.
//
// As in client-go, a key is queued once however often it is added, no two workers have the
// same key, and a key that is added while a worker has it is queued again when the worker is
// done. Delays and rate limits are client-go's.
type Queue[T comparable] struct {
	workqueue.TypedRateLimitingInterface[T]
	queue   *queue[T]
	limiter workqueue.TypedRateLimiter[T]
}

// New returns a queue. The name is that of its metrics; "" means no metrics. A nil limiter
// is client-go's default for controllers. The error says what is wrong with the options.
func New[T comparable](name string, limiter workqueue.TypedRateLimiter[T], o Options[T]) (*Queue[T], error) {
	q, err := newQueue(name, o)
	if err != nil {
		return nil, err
	}
	if limiter == nil {
		limiter = workqueue.DefaultTypedControllerRateLimiter[T]()
	}
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[T]{
		Name: name, MetricsProvider: o.MetricsProvider, Clock: o.Clock, Queue: q})
	limited := workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[T]{
		Name: name, MetricsProvider: o.MetricsProvider, Clock: o.Clock, DelayingQueue: delaying})
	return &Queue[T]{limited, q, limiter}, nil
}

// Add adds a key with priority 0.
func (q *Queue[T]) Add(key T) { q.queue.add(key, 0, false) }

// AddAfter adds a key with priority 0 after a delay.
func (q *Queue[T]) AddAfter(key T, delay time.Duration) { q.AddWithPriority(0, delay, key) }

// AddRateLimited adds a key with priority 0 when the limiter allows.
func (q *Queue[T]) AddRateLimited(key T) { q.AddWithPriority(0, q.limiter.When(key), key) }

// AddWithPriority adds keys with a priority after a delay. Keys of a greater priority go first,
// whatever their pools are; the policy orders those of one priority. A key that is queued already
// keeps the greater priority and the earlier time.
func (q *Queue[T]) AddWithPriority(priority int, delay time.Duration, keys ...T) {
	for _, key := range keys {
		q.queue.add(key, priority, delay > 0)
		if delay > 0 {
			q.TypedRateLimitingInterface.AddAfter(key, delay)
		}
	}
}

// GetWithPriority is Get that says with which priority the key was queued.
func (q *Queue[T]) GetWithPriority() (key T, priority int, shutdown bool) { return q.queue.get() }
