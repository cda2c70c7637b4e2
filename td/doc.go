// Package td finishes a batch of jobs early. It runs tasks where their input is, chooses
// the remote reads that hurt least, lets only few tasks read from one node at a time, and
// leaves no slot idle.
//
// Tier: stable.
//
// Use it if many jobs are there at once and the network is the bottleneck. If inputs have
// three replicas, or the network is fast, a greedy rule is as fast: see When to use it. Set
// [Options.SelfTune] unless jobs need their slots at every instant: it is the fastest
// setting there. The zero value does not set it, because it keeps the bounds that the paper
// promises.
//
//	p, err := td.New(td.Options{SelfTune: true})
//	if err != nil {
//		return err // only options out of range give one
//	}
//	err = p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}) // and all other events
//	a, ok := p.Assign(slot)                                            // for each free slot
//
// The policy is the TD scheduler [Wang, Shen, Yu, Nie, Kou: A Throughput Driven Task
// Scheduler for Improving MapReduce Performance in Job-intensive Environments, IEEE
// Big Data Congress 2013]. The algorithms as printed leave slots idle, so they are stated
// anew: see Departures.
//
// # When to use it
//
// The table shows completion times in seconds of the queues of Figure 7: 200 GB on 50 nodes
// of 2 map slots, splits of 64 MiB, 12.5 MiB/s in and out of each node, means of 20 seeds
// ('sojourn paper td-fig7 --seeds 20'). No 95 % confidence interval goes beyond 17 to either
// side. The differences below are paired.
//
//	                    1 replica           3 replicas
//	                    small  mix  large   small  mix  large
//	td:self-tune          542  531    509     532  522    500
//	td:h=1.3              577  546    521     560  530    505
//	td                    592  550    523     590  533    507
//	td:as-printed,h=1.3   645  604    556     620  581    535
//	local                 559  551    528     531  522    499
//	fair:delay=5s,        579  580    565     537  525    504
//	  rack-delay=0s
//	fifo                  690  615    573     588  540    509
//	fair                  826  774    731     774  675    608
//
// The bounds L and H cost time, most of it with small jobs. They are worth their price only
// if jobs really need so many slots at every instant.
//
//   - With one replica, TD with SelfTune is the fastest: by 3 to 4 % over the greedy rule
//     (local, package baseline), which reads from hot spots, and by 5 to 6 % over delay
//     scheduling.
//   - With three replicas, nearly every task is local under any policy, and TD is 0.3 to
//     0.4 % behind the greedy rule. Use local, which is simpler.
//   - If the network is fast, use local as well: at 110 MB/s (--bandwidth 110MB) it and TD
//     are within 1 % of each other.
//   - If shares matter, use fair with a delay.
//
// TD knows nothing of weights, deadlines and pools. It does not keep small jobs short: they
// wait their turn.
//
// Jobs whose phases say what they need ([sojourn.Phase] Needs) are not supported: here a job has one
// phase of map tasks, the first, and its share of the slots, its floor and the order of remote reads
// are all about that phase. Those that come after it are not counted.
//
// # Notation
//
// All of this is counted for one class of slots. The map tasks of a job are those of its
// first phase.
//
//	T         the number of slots
//	size      the number of map tasks of a job
//	demand    how many slots a job asks for, at most its size and at most T
//	occupied  how many of its map tasks run
//	remain    how many of its map tasks are left to start
//	amt       the mean time of its map tasks
//	floor     L*demand, rounded up
//	under H   occupied < H*demand
//
// A job has one of these statuses. A status only ever grows, and may skip some:
//
//	waiting    not co-scheduled yet
//	infantile  a filler, which runs on what others leave; at most one
//	teenaged   promoted, and has not yet held its floor
//	adult      has held its floor
//	senile     has no map task left to start
//	finished   is over
//
// D is the sum of the demands of adults and teenaged jobs. Osen is the number of slots that
// are held by anything but infantile, teenaged and adult jobs.
//
//	H < (T - L*D)/dmax + L              (1)  dmax: the greatest demand in D
//	Osen + D < T                        (2)  the first waiting job becomes infantile, if none is
//	Osen + D + demand <= T              (3)  the infantile job becomes teenaged, or adult if it holds its floor
//
// rs(j,n) is the number of map tasks of j that could start and have their input on node n.
// R(n) is the sum of amt(j)*rs(j,n) over infantile, teenaged and adult jobs. When a task is
// to read from node n, the tuple (n, now) enters the hot queue. It leaves the queue after
// split*theta/beta, which is the time of the transfer at a share of 1/theta of the bandwidth.
// A node is cool while it has fewer than theta tuples.
//
// # Algorithm
//
// UPDATE applies (2) and (3) until nothing changes.
//
// GIVE takes a task of a job that is local to the slot. If there is none, it takes a task
// from the cool node of the greatest R. If there is none, it fails. A task without inputs is
// local everywhere. A task that has lost all replicas is remote, makes no node hot, and comes
// last.
//
// When a slot is offered:
//
//	UPDATE, then the first of these that finds something:
//	1  GIVE to the job whose task ended last on this slot, if it is below its floor
//	2  GIVE to: jobs with map tasks that came back or reduces, teenaged jobs, adults below their floors
//	3  a local task of an adult under H, by ascending amt
//	4  a local task of the infantile job, if under H
//	5  a remote task of an adult under H from a cool node, by descending amt
//	6  GIVE to the infantile job
//	7  as 3 and 5, without H
//	8  a task of any of these jobs from a node that is not cool, by descending amt: from
//	   the node of the fewest tuples, of those from the one of the greatest R
//	9  reduces that may start before their last map task, if there is nothing else
//
// Where amt does not decide, ties and lists go by arrival, then tasks by index, and nodes by
// ID. [Strict] leaves step 8 out; slots then wait until a tuple is overdue.
//
// [Options.SelfTune] applies the bounds only where they serve their purpose:
//
//   - L keeps a job from ending much later than expected [Section III-A]. So a job is raised
//     to its floor only if it is late. Suppose that it gets its demand in slots from now on:
//     it is late if it would still take longer than with L*demand slots since its promotion.
//   - H keeps jobs that have local tasks from leaving only remote reads to others [Section
//     IV-A1]. So after step 4, local tasks of the infantile job and of adults beyond H go
//     first.
//
// With SelfTune no job is teenaged. Theta is 1 unless set: reads that share what a node can
// send are all slow, so reads one by one are done sooner.
//
// # Guarantees
//
// T1. A status never goes back, and at most one job of a class is infantile. Jobs leave the
// queue in the order of arrival, except those that have nothing to start. Proof: each change
// is to a greater constant, to infantile only if no other job is, and from the front of the
// queue. A request that is declined takes its changes back before anybody sees them.
//
// T2. With [Relaxed], no slot stays free while a task could run on it. Proof. Suppose a slot
// is free.
//
//   - If an infantile, teenaged or adult job can start something, its task is local, at a cool
//     node, lost, or at a node that is not cool. Steps 2, 6, 7 and 8 together leave none of
//     these out.
//   - If not, D is 0, and the infantile job, if there is one, has nothing to start. So (3)
//     reads Osen <= T and promotes it. Osen is then the number of busy slots, which is below
//     T. So (2) lets the first waiting job in, and step 6 or 8 serves it.
//
// With [Strict], a slot is free only while every node that holds a task of such a job has
// theta tuples. If no such job can start anything, no slot is free. Jobs in the queue do not
// count for that: a slot may wait although its own node holds input of a waiting job. The
// waiting job would take a slot that the floors of other jobs need as soon as a source is
// cool, and would leave the queue out of order. On the queues of Figure 7, Strict is as fast
// as Relaxed within 0.2 % (sojourn compare --gen td-small --bandwidth 12.5MiB --seeds 20 -p
// td:h=1.3,td:h=1.3,hot-policy=strict).
//
// T3. With [Strict], no node has more than theta tuples: one is added only where there are
// fewer. That is as good as the lifetime of a tuple. If the receiver is the bottleneck, a
// transfer takes longer than that, and is not counted to its end.
//
// T4. Steps 3 and 5 leave occupied <= ceil(H*demand). An adult may hold more by step 7, or
// from when it was infantile.
//
// T5. Let a job be below its floor, and let the slot at hand be able to run a task of it that
// is local or at a cool node. Then no job that is not below its floor goes before it, except
// the first group of step 2. This is a floor on slots, not on progress. It holds when a slot
// is given, not between. With SelfTune, it holds for jobs that are late.
//
// T6. A job that becomes teenaged and has tasks enough is adult after at most the longest
// time of a map task, if all its sources stay cool, slots do not leave, and nothing enters
// the first group of step 2. Proof: by (3), Osen and the floors of all jobs that are to hold
// one fit into T. Within that time every slot becomes free once, and steps 1 and 2 give it
// to jobs below their floors until there are none.
//
// T7. Right after a promotion D + Osen <= T; that is (3). R is a sum of integers. It is
// updated by what changes, and does not drift.
//
// # Departures from the paper
//
// Errors of the printed algorithms:
//
//   - Algorithm 1, lines 9 and 19, say "is empty" for "is not empty".
//   - Line 1 counts a slot as released by every request, also by a request that got nothing
//     before.
//   - Lines 27 and 28 add a senile job to its new set and leave it in the old one.
//   - A senile job has occupied > 0, not = 0.
//   - Sets are updated only when the last job of the slot is senile, and by one step. So
//     promotion and refill never happen together, and when an adult becomes senile, nobody
//     looks whether another job fits.
//   - Line 4, and Algorithm 2, lines 10 and 14, assume that GetNonHotspotNode finds something
//     and that there is an infantile job. At the start no slot has a last job.
//   - If all adults are at H and the infantile job has nothing to start, slots stay idle:
//     hence steps 7 and 8.
//   - If a job falls below its floor while its sources are hot, only its own slots raise it:
//     hence step 2.
//   - A demand above T is never granted, and a demand above the size is never held: both are
//     cut down.
//   - For D = dmax = T, (1) leaves no H above 1: H is the right hand side, and at least 1.
//
// A status only ever grows, and a read that was assigned makes its node hot. So an attempt that is lost
// is charged: a job that has held its floor with it is no longer teenaged. The law of lost work of package
// sojourntest does not hold.
//
// The paper says nothing about the following:
//
//   - Reduces, which are all phases after the first. Once the last map task of a job has
//     finished, its reduces go first, by arrival: nothing else is left of the job, and its
//     slots are then soon free for others. Reduces that may start earlier ([sojourn.Phase]
//     After) go last, so that none holds a slot that a map task could have. Their slots count
//     in Osen if they share a class with map tasks.
//   - Tasks that come back, because a node or their output was lost. A senile job stays
//     senile, and these tasks go first. Tasks that a revision adds go first, too.
//   - Tasks that are held. If all that is left of a job is held, the job keeps its status, but
//     counts neither in D nor as infantile, and does not hold up the queue.
//   - A cancelled job is finished at once. Its attempts count in Osen until they end.
//   - T may change. Demands are cut down again until the job is promoted.
//   - amt is the mean over local tasks. The paper's mean is over all tasks, so a job that
//     reads from afar seems to compute much, and step 5 then lets it read even more. Without
//     local tasks, amt is what the job's estimates or the options say.
//   - amt has five significant bits, so that R changes seldom. L and H are kept in
//     millionths. All decisions are in integers.
//   - R counts a task at every replica: only the order of R matters.
//   - Racks do not count. In the paper no read leaves the rack (Section V-A, under Table I).
//     Here it may: else a slot would stay idle while a task pends, against T1.
//   - A request that finds nothing leaves no trace. It is repeated at the next event or, with
//     [Strict], when the first tuple is overdue.
//
// [Options.AsPrinted] is what the paper prints. Only those errors are corrected without which
// it would not run at all. It keeps T1 and breaks T2. Slots stay idle in 8886 of 20,000
// random clusters (go test ./td -run AsPrinted -rapid.checks=20000 -v), and on the paper's
// queues for 2 to 4 % of the time (sojourn compare --gen td-small --bandwidth 12.5MiB -p
// td:as-printed=true,h=1.3).
//
// # Cost
//
// Let k be the number of co-scheduled jobs. It is at most about T over the least demand, and
// 20 if jobs do not say their demand. Let r be the number of replicas of an input, and N the
// number of nodes.
//
//   - An assignment looks at k jobs by one bit each, and at r nodes.
//   - A remote choice looks at every node that holds input of the job in the worst case, but
//     normally at N/64 words and a few of the blocks behind them (package locality).
//   - An event about an attempt costs what an assignment costs.
//   - A promotion, the end of a map phase, and a change of amt by more than 3 % look at all
//     nodes of the job.
//   - A waiting job costs nothing but its index. Nothing is allocated in steady state.
//   - Seek with Strict tries the first free slot. Of the others it tries only those whose node
//     has input of a co-scheduled job, or all while tasks that came back or reduces are left.
//     With AsPrinted it tries all.
package td
