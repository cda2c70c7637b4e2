package account_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

// A task of a held phase fails twice and is held again: the facts tell its number, and rebuild another policy, which counts on.
func TestHeldAgain(t *testing.T) {
	for held := range 3 { // how often it is held again
		a, task := account.New(newFIFO(t)), sojourn.TaskID{Job: 1}
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := a.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded})
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Held: true}}}})
		for n := range uint32(held) {
			observe(sojourn.Event{Kind: sojourn.TaskReady, Task: task})
			if as, ok := a.Assign(0); !ok || as.Attempt != n+1 {
				t.Fatalf("Assign(0) = %+v, %v, want attempt %d", as, ok, n+1)
			}
			observe(sojourn.Event{Kind: sojourn.TaskFailed, Task: task, Attempt: n + 1})
			observe(sojourn.Event{Kind: sojourn.TaskHeld, Task: task})
		}
		next := account.New(newFIFO(t))
		if err := a.Rebuild(next); err != nil {
			t.Fatalf("held again %d times: %v", held, err)
		}
		if state, last := next.Task(task); state != account.Held || last != uint32(held) {
			t.Errorf("held again %d times, it is %v after attempt %d", held, state, last)
		}
		a = next
		observe(sojourn.Event{Kind: sojourn.TaskReady, Task: task})
		if as, ok := a.Assign(0); !ok || as.Attempt != uint32(held)+1 {
			t.Errorf("held again %d times: Assign(0) = %+v, %v", held, as, ok)
		}
	}
}

// Left counts the tasks of a phase that are not done, whether they run or not.
func TestLeft(t *testing.T) {
	a := account.New(newFIFO(t))
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded},
		{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 3}, {Tasks: 2}}}},
		{Kind: sojourn.TaskDone, Task: sojourn.TaskID{Job: 1, Index: 2}},
	} {
		if err := a.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	as, ok := a.Assign(0)
	if !ok {
		t.Fatal("nothing starts")
	}
	check := func(first int) {
		t.Helper()
		for _, tc := range []struct {
			job   sojourn.JobID
			phase int
			want  int
		}{{1, 0, first}, {1, 1, 2}, {1, 2, 0}, {1, -1, 0}, {2, 0, 0}} {
			if got := a.Left(tc.job, tc.phase); got != tc.want {
				t.Errorf("Left(%d, %d) = %d, want %d", tc.job, tc.phase, got, tc.want)
			}
		}
	}
	check(2)
	if err := a.Observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: as.Task, Attempt: 1}); err != nil {
		t.Fatal(err)
	}
	check(1)
}

// The bytes of a snapshot stay, or its version counts on: other releases read them. The header says that there is no policy.
func TestSnapshotFormat(t *testing.T) {
	a := account.New(nil)
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Node: 2, Rack: 3}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}},
		{Kind: sojourn.JobAdopted, At: 9, Service: 20, Job: &sojourn.Job{ID: 7, Name: "n", Phases: []sojourn.Phase{{Tasks: 4, Estimate: 5}}}},
		{Kind: sojourn.TaskAdopted, At: 10, Task: sojourn.TaskID{Job: 7, Index: 1}, Attempt: 3, Slot: sojourn.Slot{ID: 2}, Service: 6},
		{Kind: sojourn.TaskDone, At: 10, Task: sojourn.TaskID{Job: 7}},
		{Kind: sojourn.TaskHeld, At: 11, Task: sojourn.TaskID{Job: 7, Index: 2}, Attempt: 1},
	} {
		if err := a.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	data, err := a.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = "736f6a6f75726e046c00000000000000076163636f756e74020106706f6c6963790566616c73651601010107016e00000000010004000a00010001010000030000000001030002010101020001020300020102030000010200000000020000010314001501020c00e7cc63ed"
	if got := fmt.Sprintf("%x", data); got != want {
		t.Errorf("the snapshot is\n%s, want\n%s", got, want)
	}
	b := account.New(nil)
	if err := b.UnmarshalBinary(data); err != nil || !slices.EqualFunc(slices.Collect(a.Facts()), slices.Collect(b.Facts()), alike) {
		t.Errorf("restored: %v, and the facts are %v, want %v", err, slices.Collect(b.Facts()), slices.Collect(a.Facts()))
	}
}

// alike compares facts by what they say.
func alike(a, b sojourn.Event) bool { return fmt.Sprint(a) == fmt.Sprint(b) }
