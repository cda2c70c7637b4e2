package sojourn

import (
	"fmt"
	"math/bits"
	"strings"
)

// Features is a set of additions to the contract that a policy must know to decide
// correctly. A policy that does not know a feature would ignore it, and start tasks too early or
// number attempts twice. So it has to refuse jobs and events that use the feature, with
// [ErrUnsupported]: see [Supporter].
//
// Fields that only help to decide, such as estimates, are no features: a policy may ignore them.
type Features uint32

const (
	// FeatureNeeds: a phase names the phases that it waits for ([Phase.Needs]).
	FeatureNeeds Features = 1 << iota
	// FeatureHeld: the tasks of a phase are held at first ([Phase.Held]).
	FeatureHeld
	// FeatureAttempts: [TaskHeld] and [TaskReady] tell the number of the last attempt at the task.
	FeatureAttempts
	// FeatureProjected: a slot stands for room that tasks of other classes may take, so that a free
	// slot may leave whenever another one is taken, and the number of slots of a class is not what
	// the class has. Package shape makes such slots. No event uses this feature.
	FeatureProjected
	// FeatureParallelism: a job bounds how many of its tasks run at a time ([Job.Parallelism]). All policies of this module
	// have it, but package rtmr with Chain, the paper's way, which books whole jobs.
	FeatureParallelism
	// FeatureRelease: a job has a release time ([Job.Release]). Package kit/release adds this feature and the
	// next one to any policy.
	FeatureRelease
	// FeatureSequence: jobs run one after the other ([Job.Sequence]).
	FeatureSequence
	// FeatureSpeed: a slot says how fast it works ([Slot.Speed]). A policy that promises deadlines, and counts a
	// slot as one of speed 100, does not have it.
	FeatureSpeed
	// FeaturePools: a pool changes while the policy runs ([PoolChanged]).
	FeaturePools
	// FeaturePriority: a job has a priority ([Job.Priority]). Package kit/priority adds this feature to any policy.
	FeaturePriority
	// FeatureOpen: a job does not end when all its tasks are done, since more may come ([Job.Open]).
	FeatureOpen

	numFeatures = iota
)

var featureNames = [numFeatures]string{"Phase.Needs", "Phase.Held", "attempts of held tasks", "projected slots", "Job.Parallelism", "Job.Release", "Job.Sequence", "Slot.Speed", "PoolChanged", "Job.Priority", "Job.Open"}

// String lists the features, such as "Phase.Needs, Phase.Held"; "none" for none.
func (f Features) String() string {
	if f == 0 {
		return "none"
	}
	var names []string
	for ; f != 0; f &= f - 1 {
		if i := bits.TrailingZeros32(uint32(f)); i < numFeatures {
			names = append(names, featureNames[i])
		} else {
			names = append(names, fmt.Sprintf("feature %d", i))
		}
	}
	return strings.Join(names, ", ")
}

// Check returns nil if all of f are supported, and else an error that wraps [ErrUnsupported] and
// names the others.
func (f Features) Check(supported Features) error {
	if missing := f &^ supported; missing != 0 {
		return fmt.Errorf("%w: %v", ErrUnsupported, missing)
	}
	return nil
}

// A Supporter says which features it knows. A policy that is no Supporter knows none. A policy
// that contains several policies, such as that of package fair, knows those that all of them
// know.
type Supporter interface {
	// Supports returns the features that the policy knows. It always returns the same.
	Supports() Features
}

// Supports returns the features that p knows: those that its [Supporter] names, or none.
func Supports(p Policy) Features {
	if s, ok := As[Supporter](p); ok {
		return s.Supports()
	}
	return 0
}

// Features returns the features that a job uses.
func (j *Job) Features() (f Features) {
	if j.Parallelism != 0 {
		f |= FeatureParallelism
	}
	if j.Release != 0 {
		f |= FeatureRelease
	}
	if j.Sequence != "" {
		f |= FeatureSequence
	}
	if j.Priority != 0 {
		f |= FeaturePriority
	}
	if j.Open {
		f |= FeatureOpen
	}
	for i := range j.Phases {
		if j.Phases[i].Needs != nil {
			f |= FeatureNeeds
		}
		if j.Phases[i].Held {
			f |= FeatureHeld
		}
	}
	return f
}

// Without returns the job without what f names of Parallelism, Priority, Release and Sequence: j itself if it uses none of these.
// What the job cannot do without stays: Needs, Held, Open. So whoever asks can still say which features are missing.
func (j *Job) Without(f Features) *Job {
	if f &= j.Features() & (FeatureParallelism | FeaturePriority | FeatureRelease | FeatureSequence); f == 0 {
		return j
	}
	less := *j // shares the lists, which nobody changes
	if f&FeatureParallelism != 0 {
		less.Parallelism = 0
	}
	if f&FeaturePriority != 0 {
		less.Priority = 0
	}
	if f&FeatureRelease != 0 {
		less.Release = 0
	}
	if f&FeatureSequence != 0 {
		less.Sequence = ""
	}
	return &less
}

// Features returns the features that an event uses. A driver reports it to policies that support
// them all:
//
//	err := ev.CheckSupport(sojourn.Supports(p))
func (e *Event) Features() Features {
	switch e.Kind {
	case JobArrived, JobAdopted, JobRevised:
		if e.Job != nil {
			return e.Job.Features()
		}
	case SlotAdded:
		if e.Slot.Speed != 0 {
			return FeatureSpeed
		}
	case PoolChanged:
		return FeaturePools
	case TaskHeld, TaskReady:
		if e.Attempt != 0 {
			return FeatureAttempts
		}
	}
	return 0
}

// CheckSupport returns nil if the event uses no other features than those supported, and else an
// [*EventError] that wraps [ErrUnsupported] and names the others.
func (e *Event) CheckSupport(supported Features) error {
	if err := e.Features().Check(supported); err != nil {
		return &EventError{Event: *e, Err: err}
	}
	return nil
}
