// Package live runs real work, jobs of Go functions in this process, under any policy. Use it
// where a channel and a WaitGroup served until now, and short jobs wait for long ones:
//
//	policy, err := leastwork.New(leastwork.Options{})
//	...
//	pool, err := live.New(policy, live.Options{Slots: 8})
//	...
//	h, err := pool.Submit(ctx, live.Job{Phases: []live.Phase{
//		{Tasks: 100, Run: func(ctx context.Context, t live.Task) error { return resize(ctx, files[t.Index]) }},
//		{Tasks: 1, Run: func(ctx context.Context, _ live.Task) error { return index(ctx, files) }},
//	}})
//	...
//	err = h.Wait(ctx)
//	...
//	err = pool.Close(ctx)
//
// Tier: stable.
//
// # Example
//
// Eight slots work on a batch of 800 tasks of a second each when a job of one task of 50 ms comes. It is done after 99.55 s
// behind a channel, or under fifo, and after 0.55 s under leastwork, when the next slot is free (TestShortJobBehindABatch).
//
// # What is promised
//
//	each task runs, one at a time in a slot, when the phases that it waits for are done TestPhases
//	slots come and go while tasks run, and no task is lost                              TestSlots
//	a task that panics or ends its goroutine has failed, and its slot goes on           TestPanicAndGoexit
//	a task that fails runs again as often as Retry says                                 TestRetries
//	a task that was preempted runs again, which is no failure; one that is pinned stays TestPreemption, TestPin
//	a task that ignores its context loses its slot after the grace                      TestTaskThatIgnoresItsContext
//	Parallelism, Priority, Release, Sequence hold                                       TestParallelism, TestPriority, TestReleaseAndSequence
//	what the policy does not know is refused, or dropped if Options.Drop says so        TestReleaseIsRefused, TestDrop
//	under a journal no job that was accepted is lost, whenever the process is killed    TestKilled
//	of each job OnEnd is called until it has returned nil; a Key is one job             TestOnEnd, TestKey
//	a job that cannot go on by itself is reported by a note, JobStuck                   TestDeadlock, TestClassWithoutSlots
//
// # What it costs
//
// There is no goroutine that hands out work. The one that ends a task takes the lock of the
// pool, reports the end, and gets the next task for its slot. An idle slot has no goroutine. What that takes beside
// a channel is in docs/cost.md: in the module benchmarks, `go run ./noop` prints the processor time of a task that does nothing.
//
// # When it is wrong
//
// Work of less than some microseconds a task is cheaper through a channel, in batches. Work in other processes belongs to package driver, and
// queues of Redis, PostgreSQL or NATS to the module connect/gate. A pool bounds neither what waits, unless Options.MaxWaiting says so, nor the memory of what
// runs; and Go cannot stop a function that looks at no context.
//
// # Jobs
//
// A [Job] has phases of tasks. A phase waits for the one before it, or for those that it names.
// [Collect] makes a phase whose tasks return values, and [Results.All] iterates over the values. Package driver
// is for those who have workers of their own.
//
// Work that must be done on the caller's own goroutine, as that of an HTTP request, takes a slot by [Pool.Enter].
//
// # What happens to a task
//
// A task that returns an error, panics, calls [runtime.Goexit], or takes longer than its Timeout has
// failed. It runs again if [Retry] allows it, after a back-off in which it holds no slot. Otherwise
// its job fails: no more tasks of the job are started, and the contexts of the others end.
//
// The policy may want a slot back. The context of the attempt then ends with the cause
// [ErrPreempted]. If the function then returns any error, the task waits for a slot again, and this does not
// count as a failure. If it returns nil, it has succeeded. The same holds for a slot
// that is removed. A task that must not be torn apart from some point on calls [Pin]: it is not preempted then.
//
// # The context of a task
//
// Without a durable policy (one in a journal), the contexts of tasks come from that of Submit. Its values reach them, and its end cancels the
// job. A handler of HTTP requests that gives Submit the context of the request gets jobs that end with the
// request; for others, give [context.WithoutCancel] of it.
//
// Under a durable policy the job outlives the process, and so the context of Submit. No value of it reaches an attempt, also
// not the first one, and its end changes nothing.
//
// # Tasks that ignore their contexts
//
// Go cannot end a goroutine from outside. If a task does not return within Options.Grace after its
// context has ended, [Status].Ignoring lists the attempt, with its number. Its slot then gets other work, the attempt counts
// as failed, and what its function returns later counts for nothing. If [Retry] allows it, the next attempt runs beside it.
// A task that was only preempted keeps its slot, since it would otherwise run twice at a time. Close returns an error
// that wraps [ErrAbandoned] if such tasks still run.
//
// # What holds a job up
//
// A job that needs slots of a class of which there are none waits for them, until the pool is closed.
// A task that waits for a job of its own pool keeps its slot, and so the job may wait for that slot. Both are a note,
// [JobStuck], and no error: slots may be added. Values that nobody reads hold nothing up.
//
// # Jobs that survive the process
//
// A policy in a journal is durable: see package [github.com/sojourn-sched/sojourn/journal]. A function cannot be kept, but
// its name can. So under a durable policy each job names a handler, and brings its payload:
//
//	store, err := journal.OpenFiles("jobs")
//	...
//	j, err := journal.Open(store, policy, journal.Options{})
//	...
//	pool, err := live.New(j, live.Options{Handlers: map[string]live.Handler{"resize": resize}})
//	...
//	h, err := pool.Submit(ctx, live.Job{Handler: "resize", Payload: name, Phases: []live.Phase{{Tasks: 100}}})
//
// When Submit returns, the job is durable, and so is its end when Wait returns. An attempt begins when its start is durable. If
// the process is killed, the next one does the same calls, and New goes on with the jobs: [Pool.Handles] lists them. Each attempt
// that ran counts as lost, and its task runs again under the next number. So a task may run more than
// once, as one may whose end was not durable yet, but never twice under one number. Failures of tasks are counted on,
// and back-offs are over.
//
// A task that takes long says how far it is by [Save], and its next attempt goes on from there, also in the next process. A small
// result is kept in the same way, until the job is forgotten.
//
// A job whose handler a release has renamed is parked, until a process has the handler: see [ErrNoHandler].
//
// [Pool.Suspend] ends a process in order. If the store fails, as on a full disk, all jobs end with its error, and they go on
// when the cause is removed and the journal is opened again. [Pool.Err] has the error then, and a note [PoolBroken];
// with journal.Options.Retry the pool waits instead, and goes on by itself: see [ErrStalled];
// [Pool.Status], Explain, the page and the metrics go on to answer.
//
// A second process may wait until the first has gone: journal.FollowFiles, and [ErrStandby].
//
// # What became of a job
//
// Under a durable policy, or with Options.OnEnd, the pool remembers what became of jobs, for as long as Options.Remember says:
// [Pool.Ended] lists them, [Pool.Handle] finds one by its ID, and [Pool.Retry] submits one anew that has not finished. OnEnd is
// called for each job until it has returned nil once, also by the next process. What it does may so happen twice: let
// it do the same for one ID.
//
// A client that does not know whether its job was accepted submits it again, with the same [Job].Key:
//
//	h, err := pool.Submit(ctx, live.Job{Key: request.ID, Handler: "resize", Payload: name, Phases: phases})
//	if err != nil && !errors.Is(err, live.ErrDuplicate) {
//		return err
//	}
//	answer(h.ID())
//
// Tests: TestOnEnd, TestOnEndNeverReturns, TestKey, TestRetryEnded.
//
// # Tasks that end the process
//
// A task may end its process: it takes too much memory, overflows the stack, or calls code that crashes. Under a durable policy the
// next process knows which attempts ran then. Their tasks are suspects. They are started one after the other, those first
// that have ended fewest processes, before anything else, and nothing else is started while one of them runs, but for at most
// Options.Probation. [Status].Alone says which one it is. A suspect that succeeds is none any more. One with which the process
// ends again, while it runs alone, is the reason: the others that ran are no suspects then.
//
//	a task that                              may end      and then
//
//	ran when the process ended               1 process    is a suspect, with all others that ran
//	ended it once more, alone                2            runs alone again, after the other suspects
//	ended it a third time (Retry.Deaths)     3            is dead: it never runs again
//	ran beside it the first time             1 attempt is lost, if it takes less than Probation
//
// A task that is dead has failed for good, with [ErrDead], and [Pool.Retry] runs its job again. Attempts that were lost with their process do not count as failures:
// [Progress].Lost counts them. A process that is killed from outside has suspects as well. End it by [Pool.Suspend]: what
// runs then is no suspect. For tasks that cannot be the reason, a negative [Retry].Deaths keeps them from waiting for one another.
//
// Tests: TestPoison, TestProbation, TestPoisonedProcesses.
//
// # What it does now, and did
//
// [Pool.Status] says what the pool does now. Options.Observer gets a note of everything that happens: [Log] writes it to a logger, and
// the modules connect/prometheus and connect/otel keep metrics of it. An execution trace (package runtime/trace) has a region for each
// attempt, with the name of its job.
package live
