package sojourntest

import (
	"flag"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// Options says what the policy under test does not promise. The zero Options is
// the strictest: the policy accepts every job and leaves no slot idle that could
// run a task.
type Options struct {
	// IdlesOnPurpose: the policy may leave a slot free although a task could start
	// on it. For example, it waits for a slot closer to the data, or gathers jobs
	// into batches. Such a task must be served after finitely many Ticks at
	// NextWake, if nothing else happens.
	IdlesOnPurpose bool

	// MayStarve: the policy may leave a task unserved for ever although a slot is free. An
	// algorithm that is kept as its paper prints it may do so. The laws of work
	// conservation and service are not tested. At the end starved jobs are cancelled, so
	// forgetting and all other laws are tested for them, too.
	MayStarve bool

	// Rejects: the policy may refuse JobArrived and JobRevised with a
	// [*sojourn.RejectedError].
	Rejects bool

	// TellsSlotsApart: the policy may prefer one of two free slots of the same class and node,
	// for example by the job that ran there last. The law of alike slots is not tested.
	TellsSlotsApart bool

	// IgnoresWeights: a greater weight of a job may make the policy serve it later. The laws of
	// weights, of greater weights and of revised weights are not tested.
	IgnoresWeights bool

	// ChargesLostWork: an attempt that is refused, preempted or lost with its slot may put its job
	// behind others: see [sojourn.Cause]. The law of lost work is not tested for such ends.
	ChargesLostWork bool

	// ChargesFailures: an attempt that fails may put its job behind others at once. The law of lost
	// work is not tested for such ends.
	ChargesFailures bool

	// Ages: a job may pass jobs of greater priority that could start on the slot, for example after it has waited for
	// long. The law of priorities is not tested.
	Ages bool

	// KeepsHistory: the policy keeps something of all that was, for example a log in memory. The law of
	// memory is not tested.
	KeepsHistory bool

	// Bypass, if not nil, returns how often a job of which nothing runs may be passed over: a slot
	// on which a task of it could start goes to a job that arrived later. Such a bound excludes
	// starvation. In the order of arrival it is 0. Nil means that the policy states no bound.
	Bypass func(*sojourn.Job) int

	// Scaled, if not nil, returns the policy under test with all times among its options so many
	// times longer, 1000 times at most. The law of scaled times is tested. It does not hold
	// for a policy that rounds times, or that has a time of its own.
	Scaled func(by int) sojourn.Policy

	// NeedsEstimates: the policy refuses, with [sojourn.ErrUnsupported], jobs that
	// have a task without an estimate.
	NeedsEstimates bool

	// MaxPhases, if not 0: the policy refuses, with [sojourn.ErrUnsupported], jobs
	// of more phases.
	MaxPhases int

	// Classes, if not nil, lists the only classes that phases may have; others are
	// refused with [sojourn.ErrUnsupported].
	Classes []sojourn.Class

	// Supports, if not nil, reports whether the policy can schedule a job that
	// satisfies the limits above: if not, it refuses the job with
	// [sojourn.ErrUnsupported]. It must accept a good part of random jobs. It must
	// also accept some job of one phase, or of two without a barrier, whose tasks
	// all have estimates; it may require a deadline.
	Supports func(*sojourn.Job) bool

	// What the policy says that it supports. Each trial asks it.
	features sojourn.Features

	// Others return policies under other options than the policy under test, or other
	// policies. None may be restored from a snapshot of another.
	Others []func() sojourn.Policy

	// Changed return policies that differ only in options that may change. In some of the
	// histories, the policy is saved after each arrival and restored under the next of
	// these options, and then continues.
	Changed []func() sojourn.Policy

	// Wrap, if not nil, returns a wrapper around a policy, for the law of wrappers. Nil
	// means [sojourn.NewLocked]. To test a wrapper, set it here and run sojourntest on a
	// policy that is known to be right, such as that of package fifo.
	Wrap func(sojourn.Policy) sojourn.Policy

	// Seal, if not nil, corrects the checksum of a forged snapshot, in place.
	// [FuzzUnmarshal] uses it. The policies of this module need none.
	Seal func(data []byte)
}

// Run tests the policies that newPolicy returns. Each call must return a new
// policy, and all of them must be built alike.
//
// Package rapid sets the number and the length of the histories: 100, each of
// about 60 random steps and the steps that bring all jobs to their end. The flags
// -rapid.checks and -rapid.steps change this. A run takes one to three seconds. With less than
// 10 histories, the laws of memory, of greater and revised weights, of vain events and of long times are not tested.
func Run(t *testing.T, newPolicy func() sojourn.Policy, o Options) {
	t.Run("laws", func(t *testing.T) { checkLaws(t, newPolicy, o) })
	t.Run("allocations", func(t *testing.T) { checkAllocations(t, newPolicy(), o) })
	if checks() >= enoughChecks {
		t.Run("memory", func(t *testing.T) { checkMemory(t, newPolicy, o, leastJobs, mostJobs) })
		t.Run("races", func(t *testing.T) { checkRaces(t, newPolicy, o) })
		t.Run("long times", func(t *testing.T) { checkLong(t, newPolicy, o) })
	}
}

// enoughChecks is how many histories there are at least in a run that also looks at memory and races. Runs of
// fewer try many options.
const enoughChecks = 10

// checks returns how many histories rapid makes.
func checks() int {
	n := flag.Lookup("rapid.checks").Value.(flag.Getter).Get().(int)
	if testing.Short() {
		n /= 5 // as rapid does
	}
	return n
}

// gcPercent is how far the heap may grow before garbage is collected while histories are
// tried. They make much garbage and keep little: with the usual 100, collecting takes a
// third of the processor's time.
const gcPercent = 400

// checkLaws drives policies with random histories. Package rapid sets their number,
// and draws the seed of each. Rapid could shrink only the seed; checkLaws shrinks the
// history that breaks a law.
func checkLaws(tb rapid.TB, newPolicy func() sojourn.Policy, o Options) {
	tb.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	var found *breach
	var culprit uint64 // the seed that led to found
	steps := flag.Lookup("rapid.steps").Value.(flag.Getter).Get().(int)
	if testing.Short() {
		steps /= 2 // as rapid does
	}
	quiet := &terse{TB: tb, found: &found}
	defer func() {
		if found != nil && tb.Failed() {
			tb.Logf("%s%s", found.report(newPolicy, &o), quiet.said)
		}
	}()
	rapid.Check(quiet, func(t *rapid.T) {
		seed := uint64(0)
		for range 64 {
			seed = seed<<1 | uint64(bit(rapid.Bool().Draw(t, "bit"))) // no other generator is even
		}
		if found == nil {
			found, culprit = try(newPolicy, &o, newChance(seed, steps)), seed
		}
		if found != nil && seed == culprit {
			t.Fatalf("law of %s", nameOf(found.law))
		}
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// try makes one trial, and returns the law that it found broken, or nil.
func try(newPolicy func() sojourn.Policy, o *Options, src source) *breach {
	return breachOf(func() {
		tr := newTrial(newPolicy, o, src)
		tr.drive()
		tr.drain()
		tr.replays()
	})
}

// terse keeps what rapid says of a broken law for the end of the report. It leaves the single draws out, since the
// history shows their result.
type terse struct {
	rapid.TB
	found **breach
	said  string
}

func (t *terse) Logf(format string, args ...any) {
	t.Helper()
	if *t.found == nil && !strings.HasPrefix(format, "[rapid] draw") {
		t.TB.Logf(format, args...)
	}
}

func (t *terse) Errorf(format string, args ...any) {
	t.Helper()
	if *t.found == nil {
		t.TB.Errorf(format, args...)
		return
	}
	said, _, _ := strings.Cut(fmt.Sprintf(format, args...), "Failed test output:")
	t.said += said
}

func (t *terse) Failed() bool { return t.said != "" || t.TB.Failed() }

// supports reports whether the policy must be able to schedule a valid job.
func (o *Options) supports(j *sojourn.Job) bool {
	if j.Features()&^o.features != 0 {
		return false
	}
	if o.MaxPhases > 0 && len(j.Phases) > o.MaxPhases {
		return false
	}
	for i := range j.Phases {
		p := &j.Phases[i]
		if o.Classes != nil && !slices.Contains(o.Classes, p.Class) {
			return false
		}
		for k := 0; o.NeedsEstimates && k < p.Tasks; k++ {
			if p.EstimateOf(k) == 0 {
				return false
			}
		}
	}
	return o.Supports == nil || o.Supports(j)
}

// idles reports whether the policy may leave a slot free on which a task could start.
func (o *Options) idles() bool { return o.IdlesOnPurpose || o.MayStarve }

// classes returns the classes of the slots and phases that sojourntest draws. The odd one
// finds policies that assume two classes.
func (o *Options) classes() []sojourn.Class {
	if o.Classes != nil {
		return o.Classes
	}
	return []sojourn.Class{0, 1, 7}
}
