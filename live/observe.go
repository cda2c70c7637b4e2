package live

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
)

// An Observer is told what happens in a pool, for metrics, logs and tests. [Log] makes one of a logger.
type Observer interface {
	// Note is called with one thing at a time, in the order in which they happen. The pool is locked
	// meanwhile, so Note must return soon, and must not call the pool or its handles. Wait of a handle and
	// Close return after the notes on what they wait for.
	//
	// If Note panics, the pool goes on, and the observer is told nothing more: [Status].Observer and the error of Close have
	// the panic. Note must not call runtime.Goexit, as t.FailNow does: the pool then panics.
	Note(Note)
}

// A Note is something that happened in a pool.
type Note struct {
	Kind NoteKind
	At   sojourn.Time  // since the epoch of Options.Now
	Job  *sojourn.Job  // not to be changed; nil for Decided and what is told of the pool. The ID of a refused job is used again
	Age  time.Duration // how long ago the job was submitted
	Done []int         // JobResumed: how many tasks of each phase were done before

	// Pool is how the jobs of a pool of the policy are treated, not to be changed: of JobSubmitted and JobResumed that of the job,
	// and of PoolChanged the one that was changed. It is nil if the policy has no pools: see [sojourn.Sharer].
	Pool *sojourn.Pool

	// Of attempts.
	Task    sojourn.TaskID
	Attempt uint32
	Slot    sojourn.SlotID

	// Took is the time since the start of the attempt for TaskEnded and TaskReturned, and how long the policy took for Decided.
	// For JobResumed it is the time in which nothing of the job has run, as far as is known: see [Gauges].Starvation.
	Took     time.Duration
	Estimate time.Duration // TaskEnded: how long the submitter said that it would take; 0: nothing

	// Err is why a job was refused, is stuck or failed, why an attempt failed, or why its context was ended, or why the
	// pool is broken; nil if all is well.
	Err error
}

// A NoteKind says what a [Note] is about.
type NoteKind uint8

const (
	_            NoteKind = iota
	JobSubmitted          // the policy has accepted it
	JobRefused            // the policy refused it, or too many wait: see Err
	JobEnded              // it is complete, has failed and none of its attempts runs, or goes on in the next pool: then Err is ErrSuspended
	TaskStarted           // an attempt
	TaskStopped           // the pool ended the context of an attempt, which may go on for a while
	TaskEnded             // an attempt
	Decided               // the policy was asked what to start and what to stop

	// JobResumed: New has found the job, which a process before has left. It comes before all other notes.
	JobResumed

	// JobStuck: the job cannot go on, unless something changes that the pool does not do by itself. Err wraps ErrNoSlots if it
	// needs slots of a class of which there are none. The first such job is told, until the class has slots. For jobs
	// that New found, this is told after Options.Grace. Err wraps ErrDeadlock if an attempt, which the note
	// names, waits for a job that needs its end or its slot. The pool notices calls of Wait and Results.All that get the
	// context of the task, or one that comes from it.
	JobStuck

	TaskIgnores  // an attempt still runs, though its context has ended so long ago as Options.Grace says
	TaskReturned // such an attempt has returned, perhaps after the end of its job or pool. It has failed before, unless TaskEnded follows
	PoolBroken   // see [Pool.Err]
	TaskLost     // New has found that the attempt ended with the process before
	TaskGivenUp  // a task has failed for good, and its job goes on without it: see [Job].MaxFailedTasks. Err is why
	EndUntold    // Options.OnEnd has failed with Err, and is called again
	JobRevised   // what is known of the job has changed: Job is the new description
	PoolStalled  // see [ErrStalled]
	PoolMended   // the store works again
	PoolStandby  // Err wraps ErrStandby; nil: the other process has gone, and the pool goes on with the jobs
	PoolChanged  // ChangePool has changed how the jobs of Note.Pool are treated
)

var noteNames = [...]string{JobSubmitted: "job submitted", JobRefused: "job refused", JobEnded: "job ended",
	TaskStarted: "task started", TaskStopped: "task stopped", TaskEnded: "task ended", Decided: "decided",
	JobResumed: "job resumed", JobStuck: "job stuck", TaskIgnores: "task ignores its context", TaskReturned: "task returned",
	PoolBroken: "pool broken", PoolStalled: "pool stalled", PoolMended: "pool mended", JobRevised: "job revised", TaskLost: "task lost with the process", TaskGivenUp: "task given up", EndUntold: "end of job untold", PoolStandby: "pool on standby", PoolChanged: "pool of the policy changed"}

// String returns the name in words, such as "job submitted".
func (k NoteKind) String() string {
	if k == 0 || int(k) >= len(noteNames) {
		return fmt.Sprintf("NoteKind(%d)", uint8(k))
	}
	return noteNames[k]
}

// Log returns an Observer that writes to a logger: that the pool is broken as an error, failures, refusals and what is stuck
// as warnings, what becomes of jobs at level Info, what becomes of tasks at level Debug. Times of decisions are not
// logged. The handler of the logger is called while the pool is locked.
func Log(l *slog.Logger) Observer { return logger{l} }

type logger struct{ l *slog.Logger }

// Note implements [Observer].
func (o logger) Note(n Note) {
	if n.Kind == Decided {
		return
	}
	level := slog.LevelInfo
	switch {
	case n.Kind == PoolBroken, n.Kind == PoolStalled:
		level = slog.LevelError
	case n.Kind == PoolMended, n.Kind == PoolStandby: // who has heard of the one hears of the other
		level = slog.LevelWarn
	case n.Kind == TaskStopped, n.Kind == TaskReturned:
		level = slog.LevelDebug
	case errors.Is(n.Err, ErrSuspended): // there may be a million, and none is in trouble
	case n.Err != nil:
		level = slog.LevelWarn
	case n.Attempt > 0:
		level = slog.LevelDebug
	}
	ctx := context.Background()
	if !o.l.Enabled(ctx, level) {
		return
	}
	attrs := make([]slog.Attr, 0, 8)
	if n.Job != nil {
		attrs = append(attrs, slog.Uint64("job", uint64(n.Job.ID)), slog.String("name", n.Job.Name), slog.Duration("age", n.Age))
	}
	if n.Attempt > 0 {
		attrs = append(attrs, slog.String("task", n.Task.String()), slog.Uint64("attempt", uint64(n.Attempt)), slog.Uint64("slot", uint64(n.Slot)))
	}
	if n.Kind == TaskEnded || n.Kind == TaskReturned {
		attrs = append(attrs, slog.Duration("took", n.Took))
	}
	if n.Kind == PoolChanged {
		attrs = append(attrs, slog.String("pool", n.Pool.Name), slog.Float64("weight", n.Pool.Weight), slog.Bool("paused", n.Pool.Paused), slog.Int("max_jobs", n.Pool.MaxJobs),
			slog.Any("min", n.Pool.Min), slog.Any("max", n.Pool.Max))
	}
	if n.Err != nil {
		attrs = append(attrs, slog.Any("error", n.Err))
	}
	o.l.LogAttrs(ctx, level, n.Kind.String(), attrs...)
}

// An announcer tells the observer of a pool what happens. The lock of the pool guards it.
type announcer struct {
	to    Observer // nil: nobody
	blind error    // it has panicked so, and is told nothing more
	d     *driver.Driver
}

func (n *announcer) tell(note Note) {
	if n.to == nil {
		return
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		n.to = nil
		x := recover()
		if x == nil {
			panic("live: Observer.Note called runtime.Goexit while the pool was locked") // it would be half-way for ever
		}
		n.blind = fmt.Errorf("live: the observer has panicked, and is told nothing more: %w", &PanicError{Value: x, Stack: debug.Stack()})
	}()
	n.to.Note(note)
	returned = true
}

// job tells about a job.
func (n *announcer) job(kind NoteKind, h *Handle, err error) {
	if n.to != nil {
		now := n.d.Now()
		note := Note{Kind: kind, At: now, Job: &h.spec, Age: now.Sub(h.at), Err: err}
		if kind == JobSubmitted {
			note.Pool = h.pool.told(h.spec.Pool)
		}
		n.tell(note)
	}
}

// changed tells that a pool of the policy is treated otherwise.
func (n *announcer) changed(p *sojourn.Pool) {
	if n.to != nil {
		n.tell(Note{Kind: PoolChanged, At: n.d.Now(), Pool: p})
	}
}

// revised tells that a job has a new description.
func (n *announcer) revised(h *Handle, spec *sojourn.Job) {
	if n.to != nil {
		now := n.d.Now()
		n.tell(Note{Kind: JobRevised, At: now, Job: spec, Age: now.Sub(h.at)})
	}
}

// resumed tells about a job that New has found.
func (n *announcer) resumed(h *Handle, left leftovers) {
	if n.to == nil {
		return
	}
	now := n.d.Now()
	note := Note{Kind: JobResumed, At: now, Job: &h.spec, Age: now.Sub(h.at), Took: now.Sub(h.at), Done: make([]int, len(h.spec.Phases)), Pool: h.pool.told(h.spec.Pool)}
	if left.ran[h.spec.ID] {
		note.Took = now.Sub(left.at)
	}
	for i := range note.Done {
		note.Done[i] = h.spec.Phases[i].Tasks - int(h.work(i).left)
	}
	n.tell(note)
}

// task tells about an attempt.
func (n *announcer) task(kind NoteKind, a *attempt, err error) {
	if n.to == nil {
		return
	}
	now := n.d.Now()
	note := Note{Kind: kind, At: now, Job: &a.h.spec, Age: now.Sub(a.h.at), Task: a.Task, Attempt: a.Attempt, Slot: a.Slot, Err: err}
	if kind == TaskEnded || kind == TaskReturned {
		note.Took, note.Estimate = now.Sub(a.since), a.h.latest().Phases[a.Task.Phase].EstimateOf(int(a.Task.Index))
	}
	n.tell(note)
}

// taskOnly tells about a task of which no attempt runs.
func (n *announcer) taskOnly(kind NoteKind, h *Handle, id sojourn.TaskID, attempt uint32, err error) {
	if n.to != nil {
		now := n.d.Now()
		n.tell(Note{Kind: kind, At: now, Job: &h.spec, Age: now.Sub(h.at), Task: id, Attempt: attempt, Err: err})
	}
}

// decision tells how long the policy took.
func (n *announcer) decision(start time.Time) {
	if n.to != nil {
		n.tell(Note{Kind: Decided, At: n.d.Time(), Took: time.Since(start)})
	}
}
