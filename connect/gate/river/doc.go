// Package river lets a policy decide in which order River runs jobs. Use it if large batches in a queue
// of River keep small ones waiting. It needs PostgreSQL and the driver riverpgxv5.
//
// Tier: kit.
//
// River calls a job what this module calls a task: a row that one worker works on. A job of the
// gate is a batch of rows.
//
//	queue, err := sojournriver.New(pool, sojournriver.Options{Queue: river.QueueDefault})
//
// The producer puts rows in as a batch. It may do so in a transaction of its own:
//
//	_, err = queue.Insert(ctx, client, gate.Job{ID: "report-17", Pool: "tenant-a"}, rows...)
//
// Each client that works on the queue tells when rows end, and leaves failed rows to the gate:
//
//	config := &river.Config{Queues: queues, Workers: workers, FetchCooldown: 5 * time.Millisecond}
//	queue.Configure(config)
//	client, err := river.NewClient(riverpgxv5.New(pool), config)
//
// One process runs the gate. More of them may wait to take over:
//
//	g, err := gate.New(policy, queue, gate.Options{})
//	err = g.Run(ctx)
//
// Rows that River's own methods insert run as always, and the gate does not know of them.
//
// # How it works
//
// A row is inserted in the state pending, and its batch stands in the row's metadata. The gate
// makes it available and wakes River's clients. When a worker has ended, a middleware notifies the gate.
// Notifications carry no truth: one that is lost is found when the gate compares its books with the
// table. So all that the gate must remember is in the table, and it adds no table of its own.
//
// A client notifies the gate once a second that it lives, how many workers it has, and which rows it runs. It lives for as
// long as it fetches rows or runs some. One that is silent for 5 s counts as dead. The gate that decides has an advisory lock on a session
// of its own. If that session is silent for 3 s, since the process is stopped, a gate that waits ends it; both need the same role. A row is let go
// only by the session that has the lock.
//
// After an outage of the database, River listens for new rows only after pauses of up to a minute, and looks once a second
// meanwhile. For 72 s the gate therefore lets one row more go for each worker.
//
// River retries a failed row after its delay, but the gate says when within the order of the
// policy. The same holds for a row that is snoozed. If a worker has a NextRetry of its own, or if a row is
// retried by hand, River runs the row outside the order. A row that is cancelled, discarded or deleted is
// no row of the gate any more.
//
// # What it relies on
//
// The gate reads and updates the columns id, queue, state, scheduled_at, attempted_at, created_at and
// metadata of the table river_job, and sends the notification that River sends when it inserts. Tests run
// against the version of River in go.mod.
package river
