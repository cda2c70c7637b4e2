package forecast

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A task that has no estimate takes as long as one that took longer than it has run, each equally often; and as long
// again as it has run, if none did.
func TestDraws(t *testing.T) {
	d := newDurations()
	j := &sojourn.Job{ID: 1, Name: "a", Phases: []sojourn.Phase{{Tasks: 4}}}
	for _, s := range []time.Duration{4, 1, 2, 3} {
		d.add(j, 0, 0, s*time.Second)
	}
	other := &sojourn.Job{ID: 2, Name: "b", Phases: []sojourn.Phase{{Tasks: 4}}}
	d.add(other, 0, 0, time.Hour)
	random := rand.New(rand.NewPCG(1, 1))
	for _, c := range []struct {
		job     *sojourn.Job
		elapsed time.Duration
		want    []time.Duration
	}{
		{j, 0, []time.Duration{1, 2, 3, 4}},
		{j, 2 * time.Second, []time.Duration{3, 4}},
		{j, 5 * time.Second, []time.Duration{10}},
		{&sojourn.Job{ID: 3, Name: "a", Phases: j.Phases}, 3 * time.Second, []time.Duration{4}},
		{&sojourn.Job{ID: 4, Name: "c", Phases: j.Phases}, 3 * time.Second, []time.Duration{4, 3600}},
		{&sojourn.Job{ID: 4, Name: "c", Phases: j.Phases}, 4 * time.Second, []time.Duration{3600}},
		{&sojourn.Job{ID: 5, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 7 * time.Second}}}, time.Second, []time.Duration{7}},
		{&sojourn.Job{ID: 5, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 7 * time.Second}}}, 8 * time.Second, []time.Duration{16}},
	} {
		const draws = 4000
		count := map[time.Duration]int{}
		for range draws {
			count[d.sorted().draw(random, c.job, 0, 0, c.elapsed)]++
		}
		for _, w := range c.want {
			// Four standard deviations of a binomial count are at most 2 * sqrt(draws) = 127.
			if got, mean := count[w*time.Second], draws/len(c.want); got < mean-127 || got > mean+127 {
				t.Errorf("job %d after %v: %v s is drawn %d times of %d, want about %d", c.job.ID, c.elapsed, int(w), got, draws, mean)
			}
		}
		if len(count) != len(c.want) {
			t.Errorf("job %d after %v: draws %v, want %v s", c.job.ID, c.elapsed, count, c.want)
		}
	}
	d = newDurations() // estimates are wrong by what they were wrong before
	told := &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Estimate: 10 * time.Second}}}
	d.add(told, 0, 0, 20*time.Second)
	next := &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: 3 * time.Second}}}
	if got := d.sorted().draw(random, next, 0, 0, 0); got != 6*time.Second {
		t.Errorf("an estimate of 3 s draws %v, want 6 s, since an estimate of 10 s was 20 s", got)
	}
}

// What is kept is bounded: the latest times, the latest names, and the phases of live jobs.
func TestMemoryIsBounded(t *testing.T) {
	d := newDurations()
	for i := range 30_000 {
		j := &sojourn.Job{ID: sojourn.JobID(i), Name: "n" + string(rune('a'+i%26)) + string(rune(0x4e00+i/10)), Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}}
		d.add(j, 0, 0, time.Duration(i))
		if i != 7 {
			d.forget(j.ID)
		}
	}
	if a, r, p, n, names := len(d.all.values), len(d.ratios.values), len(d.phases), len(d.named), len(d.names); a != keptTimes || r != keptTimes || p != 1 || n != keptPhases || names != keptPhases {
		t.Errorf("%d times, %d ratios, %d phases of live jobs, %d and %d of names", a, r, p, n, names)
	}
	sorted := d.sorted().all.values
	if sorted[0] != 20_000 || sorted[len(sorted)-1] != 29_999 {
		t.Errorf("times from %d to %d are kept, want the latest", sorted[0], sorted[len(sorted)-1])
	}
	for range 200 {
		d.add(&sojourn.Job{ID: 1, Name: "same", Phases: []sojourn.Phase{{Tasks: 1}}}, 0, 0, 1)
	}
	if n := len(d.named[phaseNamed{"same", 0}].values); n != keptNamed {
		t.Errorf("%d times of one name are kept", n)
	}
}

// A Watch keeps the service that a driver reports, and nothing of a job that has ended. Tasks of a job that was cancelled
// are not left.
func TestWatchForgets(t *testing.T) {
	w := New(nil)
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := w.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for slot := range sojourn.SlotID(2) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(slot + 1), Phases: []sojourn.Phase{{Tasks: 3}}}})
		if err := w.Take(sojourn.Assignment{Task: sojourn.TaskID{Job: sojourn.JobID(slot + 1)}, Attempt: 1, Slot: slot}); err != nil {
			t.Fatal(err)
		}
	}
	observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: 2}})
	if n := w.left(); n != 3 {
		t.Errorf("%d tasks are left, want 3 of job 1", n)
	}
	end := sojourn.Event{Kind: sojourn.TaskFinished, At: sojourn.Time(5 * time.Second), Service: 2 * time.Second, Task: sojourn.TaskID{Job: 1}, Attempt: 1, Slot: sojourn.Slot{ID: 0}}
	observe(end)
	if list := w.known.all.values; len(list) != 1 || list[0] != 2*time.Second || len(w.known.phases) != 1 {
		t.Errorf("it keeps %v of %d phases, want 2 s", list, len(w.known.phases))
	}
	observe(sojourn.Event{Kind: sojourn.JobCancelled, At: end.At, Job: &sojourn.Job{ID: 1}})
	observe(sojourn.Event{Kind: sojourn.TaskFailed, At: end.At, Task: sojourn.TaskID{Job: 2}, Attempt: 1, Slot: sojourn.Slot{ID: 1}})
	if p, s := len(w.known.phases), len(w.started); p != 0 || s != 0 {
		t.Errorf("it keeps %d phases and %d starts of jobs that have ended", p, s)
	}
}
