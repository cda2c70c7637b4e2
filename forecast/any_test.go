package forecast_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
	"pgregory.net/rapid"
)

// Whatever tasks took and however long others have run, a forecast is made, no instant in it is before now, and the same question has the
// same answer.
func TestAnyTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := forecast.New(nil)
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := w.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		length := rapid.OneOf(rapid.Just(time.Duration(1)), rapid.Just(time.Minute), rapid.Map(rapid.IntRange(0, 56), func(b int) time.Duration { return 1 << b }),
			rapid.Map(rapid.Int64Range(1, 1e13), func(d int64) time.Duration { return time.Duration(d) }))
		now := sojourn.Time(0)
		slots := rapid.IntRange(1, 4).Draw(t, "slots")
		for i := range slots {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
		}
		told := rapid.Bool().Draw(t, "told")
		finished, next := 0, sojourn.TaskID{}
		for id := range rapid.IntRange(1, 12).Draw(t, "jobs") {
			ph := sojourn.Phase{Tasks: rapid.IntRange(1, 6).Draw(t, "tasks")}
			if told {
				ph.Estimate = length.Draw(t, "estimate")
			}
			j := &sojourn.Job{ID: sojourn.JobID(id + 1), Name: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "name"), Phases: []sojourn.Phase{ph, ph}[:rapid.IntRange(1, 2).Draw(t, "phases")]}
			observe(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: j})
			finish := rapid.IntRange(0, ph.Tasks).Draw(t, "finish")
			if id == 0 && finish < ph.Tasks {
				next = sojourn.TaskID{Job: 1, Index: uint32(finish)}
			} else if id == 0 && len(j.Phases) > 1 {
				next = sojourn.TaskID{Job: 1, Phase: 1}
			}
			for task := range finish {
				a := sojourn.Assignment{Task: sojourn.TaskID{Job: j.ID, Index: uint32(task)}, Attempt: 1}
				if err := w.Take(a); err != nil {
					t.Fatal(err)
				}
				took := length.Draw(t, "took")
				now = now.Add(min(took, 1<<50))
				observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: 1, Service: took})
				finished++
			}
		}
		if next.Job == 1 {
			if err := w.Take(sojourn.Assignment{Task: next, Attempt: 1}); err != nil {
				t.Fatal(err)
			}
			now = now.Add(length.Draw(t, "runs"))
			if observe(sojourn.Event{Kind: sojourn.Tick, At: now}); rapid.Bool().Draw(t, "cancel") {
				observe(sojourn.Event{Kind: sojourn.JobCancelled, At: now, Job: &sojourn.Job{ID: 1}})
			}
		}
		if !told && finished == 0 {
			return
		}
		q := forecast.Question{Policy: another, Draws: 5}
		f, err := w.Foresee(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range f.Jobs {
			if j.Finish == nil || j.Finish.Low < now || j.Finish.Low > j.Finish.Median || j.Finish.Median > j.Finish.High {
				t.Errorf("job %d finishes %+v, at %v", j.ID, j.Finish, now)
			}
		}
		if again, err := w.Foresee(context.Background(), q); err != nil || !reflect.DeepEqual(f, again) {
			t.Errorf("asked again: %v, %v; want %v", again, err, f)
		}
	})
}
