package sojourntest

import (
	"maps"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// check returns the error that the contract requires as the answer to ev, or
// nil. If several are right, it returns the first in the order of package
// sojourn.
func (m *model) check(ev *sojourn.Event) error {
	switch {
	case !ev.Kind.Valid():
		return sojourn.ErrUnknownKind
	case ev.At < m.now: // m.now starts at 0
		return sojourn.ErrTimeReversed
	case outOfRange(ev):
		return sojourn.ErrInvalidEvent
	}
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.SlotRemoved, sojourn.NodeDown, sojourn.NodeUp:
		return m.checkSlot(ev)
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised, sojourn.JobCancelled:
		return m.checkDescription(ev)
	case sojourn.PoolChanged:
		return m.checkPool(ev.Pool)
	case sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskDone, sojourn.OutputLost:
		return m.checkSteering(ev)
	case sojourn.TaskAdopted:
		return m.checkAdoption(ev)
	case sojourn.TaskProgress, sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskPinned:
		return m.checkReport(ev)
	}
	return nil
}

// checkSlot is check for events about slots and nodes.
func (m *model) checkSlot(ev *sojourn.Event) error {
	switch ev.Kind {
	case sojourn.SlotAdded:
		s := m.slot(ev.Slot.ID)
		switch {
		case ev.Slot.ID >= sojourn.MaxSlots || ev.Slot.Class >= sojourn.MaxClasses || m.contradicts(ev.Slot):
			return sojourn.ErrInvalidSlot
		case s != nil && !(s.retiring && s.Slot == ev.Slot):
			return sojourn.ErrDuplicateSlot
		case ev.Slot.Speed != 0 && m.o.features&sojourn.FeatureSpeed == 0:
			return sojourn.ErrUnsupported
		}
	case sojourn.SlotRemoved:
		if s := m.slot(ev.Slot.ID); s == nil || s.retiring {
			return sojourn.ErrUnknownSlot
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		switch {
		case m.contradicts(ev.Slot):
			return sojourn.ErrInvalidSlot
		case m.down[ev.Slot.Node] == (ev.Kind == sojourn.NodeDown):
			return sojourn.ErrNodeState
		}
	}
	return nil
}

// checkDescription is check for events about whole jobs.
func (m *model) checkDescription(ev *sojourn.Event) error {
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted:
		switch {
		case ev.Job.Check() != nil:
			return sojourn.ErrInvalidJob
		case m.job(ev.Job.ID) != nil:
			return sojourn.ErrDuplicateJob
		case !m.o.supports(ev.Job):
			return sojourn.ErrUnsupported
		}
	case sojourn.JobRevised:
		if ev.Job.Check() != nil {
			return sojourn.ErrInvalidJob
		}
		j := m.job(ev.Job.ID)
		switch {
		case j == nil:
			return sojourn.ErrUnknownJob
		case j.cancelled:
			return sojourn.ErrCancelledJob
		case !j.revisable(ev.Job):
			return sojourn.ErrInvalidRevision
		case !m.o.supports(ev.Job):
			return sojourn.ErrUnsupported
		}
	case sojourn.JobCancelled:
		if ev.Job == nil {
			return sojourn.ErrInvalidJob
		}
		return m.checkJob(ev.Job.ID)
	}
	return nil
}

// checkPool is check for pools that change.
func (m *model) checkPool(p *sojourn.Pool) error {
	if p == nil || p.MaxJobs < 0 || int64(p.MaxJobs) >= 1<<31 || p.Weight != 0 && !(p.Weight*65536 >= 1 && p.Weight < 4294967296) {
		return sojourn.ErrInvalidPool
	}
	for _, c := range slices.Sorted(maps.Keys(p.Min)) {
		n := p.Min[c]
		if c > 255 || n < 0 || n > 1<<24 {
			return sojourn.ErrInvalidPool
		}
	}
	for _, c := range slices.Sorted(maps.Keys(p.Max)) {
		n := p.Max[c]
		if c > 255 || n < 1 || n > 1<<24 || n < p.Min[c] {
			return sojourn.ErrInvalidPool
		}
	}
	if m.o.features&sojourn.FeaturePools == 0 {
		return sojourn.ErrUnsupported
	}
	return nil
}

// checkSteering is check for events about tasks that do not run.
func (m *model) checkSteering(ev *sojourn.Event) error {
	if err := m.checkJob(ev.Task.Job); err != nil {
		return err
	}
	t := m.task(ev.Task)
	switch {
	case t == nil:
		return sojourn.ErrUnknownTask
	case ev.Kind == sojourn.TaskHeld && t.state != pending,
		ev.Kind == sojourn.TaskReady && t.state != held,
		ev.Kind == sojourn.TaskDone && t.state != pending && t.state != held,
		ev.Kind == sojourn.OutputLost && t.state != done:
		return sojourn.ErrTaskState
	case ev.Kind == sojourn.OutputLost && t.attempts != ev.Attempt:
		return sojourn.ErrStaleAttempt
	case ev.Kind != sojourn.TaskHeld && ev.Kind != sojourn.TaskReady || ev.Attempt == 0:
		return nil
	case ev.Attempt < t.attempts:
		return sojourn.ErrStaleAttempt
	case m.o.features&sojourn.FeatureAttempts == 0:
		return sojourn.ErrUnsupported
	}
	return nil
}

// checkAdoption is check for adopted attempts.
func (m *model) checkAdoption(ev *sojourn.Event) error {
	s := m.slot(ev.Slot.ID)
	if s == nil || s.retiring {
		return sojourn.ErrUnknownSlot
	}
	if err := m.checkJob(ev.Task.Job); err != nil {
		return err
	}
	t := m.task(ev.Task)
	switch {
	case t == nil:
		return sojourn.ErrUnknownTask
	case t.state != pending:
		return sojourn.ErrTaskState
	case ev.Attempt <= t.attempts:
		return sojourn.ErrStaleAttempt
	case s.task != nil:
		return sojourn.ErrSlotBusy
	case s.Class != m.job(ev.Task.Job).spec.Phases[ev.Task.Phase].Class:
		return sojourn.ErrWrongClass
	}
	return nil
}

// checkReport is check for reports about attempts.
func (m *model) checkReport(ev *sojourn.Event) error {
	if m.job(ev.Task.Job) == nil {
		return sojourn.ErrUnknownJob
	}
	t := m.task(ev.Task)
	if t == nil {
		return sojourn.ErrUnknownTask
	}
	if s := m.slotOf(t); s == nil || s.ID != ev.Slot.ID || t.attempts != ev.Attempt {
		return sojourn.ErrStaleAttempt
	}
	return nil
}

// outOfRange tests the fields that the kind of ev uses, other than those of
// the job and the slot.
func outOfRange(ev *sojourn.Event) bool {
	switch ev.Kind {
	case sojourn.NodeDown, sojourn.NodeUp:
		return ev.Slot.Node == 0
	case sojourn.TaskAdopted:
		return ev.Service < 0 || ev.Attempt == 0 || ev.Attempt > 1<<31
	case sojourn.TaskHeld, sojourn.TaskReady:
		return ev.Attempt > 1<<31
	case sojourn.JobAdopted:
		return ev.Service < 0
	case sojourn.TaskProgress:
		return ev.Service < 0 || ev.Progress > sojourn.MaxProgress
	case sojourn.TaskFinished, sojourn.TaskFailed:
		return ev.Service < 0
	}
	return false
}

// contradicts reports whether the node of s is known to be on another rack.
func (m *model) contradicts(s sojourn.Slot) bool {
	was := m.racks[s.Node]
	return s.Node != 0 && was != 0 && s.Rack != 0 && was != s.Rack
}

// checkJob tests the job of an event that steers it: the job must be live and
// not cancelled.
func (m *model) checkJob(id sojourn.JobID) error {
	switch j := m.job(id); {
	case j == nil:
		return sojourn.ErrUnknownJob
	case j.cancelled:
		return sojourn.ErrCancelledJob
	}
	return nil
}

func (j *modelJob) revisable(spec *sojourn.Job) bool {
	old := j.spec
	if spec.Name != old.Name || spec.Pool != old.Pool || spec.Sequence != old.Sequence || len(spec.Phases) != len(old.Phases) {
		return false
	}
	for i := range spec.Phases {
		if spec.Priority != old.Priority && slices.ContainsFunc(j.tasks[i], func(t *modelTask) bool { return t.attempts > 1<<31 }) {
			return false
		}
		if spec.Phases[i].Class != old.Phases[i].Class || spec.Phases[i].Tasks < j.least(i) {
			return false
		}
		if a, b := spec.Phases[i].Needs, old.Phases[i].Needs; (a == nil) != (b == nil) || !slices.Equal(a, b) {
			return false
		}
		for k := range min(spec.Phases[i].Tasks, old.Phases[i].Tasks) {
			state := j.tasks[i][k].state
			if (state == running || state == done) && !slices.Equal(spec.Phases[i].Inputs.Of(k), old.Phases[i].Inputs.Of(k)) {
				return false
			}
		}
	}
	return true
}

// least returns how many tasks a phase must keep.
func (j *modelJob) least(phase int) (n int) {
	for k, t := range j.tasks[phase] {
		if t.state != pending || t.attempts > 0 {
			n = k + 1
		}
	}
	return n
}

// misplaced returns what is wrong with the source and the locality of a, or "".
func (m *model) misplaced(a *sojourn.Assignment, s *modelSlot) string {
	nodes := m.job(a.Task.Job).spec.Phases[a.Task.Phase].Inputs.Of(int(a.Task.Index))
	local := slices.Contains(nodes, s.Node)
	switch {
	case a.Source != 0 && !slices.Contains(nodes, a.Source):
		return "the source does not hold the input"
	case a.Source != 0 && m.down[a.Source]:
		return "the source is down"
	case a.Locality > sojourn.Remote:
		return "no such locality"
	case a.Locality != sojourn.AnyNode && len(nodes) == 0:
		return "the task has no place it would rather run"
	case a.Locality == sojourn.NodeLocal && !local:
		return "the input is not on the slot's node"
	}
	return ""
}
