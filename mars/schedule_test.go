package mars_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/mars"
)

// An arrival is that of a job of one phase, whose tasks take a whole number of seconds.
type arrival struct {
	at, tasks, each int
	weight          float64
}

// scheduled drives a policy on some slots as the documentation of package sojourn says.
// It returns the starts: "0:1 10:2" is a task of job 1 at 0 and a task of job 2 at 10 s.
func scheduled(t *testing.T, p sojourn.Policy, slots int, arrivals []arrival) string {
	t.Helper()
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		t.Helper()
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for id := range slots {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
	}
	type attempt struct {
		sojourn.Assignment
		ends sojourn.Time
	}
	var running []attempt
	var starts []string
	offer := func() {
		for id := range slots {
			if slices.ContainsFunc(running, func(a attempt) bool { return a.Slot == sojourn.SlotID(id) }) {
				continue
			}
			if a, ok := p.Assign(sojourn.SlotID(id)); ok {
				running = append(running, attempt{a, now.Add(time.Duration(arrivals[a.Task.Job-1].each) * time.Second)})
				starts = append(starts, fmt.Sprintf("%v:%d", now.Sub(0).Seconds(), a.Task.Job))
			}
		}
	}
	wake, _ := sojourn.As[sojourn.Waker](p)
	for next := 0; ; {
		at, any := wake.NextWake()
		earlier := func(b sojourn.Time) {
			if !any || b < at {
				at, any = b, true
			}
		}
		if next < len(arrivals) {
			earlier(sojourn.Time(arrivals[next].at) * sojourn.Time(time.Second))
		}
		for _, a := range running {
			earlier(a.ends)
		}
		if !any {
			return strings.Join(starts, " ")
		}
		now = at
		for i := 0; i < len(running); i++ {
			if a := running[i]; a.ends == now {
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
				running = slices.Delete(running, i, i+1)
				i--
			}
		}
		for ; next < len(arrivals) && arrivals[next].at == int(now.Sub(0).Seconds()) && now%sojourn.Time(time.Second) == 0; next++ {
			a := arrivals[next]
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(next + 1), Weight: a.weight,
				Phases: []sojourn.Phase{{Tasks: a.tasks, Estimate: time.Duration(a.each) * time.Second}}}})
		}
		offer()
		for at, ok := wake.NextWake(); ok && at <= now; at, ok = wake.NextWake() {
			observe(sojourn.Event{Kind: sojourn.Tick})
			offer()
		}
	}
}

// One slot. Job 1 has three tasks of 10 s and a weight of 1. Job 2 arrives at 5 s, with a
// task of 2 s and a weight of 100, and job 3 at 12 s, with a task of 1 s and a weight of
// 1000.
//
// Reference: Section 5.3.
func TestSemiOnlineByHand(t *testing.T) {
	arrivals := []arrival{{0, 3, 10, 1}, {5, 1, 2, 100}, {12, 1, 1, 1000}}
	for _, tc := range []struct {
		name string
		opts mars.Options
		want string
	}{
		// At 10 job 2 is worth more than what is left of job 1, and at 12 job 3.
		{"plans again", mars.Options{}, "0:1 10:2 12:3 13:1 23:1"},
		// Job 2 may start from 10 on, the end of its interval, and job 3 from 20 on; a task of
		// job 1 runs from 12 to 22.
		{"batches", mars.Options{Batch: 10 * time.Second}, "0:1 10:2 12:1 22:3 23:1"},
		// Each batch comes after those before it.
		{"commits", mars.Options{Batch: 10 * time.Second, Commit: true}, "0:1 10:1 20:1 30:2 32:3"},
		// The interval is longer than all jobs. The prices of the plan at 0 place job 2
		// and job 3. Under these prices each does best to end at once.
		{"by prices", mars.Options{Interval: time.Hour}, "0:1 10:2 12:3 13:1 23:1"},
	} {
		if got := scheduled(t, policy(tc.opts)(), 1, arrivals); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// Two slots, and three jobs at once. Weights over loads are 6/8, 5/4, 2/6, so job 2 comes
// first. All of its tasks start before any other, and then job 1 takes the slots.
//
// Reference: Algorithm 2, line 9: tasks start in the order of their middle times.
func TestOrderByHand(t *testing.T) {
	got := scheduled(t, policy(mars.Options{})(), 2, []arrival{{0, 4, 4, 6}, {0, 2, 4, 5}, {0, 2, 6, 2}})
	if want := "0:2 0:2 4:1 4:1 8:1 8:1 12:3 12:3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Between two plans, the prices of the latest plan decide what free slots get. So they
// are part of a snapshot.
func TestPricesAreSaved(t *testing.T) {
	newPolicy := policy(mars.Options{Interval: time.Hour})
	p := newPolicy()
	observe := func(p sojourn.Policy, ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	job := func(id sojourn.JobID, at sojourn.Time, tasks int) sojourn.Event {
		return sojourn.Event{Kind: sojourn.JobArrived, At: at, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Second}}}}
	}
	observe(p, sojourn.Event{Kind: sojourn.SlotAdded})
	for id := range sojourn.JobID(5) {
		observe(p, job(id+1, 0, int(id+1)))
	}
	observe(p, sojourn.Event{Kind: sojourn.Tick})
	data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	restored := newPolicy()
	if err := restored.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	where := func(p sojourn.Policy) string {
		observe(p, job(6, 1, 4))
		attrs, _ := p.(sojourn.Explainer).Explain(6)
		return fmt.Sprint(attrs)
	}
	want := where(p)
	if got := where(restored); got != want {
		t.Errorf("a job that arrives after a restart: %s, want %s", got, want)
	}
	if !strings.Contains(want, "rank=3") && !strings.Contains(want, "rank=4") {
		t.Errorf("a job of four tasks among those of one to five: %s", want)
	}
}

// A job ends with its last task. A delay of its output counts only if a task waits for
// the output.
func TestDelaysToNobody(t *testing.T) {
	for _, after := range [][]sojourn.Phase{nil, {{Tasks: 1, Estimate: time.Second, After: sojourn.NoBarrier}}} {
		p := policy(mars.Options{})()
		phases := append([]sojourn.Phase{{Tasks: 1, Estimate: time.Second, Delays: []time.Duration{time.Hour}}}, after...)
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded},
			{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}},
			{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: phases}},
			{Kind: sojourn.Tick},
		} {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		attrs, _ := p.(sojourn.Explainer).Explain(1)
		if !strings.Contains(fmt.Sprint(attrs), "C=1 ") {
			t.Errorf("%v, want C=1", attrs)
		}
	}
}
