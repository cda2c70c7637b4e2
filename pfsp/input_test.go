package pfsp_test

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// A cluster drives a policy by hand.
type cluster struct {
	t *testing.T
	*pfsp.Policy
	now sojourn.Time
}

func newCluster(t *testing.T, opts pfsp.Options, slots int) *cluster {
	p, err := pfsp.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{t, p, 0}
	for i := range slots {
		c.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	return c
}

func (c *cluster) tell(ev sojourn.Event) {
	c.t.Helper()
	ev.At = c.now
	if err := c.Observe(ev); err != nil {
		c.t.Fatal(err)
	}
}

func (c *cluster) arrive(id sojourn.JobID, tasks int, estimate time.Duration) {
	c.t.Helper()
	c.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: job(id, tasks, estimate)})
}

func job(id sojourn.JobID, tasks int, estimate time.Duration) *sojourn.Job {
	return &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: estimate}}}
}

// assign offers a slot and returns what it runs.
func (c *cluster) assign(slot sojourn.SlotID) sojourn.Assignment {
	c.t.Helper()
	a, ok := c.Assign(slot)
	if !ok {
		c.t.Fatalf("slot %d stays free", slot)
	}
	return a
}

// want offers a slot and checks whose task it runs.
func (c *cluster) want(slot sojourn.SlotID, id sojourn.JobID) sojourn.Assignment {
	c.t.Helper()
	a := c.assign(slot)
	if a.Task.Job != id {
		c.t.Fatalf("at %v slot %d runs job %d, want %d", c.now, slot, a.Task.Job, id)
	}
	return a
}

func (c *cluster) end(a sojourn.Assignment, after time.Duration) {
	c.t.Helper()
	c.now += sojourn.Time(after)
	c.tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
}

// value returns what Explain says of the first phase of a job under a key.
func (c *cluster) value(id sojourn.JobID, key string) slog.Value {
	c.t.Helper()
	attrs, ok := c.Explain(id)
	if !ok {
		c.t.Fatalf("job %d is unknown", id)
	}
	for _, a := range attrs {
		if a.Key == "phase0" {
			for _, b := range a.Value.Group() {
				if b.Key == key {
					return b.Value
				}
			}
		}
	}
	c.t.Fatalf("Explain(%d) has no %s: %v", id, key, attrs)
	return slog.Value{}
}

func (c *cluster) wantValue(id sojourn.JobID, key string, want any) {
	c.t.Helper()
	if got := c.value(id, key); got.String() != slog.AnyValue(want).String() {
		c.t.Errorf("at %v job %d: %s = %v, want %v", c.now, id, key, got, want)
	}
}

func TestOptionsOutOfRange(t *testing.T) {
	minus, huge := -1, 1<<20
	for _, opts := range []pfsp.Options{
		{FairLimit: &minus}, {FairLimit: &huge}, {Order: 2}, {Late: 3}, {DefaultTaskTime: -1}, {Alpha: 1}, {Alpha: -0.1},
		{MinProgress: 1.5}, {MinProgress: -1}, {UpdateInterval: -1},
	} {
		if _, err := pfsp.New(opts); err == nil {
			t.Errorf("New(%+v) = nil error", opts)
		}
	}
	for _, text := range []string{"", "Auto", "fsp "} {
		if new(vqueue.Late).UnmarshalText([]byte(text)) == nil || new(pfsp.Order).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q is read", text)
		}
	}
}

// An estimate that a revision lowers changes w and v alike: 10 tasks of 10 s on one slot,
// of which V has done 5 s, are 95 s there; at 4 s each 35 s. Below what V has done, v is
// 0 and the job is late.
func TestEstimateThatShrinks(t *testing.T) {
	c := newCluster(t, limit(0), 1)
	c.arrive(1, 10, 10*time.Second)
	c.now = sojourn.Time(5 * time.Second)
	c.tell(sojourn.Event{Kind: sojourn.JobRevised, Job: job(1, 10, 4*time.Second)})
	c.wantValue(1, "w", 40.0)
	c.wantValue(1, "v", 35.0)
	c.wantValue(1, "void", []string{"sizes are estimates"})
	c.tell(sojourn.Event{Kind: sojourn.JobRevised, Job: job(1, 1, time.Second)})
	c.wantValue(1, "late", true)
	c.wantValue(1, "w", 1.0)
}

// One that a revision raises does so too; a job that is late, of which V has nothing left,
// is there again with as much as it grows by.
func TestEstimateThatGrows(t *testing.T) {
	c := newCluster(t, limit(0), 1)
	c.arrive(1, 10, 10*time.Second)
	c.now = sojourn.Time(5 * time.Second)
	c.tell(sojourn.Event{Kind: sojourn.JobRevised, Job: job(1, 10, 20*time.Second)})
	c.wantValue(1, "w", 200.0)
	c.wantValue(1, "v", 195.0)
	c.wantValue(1, "late", false)
	c.now = sojourn.Time(200 * time.Second)
	c.tell(sojourn.Event{Kind: sojourn.JobRevised, Job: job(1, 10, time.Hour)})
	c.wantValue(1, "w", 36000.0)
	c.wantValue(1, "v", 36000.0-200)
	c.wantValue(1, "late", false)
}

// Estimates that are revised so that their sum stays are another story than was told,
// unless they are those of tasks that are finished.
func TestEstimatesThatAreSwapped(t *testing.T) {
	told := func(times ...time.Duration) sojourn.Event {
		j := job(1, len(times), 0)
		for _, d := range times {
			j.Phases[0].Estimates = append(j.Phases[0].Estimates, d*time.Second)
		}
		return sojourn.Event{Kind: sojourn.JobRevised, Job: j}
	}
	c := newCluster(t, limit(0), 1)
	arrival := told(1, 2, 3)
	arrival.Kind = sojourn.JobArrived
	c.tell(arrival)
	c.arrive(2, 1, time.Second)
	c.end(c.want(0, 2), time.Second)
	c.end(c.want(0, 1), time.Second)
	c.tell(told(9, 2, 3))
	c.wantValue(1, "bound_holds", true)
	c.tell(told(9, 3, 2))
	c.wantValue(1, "void", []string{"sizes are estimates"})

	// Nothing is known wrong of a phase that nobody has looked at yet.
	c = newCluster(t, limit(0), 1)
	j := job(1, 1, time.Second)
	j.Phases = append(j.Phases, sojourn.Phase{Tasks: 2, Estimate: time.Second})
	c.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
	revised := job(1, 1, time.Second)
	revised.Phases = append(revised.Phases, sojourn.Phase{Tasks: 5, Estimate: time.Minute})
	c.tell(sojourn.Event{Kind: sojourn.JobRevised, Job: revised})
	c.wantValue(1, "bound_holds", true)
	c.end(c.want(0, 1), time.Second)
	attrs, _ := c.Explain(1)
	if text := fmt.Sprint(attrs); !strings.Contains(text, "phase1=") || !strings.Contains(text, "bound_holds=true") {
		t.Errorf("Explain(1) = %s, want phase 1 and that its bound holds", text)
	}
}

// A size is known to be wrong as soon as a task has ended earlier than was said, or has
// been running for longer.
func TestWrongSizesVoidTheBound(t *testing.T) {
	for _, tc := range []struct {
		after time.Duration
		end   bool
	}{{500 * time.Millisecond, true}, {1500 * time.Millisecond, true}, {1500 * time.Millisecond, false}} {
		c := newCluster(t, limit(0), 2)
		c.arrive(1, 5, time.Second)
		c.arrive(2, 5, time.Second)
		a := c.assign(0)
		c.wantValue(2, "bound_holds", true)
		if tc.end {
			c.end(a, tc.after)
		} else {
			c.now += sojourn.Time(tc.after)
			c.tell(sojourn.Event{Kind: sojourn.Tick})
		}
		c.wantValue(2, "void", []string{"sizes are estimates"})
	}
}

// A job that has used up its estimate while tasks are left does not go first for
// that: its work is taken to be as much again. Two jobs, two slots: job 1 is thought to
// have 4 tasks of 1 s, and its first ones run on and on.
func TestEstimateThatIsUsedUpWhileWorkRemains(t *testing.T) {
	c := newCluster(t, limit(0), 2)
	c.arrive(1, 4, time.Second)
	c.arrive(2, 2, 10*time.Second)
	a := c.want(0, 1)
	b := c.want(1, 1)
	c.now = sojourn.Time(time.Second)
	c.tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: b.Task, Attempt: b.Attempt, Slot: sojourn.Slot{ID: b.Slot}})
	c.now = sojourn.Time(60 * time.Second) // 60 s for job 1, of 4
	c.tell(sojourn.Event{Kind: sojourn.Tick})
	c.assign(1)
	if got := c.value(1, "w").Float64(); got < 60 {
		t.Errorf("w = %v s, want at least the 60 s that it has attained", got)
	}
	c.end(a, 0)
	if got := c.value(1, "w").Float64(); got < 60 {
		t.Errorf("w = %v s after a task of 60 s, want more", got)
	}
}

// Estimates of a nanosecond end in V at once, while all the work remains. When a task of
// one job has taken an hour, that job is in V again with as much as is left, and the other
// goes first as long as its estimate is believed. w is never 0.
func TestEstimateThatHitsZeroWhileWorkRemains(t *testing.T) {
	c := newCluster(t, limit(0), 2)
	c.arrive(1, 100, 1)
	c.arrive(2, 100, 1)
	c.now = sojourn.Time(time.Second)
	c.tell(sojourn.Event{Kind: sojourn.Tick})
	first := c.assign(0)
	c.end(first, time.Hour)
	c.wantValue(first.Task.Job, "late", false)
	if got := c.value(first.Task.Job, "v").Float64(); math.Abs(got-99*3600) > 1e-6 {
		t.Errorf("v = %v s, want %v", got, 99*3600)
	}
	c.wantValue(3-first.Task.Job, "late", true)
	c.end(c.want(0, 3-first.Task.Job), time.Hour)
	c.wantValue(3-first.Task.Job, "late", false)
	if got := c.value(first.Task.Job, "w").Float64(); got < 98*3600-2 {
		t.Errorf("w = %v s with 99 tasks left, of an hour each as far as is known", got)
	}
	c.wantValue(first.Task.Job, "bound_holds", false)
}

// Progress that overshoots, falls or comes twice: out of range it is refused, and for
// the rest an estimate changes at most once per doubling. Tasks that are known are
// not estimated from it.
func TestProgressThatOvershoots(t *testing.T) {
	c := newCluster(t, pfsp.Options{DefaultTaskTime: 10 * time.Second}, 1)
	c.arrive(1, 10, 0)
	a := c.want(0, 1)
	report := func(progress uint16, service time.Duration) error {
		c.now += sojourn.Time(time.Second)
		return c.Observe(sojourn.Event{Kind: sojourn.TaskProgress, At: c.now, Task: a.Task, Attempt: 1, Progress: progress, Service: service})
	}
	if err := report(10001, time.Second); !errors.Is(err, sojourn.ErrInvalidEvent) {
		t.Errorf("progress of 10001/10000: %v", err)
	}
	for _, tc := range []struct {
		progress uint16
		service  time.Duration
		ratio    float64
	}{
		{100, time.Second, 1},        // 1 %: too little to tell anything
		{200, time.Second, 5},        // 2 % in 1 s: 50 s instead of 10
		{300, 30 * time.Second, 5},   // less than twice as far
		{100, 30 * time.Second, 5},   // back
		{5000, 10 * time.Second, 2},  // half in 10 s: 20 s
		{10000, 90 * time.Second, 9}, // all of it, in 90 s
		{10000, 10 * time.Second, 9}, // again
	} {
		if err := report(tc.progress, tc.service); err != nil {
			t.Fatal(err)
		}
		c.wantValue(1, "task_time_ratio", tc.ratio)
	}
	// w of 9 tasks that wait is 90 s each; the one that runs is over its time.
	c.end(a, time.Hour)
	if got, min := c.value(1, "w").Float64(), 9*3600.0; got < min {
		t.Errorf("w = %v s, want at least %v", got, min)
	}
}

// A job that finishes really before it does virtually keeps its place in V: job 2,
// behind it, gets no more of V than before. Job 1 has 10 s and a slot to itself.
func TestJobThatFinishesReallyBeforeVirtually(t *testing.T) {
	for _, cancel := range []bool{false, true} {
		c := newCluster(t, limit(0), 1)
		c.arrive(1, 1, 10*time.Second)
		c.arrive(2, 1, 100*time.Second)
		a := c.want(0, 1)
		if cancel {
			c.now = sojourn.Time(10 * time.Second)
			c.tell(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
			c.tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: 1})
		} else {
			c.end(a, 10*time.Second)
		}
		c.wantValue(2, "v", 95.0) // of 10 s, V has given 5 to each
		c.now += sojourn.Time(10 * time.Second)
		c.tell(sojourn.Event{Kind: sojourn.Tick})
		c.wantValue(2, "v", 90.0) // still
		c.now += sojourn.Time(10 * time.Second)
		c.tell(sojourn.Event{Kind: sojourn.Tick})
		c.wantValue(2, "v", 80.0)
	}
}

// The other way round: a job that V ends first is late, and goes before one that is
// shorter.
func TestJobThatFinishesVirtuallyBeforeReally(t *testing.T) {
	c := newCluster(t, limit(0), 3)
	c.arrive(3, 2, 100*time.Second)
	c.want(1, 3)
	c.want(2, 3)
	c.arrive(1, 4, 10*time.Second) // with half of V it ends at 26.7 s there
	for range 2 {
		c.end(c.want(0, 1), 10*time.Second)
	}
	a := c.want(0, 1)
	c.now = sojourn.Time(28 * time.Second)
	c.arrive(2, 1, time.Second)
	c.wantValue(1, "late", true)
	c.end(a, 2*time.Second)
	c.end(c.want(0, 1), 10*time.Second)
	c.want(0, 2)
}

// Jobs that are alike in everything are served in the order of arrival.
func TestTies(t *testing.T) {
	c := newCluster(t, limit(0), 3)
	for id := range sojourn.JobID(3) {
		c.arrive(7-id, 2, time.Second)
	}
	c.want(0, 7)
	c.want(1, 7)
	c.want(2, 6)
	ranking := c.AppendRanking(nil)
	if want := []sojourn.JobID{6, 7, 5}; !slices.Equal(ranking, want) {
		t.Errorf("ranking %v, want %v", ranking, want)
	}
}

// Work is counted without overflow: jobs of 10^9 task-seconds, of as much as an estimate
// can say, and of unknown size, on a million slots. Those that are there share V.
func TestJobsOfABillionTaskSeconds(t *testing.T) {
	const slots = 1_000_000
	c := newCluster(t, pfsp.Options{}, slots)
	c.arrive(1, 1_000_000, 1000*time.Second)
	c.arrive(2, 1, 1<<63-1)
	c.arrive(3, 1<<20, 0) // a minute each
	c.wantValue(1, "w", 1e9)
	c.wantValue(2, "w", float64(math.MaxInt64)/1e9)
	c.wantValue(3, "w", 60*float64(1<<20))
	c.now = sojourn.Time(100 * time.Second)
	c.tell(sojourn.Event{Kind: sojourn.Tick})
	c.wantValue(1, "v", 1e9-1e8/3)
	c.wantValue(3, "v", 60*float64(1<<20)-1e8/3)
	for slot, id := range []sojourn.JobID{3, 1, 2, 3, 1} { // probes, first those that have had none
		c.want(sojourn.SlotID(slot), id)
	}
}

// Nor does virtual time overflow in ten years of a million slots, two unless thorough, in
// which V is never empty: 3 10^14 slot-seconds. Every quarter 900 jobs of 9.2 10^9 s come, as large as a
// size can be; what V has left of one of each is compared with rational numbers.
// Reference: package vqueue, on the range of virtual time.
func TestTenYearsOnAMillionSlots(t *testing.T) {
	const slots, quarter, jobs = 1_000_000, sojourn.Time(365 * 24 * time.Hour / 4), 900
	quarters := sojourn.Time(8)
	if thorough {
		quarters = 40
	}
	c := newCluster(t, pfsp.Options{}, slots)
	v := gpstest.Cluster{Slots: slots} // jobs that are alike are one of their weight there
	first := map[*gpstest.Job]sojourn.JobID{}
	for id := sojourn.JobID(0); c.now < quarters*quarter; {
		weight := float64(1 + id%2)
		all := v.Arrive(1<<63-1, jobs*weight)
		all.Left.Mul(all.Left, big.NewRat(jobs, 1))
		first[all] = id + 1
		for range jobs {
			id++
			j := job(id, 1, 1<<63-1)
			j.Weight = weight
			c.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
		}
		c.now += quarter
		c.tell(sojourn.Event{Kind: sojourn.Tick})
		v.Advance(c.now)
		v.Jobs = slices.DeleteFunc(v.Jobs, func(j *gpstest.Job) bool { return j.Ended != nil })
		if len(v.Jobs) == 0 {
			t.Fatalf("at %v the virtual cluster is empty", c.now)
		}
		for i := 0; i < len(v.Jobs) && c.now%(8*quarter) == 0; i++ {
			j := v.Jobs[i]
			want, _ := j.Left.Float64()
			want /= 1e9 * jobs
			if got := c.value(first[j], "v").Float64(); math.Abs(got-want) > 1e-6*want {
				t.Errorf("at %v job %d: v = %v s, want %v", c.now, first[j], got, want)
			}
		}
		for slot := range sojourn.SlotID(10) { // late jobs have the most work that there can be
			if a := c.assign(slot); a.Task.Job > id-jobs && c.now > quarter {
				t.Errorf("at %v job %d runs, which is not late", c.now, a.Task.Job)
			} else {
				c.tell(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: 1, Slot: sojourn.Slot{ID: a.Slot}})
			}
		}
	}
	data, err := c.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	p := maker(pfsp.Options{})().(*pfsp.Policy)
	if err := p.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	got, gotOK := p.Assign(slots - 1)
	want, wantOK := c.Assign(slots - 1)
	if got != want || gotOK != wantOK {
		t.Errorf("restored: Assign = %+v, want %+v", got, want)
	}
}

// An attempt that was refused, preempted or lost was no probe. One that failed was none until the
// next one failed as well.
func TestRefusedProbe(t *testing.T) {
	c := newCluster(t, pfsp.Options{}, 1)
	c.arrive(1, 5, time.Second)
	for _, tc := range []struct {
		kind  sojourn.EventKind
		cause sojourn.Cause
		left  int
	}{
		{sojourn.TaskRefused, 0, 2}, {sojourn.TaskFailed, sojourn.CausePreempted, 2}, {sojourn.TaskFailed, sojourn.CauseSlotLost, 2},
		{sojourn.TaskFailed, sojourn.CauseTask, 2}, {sojourn.TaskFailed, sojourn.CausePreempted, 2}, {sojourn.TaskFailed, sojourn.CauseTask, 0},
	} {
		a := c.want(0, 1)
		c.wantValue(1, "probes_left", 1)
		c.tell(sojourn.Event{Kind: tc.kind, Cause: tc.cause, Task: a.Task, Attempt: a.Attempt})
		c.wantValue(1, "probes_left", tc.left)
	}
}

// Job 1 waits behind many of little weight, with slack to spare, for job 2 has most of
// the virtual cluster. Then job 1 is given more weight than all, and ends there soon: it
// is far beyond the bound, and nobody says that it holds.
// Reference: package comment, theorem ("weights constant").
func TestChangedWeightsBreakTheBound(t *testing.T) {
	c := newCluster(t, limit(0), 1)
	arrive := func(id sojourn.JobID, tasks int, weight float64) {
		j := job(id, tasks, time.Second)
		j.Weight = weight
		c.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
	}
	arrive(1, 100, 1)
	arrive(2, 20_000, 100)
	for id := range sojourn.JobID(60) {
		arrive(3+id, 90, 0.4)
	}
	for range 4000 {
		a := c.assign(0)
		if a.Task.Job < 3 {
			t.Fatalf("at %v job %d runs", c.now, a.Task.Job)
		}
		c.end(a, time.Second)
	}
	c.wantValue(1, "bound_holds", true)
	j := job(1, 100, time.Second)
	j.Weight = 1e6
	c.tell(sojourn.Event{Kind: sojourn.JobRevised, Job: j})
	c.wantValue(1, "bound_holds", false)
	c.wantValue(1, "void", []string{"weights were changed"})
	var virtualEnd sojourn.Time
	for left := 100; left > 0; {
		a := c.assign(0)
		if a.Task.Job == 1 {
			left--
		}
		c.end(a, time.Second)
		if left > 0 && virtualEnd == 0 && fmt.Sprint(c.value(1, "late")) == "true" {
			virtualEnd = c.now
		}
	}
	if bound := virtualEnd + sojourn.Time(time.Second); virtualEnd == 0 || c.now <= bound {
		t.Errorf("job 1 ends at %v, within the bound %v: the example shows nothing", c.now, bound)
	}
}

// An attempt of a cancelled job that is killed takes nothing from anybody.
func TestKilledAttemptsOfCancelledJobsKeepThePromise(t *testing.T) {
	c := newCluster(t, limit(0), 1)
	c.arrive(1, 2, time.Second)
	c.arrive(2, 5, time.Second)
	a := c.want(0, 1)
	c.now += sojourn.Time(time.Second / 2)
	c.tell(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 1}})
	c.tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: a.Attempt})
	c.wantValue(2, "bound_holds", true)
	a = c.want(0, 2)
	c.now += sojourn.Time(time.Second / 2)
	c.tell(sojourn.Event{Kind: sojourn.TaskFailed, Task: a.Task, Attempt: a.Attempt})
	c.wantValue(2, "bound_holds", false)
}

// Of the tasks of the chosen phase a slot gets the one whose input is closest, also
// after a snapshot.
func TestNearestInputFirst(t *testing.T) {
	c := newCluster(t, limit(0), 0)
	for i := range 4 {
		c.tell(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Node: sojourn.NodeID(i + 1)}})
	}
	j := job(1, 4, time.Second)
	j.Phases[0].Inputs = sojourn.MakeInputs([][]sojourn.NodeID{{4}, {3}, {2}, {1}})
	c.tell(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
	check := func(slot sojourn.SlotID) {
		a := c.assign(slot)
		if a.Task.Index != uint32(3-slot) || a.Locality != sojourn.NodeLocal {
			t.Errorf("slot %d runs task %d, %v, want %d, local", slot, a.Task.Index, a.Locality, 3-slot)
		}
	}
	check(0)
	data, err := c.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Policy = maker(pfsp.Options{FairLimit: new(int)})().(*pfsp.Policy)
	if err := c.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	check(1)
	check(2)
	check(3)
}
