package live

import (
	"errors"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
)

var (
	// ErrClosed: Submit after Close, and the error of jobs that Close ended.
	ErrClosed = errors.New("live: the pool is closed")
	// ErrFull: so many jobs wait as Options.MaxWaiting says.
	ErrFull = errors.New("live: too many jobs wait")
	// ErrCancelled: the job was cancelled by [Handle.Cancel].
	ErrCancelled = errors.New("live: the job was cancelled")
	// ErrNoSlots: the job needs slots of a class that has none. In a pool that is closed, it ends with this error. Otherwise
	// it waits, and a note [JobStuck] has the error.
	ErrNoSlots = errors.New("live: no slots of a class that the job needs")
	// ErrSuspended: Suspend has left the job to the next pool.
	ErrSuspended = errors.New("live: the pool was suspended, and the job goes on in the next one")
	// ErrJobTimeout: the job took longer than its Timeout.
	ErrJobTimeout = errors.New("live: the time of the job is over")

	// ErrTaskTimeout is the cause of the context of an attempt that took longer than its Timeout.
	ErrTaskTimeout = errors.New("live: the time of the attempt is over")
	// ErrPreempted is the cause of the context of an attempt whose slot the policy wants back.
	ErrPreempted = errors.New("live: the policy wants the slot back")
	// ErrSlotRemoved is the cause of the context of an attempt on a slot that was removed.
	ErrSlotRemoved = errors.New("live: the slot was removed")

	// ErrGoexit: a task ended its goroutine by runtime.Goexit, as t.FailNow does in tests.
	ErrGoexit = errors.New("live: the task called runtime.Goexit")
	// ErrAbandoned: a task did not return within the grace after its context had ended. Its
	// goroutine still runs.
	ErrAbandoned = errors.New("live: the task ignores that its context has ended")

	// ErrDuplicate: Submit has found a job with the same [Job].Key, whose handle it returns.
	ErrDuplicate = errors.New("live: there is a job with this key")
	// ErrNoHandler: New has found a job whose handler is not in Options.Handlers, as after a release that has renamed it. The job is
	// parked: none of its tasks is started, a note [JobStuck] has this error, and it goes on in a process that has the
	// handler. Close leaves it to that process, and its Wait then returns [ErrSuspended] (TestParked).
	ErrNoHandler = errors.New("live: there is no handler of this name, and the job waits for a process that has one")
	// ErrDead: the task ran when the process ended, so often as [Retry].Deaths allows. It may be the reason.
	ErrDead = errors.New("live: the task ran when the process ended, again and again")
	// ErrBudget: more attempts at tasks of the job have failed than [Retry].Budget allows.
	ErrBudget = errors.New("live: the budget of failures is used up")

	// ErrStalled: the store of a durable policy fails, and is tried again, after 100 ms at first and then every 5 s: journal.Options has
	// Retry. Meanwhile no attempt is started, and attempts that run go on: Save, and Submit with the context of a task, wait, and an
	// attempt that ends with this error has not failed by itself: its task is started again (TestTasksWaitForTheStore). Every other
	// Submit, and changes, return this error and the store's. The first one to meet it is then made, and durable when the store
	// works again (TestFirstChangeAtAFullDisk); the others change nothing. What ends waits in memory: Wait and OnEnd tell of it when
	// it is durable. A Submit that had begun waits until its ctx ends; then it is not known whether there is a job (TestStall).
	//
	// A store that does not answer for 10 s, as on a disk that is gone, fails, too, until it answers. Who waits for it then goes on a second after
	// its ctx has ended, and so do Close and Suspend (TestDeadDisk).
	ErrStalled = errors.New("live: the store fails, and is tried again")

	// ErrStandby: another process has the journal, and this pool follows it: journal.FollowFiles. It has no jobs, Submit and changes return this
	// error, which says who leads if that is known, and so does Pool.Err. When the other process has gone, the pool goes on with the jobs as New
	// does, and the Observer is told: PoolStandby. Slots that are added before are there then. Close and Suspend end the waiting (TestStandby).
	ErrStandby = errors.New("live: another process has the jobs")

	// ErrDeadlock: a task of the pool waits for what needs its own end or its slot: [JobStuck], [Pool.Close].
	ErrDeadlock = errors.New("live: a task waits for itself or for its slot")

	// ErrInUse: another pool has the policy or had it (see [New]), or another job has the [Results].
	ErrInUse = errors.New("live: already in use")

	// ErrHidden: the policy of New has a durable one inside that the pool cannot use, such as a journal in a
	// [sojourn.Locked]. A pool needs no Locked.
	ErrHidden = errors.New("live: a guard hides the journal: give New the journal itself")
)

// A TaskError says which task ended a job.
type TaskError struct {
	Task     sojourn.TaskID
	Failures int // attempts at the task that failed by themselves
	Err      error
}

// Error describes the failure in one line, unless the error inside takes more.
func (e *TaskError) Error() string {
	if e.Failures == 0 { // its processes ended
		return fmt.Sprintf("live: task %v failed: %v", e.Task, e.Err)
	}
	return fmt.Sprintf("live: task %v failed, attempt %d: %v", e.Task, e.Failures, e.Err)
}

// Unwrap returns e.Err.
func (e *TaskError) Unwrap() error { return e.Err }

// A PanicError is the failure of a task that panicked.
type PanicError struct {
	Value any
	Stack []byte // of the goroutine, as debug.Stack returns it
}

// Error returns the value and the stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Unwrap returns the value, if it is an error.
func (e *PanicError) Unwrap() error { err, _ := e.Value.(error); return err }

// Offer returns the counter-offer in an error of [Pool.Submit]: the least [Job.Deadline] with which
// the policy would have accepted the job. It reports false if there is none.
func Offer(err error) (deadline time.Duration, ok bool) {
	var event *sojourn.EventError
	var rejected *sojourn.RejectedError
	if !errors.As(err, &event) || !errors.As(err, &rejected) || rejected.Offer == 0 {
		return 0, false
	}
	return rejected.Offer.Sub(event.Event.At), true
}
