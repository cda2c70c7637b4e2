package priority_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/constructors/pooled"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/kit/priority"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func init() { priority.Inside = constructors.FIFO.With(fifo.Options{}) }

func around(t testing.TB, in func() sojourn.Policy, o priority.Options) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := priority.New(in, o)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
}

// Around policies that are right, the laws hold with priorities, too.
func TestConformance(t *testing.T) {
	idles := sojourntest.Options{IdlesOnPurpose: true}
	for _, tc := range []struct {
		name string
		in   func() sojourn.Policy
		o    priority.Options
		laws sojourntest.Options
	}{
		{"fifo", constructors.FIFO.With(fifo.Options{}), priority.Options{}, sojourntest.Options{}},
		{"fifo, aged", constructors.FIFO.With(fifo.Options{}), priority.Options{Age: 1e9, Preempt: 2, PreemptAfter: 1e9}, sojourntest.Options{Ages: true, ChargesLostWork: true, ChargesFailures: true}},
		{"default", constructors.LeastWork.With(leastwork.Options{}), priority.Options{Preempt: 3}, idles},
		{"fair", pooled.Fair.With(fair.Options{}), priority.Options{Preempt: 1}, idles},
		{"hfsp", constructors.HFSP.With(hfsp.Options{}), priority.Options{}, idles},
	} {
		t.Run(tc.name, func(t *testing.T) {
			histories.Set(t, histories.Count(t)/5)
			sojourntest.Run(t, around(t, tc.in, tc.o), tc.laws)
		})
	}
}

// A world runs jobs of tasks of one class, and keeps its own account.
type world struct {
	t     rapid.TB
	p     sojourn.Policy
	now   sojourn.Time
	runs  map[sojourn.SlotID]sojourn.Assignment
	until map[sojourn.SlotID]sojourn.Time
	slots []sojourn.SlotID
}

func newWorld(t rapid.TB, p sojourn.Policy, slots int) *world {
	w := &world{t: t, p: p, runs: map[sojourn.SlotID]sojourn.Assignment{}, until: map[sojourn.SlotID]sojourn.Time{}}
	for i := range slots {
		w.slots = append(w.slots, sojourn.SlotID(i+1))
		w.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i + 1)}})
	}
	return w
}

func (w *world) observe(ev sojourn.Event) {
	w.t.Helper()
	w.now = max(w.now, ev.At)
	if err := w.p.Observe(ev); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) arrive(id sojourn.JobID, priority int32, tasks int) {
	w.t.Helper()
	w.observe(sojourn.Event{Kind: sojourn.JobArrived, At: w.now, Job: &sojourn.Job{ID: id, Priority: priority, Phases: []sojourn.Phase{{Tasks: tasks}}}})
}

// offer offers each free slot, and returns the jobs that got one.
func (w *world) offer(length func(sojourn.Assignment) time.Duration) (got []sojourn.JobID) {
	for _, id := range w.slots {
		if _, busy := w.runs[id]; busy {
			continue
		}
		if a, ok := w.p.Assign(id); ok {
			w.runs[id], w.until[id] = a, w.now.Add(length(a))
			got = append(got, a.Task.Job)
		}
	}
	return got
}

// end ends what runs on a slot.
func (w *world) end(id sojourn.SlotID, kind sojourn.EventKind, cause sojourn.Cause) {
	w.t.Helper()
	a := w.runs[id]
	delete(w.runs, id)
	w.observe(sojourn.Event{Kind: kind, Cause: cause, At: w.now, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}})
}

// pass lets time pass to the next end, and finishes what ends there. It reports false if nothing runs.
func (w *world) pass() bool {
	w.t.Helper()
	return w.ends(func(id sojourn.SlotID) { w.end(id, sojourn.TaskFinished, 0) })
}

// ends lets time pass to the next end, and calls end for what ends there. It reports false if nothing runs.
func (w *world) ends(end func(sojourn.SlotID)) bool {
	w.t.Helper()
	next, ok := sojourn.Time(0), false
	for id := range w.runs {
		if !ok || w.until[id] < next {
			next, ok = w.until[id], true
		}
	}
	w.now = max(w.now, next)
	for _, id := range w.slots {
		if _, runs := w.runs[id]; runs && w.until[id] <= w.now {
			end(id)
		}
	}
	return ok
}

// TestAge checks the theorem of the package comment: once a priority has waited for n times Age, each of the n others
// that have live jobs starts at most one more task before it does.
func TestAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		levels := rapid.IntRange(2, 5).Draw(t, "levels")
		age := rapid.SampledFrom([]time.Duration{1, time.Second, 7 * time.Second, time.Hour}).Draw(t, "age")
		p, err := priority.New(constructors.FIFO.With(fifo.Options{}), priority.Options{Age: age})
		if err != nil {
			t.Fatal(err)
		}
		order := rapid.Permutation([]int32{math.MinInt32, -1, 0, 7, math.MaxInt32}).Draw(t, "order")
		w := newWorld(t, p, rapid.IntRange(1, 3).Draw(t, "slots"))
		for i := range levels {
			w.arrive(sojourn.JobID(i+1), order[i], 10_000)
		}
		since := make([]sojourn.Time, levels+1) // when each last started something
		ahead := make([][]int, levels+1)        // how many tasks of each other one started since its time was up
		for i := range ahead {
			ahead[i] = make([]int, levels+1)
		}
		for range 60 {
			for _, id := range w.offer(func(sojourn.Assignment) time.Duration {
				return rapid.SampledFrom([]time.Duration{0, 1, age / 3, age, 5 * age}).Draw(t, "length")
			}) {
				for other := 1; other <= levels; other++ {
					if sojourn.JobID(other) == id || w.now.Sub(since[other]) < time.Duration(levels-1)*age {
						continue
					}
					if ahead[other][id]++; ahead[other][id] > 1 {
						t.Fatalf("at %v job %d has waited since %v, and job %d has passed it twice", w.now, other, since[other], id)
					}
				}
				since[id] = w.now
				clear(ahead[id])
			}
			w.ends(func(id sojourn.SlotID) {
				end := rapid.SampledFrom([]sojourn.Event{
					{Kind: sojourn.TaskFinished}, {Kind: sojourn.TaskRefused}, {Kind: sojourn.TaskFailed}, {Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted}, {Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost},
				}).Draw(t, "end")
				w.end(id, end.Kind, end.Cause)
			})
		}
	})
}

func hour(sojourn.Assignment) time.Duration { return time.Hour }

// TestPreempt: attempts of the lowest priorities are asked for, the youngest first, as many as are needed and no more at a
// time than Options.Preempt, and only while no slot is free.
func TestPreempt(t *testing.T) {
	checked := func(w *world) (list []sojourn.SlotID) {
		pre, _ := sojourn.As[sojourn.Preemptor](w.p)
		for _, v := range pre.AppendPreemptions(nil) {
			if a := w.runs[v.Slot]; a.Task != v.Task || a.Attempt != v.Attempt {
				t.Fatalf("%+v is asked for, where %+v runs", v, a)
			}
			list = append(list, v.Slot)
		}
		return list
	}
	p := around(t, constructors.FIFO.With(fifo.Options{}), priority.Options{Preempt: 3, PreemptAfter: time.Minute})()
	w := newWorld(t, p, 5)
	waker, _ := sojourn.As[sojourn.Waker](p)
	w.arrive(1, -1, 3)
	w.offer(hour) // slots 1 to 3
	w.now = w.now.Add(time.Second)
	w.arrive(2, 0, 1)
	w.arrive(3, -1, 10)
	w.offer(hour) // slot 4 for job 2, and slot 5 for job 3
	w.arrive(4, 5, 2)
	if at, ok := waker.NextWake(); !ok || at != w.now.Add(time.Minute) || len(checked(w)) > 0 {
		t.Errorf("NextWake() = %v, %v, and slots %d are asked for at once", at, ok, checked(w))
	}
	w.now = w.now.Add(time.Minute)
	w.observe(sojourn.Event{Kind: sojourn.Tick, At: w.now})
	if got := checked(w); !slices.Equal(got, []sojourn.SlotID{5, 3}) {
		t.Fatalf("slots %d are asked for, want 5 and 3", got)
	}
	pinned := w.runs[3]
	w.observe(sojourn.Event{Kind: sojourn.TaskPinned, At: w.now, Task: pinned.Task, Attempt: pinned.Attempt, Slot: sojourn.Slot{ID: 3}})
	w.observe(sojourn.Event{Kind: sojourn.SlotRemoved, At: w.now, Slot: sojourn.Slot{ID: 2}}) // it leaves with its attempt
	if got := checked(w); !slices.Equal(got, []sojourn.SlotID{5, 1}) {
		t.Fatalf("slots %d are asked for, want 5, and 1 in place of 3, which is pinned", got)
	}
	for _, id := range checked(w) {
		w.end(id, sojourn.TaskFailed, sojourn.CausePreempted)
		if got := w.offer(hour); !slices.Equal(got, []sojourn.JobID{4}) {
			t.Errorf("jobs %d get slot %d, want job 4", got, id)
		}
	}
	if got := checked(w); len(got) > 0 {
		t.Errorf("slots %d are asked for, though nothing of a high priority waits", got)
	}
	w.arrive(5, 1, 1)
	w.now = w.now.Add(time.Minute)
	w.observe(sojourn.Event{Kind: sojourn.Tick, At: w.now})
	if got := checked(w); !slices.Equal(got, []sojourn.SlotID{4}) {
		t.Errorf("slots %d are asked for, want 4: job 2 has priority 0", got)
	}
	w.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: w.now, Job: &sojourn.Job{ID: 5}})
	if got := checked(w); len(got) > 0 {
		t.Errorf("slots %d are asked for, though job 5 is cancelled", got)
	}
}

// Nothing is asked for again and again for a policy that would not take the slot: here a pool at its limit.
func TestPreemptForWhoWouldNotTake(t *testing.T) {
	in := pooled.Fair.With(fair.Options{Pools: map[string]fair.Pool{"": {Max: fair.Slots{0: 1}}, "low": {}}})
	p := around(t, in, priority.Options{Preempt: 1})()
	w := newWorld(t, p, 2)
	w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Pool: "low", Priority: -1, Phases: []sojourn.Phase{{Tasks: 100}}}})
	w.offer(hour)
	w.arrive(2, 0, 100)
	kills := 0
	for range 100 {
		serve := func() {
			w.offer(func(a sojourn.Assignment) time.Duration { return time.Duration(a.Task.Job) * time.Minute })
		}
		for _, id := range asked(p) {
			kills++
			w.end(id, sojourn.TaskFailed, sojourn.CausePreempted)
			serve()
		}
		w.pass()
		serve()
	}
	if kills != 1 {
		t.Errorf("%d attempts were killed for a pool that may run one task, want 1", kills)
	}
}

// A revision moves a job, with what runs of it, and what it has finished stays finished.
func TestRevise(t *testing.T) {
	p := around(t, constructors.FIFO.With(fifo.Options{}), priority.Options{})()
	w := newWorld(t, p, 2)
	w.arrive(1, 0, 4)
	w.arrive(2, 1, 4)
	short := func(sojourn.Assignment) time.Duration { return time.Second }
	w.offer(short)
	w.pass()
	w.offer(short)
	w.pass() // job 2 is complete
	w.offer(short)
	w.arrive(3, 7, 2)
	revise := func(priority int32) {
		w.observe(sojourn.Event{Kind: sojourn.JobRevised, At: w.now, Job: &sojourn.Job{ID: 1, Priority: priority, Phases: []sojourn.Phase{{Tasks: 4}}}})
	}
	revise(8)
	w.pass()
	if got := w.offer(short); !slices.Equal(got, []sojourn.JobID{1, 1}) {
		t.Errorf("jobs %d get the slots, want job 1, which has priority 8 now", got)
	}
	revise(-8)
	w.pass()
	if got := w.offer(short); !slices.Equal(got, []sojourn.JobID{3, 3}) {
		t.Errorf("jobs %d get the slots, want job 3: job 1 is complete", got)
	}
}

// More priorities than Most are refused by name, and no policy is kept for those that have gone.
func TestMost(t *testing.T) {
	made := 0
	p := around(t, func() sojourn.Policy { made++; return constructors.FIFO.Must(fifo.Options{}) }, priority.Options{})()
	w := newWorld(t, p, 1)
	for i := range priority.Most {
		w.arrive(sojourn.JobID(i+1), int32(-i), 1)
	}
	job := &sojourn.Job{ID: 999, Priority: 1, Phases: []sojourn.Phase{{Tasks: 1}}}
	admitter, _ := sojourn.As[sojourn.Admitter](p)
	err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
	if !errors.Is(err, sojourn.ErrUnsupported) || !strings.Contains(err.Error(), "jobs of 64 priorities are live") || admitter.Admit(job) == nil {
		t.Errorf("one more: %v, %v", err, admitter.Admit(job))
	}
	for w.offer(hour); w.pass(); w.offer(hour) {
	}
	inside := 0
	for range sojourn.All[*fifo.Policy](p) {
		inside++
	}
	if inside != 9 {
		t.Errorf("%d policies without jobs are kept, want 9", inside)
	}
	w.arrive(999, 1, 1)
}

// Explain says which priority comes first, and the rank among all jobs.
func TestExplain(t *testing.T) {
	p := around(t, constructors.FIFO.With(fifo.Options{}), priority.Options{})()
	w := newWorld(t, p, 1)
	w.arrive(1, 0, 5)
	w.arrive(2, -3, 5)
	w.arrive(3, 4, 5)
	w.offer(hour)
	e, _ := sojourn.As[sojourn.Explainer](p)
	if got := e.AppendRanking(nil); !slices.Equal(got, []sojourn.JobID{3, 1, 2}) {
		t.Errorf("ranking %d, want 3, 1, 2", got)
	}
	attrs, _ := e.Explain(2)
	said := map[string]string{}
	for _, a := range attrs {
		said[a.Key] = a.Value.String()
	}
	want := map[string]string{"why": "waits for a slot: jobs of priority 4 come first", "rank": "2", "priority": "-3", "higher": "2"}
	for k, v := range want {
		if said[k] != v {
			t.Errorf("%s is %q, want %q", k, said[k], v)
		}
	}
}

// Bad options are refused in words; so is what the policies inside cannot do.
func TestOptions(t *testing.T) {
	for want, o := range map[string]priority.Options{
		"negative age":                  {Age: -1},
		"preempt -1":                    {Preempt: -1},
		"negative preempt-after":        {Preempt: 1, PreemptAfter: -1},
		"preempt-after without preempt": {PreemptAfter: 1},
	} {
		if _, err := priority.New(constructors.FIFO.With(fifo.Options{}), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want ...%s...", o, err, want)
		}
	}
	p := around(t, pooled.Fair.With(fair.Options{}), priority.Options{})()
	if err := p.Observe(sojourn.Event{Kind: sojourn.PoolChanged, Pool: &sojourn.Pool{Weight: 2}}); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("a pool inside is changed: %v", err)
	}
	silent := around(t, func() sojourn.Policy { return struct{ sojourn.Policy }{constructors.FIFO.Must(fifo.Options{})} }, priority.Options{})()
	if _, err := silent.(sojourn.Snapshotter).AppendBinary(nil); !errors.Is(err, errors.ErrUnsupported) {
		t.Errorf("a policy that cannot be saved: %v", err)
	}
	if _, ok := sojourn.As[sojourn.Explainer](silent); ok {
		t.Error("it explains, though the policies inside do not")
	}
}

func slotAdded(s sojourn.Slot) sojourn.Event { return sojourn.Event{Kind: sojourn.SlotAdded, Slot: s} }

func asked(p sojourn.Policy) (list []sojourn.SlotID) {
	pre, _ := sojourn.As[sojourn.Preemptor](p)
	for _, v := range pre.AppendPreemptions(nil) {
		list = append(list, v.Slot)
	}
	return list
}

// A slot stays under the words with which it was added, whatever was told of its node by others.
func TestSlotStays(t *testing.T) {
	w := newWorld(t, around(t, constructors.FIFO.With(fifo.Options{}), priority.Options{})(), 0)
	w.observe(slotAdded(sojourn.Slot{ID: 1, Node: 5, Rack: 7}))
	w.observe(slotAdded(sojourn.Slot{ID: 2, Node: 5}))
	w.arrive(1, 0, 1)
	w.p.Assign(2)
	w.observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 2}})
	w.observe(slotAdded(sojourn.Slot{ID: 2, Node: 5}))
}

// Jobs that wait for their release time were accepted, however many priorities have live jobs then.
func TestReleasedBeyondMost(t *testing.T) {
	p := release.New(around(t, constructors.FIFO.With(fifo.Options{}), priority.Options{})())
	w := newWorld(t, p, 1)
	w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 999, Priority: 1, Release: 10, Phases: []sojourn.Phase{{Tasks: 1}}}})
	for i := range priority.Most {
		w.arrive(sojourn.JobID(i+1), int32(-i), 1)
	}
	w.observe(sojourn.Event{Kind: sojourn.Tick, At: 10})
	if got := w.offer(hour); !slices.Equal(got, []sojourn.JobID{999}) {
		t.Errorf("jobs %d get the slot, want 999", got)
	}
}

// A stream of jobs that fail and are cancelled starves nobody.
func TestFailuresStarveNobody(t *testing.T) {
	w := newWorld(t, around(t, constructors.FIFO.With(fifo.Options{}), priority.Options{Age: time.Second})(), 1)
	w.arrive(1, 0, 10000)
	for i := range 200 {
		w.arrive(sojourn.JobID(i+2), -1, 1)
	}
	got := map[bool]int{}
	for range 200 {
		a, _ := w.p.Assign(1)
		w.runs[1] = a
		w.now = w.now.Add(time.Second)
		low := a.Task.Job != 1
		if got[low]++; !low {
			w.end(1, sojourn.TaskFinished, 0)
			continue
		}
		w.end(1, sojourn.TaskFailed, sojourn.CauseTask)
		w.observe(sojourn.Event{Kind: sojourn.JobCancelled, At: w.now, Job: &sojourn.Job{ID: a.Task.Job}})
	}
	if got[true] > 101 || got[false] < 99 {
		t.Errorf("priority 0 gets the slot %d times, and priority -1 %d times", got[false], got[true])
	}
}

// What goes next by its age is not killed for what would not get the slot, and other questions about who is asked for.
func TestWhoIsAskedFor(t *testing.T) {
	fifos := constructors.FIFO.With(fifo.Options{})
	w := newWorld(t, around(t, fifos, priority.Options{Age: time.Second, Preempt: 1})(), 1)
	w.arrive(1, 0, 10)
	w.offer(hour)
	w.now = w.now.Add(100 * time.Second)
	if w.arrive(2, 1, 1); len(asked(w.p)) > 0 {
		t.Errorf("slots %d are asked for, though what runs there would be first to get them", asked(w.p))
	}

	w = newWorld(t, around(t, fifos, priority.Options{Age: time.Second, Preempt: 1})(), 1)
	w.arrive(1, 0, 10)
	w.arrive(2, -1, 1)
	w.now = w.now.Add(time.Second)
	w.observe(sojourn.Event{Kind: sojourn.Tick, At: w.now})
	w.offer(hour) // of two that have waited alike, the greater one
	w.end(1, sojourn.TaskFinished, 0)
	if got := w.offer(hour); !slices.Equal(got, []sojourn.JobID{2}) || len(asked(w.p)) > 0 {
		t.Errorf("jobs %d get the slot, and slots %d are asked for: want job 2, started by its age, and none", got, asked(w.p))
	}

	w = newWorld(t, around(t, fifos, priority.Options{Preempt: 1})(), 1)
	w.observe(slotAdded(sojourn.Slot{ID: 2, Class: 1}))
	job := func(id sojourn.JobID, priority int32, c sojourn.Class) {
		w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Priority: priority, Phases: []sojourn.Phase{{Tasks: 5, Class: c}}}})
	}
	job(1, -1, 0)
	job(2, -1, 1)
	w.p.Assign(1)
	w.p.Assign(2)
	job(3, 9, 1)
	job(4, 0, 0)
	if got := asked(w.p); !slices.Equal(got, []sojourn.SlotID{2}) {
		t.Errorf("slots %d are asked for, want 2, for priority 9", got)
	}

	w = newWorld(t, around(t, fifos, priority.Options{Preempt: 1})(), 2)
	w.now = sojourn.Time(20 * time.Hour)
	w.observe(sojourn.Event{Kind: sojourn.JobAdopted, At: w.now, Job: &sojourn.Job{ID: 1, Priority: -1, Phases: []sojourn.Phase{{Tasks: 2}}}})
	for i, d := range []time.Duration{time.Second, 10 * time.Hour} {
		w.observe(sojourn.Event{Kind: sojourn.TaskAdopted, At: w.now, Task: sojourn.TaskID{Job: 1, Index: uint32(i)}, Attempt: 1, Slot: sojourn.Slot{ID: sojourn.SlotID(i + 1)}, Service: d})
	}
	w.arrive(2, 0, 1)
	if got := asked(w.p); !slices.Equal(got, []sojourn.SlotID{1}) {
		t.Errorf("slots %d are asked for, want 1, where the younger attempt runs", got)
	}
}

// A policy that waits for this very instant gets its Tick before something lower gets the slot.
func TestDue(t *testing.T) {
	p := around(t, constructors.MarS.With(mars.Options{}), priority.Options{})()
	w := newWorld(t, p, 1)
	waker, _ := sojourn.As[sojourn.Waker](p)
	serve := func() {
		for at, ok := waker.NextWake(); ok && at <= w.now; at, ok = waker.NextWake() {
			w.observe(sojourn.Event{Kind: sojourn.Tick, At: w.now})
		}
	}
	w.arrive(1, -1, 5)
	serve()
	w.offer(func(sojourn.Assignment) time.Duration { return time.Second })
	w.pass()
	w.arrive(2, 1, 5)
	got := w.offer(hour)
	serve()
	if got = append(got, w.offer(hour)...); !slices.Equal(got, []sojourn.JobID{2}) {
		t.Errorf("jobs %d get the slot, want 2", got)
	}
}

// noAttempts knows no feature.
type noAttempts struct{ sojourn.Policy }

func (n noAttempts) Observe(ev sojourn.Event) error {
	if err := ev.CheckSupport(0); err != nil {
		return err
	}
	return n.Policy.Observe(ev)
}

// A spy notes for how long adopted attempts have run.
type spy struct {
	sojourn.Policy
	told *[]time.Duration
}

func (n spy) Observe(ev sojourn.Event) error {
	if ev.Kind == sojourn.TaskAdopted {
		*n.told = append(*n.told, ev.Service)
	}
	return n.Policy.Observe(ev)
}

func (n spy) Unwrap() sojourn.Policy { return n.Policy }

// Revisions that move a job: refused where the policies inside could not follow; with the age of what runs; also of the only job
// of a priority; and without a change of who waits since when.
func TestMoves(t *testing.T) {
	revise := func(w *world, id sojourn.JobID, priority int32, tasks int) error {
		return w.p.Observe(sojourn.Event{Kind: sojourn.JobRevised, At: w.now, Job: &sojourn.Job{ID: id, Priority: priority, Phases: []sojourn.Phase{{Tasks: tasks}}}})
	}
	fifos := constructors.FIFO.With(fifo.Options{})
	w := newWorld(t, around(t, func() sojourn.Policy { return noAttempts{fifos()} }, priority.Options{})(), 1)
	w.arrive(1, 0, 2)
	w.offer(hour)
	w.pass()
	if err := revise(w, 1, 1, 2); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("policies without numbers of attempts: %v", err)
	}

	var told []time.Duration
	w = newWorld(t, around(t, func() sojourn.Policy { return spy{fifos(), &told} }, priority.Options{})(), 1)
	w.now = sojourn.Time(20 * time.Hour)
	w.observe(sojourn.Event{Kind: sojourn.JobAdopted, At: w.now, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}})
	w.observe(sojourn.Event{Kind: sojourn.TaskAdopted, At: w.now, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 1}, Service: 10 * time.Hour})
	w.now = w.now.Add(time.Hour)
	if err := revise(w, 1, 1, 1); err != nil || !slices.Equal(told, []time.Duration{10 * time.Hour, 11 * time.Hour}) {
		t.Errorf("an attempt of ten hours is moved after one more: %v, %v", told, err)
	}

	w = newWorld(t, around(t, fifos, priority.Options{})(), 1)
	for i := range priority.Most {
		w.arrive(sojourn.JobID(i+1), int32(-i), 1)
	}
	if err := revise(w, 64, 1, 1); err != nil {
		t.Errorf("the only job of a priority gets another one: %v", err)
	}

	w = newWorld(t, around(t, fifos, priority.Options{Age: time.Minute})(), 2)
	w.arrive(3, 0, 100)
	w.arrive(2, -1, 100)
	w.offer(hour)
	w.arrive(1, 0, 100)
	w.now = w.now.Add(61 * time.Second)
	if err := revise(w, 3, -1, 100); err != nil {
		t.Fatal(err)
	}
	var got []sojourn.JobID
	for range 3 {
		w.end(2, sojourn.TaskFinished, 0)
		got = append(got, w.offer(hour)...)
	}
	if !slices.Equal(got, []sojourn.JobID{1, 2, 1}) {
		t.Errorf("jobs %d get the slot, want 1, 2, 1: priority -1 has waited for its minute", got)
	}
}

// Sequences and changes of pools would hold for each priority by itself.
func TestWhatIsNotKept(t *testing.T) {
	p := around(t, func() sojourn.Policy { return release.New(constructors.FIFO.Must(fifo.Options{})) }, priority.Options{})()
	one := []sojourn.Phase{{Tasks: 1}}
	if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Sequence: "a", Phases: one}}); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("a sequence: %v", err)
	}
	if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Release: 10, Phases: one}}); err != nil {
		t.Errorf("a release time: %v", err)
	}
}
