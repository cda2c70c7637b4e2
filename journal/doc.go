// Package journal makes any policy durable. Use it if your driver must not forget a job, or start a
// task twice under one number, when its process or its machine stops.
//
// Tier: stable.
//
//	store, err := journal.OpenFiles("/var/lib/scheduler")
//	...
//	j, err := journal.Open(store, policy, journal.Options{}) // a Policy that does what policy does
//	...
//	mu.Lock()
//	err = j.Observe(arrival) // At: j.Time(time.Now())
//	pos := j.End()
//	mu.Unlock()
//	if err := j.Wait(pos); err == nil {
//		... // the job is durable: answer its client
//	}
//
// # Example
//
// A driver has waited for job 7 and for attempt 1 at its task, and the power fails. After a restart, Open makes the policy what
// it was: [Journal.Account] says that job 7 is live and that attempt 1 runs. The driver reports that it was lost, and the next
// start of the task is attempt 2. New jobs get IDs above [Journal.MaxJob], which is 7, and [Journal.Time] goes on from the latest event.
// The root package has the recipe, and examples/restart is a program that is killed and goes on.
//
// # What is promised
//
//   - What a driver has waited for is there after a kill (TestKill) and after a loss of power (TestPowerLoss).
//   - A damaged file is refused, with its name and the byte; nothing is skipped (TestFlippedBytes, TestHostileDisk).
//   - After an error of the store, such as a full disk, nothing changes until the journal is opened again, and what was waited for is
//     there (TestStoreFails, TestDiskFull, TestFailedSync).
//   - With Options.Retry the journal goes on by itself when the store works again (TestRetry, TestHostileDisk).
//   - If another policy is opened, or one with other options, it gets the facts as events, and [Restored] says so (TestAnotherPolicy).
//   - With Options.Another no call waits for a snapshot (TestNoPause).
//   - A second process follows, and knows the same when the first has gone (TestFollow); see [FollowFiles].
//
// # What it costs
//
// Observe and Assign only append to memory, and a goroutine writes what nobody waits for, in pieces of 256 KiB: a store that is slow or answers nothing holds them up
// when 64 MiB wait for it (TestDeadDisk). The driver says what must be durable before it acts, by
// waiting for the position of a record:
//
//	the driver waits          so that after a loss of power                 it costs
//
//	after each submission     no job that was acknowledged is lost          a sync for each round of submissions
//	before each start         no attempt number was started twice           a sync for each round of starts
//	after the end of a job    no job that was reported done runs again      a sync for each round of ends
//	never, only Write         the end of the process loses nothing;         a system call for each round
//	                          a loss of power loses some seconds
//
// Whoever waits first writes and syncs for all. With many slots, starts share a sync; with few slots,
// a sync for each start limits how many tasks start in a second. A driver whose tasks may run twice after a
// crash then waits for submissions only.
//
// # When it is wrong
//
//   - Calls that bypass the journal, on the policy itself, are lost at the next restart.
//   - Two processes must not share a store. A folder is locked against a second one where the platform has flock: on Linux, macOS
//     and the BSDs (TestLock).
//   - The disk needs space for one segment more than the journal has.
//   - Options that a state does not rest on, such as weights, are not kept: they are those of the policy that Open gets.
//
// # Segments
//
// A journal is a sequence of segments. Each begins with a snapshot of the policy and the facts of its account,
// and then has the events that the policy accepted, and its decisions. The snapshot is taken by the call of
// Observe, Assign, Attach or Keep that fills the segment before, which takes about 1 us for each live job; whoever waits next
// writes it. With many jobs, say how to make another policy: Options.Another. Then such a call only begins the next segment. A
// goroutine reads the segment that has ended with the other policy, and writes the state at its end in
// its place. Segments do not end meanwhile.
//
// The next Open reads the last segment that begins with a state, and those after it, and writes the last one anew. Its facts
// are the contract's own events, so they outlive releases.
//
// UnmarshalBinary of As[Snapshotter] begins a segment. So does Swap of a shadow inside, at the next call; the segment has the name of the policy that took over, which is
// durable when Wait or Flush has returned nil after the swap. The next Open gets the policy of the code, and goes on with the one of the name, which shadow.Options.Policy makes. If it
// does not, the error says what to do. A policy without a shadow is the policy of the code, whatever the name (TestSwapIsSaved, TestSwapPowerLoss, TestSwapFollow).
//
// # In which order
//
// A journal goes around all other wrappers, and a forecast around a shadow. p is a policy, such as fair with its pools:
//
//	journal(forecast(shadow(p)))          works, also with any of them left out
//	journal(shadow(forecast(p)))          works; after a Swap the forecast has ended: forecast.ErrSwapped
//	shadow(journal(p))                    shadow.New returns account.ErrJournalInside
//	forecast(journal(p))                  the same error, from live.New or the first event
//	sojourn.NewLocked(journal(p))         works under a driver of your own; live.New returns live.ErrHidden
//	each of the three, if p is in use   account.ErrNotNew, in the same places
//
// A sojourn.Locked may stand anywhere inside. Tests: TestOrders, TestNotNew.
//
// # What can go wrong
//
// The rest of a write that never ended is cut off: nobody waited for it. [Restored] says how much that was. Anything
// else that is wrong is a [*DamageError]. A journal tells the two apart
// since each batch of records says up to where all was synced before, and so do Open and Close.
//
// After an error of the store the journal takes nothing more: Observe returns the error, Assign
// declines, and the policy stays as it is. Remove the cause and open the journal again. With Options.Retry it goes on in memory
// instead, and the next Wait or Write tries again: a disk may be full for an hour.
//
// A sync may fail, and the next one succeed without having written: Linux takes the bytes of the first for written, and
// shows them until it needs the memory. So nothing is appended to a file after an error. Open writes what it read of the
// last segment to another file, which takes its place when it is synced. What Open has found is durable then. A journal with Retry does
// the same while it runs: the file has what was synced before the error, and memory has the rest, up to 8 MiB that nobody has waited
// for. So the disk needs room for that segment once more.
//
// A store that does not answer, such as a disk that is gone, is no error: Wait, Flush and Write wait for it. Call them where the caller may give up, as package live does.
// Close gives up after 10 s without an answer (TestCloseOfASilentStore).
//
// If a file is removed or replaced while it is written, for example by a job that tidies /tmp, the next Wait returns an error, since the next process would not find what is in it.
// With Retry it is written anew (TestRemovedFile).
package journal
