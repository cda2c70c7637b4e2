package sojourn

import (
	"fmt"
	"time"
)

// An EventKind says what an [Event] reports. The zero EventKind is invalid.
//
// A task is in one of four states. Events and Assign lead from one to another:
//
//	                     JobArrived, JobAdopted,
//	                     JobRevised with more tasks
//	                                 |
//	       TaskHeld                  v           Assign, TaskAdopted
//	held <----------------------- pending --------------------------> running
//	 | -------------------------->  | ^  <------------------------------ |
//	 |     TaskReady                | |          TaskFailed, TaskRefused |
//	 |                              | |                                  |
//	 |                     TaskDone | | OutputLost                       |
//	 |                              v |                                  |
//	 +---------------------------> done <--------------------------------+
//	       TaskDone                              TaskFinished
//
// The tasks of a phase with [Phase].Held begin as held, the others as pending. Assign starts a
// pending task of a phase that is ready: see [Phase].After and [Phase].Needs. JobCancelled
// removes the tasks that are pending or held; a running attempt ends by its own event, and
// its task is then gone. When all tasks of a job are done, the job is complete and its ID is
// unknown, unless it is [Job].Open.
type EventKind uint8

// The comment on each kind ends with the fields that it uses besides Kind and
// At. A driver leaves the others zero: a later version may give them a meaning.
const (
	_ EventKind = iota

	// SlotAdded reports a new, free slot. With the same fields it reports that a retiring
	// slot stays. (Slot)
	SlotAdded
	// SlotRemoved reports that a slot leaves. A free slot is gone at once. A busy
	// one retires: its attempt stays live until an event ends it. Until then the
	// slot counts as capacity; it leaves with the attempt. (Slot.ID)
	SlotRemoved

	// NodeDown reports that data on a node cannot be read. The node's slots have
	// events of their own. A node is up unless it was reported down. The rack of a
	// node is known while the node has slots or is down, and events may not
	// contradict it; rack 0 contradicts nothing. (Slot.Node, Slot.Rack)
	NodeDown
	// NodeUp reports that data on a node can be read again. (Slot.Node, Slot.Rack)
	NodeUp

	// JobArrived reports a new job. The policy may refuse it; its ID is then unused.
	// (Job)
	JobArrived
	// JobAdopted reports a job that was accepted before a restart. The policy may refuse
	// it with ErrUnsupported, but never because capacity is short. If a guarantee can no
	// longer be given, it is void, and Explain says so. Service is how long ago the job
	// arrived, 0 if that is not known. A policy may make up for it. (Job, Service)
	JobAdopted
	// JobRevised replaces what is known of a live job: its estimates, weight, priority, deadline, parallelism, release time,
	// thresholds, sizes, delays, or numbers of tasks. Every task that was ever assigned or adopted, is held or is
	// done must remain. The name, the pool, the sequence, the number of phases, their classes and the inputs of
	// tasks that run or are done may not change; those of tasks that wait may, since data moves. Otherwise the error
	// is ErrInvalidRevision. If the tasks that remain are all done, the revision completes the job, unless it is Open. The policy may
	// refuse the revision.
	//
	// To add tasks to a large job takes no longer than to describe them: a list that continues the one before in the
	// same memory, as append makes it, is not read again. (Job)
	JobRevised
	// JobCancelled reports that no more of a job will be run. Its pending tasks
	// vanish. Its running attempts end by events of their own and are not tried
	// again. After the last of them the job is forgotten. (Job.ID)
	JobCancelled

	// TaskHeld reports that a pending task may not be started for now: it waits for
	// something outside the policy. Attempt, unless 0, is the number of the last attempt at
	// the task. The next attempt has the number after it. (Task, Attempt)
	TaskHeld
	// TaskReady reports that a held task may be started. Attempt is as in TaskHeld.
	// (Task, Attempt)
	TaskReady
	// TaskDone reports that a pending task, held or not, needs no run because it ended
	// before a restart. (Task)
	TaskDone
	// TaskAdopted reports an attempt that this policy did not assign because it
	// was started before a restart. It runs on a slot that the policy counts as
	// free. The task must be pending and not held, as long as a task has one live attempt at a time: see
	// TaskFailed. It does not matter whether its phase may start. Attempt is above that of any earlier attempt at the task,
	// and Service is how long the attempt has been running. (Task, Attempt,
	// Slot.ID, Service)
	TaskAdopted
	// TaskProgress reports how much of a running attempt is done and how long it has been
	// running. (Task, Attempt, Slot.ID, Progress, Service)
	TaskProgress
	// TaskFinished reports success. Service is how long the attempt ran, without
	// the time it waited for input; 0 means not measured. Cost is what it has cost. (Task, Attempt,
	// Slot.ID, Service, Cost)
	TaskFinished
	// TaskFailed reports that an attempt ended without success. Cause is the
	// reason. The task is pending again, from its beginning: Progress stays 0 here, and is
	// kept for the part that a later version may let survive. A task has one live attempt at a
	// time. Where a later [Features] allows copies of it, it is pending again when none of
	// them is live. (Task, Attempt, Slot.ID, Cause, Service, Cost)
	TaskFailed
	// TaskRefused reports that an assignment was never started. The task is
	// pending again; its next attempt has the next number. (Task, Attempt, Slot.ID)
	TaskRefused
	// OutputLost reports that a finished task must run again. Attempt is the number
	// of the last attempt at the task, 0 if there was none. That attempt is the one
	// that finished, unless TaskDone was reported. (Task, Attempt)
	OutputLost

	// Tick reports that time has passed. ()
	Tick

	// TaskPinned reports that a running attempt will not be killed, because something forbids it: a
	// disruption budget, a commit that must not be torn apart. From then on, until the attempt ends, a
	// [Preemptor] does not list it and names other victims or none. A driver answers with it a [Preemption]
	// that it cannot carry out, or reports it before anybody asks. To report it twice changes nothing.
	// (Task, Attempt, Slot.ID)
	TaskPinned

	// PoolChanged reports how a pool is treated from now on: its weight, its limits, and whether it is paused. It
	// replaces all of what the policy was made with, or was told before, for that pool. A Pool with nothing but a name
	// is again what the policy was made with. What runs goes on, also above a new limit. A policy that knows no pools
	// refuses it with ErrUnsupported. See [FeaturePools]. (Pool)
	PoolChanged

	numKinds = iota
)

var kindNames = [numKinds]string{
	SlotAdded: "SlotAdded", SlotRemoved: "SlotRemoved", NodeDown: "NodeDown", NodeUp: "NodeUp",
	JobArrived: "JobArrived", JobAdopted: "JobAdopted", JobRevised: "JobRevised", JobCancelled: "JobCancelled",
	TaskHeld: "TaskHeld", TaskReady: "TaskReady", TaskDone: "TaskDone", TaskAdopted: "TaskAdopted",
	TaskProgress: "TaskProgress", TaskFinished: "TaskFinished", TaskFailed: "TaskFailed",
	TaskRefused: "TaskRefused", OutputLost: "OutputLost", Tick: "Tick", TaskPinned: "TaskPinned", PoolChanged: "PoolChanged",
}

// Valid reports whether k is one of the constants. A policy answers an event of any other
// kind with [ErrUnknownKind]. Readers of events use Valid to go through all kinds, since
// the last constant changes with versions.
func (k EventKind) Valid() bool { return k > 0 && k < numKinds }

// String returns the name of the constant.
func (k EventKind) String() string {
	if !k.Valid() {
		return fmt.Sprintf("EventKind(%d)", uint8(k))
	}
	return kindNames[k]
}

// A Cause says why an attempt failed.
//
// A policy that orders jobs by the service that they have had charges a job for its attempts: the
// job then comes after jobs that have had less. What others did to an attempt is never charged:
//
//	an attempt that ends by          is charged   because
//	TaskFinished                     at once      the job has what it asked for
//	TaskRefused                      never, or    it was not started. If one of the job was refused before and none
//	                                 at once      has finished since, a policy may charge it, so that a job that is
//	                                              refused again and again does not keep others waiting for ever
//	TaskFailed with CausePreempted   never        the slot was taken for another job
//	TaskFailed with CauseSlotLost    never        the cluster has lost the work, not the job
//	TaskFailed with CauseTask        later        when the next attempt of the job ends that is not lost, or the job:
//	                                              a retry keeps the place of its job, and a job that fails
//	                                              again and again does not keep others waiting for ever
//
// Causes are open: a later version may have more of them. A cause that a policy does not know counts as
// CauseSlotLost, and no policy refuses a TaskFailed because of its cause, since what ended has ended
// (TestUnknownCause).
//
// Package sojourntest checks this by the law of lost work. Package td does not keep it: the status of
// a job only ever grows there, as in the paper. Package pfsp keeps it while no job has used up its estimate, and
// package mars while it makes no plan: a plan is about what waits, and what ran meanwhile is not in it.
type Cause uint8

const (
	CauseTask      Cause = iota // the task itself failed
	CausePreempted              // the driver killed it because a [Preemptor] asked for its slot
	CauseSlotLost               // its slot or node was lost
	numCauses      = iota
)

var causeNames = [numCauses]string{"CauseTask", "CausePreempted", "CauseSlotLost"}

// Valid reports whether c is one of the constants of this version.
func (c Cause) Valid() bool { return c < numCauses }

// String returns the name of the constant.
func (c Cause) String() string {
	if !c.Valid() {
		return fmt.Sprintf("Cause(%d)", uint8(c))
	}
	return causeNames[c]
}

// MaxProgress is the [Event.Progress] of an attempt that is about to finish.
const MaxProgress = 10000

// An Event is something that happened in the cluster. It is small and comparable; it is
// passed and kept by copy. Kind determines which fields count.
//
// A minor version adds to it in three places: a new kind, which an older policy answers with
// [ErrUnknownKind]; a field that a kind left unused; the [Job], which may grow. The zero value
// keeps the old meaning. If an older policy would decide wrongly without an addition, the
// addition is one of the [Features].
type Event struct {
	Kind     EventKind
	Cause    Cause
	Progress uint16        // in 1/10000, at most MaxProgress
	Attempt  uint32        // counts the attempts at a task from 1
	At       Time          // never before the At of an earlier event
	Task     TaskID        // the task that a kind with Task in its name, or OutputLost, is about
	Slot     Slot          // all of it for SlotAdded; otherwise the fields that the kind names
	Job      *Job          // all of it for JobArrived, JobAdopted, JobRevised; only the ID for JobCancelled
	Service  time.Duration // never negative
	Pool     *Pool         // for PoolChanged

	// Cost is what the attempt has cost, where that is not the time on its slot: tokens, bytes, money, in a unit
	// that all ends have in common. Zero means the time on the slot, in nanoseconds; beside ends that tell of costs, it
	// counts as what such a time has cost of late. What is above 2^63-1 counts as that. It only helps to decide: package fair shares it between pools, and other policies ignore it.
	Cost uint64
}

// String formats the event on one line: its kind, what it concerns, and when.
func (e Event) String() string {
	var what string
	switch e.Kind {
	case SlotAdded:
		what = fmt.Sprintf(" slot %d node %d rack %d class %d", e.Slot.ID, e.Slot.Node, e.Slot.Rack, e.Slot.Class)
	case SlotRemoved:
		what = fmt.Sprintf(" slot %d", e.Slot.ID)
	case NodeDown, NodeUp:
		what = fmt.Sprintf(" node %d", e.Slot.Node)
	case JobArrived, JobAdopted, JobRevised, JobCancelled:
		what = " without a job"
		if e.Job != nil {
			what = fmt.Sprintf(" job %d", e.Job.ID)
		}
	case PoolChanged:
		what = " without a pool"
		if e.Pool != nil {
			what = fmt.Sprintf(" pool %q", e.Pool.Name)
		}
	case TaskHeld, TaskReady, TaskDone:
		what = fmt.Sprintf(" task %v", e.Task)
	case TaskAdopted, TaskFinished, TaskRefused, TaskPinned:
		what = fmt.Sprintf(" task %v attempt %d slot %d", e.Task, e.Attempt, e.Slot.ID)
	case TaskFailed:
		what = fmt.Sprintf(" task %v attempt %d slot %d %v", e.Task, e.Attempt, e.Slot.ID, e.Cause)
	case TaskProgress:
		what = fmt.Sprintf(" task %v attempt %d slot %d progress %d", e.Task, e.Attempt, e.Slot.ID, e.Progress)
	case OutputLost:
		what = fmt.Sprintf(" task %v attempt %d", e.Task, e.Attempt)
	}
	return fmt.Sprintf("%v%s at %v", e.Kind, what, e.At)
}
