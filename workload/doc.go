// Package workload makes workloads from a seed: those of the papers whose
// policies this project brings, and general ones.
//
//	g, err := workload.Lookup("hfsp-test")
//	...
//	jobs, err := g.Jobs(1, map[string]string{"load": "0.9", "jobs": "1000"})
//
// makes the jobs of one workload, for sim.Run or trace.Write. Equal seeds and
// options make equal jobs, on every platform.
//
// # Generators
//
//	poisson             general: Poisson arrivals
//	bursty              general: periods of arrivals and of silence, or batches
//	hfsp-dev            HFSP, Table I: DEV
//	hfsp-test           HFSP, Table I: TEST
//	hfsp-prod           HFSP, Table I: PROD
//	hpfsp-fig2          H-PFSP, Figure 2: WordCount jobs at once
//	hpfsp-fig3          H-PFSP, Figure 3: TeraSort jobs at once
//	hpfsp-fig4          H-PFSP, Figure 4: simulated, tasks of equal times
//	hpfsp-fig5          H-PFSP, Figure 5: simulated, tasks of normal times
//	td-small            TD, Section V: a queue of small jobs
//	td-mix              TD, Section V: a queue of jobs of all sizes
//	td-large            TD, Section V: a queue of large jobs
//	rtmr-1              RTMR, Tables II and III: workload I
//	rtmr-2              RTMR, Table IV: workload II
//	mars-random         MarS, Section 5.1: the most randomised scenario
//	mars-uniform-tasks  MarS, Section 5.1: the same number of tasks in each job
//	mars-uniform-times  MarS, Section 5.1: the same times in each job
//	mars-increasing-uw  MarS, Section 5.2: unit weights that increase
//	mars-decreasing-uw  MarS, Section 5.2: unit weights that decrease
//	mars-tasks          MarS, Section 5.2: weights of tasks
//	mars-wikipedia      MarS, Section 6.2: the experiments on EC2 and a local cluster
//
// The papers are:
//
//   - HFSP: M. Pastorelli, D. Carra, M. Dell'Amico, P. Michiardi, "HFSP: Bringing
//     Size-Based Scheduling To Hadoop"
//   - H-PFSP: Y. Li, C. Lin, F. Ren, Y. Geng, "H-PFSP: Efficient Hybrid Parallel
//     PFSP Protected Scheduling for MapReduce System"
//   - TD: X. Wang, D. Shen, G. Yu, T. Nie, Y. Kou, "A Throughput Driven Task
//     Scheduler for Improving MapReduce Performance in Job-intensive Environments"
//   - RTMR: C. He and others, "Real-Time Scheduling in MapReduce Clusters"
//   - MarS: X. Ling, Y. Yuan, D. Wang, J. Liu, J. Yang, "Joint scheduling of
//     MapReduce jobs with servers: Performance bounds and experiments", 2016
//
// A paper tells less than a generator has to know. Whatever it leaves open is an
// [Option]: its Source says where in the paper the default stands, or that it is
// assumed and why.
//
// # Load
//
// The load of a workload is the service time of all its tasks, divided by what the
// slots can serve between the first arrival and the last. Where jobs need map and
// reduce slots, that of the busier class counts. The work of all jobs counts, also
// of the one that arrives when the span ends; what the slots do afterwards does
// not. So n jobs in n-1 equal gaps have n/(n-1) times the load of the endless
// stream that they are a part of.
//
// The option load multiplies all times of arrival by one factor, so that the
// workload has this load: not on average over seeds but each of them, up to the
// rounding of times to nanoseconds. The slots are those that the options slots, or
// map-slots and reduce-slots name. Tasks, deadlines (from the arrival) and the
// pattern of arrivals stay as they are. Jobs are then made twice: once to be
// summed up.
//
// # Random numbers
//
// Each purpose (arrivals, numbers of tasks, times of map tasks, places ...) has
// its own stream of random numbers (PCG) for each job. What is drawn for one
// purpose or job does not depend on what is drawn for others: with twice the mean
// time of a map task, or a tenfold number of jobs, the first jobs arrive as before
// and have the same reduce tasks. Functions of real numbers are those of
// internal/detmath. A number is rounded once, to the nearest nanosecond, when it
// becomes a time.
package workload
