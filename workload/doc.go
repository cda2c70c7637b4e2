// Package workload makes workloads from a seed: those of the papers that the policies of this
// library come from, and general ones. Use it if you have no trace, or want to repeat a paper's
// experiment.
//
//	g, err := workload.Lookup("hfsp-test")
//	...
//	jobs, err := g.Jobs(1, map[string]string{"load": "0.9", "jobs": "1000"}) // 1 is the seed
//
// The jobs are for sim.Run or trace.Write. Equal seeds and options make equal jobs, on every
// platform.
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
// A paper says less than a generator has to know. What a paper leaves open is an [Option]. Its
// Source says where in the paper the default stands, or that the default is assumed, and why.
//
// # Load
//
// The load of a workload is the service time of all its tasks, divided by what the slots can
// serve between the first arrival and the last. If jobs need map and reduce slots, the load of
// the busier class counts. The work of all jobs counts, even of a job that arrives when the
// span ends. What the slots do after the span does not count. So n jobs in n-1 equal gaps have
// n/(n-1) times the load of the endless stream that they are a part of.
//
// The option load multiplies all times of arrival by one factor, so that the workload has this
// load. Each seed has this load, not only the average of seeds, up to the rounding of times to
// nanoseconds. The options slots, or map-slots and reduce-slots, give the slots. Tasks,
// deadlines (counted from the arrival) and the pattern of arrivals stay as they are. Jobs are
// then made twice: the first time only to add them up.
//
// # Random numbers
//
// Each purpose (arrivals, numbers of tasks, times of map tasks, places ...) has a stream of
// random numbers (PCG) of its own for each job. A draw for one purpose or job does not depend on
// the draws for others. If you double the mean time of a map task, or take ten times as many
// jobs, the first jobs arrive as before and have the same reduce tasks. Functions of real
// numbers are those of internal/detmath. A number is rounded once, to the nearest nanosecond,
// when it becomes a time.
package workload
