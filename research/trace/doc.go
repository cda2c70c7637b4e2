// Package trace reads and writes workloads and descriptions of clusters. Use it to bring your
// own jobs into the simulator, or to convert a public trace.
//
// Tier: research.
//
//	cluster, err := trace.ParseCluster("20x4+1") // 20 nodes of 4 map slots and 1 reduce slot
//	jobs := trace.Read(file, trace.ReadOptions{}) // for sim.Config.Jobs
//
// All formats may be compressed by gzip. They may begin with a byte order mark, which is skipped
// and not counted in columns.
//
// # Workload
//
// A workload is UTF-8 text with one job a line. Each line is a JSON object and ends in LF or
// CRLF; the last one may lack its end. Lines of white space alone are skipped. Keys come in any
// order, and their case matters. An unknown key is an error, and so is a key that comes twice.
// Here is a job, broken into several lines only to be read:
//
//	{"id":1,"name":"wc","at":12.5,"pool":"etl","weight":30,"deadline":300,"priority":1,"parallelism":40,"release":60,
//	 "sequence":"account 7","phases":[
//	  {"class":"map","tasks":3,"time":[10.2,9.1,11],"estimate":10,"bytes":[134217728,134217728,9000],
//	   "nodes":[["n1","n7"],["n2"],["n3"]],"delay":[1,0.9,1.1],"cost":[5,4,1]},
//	  {"class":"reduce","tasks":2,"time":15,"after":3}]}
//
// Keys of a job:
//
//	id        1 to 2^64-1, used once in the file                          required
//	at        time of arrival; lines are in the order of at               required
//	phases    list of at least one phase                                  required
//	name      string that recurring runs share
//	pool      string
//	weight    at least 2^-16 and below 2^32; policies round it to a multiple of 2^-16
//	deadline  time from at until the job should be complete, above 0
//	priority     greater ones go first: -2^31 to 2^31-1; 0 is the usual one
//	parallelism  tasks that may run at a time, 0 to 2^32-1; 0 is any number
//	release      time from at until the first task may start, above 0
//	sequence     string, not empty: jobs of one sequence run one after the other, in their order
//
// Keys of a phase:
//
//	time      service time of a task: of each (number), or a list         required
//	tasks     number of tasks, at least 1         required where time is not a list
//	class     "map", "reduce" or a number from 0 to 255, of which "map" is 0 and
//	          "reduce" is 1; without it the phase runs on uniform slots, and on a
//	          cluster of several classes the first phase of a job means map, later
//	          ones mean reduce
//	estimate  what the policy is told of the service time: of each task (number,
//	          above 0), or a list, in which 0 stands for unknown
//	bytes     size of a task's input, 0 to 2^63-1: of each (number), or a list
//	nodes     list of one list a task: the names of the nodes that hold its input;
//	          an empty one means that the task runs equally well anywhere
//	delay     time from the end of a task until its output has reached the next
//	          phase: of each task (number), or a list
//	cost      what a task costs where that is not time, 0 to 2^63-1, in a unit that all of the file have
//	          in common: of each (number), or a list, in which 0 stands for its time. See [sojourn.Event]
//	added     times from at until each task comes: a list, from 0 on, each no less than the one before. The job
//	          is open until the last has come, and no phase waits for this one. Without it, all tasks come with the job
//	after     how many tasks of the phase before must have finished before tasks of
//	          this one start: 1 to their number, or "none" for no task at all.
//	          Without it, all of them. 0 is an error, since it could mean both. The
//	          first phase has none, or "none".
//	needs     list of the phases that must have finished before tasks of this one
//	          start, instead of the phase before: numbers from 0, increasing, below
//	          that of this phase. An empty list means none. Not beside after.
//
// A list has one entry for each task. Integers are written in digits alone. Times are decimal
// numbers of seconds, with or without an exponent, at least 0 and at most 9223372036.854775807.
// They are exact to the nanosecond: digits beyond the ninth decimal round to the nearest
// nanosecond, ties to even. The service times of a job add up to at most that maximum, and so do
// the estimates of a phase.
//
// # Cluster
//
// The short form of a cluster is a list of items:
//
//	20x4+1,10x2+1  20 nodes of 4 map slots and 1 reduce slot each, then 10 nodes of 2 and 1
//	8x4+2+1        with a slot of class 2 besides, and so on for 256 classes
//	50x2           50 nodes of 2 uniform slots, which take tasks of any class
//
// One cluster cannot have both classes and uniform slots. The nodes are named n1, n2, ...
// through all items, and their racks are unknown.
//
// The long form is a JSON object, compressed by gzip or not:
//
//	{"nodes":[
//	{"name":"n1","rack":"r1","speed":1,"slots":{"map":2,"reduce":1}},
//	{"name":"n2","rack":"r1","slots":{"map":2}}
//	]}
//
//	name   string, not empty, used once                                   required
//	slots  {"map":M,"reduce":R,"2":N,...}, by class, each 0 if left out, or a number
//	       of uniform slots, the same kind for all nodes                  required
//	rack   string; without it, or empty, the rack is unknown
//	speed  what service times are divided by, 2^-16 to 2^16; 1 without it
//
// The rules for keys are those of a workload. In both forms a cluster has at least one slot, at
// most [sojourn.MaxSlots] slots, and at most 2^20 nodes. A node may have no slot.
//
// # SWIM
//
// SWIM traces (Chen, Ganapathi, Griffith and Katz, "The Case for Evaluating
// MapReduce Performance Using Workload Suites", MASCOTS 2011) are lines of
// tab-separated fields, compressed by gzip or not:
//
//	job_id  submit_s  gap_s  map_input_bytes  shuffle_bytes  reduce_output_bytes  [input_path  ...]
//
// Two more fields may follow input_path. These two and gap_s are ignored. Lines are in the order
// of submit_s. The name of the job is input_path, or job_id if there is no input_path. A trace
// has neither the number of tasks nor their times. They are computed from the bytes with the
// fields of [SWIMOptions]:
//
//	map only  if shuffle = 0
//	maps      max(1, ceil(ByteScale*input/BytesPerMap)),
//	          if map only at least ceil(ByteScale*output/BytesPerMap)
//	map       Overhead + ByteScale*input/maps/Rate,
//	          if map only + ByteScale*output/maps/Rate
//	reduces   max(1, ceil(ByteScale*max(shuffle,output)/BytesPerReduce)),
//	          if map only 0, and no second phase
//	reduce    Overhead + ByteScale*(shuffle+output)/reduces/Rate
//
// Output counts for the maps of a map-only job, because many of these jobs in real traces write
// more than they read: if input alone decided the number of maps, they would run for hours.
// Times are computed exactly and rounded once to the nearest nanosecond, ties to even. With
// Noise s, the time of each task is multiplied by exp(s*z), with z standard normal.
//
// # Hadoop: Rumen, SLS, job histories
//
// Three formats record the attempts at the tasks of MapReduce jobs. Times are in milliseconds
// since the Unix epoch. -1 and null mean unknown:
//
//	Rumen   one JSON object a job, one after the other, with white space in
//	        between or nothing
//	SLS     the same, or objects of the format of YARN's Scheduler Load Simulator
//	        ("job.start.ms", "job.tasks": [{"container.type": "map", ...}])
//	jhist   job histories of Hadoop 2 and later: Avro-Json, a line with the schema,
//	        then one event a line; one job, or several files one after the other
//
// The readers use the following and ignore everything else. In names, a backslash stands for the
// next character.
//
//	at      time of submission, counted from that of the first job that is returned.
//	        Jobs may come out of order: Window of them are held back, one that is later
//	        than that is an error
//	name    name of the job, or its ID where there is none
//	pool    queue, or user
//	phases  maps and reduces that are recorded, whether the job succeeded or not; a
//	        barrier in between. Setup and cleanup tasks are left out
//	time    of the successful attempt that ended first, from its start to its end. The
//	        work of a reduce starts when its shuffle and the last map have ended, if
//	        that is later than its own start: waiting for maps is no work, and a
//	        shuffle cannot be told from it. Where SLS tells only a duration, it is that
//	bytes   of the input of a map (inputBytes, or else what the attempt read of HDFS),
//	        or of the shuffle of a reduce; 0 where only others of the phase know
//	nodes   preferredLocations, by the last of their layers; in histories
//	        splitLocations
//
// A task without a known time usually belongs to a job that failed. It gets the mean of the known
// times of its phase. If there are none, it gets the mean of the unsuccessful attempts of the
// phase that did some work. If there are none either, the phase is left out. Failures are not
// repeated: every task has one time.
//
// A topology is a nested JSON object {"name": ..., "children": [...]}. A place without a list of
// children is a host. The places around it, below the outermost one, are its rack, with their
// names joined by / if there are several. A topology does not say how many slots a host has.
//
// # SWF
//
// The Standard Workload Format of the Parallel Workloads Archive (Feitelson, Tsafrir and Krakov,
// "Experience with using the Parallel Workloads Archive", JPDC 2014) has one job a line: 18 numbers
// with white space in between. More fields, which some simulators write, are ignored and counted. A negative number means unknown. A line whose first character other
// than white space is a semicolon is a comment.
//
// A job that ran for t seconds on p allocated processors becomes one phase of p tasks of t
// seconds, of any class, at its time of submission. The tasks need not start together, although
// the processes of most such jobs must. With Requested, the requested time is the estimate. The
// name is that of the user and the program (the executable), such as user3/app7. If only one of
// them is known, it is user3 or app7; if neither is, it is the number of the job, such as job12.
// The pool is the queue, user or group, such as user3. Jobs out of order are treated as above.
//
// The reader drops jobs with an unknown time of submission or run time, and jobs without
// processors. It also drops lines of status 2, 3 and 4, which describe parts of a job that has a
// line of its own. It ignores memory, think times and dependencies.
//
// # Graphs: Alibaba, WfCommons
//
// Two formats have jobs whose tasks form a graph. Their tasks become phases that say what they need.
// [ReadAlibaba] reads table batch_task of Alibaba's trace of 2018, where names such as J3_1_2 say
// what a task waits for, and [ReadWfCommons] reads workflows in WfFormat. Their phases are of any
// class. The readers drop jobs of which a time is unknown, and jobs whose tasks wait for each other
// in a circle.
//
// [Stats] counts what a reader drops, assumes or does not know.
//
// # Errors
//
// If the input is wrong, an [*Error] says what, with the line and the column. The first error ends
// a sequence: nothing comes after it, and the jobs before it stay valid. Limits keep broken and
// hostile input from exhausting memory.
package trace
