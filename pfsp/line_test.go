package pfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A phase that a bounded job could start ends while the job has no bound, and loses its input and its output. When the job is bounded again,
// that phase holds nobody up, and a snapshot is restored.
func TestBoundTakenAwayForAWhile(t *testing.T) {
	for name, create := range map[string]func() (sojourn.Policy, error){
		"PFSP": func() (sojourn.Policy, error) { return pfsp.New(pfsp.Options{}) },
		"HFSP": func() (sojourn.Policy, error) { return hfsp.New(hfsp.Options{}) },
		"FSP":  func() (sojourn.Policy, error) { return baseline.NewFSP(baseline.FSPOptions{}) },
	} {
		t.Run(name, func(t *testing.T) {
			p, err := create()
			if err != nil {
				t.Fatal(err)
			}
			at := sojourn.Time(0)
			observe := func(ev sojourn.Event) {
				at = at.Add(time.Second)
				if ev.At = at; p.Observe(ev) != nil {
					t.Fatalf("%v is refused", ev)
				}
			}
			job := func(bound uint32) *sojourn.Job {
				return &sojourn.Job{ID: 1, Parallelism: bound, Phases: []sojourn.Phase{
					{Tasks: 1, Estimate: time.Second, Class: sojourn.ReduceClass},
					{Tasks: 1, Estimate: time.Second, Needs: []int{0}},
					{Tasks: 9, Estimate: time.Minute, Needs: []int{}},
				}}
			}
			slots := []sojourn.Slot{{ID: 0}, {ID: 1, Class: sojourn.ReduceClass}}
			run := func(slot int) sojourn.TaskID {
				a, ok := p.Assign(slots[slot].ID)
				if !ok {
					t.Fatalf("at %v slot %d stays idle", at, slot)
				}
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slots[slot], Service: time.Second})
				return a.Task
			}
			for _, s := range slots {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: s})
			}
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job(1)})
			input := run(1) // phase 1 may start from now on
			observe(sojourn.Event{Kind: sojourn.JobRevised, Job: job(0)})
			output := run(0)
			for output.Phase != 1 {
				output = run(0)
			}
			observe(sojourn.Event{Kind: sojourn.OutputLost, Task: input, Attempt: 1})
			observe(sojourn.Event{Kind: sojourn.OutputLost, Task: output, Attempt: 1})
			observe(sojourn.Event{Kind: sojourn.JobRevised, Job: job(1)})
			data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			again, _ := create()
			if err := again.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
				t.Errorf("the snapshot: %v", err)
			}
			if task := run(0); task.Phase != 2 {
				t.Errorf("%v starts", task)
			}
		})
	}
}
