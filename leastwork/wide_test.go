package leastwork_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A wide is a policy to whose jobs nothing is told, with slots of one class.
type wide struct {
	t   *testing.T
	p   sojourn.Policy
	now sojourn.Time
}

func newWide(t *testing.T, slots int) *wide {
	w := &wide{t: t, p: newPolicy()}
	for id := range sojourn.SlotID(slots) {
		w.observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	return w
}

func (w *wide) observe(ev sojourn.Event) {
	w.t.Helper()
	ev.At = w.now
	if err := w.p.Observe(ev); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wide) arrive(id sojourn.JobID, tasks int) {
	w.t.Helper()
	w.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks}}}})
}

// offer starts what may start.
func (w *wide) offer() (started []sojourn.Assignment) {
	w.t.Helper()
	for {
		id, ok := w.p.(sojourn.Seeker).Seek(0)
		if !ok {
			return started
		}
		a, ok := w.p.Assign(id)
		if !ok {
			w.t.Fatal("Assign declines the slot of Seek")
		}
		started = append(started, a)
	}
}

func (w *wide) finish(a sojourn.Assignment) {
	w.t.Helper()
	w.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
}

// Of 1,000 slots 20 are reserved, and a batch of long tasks holds the others. Of a wide job of which nothing is told one
// task starts on the reserve, and as long as it runs no other one. Once it has finished, the job is known by it. If it was shorter
// than two thirds, many start: of the shortest jobs on all of the reserve, of others on more than half of it. Else they go on one
// by one.
func TestAWideJobIsKnownByItsFirstTask(t *testing.T) {
	for _, tc := range []struct {
		name  string
		takes time.Duration
		start int // tasks that start when the first one has finished
	}{
		{"shorter than all", 10 * time.Second, 20},
		{"shorter than three quarters", 6 * time.Hour, 13}, // with 12 or 13 its level is 5, and 7 are to be left
		{"longer than a third", 12 * time.Hour, 1},
		{"longer than all", 40 * time.Hour, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			w := newWide(t, 1000)
			for id := range sojourn.JobID(80) { // a quarter of the tasks takes 3 hours, a quarter 12, and half of them a day
				w.arrive(id+100, 1)
				took := 24 * time.Hour
				switch id % 4 {
				case 0:
					took = 3 * time.Hour
				case 1:
					took = 12 * time.Hour
				}
				a := w.offer()
				w.now += sojourn.Time(took)
				w.finish(a[0])
			}
			w.arrive(1, 20000)
			if got := len(w.offer()); got != 980 {
				t.Fatalf("%d tasks of the batch start, want 980", got)
			}
			w.arrive(2, 500)
			first := w.offer()
			if len(first) != 1 || first[0].Task.Job != 2 {
				t.Fatalf("%v starts, want a task of job 2", first)
			}
			w.now += sojourn.Time(tc.takes)
			w.finish(first[0])
			started := w.offer()
			if len(started) != tc.start {
				t.Fatalf("%d tasks start once one has finished, want %d", len(started), tc.start)
			}
			w.now += sojourn.Time(tc.takes)
			w.finish(started[0]) // more run on than have finished, but the first one ran alone
			if got := len(w.offer()); got != 1 {
				t.Errorf("%d tasks start once one of them has finished, want 1", got)
			}
		})
	}
}

// The first tasks to end of a batch that runs many are the shortest of them, such as those of empty inputs. The batch is not known
// by them, and leaves its reserve of 2 slots, until as many have finished as run.
func TestTheShortestTasksOfManyAreNotTypical(t *testing.T) {
	w := newWide(t, 100)
	for id := range sojourn.JobID(40) {
		w.arrive(id+100, 1)
		a := w.offer()
		w.now += sojourn.Time(time.Hour)
		w.finish(a[0])
	}
	w.arrive(1, 1000)
	batch := w.offer()
	if len(batch) != 98 {
		t.Fatalf("%d tasks of the batch start, want 98", len(batch))
	}
	w.now += sojourn.Time(10 * time.Second)
	for finished := 1; finished <= 97; finished++ {
		want := 1
		if finished == 97 { // as many run on
			want = 3
		}
		w.finish(batch[finished-1])
		if got := len(w.offer()); got != want {
			t.Fatalf("%d tasks start once %d short ones have finished, want %d", got, finished, want)
		}
	}
}
