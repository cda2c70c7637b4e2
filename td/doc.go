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
// # What is promised
//
//   - A status never goes back, and at most one job of a class is infantile (TestStatuses, TestLaws).
//   - With [Relaxed] no slot stays free while a task could run on it; with [Strict] only while every node that holds a task of such a
//     job has theta tuples, and then no node has more (TestLaws, TestAgainstOracle).
//   - Where slots are given by a share, a job holds at most H times its demand, and a job below its floor goes first (TestLaws).
//
// docs/theory/td.md has the theorems T1 to T7 with their hypotheses and proofs.
//
// # Departures from the paper
//
// The printed algorithms leave slots idle, and say nothing of reduces, lost tasks, held tasks and slots that come and go.
// docs/theory/td.md lists the errors and what is done instead. [Options.AsPrinted] is what the paper prints.
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
