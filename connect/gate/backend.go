package gate

import (
	"context"
	"errors"
	"time"
)

// A Backend is a queue that can hold tasks back. Its methods are called by one goroutine at a time,
// but Notes is called by a goroutine of its own.
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

// ErrGone is the error of a Release of a task that the queue does not have.
var ErrGone = errors.New("gate: the queue has no such task")

// A Job is what a policy can know of a batch of tasks. All tasks of a job must say the same.
type Job struct {
	ID     string  // of the batch
	Pool   string  // such as the tenant or the queue
	Name   string  // jobs with one name are alike for policies that estimate
	Weight float64 // zero means 1

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

	// After is how long the task is not to be tried again, after Failed.
	After time.Duration
}

// A NoteKind says what has happened.
type NoteKind uint8

const (
	Added    NoteKind = iota // Tasks
	Finished                 // Task, Service
	Failed                   // Task, Service, After; the task is held again
	Dropped                  // Task; it was deleted, or will not be tried again
)
