// Package rtmr accepts and refuses jobs with deadlines. A job that it accepts meets its
// deadline, as long as tasks take no longer than was said.
//
// Tier: stable.
//
// Use it if jobs have deadlines and you know bounds on how long tasks take.
//
//	p, err := rtmr.New(rtmr.Options{})
//	...
//	var no *sojourn.RejectedError
//	if err := p.Observe(arrival); errors.As(err, &no) {
//		fmt.Println("not by then, but by", no.Offer)
//	}
//
// If a job cannot be guaranteed, Observe refuses it with a [*sojourn.RejectedError]. The
// error says which job would be late, by how much, and the earliest deadline that would be
// accepted now. [Policy.Admit] answers beforehand. A job without a deadline is accepted, and
// runs behind all jobs that have one; with RequireDeadline it is refused.
//
// The policy follows He et al., Real-Time Scheduling in MapReduce Clusters (RTMR). The
// dispatcher and the feedback of the paper have mistakes; they are corrected here.
//
// # Example
//
// 4 map slots are free, and a job has 10 maps of at most 30 s and a deadline in 100 s. They run in three rounds, which end
// at 90 s, so the job is accepted, and ends by 90 s. With a deadline in 80 s it is refused, and the offer is 90 s. A second
// job of 4 such maps, with a deadline in 130 s, is accepted too: two slots are free from 60 s on, and two from 90 s on, so it
// ends by 120 s.
//
// # What is promised
//
//   - A job that is accepted ends by its deadline, if no task takes longer than was said, no attempt fails, no output is lost, no slot
//     leaves, and free slots are offered at once (TestGuarantee).
//   - A refusal changes nothing, and its offer is accepted if it is made at once. The offer is the least deadline if Exact says so
//     (TestOffers, TestOfferAmongManyJobs).
//   - A task that takes less time than was said makes no job late (TestShorterTimesMakeNobodyLate).
//   - A promise that can no longer be kept is told at the event that breaks it, with the reason, and does not break the
//     promises of other jobs (TestVoidIsReported, TestReasonsOfVoidPromises, TestVoidJobsRunBehind).
//
// # What it costs
//
// Assign and the events of tasks take O(log n) for n live jobs. An arrival takes O(n) for the
// order, and books up to n jobs in O(r log r) each, for r distinct instants in a vector,
// whatever the numbers of tasks and slots are. Rebook gathers the running attempts first:
// O(a log a) for a distinct ends. If there are thousands, it first groups them into 512 instants, at
// which slots become available no earlier, with a look at one in 32 attempts of jobs that run more than
// 2,048. Among more than 64 promises, and behind a job at whose place there are so many instants,
// bookings first keep about 16 instants: r is small then. What fits there is accepted, and only the
// others are tried with all ends. An offer books O(n^2) jobs at worst, and is exact for up to 256 jobs.
// For more jobs the search ends after some 34,000 bookings. It then gives a
// deadline that is accepted but may not be the least. Chain keeps O(r) for each job.
//
// # When it is wrong
//
//   - Bounds are needed, not means: if a task outlasts its bound, the promise to its job may be void. Where bounds are
//     far too large, jobs are refused that would have been in time.
//   - A job has one or two phases, the second waits for the whole first one, and they have slots of their own. Graphs,
//     slow start, held tasks and a bound on running tasks (Parallelism) are refused with [sojourn.ErrUnsupported].
//   - Jobs without a deadline run behind all others, and may wait for ever.
//
// # Notation
//
//	M, R        the numbers of maps and of reduces of a job
//	DL          its deadline, an instant
//	epsM, epsR  bounds on the times of its maps and reduces: the largest estimate of the phase
//	            plus Options.Latency. They are frozen when the job is admitted
//	l, q        the numbers of map slots and of reduce slots
//	T^m, T^r    sorted vectors of the instants at which slots become available, as booked
//	V^m, V^r    the same in reality
//	e^m, e      bounds on when the maps of a job have ended, and when the whole job has
//
// # Algorithm
//
// FILL (package slotvec) books n tasks of length eps, one after the other, each on the slot
// that becomes available first. A job is booked behind other jobs in two steps: FILL books
// its maps from now on, and then its reduces from e^m on (Algorithms II and III). The job is
// accepted if every promised job, this one included, is then booked to end by its deadline
// (Algorithm I).
//
// A free map slot goes to the first job that has a map to start. For reduce slots, look at
// the jobs ahead whose maps are not done: as many free slots are kept as these jobs have
// reduces. If one more slot is free, it goes to the first job that is ready (Algorithm IV).
// The job starts the task whose input is closest to the slot, since the same bound applies
// to all tasks of a phase.
//
// [Rebook] is the default and not the paper's. Each decision starts from reality: a free
// slot is available now, and a busy slot when its attempt ends at the latest. The tasks that
// are left to dispatch are booked in the order of deadlines. A job may be booked before jobs
// that have started, since the vectors contain their running tasks.
//
// [Chain] is the paper's way. Each job keeps the vectors behind it. Jobs that have started
// come first, in the order of their starts, and only waiting jobs are overtaken. With
// Feedback, the estimates of a job are replaced by what came true when it ends (Algorithms
// V and VI).
//
// If a job does not fit at the place of its deadline, other places are tried, unless
// OnePosition is set. Ignore the job's own deadline for a moment, and call a place open if
// no promise behind it is broken by the job. The job's e grows from place to place. So the
// first open place decides, and its e is the offer. Acceptance is then monotone in the
// deadline.
//
// # The guarantee, and its proof
//
// Theorem. An accepted job ends by its deadline if
//
//	H1  no task takes longer than its frozen bound, on any slot
//	H2  no attempt fails, no output is lost, and no slot leaves
//	H3  free slots are offered at once, and again until none is taken, or the bounds
//	    contain the longest wait (Latency), and no task is held
//	H4  one strict total order rules admission and dispatch, and only work that is not
//	    dispatched is overtaken
//	H5  reduces start when all maps of the job have ended
//	H6  reduce slots are kept as above: with >=, not >
//	H7  with Chain, a job without maps waits for its turn at a free map slot (a map of no
//	    length), and counts as started from then on
//
// The driver is responsible for H1 to H3. The policy keeps H4 to H7.
//
// Proof. Maps: to dispatch in order to any free slot is FILL with the real times, and FILL
// is monotone in the vector, in eps and in rel. So the maps end by e^m.
//
// Reduces: let V be the q latest ends of the reduces of a job and of the jobs ahead of it.
//
//   - (i) Let a reduce start. The jobs ahead that are ready then have none left to start.
//     Before that start, more slots were free than all unready jobs ahead have reduces. Only
//     these jobs can take those slots. So each of them starts all its reduces as soon as it
//     is ready, and nobody delays it.
//   - (ii) Hence, if a job is delayed, no job behind it started a reduce before the last
//     reduce of the delayed job.
//   - (iii) In FILL a task goes to the first slot. So, if some slot is available by t, no
//     slot carries two tasks that are unfinished at t, and there are as many unfinished
//     tasks as slots that are not available.
//   - (iv) Let s be the start that FILL gives to a task. By induction over jobs and tasks, at
//     most q-1 earlier tasks are unfinished or reserved at s, so the task starts by s.
//
// With Rebook, the vectors contain the running tasks of all jobs at the start, and the same
// argument holds from there on. Shorter times only move ends forward in these bounds. So a
// promise that held at the last admission keeps holding.
//
// Tests simulate a million jobs in each of 23 variants. On the way they check these
// properties wherever they apply:
//
//	I1  a job ends by every e it was told after it was last overtaken, and its maps by e^m
//	I2  max(T, now) is not below the l and q latest real ends of the jobs up to there
//	I3  a refusal changes nothing
//	I4  while a job waits, the map slots of the job before it are not available; while a
//	    map slot is free, no map waits
//	I5  before a reduce starts, more slots are free than the unready jobs ahead have
//	    reduces, and no ready job ahead has one to start
//	I6  feedback raises no estimate, and none of an admitted job passes its deadline
//	I7  a job behind a new job ends later by at most the largest difference of the vectors
//	    before and behind the new job: this often answers without a look at these jobs
//	I8  an offer is the least deadline that is accepted
//	I9  shorter times make no job late
//
// # When reality is otherwise
//
// The policy says so. If an attempt outlasts its bound, nothing is booked on its slot until
// the slot is free again; the policy is a [sojourn.Waker] for that. Lost slots, failed
// tasks, held tasks, and slots that were not offered make the policy book again.
//
// A promise that does not hold is void: Explain says why, and AppendVoid lists the jobs. Void
// jobs run behind the jobs whose promises hold, so that one late job does not make others
// late. They are restored when they fit again. If an adopted job does not fit, it is void
// from the start.
//
// With Chain, a job without a promise is not in the chain, even if it has started: a job
// that is void or has no deadline. The vectors do not contain its running tasks. So all
// vectors are built again from reality before a job is promised anything, and whenever
// promises are judged. From there, any order of the work that is not dispatched is right. A
// job that is restored waits again.
//
// A test checks that every broken promise is told, on histories with lost slots, failures,
// revisions, adoptions and restarts: go test ./rtmr -run Hostile -rtmr.histories=20000.
//
// # Departures from the paper
//
//   - Algorithm IV, line 10, says reserved > free. Two jobs on three slots show that an
//     accepted job then misses its deadline: TestOffByOne. Here it is >=, which changes no
//     admission.
//   - Algorithm V books partly executed jobs again as a whole, so the estimate of an
//     admitted job can pass its deadline: TestFeedbackRaisesAnEstimatePastTheDeadline. Here
//     the lesser of the old and the new bound counts, element by element, unless NoMergeMin
//     is set.
//   - Algorithm V, line 6, computes e again at the end of the job, as if the job began then.
//     Here the stored e is compared. Line 13 looks among waiting jobs for successors.
//     Started jobs have to be included, or deadlines are missed.
//   - Deadlines decide the place, so a later deadline can be refused where an earlier one is
//     accepted: TestEDFIsNotMonotone.
//   - Algorithms II and III define no e^m without maps and no e without reduces. Here they
//     are now, and e^m.
//   - Proof-1 raises all reduce slots to e^m; the algorithm raises those it uses, which
//     suffices.
//   - Proof-2 assumes that reduces run in the order of the chain. The dispatcher does not do
//     that: the proof above replaces Proof-2.
//   - The job before the first waiting job is the last started job that still runs: a
//     finished job holds no slot.
//   - In the paper, c^max is a pure rate. Here tasks have a start-up time, and empty inputs
//     divide nothing. eta delta / R is no bound under skew, so it takes a skew factor.
//   - The estimates of Chain rely on the starts that they foresaw. If free slots were not
//     offered, the estimates are built again from reality, as after a lost slot.
//   - Slow start breaks H5 and is not supported: reduces hold slots while maps run. Two
//     phases on one class of slots are not supported either, nor are more than two phases, phases
//     that say what they need ([sojourn.Phase] Needs), and phases whose tasks are held at first, to
//     which no end can be promised.
package rtmr
