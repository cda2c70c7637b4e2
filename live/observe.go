package live

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// An Observer is told what happens in a pool, for metrics, logs and tests. [Log] makes one of a logger.
type Observer interface {
	// Note is called with one thing at a time, in the order in which they happen. The pool is locked
	// meanwhile, so Note must return soon, and must not call the pool or its handles. Wait of a handle and
	// Close return after the notes on what they wait for.
	Note(Note)
}

// A Note is something that happened in a pool.
type Note struct {
	Kind NoteKind
	At   sojourn.Time  // since the epoch of Options.Now
	Job  *sojourn.Job  // not to be changed; nil for Decided. The ID of a refused job is used again
	Age  time.Duration // how long ago the job was submitted

	// Of attempts.
	Task     sojourn.TaskID
	Attempt  uint32
	Slot     sojourn.SlotID
	Took     time.Duration // TaskEnded: since the start. Decided: how long the policy took
	Estimate time.Duration // TaskEnded: how long the submitter said that it would take; 0: nothing

	// Err is why a job was refused or failed, why an attempt failed, or why its context was ended; nil if all
	// is well.
	Err error
}

// A NoteKind says what a [Note] is about.
type NoteKind uint8

const (
	_            NoteKind = iota
	JobSubmitted          // the policy has accepted it
	JobRefused            // the policy refused it: see Err
	JobEnded              // it is complete, or has failed and none of its attempts runs
	TaskStarted           // an attempt
	TaskStopped           // the pool ended the context of an attempt, which may go on for a while
	TaskEnded             // an attempt
	Decided               // the policy was asked what to start and what to stop
)

var noteNames = [...]string{JobSubmitted: "job submitted", JobRefused: "job refused", JobEnded: "job ended",
	TaskStarted: "task started", TaskStopped: "task stopped", TaskEnded: "task ended", Decided: "decided"}

// String returns the name in words, such as "job submitted".
func (k NoteKind) String() string {
	if k == 0 || int(k) >= len(noteNames) {
		return fmt.Sprintf("NoteKind(%d)", uint8(k))
	}
	return noteNames[k]
}

// Log returns an Observer that writes to a logger: failures and refusals as warnings, what becomes of jobs at level
// Info, what becomes of tasks at level Debug. Times of decisions are not logged. The handler of the logger is called
// while the pool is locked.
func Log(l *slog.Logger) Observer { return logger{l} }

type logger struct{ l *slog.Logger }

// Note implements [Observer].
func (o logger) Note(n Note) {
	if n.Kind == Decided {
		return
	}
	task := n.Kind >= TaskStarted
	level := slog.LevelInfo
	switch {
	case n.Err != nil && n.Kind != TaskStopped:
		level = slog.LevelWarn
	case task:
		level = slog.LevelDebug
	}
	ctx := context.Background()
	if !o.l.Enabled(ctx, level) {
		return
	}
	attrs := append(make([]slog.Attr, 0, 8), slog.Uint64("job", uint64(n.Job.ID)), slog.String("name", n.Job.Name), slog.Duration("age", n.Age))
	if task {
		attrs = append(attrs, slog.String("task", n.Task.String()), slog.Uint64("attempt", uint64(n.Attempt)), slog.Uint64("slot", uint64(n.Slot)))
	}
	if n.Kind == TaskEnded {
		attrs = append(attrs, slog.Duration("took", n.Took))
	}
	if n.Err != nil {
		attrs = append(attrs, slog.Any("error", n.Err))
	}
	o.l.LogAttrs(ctx, level, n.Kind.String(), attrs...)
}

// note tells the observer, if there is one, about a job.
func (p *Pool) note(kind NoteKind, h *Handle, err error) {
	if p.opt.Observer != nil {
		now := p.d.Now()
		p.opt.Observer.Note(Note{Kind: kind, At: now, Job: &h.spec, Age: now.Sub(h.at), Err: err})
	}
}

// noteTask tells the observer, if there is one, about an attempt.
func (p *Pool) noteTask(kind NoteKind, a *attempt, err error) {
	if p.opt.Observer == nil {
		return
	}
	now := p.d.Now()
	n := Note{Kind: kind, At: now, Job: &a.h.spec, Age: now.Sub(a.h.at), Task: a.Task, Attempt: a.Attempt, Slot: a.Slot, Err: err}
	if kind == TaskEnded {
		ph := &a.h.spec.Phases[a.Task.Phase]
		n.Took, n.Estimate = now.Sub(a.since), ph.Estimate
		if int(a.Task.Index) < len(ph.Estimates) {
			n.Estimate = ph.Estimates[a.Task.Index]
		}
	}
	p.opt.Observer.Note(n)
}

// noteDecision tells the observer, if there is one, how long the policy took.
func (p *Pool) noteDecision(start time.Time) {
	if p.opt.Observer != nil {
		p.opt.Observer.Note(Note{Kind: Decided, At: p.d.Time(), Took: time.Since(start)})
	}
}
