package sim_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/sim"
)

func newFIFO(t testing.TB) sojourn.Policy {
	t.Helper()
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// graham returns the job of Graham's anomalies: tasks 1 to 9, each a phase of one task,
// of 3, 2, 2, 2, 4, 4, 4, 4 and 9 s, each shorter by less seconds. Task 9 needs task 1,
// and the tasks of needFour need task 4.
func graham(less float64, needFour ...int) *sim.Job {
	j := job(1, 0)
	for i, seconds := range []float64{3, 2, 2, 2, 4, 4, 4, 4, 9} {
		one := job(1, 0, []float64{seconds - less})
		one.Phases[0].Needs = []int{}
		j.Phases, j.Times, j.AnyClass = append(j.Phases, one.Phases...), append(j.Times, one.Times...), append(j.AnyClass, true)
		if slices.Contains(needFour, i+1) {
			j.Phases[i].Needs = []int{3}
		}
	}
	j.Phases[8].Needs = []int{0}
	return j
}

// A job may end later because there are more slots, because its tasks take less time, and
// because fewer of them wait for others.
//
// Source: Graham, Bounds on multiprocessing timing anomalies, SIAM J. Appl. Math. 17 (1969),
// figures 2 to 5.
func TestGrahamsAnomalies(t *testing.T) {
	tests := []struct {
		name  string
		job   *sim.Job
		slots int
		want  time.Duration
	}{
		{"as it is", graham(0, 5, 6, 7, 8), 3, 12 * s},
		{"a slot more", graham(0, 5, 6, 7, 8), 4, 15 * s},
		{"a second less each", graham(1, 5, 6, 7, 8), 3, 13 * s},
		{"fewer needs", graham(0, 7, 8), 3, 16 * s},
	}
	for _, tc := range tests {
		r, st := run(t, sim.Config{Cluster: uniform(tc.slots), Policy: newFIFO(t), Jobs: sim.Jobs(tc.job)})
		if r.Makespan != tc.want {
			t.Errorf("%s: makespan %v, want %v:\n%s", tc.name, r.Makespan, tc.want, st.gantt())
		}
	}
}

// With a slot for each task, a job ends when the longest path through its phases does.
func TestLongestPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		_, jobs := drawWorkload(t, func(*rapid.T, int) int { return 0 })
		drawNeeds(t, jobs)
		j := jobs[0]
		for p := range j.Phases {
			if rapid.Bool().Draw(t, "delays") {
				j.Phases[p].Delays = make([]time.Duration, j.Phases[p].Tasks)
				for i := range j.Phases[p].Delays {
					j.Phases[p].Delays[i] = time.Duration(rapid.IntRange(0, 5).Draw(t, "delay")) * time.Millisecond
				}
			}
		}
		var path func(p int) (end, there time.Duration)
		path = func(p int) (end, there time.Duration) {
			var open, input time.Duration // when tasks start, and when they work
			for _, k := range reads(&j.Job, p) {
				e, a := path(k)
				open, input = max(open, e), max(input, a)
			}
			for i := range j.Phases[p].Tasks {
				at := max(open, input) + j.Times[p].Of(i)
				end = max(end, at)
				if d := j.Phases[p].Delays; d != nil {
					at += d[i]
				}
				there = max(there, at)
			}
			return end, there
		}
		var want time.Duration
		for p := range j.Phases {
			end, _ := path(p)
			want = max(want, end)
		}
		p, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r, err := sim.Run(t.Context(), sim.Config{Cluster: uniform(j.Tasks()), Policy: p, Jobs: sim.Jobs(j), Records: true})
		if err != nil {
			t.Fatal(err)
		}
		// The fluid schedule does not wait for inputs, and rounds the end of each phase up.
		rec := r.JobRecords[0]
		shared := rec.PSFinish.Sub(j.At)
		if rec.Sojourn() != want || rec.Alone != want || shared > want+time.Duration(len(j.Phases)) {
			t.Errorf("sojourn time %v, alone %v, shared %v, want %v", rec.Sojourn(), rec.Alone, shared, want)
		}
	})
}

// No more tasks of a job run at a time than it says, alone or beside others, and a policy that does not know that gets
// no such job.
func TestParallelism(t *testing.T) {
	for _, tc := range []struct {
		bound uint32
		alone time.Duration
	}{{0, 20 * time.Second}, {1, 60 * time.Second}, {2, 30 * time.Second}, {4, 20 * time.Second}, {math.MaxUint32, 20 * time.Second}} {
		bounded, other := job(1, 0, []float64{10, 10, 10, 10, 10, 10}), job(2, 0, []float64{10, 10, 10})
		bounded.Parallelism = tc.bound
		r, err := sim.Run(t.Context(), sim.Config{Cluster: uniform(4), Policy: newFIFO(t), Jobs: sim.Jobs(bounded, other), Records: true})
		if err != nil {
			t.Fatal(err)
		}
		if rec := r.JobRecords[0]; rec.Alone != tc.alone || rec.Sojourn() != tc.alone {
			t.Errorf("parallelism %d: alone %v, beside another job %v, want %v", tc.bound, rec.Alone, rec.Sojourn(), tc.alone)
		}
		r, err = sim.Run(t.Context(), sim.Config{Cluster: uniform(4), Policy: ignorant{newFIFO(t)}, Jobs: sim.Jobs(bounded), Records: true})
		if err != nil || r.Unsupported == 1 != (tc.bound > 0) {
			t.Errorf("parallelism %d under a policy that knows no features: %d jobs are unsupported, %v", tc.bound, r.Unsupported, err)
		}
	}
}

// An ignorant policy says nothing of what it supports.
type ignorant struct{ sojourn.Policy }

// A policy that does not know what a job uses never learns of the job.
func TestUnsupportedFeatures(t *testing.T) {
	needs, held := graham(0), job(1, 0, []float64{1})
	held.Phases[0].Held = true
	policy := newTable(first)
	r, st := run(t, sim.Config{Cluster: uniform(1), Policy: ignorant{policy}, Jobs: sim.Jobs(needs), Records: true})
	if r.Unsupported != 1 || r.JobRecords[0].Outcome != sim.Unsupported || len(policy.jobs) != 0 {
		t.Errorf("%d jobs are unsupported, record %+v, want 1:\n%s", r.Unsupported, r.JobRecords[0], st.lines)
	}
	if _, err := sim.Run(t.Context(), sim.Config{Cluster: uniform(1), Policy: newFIFO(t), Jobs: sim.Jobs(held)}); err == nil {
		t.Error("a job whose tasks are held runs, though nothing would release them")
	}
}
