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
//		... // the job is durable: tell who submitted it
//	}
//
// After a restart, Open makes the policy what it was. [Journal.Account] then says which jobs are live,
// what runs where, and what is held. The driver reports what became of the attempts meanwhile; those that
// still run need no report. [Journal.MaxJob] and [Journal.Time] say where IDs and time go on. The root
// package has the recipe, and examples/restart is a program that is killed and goes on.
//
// # What is synced when
//
// Observe and Assign only append to memory. The driver says what must be durable before it acts, by
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
// crash then waits for submissions only. The journal starts no goroutine without Options.Another.
//
// # Segments
//
// A journal is a sequence of segments. Each begins with a snapshot of the policy and the facts of its account,
// and then has the events that the policy accepted, and its decisions. The snapshot is taken by the call of
// Observe, Assign, Attach or Keep that fills the segment before, which takes about 1 us for each live job; whoever waits next writes
// it. With many jobs, say how to make another policy: Options.Another. Then such a call only begins the next segment. A goroutine
// reads the segment that has ended with the other policy, and writes the state at its end in its place. Segments do not end meanwhile.
//
// The next Open reads the last segment that begins with a state, and those after it, and writes the last one anew. Its facts are the contract's own events, so they outlive releases: if
// the policy is another one, or has other options, Open tells it the facts and says so.
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
// else that is wrong is a [*DamageError] with the file and the byte; nothing is skipped. A journal tells the two apart
// since each batch of records says up to where all was synced before, and so do Open and Close.
//
// After an error of the store, such as a full disk, the journal takes nothing more: Observe returns the error, Assign
// declines, and the policy stays as it is. Remove the cause and open the journal again. What was waited for is there.
//
// A sync may fail, and the next one succeed without having written: Linux takes the bytes of the first for written, and
// shows them until it needs the memory. So nothing is appended to a file after an error. Open writes what it read of the
// last segment to another file, which takes its place when it is synced. What Open has found is durable then. The disk
// needs space for one more segment.
//
// Tests: TestHostileDisk, TestFailedSync, TestPowerLoss, TestStoreFails, TestFlippedBytes.
//
// A folder is locked against a second process where the platform has flock: on Linux, macOS and the BSDs.
//
// UnmarshalBinary of As[Snapshotter] begins a segment. So does the first call after Swap
// of a shadow inside, which also writes it, and so does Close. The
// next Open gets the policy that its driver makes: if that is not the one that took over, [Restored] says that it was made
// anew by the facts. Options that a state does not rest on, such as weights, are those of the policy that Open gets. Test:
// TestSwapIsSaved.
//
// Calls that bypass the journal, on the policy itself, are
// lost at the next restart.
package journal
