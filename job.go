package sojourn

import (
	"encoding/json"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"
)

// A JobID names a job. It is unique among live jobs; zero is not a JobID.
type JobID uint64

// A Job describes a job to a policy. Observe keeps the pointer: neither the
// driver nor the policy may change the job, or anything it refers to,
// afterwards. To change the description, report [JobRevised] with a new Job of
// the same ID.
type Job struct {
	ID JobID

	// Name is the same for recurring runs of one program. Estimators may learn from it;
	// nothing else depends on it.
	Name string

	// Pool names the group of jobs whose share the job counts against, for policies that
	// share between groups, such as package fair.
	Pool string

	// Weight is the job's share relative to others. Zero means 1; otherwise it is
	// at least 2^-16 and below 2^32. Policies compute with [Job.WeightUnits].
	Weight float64

	// Priority says what comes before the job, whatever its share is: while a task of a job with a greater
	// Priority could start on a slot, no task of this one starts there, unless a policy says that what has waited for long
	// passes. Zero is the usual one. A revision may change it, unless a task of the job has had more than 2^31 attempts.
	// See [FeaturePriority].
	Priority int32

	// Deadline is the instant at which the job should be complete. Zero means
	// none.
	Deadline Time

	// Parallelism is how many tasks of the job may run at a time. Zero means any number. While so many
	// run, no policy starts another one. A revision may change it at any time, also below the number of
	// tasks that run: they go on. [TaskAdopted] tells of what runs already, so it is never refused for
	// it. Other than zero, it makes each [Phase].After above 0 a barrier: tasks that wait in their slots for the phase before
	// would take the places without which that phase cannot end. See [FeatureParallelism].
	Parallelism uint32

	// Release is the release time: no task of the job starts before that instant. Zero means none. A
	// revision may change it until it has come. See [FeatureRelease].
	Release Time

	// Sequence, unless empty, names jobs that run one after the other, in the order in which they arrived: no
	// task of the job starts before all jobs of that Sequence that arrived before it have ended. See
	// [FeatureSequence].
	Sequence string

	// Open says that more tasks may come: the job does not end when all its tasks are done. A revision adds tasks at the end of
	// its phases, and one that is no longer Open lets the job end as any other. Cancelling ends it, too. See [FeatureOpen].
	Open bool

	// Phases lists the phases of the job in order, at least one. A bag of tasks has one
	// phase, a MapReduce job two.
	Phases []Phase
}

// NoBarrier, as [Phase.After], starts a phase without waiting for the phase
// before it.
const NoBarrier = -1

// Bounds that [Job.Check] enforces.
const (
	MaxPhases = 1 << 16   // phases of a job
	MaxTasks  = 1<<31 - 1 // tasks of a job, in all its phases
)

// A Phase is a set of tasks that do not depend on one another.
type Phase struct {
	// Tasks is the number of tasks, at least 1. They are numbered from 0. A policy
	// takes about two bits of memory for each task, in blocks of 4,096 tasks. The
	// first block is always there; a later one takes memory once a task in it was
	// started, held or finished.
	Tasks int

	// Class is the class of slot that the tasks run on, below [MaxClasses].
	Class Class

	// Estimate is the expected service time of one task, on a slot of speed 100: that of a
	// usual slot, where slots differ ([Slot.Speed]). Zero means unknown; each policy documents what it
	// then assumes.
	Estimate time.Duration

	// Estimates, unless nil, holds the expected service time of each task. For a task
	// whose entry is zero, Estimate counts.
	Estimates []time.Duration

	// After is how many tasks of the phase before must have finished before tasks
	// of this phase may start: 0 means all of them (a barrier), n means n of them
	// (Hadoop's slow start), and NoBarrier means that the phase waits for none. In
	// the first phase it is 0 or NoBarrier. Only finished tasks count. A task may
	// start before its input has arrived; it then waits in its slot. In a job with
	// Parallelism n means all of them.
	After int

	// Needs, unless nil, lists the phases that must have finished, with all their tasks, before
	// tasks of this phase may start, instead of the phase before. They are numbered from 0, in
	// increasing order, and below the number of this phase, so that there is no cycle. An empty
	// list means that the phase waits for none. After is then 0. See [FeatureNeeds].
	Needs []int

	// Held says that the tasks of the phase are held from the beginning, as if [TaskHeld] had
	// been reported of each, also those that [JobRevised] adds. [TaskReady] releases them one by
	// one. See [FeatureHeld].
	Held bool

	// Inputs holds, for each task, the nodes that its input can be read from. The
	// zero Inputs means that tasks run equally well anywhere.
	Inputs Inputs

	// Bytes, unless nil, holds the size of each task's input in bytes.
	Bytes []int64

	// Delays, unless nil, holds for each task the time between its end and the arrival of
	// its output at the next phase.
	Delays []time.Duration
}

// EstimateOf returns the expected service time of a task, 0 if unknown. Drivers and
// policies call it so that all of them read Estimate and Estimates alike.
func (p *Phase) EstimateOf(task int) time.Duration {
	if p.Estimates != nil && p.Estimates[task] > 0 {
		return p.Estimates[task]
	}
	return p.Estimate
}

// Work returns the sum of the estimates of all tasks: the expected time that the
// phase takes on one slot. Tasks without an estimate count as 0.
func (p *Phase) Work() time.Duration {
	if p.Estimates == nil {
		return p.Estimate * time.Duration(p.Tasks)
	}
	var sum time.Duration
	for i := range p.Estimates {
		sum += p.EstimateOf(i)
	}
	return sum
}

// Threshold returns how many tasks of the phase before phase i must have
// finished before tasks of phase i may start, with the special values of
// [Phase.After] and what [Job].Parallelism makes of it resolved. It is 0 if phase i does not wait for the phase before.
func (j *Job) Threshold(i int) int {
	switch p := &j.Phases[i]; {
	case i == 0 || p.After == NoBarrier || p.Needs != nil && !slices.Contains(p.Needs, i-1):
		return 0
	case p.After == 0 || j.Parallelism > 0:
		return j.Phases[i-1].Tasks
	default:
		return p.After
	}
}

// WaitsFor returns the phases that phase i waits for, each with how many of its tasks must have
// finished before tasks of phase i may start. It says what After and Needs mean, to drivers,
// which hold a policy to it, and to policies that keep account of tasks without the ledger of
// package kit/ledger.
func (j *Job) WaitsFor(i int) iter.Seq2[int, int] {
	return func(yield func(phase, tasks int) bool) {
		if j.Phases[i].Needs == nil {
			if n := j.Threshold(i); n > 0 {
				yield(i-1, n)
			}
			return
		}
		for _, k := range j.Phases[i].Needs {
			if !yield(k, j.Phases[k].Tasks) {
				return
			}
		}
	}
}

// weightUnit is the resolution of weights: one unit is 2^-16.
const weightUnit = 1 << 16

// WeightUnits returns the weight in units of 2^-16, rounded to the nearest integer below
// 2^48, ties to even. It is at least 1 for a job that passes [Job.Check]. Policies
// compute exactly with this integer. Whoever checks shares, such as an audit, has to
// round the weight in the same way.
func (j *Job) WeightUnits() uint64 {
	if j.Weight == 0 {
		return weightUnit
	}
	return min(uint64(math.RoundToEven(j.Weight*weightUnit)), 1<<48-1)
}

// Check returns the first thing that is wrong with j, or nil. It looks for an
// ID of zero; a weight, deadline, release time, number of phases or tasks, class, estimate,
// threshold, need, size or delay out of range; a list whose length is not the number
// of tasks; estimates of a phase whose sum exceeds the range of time.Duration.
// The error wraps [ErrInvalidJob] and names the place.
func (j *Job) Check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrInvalidJob, fmt.Sprintf(format, args...))
	}
	switch {
	case j == nil:
		return bad("nil")
	case j.ID == 0:
		return bad("zero ID")
	case j.Weight != 0 && !(j.Weight >= 1.0/weightUnit && j.Weight < 1<<32):
		return bad("weight %v is not in [2^-16, 2^32)", j.Weight)
	case j.Deadline < 0:
		return bad("negative deadline %v", j.Deadline)
	case j.Release < 0:
		return bad("negative release time %v", j.Release)
	case len(j.Phases) == 0 || len(j.Phases) > MaxPhases:
		return bad("%d phases, want 1 to %d", len(j.Phases), MaxPhases)
	}
	total := int64(0)
	for i := range j.Phases {
		if err := j.Phases[i].check(); err != "" {
			return bad("phase %d: %s", i, err)
		}
		if total += int64(j.Phases[i].Tasks); total > MaxTasks {
			return bad("more than %d tasks", MaxTasks)
		}
		before := 0
		if i > 0 {
			before = j.Phases[i-1].Tasks
		}
		if after := j.Phases[i].After; after < NoBarrier || after > before {
			return bad("phase %d: after %d of %d tasks", i, after, before)
		}
		if err := j.Phases[i].checkNeeds(i); err != "" {
			return bad("phase %d: %s", i, err)
		}
	}
	return nil
}

// check returns what is wrong with p by itself, or "".
func (p *Phase) check() string {
	n := p.Tasks
	switch {
	case n < 1 || n > MaxTasks:
		return fmt.Sprintf("%d tasks, want 1 to %d", n, MaxTasks)
	case p.Class >= MaxClasses:
		return fmt.Sprintf("class %d, want less than %d", p.Class, MaxClasses)
	case p.Estimate < 0:
		return fmt.Sprintf("negative estimate %v", p.Estimate)
	case p.Estimates != nil && len(p.Estimates) != n:
		return fmt.Sprintf("%d estimates for %d tasks", len(p.Estimates), n)
	case p.Bytes != nil && len(p.Bytes) != n:
		return fmt.Sprintf("%d sizes for %d tasks", len(p.Bytes), n)
	case p.Delays != nil && len(p.Delays) != n:
		return fmt.Sprintf("%d delays for %d tasks", len(p.Delays), n)
	case p.Inputs.Len() != 0 && p.Inputs.Len() != n:
		return fmt.Sprintf("inputs of %d tasks for %d tasks", p.Inputs.Len(), n)
	case p.Estimates == nil && p.Estimate > math.MaxInt64/time.Duration(n):
		return fmt.Sprintf("%d tasks of %v each are out of range", n, p.Estimate)
	}
	var sum time.Duration
	for i, d := range p.Estimates {
		if d < 0 {
			return fmt.Sprintf("task %d: negative estimate %v", i, d)
		}
		if sum += p.EstimateOf(i); sum < 0 {
			return "the sum of the estimates is out of range"
		}
	}
	for i, b := range p.Bytes {
		if b < 0 {
			return fmt.Sprintf("task %d: negative size %d", i, b)
		}
	}
	for i, d := range p.Delays {
		if d < 0 {
			return fmt.Sprintf("task %d: negative delay %v", i, d)
		}
	}
	for i, node := range p.Inputs.nodes {
		if node == 0 {
			return fmt.Sprintf("input %d: node 0", i)
		}
	}
	return ""
}

// checkNeeds returns what is wrong with the phases that p, which is phase i, waits for, or "".
func (p *Phase) checkNeeds(i int) string {
	last := -1
	for _, k := range p.Needs {
		switch {
		case k < 0 || k >= i:
			return fmt.Sprintf("needs phase %d, which does not come before it", k)
		case k <= last:
			return fmt.Sprintf("needs phase %d after phase %d: want increasing numbers", k, last)
		}
		last = k
	}
	if p.Needs != nil && p.After != 0 {
		return fmt.Sprintf("after %d tasks of the phase before, and needs %v: want one of the two", p.After, p.Needs)
	}
	return ""
}

// Inputs says which nodes hold the input of each task of a phase. The zero
// Inputs is empty: no task prefers a place. The lists are flat, so a phase of a
// million tasks costs two allocations.
type Inputs struct {
	nodes []NodeID // of task 0, then of task 1, ...
	ends  []uint32 // ends[i] is where the nodes of task i end
}

// MakeInputs returns the Inputs in which task i can read its input from
// nodes[i]; an empty list means that the task runs equally well anywhere. It
// keeps nothing of its argument.
func MakeInputs(nodes [][]NodeID) Inputs {
	n := 0
	for _, list := range nodes {
		n += len(list)
	}
	if n == 0 {
		return Inputs{}
	}
	in := Inputs{nodes: make([]NodeID, 0, n), ends: make([]uint32, len(nodes))}
	for i, list := range nodes {
		in.nodes = append(in.nodes, list...)
		in.ends[i] = uint32(len(in.nodes))
	}
	return in
}

// Len returns the number of tasks of the phase, or 0 if in is empty.
func (in Inputs) Len() int { return len(in.ends) }

// Of returns the nodes that hold the input of a task. The caller must not change them.
// It is empty if the task runs equally well anywhere.
func (in Inputs) Of(task int) []NodeID {
	if len(in.ends) == 0 {
		return nil
	}
	var start uint32
	if task > 0 {
		start = in.ends[task-1]
	}
	return in.nodes[start:in.ends[task]:in.ends[task]]
}

// MarshalJSON writes one list of nodes for each task, such as [[1,7],[],[2]]; null if in is empty.
func (in Inputs) MarshalJSON() ([]byte, error) {
	var lists [][]NodeID
	for i := range in.Len() {
		lists = append(lists, append([]NodeID{}, in.Of(i)...)) // not nil, which would be null
	}
	return json.Marshal(lists)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (in *Inputs) UnmarshalJSON(data []byte) error {
	var lists [][]NodeID
	if err := json.Unmarshal(data, &lists); err != nil {
		return fmt.Errorf("sojourn: inputs: %w", err)
	}
	*in = MakeInputs(lists)
	return nil
}

// A TaskID names one task of one job.
type TaskID struct {
	Job   JobID
	Index uint32 // below Phases[Phase].Tasks
	Phase uint16
}

// String formats id as job/phase/index, such as "7/0/12".
func (id TaskID) String() string { return fmt.Sprintf("%d/%d/%d", id.Job, id.Phase, id.Index) }
