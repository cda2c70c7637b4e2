package fair_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
)

// A single is a cluster of one slot, on which jobs of one phase wait.
type single struct {
	t    rapid.TB
	p    sojourn.Policy
	now  sojourn.Time
	left map[sojourn.JobID]int // tasks that have not finished
	next sojourn.JobID
}

func newSingle(t rapid.TB, opts fair.Options) *single {
	s := &single{t: t, p: newWith(opts), left: map[sojourn.JobID]int{}, next: 1}
	s.observe(sojourn.Event{Kind: sojourn.SlotAdded})
	return s
}

func (s *single) observe(ev sojourn.Event) {
	ev.At = s.now
	if err := s.p.Observe(ev); err != nil {
		s.t.Fatalf("Observe(%v) = %v, want nil", ev, err)
	}
}

func (s *single) arrive(tasks int, weight float64) sojourn.JobID {
	id := s.next
	s.next++
	s.left[id] = tasks
	s.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Weight: weight, Phases: []sojourn.Phase{{Tasks: tasks}}}})
	return id
}

// serve starts a task, and returns its job.
func (s *single) serve() (sojourn.Assignment, bool) { return s.p.Assign(0) }

// end ends an attempt after the time that it held the slot.
func (s *single) end(a sojourn.Assignment, kind sojourn.EventKind, after time.Duration) {
	s.now = s.now.Add(after)
	s.observe(sojourn.Event{Kind: kind, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
	if kind == sojourn.TaskFinished {
		if s.left[a.Task.Job]--; s.left[a.Task.Job] == 0 {
			delete(s.left, a.Task.Job)
		}
	}
}

// Jobs have one weight, and all tasks take the same time. No job is served twice before
// every other job that waits was served once, whenever jobs arrive.
func TestEqualJobsTakeTurns(t *testing.T) {
	for _, ties := range []fair.Ties{fair.LeastService, fair.RoundRobin} {
		t.Run(ties.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newSingle(t, fair.Options{Ties: ties})
				length := time.Duration(rapid.SampledFrom([]int64{0, 1, 1e9, 1 << 56}).Draw(t, "length"))
				weight := rapid.SampledFrom([]float64{0, 3, 1.0 / 65536, 1<<32 - 1}).Draw(t, "weight")
				since := map[sojourn.JobID]map[sojourn.JobID]bool{} // by job: the jobs served since it waits
				come := func() {
					for range rapid.IntRange(0, 2).Draw(t, "come") {
						id := s.arrive(rapid.IntRange(1, 4).Draw(t, "tasks"), weight)
						since[id] = map[sojourn.JobID]bool{}
					}
				}
				for range rapid.IntRange(1, 40).Draw(t, "steps") {
					come()
					a, ok := s.serve()
					if !ok {
						continue
					}
					x := a.Task.Job
					for y := range s.left {
						if y != x && since[y][x] {
							t.Fatalf("job %d is served again, and job %d waits since before the last time", x, y)
						}
						since[y][x] = true
					}
					since[x] = map[sojourn.JobID]bool{}
					come()
					s.end(a, sojourn.TaskFinished, length)
				}
			})
		})
	}
}

// On one slot, no later job passes a job that waits, whatever the weights are, however
// long tasks take and however they end. So no flood of short jobs keeps a long one
// waiting.
func TestNewcomersDoNotPass(t *testing.T) {
	for _, ties := range []fair.Ties{fair.LeastService, fair.RoundRobin, fair.Arrival} {
		t.Run(ties.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				s := newSingle(t, fair.Options{Ties: ties})
				waits := map[sojourn.JobID]sojourn.JobID{} // by job: the last job that had arrived when it began to wait
				come := func() {
					for range rapid.IntRange(0, 2).Draw(t, "come") {
						id := s.arrive(rapid.IntRange(1, 4).Draw(t, "tasks"), rapid.SampledFrom([]float64{0, 0.5, 1000, 1.0 / 65536, 1<<32 - 1}).Draw(t, "weight"))
						waits[id] = id
					}
				}
				for range rapid.IntRange(1, 40).Draw(t, "steps") {
					come()
					a, ok := s.serve()
					if !ok {
						continue
					}
					x := a.Task.Job
					for y := range s.left {
						if x > waits[y] && y != x {
							t.Fatalf("job %d is served before job %d, which waits since before it came", x, y)
						}
					}
					come()
					kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFinished, sojourn.TaskFailed}).Draw(t, "end")
					s.end(a, kind, rapid.SampledFrom([]time.Duration{0, 1, time.Second, time.Hour, 1 << 56}).Draw(t, "time"))
					waits[x] = s.next - 1
				}
			})
		})
	}
}

// One slot, two jobs. By LeastService each job has slot time in proportion to its weight,
// whatever its tasks take: 100 s and 300 s of 400 s; or 200 s each, up to a task, with
// tasks of 1 s and of 10 s. By RoundRobin they have as many tasks, and by Arrival the
// first has all.
func TestSlotTimeOnOneSlot(t *testing.T) {
	for _, tc := range []struct {
		ties   fair.Ties
		weight float64
		length time.Duration // of the tasks of the second job
		want   string
	}{
		{fair.LeastService, 3, time.Second, "1m40s 5m0s"},
		{fair.LeastService, 1, 10 * time.Second, "3m20s 3m20s"},
		{fair.RoundRobin, 3, time.Second, "3m20s 3m20s"},
		{fair.RoundRobin, 1, 10 * time.Second, "37s 6m10s"},
		{fair.Arrival, 3, time.Second, "6m40s 0s"},
	} {
		s := newSingle(t, fair.Options{Ties: tc.ties})
		first := s.arrive(1000, 1)
		s.arrive(1000, tc.weight)
		var had [2]time.Duration
		for had[0]+had[1] < 400*time.Second {
			a, _ := s.serve()
			length, of := time.Second, 0
			if a.Task.Job != first {
				length, of = tc.length, 1
			}
			s.end(a, sojourn.TaskFinished, length)
			had[of] += length
		}
		if got := fmt.Sprint(had[0], " ", had[1]); got != tc.want {
			t.Errorf("%v, weight %v, tasks of %v: the jobs had %s, want %s", tc.ties, tc.weight, tc.length, got, tc.want)
		}
	}
}
