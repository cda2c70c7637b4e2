package sojourn

import (
	"encoding"
	"iter"
	"log/slog"
)

// A Policy decides what each free slot runs.
//
// It is a deterministic state machine: what it answers is a function of how it
// was built and of the calls made to it so far, on every platform. Its methods
// are never called concurrently, and return without blocking. See the package
// comment for the duties of a driver and the laws of a policy.
//
// These two methods are all that changes it. Those of the optional interfaces are
// questions, which change nothing, be it in a policy that is part of another.
//
// This interface never gets another method. What some policies can do besides is
// found by [As].
type Policy interface {
	// Observe applies an event. If the event does not fit what the policy was
	// told before, Observe returns an [*EventError] that wraps one of the errors
	// of this package, and changes nothing.
	Observe(Event) error

	// Assign chooses a task for a free slot at the time of the latest event, and
	// counts it as running from then on. It reports false, and changes nothing, if
	// there is nothing that this slot should run now.
	//
	// Assign panics with a [*SlotError], and changes nothing, if the slot is unknown,
	// retiring or busy: the driver keeps account of its slots, so that this is a
	// mistake in its code and not something that happened in the cluster.
	Assign(SlotID) (Assignment, bool)
}

// An Assignment is the start of an attempt at a task.
type Assignment struct {
	Task    TaskID
	Attempt uint32 // counts the attempts at the task from 1
	Slot    SlotID

	// Source is the node that the task should read its input from, 0 if the
	// policy leaves that to the driver.
	Source NodeID

	// Locality says how far the slot is from the task's input, as far as the
	// policy looked.
	Locality Locality
}

// Locality is the distance between a task and its input.
type Locality uint8

const (
	AnyNode   Locality = iota // the task has no place it would rather run, or the policy did not look
	NodeLocal                 // the input is on the slot's node
	RackLocal                 // the input is on another node of the slot's rack
	Remote                    // the input is elsewhere
)

var localityNames = [...]string{AnyNode: "any", NodeLocal: "node", RackLocal: "rack", Remote: "remote"}

// String returns "any", "node", "rack" or "remote".
func (l Locality) String() string {
	if int(l) >= len(localityNames) {
		return "invalid"
	}
	return localityNames[l]
}

// An Admitter can tell beforehand whether it would accept a job.
type Admitter interface {
	// Admit returns what Observe would return, inside its EventError, for the
	// arrival of job at the time of the latest event: nil, or an error that wraps
	// [ErrRejected], [ErrUnsupported], [ErrInvalidJob] or [ErrDuplicateJob]. It
	// changes nothing.
	Admit(job *Job) error
}

// A Preemptor can ask for slots back.
type Preemptor interface {
	// AppendPreemptions appends to dst the attempts that the policy wants killed,
	// most urgent first, and returns the extended slice. It is pure, and only a
	// request: a victim stays listed until it ends or is no longer wanted, and its
	// slot counts as promised. A driver that kills it reports [TaskFailed] with
	// [CausePreempted].
	AppendPreemptions(dst []Preemption) []Preemption
}

// A Preemption asks for a running attempt to be killed.
type Preemption struct {
	Task    TaskID
	Attempt uint32
	Slot    SlotID
	For     JobID // the job that the slot is wanted for; 0 if for none in particular
}

// A Waker has decisions that depend on the passing of time alone.
type Waker interface {
	// NextWake returns the earliest instant at which to report [Tick] and to offer
	// free slots again if nothing else happens before. It reports false if time
	// alone changes nothing. It changes only through Observe and Assign. An instant
	// that has come, even one that is past, asks for a Tick now.
	NextWake() (Time, bool)
}

// A Seeker names the slots worth offering, so that idle slots cost nothing.
type Seeker interface {
	// Seek returns a free slot of the class that is worth offering to Assign next.
	// It reports false if Assign would decline every free slot of the class until
	// the next event or assignment. It changes nothing.
	Seek(Class) (SlotID, bool)
}

// An Explainer can account for its order of preference. Its methods are for people and
// for tools: each may look at all live jobs. The other questions can be asked at
// every event.
type Explainer interface {
	// AppendRanking appends the live jobs to dst, the one to be served first at
	// the front, and returns the extended slice.
	// A cancelled job is live until its last attempt has ended, but nothing of it will be
	// served: it may be left out here, and unknown to Explain.
	AppendRanking(dst []JobID) []JobID

	// Explain returns the quantities that determine the rank of a live job, named
	// as in the paper that the policy follows, why the job waits, and which
	// guarantees are void. No key is there twice. The comment on the method of each policy
	// lists its keys with their units; a key that ends in N, as phaseN does, stands for one
	// with each number. It reports false if no such job is live.
	Explain(JobID) ([]slog.Attr, bool)
}

// A Promiser promises something about each job that it accepts, such as that the job meets
// its deadline, as long as the cluster does what the promise rests on. It says so when a
// promise does not hold any more. An [Admitter] refuses what cannot be promised.
type Promiser interface {
	// AppendVoid appends to dst the live jobs whose promises are void, each once, and
	// returns the extended slice. A job to which nothing was promised is not among them.
	// It may be asked at every event.
	AppendVoid(dst []JobID) []JobID

	// Void returns why the promise to a job is void. It reports false if the job is none
	// of those that AppendVoid lists.
	Void(JobID) (why string, ok bool)
}

// A Snapshotter can save its state and be restored from it.
//
// Equal states have equal snapshots, byte for byte, and a policy that is
// restored and continues decides as if it had never stopped. A snapshot names its policy,
// its format version, and the options that its state rests on, and carries a checksum.
// UnmarshalBinary replaces the whole state of its receiver, or returns an error
// and changes nothing.
//
// A policy may be restored from a snapshot that was taken under other options, as far as
// the state does not rest on them: the documentation of its Options says which ones may
// change. It decides by its own options from then on. So a weight, a limit or a delay is
// changed without losing state: save, make a policy with the options to be, restore. Another
// value of any other option is an error that names it and wraps [ErrForeignSnapshot].
//
// AppendBinary fails only while a part of the policy, such as the policy of a pool,
// cannot be saved, with an error that wraps [errors.ErrUnsupported].
type Snapshotter interface {
	encoding.BinaryAppender
	encoding.BinaryUnmarshaler
}

// As finds the first policy in p's chain of wrappers that is a T, where T is one
// of the optional interfaces above or a concrete type:
//
//	if w, ok := sojourn.As[sojourn.Waker](p); ok {
//		at, any := w.NextWake()
//		...
//	}
//
// The chain consists of p itself and of what its method Unwrap() Policy returns,
// repeatedly. A policy that has a method As(target any) bool is asked as well,
// before it is unwrapped: the method may set *target, a pointer to a T, and
// report true.
//
// As does not look behind a wrapper that only lends what is inside, by a method
// Visit, unless the wrapper answers for it: [All] does.
//
// # Wrappers
//
// A wrapper hides nothing, not even an optional interface that it has never heard of. It
// needs one method for that, and a second one if it is of the second kind:
//
//   - Unwrap() Policy, if there is one policy inside, and asking that one directly does
//     no harm.
//   - Visit(f func(Policy)), if what is inside must be guarded, or if there are several.
//     It calls f with each policy inside, and guards it until f returns, as [Locked] does
//     by its lock. f keeps nothing of the policy. Where the wrapper keeps account of what
//     it tells the policies inside, as package fair does, f may only ask them questions.
//   - As(target any) bool, besides Visit, for the interfaces above: it sets *target to
//     something that guards each call, or that answers for all policies inside.
//
// Package sojourntest tests a wrapper: see Wrap in its Options.
func As[T any](p Policy) (T, bool) {
	for p != nil {
		if t, ok := asItself[T](p); ok {
			return t, true
		}
		w, ok := p.(interface{ Unwrap() Policy })
		if !ok {
			break
		}
		p = w.Unwrap()
	}
	var zero T
	return zero, false
}

// asItself returns what p says that it is, without what is inside.
func asItself[T any](p Policy) (T, bool) {
	if t, ok := p.(T); ok {
		return t, true
	}
	if a, ok := p.(interface{ As(target any) bool }); ok {
		var t T
		if a.As(&t) {
			return t, true
		}
	}
	var zero T
	return zero, false
}

// All iterates over each T in p, be it behind wrappers that guard what is inside, or
// one of several policies in a policy. T is any interface or a concrete type:
//
//	for f := range sojourn.All[*fair.Policy](locked) {
//		... // under the lock
//	}
//
// A policy that is a T itself is yielded, and what is inside is not looked at. Else All goes
// on with what [Locked.Visit], or the method Visit of another wrapper, lends it. What is
// yielded may be used in the body of the loop only. The guards stay on for as long: in
// the example, the body must not call locked.
func All[T any](p Policy) iter.Seq[T] {
	return func(yield func(T) bool) { all(p, yield) }
}

// all reports whether yield wants more.
func all[T any](p Policy, yield func(T) bool) bool {
	for p != nil {
		if t, ok := p.(T); ok {
			return yield(t)
		}
		if v, ok := p.(interface{ Visit(func(Policy)) }); ok {
			more := true
			v.Visit(func(inside Policy) { more = more && all(inside, yield) })
			return more
		}
		if t, ok := asItself[T](p); ok {
			return yield(t)
		}
		w, ok := p.(interface{ Unwrap() Policy })
		if !ok {
			break
		}
		p = w.Unwrap()
	}
	return true
}

// Ranking returns the live jobs of p, the one to be served first at the front, as
// its [Explainer] ranks them when the iteration begins. It yields nothing if p
// is none.
func Ranking(p Policy) iter.Seq[JobID] {
	return func(yield func(JobID) bool) {
		e, ok := As[Explainer](p)
		if !ok {
			return
		}
		for _, id := range e.AppendRanking(nil) {
			if !yield(id) {
				return
			}
		}
	}
}
