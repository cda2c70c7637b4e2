// Package history reads and writes every call of a policy as text: the events, the slots that
// were offered, and the answer to each call. Use it to record a run, to look at a failure, to
// replay a run under another policy, or for golden files.
//
// Tier: kit.
//
//	w := history.NewWriter(file)
//	p := history.NewRecorder(policy, w) // a Policy that records its calls
//	...
//	err := w.Flush()
//
// It writes this:
//
//	sojourn history 1
//	policy: fifo
//	# Two jobs, one slot.
//	@0s SlotAdded 0 node=1
//	@0s JobArrived 1 name=wc pool=etl weight=2 | 3x10s | 2x15s class=1 after=2
//	@0s Assign 0 -> 1/0/0#1
//	@4.5s JobArrived 1 | 1 !ErrDuplicateJob
//	@10s TaskFinished 1/0/0#1 slot=0 service=10s
//	@10s Assign 0 -> 1/0/1#1
//	@12s TaskFailed 1/0/1#1 slot=0 cause=preempted
//
// A [Recorder] around a policy writes such a history, and so does a [Writer] in the hooks of
// package sim. [Read] reads it, [Check] finds what cannot be true in it, and [Replay] asks a
// policy to answer the same calls again.
//
// # Lines
//
// A history is UTF-8 text, compressed by gzip or not. The first line names the format and its
// version. Headers follow, which describe the whole history; this package gives them no
// meaning. Then the calls follow in their order. Blank lines may stand anywhere after the first
// line. A comment goes from a # that starts a word to the end of the line; headers have no
// comments. Spaces and tabs separate words. Lines end in LF or CRLF. The last line must end so,
// too: without its end it may be the rest of a longer line. A line has at most 64 MiB.
//
//	history  = "sojourn history 1" { header } { call } .
//	header   = name ":" text .                  each name once
//	call     = "@" time ( event [ refusal ] | decision ) .
//
// The time of an event is Event.At. The time of a decision is that of the latest event that was
// accepted.
//
// # Calls of Observe
//
// The word after the time is the name of the kind of the event. Then come the fields that the
// kind uses, in any order, each once. A field that is left out is zero. The Writer leaves out
// fields that are zero.
//
//	event    = "SlotAdded" id [ node rack class speed ]
//	         | "SlotRemoved" id
//	         | ( "NodeDown" | "NodeUp" ) id [ rack ]
//	         | ( "JobArrived" | "JobRevised" ) ( job | "nil" )
//	         | "JobAdopted" ( job | "nil" )      which may have an age: Event.Service
//	         | "JobCancelled" ( id | "nil" )
//	         | ( "TaskHeld" | "TaskReady" ) ( task | attempt )
//	         | "TaskDone" task
//	         | "TaskAdopted" attempt slot [ service ]
//	         | "TaskFinished" attempt slot [ service cost ]
//	         | "TaskProgress" attempt slot [ progress service ]
//	         | "TaskFailed" attempt slot [ cause service cost ]
//	         | ( "TaskRefused" | "TaskPinned" ) attempt slot
//	         | "PoolChanged" ( pool | "nil" )
//	         | "OutputLost" attempt
//	         | "Tick"
//	         | "EventKind(" number ")" .         a kind that does not exist
//	task     = job-id "/" phase "/" index .      phase and index count from 0
//	attempt  = task "#" number .
//	node     = "node=" number .                  likewise rack, class, slot,
//	                                             progress (in 1/10000)
//	cause    = "cause=" ( "task" | "preempted" | "slot-lost" | number ) .
//	service  = "service=" time .
//	cost     = "cost=" number .                  the greatest is 2^64-1
//
// A pool has the fields of sojourn.Pool:
//
//	pool      = name [ weight min max max-jobs paused ] .   name is "pool=" string
//	min       = "min=" class ":" slots { "+" class ":" slots } .   likewise max
//	max-jobs  = "max-jobs=" number .
//	paused    = "paused=all" .
//
// A job has the fields of sojourn.Job, then its phases, each after a bar:
//
//	job       = id [ age name pool weight priority deadline parallelism release sequence open ] { "|" phase } .
//	age       = "age=" time .
//	name      = "name=" string .                 likewise pool
//	weight    = "weight=" decimal .
//	deadline  = "deadline=" time .
//	priority  = "priority=" integer .            greater ones go first
//	parallelism = "parallelism=" number .       tasks that may run at a time
//	release   = "release=" time .                no task starts before it
//	sequence  = "sequence=" string .             jobs of one sequence run one after the other
//	open      = "open=all" .                     more tasks may come
//	phase     = tasks [ "x" time ] [ class after needs held estimates inputs bytes delays ] .
//	after     = "after=" ( number | "none" ) .   "none" is NoBarrier
//	needs     = "needs=" ( number { "+" number } | "-" ) .   "-" if it needs none
//	held      = "held=all" .
//	estimates = "estimates=" list of time .      likewise delays
//	bytes     = "bytes=" list of number .
//	inputs    = "inputs=" list of nodes .
//	nodes     = id { "+" id } | "-" .            "-" if there are none
//	list      = [ item { "," item } ] .          empty is not the same as left out
//	item      = [ number "x" ] value .           that many equal values
//
// The time after "x" is the Estimate of each task: 5000x10s is a phase of 5000
// tasks of ten seconds. Lists of a line have at most 2^24 values together.
//
// A refusal names the error of package sojourn that the answer wraps. A RejectedError also has
// its fields. Any other error is written by its text:
//
//	refusal  = "!" ( name | "ErrRejected" [ job misses by offer exact ] | quoted ) .
//
// # Calls of Assign
//
//	decision = "Assign" slot-id "->" ( "none" | attempt [ slot source locality ] ) .
//	locality = "locality=" ( "any" | "node" | "rack" | "remote" | number ) .
//
// The slot of the assignment is written only if it is not the slot that was offered. No policy
// should answer so.
//
// # Words
//
// A time is a decimal number of seconds, such as 12.5s, or of nanoseconds, such as 250ns, with
// a sign if it is negative. Whatever [time.ParseDuration] takes is read as well, and cut to
// whole nanoseconds. A string is a word of letters, digits, and - _ . / or a Go string in double
// quotes. A decimal is the shortest that stands for the float64.
//
// Nothing is rounded. What a Writer writes reads as the same calls and answers, and what is
// read from it writes the same bytes. Values that no policy accepts, such as a negative number
// of tasks, can be written, too, since they may be refused.
//
// # Versions
//
// A reader refuses versions that it does not know. Additional kinds of events and additional
// fields do not change the version: an older reader reports what it does not know. The version
// changes when a valid line gets another meaning.
package history
