package baseline_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// dcCluster returns a Deadline Constraint policy with slots: maps first.
func dcCluster(t *testing.T, opts baseline.DeadlineConstraintOptions, maps, reduces int) sojourn.Policy {
	t.Helper()
	p := must(baseline.NewDeadlineConstraint, opts)()
	for i := range maps + reduces {
		class := sojourn.MapClass
		if i >= maps {
			class = sojourn.ReduceClass
		}
		if err := p.Observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Class: class}}); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func dcJob(id sojourn.JobID, deadline time.Duration, maps, reduces int) *sojourn.Job {
	j := &sojourn.Job{ID: id, Deadline: sojourn.Time(deadline)}
	if maps > 0 {
		j.Phases = append(j.Phases, sojourn.Phase{Tasks: maps, Class: sojourn.MapClass, Estimate: 10 * time.Second})
	}
	if reduces > 0 {
		j.Phases = append(j.Phases, sojourn.Phase{Tasks: reduces, Class: sojourn.ReduceClass, Estimate: 20 * time.Second})
	}
	return j
}

// Each condition of the test, on 4 map and 3 reduce slots. With DL = 70 and epsR = 20, S
// = 50: a slot runs 5 maps of 10 until then, so that 20 maps need 4 slots and 21 need 5.
//
// Reference: RTMR, Section III.
func TestDeadlineConstraintTest(t *testing.T) {
	for _, tc := range []struct {
		job  *sojourn.Job
		want string // in the refusal; "" for none
	}{
		{dcJob(1, 70*time.Second, 20, 3), ""},
		{dcJob(1, 70*time.Second, 21, 3), "needs 5 map slots now, and 4 are free"},
		{dcJob(1, 70*time.Second, 1, 4), "has 4 reduce tasks for 3 reduce slots"},
		{dcJob(1, 30*time.Second, 4, 1), ""},
		{dcJob(1, 29*time.Second, 1, 1), "no map ends until then"},
		{dcJob(1, 40*time.Second, 16, 0), ""},
		{dcJob(1, 40*time.Second, 17, 0), "needs 5 map slots"},
		{dcJob(1, 20*time.Second, 0, 3), ""},
		{dcJob(1, 19*time.Second, 0, 3), "no map ends until then"},
		{dcJob(1, 0, 1000, 1000), ""},
	} {
		p := dcCluster(t, baseline.DeadlineConstraintOptions{}, 4, 3)
		err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: tc.job})
		if tc.want == "" && err != nil || tc.want != "" && (!errors.Is(err, sojourn.ErrRejected) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%d maps, deadline %v: %v, want %q", tc.job.Phases[0].Tasks, tc.job.Deadline, err, tc.want)
		}
	}
}

// Reduce slots are promised at the point S, to jobs k with S_k <= S < DL_k. Job 1 has S
// = 50 and DL = 70. Job 2 with S = 49 is accepted although both want all slots from 50
// to 69: the scheduler's deficiency.
//
// Reference: RTMR, Section III, "at a particular time point".
func TestDeadlineConstraintChecksAPoint(t *testing.T) {
	for deadline, want := range map[time.Duration]error{
		69 * time.Second: nil,
		70 * time.Second: sojourn.ErrRejected,
		89 * time.Second: sojourn.ErrRejected,
		90 * time.Second: nil,
	} {
		p := dcCluster(t, baseline.DeadlineConstraintOptions{}, 4, 3)
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: dcJob(1, 70*time.Second, 4, 3)}); err != nil {
			t.Fatal(err)
		}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: dcJob(2, deadline, 1, 3)}); !errors.Is(err, want) {
			t.Errorf("deadline %v: %v, want %v", deadline, err, want)
		}
	}
}

// A deadline at the end of time does not overflow: the two maps run one after the other.
func TestDeadlineConstraintAtTheEndOfTime(t *testing.T) {
	p := dcCluster(t, baseline.DeadlineConstraintOptions{}, 4, 0)
	job := &sojourn.Job{ID: 1, Deadline: math.MaxInt64, Phases: []sojourn.Phase{{Tasks: 2, Estimate: 1}}}
	if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Assign(0); !ok {
		t.Error("no map was started")
	}
}

// A job never runs more than n maps at a time, although slots are free: 20 maps until S
// = 110 need two slots.
//
// Reference: RTMR, Section III, "minimum degree of task parallelism".
func TestDeadlineConstraintRunsFewMaps(t *testing.T) {
	p := dcCluster(t, baseline.DeadlineConstraintOptions{}, 4, 3)
	if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: dcJob(1, 130*time.Second, 20, 1)}); err != nil {
		t.Fatal(err)
	}
	running := 0
	for slot := range sojourn.SlotID(4) {
		if _, ok := p.Assign(slot); ok {
			running++
		}
	}
	if running != 2 {
		t.Errorf("%d maps run, want 2", running)
	}
}

// With HoldSlots a job with slow start may start reduces early; without it is not
// supported.
func TestDeadlineConstraintHoldsSlots(t *testing.T) {
	job := dcJob(1, time.Hour, 4, 1)
	job.Phases[1].After = 1
	p := dcCluster(t, baseline.DeadlineConstraintOptions{}, 4, 3)
	if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("slow start: %v, want %v", err, sojourn.ErrUnsupported)
	}
	p = dcCluster(t, baseline.DeadlineConstraintOptions{HoldSlots: true}, 4, 3)
	if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); err != nil {
		t.Fatal(err)
	}
	a, ok := p.Assign(0)
	if !ok {
		t.Fatal("no map was assigned")
	}
	if err := p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}); err != nil {
		t.Fatal(err)
	}
	if _, ok := p.Assign(4); !ok {
		t.Error("no reduce was started after the first of four maps")
	}
}

// With HoldSlots a job holds slots from its arrival on. Job 1 holds two of three reduce
// slots while its maps run, and job 2 is left with one for its two reduces, although its
// deadline is earlier and it is ready.
//
// Reference: RTMR, Section V, the low success ratio of Deadline Constraint.
func TestDeadlineConstraintHoldsSlotsOfOthers(t *testing.T) {
	for hold, want := range map[bool]int{false: 2, true: 1} {
		p := dcCluster(t, baseline.DeadlineConstraintOptions{HoldSlots: hold}, 4, 3)
		for _, j := range []*sojourn.Job{dcJob(1, time.Hour, 4, 2), dcJob(2, time.Minute, 0, 2)} {
			if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j}); err != nil {
				t.Fatal(err)
			}
		}
		var got []sojourn.Assignment
		for id := sojourn.SlotID(4); id < 7; id++ {
			if a, ok := p.Assign(id); ok {
				got = append(got, a)
			}
		}
		if len(got) != want {
			t.Fatalf("hold %v: %d reduces run, want %d", hold, len(got), want)
		}
		if !hold {
			continue
		}
		// The slot is held until its task has ended, and then for the next one.
		for range 2 {
			a := got[0]
			if a.Task.Job != 2 {
				t.Errorf("a reduce of job %d runs, want job 2", a.Task.Job)
			}
			if err := p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}); err != nil {
				t.Fatal(err)
			}
			if a, ok := p.Assign(4); ok {
				got[0] = a
			}
		}
	}
}

// A retiring slot blocks nothing: its task continues, and the job's other task gets the
// remaining slot.
func TestDeadlineConstraintHoldsSlotsThatRetire(t *testing.T) {
	p := dcCluster(t, baseline.DeadlineConstraintOptions{HoldSlots: true}, 0, 2)
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.JobArrived, Job: dcJob(1, time.Hour, 0, 2)},
		{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: 0}},
	} {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
		if ev.Kind == sojourn.JobArrived {
			p.Assign(0)
		}
	}
	if _, ok := p.Assign(1); !ok {
		t.Error("a free slot waits for a task that runs on one that retires")
	}
}

// A slot is free again after its attempt has ended in any way: a job that needs four map
// slots at once is accepted after that, and not before.
func TestDeadlineConstraintCountsFreeSlots(t *testing.T) {
	for _, kind := range []sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused} {
		p := dcCluster(t, baseline.DeadlineConstraintOptions{}, 4, 1)
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: dcJob(1, time.Hour, 1, 1)}); err != nil {
			t.Fatal(err)
		}
		admit := p.(sojourn.Admitter).Admit
		wide := dcJob(2, 35*time.Second, 4, 1) // one round of maps
		a, _ := p.Assign(2)
		if err := admit(wide); !errors.Is(err, sojourn.ErrRejected) {
			t.Errorf("while a slot is busy: %v, want %v", err, sojourn.ErrRejected)
		}
		if err := p.Observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}); err != nil {
			t.Fatal(err)
		}
		if err := admit(wide); err != nil {
			t.Errorf("after %v: %v, want nil", kind, err)
		}
	}
}

// With slow start and HoldSlots, a reduce that has ended holds nothing any more: of three
// slots job 1 holds two for its reduces while its maps go on, and one when one has ended.
func TestDeadlineConstraintFreesSlotsOfReducesThatEnded(t *testing.T) {
	p := dcCluster(t, baseline.DeadlineConstraintOptions{HoldSlots: true}, 4, 3)
	slow := dcJob(1, time.Hour, 4, 2)
	slow.Phases[1].After = 1
	end := func(a sojourn.Assignment) {
		t.Helper()
		if err := p.Observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, j := range []*sojourn.Job{slow, dcJob(2, 0, 0, 3)} {
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j}); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := p.Assign(0)
	p.Assign(1) // a map that goes on
	end(first)
	reduce, ok := p.Assign(4)
	if !ok || reduce.Task.Job != 1 {
		t.Fatalf("slot 4 runs %v, want a reduce of job 1", reduce.Task)
	}
	end(reduce)
	if err := p.Observe(sojourn.Event{Kind: sojourn.OutputLost, Task: first.Task, Attempt: first.Attempt}); err != nil {
		t.Fatal(err)
	}
	var jobs []sojourn.JobID
	for id := sojourn.SlotID(4); id < 7; id++ {
		if a, ok := p.Assign(id); ok {
			jobs = append(jobs, a.Task.Job)
		}
	}
	if want := []sojourn.JobID{2, 2}; !slices.Equal(jobs, want) {
		t.Errorf("the free slots run reduces of jobs %v, want %v: job 1 waits for its maps and holds the third", jobs, want)
	}
}
