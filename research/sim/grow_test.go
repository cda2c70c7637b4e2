package sim_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// open makes the tasks of the last phase of a job come at these seconds after it.
func open(j *sim.Job, added ...float64) *sim.Job {
	t := &j.Times[len(j.Times)-1]
	for _, x := range added {
		t.Added = append(t.Added, time.Duration(x*1e9))
	}
	j.Open = true
	return j
}

// A job of 10 s comes with one task, and its second one comes at 20 s, when the first is long done: the job goes on, and ends
// as finished at 30 s. Job 2 has the slot in between. Alone the job takes as long; in fluid sharing it ends with what
// came last.
func TestOpenJobByHand(t *testing.T) {
	r, st := run(t, sim.Config{Cluster: uniform(1), Policy: newFIFO(t), Records: true, Jobs: sim.Jobs(
		open(job(1, 0, []float64{10, 10}), 0, 20), job(2, 5, []float64{4}))})
	checkGantt(t, st, `
		1/0/0 slot 0 0s-10s
		2/0/0 slot 0 10s-14s
		1/0/1 slot 0 20s-30s
		`)
	told := []string{"JobArrived", "JobRevised"}
	for _, line := range st.lines {
		if len(told) > 0 && strings.Contains(line, told[0]) {
			told = told[1:]
		}
	}
	one := r.JobRecords[0]
	if r.Finished != 2 || len(told) > 0 || one.Finish != sojourn.Time(30*s) || one.Alone != 30*s || one.Tasks != 2 || one.PSFinish != sojourn.Time(30*s) {
		t.Errorf("%+v after\n%s", one, strings.Join(st.lines, "\n"))
	}
}

// FIFO starts what has come of the earliest job, with slots and times that the test computes by the definition, instant by instant. Open
// jobs end when all has come and is done.
func TestOpenJobsUnderFIFO(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots, at := rapid.IntRange(1, 4).Draw(t, "slots"), 0.0
		var jobs []*sim.Job
		for id := range rapid.IntRange(1, 6).Draw(t, "jobs") {
			at += float64(rapid.IntRange(0, 5).Draw(t, "gap"))
			var times, added []float64
			came := 0.0
			for range rapid.IntRange(1, 6).Draw(t, "tasks") {
				times, added = append(times, float64(rapid.IntRange(0, 6).Draw(t, "time"))), append(added, came)
				came += float64(rapid.IntRange(0, 8).Draw(t, "until the next"))
			}
			j := job(sojourn.JobID(id+1), at, times)
			if rapid.Bool().Draw(t, "open") {
				open(j, added...)
			}
			jobs = append(jobs, j)
		}
		p, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		st := new(story)
		cfg := sim.Config{Cluster: uniform(slots), Policy: p, Records: true, Jobs: sim.Jobs(jobs...)}
		st.watch(&cfg)
		if _, err := sim.Run(context.Background(), cfg); err != nil {
			t.Fatal(err)
		}
		started, ends := map[sojourn.TaskID]sojourn.Time{}, []sojourn.Time{}
		for now := sojourn.Time(0); now < sojourn.Time(400*s); now += sojourn.Time(s) {
			for _, j := range jobs {
				for i, d := range j.Times[0].List {
					ends = slices.DeleteFunc(ends, func(end sojourn.Time) bool { return end <= now })
					id := sojourn.TaskID{Job: j.ID, Index: uint32(i)}
					came := j.At <= now && (j.Times[0].Added == nil || j.At.Add(j.Times[0].Added[i]) <= now)
					if _, ok := started[id]; came && !ok && len(ends) < slots {
						started[id], ends = now, append(ends, now.Add(d))
					}
				}
			}
		}
		if len(st.attempts) != len(started) {
			t.Fatalf("%d attempts, want %d", len(st.attempts), len(started))
		}
		for _, a := range st.attempts {
			if a.Start != started[a.Task] {
				t.Fatalf("task %v starts at %v, want %v", a.Task, a.Start, started[a.Task])
			}
		}
		var fluid, real sojourn.Time
		for _, j := range st.jobs {
			fluid, real = max(fluid, j.PSFinish), max(real, j.Finish)
			last := sojourn.Time(0)
			for _, a := range st.attempts {
				if a.Task.Job == j.ID {
					last = max(last, a.End)
				}
			}
			if j.Outcome != sim.Finished || j.Finish != last {
				t.Fatalf("%+v, want the finish at %v", j, last)
			}
		}
		if slots == 1 && (fluid < real || fluid > real+1) { // rounded up to a nanosecond
			t.Fatalf("the slot works until %v, and in fluid sharing until %v", real, fluid)
		}
	})
}

// A policy that does not know open jobs cannot schedule one, and what cannot be is an error in words.
func TestOpenJobsThatCannotBe(t *testing.T) {
	rigid, err := baseline.NewFCFS(baseline.BackfillOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r, _ := run(t, sim.Config{Cluster: uniform(1), Policy: rigid, Jobs: sim.Jobs(open(job(1, 0, []float64{1, 1}), 0, 5))}); r.Unsupported != 1 {
		t.Errorf("%+v, want a job that is not supported", r)
	}
	for want, j := range map[string]*sim.Job{
		"phase 1 waits for phase 0, whose tasks come later":          {Times: []sim.Times{{Each: 1, Added: []time.Duration{0}}, {Each: 1}}, Job: sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 1}, {Tasks: 1}}}},
		"tasks come later, and the job is not Open":                  {Times: []sim.Times{{Each: 1, Added: []time.Duration{0}}}, Job: sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 1}}}},
		"the job is Open, and nothing says when tasks come":          {Times: []sim.Times{{Each: 1}}, Job: sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 1}}}},
		"phase 0: 1 instants at which tasks come for 2 tasks":        {Times: []sim.Times{{Each: 1, Added: []time.Duration{0}}}, Job: sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 2}}}},
		"phase 0: the first task comes 1s after the job, want 0s":    open(job(1, 0, []float64{1}), 1),
		"phase 0: a task comes before one of a lower number":         open(job(1, 0, []float64{1, 1, 1}), 0, 2, 1),
		"phase 0: the last task comes at an instant that is out of ": {At: 1 << 62, Times: []sim.Times{{Each: 1, Added: []time.Duration{0, 1<<63 - 1}}}, Job: sojourn.Job{ID: 1, Open: true, Phases: []sojourn.Phase{{Tasks: 2}}}},
	} {
		_, err := sim.Run(context.Background(), sim.Config{Cluster: uniform(1), Policy: newFIFO(t), Jobs: sim.Jobs(j)})
		if err == nil || !strings.Contains(err.Error(), want) || !errors.Is(err, sojourn.ErrInvalidJob) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
