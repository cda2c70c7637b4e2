// Package jetstream keeps a journal in a stream of NATS JetStream, so that a process on another machine can follow it and take over. Use it if the
// jobs of a pool must go on when a machine is gone. For two processes on one disk, journal.FollowFiles needs no server.
//
//	conn, err := nats.Connect(url, nats.MaxReconnects(-1))
//	...
//	store, err := jetstream.Open(ctx, conn, "jobs", jetstream.Options{Replicas: 3})
//	...
//	j, err := journal.Open(store, policy, journal.Options{Another: another, Retry: true})
//	...
//	pool, err := live.New(j, live.Options{Handlers: handlers}) // a standby, if another process leads: live.ErrStandby
//
// Tier: kit.
//
// All processes do the same. One of them leads; the others follow it record by record.
//
// # Who leads
//
// Each message says after which sequence number of the stream it is to stand, and the server refuses it if another one stands there
// (Nats-Expected-Last-Sequence). A process leads from the message by which it says so. That message stands after all that the one before has written,
// and after it the server refuses whatever the one before sends. So nothing depends on clocks: a process that was stopped for an hour and goes on can append
// nothing (TestFence, TestKilledProcesses, TestClusterFaults). Its pool is broken then: it starts nothing more, the contexts of its attempts end, and Err wraps journal.ErrLocked.
//
// Time only says when to try: who has heard nothing of the one that leads for Options.Lease, while it was connected itself, tries to lead. One that ends in order
// says so, and the next one leads at once. One that is slow for longer than a lease has to end, though it is alive: let the lease be longer than the pauses of your machines. If the servers are away, nobody takes over, and the one that leads goes on in memory if the journal has Retry; when
// they are back, either may be the first to say that it leads.
//
// An attempt that runs in a process which was stopped goes on when that process does, until its context ends, beside the next attempt at the task, which
// has another number. Let handlers use the number as a fencing token for what they change elsewhere, and watch their contexts.
//
// # Rights
//
// Who leads is what the stream says. So every client that may publish to sojourn.NAME.> can end the lead of a process and write into its journal, by accident too: give that right
// to the processes of the journal alone, in an account of their own or by permissions. They publish to these subjects, and subscribe to _INBOX.> (TestRights):
//
//	sojourn.NAME.>
//	$JS.API.STREAM.INFO.SOJOURN_NAME         $JS.API.CONSUMER.CREATE.SOJOURN_NAME.>
//	$JS.API.STREAM.CREATE.SOJOURN_NAME       $JS.API.CONSUMER.MSG.NEXT.SOJOURN_NAME.*
//	$JS.API.STREAM.MSG.GET.SOJOURN_NAME      $JS.API.CONSUMER.DELETE.SOJOURN_NAME.*
//	$JS.API.STREAM.PURGE.SOJOURN_NAME
//
// Without STREAM.CREATE somebody else has to make the stream. PURGE removes what is not needed any more: without it the journal works, and grows.
//
// # What is durable
//
// What the server has acknowledged. With Replicas 3 that outlives any one machine. A single server syncs to its disk every two minutes, unless its
// sync_interval is always: until then a loss of its power loses what was acknowledged.
//
// # Why JetStream
//
//	                  order and fence                                 what followers get          what it is made for
//
//	NATS JetStream    one header of each message                     each message, pushed        logs; segments of any length in messages of 1 MB
//	PostgreSQL        a row that each transaction locks and checks   polls, or NOTIFY and reads  tables: a log of bytes is dead rows to be vacuumed
//	etcd              a transaction that compares a revision         watches                     configuration: values of 1.5 MB, 8 GB in all, all of it in memory
//
// All three could be used. With JetStream the fence is a property of each write, not of a lease or a session beside it; followers need no polling; and its server is a
// Go package, so that tests run it without anything installed.
//
// # Cost
//
// A write is a round trip to the server; those who wait at the same time share it. A segment is copied when it gets its state, as in files. A standby holds the
// jobs, as the one that leads does.
package jetstream
