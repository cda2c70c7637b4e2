package sojourntest

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A bug is a mistake that the reference policy can be told to make. The table in
// TestBroken describes each.
type bug int

const (
	correct bug = iota

	// Of the account.
	forgetsRetiring
	keepsRetired
	ignoresRestored
	acceptsDuplicate
	acceptsWrongRack
	remembersRacks
	acceptsWrongSlot
	acceptsStale
	acceptsNodeTwice
	acceptsWrongFields
	acceptsBadJobs
	ignoresFeatures
	acceptsRevisedPool
	acceptsShrinking
	acceptsBusyAdoption
	acceptsClassChange
	wrongOrder
	clockBeforeCheck
	halfRevised
	refusedTaskLost
	failedTaskLost
	adoptedForgotten
	lostOutputIgnored
	keepsEnded
	keepsCancelled
	retriesCancelled
	doneNotCounted
	readsUnusedFields
	adoptsOnFirstSlot
	limitsAttempts
	changesJobs
	mapOrder

	// Of the choice.
	ignoresHeld
	ignoresBarrier
	ignoresSlowStart
	ignoresClass
	ignoresPriority
	ignoresCancelled
	attemptStuck
	skipsSeventh
	firstClasses
	lowestID
	sinceEpoch
	ticksCount
	capacityLags
	evenSlots
	firstSlot
	longLast
	lightFirst
	lastFirst
	shortNames
	zeroWeights
	oneEstimate
	declineNoted
	neverPanics
	panicsBare
	misuseDirty
	voidsTwice
	voidsAnyone
	voidsBare
	voidsOverwrite
	declineDirty
	crashes
	allocates

	// Of the optional interfaces.
	seekLies
	seekMisses
	rankingForgets
	explainsAnyone
	explainChanges
	explainCounts
	explainRefusals
	explainDeclines
	explainsTwice
	explainsNaN
	explainsInfinity
	preemptsEnded
	preemptsPinned
	wakeStuck
	wakeMissing
	starves
	starvesAwake
	admitsAll
	admitKeeps
	rejectsKept
	rejectsBare
	offersTooMuch
	supportsAll
	wakeAsked
	wakeOnce
	wakeNeeded
	seekTurns
	rankingSorts
	preemptsOnce
	savingForgets
	snapshotLacks
	snapshotUnsealed
	snapshotForgetsOrder
	snapshotForgetsEstimates
	snapshotCounts
	restoreMerges
	restoreHalf
	restoreKeepsBytes
	restoreAnyOptions
)

// fifo is a correct policy, as plain as can be: first come, first served. It
// looks at everything every time. A job waits for lag after its arrival.
type fifo struct {
	bug   bug
	lag   time.Duration
	knows sojourn.Features
	state state

	declined, ticks, failures, added, asked, refused int // what some bugs count
	slotsByID                                        []sojourn.SlotID
	addedSlots                                       []sojourn.SlotID // in the order in which they were added
	restored                                         int
	hushed                                           bool // NextWake was not asked since the latest event
	listed                                           bool // there were preemptions
	told                                             sojourn.Time
	kept                                             []byte // what was restored, until the next event
}

// state is all that a fifo knows. The fields are exported for encoding/json,
// which sorts maps.
type state struct {
	Now   sojourn.Time
	Slots map[sojourn.SlotID]*refSlot
	Down  map[sojourn.NodeID]bool
	Racks map[sojourn.NodeID]sojourn.RackID // of nodes that are down or have slots
	Jobs  []*refJob                         // in the order of arrival
}

type refSlot struct {
	Slot     sojourn.Slot
	Busy     bool
	Retiring bool
	Task     sojourn.TaskID
	Attempt  uint32
	Pinned   bool `json:",omitempty"`
}

type refJob struct {
	Spec      *sojourn.Job
	Inputs    [][][]sojourn.NodeID // of Spec, which keeps them from encoding/json
	Since     sojourn.Time
	Cancelled bool
	Released  bool `json:",omitempty"` // by a Tick, where a bug asks for that
	Tasks     [][]refTask
}

type refTask struct {
	State    byte // 'p'ending, 'h'eld, 'r'unning, 'd'one
	Attempts uint32
	Counted  bool // done, and counts for thresholds
}

func newFIFO(b bug) *fifo {
	knows := sojourn.FeatureAttempts
	if b == ignoresPriority {
		knows |= sojourn.FeaturePriority
	}
	return &fifo{bug: b, knows: knows, state: state{Slots: map[sojourn.SlotID]*refSlot{}, Down: map[sojourn.NodeID]bool{}, Racks: map[sojourn.NodeID]sojourn.RackID{}}}
}

func (p *fifo) Supports() sojourn.Features { return p.knows }

func (p *fifo) Observe(ev sojourn.Event) error {
	if err := p.check(&ev); err != nil {
		p.refused++
		if p.bug == clockBeforeCheck && !errors.Is(err, sojourn.ErrTimeReversed) && !errors.Is(err, sojourn.ErrUnknownKind) {
			p.state.Now = ev.At
		}
		if p.bug == halfRevised && errors.Is(err, sojourn.ErrInvalidRevision) {
			j := p.job(&ev)
			j.Tasks[0] = append(j.Tasks[0], refTask{State: 'p'})
		}
		return &sojourn.EventError{Event: ev, Err: err}
	}
	p.apply(&ev)
	return nil
}

func (p *fifo) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	s := p.state.Slots[id]
	if s == nil || s.Busy || s.Retiring {
		if p.bug == neverPanics {
			return sojourn.Assignment{}, false
		}
		if p.bug == misuseDirty && len(p.state.Jobs) > 0 {
			p.state.Jobs = append(p.state.Jobs[1:], p.state.Jobs[0])
		}
		if p.bug == panicsBare {
			panic(fmt.Sprintf("slot %d is unknown or busy", id))
		}
		panic(&sojourn.SlotError{Slot: id, Busy: s != nil && !s.Retiring})
	}
	if p.bug == allocates {
		p.slotsByID = append([]sojourn.SlotID(nil), id)
	}
	j, phase, index, ok := p.choose(s)
	if !ok {
		p.declined++
		a := sojourn.Assignment{}
		if p.bug == declineDirty {
			a.Slot = id
		}
		return a, false
	}
	p.kept = nil
	t := &j.Tasks[phase][index]
	if t.State = 'r'; p.bug != attemptStuck || t.Attempts == 0 {
		t.Attempts++
	}
	s.Busy, s.Attempt = true, t.Attempts
	s.Task = sojourn.TaskID{Job: j.Spec.ID, Phase: uint16(phase), Index: uint32(index)}
	return sojourn.Assignment{Task: s.Task, Attempt: s.Attempt, Slot: id}, true
}

// choose returns the first task that may start on a slot.
func (p *fifo) choose(s *refSlot) (_ *refJob, phase, index int, ok bool) {
	c := s.Slot.Class
	if p.bug == skipsSeventh && (p.declined+p.failures)%7 == 6 {
		return nil, 0, 0, false
	}
	if p.hushed {
		return nil, 0, 0, false
	}
	if p.bug == firstClasses && c > 1 {
		return nil, 0, 0, false
	}
	jobs := p.state.Jobs
	switch {
	case p.bug == lowestID:
		jobs = slices.Clone(jobs)
		slices.SortFunc(jobs, func(a, b *refJob) int { return cmp.Compare(a.Spec.ID, b.Spec.ID) })
	case p.bug == mapOrder:
		byID := map[sojourn.JobID]*refJob{}
		for _, j := range jobs {
			byID[j.Spec.ID] = j
		}
		jobs = slices.Collect(maps.Values(byID))
	case p.bug == lightFirst:
		jobs = slices.Clone(jobs)
		slices.SortStableFunc(jobs, func(a, b *refJob) int { return cmp.Compare(a.Spec.WeightUnits(), b.Spec.WeightUnits()) })
	case p.bug == shortNames:
		jobs = slices.Clone(jobs)
		slices.SortStableFunc(jobs, func(a, b *refJob) int { return len(a.Spec.Name) - len(b.Spec.Name) })
	case p.bug == zeroWeights:
		jobs = slices.Clone(jobs)
		slices.SortStableFunc(jobs, func(a, b *refJob) int { return cmp.Compare(b.Spec.Weight, a.Spec.Weight) })
	case p.bug == oneEstimate:
		jobs = slices.Clone(jobs)
		slices.SortStableFunc(jobs, func(a, b *refJob) int { return cmp.Compare(a.Spec.Phases[0].Estimate, b.Spec.Phases[0].Estimate) })
	case p.bug == longLast:
		jobs = slices.Clone(jobs)
		long := func(j *refJob) int { return bit(j.Spec.Phases[0].Estimate > 5*time.Second) }
		slices.SortStableFunc(jobs, func(a, b *refJob) int { return long(a) - long(b) })
	case p.bug == firstSlot && !slices.IsSorted(p.present()),
		p.bug == evenSlots && s.Slot.ID%2 == 0, p.bug == lastFirst,
		p.bug == ticksCount && p.ticks%2 == 1, p.bug == declineNoted && p.declined%2 == 1, p.bug == capacityLags && p.added%2 == 1,
		p.bug == sinceEpoch && time.Duration(p.state.Now)/time.Second%2 == 1:
		jobs = slices.Clone(jobs)
		slices.Reverse(jobs)
	}
	for _, j := range jobs {
		if j.Cancelled && p.bug != ignoresCancelled || p.early(j) || p.starved(j) {
			continue
		}
		for phase := range j.Tasks {
			if !p.ready(j, phase) || j.Spec.Phases[phase].Class != c && p.bug != ignoresClass {
				continue
			}
			for index, t := range j.Tasks[phase] {
				if t.State == 'p' || t.State == 'h' && p.bug == ignoresHeld {
					return j, phase, index, true
				}
			}
		}
	}
	return nil, 0, 0, false
}

// present lists the slots in the order in which they were added.
func (p *fifo) present() []sojourn.SlotID {
	return slices.DeleteFunc(slices.Clone(p.addedSlots), func(id sojourn.SlotID) bool { return p.state.Slots[id] == nil })
}

// starved reports whether a job is never served by a bug.
func (p *fifo) starved(j *refJob) bool {
	return (p.bug == starves || p.bug == starvesAwake) && j.Spec.Phases[0].Tasks > 1
}

func (p *fifo) early(j *refJob) bool {
	if p.bug == wakeAsked {
		return !j.Released
	}
	return p.state.Now < j.Since.Add(p.lag)
}

// release is what a Tick does by a bug: jobs of which the lag is over may start.
func (p *fifo) release() {
	for _, j := range p.state.Jobs {
		j.Released = j.Released || p.bug == wakeAsked && p.state.Now >= j.Since.Add(p.lag)
	}
}

// ready reports whether a phase may start.
func (p *fifo) ready(j *refJob, phase int) bool {
	if phase == 0 || p.bug == ignoresBarrier {
		return true
	}
	want := j.Spec.Threshold(phase)
	if p.bug == ignoresSlowStart && want > 0 {
		want = j.Spec.Phases[phase-1].Tasks
	}
	for _, t := range j.Tasks[phase-1] {
		if t.Counted {
			want--
		}
	}
	return want <= 0
}

// job returns the job that ev is about, or nil.
func (p *fifo) job(ev *sojourn.Event) *refJob {
	id := ev.Task.Job
	switch ev.Kind {
	case sojourn.JobArrived, sojourn.JobAdopted, sojourn.JobRevised, sojourn.JobCancelled:
		id = ev.Job.ID
	}
	for _, j := range p.state.Jobs {
		if j.Spec.ID == id {
			return j
		}
	}
	return nil
}

// task returns the task that ev is about, or nil.
func (p *fifo) task(ev *sojourn.Event) *refTask {
	j := p.job(ev)
	if j == nil || int(ev.Task.Phase) >= len(j.Tasks) || int64(ev.Task.Index) >= int64(len(j.Tasks[ev.Task.Phase])) {
		return nil
	}
	return &j.Tasks[ev.Task.Phase][ev.Task.Index]
}

func (p *fifo) check(ev *sojourn.Event) error {
	if ev.Kind < sojourn.SlotAdded || !ev.Kind.Valid() {
		return sojourn.ErrUnknownKind
	}
	if ev.At < p.state.Now {
		return sojourn.ErrTimeReversed
	}
	s := p.state.Slots[ev.Slot.ID]
	switch ev.Kind {
	case sojourn.SlotAdded:
		restored := s != nil && s.Retiring && s.Slot == ev.Slot
		switch {
		case ev.Slot.ID >= sojourn.MaxSlots || ev.Slot.Class >= sojourn.MaxClasses || p.wrongRack(ev.Slot):
			return sojourn.ErrInvalidSlot
		case s != nil && !restored && p.bug != acceptsDuplicate:
			return sojourn.ErrDuplicateSlot
		case ev.Slot.Speed != 0:
			return sojourn.ErrUnsupported
		}
	case sojourn.SlotRemoved:
		if s == nil || s.Retiring {
			return sojourn.ErrUnknownSlot
		}
	case sojourn.NodeDown, sojourn.NodeUp:
		switch {
		case ev.Slot.Node == 0 && p.bug != acceptsWrongFields:
			return sojourn.ErrInvalidEvent
		case p.wrongRack(ev.Slot):
			return sojourn.ErrInvalidSlot
		case p.state.Down[ev.Slot.Node] == (ev.Kind == sojourn.NodeDown) && p.bug != acceptsNodeTwice:
			return sojourn.ErrNodeState
		}
	case sojourn.JobArrived, sojourn.JobAdopted:
		if ev.Kind == sojourn.JobAdopted && ev.Service < 0 && p.bug != acceptsWrongFields {
			return sojourn.ErrInvalidEvent
		}
		return p.checkArrival(ev.Job)
	case sojourn.PoolChanged:
		if err := ev.Pool.Check(); err != nil {
			return sojourn.ErrInvalidPool
		}
		return sojourn.ErrUnsupported
	case sojourn.JobRevised:
		return p.checkRevision(ev)
	case sojourn.JobCancelled:
		if ev.Job == nil {
			return sojourn.ErrInvalidJob
		}
		return p.checkJob(ev)
	case sojourn.Tick:
		if p.bug == readsUnusedFields && ev.Service < 0 {
			return sojourn.ErrInvalidEvent
		}
	default:
		return p.checkTask(ev, s)
	}
	return nil
}

func (p *fifo) wrongRack(s sojourn.Slot) bool {
	was := p.state.Racks[s.Node]
	return was != 0 && s.Rack != 0 && was != s.Rack && p.bug != acceptsWrongRack
}

// knowRacks learns what ev says of a rack, and forgets what no slot and no node
// that is down needs any more.
func (p *fifo) knowRacks(ev *sojourn.Event) {
	switch ev.Kind {
	case sojourn.SlotAdded, sojourn.NodeDown, sojourn.NodeUp:
		if ev.Slot.Node != 0 && ev.Slot.Rack != 0 {
			p.state.Racks[ev.Slot.Node] = ev.Slot.Rack
		}
	}
	needed := map[sojourn.NodeID]bool{}
	for _, s := range p.state.Slots {
		needed[s.Slot.Node] = true
	}
	for n := range p.state.Racks {
		if !needed[n] && !p.state.Down[n] && p.bug != remembersRacks {
			delete(p.state.Racks, n)
		}
	}
}

func (p *fifo) checkArrival(job *sojourn.Job) error {
	if p.bug == acceptsBadJobs && job != nil && job.ID != 0 && len(job.Phases) > 0 {
		return nil
	}
	if err := job.Check(); err != nil {
		return err
	}
	if p.job(&sojourn.Event{Kind: sojourn.JobArrived, Job: job}) != nil {
		return sojourn.ErrDuplicateJob
	}
	return p.checkFeatures(job)
}

// checkFeatures refuses what the policy does not know.
func (p *fifo) checkFeatures(job *sojourn.Job) error {
	if (job.Parallelism != 0 || job.Release != 0 || job.Sequence != "" || job.Open || job.Priority != 0 && p.knows&sojourn.FeaturePriority == 0) && p.bug != ignoresFeatures {
		return sojourn.ErrUnsupported
	}
	for i := range job.Phases {
		if (job.Phases[i].Needs != nil || job.Phases[i].Held) && p.bug != ignoresFeatures {
			return sojourn.ErrUnsupported
		}
	}
	return nil
}

func (p *fifo) checkJob(ev *sojourn.Event) error {
	switch j := p.job(ev); {
	case j == nil:
		return sojourn.ErrUnknownJob
	case j.Cancelled:
		return sojourn.ErrCancelledJob
	}
	return nil
}

func (p *fifo) checkRevision(ev *sojourn.Event) error {
	if err := ev.Job.Check(); err != nil {
		return err
	}
	if err := p.checkJob(ev); err != nil {
		return err
	}
	j := p.job(ev)
	bad := ev.Job.Name != j.Spec.Name || ev.Job.Pool != j.Spec.Pool && p.bug != acceptsRevisedPool || len(ev.Job.Phases) != len(j.Spec.Phases)
	for i := 0; i < len(j.Spec.Phases) && !bad; i++ {
		bad = ev.Job.Phases[i].Class != j.Spec.Phases[i].Class || ev.Job.Phases[i].Needs != nil
		for k, t := range j.Tasks[i] {
			gone := k >= ev.Job.Phases[i].Tasks
			bad = bad || gone && (t.State != 'p' || t.Attempts > 0) && p.bug != acceptsShrinking
			bad = bad || !gone && t.State != 'p' && t.State != 'h' && !slices.Equal(ev.Job.Phases[i].Inputs.Of(k), j.Spec.Phases[i].Inputs.Of(k))
		}
	}
	if bad {
		return sojourn.ErrInvalidRevision
	}
	return p.checkFeatures(ev.Job)
}

// checkTask checks the events about tasks; s is the slot that they name.
func (p *fifo) checkTask(ev *sojourn.Event, s *refSlot) error {
	adopted, failed, progress := ev.Kind == sojourn.TaskAdopted, ev.Kind == sojourn.TaskFailed, ev.Kind == sojourn.TaskProgress
	report := progress || failed || ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskRefused || ev.Kind == sojourn.TaskPinned
	timed := adopted || report && ev.Kind != sojourn.TaskRefused && ev.Kind != sojourn.TaskPinned
	steers := ev.Kind == sojourn.TaskHeld || ev.Kind == sojourn.TaskReady
	if (timed && ev.Service < 0 || steers && ev.Attempt > math.MaxInt32+1 || progress && ev.Progress > sojourn.MaxProgress ||
		adopted && (ev.Attempt == 0 || ev.Attempt > math.MaxInt32+1)) && p.bug != acceptsWrongFields ||
		adopted && ev.Attempt == math.MaxInt32+1 && p.bug == limitsAttempts {
		return sojourn.ErrInvalidEvent
	}
	if adopted && (s == nil || s.Retiring) && (p.bug != wrongOrder || p.job(ev) != nil) {
		return sojourn.ErrUnknownSlot
	}
	if err := p.checkJob(ev); err != nil && !(report && err == sojourn.ErrCancelledJob) {
		return err
	}
	t := p.task(ev)
	if t == nil {
		return sojourn.ErrUnknownTask
	}
	pending, held := t.State == 'p', t.State == 'h'
	switch ev.Kind {
	case sojourn.TaskHeld, sojourn.TaskReady:
		switch {
		case ev.Kind == sojourn.TaskHeld && !pending || ev.Kind == sojourn.TaskReady && !held:
			return sojourn.ErrTaskState
		case ev.Attempt == 0 || p.bug == ignoresFeatures:
		case ev.Attempt < t.Attempts:
			return sojourn.ErrStaleAttempt
		case p.knows&sojourn.FeatureAttempts == 0:
			return sojourn.ErrUnsupported
		}
	case sojourn.TaskDone:
		if !pending && !held {
			return sojourn.ErrTaskState
		}
	case sojourn.OutputLost:
		switch {
		case t.State != 'd':
			return sojourn.ErrTaskState
		case t.Attempts != ev.Attempt:
			return sojourn.ErrStaleAttempt
		}
	case sojourn.TaskAdopted:
		switch {
		case !pending:
			return sojourn.ErrTaskState
		case ev.Attempt <= t.Attempts:
			return sojourn.ErrStaleAttempt
		case s.Busy && p.bug != acceptsBusyAdoption:
			return sojourn.ErrSlotBusy
		case s.Slot.Class != p.job(ev).Spec.Phases[ev.Task.Phase].Class && p.bug != acceptsClassChange:
			return sojourn.ErrWrongClass
		case p.bug == adoptsOnFirstSlot && ev.Slot.ID != 0:
			return sojourn.ErrSlotBusy
		}
	default:
		switch {
		case t.State != 'r',
			(s == nil || !s.Busy || s.Task != ev.Task) && p.bug != acceptsWrongSlot,
			t.Attempts != ev.Attempt && p.bug != acceptsStale:
			return sojourn.ErrStaleAttempt
		}
	}
	return nil
}

func (p *fifo) apply(ev *sojourn.Event) {
	defer p.knowRacks(ev)
	p.state.Now, p.kept = ev.At, nil
	t := p.task(&sojourn.Event{Kind: sojourn.TaskHeld, Task: ev.Task})
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.added++
		if s := p.state.Slots[ev.Slot.ID]; s != nil && s.Retiring {
			s.Retiring = p.bug == ignoresRestored
		} else {
			p.addedSlots = p.present()
			p.state.Slots[ev.Slot.ID] = &refSlot{Slot: ev.Slot}
			p.addedSlots = append(p.addedSlots, ev.Slot.ID)
		}
	case sojourn.SlotRemoved:
		s := p.state.Slots[ev.Slot.ID]
		if s.Retiring = true; !s.Busy || p.bug == forgetsRetiring {
			delete(p.state.Slots, ev.Slot.ID)
		}
	case sojourn.NodeDown:
		p.state.Down[ev.Slot.Node] = true
	case sojourn.NodeUp:
		delete(p.state.Down, ev.Slot.Node)
	case sojourn.JobArrived, sojourn.JobAdopted:
		j := &refJob{Since: ev.At, Tasks: make([][]refTask, len(ev.Job.Phases))}
		p.state.Jobs = append(p.state.Jobs, j)
		j.describe(ev.Job)
		if p.bug == changesJobs {
			ev.Job.Phases[0].Estimate++
		}
	case sojourn.JobRevised:
		p.job(ev).describe(ev.Job)
	case sojourn.JobCancelled:
		p.job(ev).Cancelled = true
	case sojourn.TaskHeld, sojourn.TaskReady:
		if t.State = 'h'; ev.Kind == sojourn.TaskReady {
			t.State = 'p'
		}
		if ev.Attempt > 0 {
			t.Attempts = ev.Attempt
		}
	case sojourn.TaskDone:
		t.State, t.Counted = 'd', p.bug != doneNotCounted
	case sojourn.OutputLost:
		if p.bug != lostOutputIgnored {
			t.State, t.Counted = 'p', false
		}
	case sojourn.TaskAdopted:
		s := p.state.Slots[ev.Slot.ID]
		s.Busy, s.Task, s.Attempt = true, ev.Task, ev.Attempt
		if t.Attempts = ev.Attempt; p.bug != adoptedForgotten {
			t.State = 'r'
		}
	case sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused:
		p.end(ev, t)
	case sojourn.TaskPinned:
		p.state.Slots[ev.Slot.ID].Pinned = p.bug != preemptsPinned
	case sojourn.Tick:
		p.ticks++
		p.release()
	}
	p.hushed = p.bug == wakeNeeded
	p.state.Jobs = slices.DeleteFunc(p.state.Jobs, p.ended)
	p.reorder(ev)
}

// reorder is what some bugs are about: a job of which a task has failed goes to the
// end of the queue, or small jobs go first.
func (p *fifo) reorder(ev *sojourn.Event) {
	jobs := p.state.Jobs
	switch {
	case p.bug == snapshotForgetsOrder && ev.Kind == sojourn.TaskFailed:
		for i, j := range jobs {
			if j.Spec.ID == ev.Task.Job {
				p.state.Jobs = append(slices.Delete(jobs, i, i+1), j)
				return
			}
		}
	case p.bug == snapshotForgetsEstimates:
		work := func(j *refJob) (sum time.Duration) {
			for i := range j.Spec.Phases {
				sum += j.Spec.Phases[i].Work() / time.Duration(len(j.Spec.Phases))
			}
			return sum
		}
		slices.SortStableFunc(jobs, func(a, b *refJob) int { return cmp.Compare(work(a), work(b)) })
	}
}

// end takes an attempt off its slot.
func (p *fifo) end(ev *sojourn.Event, t *refTask) {
	for id, s := range p.state.Slots {
		if s.Busy && s.Task == ev.Task {
			s.Busy, s.Task, s.Attempt, s.Pinned = false, sojourn.TaskID{}, 0, false
			if s.Retiring && p.bug != keepsRetired {
				delete(p.state.Slots, id)
			}
		}
	}
	switch {
	case ev.Kind == sojourn.TaskFinished,
		ev.Kind == sojourn.TaskRefused && p.bug == refusedTaskLost,
		ev.Kind == sojourn.TaskFailed && p.bug == failedTaskLost:
		t.State, t.Counted = 'd', true
	default:
		t.State = 'p'
		if p.bug == retriesCancelled {
			p.job(ev).Cancelled = false
		}
	}
	if ev.Kind == sojourn.TaskFailed {
		if p.failures++; p.bug == crashes && p.failures == 3 {
			panic("three failures")
		}
	}
}

func (p *fifo) ended(j *refJob) bool {
	left, running := 0, 0
	for _, tasks := range j.Tasks {
		for _, t := range tasks {
			if t.State != 'd' {
				left++
			}
			if t.State == 'r' {
				running++
			}
		}
	}
	return running == 0 && (left == 0 && p.bug != keepsEnded || j.Cancelled && p.bug != keepsCancelled)
}

func (j *refJob) describe(spec *sojourn.Job) {
	j.Spec, j.Inputs = spec, make([][][]sojourn.NodeID, len(spec.Phases))
	for i := range spec.Phases {
		p := &spec.Phases[i]
		j.Tasks[i] = j.Tasks[i][:min(len(j.Tasks[i]), p.Tasks)]
		for len(j.Tasks[i]) < p.Tasks {
			j.Tasks[i] = append(j.Tasks[i], refTask{State: 'p'})
		}
		for k := range p.Inputs.Len() {
			j.Inputs[i] = append(j.Inputs[i], p.Inputs.Of(k))
		}
	}
}

// full is a fifo with all optional interfaces, and with limits. It accepts a
// deadline only if one slot could do the job alone in time.
type full struct{ *fifo }

// fullOptions is what a full needs to be granted.
func fullOptions() Options {
	return Options{
		IdlesOnPurpose: true, Rejects: true, NeedsEstimates: true, MaxPhases: 2,
		Classes:  []sojourn.Class{0, 1},
		Supports: func(j *sojourn.Job) bool { return j.Phases[0].Class == 0 },
		Others: []func() sojourn.Policy{func() sojourn.Policy {
			p := newFull(correct)
			p.lag++
			return p
		}},
	}
}

func newFull(b bug) full {
	p := newFIFO(b)
	p.lag, p.knows = 5*time.Second, 0
	return full{p}
}

func (p full) Observe(ev sojourn.Event) error {
	told := ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted || ev.Kind == sojourn.JobRevised
	if err := p.check(&ev); err == nil && told {
		if err := p.refuses(ev.Job, ev.At); err != nil && (ev.Kind != sojourn.JobAdopted || err == sojourn.ErrUnsupported) {
			if p.bug == rejectsKept && ev.Kind == sojourn.JobArrived && errors.Is(err, sojourn.ErrRejected) {
				p.fifo.Observe(ev)
			}
			return &sojourn.EventError{Event: ev, Err: err}
		}
	}
	return p.fifo.Observe(ev)
}

func (p full) refuses(job *sojourn.Job, now sojourn.Time) error {
	o := fullOptions()
	if !o.supports(job) && p.bug != supportsAll {
		return sojourn.ErrUnsupported
	}
	earliest := now
	for i := range job.Phases {
		if earliest = earliest.Add(job.Phases[i].Work()); earliest < 0 {
			return &sojourn.RejectedError{Job: job.ID, Misses: job.ID, By: math.MaxInt64}
		}
	}
	if job.Deadline == 0 || job.Deadline >= earliest {
		return nil
	}
	if p.bug == rejectsBare {
		return sojourn.ErrRejected
	}
	offer := earliest
	if p.bug == offersTooMuch {
		offer--
	}
	return &sojourn.RejectedError{Job: job.ID, Misses: job.ID, By: earliest.Sub(job.Deadline), Offer: offer, Exact: true}
}

func (p full) Admit(job *sojourn.Job) error {
	if err := p.checkArrival(job); err != nil || p.bug == admitsAll {
		return err
	}
	err := p.refuses(job, p.state.Now)
	if p.bug == admitKeeps && err == nil {
		p.state.Now++
	}
	return err
}

func (p full) AppendPreemptions(dst []sojourn.Preemption) []sojourn.Preemption {
	if p.bug == preemptsOnce && p.listed {
		return dst
	}
	for _, id := range slices.Sorted(maps.Keys(p.state.Slots)) {
		s := p.state.Slots[id]
		if len(p.state.Jobs) == 0 || !s.Busy && p.bug != preemptsEnded || s.Pinned || s.Task.Job == p.state.Jobs[0].Spec.ID {
			continue
		}
		dst = append(dst, sojourn.Preemption{Task: s.Task, Attempt: s.Attempt, Slot: id, For: p.state.Jobs[0].Spec.ID})
		p.listed = true
	}
	return dst
}

func (p full) NextWake() (at sojourn.Time, ok bool) {
	if p.bug == wakeMissing {
		return 0, false
	}
	p.hushed = false
	p.release()
	for _, j := range p.state.Jobs {
		if p.bug == starvesAwake && p.starved(j) && p.state.Now < math.MaxInt64 {
			return p.state.Now + 1, true
		}
		if p.early(j) || p.bug == wakeStuck {
			at := j.Since.Add(p.lag)
			if p.bug == wakeOnce && at == p.told {
				return 0, false
			}
			p.told = at
			return at, true
		}
	}
	return 0, false
}

func (p full) Seek(c sojourn.Class) (sojourn.SlotID, bool) {
	if _, _, _, ok := p.choose(&refSlot{Slot: sojourn.Slot{Class: c}}); !ok && p.bug != seekLies || p.bug == seekMisses && p.declined%4 == 3 {
		return 0, false
	}
	for _, id := range slices.Sorted(maps.Keys(p.state.Slots)) {
		if s := p.state.Slots[id]; !s.Busy && s.Slot.Class == c {
			if p.bug == seekTurns {
				slices.Reverse(p.state.Jobs)
			}
			return id, true
		}
	}
	return 0, false
}

func (p full) AppendRanking(dst []sojourn.JobID) []sojourn.JobID {
	if p.bug == rankingSorts {
		slices.SortFunc(p.state.Jobs, func(a, b *refJob) int { return cmp.Compare(a.Spec.ID, b.Spec.ID) })
	}
	for i, j := range p.state.Jobs {
		if p.bug != rankingForgets || i < 2 {
			dst = append(dst, j.Spec.ID)
		}
	}
	return dst
}

func (p full) Explain(id sojourn.JobID) ([]slog.Attr, bool) {
	if p.bug == explainChanges && len(p.state.Jobs) > 1 {
		p.state.Jobs[0], p.state.Jobs[1] = p.state.Jobs[1], p.state.Jobs[0]
	}
	j := p.job(&sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
	if j == nil {
		return nil, p.bug == explainsAnyone
	}
	p.asked++
	attrs := []slog.Attr{slog.Duration("since", time.Duration(j.Since))}
	switch p.bug {
	case explainCounts:
		attrs = append(attrs, slog.Int("asked", p.asked))
	case explainRefusals:
		attrs = append(attrs, slog.Int("refused", p.refused))
	case explainDeclines:
		attrs = append(attrs, slog.Int("declined", p.declined))
	case explainsNaN:
		attrs = append(attrs, slog.Group("job", slog.Float64("index", math.NaN())))
	case explainsInfinity:
		attrs = append(attrs, slog.Any("rates", map[string][]float32{"": {1, float32(math.Inf(-1))}}))
	case explainsTwice:
		attrs = append(attrs, slog.Group("job", slog.Int("asked", 1), slog.Int("asked", 2)))
	}
	return attrs, true
}

// failed reports whether a task of a job was attempted more than once: what was promised to
// such a job is void.
func (j *refJob) failed() bool {
	return slices.ContainsFunc(j.Tasks, func(tasks []refTask) bool {
		return slices.ContainsFunc(tasks, func(t refTask) bool { return t.Attempts > 1 })
	})
}

func (p full) AppendVoid(dst []sojourn.JobID) []sojourn.JobID {
	if p.bug == voidsOverwrite {
		dst = dst[:0]
	}
	for _, j := range p.state.Jobs {
		if j.failed() {
			dst = append(dst, j.Spec.ID)
			if p.bug == voidsTwice {
				dst = append(dst, j.Spec.ID)
			}
		}
	}
	return dst
}

func (p full) Void(id sojourn.JobID) (why string, ok bool) {
	j := p.job(&sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: id}})
	if j == nil || !j.failed() && p.bug != voidsAnyone {
		return "", false
	}
	if p.bug == voidsBare {
		return "", true
	}
	return "a task was attempted again", true
}

// saved is the form of a snapshot. The embedded state has exported fields only.
type saved struct {
	Lag time.Duration // the only option
	state
	Restored int `json:",omitempty"` // what a bug counts
}

func (p full) AppendBinary(dst []byte) ([]byte, error) {
	if p.kept != nil {
		return append(dst, p.kept...), nil
	}
	if p.bug == savingForgets {
		clear(p.state.Racks)
	}
	st := saved{Lag: p.lag, state: p.state}
	switch p.bug {
	case snapshotLacks:
		st.Down = nil
	case snapshotForgetsOrder:
		st.Jobs = slices.Clone(st.Jobs)
		slices.SortFunc(st.Jobs, func(a, b *refJob) int { return cmp.Compare(a.Spec.ID, b.Spec.ID) })
	case snapshotForgetsEstimates:
		st.Jobs = slices.Clone(st.Jobs)
		for i, j := range st.Jobs {
			k := *j
			k.Spec = clone(j.Spec)
			for n := range k.Spec.Phases {
				k.Spec.Phases[n].Estimate, k.Spec.Phases[n].Estimates = 0, nil
			}
			st.Jobs[i] = &k
		}
	case snapshotCounts:
		st.Restored = p.restored
	}
	data, err := json.Marshal(st)
	if p.bug == snapshotUnsealed {
		return append(dst, data...), err
	}
	data = binary.BigEndian.AppendUint32(data, crc32.ChecksumIEEE(data))
	return append(dst, data...), err
}

func (p full) UnmarshalBinary(all []byte) error {
	data := all
	sealed := true
	if p.bug != snapshotUnsealed {
		n := len(data) - 4
		sealed = n >= 0 && crc32.ChecksumIEEE(data[:n]) == binary.BigEndian.Uint32(data[n:])
		if !sealed && p.bug != restoreHalf {
			return errors.New("damaged")
		}
		data = data[:max(n, 0)]
	}
	var st saved
	if p.bug == restoreMerges {
		st.state = p.state
	}
	if err := json.Unmarshal(data, &st); err != nil {
		return err
	}
	if st.Lag != p.lag && p.bug != restoreAnyOptions {
		return sojourn.ErrForeignSnapshot
	}
	for _, j := range st.Jobs {
		for i := range j.Inputs {
			j.Spec.Phases[i].Inputs = sojourn.MakeInputs(j.Inputs[i])
		}
	}
	if st.Down == nil {
		st.Down = map[sojourn.NodeID]bool{}
	}
	if st.Racks == nil {
		st.Racks = map[sojourn.NodeID]sojourn.RackID{}
	}
	p.state = st.state
	p.restored++
	if p.bug == restoreKeepsBytes {
		p.kept = all
	}
	if !sealed {
		return errors.New("damaged")
	}
	return nil
}

// A mute policy is a Snapshotter and nothing else besides: what its snapshots lack
// shows in its decisions only.
type mute struct{ p full }

func newMute(b bug) mute {
	p := newFIFO(b)
	p.knows = 0
	return mute{full{p}}
}

func (m mute) Observe(ev sojourn.Event) error { return m.p.Observe(ev) }

func (m mute) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return m.p.Assign(id) }

func (m mute) AppendBinary(dst []byte) ([]byte, error) { return m.p.AppendBinary(dst) }

func (m mute) UnmarshalBinary(data []byte) error { return m.p.UnmarshalBinary(data) }
