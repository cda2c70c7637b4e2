package leastwork

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// slow returns a policy that files so few jobs anew at an event.
func slow(pace int) *Policy {
	p, err := New(Options{})
	if err != nil {
		panic(err)
	}
	p.pace = pace
	return p
}

// stale returns how many live jobs are filed by older statistics.
func stale(p *Policy) (n int) {
	for j := range p.queue.Ledger.All() {
		for i := range j.Data.phases {
			ph := &j.Data.phases[i]
			was := *ph
			p.file(j, i)
			if ph.filed != was.filed || ph.used != was.used || ph.used && ph.doubt != was.doubt {
				n++
				*ph = was
				break
			}
			*ph = was
		}
	}
	return n
}

// An event files no more jobs anew than the pace allows, and in the end all are.
func TestPace(t *testing.T) {
	for _, jobs := range []int{1, 2, 3, 4, 7, 100} {
		for _, pace := range []int{1, 2, 3, 50} {
			t.Run(fmt.Sprintf("jobs=%d/pace=%d", jobs, pace), func(t *testing.T) {
				p := slow(pace)
				observe := func(ev sojourn.Event) {
					t.Helper()
					if err := p.Observe(ev); err != nil {
						t.Fatal(err)
					}
				}
				slot := sojourn.Slot{ID: 1}
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
				for id := range sojourn.JobID(jobs) {
					observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: 2}}}})
				}
				finish := func() {
					a, _ := p.Assign(slot.ID)
					observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slot, Service: time.Hour})
				}
				finish()
				old := jobs - 1 // the job of the task is filed at its own event
				for n := 1; ; n++ {
					// One of the jobs that an end files anew may be that of the task.
					got, least, most := stale(p), max(0, old-n*pace), max(0, old-n*(pace-1))
					if got < least || got > most || n > 2*jobs {
						t.Fatalf("after %d ends %d of %d jobs are filed as before, want %d to %d", n, got, jobs, least, most)
					}
					if got == 0 {
						break
					}
					finish()
				}
			})
		}
	}
}

// Whatever happens while jobs are filed anew, none is left out: jobs that come take the handles of those that have gone, and other
// statistics hold again before all are filed.
func TestNoJobIsLeftOut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := slow(rapid.IntRange(1, 3).Draw(t, "pace"))
		observe := func(ev sojourn.Event) {
			if err := p.Observe(ev); err != nil {
				t.Fatalf("Observe(%v) = %v", ev, err)
			}
		}
		const slots = 3
		var running [slots]sojourn.Assignment
		for id := range sojourn.SlotID(slots) {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id, Class: sojourn.Class(id % 2)}})
		}
		for id := range sojourn.JobID(rapid.IntRange(1, 60).Draw(t, "steps")) {
			slot := sojourn.SlotID(rapid.IntRange(0, slots-1).Draw(t, "slot"))
			switch a := running[slot]; rapid.SampledFrom([]string{"come", "come", "go", "end", "end", "end"}).Draw(t, "what") {
			case "come":
				job := &sojourn.Job{ID: id + 1, Phases: make([]sojourn.Phase, rapid.IntRange(1, 3).Draw(t, "phases"))}
				for i := range job.Phases {
					job.Phases[i] = sojourn.Phase{
						Tasks: rapid.IntRange(1, 3).Draw(t, "tasks"), Class: sojourn.Class(rapid.IntRange(0, 1).Draw(t, "class")),
						Estimate: rapid.SampledFrom([]time.Duration{0, 0, 1, 1 << 20, 1 << 40}).Draw(t, "estimate"),
					}
				}
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
			case "go":
				if j, ok := p.queue.Ledger.Next(0); ok {
					for s := range running {
						if running[s].Task.Job == j.Spec().ID {
							observe(sojourn.Event{
								Kind: sojourn.TaskFailed, Task: running[s].Task, Attempt: running[s].Attempt,
								Slot: sojourn.Slot{ID: sojourn.SlotID(s)}, Cause: sojourn.CauseSlotLost,
							})
							running[s] = sojourn.Assignment{}
						}
					}
					observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: j.Spec()})
				}
			case "end":
				if a.Attempt > 0 {
					observe(sojourn.Event{
						Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot},
						Service: time.Duration(1) << rapid.IntRange(0, 60).Draw(t, "took"),
					})
					running[slot] = sojourn.Assignment{}
				} else if next, ok := p.Assign(slot); ok {
					running[slot] = next
				}
			}
		}
		for c, b := range p.stats {
			for n := 0; b != nil && b.round.what != nothing; n++ {
				if n > 100 {
					t.Fatal("a round does not end")
				}
				p.refile(sojourn.Class(c), nothing)
			}
		}
		if n := stale(p); n > 0 {
			t.Errorf("%d jobs are filed by older statistics", n)
		}
	})
}

func TestConformanceWhileJobsAreFiled(t *testing.T) {
	histories.Share(t, 2)
	for _, pace := range []int{1, 2} {
		sojourntest.Run(t, func() sojourn.Policy { return slow(pace) }, sojourntest.Options{IdlesOnPurpose: true})
	}
}

func TestForgedSnapshotsWhileJobsAreFiled(t *testing.T) {
	snapshottest.Attack(t, func() sojourn.Policy { return slow(1) }, 300)
}

// What it takes to file a job anew, of 10,000. The end of a task does so up to 2,048 times.
func BenchmarkRound(b *testing.B) {
	b.Run("jobs=10000", func(b *testing.B) {
		p := slow(1)
		for id := range sojourn.JobID(10_000) {
			if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id + 1, Phases: []sojourn.Phase{{Tasks: 1}}}}); err != nil {
				b.Fatal(err)
			}
		}
		class := p.stats.of(0)
		b.ReportAllocs()
		for b.Loop() {
			if class.round.what == nothing {
				class.usualTime = time.Minute ^ class.usualTime ^ time.Hour
				class.round.begin(all)
			}
			p.refile(0, nothing)
		}
	})
}
