package baseline_test

import (
	"log/slog"
	"runtime"
	"slices"
	"testing"
	"time"
	"weak"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// An explained policy tells why a job waits.
type explained interface {
	sojourn.Policy
	sojourn.Explainer
}

// A bench drives a policy by hand; times are in seconds.
type bench struct {
	t *testing.T
	p explained
}

const second = sojourn.Time(time.Second)

func (b bench) observe(ev sojourn.Event) {
	b.t.Helper()
	if err := b.p.Observe(ev); err != nil {
		b.t.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (b bench) slots(n int) {
	for i := range n {
		b.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
}

// job returns a job of one phase, of tasks with an estimate in seconds.
func job(id sojourn.JobID, tasks int, estimate time.Duration) *sojourn.Job {
	return &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: estimate * time.Second}}}
}

func (b bench) assign(slot sojourn.SlotID) sojourn.Assignment {
	b.t.Helper()
	a, ok := b.p.Assign(slot)
	if !ok {
		b.t.Fatalf("Assign(%d) = false, want a task", slot)
	}
	return a
}

func (b bench) end(kind sojourn.EventKind, at sojourn.Time, a sojourn.Assignment) {
	b.t.Helper()
	b.observe(sojourn.Event{Kind: kind, At: at, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
}

// number returns a quantity in the explanation of a job, in a group or not.
func (b bench) number(id sojourn.JobID, path ...string) float64 {
	b.t.Helper()
	attrs, ok := b.p.Explain(id)
	for ok && len(path) > 0 {
		i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == path[0] })
		if i < 0 {
			break
		}
		if path = path[1:]; len(path) == 0 {
			return attrs[i].Value.Float64()
		}
		attrs = attrs[i].Value.Group()
	}
	b.t.Fatalf("Explain(%d) = %v, %v, want %v in it", id, attrs, ok, path)
	return 0
}

func (b bench) wantNumber(at sojourn.Time, want float64, id sojourn.JobID, path ...string) {
	b.t.Helper()
	b.observe(sojourn.Event{Kind: sojourn.Tick, At: at})
	if got := b.number(id, path...); got != want {
		b.t.Errorf("at %v, %v of job %d = %v, want %v", at, path, id, got, want)
	}
}

// Two jobs of 4 tasks, told as 1 s each, end in the virtual cluster of two slots
// at 4 s, job 1 first. Their first tasks really take 10 s. Both are late then:
// LateFirst goes on with job 1, LateShare gives a slot to each.
func TestLateJobs(t *testing.T) {
	for _, tc := range []struct {
		late vqueue.Late
		want []sojourn.JobID
	}{
		{vqueue.LateFirst, []sojourn.JobID{1, 1}},
		{vqueue.LateShare, []sojourn.JobID{1, 2}},
	} {
		p, err := baseline.NewFSP(baseline.FSPOptions{Late: tc.late})
		if err != nil {
			t.Fatal(err)
		}
		b := bench{t, p.(explained)}
		b.slots(2)
		b.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(1, 4, 1)})
		b.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(2, 4, 1)})
		first, other := b.assign(0), b.assign(1)
		b.end(sojourn.TaskFinished, 10*second, first)
		b.end(sojourn.TaskFinished, 10*second, other)
		got := []sojourn.JobID{b.assign(0).Task.Job, b.assign(1).Task.Job}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%v: jobs served = %v, want %v", tc.late, got, tc.want)
		}
	}
}

// A job of 4 tasks of 10 s on two slots. Slot 1 retires at 1 s and counts until its
// attempt fails at 2 s: 40 - 2*2 = 36 s are left then, and 34 at 4 s. A task that
// needs no run takes 10 s off, one whose output is lost adds them again, and a
// revision to 12 s a task adds 4*2.
func TestVirtualWorkFollowsTheEvents(t *testing.T) {
	p, err := baseline.NewFSP(baseline.FSPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{t, p.(explained)}
	v := func(at sojourn.Time, want float64) { t.Helper(); b.wantNumber(at, want, 1, "phase0", "v") }
	b.slots(2)
	b.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(1, 4, 10)})
	b.assign(0)
	a := b.assign(1)
	b.observe(sojourn.Event{Kind: sojourn.SlotRemoved, At: second, Slot: sojourn.Slot{ID: 1}})
	v(2*second, 36)
	b.end(sojourn.TaskFailed, 2*second, a)
	v(4*second, 34)
	b.observe(sojourn.Event{Kind: sojourn.TaskDone, At: 4 * second, Task: sojourn.TaskID{Job: 1, Index: 3}})
	v(4*second, 24)
	b.observe(sojourn.Event{Kind: sojourn.OutputLost, At: 4 * second, Task: sojourn.TaskID{Job: 1, Index: 3}})
	v(4*second, 34)
	b.observe(sojourn.Event{Kind: sojourn.JobRevised, At: 4 * second, Job: job(1, 4, 12)})
	v(5*second, 41)
}

// A phase enters the virtual cluster when it is ready, with its whole work: here after 10 s
// in which the first phase had the slot. Another job that comes at 9 s with 5 s has 4.5 s
// left by then, and goes after it.
func TestPhasesEnterWhenTheyAreReady(t *testing.T) {
	p, err := baseline.NewFSP(baseline.FSPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{t, p.(explained)}
	b.slots(1)
	two := job(1, 1, 10)
	two.Phases = append(two.Phases, sojourn.Phase{Tasks: 1, Estimate: 4 * time.Second})
	b.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: two})
	a := b.assign(0)
	b.observe(sojourn.Event{Kind: sojourn.JobArrived, At: 9 * second, Job: job(2, 1, 5)})
	b.end(sojourn.TaskFinished, 10*second, a)
	b.wantNumber(10*second, 4, 1, "phase1", "v")
	b.wantNumber(10*second, 4.5, 2, "phase0", "v")
	if got := b.assign(0).Task; got.Job != 1 || got.Phase != 1 {
		t.Errorf("the slot is given to %v, want phase 1 of job 1", got)
	}
}

// A job that ends before its virtual end leaves only its tag behind.
func TestEndedJobsAreFreed(t *testing.T) {
	p, err := baseline.NewFSP(baseline.FSPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{t, p.(explained)}
	b.slots(1)
	early := func() weak.Pointer[sojourn.Job] {
		j := job(1, 1, 1000)
		b.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
		b.end(sojourn.TaskFinished, second, b.assign(0))
		return weak.Make(j)
	}()
	b.observe(sojourn.Event{Kind: sojourn.JobArrived, At: second, Job: job(2, 1, 1000)})
	runtime.GC()
	if early.Value() != nil {
		t.Error("a job that has ended is still reachable")
	}
	// The tag still takes its share: job 2 has 1000 s left at 1 s, and gets half a
	// slot from then on.
	b.wantNumber(11*second, 995, 2, "phase0", "v")
	runtime.KeepAlive(p)
}

// An adopted attempt has had service before its adoption.
func TestLASCountsAdoptedService(t *testing.T) {
	p, err := baseline.NewLAS(baseline.LASOptions{})
	if err != nil {
		t.Fatal(err)
	}
	b := bench{t, p.(explained)}
	b.slots(1)
	b.observe(sojourn.Event{Kind: sojourn.JobAdopted, At: second, Job: job(1, 2, 0)})
	b.observe(sojourn.Event{Kind: sojourn.TaskAdopted, At: 2 * second, Task: sojourn.TaskID{Job: 1}, Attempt: 3, Service: time.Minute})
	b.wantNumber(12*second, 70, 1, "attained")
}
