package forecast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func another() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }

// A Watch does what the policy in it does, and hides none of its interfaces.
func TestConformance(t *testing.T) {
	sojourntest.Run(t, func() sojourn.Policy {
		p, err := another()
		if err != nil {
			t.Fatal(err)
		}
		return forecast.New(p)
	}, sojourntest.Options{})
	p, err := baseline.NewSRPT(baseline.SRPTOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := sojourn.As[sojourn.Explainer](forecast.New(p)); !ok {
		t.Error("srpt explains nothing in a Watch")
	}
}

// watch returns a Watch over one slot with a job of two tasks of 5 s, as they are told, of which the first has ended, and a job of one.
func watch(t testing.TB) *forecast.Watch {
	p, err := another()
	if err != nil {
		t.Fatal(err)
	}
	w := forecast.New(p)
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := w.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 7}})
	for id, tasks := range []int{2, 1} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(id + 1), Phases: []sojourn.Phase{{Tasks: tasks, Estimate: 5 * time.Second}}}})
	}
	a, _ := w.Assign(7)
	observe(sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(5 * time.Second), Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 7}})
	if a, ok := w.Assign(7); !ok || a.Task.Job != 1 {
		t.Fatalf("fifo starts %v", a)
	}
	return w
}

// At 5 s the second task of job 1 starts and ends at 10 s, and job 2 runs to 15 s. With one slot more it runs at once, and one
// more job of 3 s does not delay it.
func TestForesee(t *testing.T) {
	w := watch(t)
	for _, tc := range []struct {
		q             forecast.Question
		start, finish int
	}{
		{forecast.Question{Policy: another}, 10, 15},
		{forecast.Question{Policy: another, Slots: 1}, 5, 10},
		{forecast.Question{Policy: another, Tasks: 1, Each: 3 * time.Second, Draws: 3, MaxTasks: 2}, 10, 15},
	} {
		f, err := w.Foresee(context.Background(), tc.q)
		if err != nil {
			t.Fatal(err)
		}
		at := func(s int) forecast.Interval {
			v := sojourn.Time(time.Duration(s) * time.Second)
			return forecast.Interval{Low: v, Median: v, High: v}
		}
		if len(f.Jobs) != 2 || f.At != at(5).Low {
			t.Fatalf("%+v", f)
		}
		one, two := f.Jobs[0], f.Jobs[1]
		if !one.Started || one.Start != nil || *one.Finish != at(10) || one.Left != 1 || one.Running != 1 {
			t.Errorf("%+v: job 1 is %+v", tc.q, one)
		}
		if two.Started || *two.Start != at(tc.start) || *two.Finish != at(tc.finish) {
			t.Errorf("%+v: job 2 starts and finishes at %+v, %+v; want %d s, %d s", tc.q, two.Start, two.Finish, tc.start, tc.finish)
		}
	}
}

// An open job finishes in a forecast when the tasks that it has do; one that has none left has no finish, and nothing waits for it.
func TestOpenJobs(t *testing.T) {
	w := watch(t)
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 3, Open: true, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 5 * time.Second}}}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 4, Open: true, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 5 * time.Second}}}},
		{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 4}},
	} {
		ev.At = sojourn.Time(5 * time.Second)
		if err := w.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	f, err := w.Foresee(context.Background(), forecast.Question{Policy: another, Draws: 10})
	if err != nil || len(f.Jobs) != 4 {
		t.Fatalf("Foresee = %v, %v", f, err)
	}
	if f.Jobs[2].Finish == nil || f.Jobs[3].Finish != nil {
		t.Errorf("the open job with a task finishes at %v, the one without at %v", f.Jobs[2].Finish, f.Jobs[3].Finish)
	}
}

func TestErrors(t *testing.T) {
	w := watch(t)
	unknown := (*forecast.UnknownError)(nil)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := w.Foresee(ctx, forecast.Question{Policy: another}); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context: %v", err)
	}
	refusal := errors.New("no policy")
	if _, err := w.Foresee(context.Background(), forecast.Question{Policy: func() (sojourn.Policy, error) { return nil, refusal }}); !errors.Is(err, refusal) {
		t.Errorf("no policy: %v", err)
	}
	if _, err := w.Foresee(context.Background(), forecast.Question{Policy: another, Slots: -1}); err == nil {
		t.Error("the last slot can be taken away")
	}
	if _, err := w.Foresee(context.Background(), forecast.Question{}); err == nil {
		t.Error("a question without a policy is answered")
	}
	empty := forecast.New(nil)
	if err := empty.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1, Estimate: time.Second}}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := empty.Foresee(context.Background(), forecast.Question{Policy: another}); !errors.As(err, &unknown) || unknown.Phases != 1 {
		t.Errorf("one phase of which nothing is known: %v", err)
	}
}

// A driver goes on while others ask. The race detector watches.
func TestAskWhileJobsRun(t *testing.T) {
	w := watch(t)
	var asking sync.WaitGroup
	for range 4 {
		asking.Go(func() {
			for range 20 {
				if _, err := w.Foresee(context.Background(), forecast.Question{Policy: another, Draws: 2}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for i := range 200 {
		id := sojourn.JobID(i + 3)
		if err := w.Observe(sojourn.Event{Kind: sojourn.JobArrived, At: sojourn.Time(5*time.Second) + sojourn.Time(i), Job: &sojourn.Job{ID: id, Name: fmt.Sprint(i % 7), Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
			t.Error(err)
		}
	}
	asking.Wait()
}

// A page says when each job will finish. No task has finished, so that what is told may be wrong: the intervals are wide.
func ExampleWatch_Foresee() {
	policy, err := another()
	if err != nil {
		log.Fatal(err)
	}
	w := forecast.New(policy) // a driver uses w in the place of policy
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 3, Estimate: 20 * time.Second}}}},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 5 * time.Second}}}},
	} {
		if err := w.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	f, err := w.Foresee(context.Background(), forecast.Question{Policy: another})
	if err != nil {
		log.Fatal(err)
	}
	for _, j := range f.Jobs {
		fmt.Println("job", j.ID, "finishes between", j.Finish.Low.Sub(0).Round(time.Second), "and", j.Finish.High.Sub(0).Round(time.Second))
	}
	// Output:
	// job 1 finishes between 37s and 2m3s
	// job 2 finishes between 41s and 2m11s
}
