// Package sim runs a policy on a simulated cluster and measures how it did.
//
// Tier: research.
//
// Use it to see what a policy would do with your workload, or to compare policies.
//
//	r, err := sim.Run(ctx, sim.Config{
//		Cluster: cluster, // see trace.ParseCluster
//		Jobs:    jobs,    // see trace.Read and package workload
//		Policy:  policy,
//	})
//	if err != nil {
//		return err
//	}
//	fmt.Println(r.Sojourn.Mean, "s")
//
// [Run] returns means and quantiles of the metrics of the field, records of every job if you
// ask for them, and a fairness audit. The same [Config] gives the same [Result], byte for byte,
// on every platform.
//
// # Time
//
// The simulator is driven by events. It has one goroutine and one clock, which counts whole
// nanoseconds from the epoch 0 and jumps from one event to the next. Only three things are
// rounded: service times of stragglers, service times on nodes that are not of speed 1, and
// random instants. Each is rounded once, where it is drawn.
//
// At one instant, this happens in this order:
//
//  1. Transfers over a [Network] end. Attempts end, by success or failure, in the order in which
//     they were started. Attempts report progress. Attempts on failing nodes end, in the order of
//     slots, and outputs on those nodes are lost.
//  2. Slots and nodes leave and return. If a node fails, SlotRemoved comes for each slot and then
//     NodeDown; if a node returns, NodeUp comes and then SlotAdded.
//  3. If a job has finished and Config.Retest is set, rejected jobs are offered again. Then pools
//     change, tasks come to open jobs ([Times] Added), jobs are released, and jobs arrive, in the order of the workload.
//  4. The policy gets a Tick if it asked to be woken by now.
//  5. Free slots are offered: those that a [sojourn.Seeker] names, as long as it names one, or
//     else each free slot once in the order of ID, class by class from class 0 on. After all
//     slots have been offered, the policy hears which assignments are refused. If any slot was
//     taken, slots are offered again.
//  6. If Config.Preempt is set, the attempts that a [sojourn.Preemptor] lists are killed. Slots
//     are then offered again. They are also offered again if the policy wants to be woken at this
//     same instant.
//
// An attempt that takes no time ends at the instant of its start, which then begins again at 1.
//
// The run ends when all jobs of the workload have ended. It also ends when nothing can bring the
// jobs that are left to their end: a phase has no slots in this cluster, attempts that wait for
// input hold all slots, or the policy wants nothing. These jobs are counted as unfinished.
//
// # Attempts
//
// An attempt holds its slot from its assignment to its end. It works for the true time of its
// task, times Stragglers.Factor if it is a straggler, times the factor of [Remote] for the
// distance from its input, divided by the speed of its node. TaskFinished reports this as the
// service time.
//
// If the phase has [sojourn.Inputs], a task reads from the node that the policy names in
// Assignment.Source, provided that the node holds the input and is up. Otherwise it reads from
// the nearest node that is up, the first of several. If all are down, it reads from somewhere
// else, at the cost of Remote.Remote. This is decided when the attempt starts: a node that fails
// later does not slow its readers down. The simulator does not use what the policy says of the
// locality. A workload that says only how large inputs are gets places by [Place].
//
// # Transfers
//
// With a [Network], a remote read costs what it takes to transfer the input, and nothing else.
// An attempt that is not on the node that it reads from starts to work when all of its input has
// come, or works while it comes. While an attempt has its slot but not its input, the time is no
// service time.
//
// Transfers share the links of nodes, and their rates change when other transfers start or end.
// A transfer ends at the first nanosecond at which all has come. This is exact as long as no more
// than 40 transfers share a link; with more, it is at most a few nanoseconds later. A transfer
// that starts at an instant shares from that instant on. At an instant, transfers end before
// anything else happens.
//
// If the policy leaves the source open and several nodes are equally near, the task reads from
// the one that the fewest read from at that instant, the first of several. If the source fails,
// the transfer goes on from another node, chosen in the same way, with what is left, as a client
// of HDFS does. Some inputs lie on no node that is up, or on a node that the cluster does not
// list. They come from outside, and share only the link of the reader.
//
// # Phases
//
// [sojourn.Phase] After says how many tasks of the phase before must have finished before tasks
// of a phase may start. An attempt may start before all outputs of that phase have arrived. It
// then waits in its slot: it starts to work when every task of the phase before has finished and
// its Delays have passed. A phase of NoBarrier waits for nothing. If an output is lost (see
// Faults), attempts that wait go on waiting, and attempts that work go on working.
//
// # What the policy is told
//
// Jobs are told as the workload describes them. On a uniform cluster all classes become 0. On
// other clusters, a class that the workload leaves open becomes Map in the first phase and Reduce
// in the others: see [Job.ClassOf]. A phase of a class that the cluster has no slots of never
// starts. For phases without an estimate the policy is told the true times, nothing, or the true
// times with an error: see [Estimates]. A time of 0 is told as 1 ns, since 0 means unknown. The
// policy is not told of what a task costs before it ends, nor of speeds, stragglers or the costs of remote reads.
//
// # Faults
//
// With probability Faults.Task an attempt fails, at a uniformly drawn point of its service time.
// With probability Faults.Refuse an assignment is refused.
//
// When a node fails, its attempts fail with CauseSlotLost. With Faults.LoseOutput, the output of
// tasks that finished there is lost as well, if the next phase waits for this phase and has
// unfinished tasks: these tasks have to run again. Nodes fail and recover by Script, and by chance
// if MTBF is set. The times between are then exponentially distributed, and a change that finds
// the node in that state already has no effect. Failures go on until the run ends.
//
// # Gangs
//
// With [Gangs] each phase is a gang: its tasks start together or not at all. Slots for gangs come and
// go with the free slots of the cluster, as package gang says. A gang with a member on a node that fails, fails as a whole. At each instant, the slots of the
// gangs at the front of the policy's ranking are offered first.
//
// # Speculation
//
// The simulator makes no copies of stragglers, and the contract has one live attempt for each task.
// A driver that wants speculative execution needs neither: a copy is a job of one task that the
// driver makes, in the same pool. If the copy wins, the driver kills the original and reports that
// it finished. If the original wins, it cancels the copy's job, and reports the end of the copy if
// that runs. The example "speculation" of this package is such a driver. One attempt of ten takes
// five times as long there. Under fair sharing, copies of attempts that have run for 15 s instead
// of 10 s lower the mean sojourn time from 35.5 s to 21.9 s:
//
//	go test -v -run Example_speculation ./research/sim
//
// # Randomness
//
// Each purpose has streams of random numbers (PCG) of its own. A stream depends only on Config.Seed
// and on the job, attempt or node that it is for:
//
//	errors of estimates            one stream a job
//	stragglers, failures, refusals one stream an attempt (job, phase, task, number)
//	failures of nodes              one stream a node
//	places of blocks (Place)       one stream a job, or a name of jobs
//
// So the same attempt at the same task is slow, fails or is refused under every policy, and the
// same nodes fail at the same time: runs of one seed are paired. A policy has a seed of its own.
//
// # Alone
//
// Slowdown divides by the time that a job takes alone. That is the length of its list schedule on
// the idle cluster, with true times, without stragglers, remote reads and faults. Tasks start in
// the order of their index, each on the slot of the class that becomes free first and, among
// those, the fastest. A phase starts when all outputs of the phase before have arrived, whatever
// After says. A phase of NoBarrier starts at once; if it shares its class with a phase that is not
// over, its tasks come after those. A job with Parallelism has so many slots of each class, the fastest. One with
// Release waits for it. A list schedule is a yardstick and not the optimum: tasks of
// different length may be packed better.
//
// # Fairness audit
//
// The audit compares the run with generalised processor sharing (GPS): a fluid system, in which all
// jobs present share the slots of a class in proportion to their weights, without limits on
// parallelism, by their true sizes. A job is present from its release on, and from the end of those of its sequence before it. It tells when each job ends there (ps_finish), how many jobs and phases end later,
// and how many phases end beyond the bound of FSP, which FSP keeps at 0 under its hypotheses
// (TestFSPIsWithinTheBound). docs/theory/audit.md has the definitions: see [Audit].
//
// # Errors of the policy
//
// Some answers break the contract: a policy assigns a task that is not pending, refuses an event
// that fits, or asks to be woken without end at one instant. Such an answer stops the run with a
// [*PolicyError]. ErrRejected and ErrUnsupported are outcomes of a job.
package sim
