package sojourn

import (
	"encoding"
	"fmt"
	"iter"
	"log/slog"
)

// A Policy decides what each free slot runs.
//
// It is a deterministic state machine: its answers depend only on how it was
// built and on the calls made to it so far, on every platform. Its methods are
// never called concurrently, and return without blocking. See the package
// comment for the duties of a driver and the laws of a policy.
//
// Only these two methods change it. The methods of the optional interfaces are questions
// and change nothing, neither in the policy nor in policies inside it.
//
// This interface never gets another method. [As] finds what else a policy can do.
type Policy interface {
	// Observe applies an event. If the event does not fit what the policy knows,
	// Observe returns an [*EventError] that wraps one of the errors of this
	// package, and changes nothing.
	Observe(Event) error

	// Assign chooses a task for a free slot at the time of the latest event, and
	// counts it as running from then on. It reports false, and changes nothing, if
	// there is nothing that this slot should run now.
	//
	// Assign panics with a [*SlotError], and changes nothing, if the slot is unknown,
	// retiring or busy. The driver keeps account of its slots, so this is a defect of
	// the driver and not something that happened in the cluster.
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

	// Locality says how far the slot is from the task's input, if the policy looked.
	Locality Locality
}

// Locality is the distance between a task and its input: the greater, the farther. The numbers
// have gaps, so that a later version can name distances between these, such as a zone of racks.
type Locality uint8

const (
	AnyNode   Locality = 0  // the task prefers no place, or the policy did not look
	NodeLocal Locality = 10 // the input is on the slot's node
	RackLocal Locality = 20 // the input is on another node of the slot's rack
	Remote    Locality = 30 // the input is elsewhere
)

// String returns "any", "node", "rack" or "remote", and a number such as "Locality(7)" for others.
func (l Locality) String() string {
	switch l {
	case AnyNode:
		return "any"
	case NodeLocal:
		return "node"
	case RackLocal:
		return "rack"
	case Remote:
		return "remote"
	}
	return fmt.Sprintf("Locality(%d)", uint8(l))
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
	// most urgent first, and returns the extended slice. This is a request and
	// changes nothing. A victim stays listed until it ends or the policy no longer
	// wants its slot; until then its slot counts as promised. A driver that kills
	// it reports [TaskFailed] with [CausePreempted]. One that may not kill it reports
	// [TaskPinned], and the attempt is not listed again.
	AppendPreemptions(dst []Preemption) []Preemption
}

// A Preemption asks for a running attempt to be killed.
type Preemption struct {
	Task    TaskID
	Attempt uint32
	Slot    SlotID
	For     JobID // the job that needs the slot; 0 for no job in particular
}

// A Waker has decisions that depend on the passing of time alone.
type Waker interface {
	// NextWake returns the earliest instant at which to report [Tick] and to offer
	// free slots again if nothing else happens before. It reports false if time
	// alone changes nothing. The answer changes only through Observe and Assign. An
	// instant that is not in the future asks for a Tick now.
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
// for tools, since each may look at all live jobs. The other questions are cheap
// enough for every event.
type Explainer interface {
	// AppendRanking appends the live jobs to dst, the one to be served first at
	// the front, and returns the extended slice.
	// A cancelled job is live until its last attempt has ended, but no more of it will be
	// served: the ranking may leave it out, and Explain may not know it.
	AppendRanking(dst []JobID) []JobID

	// Explain returns the quantities that determine the rank of a live job, named as in the
	// paper that the policy follows. It also says why the job waits and which guarantees
	// are void. No key appears twice. The comment on each policy's method lists its keys
	// with their units; a key that ends in N, such as phaseN, stands for one key for each
	// number. It reports false if no such job is live.
	Explain(JobID) ([]slog.Attr, bool)
}

// A Promiser promises something about each job that it accepts, for example that the job
// meets its deadline. A promise rests on hypotheses about the cluster. When it no longer
// holds, the Promiser says so. An [Admitter] refuses jobs to which it cannot promise
// anything.
type Promiser interface {
	// AppendVoid appends to dst the live jobs whose promises are void, each once, and
	// returns the extended slice. A job without a promise is not among them. AppendVoid
	// may be called at every event.
	AppendVoid(dst []JobID) []JobID

	// Void returns why the promise to a job is void. It reports false if AppendVoid does
	// not list the job.
	Void(JobID) (why string, ok bool)
}

// A Snapshotter can save its state and be restored from it.
//
// Equal states have equal snapshots, byte for byte. A policy that is restored and
// continues decides as if it had never stopped. A snapshot names its policy, its format
// version, and the options that its state rests on, and carries a checksum.
// UnmarshalBinary replaces the whole state of its receiver, or returns an error and
// changes nothing.
//
// To change a weight, a limit or a delay without losing state, save the policy, make another
// one with the new options, and restore it. This works for options that the state does not
// rest on; the documentation of each Options type says which ones these are. From then on
// the policy decides by its own options. If any other option differs, UnmarshalBinary
// returns an error that names the option and wraps [ErrForeignSnapshot].
//
// AppendBinary fails only while a part of the policy, such as the policy of a pool,
// cannot be saved. The error then wraps [errors.ErrUnsupported].
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
// The chain consists of p, of the policy that its method Unwrap() Policy
// returns, and so on. If a policy has a method As(target any) bool, As calls it
// before it unwraps the policy. The method may set *target, which is a T, and
// report true.
//
// As does not look behind a wrapper that only lends the policies inside by a method
// Visit, unless the wrapper answers for them; [All] does.
//
// # Wrappers
//
// A wrapper hides nothing, not even an optional interface that it does not know. It has
// Unwrap, or Visit and As:
//
//   - Unwrap() Policy, if there is one policy inside and others may call it directly.
//   - Visit(f func(Policy)), if the policy inside must be guarded, or if there are
//     several. Visit calls f with each policy inside and guards it until f returns, as
//     [Locked] does with its lock. f keeps nothing of the policy. Package fair keeps
//     account of what it tells the policies inside: with such a wrapper f may only ask
//     them questions.
//   - As(target any) bool, besides Visit, for the interfaces above. It sets *target to a
//     value that guards each call, or that answers for all policies inside.
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

// asItself returns p as a T, by its type or by its method As, without unwrapping it.
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

// All iterates over each T in p. It also finds policies behind wrappers that guard them,
// and all policies of a policy that contains several. T is any interface or a concrete
// type:
//
//	for f := range sojourn.All[*fair.Policy](locked) {
//		... // under the lock
//	}
//
// If a policy is a T itself, All yields it and does not look inside. Otherwise All goes on
// with the policies that [Locked.Visit], or the method Visit of another wrapper, lends. The
// value may be used only in the body of the loop, while the guards hold: in the example, the
// body must not call locked.
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

// Ranking iterates over the live jobs of p, beginning with the one to be served
// first, as its [Explainer] ranks them when the iteration begins. It yields
// nothing if p is no Explainer.
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
