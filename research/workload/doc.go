// Package workload makes workloads from a seed: those of the papers that the policies of this
// library come from, and general ones. Use it if you have no trace, or want to repeat a paper's
// experiment.
//
// Tier: research.
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
//	spark               queries of Spark: graphs of stages as in Alibaba's trace of 2018
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
//   - Alibaba's trace of 2018: H. Tian, Y. Zheng, W. Wang, "Characterizing and Synthesizing
//     Task Dependencies of Data-Parallel Jobs in Alibaba Cloud", SoCC 2019, for the graphs of
//     spark; its inputs and arrivals are those of H. Mao and others, "Learning Scheduling
//     Algorithms for Data Processing Clusters", SIGCOMM 2019 (Decima)
//
// # Graphs of stages
//
// A job of spark is made in this order:
//
//	what                    distribution                                              source
//	number of stages        histogram, from 1 to 40                                   Alibaba 2018, by Spår
//	longest path            histogram for each number of stages                       Alibaba 2018, by Spår
//	level of other stages   all levels of the longest path alike                      assumed; close to Spår's
//	edges                   a stage feeds 3/4 of (next level / its level) stages of   Spår
//	                        the next level, rounded up
//	                        a stage that nothing feeds gets one of the level before   assumed
//	input in GB             one of 2, 5, 10, 20, 50, 80, 100                          Decima
//	arrivals                Poisson, 25 s apart on average                            Decima
//	parts of the input      exponential, for each stage of the first level            assumed
//	what a stage writes     a uniform share, 0.3 on average, divided among readers    assumed
//	tasks                   one for 128 MB of input, one for 64 MB of other data,     Spark's defaults
//	                        at most 200 of these
//	times                   0.2 s, and 4 s for 128 MB or 2 s for 64 MB, with          assumed
//	                        log-normal noise
//
// Spår is the generator of the paper of 2019. A graph that is a chain has no Needs, so that policies
// that do not know them run it too.
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
