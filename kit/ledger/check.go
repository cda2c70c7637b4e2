package ledger

import (
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/charge"
)

// maxAttempt bounds the attempt numbers of adopted attempts, so that later attempts can
// count on from there.
const maxAttempt = 1 << 31

// Check reports whether ev fits the account. It returns nil or a
// [*sojourn.EventError], and changes nothing.
func (l *Ledger[J]) Check(ev *sojourn.Event) error {
	if err := l.check(ev, l.Supports); err != nil {
		return &sojourn.EventError{Event: *ev, Err: err}
	}
	return nil
}

// CheckArrival returns nil if job could arrive now. Otherwise the error wraps
// [sojourn.ErrInvalidJob], [sojourn.ErrDuplicateJob] or [sojourn.ErrUnsupported].
func (l *Ledger[J]) CheckArrival(job *sojourn.Job) error { return l.checkArrival(job, l.Supports) }

// check tests in the order in which package sojourn lists its errors.
func (l *cluster) check(ev *sojourn.Event, known sojourn.Features) error {
	if !ev.Kind.Valid() {
		return sojourn.ErrUnknownKind
	}
	if ev.At < l.now {
		return sojourn.ErrTimeReversed
	}
	switch ev.Kind {
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskProgress, sojourn.TaskRefused, sojourn.TaskPinned:
		return l.checkReport(ev)
	case sojourn.SlotAdded:
		if err := l.slots.check(ev.Slot); err != nil {
			return err
		}
		return ev.Features().Check(known)
	case sojourn.SlotRemoved:
		if s := l.slots.at(ev.Slot.ID); s == nil || s.state == absent || s.state == retiring {
			return sojourn.ErrUnknownSlot
		}
		return nil
	case sojourn.NodeDown, sojourn.NodeUp:
		return l.slots.nodes.checkChange(ev.Slot, ev.Kind == sojourn.NodeDown)
	case sojourn.JobArrived, sojourn.JobAdopted:
		if ev.Kind == sojourn.JobAdopted && ev.Service < 0 {
			return sojourn.ErrInvalidEvent
		}
		return l.checkArrival(ev.Job, known)
	case sojourn.JobRevised:
		return l.checkRevised(ev.Job, known)
	case sojourn.JobCancelled:
		if ev.Job == nil {
			return fmt.Errorf("%w: nil", sojourn.ErrInvalidJob)
		}
		_, err := l.jobs.steerable(ev.Job.ID)
		return err
	case sojourn.PoolChanged:
		if err := ev.Pool.Check(); err != nil {
			return err
		}
		return ev.Features().Check(known)
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone:
		return l.checkTask(ev, known)
	case sojourn.TaskAdopted:
		return l.checkAdopted(ev)
	case sojourn.OutputLost:
		return l.checkOutputLost(ev)
	}
	return nil // Tick
}

func (l *cluster) checkArrival(job *sojourn.Job, known sojourn.Features) error {
	if err := job.Check(); err != nil {
		return err
	}
	if l.jobs.find(job.ID) != nil {
		return sojourn.ErrDuplicateJob
	}
	return job.Features().Check(known)
}

// checkReport tests a report about a live attempt. It finds the attempt through the slot.
// Only if that fails, it looks for the part that is unknown.
func (l *cluster) checkReport(ev *sojourn.Event) error {
	if ev.Service < 0 && ev.Kind != sojourn.TaskRefused && ev.Kind != sojourn.TaskPinned ||
		ev.Kind == sojourn.TaskProgress && ev.Progress > sojourn.MaxProgress {
		return sojourn.ErrInvalidEvent
	}
	s := l.slots.at(ev.Slot.ID)
	if s != nil && s.holder != 0 && s.phase == ev.Task.Phase && s.index == ev.Task.Index && s.attempt == ev.Attempt &&
		l.jobs.on(s).id == ev.Task.Job {
		return nil
	}
	j := l.jobs.find(ev.Task.Job)
	if j == nil {
		return sojourn.ErrUnknownJob
	}
	if !j.has(ev.Task) {
		return sojourn.ErrUnknownTask
	}
	return sojourn.ErrStaleAttempt
}

// has reports whether j has that task.
func (j *job) has(id sojourn.TaskID) bool {
	return int(id.Phase) < len(j.phases) && int64(id.Index) < int64(j.spec.Phases[id.Phase].Tasks)
}

func (l *cluster) checkTask(ev *sojourn.Event, known sojourn.Features) error {
	steers := ev.Kind != sojourn.TaskDone
	if steers && ev.Attempt > maxAttempt {
		return sojourn.ErrInvalidEvent
	}
	j, err := l.jobs.steerableTask(ev.Task)
	if err != nil {
		return err
	}
	pending := j.phases[ev.Task.Phase].IsPending(ev.Task.Index)
	held := j.IsHeld(int(ev.Task.Phase), ev.Task.Index)
	if ok := pending && ev.Kind != sojourn.TaskReady || held && ev.Kind != sojourn.TaskHeld; !ok {
		return sojourn.ErrTaskState
	}
	if !steers || ev.Attempt == 0 {
		return nil
	}
	if n, _ := j.more.try(task{ev.Task.Phase, ev.Task.Index}); ev.Attempt < n {
		return sojourn.ErrStaleAttempt
	}
	return ev.Features().Check(known)
}

func (l *cluster) checkAdopted(ev *sojourn.Event) error {
	if ev.Service < 0 || ev.Attempt == 0 || ev.Attempt > maxAttempt {
		return sojourn.ErrInvalidEvent
	}
	s := l.slots.at(ev.Slot.ID)
	if s == nil || s.state == absent || s.state == retiring {
		return sojourn.ErrUnknownSlot
	}
	j, err := l.jobs.steerableTask(ev.Task)
	if err != nil {
		return err
	}
	switch {
	case !j.phases[ev.Task.Phase].IsPending(ev.Task.Index):
		return sojourn.ErrTaskState
	case ev.Attempt <= j.more.get().tries[task{ev.Task.Phase, ev.Task.Index}]:
		return sojourn.ErrStaleAttempt
	case s.state == busy:
		return sojourn.ErrSlotBusy
	case s.Class != j.spec.Phases[ev.Task.Phase].Class:
		return sojourn.ErrWrongClass
	}
	return nil
}

func (l *cluster) checkOutputLost(ev *sojourn.Event) error {
	j, err := l.jobs.steerableTask(ev.Task)
	if err != nil {
		return err
	}
	if !j.phases[ev.Task.Phase].IsDone(ev.Task.Index) {
		return sojourn.ErrTaskState
	}
	// A task without an entry finished at its first attempt.
	if n, ok := j.more.try(task{ev.Task.Phase, ev.Task.Index}); ok && ev.Attempt != n || !ok && ev.Attempt != 1 {
		return sojourn.ErrStaleAttempt
	}
	return nil
}

func (l *cluster) checkRevised(spec *sojourn.Job, known sojourn.Features) error {
	if err := l.checkDescription(spec); err != nil {
		return err
	}
	j, err := l.jobs.steerable(spec.ID)
	if err != nil {
		return err
	}
	if err := checkRevision(j, spec); err != nil {
		return err
	}
	return spec.Features().Check(known)
}

// checkDescription is the Check of a description of a live job. Of phases that have grown it reads the new tasks only.
func (l *cluster) checkDescription(spec *sojourn.Job) error {
	if spec == nil {
		return spec.Check()
	}
	j := l.jobs.find(spec.ID)
	if j == nil || j.more.get().works == nil || len(spec.Phases) != len(j.phases) {
		return spec.Check()
	}
	short := *spec // without the lists of those that have grown
	short.Phases = slices.Clone(spec.Phases)
	for i := range spec.Phases {
		was, is := &j.spec.Phases[i], &spec.Phases[i]
		if !charge.Grown(was, is) {
			continue
		}
		short.Phases[i].Estimate, short.Phases[i].Estimates = 0, nil
		if _, ok := addWork(j.more.works[i], was, is); !ok {
			return spec.Check()
		}
	}
	return short.Check()
}

// addWork adds the estimates of the tasks by which a phase has grown to those of the others; false if one is negative or the sum
// is out of range.
func addWork(sum time.Duration, was, is *sojourn.Phase) (time.Duration, bool) {
	for i := was.Tasks; i < is.Tasks; i++ {
		if sum += is.EstimateOf(i); is.Estimates[i] < 0 || sum < 0 {
			return 0, false
		}
	}
	return sum, true
}

// most returns the greatest number of attempts at a task of j.
func (j *job) most() (n uint32) {
	for _, tries := range j.more.get().tries { //sojourn:unordered the greatest of them
		n = max(n, tries)
	}
	return n
}

// checkRevision tests a valid description that is to replace that of j.
func checkRevision(j *job, spec *sojourn.Job) error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", sojourn.ErrInvalidRevision, fmt.Sprintf(format, args...))
	}
	old := j.spec
	switch {
	case spec.Name != old.Name:
		return bad("name %q was %q", spec.Name, old.Name)
	case spec.Pool != old.Pool:
		return bad("pool %q was %q", spec.Pool, old.Pool)
	case spec.Sequence != old.Sequence:
		return bad("sequence %q was %q", spec.Sequence, old.Sequence)
	case len(spec.Phases) != len(old.Phases):
		return bad("%d phases were %d", len(spec.Phases), len(old.Phases))
	case spec.Priority != old.Priority && j.most() > maxAttempt:
		return bad("priority %d was %d, and a task has had more attempts than an adoption can tell", spec.Priority, old.Priority)
	}
	for i := range spec.Phases {
		was, is := &old.Phases[i], &spec.Phases[i]
		if is.Class != was.Class {
			return bad("phase %d: class %d was %d", i, is.Class, was.Class)
		}
		if !sameNeeds(is, was) {
			return bad("phase %d: needs %v were %v", i, is.Needs, was.Needs)
		}
		if is.Tasks >= was.Tasks {
			// nothing is dropped
		} else if k := startedFrom(j, i, is.Tasks); k < was.Tasks {
			return bad("phase %d: %d tasks, but task %d was assigned, held or done", i, is.Tasks, k)
		}
		if was.Inputs.Len() == 0 && is.Inputs.Len() == 0 {
			continue
		}
		for k := range min(was.Tasks, is.Tasks) {
			waits := j.phases[i].IsPending(uint32(k)) || j.IsHeld(i, uint32(k))
			if !waits && !slices.Equal(is.Inputs.Of(k), was.Inputs.Of(k)) {
				return bad("phase %d: the inputs of task %d changed, which does not wait any more", i, k)
			}
		}
	}
	return nil
}

// sameNeeds reports whether two phases wait for the same ones by their Needs.
func sameNeeds(a, b *sojourn.Phase) bool {
	return (a.Needs == nil) == (b.Needs == nil) && slices.Equal(a.Needs, b.Needs)
}

// startedFrom returns the first task of a phase, from the given one on, that may not be
// dropped.
func startedFrom(j *job, phase, from int) int {
	first := j.phases[phase].pending.NextGap(from)
	for t, n := range j.more.get().tries { //sojourn:unordered the least of them
		if int(t.phase) == phase && int64(t.index) >= int64(from) && n > 0 {
			first = min(first, int(t.index))
		}
	}
	return first
}
