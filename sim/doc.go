// Package sim runs a policy on a simulated cluster, and says how it did.
//
// [Run] takes a cluster, a workload and a [sojourn.Policy], and returns means and
// quantiles of the metrics of the field, records of every job if they are asked
// for, and a fairness audit. The same [Config] gives the same [Result], byte for
// byte, on every platform.
//
// # Time
//
// The simulator is driven by events. It has one goroutine and one clock, which
// counts whole nanoseconds from the epoch 0 and jumps from one event to the next.
// Nothing is rounded but the service times of stragglers and of nodes that are
// not of speed 1, and random instants: once each, where they are drawn.
//
// At one instant, this happens in this order:
//
//  1. transfers over a [Network] end; attempts end, by success or failure, in the
//     order in which they were started; attempts report progress; attempts on failing nodes end, in the
//     order of slots, and outputs on those nodes are lost;
//  2. slots and nodes leave and return: for a node that fails, SlotRemoved for
//     each slot and then NodeDown; for one that returns, NodeUp and then SlotAdded;
//  3. if a job has finished and Config.Retest is set, rejected jobs are offered
//     again; then jobs arrive, in the order of the workload;
//  4. the policy gets a Tick if it asked to be woken by now;
//  5. free slots are offered: while a [sojourn.Seeker] names one, or else each
//     free slot once in the order of ID, class by class from class 0 on. What was
//     assigned and is refused is reported when all slots have been offered. If any
//     was taken, slots are then offered again;
//  6. the attempts that a [sojourn.Preemptor] lists are killed, if Config.Preempt
//     is set. Slots are then offered again, and also if the policy wants to be
//     woken at this same instant.
//
// An attempt that takes no time ends at the instant of its start, which then
// begins again at 1.
//
// The run ends when all jobs of the workload have ended. It also ends when jobs
// are left that nothing can bring to their end, because a phase has no slots in
// this cluster, because attempts that wait for input hold all slots, or because
// the policy wants nothing: these are counted as unfinished.
//
// # Attempts
//
// An attempt holds its slot from its assignment to its end. It works for the true
// time of its task, times Stragglers.Factor if it is a straggler, times the factor
// of [Remote] for the distance from its input, divided by the speed of its node.
// That is what TaskFinished reports as service time.
//
// Where the phase has [sojourn.Inputs], a task reads from the node that the policy
// names in Assignment.Source, which has to hold the input and be up, or else from
// the nearest one that is up, the first of several. If all are down, it reads from
// somewhere else, at the cost of Remote.Remote. This is decided when the attempt
// starts: a node that fails later does not slow its readers down. What the policy
// says of the locality is not looked at. A workload that says only how large
// inputs are gets places by [Place].
//
// With a [Network], remote reads cost what it takes to transfer the input, and nothing
// else: an attempt that is not on the node that it reads from starts to work when all
// of its input has come, or works while it comes. Transfers share the links of nodes;
// their rates change when others start or end, and are exact: a transfer ends at the
// first nanosecond at which all has come, in exact arithmetic as long as no more than
// 40 transfers share a link, and at most a few nanoseconds later else. What starts at
// one instant shares from that instant on; transfers that end are the first thing
// that happens at an instant. Where the policy leaves the source open, of several
// nodes as near it is the one that the fewest read from at that instant, the first of
// several. If the source fails, the transfer goes on from another node, chosen in the
// same way, with what is left, as a client of HDFS does. Inputs that no node holds
// that is up, or that lie on a node which the cluster does not list, come from outside,
// where only the link of the reader is shared. The time in which an attempt has its
// slot but not its input is no service time.
//
// Tasks of a phase may be started when as many tasks of the phase before have
// finished as [sojourn.Phase] After says. An attempt that is started before all
// outputs of that phase have arrived waits in its slot: it starts to work when
// every task of the phase before has finished and its Delays have passed. A phase
// of NoBarrier waits for nothing. If an output is lost (see below), attempts that
// wait go on waiting, and those that work go on working.
//
// # What the policy is told
//
// Jobs are told as the workload describes them. On a uniform cluster all classes
// become 0, else a class that the workload leaves open becomes Map in the first phase
// and Reduce in the others: see [Job.ClassOf]. A phase of a class that the cluster has no
// slots of never starts. Phases without an estimate get the true times, nothing, or the
// true times with an error: see [Estimates]. A time of 0 is told as 1 ns, since 0 means
// unknown. Neither speeds nor stragglers nor the costs of remote reads are told.
//
// # Faults
//
// With probability Faults.Task an attempt fails, at a uniformly drawn point of its
// service time. With probability Faults.Refuse an assignment is refused.
//
// When a node fails, its attempts fail with CauseSlotLost. With Faults.LoseOutput,
// what tasks finished there is lost as well, if the next phase waits for this
// phase and has unfinished tasks: these tasks have to run again. Nodes fail and
// recover by Script, and by chance if MTBF is set: times between are exponentially
// distributed, and a change that finds the node in that state already is without
// effect. Failures go on until the run ends.
//
// # Randomness
//
// Each purpose has its own streams of random numbers (PCG), which depend on
// Config.Seed and on nothing but whom they concern:
//
//	errors of estimates            one stream a job
//	stragglers, failures, refusals one stream an attempt (job, phase, task, number)
//	failures of nodes              one stream a node
//	places of blocks (Place)       one stream a job, or a name of jobs
//
// So the same attempt at the same task is slow, fails or is refused under every
// policy, and the same nodes fail at the same time: runs of one seed are paired.
// A policy has a seed of its own.
//
// # Alone
//
// Slowdown divides by the time that a job takes alone. That is the length of its
// list schedule on the idle cluster, with true times, without stragglers, remote
// reads and faults: tasks in the order of their index, each on the slot of the class that
// becomes free first and, among those, the fastest. A phase starts when all
// outputs of the phase before have arrived, whatever After says, except that a
// phase of NoBarrier starts at once; if it shares its class with a phase that is
// not over, its tasks come after those. A list schedule is a yardstick and not the
// optimum: tasks of different length may be packed better.
//
// # Fairness audit
//
// The audit compares the run with generalised processor sharing (GPS): a fluid
// system, in which all jobs present share the slots of a class in proportion to
// their weights, without limits on parallelism. Sizes are the true ones, and the
// number of slots is what is present in reality.
//
//   - ps_finish is when a job ends if its phases run in such systems one after the
//     other: a phase enters when the phase before it has ended there. It does not
//     depend on the policy. With few tasks a job cannot use all slots, so that even
//     a perfect schedule ends later: the number of late jobs compares policies, and
//     is no promise of any.
//   - D, of a phase, is when it would end there if it entered when it was really
//     ready. A phase that ends after D + P + (1-1/N) p is beyond the bound. N is the
//     number of slots of the class; p is how long an attempt at the phase held a
//     slot at most; P is the same for the attempts at all other phases in the class
//     that had been started by then, of this job or another. Time that an attempt
//     waits for input counts as held. FSP provably keeps the number at 0 if sizes
//     are exact, speeds equal, nothing fails, reads cost nothing, outputs arrive
//     without delay, and each phase waits for the whole phase before or for none: a phase is then what a job
//     is in the theorem, ready as a whole when it enters. With slow start nothing is
//     promised, since slots are held without doing work that the fluid counts.
//
// Times in the fluid systems are whole nanoseconds. D is rounded up, and the audit
// errs on the side of the policy: by less than a nanosecond, and what package vclock
// states for weights that differ by many powers of ten. ps_finish is rounded after each phase, which in a chain of
// phases may shift it by some more in either direction. Work that is done twice
// does not enter the fluid systems, nor do delays. A phase counts when it ends for
// the first time.
//
// # Errors of the policy
//
// Answers that break the contract, such as assigning a task that is not pending,
// refusing an event that fits, or waking without end at one instant, stop the run
// with a [*PolicyError]. ErrRejected and ErrUnsupported are outcomes of a job.
package sim
