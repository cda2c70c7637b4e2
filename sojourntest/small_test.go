package sojourntest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	format "github.com/sojourn-sched/sojourn/history"
)

// tiny is a world whose histories TestWalk makes by chance, too. Nothing is told of its jobs.
var tiny = Small{
	Events: 4,
	Slots:  []sojourn.Slot{{ID: 0}, {ID: 1}},
	Jobs:   []*sojourn.Job{{Phases: []sojourn.Phase{{Tasks: 1}}}, {Phases: []sojourn.Phase{{Tasks: 2}}}},
}

// traced returns what a history says without the names of slots and tasks: arrivals with their number of tasks, offers, and
// ends with the start of what ended.
func traced(list []format.Entry) string {
	var (
		b       strings.Builder
		started = map[sojourn.TaskID]sojourn.Time{}
		offered = false
	)
	for i := range list {
		e := &list[i]
		if e.Kind == format.Assign {
			if !offered {
				fmt.Fprint(&b, e.At, " offer\n")
			}
			if offered = true; e.OK {
				started[e.Assignment.Task] = e.At
			}
			continue
		}
		offered = false
		switch ev := &e.Event; ev.Kind {
		case sojourn.JobArrived:
			fmt.Fprintf(&b, "%v job of %d\n", ev.At, ev.Job.Phases[0].Tasks)
		case sojourn.TaskFinished:
			fmt.Fprintf(&b, "%v end of job %d since %v\n", ev.At, ev.Task.Job, started[ev.Task])
		}
	}
	return b.String()
}

// chanced makes a history of the tiny world under the order of arrival by chance, with code of its own, and returns its trace.
func chanced(r *rand.Rand) string {
	type attempt struct {
		job  int
		from sojourn.Time
	}
	var (
		b      strings.Builder
		now    sojourn.Time
		left   []int // tasks to start, of each job
		runs   []attempt
		events int
		dirty  bool
		gap    bool // time has passed while there was nothing to do
	)
	for {
		var can []func()
		offer := func() {
			fmt.Fprint(&b, now, " offer\n")
			for i := range left {
				for left[i] > 0 && len(runs) < 2 {
					left[i]--
					runs = append(runs, attempt{i, now})
				}
			}
			dirty = false
		}
		end := func(k int) {
			fmt.Fprintf(&b, "%v end of job %d since %v\n", now, runs[k].job+1, runs[k].from)
			runs = slices.Delete(runs, k, k+1)
			events++
			dirty = true // a slot is free
		}
		pass := func() { now = now.Add(time.Second) }
		overdue := slices.IndexFunc(runs, func(a attempt) bool { return now.Sub(a.from) == 2*time.Second })
		if events >= tiny.Events { // the rest happens as late as it can
			switch {
			case dirty:
				offer()
			case overdue >= 0:
				end(overdue)
			case len(runs) > 0:
				pass()
			default:
				return b.String()
			}
			continue
		}
		if len(left) < 2 {
			for n := 1; n <= 2; n++ {
				can = append(can, func() {
					fmt.Fprintf(&b, "%v job of %d\n", now, n)
					left = append(left, n)
					events++
					dirty, gap = len(runs) < 2, false
				})
			}
		}
		for k, a := range runs {
			if now > a.from {
				can = append(can, func() { end(k) })
			}
		}
		switch {
		case dirty:
			can = append(can, offer)
		case len(runs) > 0:
			if overdue < 0 {
				can = append(can, pass)
			}
		case len(left) == 2, len(left) == 1 && !gap && r.IntN(3) == 0:
			return b.String()
		case len(left) == 1 && !gap:
			can = append(can, func() { pass(); gap = true })
		}
		can[r.IntN(len(can))]()
	}
}

// Each history of a small world is walked, and each once: those that chance makes, by other code, are the same.
func TestWalkRepeatsNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of histories, in one goroutine")
	}
	walked, texts := map[string]int{}, map[string]int{}
	newFIFO := func() sojourn.Policy { return newFIFO(0) }
	n, err := walk(newFIFO, tiny, func(list []format.Entry) error {
		walked[traced(list)]++
		text := ""
		for _, e := range list {
			text += e.String() + "\n"
		}
		texts[text]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, times := range walked {
		if times > 1 {
			t.Fatalf("walked %d times, up to names:\n%s", times, text)
		}
	}
	if n.histories != len(walked) || len(texts) != len(walked) {
		t.Errorf("%v, %d of them different up to names, %d different", n, len(walked), len(texts))
	}
	r := rand.New(rand.NewPCG(1, 1))
	made := map[string]bool{}
	for range 1000 * len(walked) {
		text := chanced(r)
		if walked[text] == 0 {
			t.Fatalf("this history is not walked:\n%s", text)
		}
		made[text] = true
	}
	if len(made) != len(walked) {
		for text := range walked {
			if !made[text] {
				t.Fatalf("%d histories are walked, %d made by chance; not this one:\n%s", len(walked), len(made), text)
			}
		}
	}
	t.Logf("%v", n)
}

// The same histories come in the same order each time, and no other kind of event makes one come twice.
func TestWalkIsTheSameEachTime(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of histories, in one goroutine")
	}
	for _, also := range [][]sojourn.EventKind{
		nil,
		{sojourn.TaskFailed, sojourn.JobRevised},
		{sojourn.TaskHeld, sojourn.TaskReady, sojourn.TaskRefused, sojourn.JobCancelled},
		{sojourn.SlotRemoved, sojourn.SlotAdded, sojourn.NodeDown, sojourn.NodeUp},
		{sojourn.JobAdopted, sojourn.TaskAdopted, sojourn.TaskProgress, sojourn.TaskPinned, sojourn.TaskDone, sojourn.OutputLost},
	} {
		var runs [2][]string
		w := tiny
		w.Events, w.Also, w.Slots = 3, also, []sojourn.Slot{{ID: 0, Node: 1}, {ID: 1, Node: 2}}
		for i := range runs {
			if _, err := walk(func() sojourn.Policy { return newFIFO(0) }, w, func(list []format.Entry) error {
				runs[i] = append(runs[i], fmt.Sprint(list))
				return nil
			}); err != nil {
				t.Fatalf("%v: %v", also, err)
			}
		}
		if !slices.Equal(runs[0], runs[1]) {
			t.Errorf("%v: two walks differ", also)
		}
		slices.Sort(runs[0])
		for i, text := range runs[0] {
			if i > 0 && text == runs[0][i-1] {
				t.Errorf("%v: of %d histories, this is there twice: %s", also, len(runs[0]), text)
				break
			}
		}
		t.Logf("%v: %d histories", also, len(runs[0]))
	}
}

// An error of the check, or an event that a policy refuses, ends the walk with the history.
func TestWalkFails(t *testing.T) {
	stop := errors.New("stop")
	calls := 0
	n, err := walk(func() sojourn.Policy { return newFIFO(0) }, tiny, func([]format.Entry) error {
		if calls++; calls == 7 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) || n.histories != 7 || !strings.Contains(err.Error(), "number 7") || !strings.Contains(err.Error(), "JobArrived") {
		t.Errorf("%v: %v", n, err)
	}
	refused := Small{Jobs: []*sojourn.Job{{Phases: []sojourn.Phase{{Tasks: 0}}}}}
	if _, err := walk(func() sojourn.Policy { return newFIFO(0) }, refused, func([]format.Entry) error { return nil }); !errors.Is(err, sojourn.ErrInvalidJob) {
		t.Errorf("a job without tasks: %v", err)
	}
}

// What two slots and two jobs can break is found.
func TestAllFindsWhatIsBroken(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: thousands of histories, in one goroutine")
	}
	w := tiny
	w.Events = 3 // fewer show no cancelled job whose attempt fails
	w.Also = []sojourn.EventKind{sojourn.TaskFailed, sojourn.TaskRefused, sojourn.TaskHeld, sojourn.JobCancelled, sojourn.SlotRemoved}
	for _, tc := range []struct {
		bug  bug
		rich bool
		law  string // one of these, separated by |; none: it breaks no law
	}{
		{0, false, ""},
		{0, true, ""},
		{forgetsRetiring, false, "answers|misuse"},
		{refusedTaskLost, false, "answers|assignments|work conservation|lost work"},
		{failedTaskLost, false, "answers|assignments|work conservation|lost work"},
		{keepsEnded, false, "answers"},
		{retriesCancelled, false, "answers|assignments"},
		{changesJobs, false, "jobs"},
		{ignoresHeld, false, "assignments|flickering slots"},
		{attemptStuck, false, "assignments"},
		{lowestID, false, "names"},
		{sinceEpoch, false, "epoch|superfluous ticks"},
		{ticksCount, false, "superfluous ticks"},
		{capacityLags, false, "flickering slots"},
		{seekLies, true, "seeking"},
		{explainsAnyone, true, "explanations"},
		{explainCounts, true, "purity"},
		{wakeStuck, true, "waking"},
		{restoreMerges, true, "snapshots|determinism"},
		{restoreHalf, true, "snapshots"},
	} {
		newPolicy, o := policyWith(tc.bug, tc.rich)
		w := w
		if tc.rich { // it needs more of a job
			w.Jobs = nil
		}
		n, found := walkAll(newPolicy, &o, w)
		if found == nil && tc.law == "" {
			continue
		}
		if found == nil || !regexp.MustCompile("^("+tc.law+")$").MatchString(nameOf(found.law)) {
			t.Errorf("bug %v: %v: %v, want the law of %s", tc.bug, n, found, tc.law)
			continue
		}
		t.Logf("bug %v: %v: law of %s", tc.bug, n, nameOf(found.law))
	}
}

// The report of a broken law is that of Run: a short history that can be repeated.
func TestAllReports(t *testing.T) {
	newPolicy, o := policyWith(failedTaskLost, false)
	_, found := walkAll(newPolicy, &o, Small{Events: 3, Also: []sojourn.EventKind{sojourn.TaskFailed}})
	if found == nil {
		t.Fatal("nothing is found")
	}
	said := found.report(newPolicy, &o)
	text := firstHistory(said)
	if strings.Count(text, "\n") > 10 || !strings.Contains(replayed(t, newPolicy, o, text), nameOf(found.law)) {
		t.Errorf("the report is not short, or cannot be repeated:\n%s", said)
	}
}
