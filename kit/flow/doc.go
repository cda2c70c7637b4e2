// Package flow says which flow is served next, so that flows that always have work get service in
// proportion to their weights. A flow is a tenant, a user or a queue. Use it if you keep a queue for each
// of them yourself and ask only "which one now?": the requests before a model, the queries of a database,
// the calls of a gateway. If you have slots, jobs and tasks, use package fair, which has the same order
// between its pools.
//
// Tier: kit.
//
//	f := flow.New(flow.Options{})
//	a, err := f.Join(flow.Root, "alice", 3)  // weight 3
//	f.SetActive(a, true)                     // her queue is not empty any more
//	n, ok := f.Least()                       // whose turn it is; take the first of that queue
//	f.Charge(n, expected)                    // it starts: what it will cost, as far as you know
//	f.Correct(n, expected, actual)           // it has ended: what it has cost
//
// A cost is a whole number of any unit: nanoseconds of a worker, tokens, bytes. Flows may be below other
// flows, as users are below a team: Least goes down from the root, and a charge counts at each level.
//
// For example, let alice and bob have weights 3 and 1, calls of 10 s and of 1 s, and 4 workers. After 1,000 s
// alice has had 2,990 s of the workers and bob 997 s (TestTwoTenants). Turns would have given alice ten times
// as much as bob.
//
// # Rules
//
// This is start-time fair queueing [Goyal, Vin, Cheng 1997] with several servers [Jin, Chase, Kaur,
// SIGMETRICS 2004] and costs that are known at the end.
//
//	tag T_i   what flow i was charged, for each unit of its weight w_i, as a fraction
//	time v    virtual time of flows side by side: the greatest of the least tags at which anything was
//	          charged so far, where all that is out of a flow counts as four times the mean of its costs of late
//	          for each charge, if that is less than what was expected; until three have ended, it does not count
//
//	Charge     v is at least the least tag of the active flows, as above; then T_i grows by expected/w_i
//	Correct    T_i changes by (actual - expected)/w_i
//	Refund     T_i falls by expected/w_i: lost work is not charged
//	SetActive  a flow that begins to have something to start: T_i is at least v - K/w_i; K is the credit
//	Join       T_i is v, or what the flow of this name had when it left, if that is kept
//	Leave      T_i is kept while it is above v, and no more than the flows that are there are kept: if there
//	           are more, v passes to the least one, but by no more than m/w_i, where m is the mean cost of late side by side
//	Least      the least tag; then who was never charged; then who was charged longest ago. Who joins with a debt
//	           counts as charged then
//	Near       the first, in this order, of those with local work whose tag is at most the least one + Q
//
// A cost of 0 counts as 1, and one above 2^63-1 as that. A tag is rounded up to a whole multiple of 1/w_i
// when it is raised, which is less than the least cost. All else is exact. There is no time but virtual
// time, so a clock that stands still changes nothing.
//
// # Guarantees
//
// Let i and j be side by side and active from now on, so that i always has something to start whenever
// j is served, and the other way round. Let their costs, expected and actual, be at most c_i and c_j, and let
// at most N charges below their parent be out at a time. Let Least be followed. W_i is the cost of the work
// of i that has ended since, u = c_i/w_i + c_j/w_j, and m the greater of these two.
//
//	since both were level                W_i/w_i - W_j/w_j <= c_i/w_i + (N-1) m  <=  N u
//	over any interval                   |W_i/w_i - W_j/w_j| <= 2 N u + K/w_i + K/w_j
//	if the costs are known at the start  the same for work that has started: <= c_i/w_i since they were level
//
// Level means that both had the same tag and nothing out. The bounds hold whatever is expected, and whatever
// other flows do: TestBoundExhaustive (all runs of small plans), TestBound.
//
// Let Near be followed instead, with a window Q. Work that is local, such as a call whose prefix is cached on the worker that asks, goes first among
// flows within the window. Then the first and the third bound grow by Q, and the second one by 2 Q (TestBound).
//
// docs/theory/flow.md has the proof.
//
// A nested flow has these bounds beside its siblings, whatever goes on elsewhere, with W of its parent: what a
// flow gets follows level by level.
//
// A flow that comes back is served next, up to ties: its tag is at most that of all others, unless it has a debt
// or no debts are kept of so many (TestIdleFlowWaitsForNobody, TestComesBackFirst). Idle time is worth K at most
// (TestCredit), and nothing if the flow has left.
//
// No flow waits for ever, also beside flows that come for one task each and leave, with new names or the same
// ones (TestNobodyWaitsForEver). Let z wait, and let there never be more than L flows side by side. Each charge
// raises a tag by at least one unit, so each flow is charged a finite number of times before its tag is above that of
// z, and leaves a debt then or stays. At most L debts are kept, so v passes the least of them from time to time, or rises by one unit at least, and
// after a finite number of charges v is above the tag of z: whoever comes then stands behind z.
//
// Leaving and coming back gains nothing, while there is a debt (TestLeavingPaysNoDebt). What is remembered of
// flows that have gone never takes more memory than the flows that are there (TestMemory). To drop a debt early,
// virtual time passes to it, or rises by the mean cost. A flow that comes then stands behind those that are up to
// G behind, which is the lesser of N c_g/w_g and m/w_g, where g is the flow of the debt. Over an interval that begins with its coming, the second
// bound grows by G.
//
// # Cost
//
// With d levels and n active flows in each, Charge, Correct, Refund and SetActive take O(d log n), and Least O(d).
// They allocate nothing (TestAllocations). Join and Leave take O(log n). Explain takes O(n). Numbers of flows can
// be reused, and snapshots keep them.
//
//	go test -run '^$' -bench Serve ./kit/flow
//
// A choice, a charge and a correction among 10,000 flows take 1,630 instructions (.ci/speed) and 125 ns. A heap of package container/heap with a float for
// each flow, which the benchmark has beside it, takes 1,790 and 181 ns, without names, levels, debts and bounds. (Both are the least of 60 runs on a machine that others use.) A first-level
// cache of 32 KiB is missed 12 times here and 30 times there (valgrind --tool=cachegrind --cache-sim=yes).
//
// # When it is wrong
//
// It does not limit a rate, and it interrupts nothing: a long call that runs keeps its worker. It does not look at
// deadlines, nor at the order within a flow. If the costs of a flow are not known before they end and N is large, N
// calls are out before the first is corrected: expect the mean. What is expected of a flow too much by far is paid by that flow, which has fewer calls out at a time
// than others (TestWrongExpectationIsPaidByNoOther), and catches up when less is expected. If it was expected for long, that takes long, and those who have come meanwhile wait: expect no more
// than a few times the mean of late, whatever a client says. Package fair sees to that by itself.
package flow
