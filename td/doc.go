// Package td finishes a batch of jobs as early as it can: tasks run where their
// input is, what has to be read from afar is chosen so that it hurts least, no node
// is read from by many at a time, and no slot stays idle.
//
// It is the TD scheduler [Wang, Shen, Yu, Nie, Kou: A Throughput Driven Task
// Scheduler for Improving MapReduce Performance in Job-intensive Environments, IEEE
// Big Data Congress 2013], stated anew, since its algorithms as printed leave slots
// idle: see Departures. Choose it where many jobs are there at once and the network
// is what is short. Where inputs have three replicas and the network is not short, a
// greedy rule is as fast: see When to use it. Set [Options.SelfTune] unless jobs need their
// slots at every instant: it is the fastest of TD's settings there. It is not the default
// since the zero value is to keep the bounds that the paper promises.
//
// # Notation
//
// A class of slots has T slots. A job has a size, the number of its map tasks; a
// demand, how many slots it asks for, cut down to its size and to T; occupied and
// remain, the map tasks that run and that are left to start; and amt, the mean time
// of a map task. The map tasks are those of the first phase. Its floor is L*demand,
// rounded up, and it is under H while occupied < H*demand.
//
//	waiting    not co-scheduled yet
//	infantile  a filler, which runs on what others leave; at most one
//	teenaged   promoted, and has not yet held its floor
//	adult      has held its floor
//	senile     has no map task left to start
//	finished   is over
//
// A status only ever grows, and may leave steps out. D is the sum of the demands of
// adults and teenaged jobs; Osen counts the slots that are held by anything but
// infantile, teenaged and adult jobs.
//
//	H < (T - L*D)/dmax + L              (1)  dmax: the greatest demand in D
//	Osen + D < T                        (2)  the first waiting job becomes infantile, if none is
//	Osen + D + demand <= T              (3)  the infantile job becomes teenaged, or adult if it holds its floor
//
// rs(j,n) is the number of map tasks of j that could start and have their input on
// node n, and R(n) the sum of amt(j)*rs(j,n) over infantile, teenaged and adult jobs.
// When a task is to read from node n, the tuple (n, now) enters the hot queue, and
// leaves it after split*theta/beta, the time of the transfer at a share of 1/theta
// of the bandwidth. A node is cool while it has fewer than theta tuples.
//
// # Algorithm
//
// UPDATE applies (2) and (3) until nothing changes. GIVE takes a task of a job that is
// local to the slot, else one from the cool node of the greatest R, else fails; a task
// without inputs is local everywhere, one that has lost all replicas is remote, makes
// no node hot, and comes last. When a slot is offered:
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
// Without amt, ties and lists go by arrival, then tasks by index, nodes by ID. With
// [Strict], step 8 is left out, and slots wait until a tuple is overdue.
//
// [Options.SelfTune] applies the bounds only where they serve their purpose. L is
// there so that no job ends much later than expected [Section III-A]: so a job is
// raised to its floor only if, with its demand in slots from now on, it would take
// longer than with L*demand slots since its promotion. H is there so that jobs which
// have local tasks do not leave others to read from afar [Section IV-A1]: so after
// step 4, local tasks of the infantile job and of adults beyond H go first. There are
// no teenaged jobs then. Theta is 1 unless set: reads that share what a node can send are
// all slow, so that it is sooner done with them one by one.
//
// # Guarantees
//
// T1. A status never goes back, at most one job of a class is infantile, and jobs
// leave the queue in the order of arrival, but for those that have nothing to start.
// Each change is to a greater constant, to infantile only where no other is, and
// from the front of the queue; a request that is declined takes its changes back
// before anybody sees them.
//
// T2. With [Relaxed], no slot stays free while a task could run on it. Proof. Suppose
// a slot is free. If an infantile, teenaged or adult job can start something, its task
// is local, at a cool node, lost, or at a node that is not cool: steps 2, 6, 7 and 8
// together leave none of these out. If not, D is 0 and the infantile job, if any, has
// nothing to start, so that (3) reads Osen <= T and promotes it; then Osen is the
// number of busy slots, which is below T, and (2) lets the first waiting job in,
// which step 6 or 8 serves. With [Strict] it is free only while every node that holds
// a task of such a job has theta tuples; if no such job can start anything, it is not
// free. Jobs in the queue are no part of that: a slot may wait although its own node holds
// input of one. They would take slots from jobs that were promised their floors, as
// soon as a source is cool, and would leave the queue out of order. On the queues of
// Figure 7, Strict is as fast as Relaxed within 0.2 % (sojourn compare --gen td-small
// --bandwidth 12.5MiB --seeds 20 -p td:h=1.3,td:h=1.3,hot-policy=strict).
//
// T3. With [Strict], no node has more than theta tuples: one is added only where there
// are fewer. That is as good as the lifetime: a transfer that outlasts it, as the
// receiver was the bottleneck, is not counted to its end.
//
// T4. Steps 3 and 5 leave occupied <= ceil(H*demand). An adult may hold more, by step
// 7 or from when it was infantile.
//
// T5. While a job is below its floor and the slot at hand could run a task of it, local
// or from a cool node, no job that is not goes before it, but for step 2's
// first group. It is a floor on slots, not on progress, and holds when a slot is
// given, not between. With SelfTune, it holds for jobs that are late.
//
// T6. A job that becomes teenaged and has tasks enough is adult after at most the
// longest time of a map task, if all its sources stay cool, slots do not leave, and
// nothing enters the first group of step 2. By (3), the floors of all that are to
// hold one and Osen fit into T; within that time every slot becomes free once, and
// steps 1 and 2 take it for jobs below their floors until there are none.
//
// T7. Right after a promotion D + Osen <= T; that is (3). R is a sum of integers, which
// is changed by what changes, and does not drift.
//
// # Departures from the paper
//
// In Algorithm 1, lines 9 and 19 say "is empty" for "is not empty"; line 1 counts a
// slot as released by every request, also by one that got nothing before; lines 27
// and 28 add a senile job to its new set and leave it in the old one. A senile job
// has occupied > 0, not = 0. Sets are updated only when the last job of the slot is
// senile, and by one step: promotion and refill never happen together, and when an
// adult turns senile, nobody looks whether another fits. Line 4 and Algorithm 2,
// lines 10 and 14, take for granted that GetNonHotspotNode finds something and
// that there is an infantile job. At the start no slot has a last job. If all adults
// are at H and the infantile job has nothing to start, slots stay idle: steps 7 and 8.
// A job that falls below its floor while its sources are hot is raised only by its own
// slots: step 2. A demand above T is never granted, and one above the size never
// held: it is cut down. For D = dmax = T, (1) leaves no H above 1: we take the right hand
// side, and at least 1.
//
// The paper is silent on what follows.
//
//   - Reduces, which are all phases after the first. Once the last map task of a job
//     has finished they go first, by arrival: the job is otherwise done, and what it
//     holds is then soon free for others. Reduces that may start earlier ([sojourn.Phase]
//     After) go last, so that none holds a slot that a map task could have. Their
//     slots count in Osen where they share a class with map tasks.
//   - Tasks that come back: of a lost node, or because their output was lost. A senile
//     job stays senile, and they go first. So do tasks that a revision adds.
//   - Tasks that are held. A job of which all that is left is held keeps its status,
//     but counts neither in D nor as infantile, and does not hold up the queue.
//   - A cancelled job is finished at once; its attempts count in Osen until they end.
//   - T may change. Demands are cut down anew until the job is promoted.
//   - amt is the mean over local tasks. The paper's, over all, makes a job that reads
//     from afar look as if it computed much, for which step 5 lets it read more.
//     Without such tasks, it is what the job's estimates or the options say.
//   - amt has five significant bits, so that R changes seldom; L and H are kept in
//     millionths; all decisions are in integers.
//   - R counts a task at every replica: only the order of R matters.
//   - Racks do not count. The paper lets no read leave the rack (Section V-A, under
//     Table I). Here it may: else a slot would stay idle while a task pends, against T1.
//   - What happens when a request finds nothing: it leaves no trace, and is repeated
//     at the next event or, with [Strict], when the first tuple is overdue.
//
// [Options.AsPrinted] is what the paper prints, with only the errors corrected
// without which it would not run at all. It keeps T1 and breaks T2: slots stay
// idle in 8886 of 20,000 random clusters (go test ./td -run AsPrinted -rapid.checks=20000
// -v), and on the paper's queues for 2 to 4 % of the time (sojourn compare --gen td-small
// --bandwidth 12.5MiB -p td:as-printed=true,h=1.3).
//
// # When to use it
//
// Completion times in seconds of the queues of Figure 7, 200 GB on 50 nodes of 2 map
// slots, splits of 64 MiB, 12.5 MiB/s in and out of each node, means of 20 seeds
// ('sojourn paper td-fig7 --seeds 20'); no 95 % confidence interval goes beyond 17 to
// either side, and differences are paired:
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
// The bounds as set cost time, most of it with small jobs: they are worth their
// price if jobs really need so many slots at every instant. With SelfTune, TD is the
// fastest with one replica, by 3 to 4 % over the greedy rule (local, package baseline),
// which reads from hot spots, and by 7 to 11 % over delay scheduling; with three it is
// 0.3 to 0.4 % behind the greedy rule, since nearly everything is local whoever chooses.
// Then, and where the network is not what is short (at 110 MB/s TD and the greedy rule
// are within 1 % of each other: --bandwidth 110MB), local does as well and is simpler, and
// fair with a delay keeps shares. TD knows nothing of weights, deadlines and pools, and
// does not keep small jobs short: they wait their turn.
//
// # Cost
//
// With k jobs co-scheduled, which is at most about T over the least demand and 20 where
// jobs do not say their demand, r replicas of an input, and N nodes: an assignment
// looks at k jobs by one bit each, and at r nodes. A remote choice looks in the worst
// case at every node that holds input of the job, but normally at N/64 words and a few
// of the blocks behind them (package locality). Events about attempts cost what an
// assignment costs. A promotion, the end of a map phase, and a change of amt by more
// than 3 % look at all nodes of the job. Waiting jobs cost nothing but their index;
// nothing is allocated in steady state. With Strict, Seek tries the first free slot,
// and of the others only those whose node has input of a co-scheduled job, or all while
// tasks that came back or reduces are left; with AsPrinted it tries all.
package td
