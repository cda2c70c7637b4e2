package leastwork_test

import (
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"pgregory.net/rapid"
)

func firstIn(t rapid.TB, p *account.Account, id sojourn.JobID) (at slog.Value) {
	e, _ := sojourn.As[sojourn.Explainer](p)
	attrs, _ := e.Explain(id)
	for _, a := range attrs {
		if a.Key == "first" {
			return a.Value
		}
	}
	t.Fatalf("nothing says when job %d is first: %v", id, attrs)
	return at
}

// A new policy that is told the facts knows until when each job can be passed, as far as no prediction changed, and
// serves them in the same order.
func TestAdoptedJobsKeepTheirAge(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var now sojourn.Time
		old := account.New(newPolicy())
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := old.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		slots := rapid.SampledFrom([]int{1, 2, 15, 16, 24}).Draw(t, "slots")
		for id := range slots {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
		}
		jobs := rapid.IntRange(1, 8).Draw(t, "jobs")
		for id := range jobs {
			job := &sojourn.Job{ID: sojourn.JobID(id + 1), Weight: rapid.SampledFrom([]float64{0, 1, 3.5}).Draw(t, "weight")}
			phase := sojourn.Phase{Tasks: rapid.SampledFrom([]int{1, 1, 7}).Draw(t, "tasks"), Estimate: time.Second}
			if job.Phases = []sojourn.Phase{phase}; rapid.Bool().Draw(t, "second phase") {
				job.Phases = []sojourn.Phase{{Tasks: 1, Estimate: 1}, phase}
			}
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
			if len(job.Phases) > 1 {
				observe(sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: job.ID}})
			}
			now += sojourn.Time(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "later"))
		}
		observe(sojourn.Event{Kind: sojourn.Tick})
		for range rapid.IntRange(1, 3).Draw(t, "restarts") {
			next := account.New(newPolicy())
			if err := old.Rebuild(next); err != nil {
				t.Fatal(err)
			}
			for id := range sojourn.JobID(jobs) {
				if was, is := firstIn(t, old, id+1), firstIn(t, next, id+1); !was.Equal(is) {
					t.Fatalf("job %d was first after %v s, and is after %v s", id+1, was, is)
				}
			}
			now += sojourn.Time(time.Minute)
			for _, p := range []*account.Account{old, next} {
				if err := p.Observe(sojourn.Event{Kind: sojourn.Tick, At: now}); err != nil {
					t.Fatal(err)
				}
			}
			was, _ := old.Assign(0)
			is, _ := next.Assign(0)
			if was != is {
				t.Fatalf("%v would have been served first, and %v is", was, is)
			}
			if old = next; rapid.Bool().Draw(t, "give it back") {
				observe(sojourn.Event{Kind: sojourn.TaskRefused, Task: is.Task, Attempt: is.Attempt, Slot: sojourn.Slot{ID: is.Slot}})
				continue
			}
			return
		}
	})
}

// The greatest age is no overflow. The job is due at once, and so is a phase that opens because a task
// is told to be done after the policy was saved and restored.
func TestGreatestAge(t *testing.T) {
	saved, restored := newPolicy(), newPolicy()
	observe := func(p sojourn.Policy, ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	isDue := func(p sojourn.Policy, id sojourn.JobID) bool {
		e, _ := sojourn.As[sojourn.Explainer](p)
		attrs, _ := e.Explain(id)
		i := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "first" })
		return attrs[i].Value.Float64() == 0
	}
	phase := sojourn.Phase{Tasks: 1, Estimate: time.Hour}
	observe(saved, sojourn.Event{Kind: sojourn.SlotAdded})
	observe(saved, sojourn.Event{Kind: sojourn.JobAdopted, Service: math.MaxInt64, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{phase, phase}}})
	observe(saved, sojourn.Event{Kind: sojourn.JobArrived, Service: math.MaxInt64, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{phase}}})
	if !isDue(saved, 1) {
		t.Error("an adopted job of the greatest age is not due")
	}
	if isDue(saved, 2) {
		t.Error("a job that has just arrived is due")
	}
	from, _ := sojourn.As[sojourn.Snapshotter](saved)
	data, err := from.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	to, _ := sojourn.As[sojourn.Snapshotter](restored)
	if err := to.UnmarshalBinary(data); err != nil {
		t.Fatal(err)
	}
	observe(restored, sojourn.Event{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 1}})
	if !isDue(restored, 1) {
		t.Error("the next phase of the job is not due")
	}
}
