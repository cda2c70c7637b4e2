// Package nats lets a policy decide in which order workers of NATS JetStream run tasks. Use it if large batches in a
// work queue keep small ones waiting.
//
//	queue, err := sojournnats.New(ctx, conn, "jobs", sojournnats.Options{})
//
// Tier: kit.
//
// The producer puts tasks in as jobs, which may be in another process:
//
//	err = queue.Enqueue(ctx, gate.Job{ID: "report-17", Pool: "tenant-a"}, tasks...)
//
// Each server runs those that were let go:
//
//	err = queue.Work(ctx, 8, func(ctx context.Context, t sojournnats.Task) error { ... })
//
// One process runs the gate. More of them may wait to take over:
//
//	g, err := gate.New(policy, queue, gate.Options{})
//	err = g.Run(ctx)
//
// # How it works
//
// A task is a message of the stream SOJOURN_NAME_HELD, with the subject sojourn.NAME.held.ID and its job in the header
// Sojourn-Job. The gate moves it to the stream SOJOURN_NAME_WORK, a work queue, where workers find it by the consumer "workers".
// NATS itself tells the gate when a worker has acknowledged a task, and after how long. A sample that is lost is found within two seconds, since
// the gate looks once a second which tasks are still there (TestLostSampleInTraffic).
//
// The gate watches the held stream without payloads, from its beginning when it starts, and then what comes. So a comparison
// does not list it again, however many tasks are held.
//
// The gate that decides has a key with a time to live of 2.5 s in the bucket SOJOURN_NAME, and each server of Work another one, where it
// says how many workers it has and what they run.
//
// # Nothing is let go twice
//
// A gate may die, or be stopped and go on later, between two steps of a release. JetStream refuses a message that it had before, but
// only within a window of two minutes. Here no time matters: each message of the gate to the work stream must stand behind the
// one that the gate knows to be the last, or else the server refuses it. Before a task the gate writes its name, as the message "let". The next gate
// writes one, too, before anything else. From then on every message of the gate before is refused, and whether the task
// that was named last was let go says the number of the last message (TestEachStepOfARelease). So nobody else may publish to the work stream.
//
// A task may run twice as often as NATS itself gives it to a second worker: if its worker has died or was silent for Options.AckWait.
//
// # Failures
//
// A failed task goes back to the held stream with its count and its delay, and only then leaves the work stream. A worker of another client may
// nak a task instead: NATS then gives it to another worker, beside the order of the policy. One that it terminates has ended.
package nats
