package gate

import (
	"context"
	"errors"
	"time"
)

// A Backend is a queue that can hold tasks back. Its methods are called by one goroutine at a time,
// but Notes is called by a goroutine of its own, and so is the Lock of a [Locker].
//
// A queue that knows its servers is a [Fleet] besides, and one that several gates may share is a Locker.
type Backend interface {
	// Tasks returns all tasks that are held or were let go and have not ended.
	Tasks(ctx context.Context) ([]Task, error)

	// State returns where a task is now.
	State(ctx context.Context, id string) (State, error)

	// Release lets a held task go. To release a task again that was let go is no error. An
	// error that wraps ErrGone says that the queue has no such task; any other error means that the
	// gate tries again.
	Release(ctx context.Context, id string) error

	// Notes waits until something has happened in the queue and returns it, in order. It
	// returns no notes and no error if nothing happens for some time. A note may be lost: see
	// Options.Compare.
	Notes(ctx context.Context) ([]Note, error)
}

// A Fleet is a [Backend] that knows which servers work on its queue.
type Fleet interface {
	// Servers returns the servers that live. The gate asks once a second.
	Servers(ctx context.Context) (Servers, error)
}

// Servers are the servers of a queue at a moment.
type Servers struct {
	Live []Server

	// Running are the IDs of the tasks that the queue calls running, whether or not their servers live.
	Running []string

	// Beat is the longest time between two tellings of a server that lives.
	Beat time.Duration

	// Ahead is how many tasks are to be let go besides Options.Ahead, since servers do not hear of them at once for
	// a while.
	Ahead int
}

// A Server is one that runs tasks of the queue.
type Server struct {
	ID      string   // of this process: after a restart it has another one
	Workers int      // how many tasks it runs at a time; 0 if it does not take any more
	Tasks   []string // IDs of those that it ran when it last told
}

// A Locker is a [Backend] that lets one gate at a time decide. Others wait.
type Locker interface {
	// Lock takes the lock for a gate, or keeps it if that gate has it, which has a name of its own. The gate has
	// it for the lease, from the call on. The term counts how often this backend took the lock: if it has changed,
	// another gate may have decided meanwhile. An error that wraps ErrLocked says that another gate has the lock.
	// Notes and Release may return such an error, too, and then do nothing.
	Lock(ctx context.Context, gate string) (term uint64, lease time.Duration, err error)

	// Unlock gives the lock back, if the gate has it.
	Unlock(ctx context.Context, gate string) error
}

var (
	// ErrGone is the error of a Release of a task that the queue does not have.
	ErrGone = errors.New("gate: the queue has no such task")

	// ErrLocked is the error of a backend whose queue another gate has.
	ErrLocked = errors.New("gate: another gate decides")
)

// A Job is what a policy can know of a batch of tasks. All tasks of a job must say the same.
type Job struct {
	ID     string  // of the batch
	Pool   string  // such as the tenant or the queue
	Name   string  // jobs with one name are alike for policies that estimate
	Weight float64 // zero means 1

	// Priority comes before all shares, greater ones first. Zero is the usual one. A policy that knows no priorities, as those that
	// package kit/priority does not contain, schedules the job as if it had none, and the log says so. The same holds for Parallelism
	// and Sequence.
	Priority int32

	// Sequence, unless empty, names jobs that run one after the other, in the order in which their first tasks were put in, also
	// while one waits for a retry. Package kit/release adds it to any policy.
	Sequence string

	// Parallelism is how many tasks of the job run at a time at most. Zero means any number.
	Parallelism uint32

	// Estimate is how long each task takes, 0 if nobody knows.
	Estimate time.Duration
}

// A Task is a task of the queue.
type Task struct {
	ID    string // in the queue
	Job   Job
	State State
	Since time.Time // when it was put into the queue, if that is known

	// NotBefore is when the task may be let go at the earliest. Zero means at once.
	NotBefore time.Time
}

// A State is where a task of the queue is.
type State uint8

const (
	Gone     State = iota // it has ended or was deleted
	Held                  // it waits for the gate
	Released              // it may run, or runs
)

// A Note says that something has happened in the queue.
type Note struct {
	Kind NoteKind
	Task string // ID, of an end

	// Tasks are those that were added, all held. Tasks of a job that are added together are better
	// told together.
	Tasks []Task

	// Service is how long the task ran, 0 if not known.
	Service time.Duration

	// Cost is what the attempt has cost, after Finished and Failed, where that is not time: see [sojourn.Event].
	Cost uint64

	// After is how long the task is not to be tried again, after Failed.
	After time.Duration
}

// A NoteKind says what has happened.
type NoteKind uint8

const (
	Added    NoteKind = iota // Tasks
	Finished                 // Task, Service, Cost
	Failed                   // Task, Service, Cost, After; the task is held again
	Dropped                  // Task; it was deleted, or will not be tried again
)
