package sojourntest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	format "github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"pgregory.net/rapid"
)

// TestMain fixes the seed, so that a broken policy is caught at every run, and
// keeps rapid from spending time and files on failures that are wanted.
func TestMain(m *testing.M) {
	flag.Parse()
	given := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.seed": "1", "rapid.nofailfile": "true", "rapid.shrinktime": "0"} {
		if !given[name] {
			flag.Set(name, value)
		}
	}
	os.Exit(m.Run())
}

func TestReference(t *testing.T) {
	histories.Share(t, share)
	Run(t, func() sojourn.Policy { return newFIFO(correct) }, statedOptions(correct))
}

func TestReferenceWithEverything(t *testing.T) {
	histories.Share(t, share)
	o := fullOptions()
	o.Scaled = func(by int) sojourn.Policy {
		p := newFull(correct)
		p.lag *= time.Duration(by)
		return p
	}
	Run(t, func() sojourn.Policy { return newFull(correct) }, o)
}

// statedOptions are those of a fifo that states all that it promises. A bug that lets a later job
// pass is to be found by its own law, not by that of bypass.
func statedOptions(b bug) Options {
	o := Options{Scaled: func(int) sojourn.Policy { return newFIFO(b) }}
	if b == correct || b == lastFirst {
		o.Bypass = func(*sojourn.Job) int { return 0 }
	}
	return o
}

func TestReferenceThatIsMute(t *testing.T) {
	histories.Share(t, share)
	o := fullOptions()
	o.IdlesOnPurpose = false
	Run(t, func() sojourn.Policy { return newMute(correct) }, o)
}

// A policy that says that it may starve jobs is asked everything else, up to what it keeps of
// the jobs that it starved.
func TestReferenceThatStarves(t *testing.T) {
	histories.Set(t, 25)
	for _, tc := range []struct {
		newPolicy func() sojourn.Policy
		o         Options
		law       string // what the failure must quote, "" if there is none
	}{
		{func() sojourn.Policy { return newFIFO(starves) }, Options{MayStarve: true}, ""},
		{func() sojourn.Policy { return newFull(starves) }, fullOptions(), lawService},
		{func() sojourn.Policy { return newFull(starves) }, starving(fullOptions()), ""},
		{func() sojourn.Policy { return newFull(starvesAwake) }, starving(fullOptions()), ""},
		{func() sojourn.Policy { return newFull(correct) }, starving(fullOptions()), ""},
		{func() sojourn.Policy { return newFIFO(keepsCancelled) }, Options{MayStarve: true}, lawAnswers},
		{func() sojourn.Policy { return newFull(wakeStuck) }, starving(fullOptions()), lawWake},
	} {
		if tc.law == "" {
			Run(t, tc.newPolicy, tc.o)
		} else if got := breaking(regexp.MustCompile(regexp.QuoteMeta(tc.law)), tc.newPolicy, tc.o, 400); !strings.Contains(got, tc.law) {
			t.Errorf("sojourntest says\n%s\nwant the law of %s", got, tc.law)
		}
	}
}

// starving returns options of a policy that may starve jobs.
func starving(o Options) Options {
	o.IdlesOnPurpose, o.MayStarve = false, true
	return o
}

// A policy that cannot be saved for now says so, and is not asked for more.
func TestReferenceThatCannotBeSaved(t *testing.T) {
	histories.Share(t, share)
	Run(t, func() sojourn.Policy { return unsaved{newFIFO(correct)} }, Options{})
}

type unsaved struct{ *fifo }

func (p unsaved) AppendBinary(dst []byte) ([]byte, error) {
	if len(p.state.Jobs) > 0 {
		return dst, fmt.Errorf("%w: there are jobs", errors.ErrUnsupported)
	}
	return full(p).AppendBinary(dst)
}

func (p unsaved) UnmarshalBinary(data []byte) error { return full(p).UnmarshalBinary(data) }

// The seed of rapid, and nothing else, decides what a policy is told and asked: with a seed
// that is fixed, as .ci/run has it, the same commit always gets the same verdict.
func TestSeedDecidesTheHistories(t *testing.T) {
	histories.Set(t, 2)
	told := func(seed string) string {
		defer flag.Set("rapid.seed", flag.Lookup("rapid.seed").Value.String())
		flag.Set("rapid.seed", seed)
		var calls strings.Builder
		checkLaws(t, func() sojourn.Policy { return logged{newFull(correct), &calls} }, fullOptions())
		return calls.String()
	}
	seven := told("7")
	if len(seven) < 10_000 || seven != told("7") {
		t.Fatal("the same seed makes different histories")
	}
	if seven == told("8") {
		t.Error("different seeds make the same histories")
	}
}

// A logged policy writes down what it is told and what it answers.
type logged struct {
	full
	calls *strings.Builder
}

func (p logged) Observe(ev sojourn.Event) error {
	err := p.full.Observe(ev)
	job := ev.Job
	ev.Job = nil
	fmt.Fprintln(p.calls, ev, job, err)
	return err
}

func (p logged) Assign(slot sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.full.Assign(slot)
	fmt.Fprintln(p.calls, slot, a, ok)
	return a, ok
}

// A recorder is a test that may fail.
type recorder struct {
	rapid.TB // Name, Helper
	failed   bool
	text     strings.Builder
}

func (r *recorder) Logf(format string, args ...any) { fmt.Fprintf(&r.text, format+"\n", args...) }
func (r *recorder) Failed() bool                    { return r.failed }
func (r *recorder) FailNow()                        { r.failed = true; runtime.Goexit() }

func (r *recorder) Errorf(format string, args ...any) {
	r.failed = true
	r.Logf(format, args...)
}

func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	r.FailNow()
}

// failure returns what sojourntest says of a policy, or "" if it finds no fault.
func failure(t *testing.T, newPolicy func() sojourn.Policy, o Options) string {
	return recorded(t, func(tb rapid.TB) {
		checkLaws(tb, newPolicy, o)
		checkAllocations(tb, newPolicy(), o)
	})
}

// recorded returns what a test says that fails, or "" if it passes.
func recorded(t *testing.T, test func(rapid.TB)) string {
	r := &recorder{TB: t}
	finished := make(chan struct{})
	go func() { // which FailNow ends
		defer close(finished)
		test(r)
	}()
	<-finished
	if !r.failed {
		return ""
	}
	return r.text.String()
}

// breaking returns what the first of so many histories says that breaks one of the laws, or
// else the first that breaks any, or "". The history is as long as it was drawn: what
// sojourntest says of shorter ones is for a run in full, and for TestFailureIsSmall.
func breaking(law *regexp.Regexp, newPolicy func() sojourn.Policy, o Options, histories int) (said string) {
	for seed := range histories {
		b := try(newPolicy, &o, newChance(uint64(seed), 30))
		switch {
		case b == nil:
		case law.MatchString(b.String()):
			return b.String()
		case said == "":
			said = b.String()
		}
	}
	return said
}

// Each of these policies breaks a law, and sojourntest says which: where it is run in full
// under the build tag all, also of the least history that does it.
func TestBroken(t *testing.T) {
	needsAllChecks(t)
	const (
		plain  = iota // a fifo under the strictest options
		rich          // a full, under what it needs
		quiet         // a mute, under what it needs
		stated        // a fifo that states all that it promises
	)
	const asked = "purity|waking|determinism|atomicity|declines|misuse" // laws that ask questions between any two calls
	tests := []struct {
		bug  bug
		kind int
		name string
		law  string // what the failure must quote: one of these, separated by |
	}{
		{forgetsRetiring, plain, "a busy slot that is removed is gone at once", "answers|misuse"},
		{keepsRetired, plain, "a retiring slot stays after its attempt", "answers"},
		{ignoresRestored, plain, "a retiring slot that is restored retires all the same", "answers|panics|misuse"},
		{acceptsDuplicate, plain, "a slot that is present may be added again", "answers"},
		{acceptsWrongRack, plain, "what is said of racks is not compared", "answers"},
		{remembersRacks, plain, "racks are remembered of nodes that have gone", "answers"},
		{acceptsWrongSlot, plain, "a report need not name the slot", "answers"},
		{acceptsStale, plain, "a report need not name the attempt", "answers"},
		{acceptsNodeTwice, plain, "a node may go down twice", "answers"},
		{acceptsWrongFields, plain, "fields out of range are not found", "answers"},
		{acceptsBadJobs, plain, "jobs are not checked", "answers|panics"},
		{ignoresFeatures, plain, "fields that the policy does not know are ignored", "answers"},
		{acceptsRevisedPool, plain, "a revision may change the pool", "answers"},
		{acceptsShrinking, plain, "a revision may drop tasks that were started", "answers|panics"},
		{acceptsBusyAdoption, plain, "an attempt may be adopted on a busy slot", "answers"},
		{acceptsClassChange, plain, "an attempt may be adopted on a slot of another class", "answers"},
		{wrongOrder, plain, "an unknown job is reported before an unknown slot", "answers"},
		{clockBeforeCheck, plain, "a refused event advances time", "answers|flickering slots"},
		{halfRevised, plain, "a refused revision is half applied", "assignments|answers|atomicity|panics"},
		{refusedTaskLost, plain, "a refused task never runs again", "answers|assignments|work conservation|lost work"},
		{failedTaskLost, plain, "a failed task never runs again", "answers|assignments|work conservation"},
		{adoptedForgotten, plain, "an adopted task stays in the queue", "answers|assignments"},
		{lostOutputIgnored, plain, "a task whose output is lost stays finished", "answers|assignments|work conservation"},
		{keepsEnded, plain, "a job stays when it is complete", "answers"},
		{keepsCancelled, plain, "a cancelled job stays when its last attempt has ended", "answers"},
		{retriesCancelled, plain, "a failed task of a cancelled job is tried again", "answers|assignments"},
		{doneNotCounted, plain, "tasks reported done do not count for thresholds", "work conservation|completion"},
		{readsUnusedFields, plain, "a field that the kind does not use is checked", "fields"},
		{adoptsOnFirstSlot, plain, "attempts are adopted on slot 0 only", "answers"},
		{limitsAttempts, plain, "attempts are adopted below the greatest number only", "answers"},
		{changesJobs, plain, "jobs are changed", "jobs"},
		{mapOrder, plain, "the next job is chosen in the order of a map", ".+"}, // every law that replays a history shows it
		{ignoresHeld, plain, "held tasks are assigned", "assignments|flickering slots"},
		{ignoresBarrier, plain, "phases do not wait for the one before", "assignments|flickering slots"},
		{ignoresSlowStart, plain, "every threshold is a barrier", "work conservation"},
		{ignoresClass, plain, "tasks run on slots of any class", "assignments|flickering slots"},
		{ignoresPriority, plain, "jobs of low priority are served before others", "priorities"},
		{ignoresCancelled, plain, "tasks of a cancelled job are assigned", "assignments|flickering slots"},
		{attemptStuck, plain, "the attempt number does not advance", "assignments"},
		{skipsSeventh, plain, "every seventh offer is declined", "work conservation|declines|superfluous ticks|flickering slots"},
		{firstClasses, plain, "only two classes are served", "work conservation"},
		{lowestID, plain, "ties go by job ID", "names"},
		{sinceEpoch, plain, "the choice depends on the absolute time", "epoch|superfluous ticks"},
		{ticksCount, plain, "every Tick turns the order around", "superfluous ticks"},
		{capacityLags, plain, "every slot added turns the order around", "flickering slots"},
		{evenSlots, stated, "the last job comes first on slots with even numbers", "alike slots"},
		{firstSlot, stated, "the last job comes first if the slots were not added in the order of their numbers", "order of slots"},
		{longLast, stated, "jobs with tasks of more than 5 s come last", "scaled times"},
		{lightFirst, stated, "the lightest job comes first", "weights"},
		{lastFirst, stated, "the last job comes first", "bypass"},
		{shortNames, plain, "the job with the shortest name comes first", "names"},
		{zeroWeights, plain, "the heaviest job comes first, and a weight of 0 is no weight", "descriptions"},
		{oneEstimate, plain, "the shortest job comes first, by the one estimate for all tasks", "descriptions"},
		{declineNoted, plain, "every decline turns the order around", "declines|flickering slots"},
		{neverPanics, plain, "a busy slot is declined", "misuse"},
		{declineDirty, plain, "a decline names the slot", "declines|flickering slots"},
		{crashes, plain, "the third failure crashes it", "panics"},
		{allocates, plain, "every assignment allocates", "allocations"},

		{seekLies, rich, "Seek names slots that are declined", "seeking"},
		{seekMisses, rich, "Seek overlooks slots that are taken", "seeking|declines|snapshots"},
		{rankingForgets, rich, "the ranking ends after two jobs", "explanations"},
		{explainsAnyone, rich, "unknown jobs are explained", "explanations"},
		{explainChanges, rich, "Explain changes the order", asked},
		{explainCounts, rich, "Explain tells how often it was asked", "purity"},
		{explainRefusals, rich, "Explain tells how many events were refused", "atomicity"},
		{explainsTwice, rich, "Explain has a key twice in a group", "explanations"},
		{explainsNaN, rich, "Explain has a NaN in a group", "explanations"},
		{explainsInfinity, rich, "Explain has an infinite number in a list", "explanations"},
		{explainDeclines, rich, "Explain tells how many offers were declined", "declines"},
		{preemptsEnded, rich, "free slots are to be preempted", "preemptions"},
		{preemptsPinned, rich, "attempts that may not be killed are to be preempted", "preemptions"},
		{wakeStuck, rich, "NextWake does not move on", "waking"},
		{wakeMissing, rich, "there is no NextWake", "service"},
		{starves, plain, "jobs of several tasks are never served", "work conservation"},
		{starves, rich, "jobs of several tasks are never served, and it may idle", "service"},
		{starvesAwake, rich, "jobs of several tasks are never served, and it always wants a Tick", "service"},
		{admitsAll, rich, "Admit accepts what Observe rejects", "rejections|admission"},
		{admitKeeps, rich, "Admit advances time", "purity|atomicity|rejections"},
		{rejectsKept, rich, "a rejected job is kept", "atomicity|purity|rejections"},
		{rejectsBare, rich, "a rejection does not tell why", "rejections"},
		{offersTooMuch, rich, "the offered deadline would be rejected", "rejections"},
		{supportsAll, rich, "jobs beyond the limits are accepted", "answers"},
		{wakeAsked, rich, "jobs wait for a Tick, and NextWake does what a Tick does", asked},
		{wakeOnce, rich, "NextWake tells an instant once", asked},
		{wakeNeeded, rich, "nothing starts after an event before NextWake was asked", asked},
		{seekTurns, rich, "Seek turns the order around", asked},
		{rankingSorts, rich, "AppendRanking sorts the queue", asked},
		{preemptsOnce, rich, "preemptions are listed once", asked},
		{savingForgets, rich, "what is saved is forgotten in part", "purity|answers"},
		{snapshotLacks, rich, "snapshots lack the nodes that are down", "snapshots"},
		{snapshotUnsealed, rich, "snapshots have no checksum", "snapshots"},
		{snapshotForgetsOrder, quiet, "snapshots list jobs in the order of their IDs, and not in that of retrying", "snapshots|lost work"},
		{snapshotForgetsEstimates, quiet, "snapshots lack the estimates, by which jobs are ordered", "snapshots"},
		{snapshotCounts, quiet, "snapshots count how often the policy was restored", "snapshots"},
		{restoreMerges, rich, "a restored policy keeps some of its past", "snapshots|determinism"},
		{restoreHalf, quiet, "damage is noticed when the state is replaced", "snapshots"},
		{restoreKeepsBytes, quiet, "the bytes are kept that a policy was restored from", "snapshots"},
		{restoreAnyOptions, rich, "snapshots under other options are accepted", "snapshots"},
	}
	if inFull {
		setFlag(t, "rapid.checks", "400") // a failure ends them early
	}
	for _, tc := range tests {
		t.Run(strings.ReplaceAll(tc.name, " ", "_"), func(t *testing.T) {
			newPolicy, o := func() sojourn.Policy { return newFIFO(tc.bug) }, Options{}
			switch tc.kind {
			case rich:
				newPolicy, o = func() sojourn.Policy { return newFull(tc.bug) }, fullOptions()
			case stated:
				o = statedOptions(tc.bug)
			case quiet:
				newPolicy, o = func() sojourn.Policy { return newMute(tc.bug) }, fullOptions()
				o.IdlesOnPurpose = false
			}
			law := regexp.MustCompile(`(?m)^\s*law of (` + tc.law + `): `)
			var got string
			switch {
			case inFull:
				got = failure(t, newPolicy, o)
			case tc.law == "allocations": // no history shows it
				got = recorded(t, func(tb rapid.TB) { checkAllocations(tb, newPolicy(), o) })
			default:
				got = breaking(law, newPolicy, o, 400)
			}
			if !law.MatchString(got) {
				t.Errorf("a policy of which this is true: %s; sojourntest says\n%s\nwant the law of %s", tc.name, got, tc.law)
			}
		})
	}
}

// setFlag sets a flag for the duration of a test.
func setFlag(t *testing.T, name, value string) {
	old := flag.Lookup(name).Value.String()
	flag.Set(name, value)
	t.Cleanup(func() { flag.Set(name, old) })
}

// TestWrappersOfCorrectPolicies puts some usual mistakes of wrappers before a
// correct policy.
func TestWrappersOfCorrectPolicies(t *testing.T) {
	tests := []struct {
		name      string
		newPolicy func() sojourn.Policy
		law       string
	}{
		{"errors are swallowed", func() sojourn.Policy { return swallows{newFIFO(correct)} }, lawAnswers},
		{"errors are not wrapped in an EventError", func() sojourn.Policy { return unwraps{newFIFO(correct)} }, lawAnswers},
		{"policies are built alike but for a counter", func() func() sojourn.Policy {
			n := 0
			return func() sojourn.Policy {
				n++
				return reverses{newFIFO(correct), n}
			}
		}(), lawDeterminism},
	}
	for _, tc := range tests {
		if got := failure(t, tc.newPolicy, Options{}); !strings.Contains(got, "law of "+tc.law) {
			t.Errorf("%s: sojourntest says\n%s\nwant the law of %s", tc.name, got, tc.law)
		}
	}
}

// TestWrap runs sojourntest on a correct policy with wrappers, of which only the first two
// hide nothing.
func TestWrap(t *testing.T) {
	histories.Set(t, 4)
	for name, tc := range map[string]struct {
		wrap func(sojourn.Policy) sojourn.Policy
		ok   bool
	}{
		"unwraps":                 {func(p sojourn.Policy) sojourn.Policy { return wrapper{p} }, true},
		"locks twice":             {func(p sojourn.Policy) sojourn.Policy { return sojourn.NewLocked(sojourn.NewLocked(p)) }, true},
		"hides everything":        {func(p sojourn.Policy) sojourn.Policy { return hides{p} }, false},
		"passes on what is known": {func(p sojourn.Policy) sojourn.Policy { return knows{hides{p}} }, false},
		"declines":                {func(p sojourn.Policy) sojourn.Policy { return declines{wrapper{p}} }, false},
	} {
		got := failure(t, func() sojourn.Policy { return newFull(correct) }, func() Options {
			o := fullOptions()
			o.Wrap = tc.wrap
			return o
		}())
		if tc.ok != (got == "") || !tc.ok && !strings.Contains(got, "law of wrappers") {
			t.Errorf("a wrapper that %s: sojourntest says\n%s", name, got)
		}
	}
}

// A policy that cannot be restored under options that may change is found.
func TestChanged(t *testing.T) {
	histories.Set(t, 20)
	other := func(change func(*full)) []func() sojourn.Policy {
		return []func() sojourn.Policy{func() sojourn.Policy {
			p := newFull(correct)
			change(&p)
			return p
		}}
	}
	o := fullOptions()
	for name, tc := range map[string]struct {
		changed []func() sojourn.Policy
		ok      bool
	}{
		"nothing":                 {other(func(*full) {}), true},
		"what the state rests on": {o.Others, false},
	} {
		o := fullOptions()
		o.Changed = tc.changed
		got := failure(t, func() sojourn.Policy { return newFull(correct) }, o)
		if tc.ok != (got == "") || !tc.ok && !strings.Contains(got, "law of snapshots") {
			t.Errorf("%s changes: sojourntest says\n%s", name, got)
		}
	}
}

// hides hides all but the two methods of a policy.
type hides struct{ p sojourn.Policy }

func (h hides) Observe(ev sojourn.Event) error                      { return h.p.Observe(ev) }
func (h hides) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) { return h.p.Assign(id) }

// knows passes on the optional interfaces that there are, and no others.
type knows struct{ hides }

func (k knows) As(target any) bool { return sojourn.NewLocked(k.p).As(target) }

type declines struct{ wrapper }

func (d declines) Assign(sojourn.SlotID) (_ sojourn.Assignment, ok bool) { return }

type swallows struct{ *fifo }

func (p swallows) Observe(ev sojourn.Event) error {
	p.fifo.Observe(ev)
	return nil
}

type unwraps struct{ *fifo }

func (p unwraps) Observe(ev sojourn.Event) error { return errors.Unwrap(p.fifo.Observe(ev)) }

// reverses declines everything if n is even.
type reverses struct {
	*fifo
	n int
}

func (p reverses) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.fifo.Assign(id)
	if p.n%2 == 0 {
		a.Locality = sojourn.Remote
	}
	return a, ok
}

// TestEveryErrorIsAskedFor counts the answers that histories meet with: sojourntest
// must try each kind of event with each error that it can have, and without.
func TestEveryErrorIsAskedFor(t *testing.T) {
	needsAllChecks(t)
	type answer struct {
		kind sojourn.EventKind
		err  error
	}
	seen := map[answer]int{}
	note := func(ev *sojourn.Event, err error) { seen[answer{ev.Kind, sentinel(err)}]++ }
	o := fullOptions()
	checkLaws(t, func() sojourn.Policy { return observed{newFull(correct), note} }, o)
	checkLaws(t, func() sojourn.Policy { return observed{newFIFO(correct), note} }, Options{})

	errs := func(list ...error) []error { return append(list, nil, sojourn.ErrTimeReversed) }
	steer := []error{sojourn.ErrUnknownJob, sojourn.ErrCancelledJob, sojourn.ErrUnknownTask, sojourn.ErrTaskState}
	report := errs(sojourn.ErrUnknownJob, sojourn.ErrUnknownTask, sojourn.ErrStaleAttempt)
	want := map[sojourn.EventKind][]error{
		sojourn.SlotAdded:   errs(sojourn.ErrInvalidSlot, sojourn.ErrDuplicateSlot, sojourn.ErrUnsupported),
		sojourn.SlotRemoved: errs(sojourn.ErrUnknownSlot),
		sojourn.NodeDown:    errs(sojourn.ErrInvalidEvent, sojourn.ErrInvalidSlot, sojourn.ErrNodeState),
		sojourn.NodeUp:      errs(sojourn.ErrInvalidEvent, sojourn.ErrInvalidSlot, sojourn.ErrNodeState),
		sojourn.JobArrived:  errs(sojourn.ErrInvalidJob, sojourn.ErrDuplicateJob, sojourn.ErrUnsupported, sojourn.ErrRejected),
		sojourn.JobAdopted:  errs(sojourn.ErrInvalidEvent, sojourn.ErrInvalidJob, sojourn.ErrDuplicateJob, sojourn.ErrUnsupported),
		sojourn.JobRevised: errs(sojourn.ErrInvalidJob, sojourn.ErrUnknownJob, sojourn.ErrCancelledJob,
			sojourn.ErrInvalidRevision, sojourn.ErrUnsupported, sojourn.ErrRejected),
		sojourn.JobCancelled: errs(sojourn.ErrInvalidJob, sojourn.ErrUnknownJob, sojourn.ErrCancelledJob),
		sojourn.TaskHeld:     errs(append(steer, sojourn.ErrInvalidEvent, sojourn.ErrStaleAttempt, sojourn.ErrUnsupported)...),
		sojourn.TaskReady:    errs(append(steer, sojourn.ErrInvalidEvent, sojourn.ErrStaleAttempt, sojourn.ErrUnsupported)...),
		sojourn.TaskDone:     errs(steer...),
		sojourn.OutputLost:   errs(append(steer, sojourn.ErrStaleAttempt)...),
		sojourn.TaskAdopted: errs(append(steer, sojourn.ErrInvalidEvent, sojourn.ErrUnknownSlot, sojourn.ErrStaleAttempt,
			sojourn.ErrSlotBusy, sojourn.ErrWrongClass)...),
		sojourn.TaskProgress: append(report, sojourn.ErrInvalidEvent),
		sojourn.TaskFinished: append(report, sojourn.ErrInvalidEvent),
		sojourn.TaskFailed:   append(report, sojourn.ErrInvalidEvent),
		sojourn.TaskRefused:  report,
		sojourn.TaskPinned:   report,
		sojourn.PoolChanged:  {sojourn.ErrTimeReversed, sojourn.ErrInvalidPool, sojourn.ErrUnsupported},
		sojourn.Tick:         errs(),
		0:                    {sojourn.ErrUnknownKind},
		lastKind() + 1:       {sojourn.ErrUnknownKind},
		255:                  {sojourn.ErrUnknownKind},
	}
	for kind, list := range want {
		for _, err := range list {
			if seen[answer{kind, err}] == 0 {
				t.Errorf("no history has %v answered by %v", kind, err)
			}
		}
	}
	for a, n := range seen {
		if !slices.Contains(want[a.kind], a.err) {
			t.Errorf("%v was answered by %v %d times, which the contract does not know", a.kind, a.err, n)
		}
	}
}

// observed notes all answers to events.
type observed struct {
	sojourn.Policy
	note func(*sojourn.Event, error)
}

func (p observed) Observe(ev sojourn.Event) error {
	err := p.Policy.Observe(ev)
	p.note(&ev, err)
	return err
}

func (p observed) Unwrap() sojourn.Policy { return p.Policy }

// A broken policy is reported by a short history on lines that can be read.
func TestFailureIsReadable(t *testing.T) {
	needsAllChecks(t)
	const (
		calls = 5 // a slot, a job, and a task assigned twice, with an event between
		line  = `@\S+ ([A-Z]\w+ .*|Assign \d+ -> \d/\d/\d#\d)\n`
	)
	got := failure(t, func() sojourn.Policy { return newFIFO(attemptStuck) }, Options{})
	if !regexp.MustCompile(fmt.Sprintf(`^law of assignments: .*\nAssign.* want attempt 2\n\nBroken by this history:\n\nsojourn history 1\nrepeat: calls; all questions\n(%s){4,%d}\nTo repeat it, .*\n\[rapid\] failed after .*\n.*-rapid.seed=\d+\n+$`, line, calls)).MatchString(got) {
		t.Errorf("sojourntest says\n%s\nwant it to end with at most %d calls, one a line", got, calls)
	}
}

// The history of a failure can be read, and replayed: the broken policy answers
// alike, a correct one differs in the call that breaks the law.
func TestFailureReplays(t *testing.T) {
	needsAllChecks(t)
	for _, tc := range []struct {
		name string
		bug  bug
		rich bool
	}{
		{"attempt", attemptStuck, false},
		{"answer", acceptsStale, false},
		{"rejection without reason", rejectsBare, true},
		{"rejection with another offer", offersTooMuch, true},
	} {
		newPolicy, o := func(b bug) sojourn.Policy { return newFIFO(b) }, Options{}
		if tc.rich {
			newPolicy, o = func(b bug) sojourn.Policy { return newFull(b) }, fullOptions()
		}
		said := failure(t, func() sojourn.Policy { return newPolicy(tc.bug) }, o)
		_, rest, _ := strings.Cut(said, " history:\n\n")
		text, _, ok := strings.Cut(rest, "\n\n")
		if !ok {
			t.Errorf("%s: sojourntest says\n%s\nwant a history and an empty line", tc.name, said)
			continue
		}
		text += "\n"
		if err := format.Replay(newPolicy(tc.bug), format.Read(strings.NewReader(text), "")); err != nil {
			t.Errorf("%s: %s%v", tc.name, text, err)
		}
		err := format.Replay(newPolicy(correct), format.Read(strings.NewReader(text), ""))
		var diff *format.Difference
		if last := strings.Count(text, "\n"); !errors.As(err, &diff) || diff.Recorded.Line != last {
			t.Errorf("%s: %s%v, want a difference in line %d", tc.name, text, err, last)
		}
	}
}

// The package comment lists the laws as messages quote them, each once, and may go on.
func TestLawsAreDocumented(t *testing.T) {
	src := func(name string) string {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	var want []string
	for _, m := range regexp.MustCompile(`(?m)^\tlaw\w+ += "(.*)"$`).FindAllStringSubmatch(src("laws.go"), -1) {
		want = append(want, m[1])
	}
	_, list, _ := strings.Cut(src("doc.go"), "// # Laws\n")
	list, _, _ = strings.Cut(list, "\n//\n// A cancelled job")
	list = strings.Replace(list, "\n//\n// These laws hold for policies that state them in their options:\n//\n", "\n", 1)
	var got []string
	for _, item := range strings.Split(list, "//   - ")[1:] {
		got = append(got, strings.Join(strings.Fields(strings.ReplaceAll(item, "\n//", " ")), " "))
	}
	if len(want) < 25 || !slices.EqualFunc(got, want, func(item, law string) bool { return item == law || strings.HasPrefix(item, law+". ") }) {
		t.Errorf("doc.go lists\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// needsAllChecks skips a test that has to find what is rare.
func needsAllChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("under -short, rapid makes a fifth of the checks, which finds too little")
	}
}
