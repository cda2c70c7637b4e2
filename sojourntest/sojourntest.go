package sojourntest

import (
	"flag"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// Options says what the policy under test does not promise. The zero Options is
// the strictest: the policy accepts every job and leaves no slot idle that could
// run something.
type Options struct {
	// IdlesOnPurpose: the policy may leave a slot free although a task could start
	// on it, such as one that waits for a slot closer to the data, or gathers jobs
	// into batches. What must hold instead is that such a task is served after
	// finitely many Ticks at NextWake, if nothing else happens.
	IdlesOnPurpose bool

	// MayStarve: the policy may leave a task unserved for ever on a free slot, as an
	// algorithm that is kept as its paper prints it. Neither work conservation nor service
	// is asked of it. In the end the jobs that it starves are cancelled, so that forgetting
	// and all other laws hold of them, too.
	MayStarve bool

	// Rejects: the policy may refuse JobArrived and JobRevised with a
	// [*sojourn.RejectedError].
	Rejects bool

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
	// [sojourn.ErrUnsupported]. It must accept a good part of random jobs, and some
	// job whose tasks all carry estimates and which has one phase, or two without a
	// barrier; a deadline may be asked for.
	Supports func(*sojourn.Job) bool

	// Others return policies under other options than that under test, or other
	// policies. None may be restored from a snapshot of another.
	Others []func() sojourn.Policy

	// Changed return policies of which only such options differ that may change. In a share
	// of the histories, the policy is saved and restored under the next of them after
	// each arrival, and then goes on.
	Changed []func() sojourn.Policy

	// Wrap, if not nil, returns a wrapper around a policy, for the law of wrappers. Nil
	// means [sojourn.NewLocked]. The author of a wrapper runs sojourntest on a policy that is
	// known to be right, such as that of package fifo, with the wrapper here.
	Wrap func(sojourn.Policy) sojourn.Policy

	// Seal, if not nil, makes the checksum of a forged snapshot good, in place.
	// [FuzzUnmarshal] forges by it. The policies of this module need none.
	Seal func(data []byte)
}

// Run tests the policies that newPolicy returns. Each call must return a new
// policy, and all of them must be built alike.
//
// The number and the length of the histories are those of package rapid: 100, of
// about 60 random steps and what it takes to bring all jobs to their end, unless
// the flags -rapid.checks and -rapid.steps say otherwise. That takes one to three
// seconds.
func Run(t *testing.T, newPolicy func() sojourn.Policy, o Options) {
	t.Run("laws", func(t *testing.T) { checkLaws(t, newPolicy, o) })
	t.Run("allocations", func(t *testing.T) { checkAllocations(t, newPolicy(), o) })
}

// gcPercent is how far the heap may grow before garbage is collected while histories are
// tried. They make much garbage and keep little: with 100, the usual, a third of the
// processor's time goes into collecting it.
const gcPercent = 400

// checkLaws drives policies with random histories. Package rapid tells how many, and
// draws the seed of each; that seed is all that it could make smaller. What is reduced
// is the history that breaks a law.
func checkLaws(tb rapid.TB, newPolicy func() sojourn.Policy, o Options) {
	tb.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	var found *breach
	var culprit uint64 // the seed that led to found
	steps := flag.Lookup("rapid.steps").Value.(flag.Getter).Get().(int)
	if testing.Short() {
		steps /= 2 // as rapid does
	}
	defer func() {
		if tb.Failed() && found != nil {
			found.report(tb, newPolicy, &o)
		}
	}()
	rapid.Check(terse{tb}, func(t *rapid.T) {
		seed := uint64(0)
		for range 64 {
			seed = seed<<1 | uint64(bit(rapid.Bool().Draw(t, "bit"))) // no other generator is even
		}
		if found == nil {
			found, culprit = try(newPolicy, &o, newChance(seed, steps)), seed
		}
		if found != nil && seed == culprit {
			t.Fatalf("%s", found)
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

// report logs the least history that is found to break the law.
func (b *breach) report(tb rapid.TB, newPolicy func() sojourn.Policy, o *Options) {
	tb.Helper()
	least := b.shrink(newPolicy, o)
	tb.Logf("the same law is broken after %d calls:\n%s\n%v", len(least.shown), least.shown, least)
}

// terse leaves the single draws out of rapid's output: the history says what
// they came to.
type terse struct{ rapid.TB }

func (t terse) Logf(format string, args ...any) {
	t.Helper()
	if !strings.HasPrefix(format, "[rapid] draw") {
		t.TB.Logf(format, args...)
	}
}

// supports reports whether the policy must be able to schedule a valid job.
func (o *Options) supports(j *sojourn.Job) bool {
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

// classes returns the classes of the slots and phases that sojourntest makes up. The
// odd one shows who takes classes for an array of two.
func (o *Options) classes() []sojourn.Class {
	if o.Classes != nil {
		return o.Classes
	}
	return []sojourn.Class{0, 1, 7}
}
