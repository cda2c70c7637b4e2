package leastwork

import (
	"context"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Extreme clusters and times: every task of a class that has slots runs once, and while tasks wait, no
// more slots are free than are reserved: none of fewer than 10.
func TestExtremes(t *testing.T) {
	const year = 365 * 24 * time.Hour
	equal := func(each time.Duration) func(int) time.Duration {
		return func(int) time.Duration { return each }
	}
	for _, tc := range []struct {
		name  string
		slots []int // by class
		each  func(job int) time.Duration
		told  time.Duration // 0: as the mode of estimates says
	}{
		{"one slot", []int{1, 1}, func(i int) time.Duration { return time.Duration(1+i%7) * time.Second }, 0},
		{"two slots", []int{2, 2}, func(i int) time.Duration { return time.Duration(1+i%7) * time.Second }, 0},
		{"a class without slots", []int{3, 0}, equal(time.Second), 0},
		{"as few slots as have a reserve", []int{10, 9}, func(i int) time.Duration { return time.Duration(1+i%7) * time.Second }, 0},
		{"a slot fewer", []int{9, 10}, func(i int) time.Duration { return time.Duration(1+i%7) * time.Second }, 0},
		{"all tasks of one length", []int{30, 2}, equal(time.Minute), 0},
		{"lengths of zero", []int{30, 2}, equal(0), 0},
		{"estimates of years", []int{30, 2}, equal(time.Second), 100 * year / 20},
		{"estimates of a nanosecond", []int{30, 2}, equal(year / 365), 1},
		{"nanoseconds", []int{30, 2}, func(i int) time.Duration { return time.Duration(i % 3) }, 0},
		{"years", []int{60, 40}, func(i int) time.Duration { return time.Duration(1+i%2) * year / 8 }, 0},
		{"nanoseconds and years", []int{60, 40}, func(i int) time.Duration { return []time.Duration{1, year}[i%2] }, 0},
	} {
		for _, mode := range []sim.EstimateMode{sim.Exact, sim.None} {
			t.Run(tc.name+map[sim.EstimateMode]string{sim.Exact: ", told", sim.None: ", untold"}[mode], func(t *testing.T) {
				var jobs []*sim.Job
				want := 0
				for i := range 40 {
					job := &sim.Job{At: sojourn.Time(i / 10), Job: sojourn.Job{ID: sojourn.JobID(i + 1)}}
					for c, n := range []int{1 + i%5, 1 + i%3} {
						job.Phases = append(job.Phases, sojourn.Phase{Tasks: n, Class: sojourn.Class(c), Estimate: tc.told})
						job.Times = append(job.Times, sim.Times{Each: tc.each(i)})
						if tc.slots[c] > 0 {
							want += n
						}
					}
					jobs = append(jobs, job)
				}
				p, err := New(Options{})
				if err != nil {
					t.Fatal(err)
				}
				ran := map[sojourn.TaskID]int{}
				cfg := sim.Config{Policy: p, Jobs: sim.Jobs(jobs...), NoAudit: true, Estimates: sim.Estimates{Mode: mode}}
				cfg.Cluster = sim.Cluster{Nodes: []sim.Node{{Slots: tc.slots}}}
				now, waiting, free, kept := sojourn.Time(0), 0, tc.slots[0], 0 // of class 0
				if free >= 10 {
					kept = (free + 49) / 50
				}
				cfg.Hooks.Assigned = func(_ sojourn.SlotID, a sojourn.Assignment, ok bool) {
					if ok && a.Task.Phase == 0 {
						waiting, free = waiting-1, free-1
					}
				}
				cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
					if ev.At > now && waiting > 0 && free > kept {
						t.Errorf("after %v, %d slots are free, of which %d are reserved, while %d tasks wait", now, free, kept, waiting)
					}
					now = ev.At
					switch ev.Kind {
					case sojourn.JobArrived:
						waiting += ev.Job.Phases[0].Tasks
					case sojourn.TaskFinished:
						if ran[ev.Task]++; ev.Task.Phase == 0 {
							free++
						}
					}
				}
				if _, err := sim.Run(context.Background(), cfg); err != nil {
					t.Fatal(err)
				}
				for task, n := range ran {
					if n != 1 {
						t.Errorf("task %v ran %d times", task, n)
					}
				}
				if len(ran) != want {
					t.Errorf("%d tasks ran, want %d", len(ran), want)
				}
			})
		}
	}
}

// The greatest work, the least weight and the greatest patience: due dates that do not fit are the greatest one, and nothing
// panics.
func TestGreatestTurn(t *testing.T) {
	p, err := New(Options{Patience: maxPatience})
	if err != nil {
		t.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	arrive := func(id sojourn.JobID, weight float64, tasks int) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Weight: weight, Phases: []sojourn.Phase{{Tasks: tasks}}}})
	}
	const slots = 10_000
	for id := range sojourn.SlotID(slots) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	arrive(1, 1, 1)
	a, _ := p.Assign(0)
	observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Service: math.MaxInt64})
	arrive(2, 1.0/(1<<16), sojourn.MaxTasks)
	started := 0
	for id := range sojourn.SlotID(slots) {
		if a, ok := p.Assign(id); ok && a.Task.Job == 2 {
			started++
		}
	}
	if j := p.queue.Ledger.Job(2); started != slots*98/100 || p.wait(j, j.Side(0)).Hi != math.MaxUint64 {
		t.Errorf("%d tasks start and the job waits for %v, want 9800 and the greatest number", started, p.wait(j, j.Side(0)))
	}
	arrive(3, 1, 5)
	if a, ok := p.Assign(slots - 1); !ok || a.Task.Job != 3 {
		t.Errorf("the reserve starts %v, want job 3", a)
	}
}
