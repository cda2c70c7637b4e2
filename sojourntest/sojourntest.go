package sojourntest

import (
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

// checkLaws drives policies with random histories. A history that breaks a law
// is first reduced by rapid, which makes it reproducible, and then further by
// leaving out single calls, which rapid cannot: what it draws depends on what
// went before.
func checkLaws(tb rapid.TB, newPolicy func() sojourn.Policy, o Options) {
	tb.Helper()
	var found *breach
	defer func() {
		if tb.Failed() && found != nil {
			b := found.shrink(newPolicy, &o)
			tb.Logf("the same law is broken after %d calls:\n%s\n%v", len(b.shown), b.shown, b)
		}
	}()
	rapid.Check(terse{tb}, func(t *rapid.T) {
		tr := newTrial(newPolicy, &o, func(label string, n int) int {
			return rapid.IntRange(0, n-1).Draw(t, label)
		})
		b := breachOf(func() {
			tr.drive(t)
			tr.drain()
			tr.replays()
		})
		if b != nil {
			found = b
			t.Fatalf("%s", b)
		}
	})
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

// classes returns the classes of the slots and phases that the kit makes up. The
// odd one shows who takes classes for an array of two.
func (o *Options) classes() []sojourn.Class {
	if o.Classes != nil {
		return o.Classes
	}
	return []sojourn.Class{sojourn.Map, sojourn.Reduce, 7}
}
