// Package rtmr accepts and refuses jobs with deadlines. A job that it accepts meets its
// deadline, as long as tasks take no longer than their estimates.
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
//   - A job that is accepted ends by its deadline, if no task takes longer than its estimate, no attempt fails, no output is lost, no slot
//     leaves, and free slots are offered at once (TestGuarantee). So do jobs that bound how many of their tasks run at a time, and those
//     behind them (TestBoundedBookingsAreExact).
//   - A refusal changes nothing, and its offer is accepted if it is made at once. The offer is the least deadline if Exact says so
//     (TestOffers, TestOfferAmongManyJobs).
//   - A task that takes less time than its estimate makes no job late (TestShorterTimesMakeNobodyLate).
//   - A promise that can no longer be kept is reported as void at the event that breaks it, with the reason, and does not break the
//     promises of other jobs (TestVoidIsReported, TestReasonsOfVoidPromises, TestVoidJobsRunBehind).
//
// # What it costs
//
// Assign and the events of tasks take O(log n) for n live jobs. An arrival takes O(n) for the
// order, and books up to n jobs in O(r log r) each, for r distinct instants in a vector,
// whatever the numbers of tasks and slots are. Rebook gathers the running attempts first:
// O(a log a) for a distinct ends. If there are thousands, it first rounds their ends up to 512 instants. Of a job that runs more than 2,048
// attempts it samples one in 32. With more than 64 promises, or thousands of attempts, a job is first tried with about 16 instants,
// so that r is small. If it fits, it is accepted; otherwise it is tried with more. An offer books O(n^2) jobs at worst, and is exact for up to 256 jobs.
// For more jobs the search ends after some 34,000 bookings. It then gives a
// deadline that is accepted but may not be the least. Chain keeps O(r) for each job.
//
// # When it is wrong
//
//   - Bounds are needed, not means: if a task outlasts its bound, the promise to its job may be void. Where bounds are
//     far too large, jobs are refused that would have been in time.
//   - A job has one or two phases, the second waits for the whole first one, and they have slots of their own. Graphs,
//     slow start and held tasks are refused with [sojourn.ErrUnsupported], and with [Chain] a bound on running tasks (Parallelism), too.
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
// A job with Parallelism P is booked on P slots only: the first P to become available, but while its tasks run, their own. The
// others are left to the jobs behind it, at once. While its maps run, P slots at most are kept for its reduces. It takes
// O(a) more to book it, for a distinct starts of its running tasks.
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
// docs/theory/rtmr.md has the proof, and the laws I1 to I9 that tests check in a million jobs of each of 23 variants.
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
// job that is restored returns to its turn among those that have started, if all promises hold so
// (TestStartedJobsReturnToTheirTurn); else it waits again.
//
// A test checks that every broken promise is reported, on histories with lost slots, failures,
// revisions, adoptions and restarts: go test ./rtmr -run Hostile -rtmr.histories=20000.
//
// # Departures from the paper
//
// Reduce slots are kept with >= and not > (TestOffByOne), feedback never raises an estimate
// (TestFeedbackRaisesNoEstimate), and other places than that of the deadline are tried (TestEDFIsNotMonotone).
// docs/theory/rtmr.md lists all.
package rtmr
