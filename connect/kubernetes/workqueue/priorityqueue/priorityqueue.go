// Package priorityqueue puts the queue of package workqueue under controllers of
// controller-runtime.
//
//	newQueue, err := priorityqueue.For(workqueue.Options[reconcile.Request]{
//		Pool: func(r reconcile.Request) string { return r.Namespace },
//	})
//	...
//	controller.Options{NewQueue: newQueue, MaxConcurrentReconciles: 4}
//
// Tier: kit.
//
// The queue is a [priorityqueue.PriorityQueue]. So the handlers of controller-runtime give a low
// priority to the objects of the first list, as they do with its own queue. As that one, it drops what is left when the
// manager stops (TestWhatIsLeftAtShutdown).
package priorityqueue

import (
	clientgo "k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/sojourn-sched/sojourn/connect/kubernetes/workqueue"
)

// A Queue is a [priorityqueue.PriorityQueue] in the order of a policy.
type Queue[T comparable] struct {
	*workqueue.Queue[T]
	limiter clientgo.TypedRateLimiter[T]
}

// New returns a queue. See [workqueue.New].
func New[T comparable](name string, limiter clientgo.TypedRateLimiter[T], o workqueue.Options[T]) (*Queue[T], error) {
	if limiter == nil {
		limiter = clientgo.DefaultTypedControllerRateLimiter[T]()
	}
	o.Drop = true // as controller-runtime's own queue does
	q, err := workqueue.New(name, limiter, o)
	if err != nil {
		return nil, err
	}
	return &Queue[T]{q, limiter}, nil
}

// For returns the function for NewQueue of the options of a controller. Each call makes a queue
// with policies of its own. The error says what is wrong with the options.
func For[T comparable](o workqueue.Options[T]) (func(name string, limiter clientgo.TypedRateLimiter[T]) clientgo.TypedRateLimitingInterface[T], error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	return func(name string, limiter clientgo.TypedRateLimiter[T]) clientgo.TypedRateLimitingInterface[T] {
		q, err := New(name, limiter, o)
		if err != nil {
			panic(err) // Options.Policy made a policy before
		}
		return q
	}, nil
}

// AddWithOpts implements [priorityqueue.PriorityQueue].
func (q *Queue[T]) AddWithOpts(o priorityqueue.AddOpts, keys ...T) {
	priority := 0
	if o.Priority != nil {
		priority = *o.Priority
	}
	for _, key := range keys {
		after := o.After
		if o.RateLimited {
			if limited := q.limiter.When(key); after == 0 || limited < after {
				after = limited
			}
		}
		q.AddWithPriority(priority, after, key)
	}
}
