// Package workqueue is client-go's work queue in the order of a sojourn policy. Use it in an
// operator whose busy tenants keep the others waiting: one namespace with thousands of keys no
// longer holds up a namespace with three.
//
//	queue, err := workqueue.New("sites", nil, workqueue.Options[reconcile.Request]{
//		Pool: func(r reconcile.Request) string { return r.Namespace },
//	})
//
// Tier: kit.
//
// With controller-runtime, use package priorityqueue beside this one:
//
//	newQueue, err := priorityqueue.For(workqueue.Options[reconcile.Request]{
//		Pool: func(r reconcile.Request) string { return r.Namespace },
//	})
//	...
//	controller.Options{NewQueue: newQueue, MaxConcurrentReconciles: 4}
//
// # How it works
//
// A key is a job of one task. It arrives when it is queued and ends with Done. (If neither
// Options.Policy nor Options.Job is set, up to 64 keys of a pool are one job: the order is the same,
// and a key takes less time.) A worker that waits
// in Get, or has a key, is a slot. So the queue finds out by itself how many workers there are.
//
// A policy may leave a worker idle on purpose: a pool has reached its limit, for example. Get
// then waits until a key may start. Len counts all keys that are queued.
//
// The order of keys with different priorities is by priority alone, as in controller-runtime.
// Each priority has a policy of its own.
//
// # What it does not do
//
// A queue that shuts down hands out what is left, as client-go's does, unless Options.Drop is set, as it is for
// controller-runtime. If a policy would never start what is left, Get reports the shutdown all the same.
//
// Deadlines and sizes help only if Options.Job tells them, or tells names by which a policy
// learns how long keys take.
package workqueue
