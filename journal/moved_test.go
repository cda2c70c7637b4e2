package journal_test

import (
	"runtime/metrics"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/pfsp"
)

// No call allocates much, however many jobs are queued: a table that grew by being copied would. Above 32 KiB the runtime counts each
// allocation at once, smaller ones by the span.
func TestNoCallMovesATable(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes 150,000 jobs")
	}
	const jobs, most = 150_000, 1 << 20
	for name, policy := range map[string]func() (sojourn.Policy, error){
		"fifo":      func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) },
		"fair":      func() (sojourn.Policy, error) { return fair.New(fair.Options{}) },
		"leastwork": func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) },
		"hfsp":      func() (sojourn.Policy, error) { return hfsp.New(hfsp.Options{}) },
		"pfsp":      func() (sojourn.Policy, error) { return pfsp.New(pfsp.Options{}) },
		"in a journal": func() (sojourn.Policy, error) {
			p, err := fifo.New(fifo.Options{})
			must(err)
			store, err := journal.OpenFiles(t.TempDir())
			must(err)
			j, err := journal.Open(store, p, journal.Options{SnapshotBytes: -1}) // TestNoPause has what happens when a segment ends
			must(err)
			t.Cleanup(func() { j.Close() })
			return j, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			for try := range 3 { // goroutines of other tests may allocate meanwhile
				greatest := allocations(t, policy, jobs)
				if t.Logf("bytes that a call allocates: %v", greatest); max(greatest["arrival"], greatest["start"], greatest["end"]) <= most {
					return
				}
				if try == 2 {
					t.Errorf("a call allocates %v bytes, want at most %d", greatest, most)
				}
			}
		})
	}
}

// allocations returns the most that a call allocates while the queue grows to so many jobs and while they end, by what is told.
func allocations(t *testing.T, policy func() (sojourn.Policy, error), jobs int) (greatest map[string]uint64) {
	p, err := policy()
	must(err)
	counter := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	allocated := func() uint64 {
		metrics.Read(counter)
		return counter[0].Value.Uint64()
	}
	last := allocated()
	greatest = map[string]uint64{}
	note := func(what string) {
		now := allocated()
		greatest[what] = max(greatest[what], now-last)
		last = now
	}
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		now++
		ev.At = now
		must(p.Observe(ev))
	}
	const slots = 16
	for id := range sojourn.SlotID(slots) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	for id := range sojourn.JobID(jobs) {
		j := &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: 1}}}
		allocated()
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: j})
		note("arrival")
	}
	for range jobs / slots {
		for id := range sojourn.SlotID(slots) {
			a, ok := p.Assign(id)
			if !ok {
				t.Fatal("nothing to start")
			}
			note("start")
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: id}, Service: time.Duration(now%7+1) * time.Second})
			note("end")
		}
	}
	return greatest
}
