package sojourn

import (
	"errors"
	"fmt"
	"time"
)

// Observe returns an [*EventError] that wraps one of these, and leaves the
// policy as it was. Where an event is wrong in several ways, the first one in
// this order is reported.
var (
	// ErrUnknownKind: Event.Kind is zero or none of the constants.
	ErrUnknownKind = errors.New("unknown event kind")
	// ErrTimeReversed: Event.At is before that of an earlier event, or negative.
	ErrTimeReversed = errors.New("time runs backwards")
	// ErrInvalidEvent: a field other than the job or the slot is out of range:
	// Progress above 10000, a negative Service, an unknown Cause, node 0 in
	// NodeDown or NodeUp, attempt 0 or one above 2^31 in TaskAdopted.
	ErrInvalidEvent = errors.New("field out of range")

	// ErrInvalidSlot: the ID is not below MaxSlots, or the rack contradicts what
	// was said of the node.
	ErrInvalidSlot = errors.New("invalid slot")
	// ErrDuplicateSlot: a slot of that ID is present.
	ErrDuplicateSlot = errors.New("slot already present")
	// ErrUnknownSlot: no slot of that ID is present; a retiring slot counts as gone.
	ErrUnknownSlot = errors.New("unknown slot")
	// ErrNodeState: NodeDown of a node that is down, or NodeUp of one that is up.
	ErrNodeState = errors.New("node is already in that state")

	// ErrInvalidJob: see [Job.Check].
	ErrInvalidJob = errors.New("invalid job")
	// ErrDuplicateJob: a job of that ID is live.
	ErrDuplicateJob = errors.New("job is already live")
	// ErrUnknownJob: no job of that ID is live; no job ever has ID 0. Nothing is
	// kept of ended jobs.
	ErrUnknownJob = errors.New("unknown job")
	// ErrCancelledJob: the job is cancelled and only waits for its last attempts.
	ErrCancelledJob = errors.New("job is cancelled")
	// ErrInvalidRevision: JobRevised changes what may not change; see [JobRevised].
	ErrInvalidRevision = errors.New("invalid revision")

	// ErrUnknownTask: the job has no such phase or task.
	ErrUnknownTask = errors.New("unknown task")
	// ErrTaskState: the task is not in a state that the event could follow, such
	// as TaskDone of a running task or TaskReady of one that is not held.
	ErrTaskState = errors.New("task is not in that state")
	// ErrStaleAttempt: no such attempt runs on that slot, or not any more.
	ErrStaleAttempt = errors.New("no such attempt")
	// ErrSlotBusy: TaskAdopted on a slot that runs something else.
	ErrSlotBusy = errors.New("slot is busy")
	// ErrWrongClass: TaskAdopted on a slot of another class than the phase's.
	ErrWrongClass = errors.New("slot is of another class")

	// ErrUnsupported: the event is right, but beyond what this policy can
	// schedule, such as a job of more phases than its theory covers. Only
	// JobArrived, JobAdopted and JobRevised are refused so.
	ErrUnsupported = errors.New("not supported by this policy")
	// ErrRejected: the policy declines the job, for a reason that a
	// [*RejectedError] tells. Only JobArrived and JobRevised are refused so.
	ErrRejected = errors.New("job rejected")
)

// An EventError says which event a policy could not apply, and why.
type EventError struct {
	Event Event
	Err   error // wraps one of the sentinels of this package
}

// Error describes the event and the reason in one line.
func (e *EventError) Error() string { return fmt.Sprintf("sojourn: %v: %v", e.Event, e.Err) }

// Unwrap returns e.Err.
func (e *EventError) Unwrap() error { return e.Err }

// A RejectedError tells why an [Admitter] declines a job, and what it would
// accept instead.
type RejectedError struct {
	Job    JobID         // the job that is declined
	Misses JobID         // the job that would miss its deadline: Job itself, or one that was accepted before
	By     time.Duration // how late that job would be
	Offer  Time          // the earliest deadline that would be accepted now; 0 if there is none
	Exact  bool          // no deadline before Offer would be accepted
}

// Error describes the refusal in one line.
func (e *RejectedError) Error() string {
	s := fmt.Sprintf("%v: job %d would miss its deadline by %v", ErrRejected, e.Misses, e.By)
	if e.Offer > 0 {
		s += fmt.Sprintf("; a deadline of %v would be accepted", e.Offer)
	}
	return s
}

// Unwrap returns [ErrRejected].
func (e *RejectedError) Unwrap() error { return ErrRejected }
