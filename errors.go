package sojourn

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Observe returns an [*EventError] that wraps one of these errors, and leaves
// the policy as it was. If an event is wrong in several ways, Observe reports
// the first error in this order. The comment on each error names the kinds of
// event that can cause it.
var (
	// ErrUnknownKind: Event.Kind is zero or none of the constants.
	ErrUnknownKind = errors.New("unknown event kind")
	// ErrTimeReversed, any kind: Event.At is before that of an earlier event, or
	// negative.
	ErrTimeReversed = errors.New("time runs backwards")
	// ErrInvalidEvent: a field is out of range: Progress above 10000 in
	// TaskProgress, node 0 in NodeDown or NodeUp,
	// attempt 0 or one above 2^31 in TaskAdopted, one above 2^31 in TaskHeld or
	// TaskReady, a negative Service in JobAdopted, TaskAdopted, TaskProgress, TaskFinished
	// or TaskFailed.
	ErrInvalidEvent = errors.New("field out of range")

	// ErrInvalidSlot: in SlotAdded, the ID is not below MaxSlots, or the class not below
	// MaxClasses; in SlotAdded, NodeDown and NodeUp, the rack is not the one known for the node.
	ErrInvalidSlot = errors.New("invalid slot")
	// ErrDuplicateSlot, SlotAdded: a slot of that ID is present.
	ErrDuplicateSlot = errors.New("slot already present")
	// ErrUnknownSlot, SlotRemoved and TaskAdopted: no slot of that ID is present; a
	// retiring slot counts as gone.
	ErrUnknownSlot = errors.New("unknown slot")
	// ErrNodeState: NodeDown of a node that is down, or NodeUp of one that is up.
	ErrNodeState = errors.New("node is already in that state")

	// ErrInvalidJob: in JobArrived, JobAdopted and JobRevised, see [Job.Check]; in
	// JobCancelled, no Job at all.
	ErrInvalidJob = errors.New("invalid job")
	// ErrDuplicateJob, JobArrived and JobAdopted: a job of that ID is live; a cancelled
	// job is live until its last attempt has ended.
	ErrDuplicateJob = errors.New("job is already live")
	// ErrUnknownJob, all other kinds that name a job or a task: no job of that ID is live.
	// No job has ID 0, and ended jobs are forgotten.
	ErrUnknownJob = errors.New("unknown job")
	// ErrCancelledJob, the same kinds except the reports about running attempts
	// (TaskProgress, TaskFinished, TaskFailed, TaskRefused, TaskPinned): the job is cancelled
	// and only waits for its last attempts.
	ErrCancelledJob = errors.New("job is cancelled")
	// ErrInvalidRevision: JobRevised changes what may not change; see [JobRevised].
	ErrInvalidRevision = errors.New("invalid revision")

	// ErrInvalidPool, PoolChanged: see [Pool.Check].
	ErrInvalidPool = errors.New("invalid pool")

	// ErrUnknownTask, all kinds that name a task: the job has no such phase or task.
	ErrUnknownTask = errors.New("unknown task")
	// ErrTaskState, TaskHeld, TaskReady, TaskDone, TaskAdopted and OutputLost: the
	// event does not fit the state of the task. Examples are TaskDone of a running
	// task and TaskReady of one that is not held.
	ErrTaskState = errors.New("task is not in that state")
	// ErrStaleAttempt: in reports about running attempts, that attempt does not run
	// on that slot (or no longer does), or there is no such slot; in TaskAdopted,
	// Attempt is not above all earlier ones; in OutputLost, it is not the last one; in
	// TaskHeld and TaskReady, it is below the last one.
	ErrStaleAttempt = errors.New("no such attempt")
	// ErrSlotBusy: TaskAdopted on a slot that runs something else.
	ErrSlotBusy = errors.New("slot is busy")
	// ErrWrongClass: TaskAdopted on a slot of another class than the phase's.
	ErrWrongClass = errors.New("slot is of another class")

	// ErrUnsupported, JobArrived, JobAdopted and JobRevised, TaskHeld and TaskReady with
	// an Attempt, SlotAdded with a Speed, PoolChanged: the event is valid, but this policy cannot schedule the job, or
	// treat the pool so, or does not know one of the [Features] that the event uses. For example, the job has more phases
	// than the policy's theory covers.
	ErrUnsupported = errors.New("not supported by this policy")
	// ErrRejected, JobArrived and JobRevised: the policy declines the job. The error wraps
	// a [*RejectedError] that gives the reason.
	ErrRejected = errors.New("job rejected")
)

// ErrForeignSnapshot: UnmarshalBinary of a [Snapshotter] returns an error that wraps it if the
// snapshot is undamaged but cannot be restored. It comes from another policy or another
// version, or was taken under another value of an option that may not change. A driver that
// knows its jobs can tell the policy of them instead, by JobAdopted, TaskDone, TaskHeld and
// TaskAdopted.
var ErrForeignSnapshot = errors.New("the snapshot is of something else")

// An EventError says which event a policy refused, and why.
type EventError struct {
	Event Event
	Err   error // wraps one of the sentinels of this package
}

// Error describes the event and the reason in one line.
func (e *EventError) Error() string { return fmt.Sprintf("sojourn: %v: %v", e.Event, e.Err) }

// Unwrap returns e.Err.
func (e *EventError) Unwrap() error { return e.Err }

// A RejectedError says why an [Admitter] declines a job, and which deadline it would accept
// instead.
type RejectedError struct {
	Job    JobID         // the job that is declined
	Misses JobID         // the job that would miss its deadline: Job itself, or one accepted earlier
	By     time.Duration // how late that job would be; 0 if not told, math.MaxInt64 if its end is unknown
	Offer  Time          // the earliest deadline that would be accepted now; 0 if there is none
	Exact  bool          // no deadline before Offer would be accepted
}

// Error describes the refusal in one line.
func (e *RejectedError) Error() string {
	s := ErrRejected.Error()
	switch e.By {
	case 0:
	case math.MaxInt64:
		s += fmt.Sprintf(": nobody knows when job %d would end", e.Misses)
	default:
		s += fmt.Sprintf(": job %d would miss its deadline by %v", e.Misses, e.By)
	}
	if e.Offer > 0 {
		s += fmt.Sprintf("; a deadline of %v would be accepted", e.Offer)
	}
	return s
}

// Unwrap returns [ErrRejected].
func (e *RejectedError) Unwrap() error { return ErrRejected }

// A SlotError is the value that [Policy.Assign] panics with if the slot is not free.
type SlotError struct {
	Slot SlotID
	Busy bool // it runs an attempt; otherwise it is unknown or retiring
}

// Error says which slot is not free, and why.
func (e *SlotError) Error() string {
	if e.Busy {
		return fmt.Sprintf("sojourn: Assign of slot %d, which is busy", e.Slot)
	}
	return fmt.Sprintf("sojourn: Assign of slot %d, which is unknown or retiring", e.Slot)
}
