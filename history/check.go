package history

import (
	"errors"
	"fmt"
	"iter"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// Check returns entries unchanged, up to the first one that no policy that keeps
// the contract can produce. It reports that one by an [*Error] at its line:
//
//   - the time of a decision is not that of the latest event that was accepted;
//   - an event was accepted that does not fit what came before, or was refused
//     with the wrong error; only jobs are refused with ErrRejected, and
//     only jobs and features of package sojourn with ErrUnsupported;
//   - a slot was offered that is unknown, retiring or busy;
//   - a task was assigned that does not exist, may not start, is of another class
//     than the slot, or the slot or the number of the attempt is wrong.
//
// A history whose live jobs have more than 2^26 tasks together is refused as well:
// each task costs memory, however short its line.
//
// So [Replay] of checked entries makes no call that panics.
func Check(entries iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		l := account{ledger: ledger.Ledger[struct{}]{Supports: known}}
		for e, err := range entries {
			if err == nil {
				if lie := l.check(&e); lie != "" {
					err = &Error{e.File, e.Line, 1, lie}
				}
			}
			if err != nil {
				yield(Entry{}, err)
				return
			}
			if !yield(e, nil) {
				return
			}
		}
	}
}

// known are the features that a history may use.
const known = sojourn.FeatureNeeds | sojourn.FeatureHeld | sojourn.FeatureAttempts | sojourn.FeatureParallelism | sojourn.FeatureRelease | sojourn.FeatureSequence | sojourn.FeatureSpeed | sojourn.FeaturePools | sojourn.FeaturePriority | sojourn.FeatureOpen

// An account is the state that a history has reached so far.
type account struct {
	ledger ledger.Ledger[struct{}]
	tasks  int64 // of live jobs
}

// maxTasks bounds account.tasks.
const maxTasks = 1 << 26

// check returns what is wrong with an entry. If nothing is, it records the entry
// and returns "".
func (l *account) check(e *Entry) string {
	switch e.Kind {
	case Observe:
		return l.checkEvent(e)
	case Assign:
		return l.checkDecision(e)
	}
	return ""
}

func (l *account) checkEvent(e *Entry) string {
	ev := &e.Event
	want := l.ledger.Check(ev)
	switch {
	case want == nil && e.Err == nil:
		return l.apply(ev)
	case want == nil && mayRefuse(ev, e.Err):
		return ""
	case want == nil:
		return fmt.Sprintf("%v fits, but is recorded as refused:%s", ev.Kind, appendError(nil, e.Err))
	case errors.Is(want, sojourn.ErrTimeReversed):
		if e.Err == nil {
			return fmt.Sprintf("time goes back from %s to %s", seconds(l.ledger.Now()), seconds(ev.At))
		}
	}
	var reason *sojourn.EventError
	errors.As(want, &reason)
	switch name := nameOf(want); {
	case e.Err == nil:
		return fmt.Sprintf("%v does not fit, but is recorded as accepted: %s, %v", ev.Kind, name, reason.Err)
	case nameOf(e.Err) != name:
		return fmt.Sprintf("%v is recorded as refused with%s instead of !%s, %v", ev.Kind, appendError(nil, e.Err), name, reason.Err)
	}
	return ""
}

// apply records an event that fits.
func (l *account) apply(ev *sojourn.Event) string {
	var was, is int64
	switch ev.Kind {
	case sojourn.JobRevised:
		was = tasksOf(l.ledger.Job(ev.Job.ID).Spec())
		fallthrough
	case sojourn.JobArrived, sojourn.JobAdopted:
		is = tasksOf(ev.Job)
	}
	if l.tasks += is - was; l.tasks > maxTasks {
		return fmt.Sprintf("live jobs have more than %d tasks", maxTasks)
	}
	if c := l.ledger.Apply(ev); c.Ended {
		l.tasks -= tasksOf(c.Job.Spec())
	}
	return ""
}

func tasksOf(j *sojourn.Job) (n int64) {
	for i := range j.Phases {
		n += int64(j.Phases[i].Tasks)
	}
	return n
}

// mayRefuse reports whether a policy may answer an event that fits with err.
func mayRefuse(ev *sojourn.Event, err error) bool {
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobRevised:
		return errors.Is(err, sojourn.ErrRejected) || errors.Is(err, sojourn.ErrUnsupported)
	case sojourn.JobAdopted:
		return errors.Is(err, sojourn.ErrUnsupported)
	case sojourn.SlotAdded, sojourn.TaskHeld, sojourn.TaskReady, sojourn.PoolChanged:
		return errors.Is(err, sojourn.ErrUnsupported) && ev.Features() != 0
	}
	return false
}

// nameOf returns the name of the error of package sojourn that err wraps.
func nameOf(err error) string {
	for _, s := range sentinels {
		if errors.Is(err, s.err) {
			return s.name
		}
	}
	return err.Error()
}

func seconds(t sojourn.Time) []byte {
	line := appendTime(nil, t)
	return line[1 : len(line)-1]
}

func (l *account) checkDecision(e *Entry) string {
	id := e.Slot
	if now := l.ledger.Now(); e.At != now {
		return fmt.Sprintf("a decision at %s, but the latest event was at %s", seconds(e.At), seconds(now))
	}
	// A slot that could not leave does not exist.
	if l.ledger.Check(&sojourn.Event{Kind: sojourn.SlotRemoved, At: e.At, Slot: sojourn.Slot{ID: id}}) != nil {
		return fmt.Sprintf("a decision for slot %d, which is unknown or retiring", id)
	}
	if a, busy := l.ledger.Attempt(id); busy {
		return fmt.Sprintf("a decision for slot %d, which runs %s", id, appendAttempt(nil, a.Task, a.Number))
	}
	if !e.OK {
		return ""
	}
	a := &e.Assignment
	bad := func(format string, args ...any) string {
		return fmt.Sprintf("task %v is assigned to slot %d, but "+format, append([]any{a.Task, id}, args...)...)
	}
	j := l.ledger.Job(a.Task.Job)
	switch {
	case a.Slot != id:
		return bad("slot %d was offered", id)
	case j == nil:
		return bad("there is no such job")
	case j.Cancelled():
		return bad("the job is cancelled")
	case int(a.Task.Phase) >= len(j.Spec().Phases), int64(a.Task.Index) >= int64(j.Spec().Phases[a.Task.Phase].Tasks):
		return bad("there is no such task")
	}
	p, slot := j.Phase(int(a.Task.Phase)), l.ledger.Free(id)
	switch class := j.Spec().Phases[a.Task.Phase].Class; {
	case p.IsDone(a.Task.Index):
		return bad("it is done")
	case !p.IsPending(a.Task.Index):
		return bad("it runs already or is held")
	case !p.Ready():
		return bad("its phase is not ready")
	case class != slot.Class:
		return bad("its phase is of class %d and the slot of class %d", class, slot.Class)
	}
	if took := l.ledger.TakeTask(j, int(a.Task.Phase), a.Task.Index, id); took.Attempt != a.Attempt {
		return bad("this is attempt %d, not %d", took.Attempt, a.Attempt)
	}
	return ""
}
