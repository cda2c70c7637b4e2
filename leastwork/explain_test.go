package leastwork_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Explain says in words which rule decides: the reserve keeps the last of ten slots from the first job, and what comes
// later is behind it once it is due.
func TestExplainSaysWhichRuleDecides(t *testing.T) {
	p, now := newPolicy(), sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		t.Helper()
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	text := func(id sojourn.JobID) string {
		attrs, _ := p.(sojourn.Explainer).Explain(id)
		var why, rule, free any
		for _, a := range attrs {
			switch a.Key {
			case "why":
				why = a.Value
			case "rule":
				rule = a.Value
			case "class0":
				for _, in := range a.Value.Group() {
					if in.Key == "free" {
						free = in.Value
					}
				}
			}
		}
		return fmt.Sprintf("%v; %v free; %v", why, free, rule)
	}
	want := func(id sojourn.JobID, want string) {
		t.Helper()
		if got := text(id); got != want {
			t.Errorf("at %v, job %d: %s\nwant %s", now, id, got, want)
		}
	}
	arrive := func(id sojourn.JobID, tasks int) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: tasks, Estimate: time.Hour}}}})
	}
	for id := range sojourn.SlotID(10) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	arrive(1, 100)
	for range 9 {
		start(t, p)
	}
	const leaves, waits = "leaves the last free slots to shorter tasks and jobs that run less", "waits for a slot"
	want(1, leaves+"; 1 free; it is the first: no job has an earlier due date")
	arrive(2, 200)
	want(2, waits+"; 1 free; jobs with an earlier due date are before it: they have less work left, or came long before")
	if a := start(t, p); a.Task.Job != 2 {
		t.Fatalf("the last slot starts %v, want job 2", a)
	}
	want(1, waits+"; 0 free; it is the first: no job has an earlier due date")
	now = now.Add(time.Hour)
	observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: 1}, Attempt: 1})
	now = now.Add(512 * 91 * time.Hour)
	observe(sojourn.Event{Kind: sojourn.Tick})
	want(1, leaves+"; 1 free; it is due: no job that comes later is before it")
	start(t, p) // job 2, out of turn: the slot counts as free for the first job alone
	want(1, waits+"; 1 free; it is due: no job that comes later is before it")
	want(2, waits+"; 0 free; a job that is due is before it")
}

// start starts a task on the slot that Seek names.
func start(t *testing.T, p sojourn.Policy) sojourn.Assignment {
	t.Helper()
	id, ok := p.(sojourn.Seeker).Seek(0)
	if !ok {
		t.Fatal("Seek names no slot")
	}
	a, ok := p.Assign(id)
	if !ok {
		t.Fatal("the slot of Seek is declined")
	}
	return a
}

// A batch of ten waves is alone. A job whose tasks take a hundredth of the batch's starts its first task at
// once, and its second within three lengths of its own tasks, whatever is told. The batch takes one wave longer than without a
// reserve.
func TestShortJobBesideABatch(t *testing.T) {
	for _, slots := range []int{10, 11, 49, 50, 51, 100, 1000} {
		for _, told := range []bool{false, true} {
			const long, short = time.Hour, 36 * time.Second
			p, now := newPolicy(), sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				t.Helper()
				ev.At = now
				if err := p.Observe(ev); err != nil {
					t.Fatal(err)
				}
			}
			arrive := func(id sojourn.JobID, tasks int, each time.Duration) {
				ph := sojourn.Phase{Tasks: tasks}
				if told {
					ph.Estimate = each
				}
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{ph}}})
			}
			type run struct {
				a    sojourn.Assignment
				ends sojourn.Time
			}
			busy := map[sojourn.SlotID]run{}
			var starts []time.Duration // of the short job, after it came
			came := sojourn.Time(0).Add(100 * time.Second)
			fill := func() {
				for id, ok := p.(sojourn.Seeker).Seek(0); ok; id, ok = p.(sojourn.Seeker).Seek(0) {
					a, ok := p.Assign(id)
					if !ok {
						t.Fatal("the slot of Seek is declined")
					}
					each := long
					if a.Task.Job == 2 {
						each = short
						starts = append(starts, now.Sub(came))
					}
					busy[id] = run{a, now.Add(each)}
				}
			}
			next := func() (at sojourn.Time) {
				first := true
				for _, r := range busy {
					if first || r.ends < at {
						at, first = r.ends, false
					}
				}
				return at
			}
			end := func() {
				now = next()
				for id := range sojourn.SlotID(slots) {
					if r, ok := busy[id]; ok && r.ends == now {
						delete(busy, id)
						observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: r.a.Task, Attempt: r.a.Attempt, Slot: sojourn.Slot{ID: id}})
					}
				}
				fill()
			}
			for id := range sojourn.SlotID(slots) {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
			}
			arrive(1, 10*slots, long)
			fill()
			now = came
			arrive(2, 2, short)
			fill()
			for len(busy) > 0 {
				end()
			}
			if len(starts) != 2 || starts[0] > 0 || starts[1] > 3*short {
				t.Errorf("%d slots, told %v: the short job starts tasks after %v", slots, told, starts)
			}
			if most := sojourn.Time(0).Add(11*long + short + 100*time.Second); now > most {
				t.Errorf("%d slots, told %v: all ends at %v, want at most %v", slots, told, now, most)
			}
		}
	}
}
