// Package history reads and writes what was done with a policy: the events it was
// told, the slots it was offered, and the answer to each call. One text format
// serves recorded runs, failures to look at, and golden files.
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
// A [Recorder] around a policy, or a [Writer] in the hooks of package sim, makes
// it; [Read] reads it, [Check] finds what cannot be true in it, and [Replay] asks
// a policy to answer the same calls again.
//
// # Lines
//
// A history is UTF-8 text, compressed by gzip or not. The first line names the
// format and its version. After it come headers, which say something of the whole
// and which this package gives no meaning, and then the calls in their order. Blank
// lines may stand anywhere after the first line, and so may comments, from a # that
// starts a word to the end of the line, except in a header. Words are separated by
// spaces and tabs. Lines end in LF or CRLF, and the last one must, or it may be the
// rest of a longer one. A line has at most 64 MiB.
//
//	history  = "sojourn history 1" { header } { call } .
//	header   = name ":" text .                  each name once
//	call     = "@" time ( event [ refusal ] | decision ) .
//
// The time of an event is Event.At; that of a decision is the time of the latest
// event that was accepted.
//
// # Calls of Observe
//
// The word after the time is the name of the kind of the event. What follows are
// the fields that the kind uses. A field that is left out is zero; one that is
// zero is left out by the Writer. Fields come in any order, each once.
//
//	event    = "SlotAdded" id [ node rack class ]
//	         | "SlotRemoved" id
//	         | ( "NodeDown" | "NodeUp" ) id [ rack ]
//	         | ( "JobArrived" | "JobAdopted" | "JobRevised" ) ( job | "nil" )
//	         | "JobCancelled" ( id | "nil" )
//	         | ( "TaskHeld" | "TaskReady" | "TaskDone" ) task
//	         | ( "TaskAdopted" | "TaskFinished" ) attempt slot [ service ]
//	         | "TaskProgress" attempt slot [ progress service ]
//	         | "TaskFailed" attempt slot [ cause service ]
//	         | "TaskRefused" attempt slot
//	         | "OutputLost" attempt
//	         | "Tick"
//	         | "EventKind(" number ")" .         a kind that does not exist
//	task     = job-id "/" phase "/" index .      phase and index count from 0
//	attempt  = task "#" number .
//	node     = "node=" number .                  likewise rack, class, slot,
//	                                             progress (in 1/10000)
//	cause    = "cause=" ( "task" | "preempted" | "slot-lost" | number ) .
//	service  = "service=" time .
//
// A job has the fields of sojourn.Job, then its phases, each after a bar:
//
//	job       = id [ name pool weight deadline demand ] { "|" phase } .
//	name      = "name=" string .                 likewise pool
//	weight    = "weight=" decimal .
//	deadline  = "deadline=" time .
//	demand    = "demand=" number .
//	phase     = tasks [ "x" time ] [ class after estimates inputs bytes delays ] .
//	after     = "after=" ( number | "none" ) .   "none" is NoBarrier
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
// A refusal names the error of package sojourn that the answer wraps, with the
// fields of a RejectedError if it is one, and any other error by its text:
//
//	refusal  = "!" ( name | "ErrRejected" [ job misses by offer exact ] | quoted ) .
//
// # Calls of Assign
//
//	decision = "Assign" slot-id "->" ( "none" | attempt [ slot source locality ] ) .
//	locality = "locality=" ( "any" | "node" | "rack" | "remote" | number ) .
//
// The slot of the assignment is written if it is not the one that was offered,
// which no policy should do.
//
// # Words
//
// A time is a decimal number of seconds, such as 12.5s, or of nanoseconds, such as
// 250ns, with a sign if it is negative; whatever [time.ParseDuration] takes is read
// as well, and cut to whole nanoseconds. A string is a word of letters, digits, and - _ . / or a Go string in
// double quotes. A decimal is the shortest that stands for the float64.
//
// Nothing is rounded: what a Writer writes reads as the same calls and answers, and
// what is read from it writes the same bytes. Values that no policy accepts, such
// as a negative number of tasks, can be written too, since they may be refused.
//
// # Versions
//
// A reader refuses versions that it does not know. New kinds of events and new
// fields do not change the version: an older reader names what it does not know.
// The version changes when a line that was right gets another meaning.
package history
