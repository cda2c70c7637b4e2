package baseline_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/research/baseline"
)

// A boundedTest is a job of gangs; times are in seconds.
type boundedTest struct {
	at, width, limit int
	atOnce           int   // how many of them run at a time; 0 for any number
	runs             []int // how long each runs
}

// A boundedRun drives a policy with such jobs, whose IDs are their places in the list, from 1.
type boundedRun struct {
	t      *rapid.T
	p      sojourn.Policy
	c      *gang.Cluster
	now    int
	jobs   []boundedTest
	starts [][]int                               // of the tasks that have started, for each job
	slots  map[sojourn.SlotID]sojourn.Assignment // that run
	told   [][3]int                              // a job, a task, and when it starts at the latest
}

func (r *boundedRun) observe(ev sojourn.Event) {
	ev.At = sojourn.Time(r.now) * sojourn.Time(time.Second)
	if err := r.p.Observe(ev); err != nil {
		r.t.Fatal(err)
	}
}

func (r *boundedRun) describe(i int) *sojourn.Job {
	j := r.jobs[i]
	class, _ := r.c.Class(j.width)
	return &sojourn.Job{ID: sojourn.JobID(i + 1), Parallelism: uint32(j.atOnce), Phases: []sojourn.Phase{
		{Tasks: len(j.runs), Class: class, Estimate: time.Duration(j.limit) * time.Second},
	}}
}

// second reports what happens in a second, and offers slots.
func (r *boundedRun) second() {
	at := sojourn.Time(r.now) * sojourn.Time(time.Second)
	for _, slot := range slices.Sorted(maps.Keys(r.slots)) {
		a := r.slots[slot]
		if i, k := int(a.Task.Job)-1, int(a.Task.Index); r.starts[i][k]+r.jobs[i].runs[k] == r.now {
			delete(r.slots, slot)
			r.c.End(slot)
			r.observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: slot}})
		}
	}
	for i, j := range r.jobs {
		if j.at != r.now {
			continue
		}
		r.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: r.describe(i)})
		for k := range j.runs {
			if err := r.c.Wait(gang.Gang{Task: sojourn.TaskID{Job: sojourn.JobID(i + 1), Index: uint32(k)}, Width: j.width, Limit: time.Duration(j.limit) * time.Second}, at); err != nil {
				r.t.Fatal(err)
			}
		}
	}
	for again := true; again; {
		again = false
		for class := range sojourn.Class(r.c.Widths().Len()) {
			for _, ev := range r.c.AppendChanges(nil, at) {
				r.observe(ev)
			}
			if slot, ok := r.p.(sojourn.Seeker).Seek(class); ok {
				a, _ := r.p.Assign(slot)
				r.c.Start(a, at)
				r.slots[slot], again = a, true
				r.starts[a.Task.Job-1] = append(r.starts[a.Task.Job-1], r.now)
			}
		}
	}
	for i := range r.jobs {
		attrs, _ := r.p.(sojourn.Explainer).Explain(sojourn.JobID(i + 1))
		for _, a := range attrs {
			if a.Key == "start" {
				r.told = append(r.told, [3]int{i, len(r.starts[i]), int(a.Value.Duration() / time.Second)})
			}
		}
	}
}

// A boundedOracle schedules such jobs by the definitions, second by second.
type boundedOracle struct {
	rule    string
	places  int
	jobs    []boundedTest
	starts  [][]int
	reserve []int // conservative: of the next task of each job, -1 if it has none
	now     int
	moves   bool // something has ended or arrived, or another task of a job waits, since the reservations were last moved
}

// busy returns how many tasks of a job run in a second, to their limits unless they have ended.
func (o *boundedOracle) busy(i, second int) (n int) {
	for k, from := range o.starts[i] {
		if from <= second && second < from+o.jobs[i].limit && (from+o.jobs[i].runs[k] > o.now) {
			n++
		}
	}
	return n
}

// room reports whether a job may start another task in a second, if there are places.
func (o *boundedOracle) room(i, second int) bool {
	j := o.jobs[i]
	return j.at <= second && len(o.starts[i]) < len(j.runs) && (j.atOnce == 0 || o.busy(i, second) < j.atOnce)
}

func (o *boundedOracle) used(second int) (sum int) {
	for i, j := range o.jobs {
		n := o.busy(i, second)
		if from := o.reserve[i]; from >= 0 && from <= second && second < from+j.limit {
			n++
		}
		sum += n * j.width
	}
	return sum
}

// first returns the first second from which the next task of a job could run to its limit.
func (o *boundedOracle) first(i int) int {
	for s := o.now; ; s++ {
		fits := true
		for k := range o.jobs[i].limit {
			fits = fits && o.used(s+k)+o.jobs[i].width <= o.places
		}
		if fits {
			return s
		}
	}
}

// ahead returns when a job starts its next task if all tasks run to their limits, the jobs before it go on, and no
// other job starts anything.
func (o *boundedOracle) ahead(i int) int {
	c := *o
	c.starts = nil
	for k := range o.starts {
		c.starts = append(c.starts, slices.Clone(o.starts[k]))
	}
	c.jobs = slices.Clone(o.jobs)
	for k := range c.jobs {
		c.jobs[k].runs = slices.Clone(o.jobs[k].runs)
		for n := range c.jobs[k].runs {
			if ended := n < len(c.starts[k]) && c.starts[k][n]+c.jobs[k].runs[n] <= o.now; !ended {
				c.jobs[k].runs[n] = c.jobs[k].limit
			}
		}
	}
	for ; ; c.now++ {
		for k := range i {
			for c.room(k, c.now) && c.used(c.now)+c.jobs[k].width <= c.places {
				c.starts[k] = append(c.starts[k], c.now)
			}
		}
		if c.used(c.now)+c.jobs[i].width <= c.places {
			return c.now
		}
	}
}

// event reports whether a task ends or a job arrives in a second.
func (o *boundedOracle) event(second int) bool {
	for i, j := range o.jobs {
		if j.at == second {
			return true
		}
		for k, from := range o.starts[i] {
			if from+j.runs[k] == second {
				return true
			}
		}
	}
	return false
}

// start starts a task, and reports whether there is one to start.
func (o *boundedOracle) start() bool {
	var queue []int
	for i := range o.jobs {
		if o.room(i, o.now) {
			queue = append(queue, i)
		}
	}
	if o.rule == "conservative" {
		for i := range o.reserve {
			if !slices.Contains(queue, i) {
				o.reserve[i] = -1
			}
		}
		for _, i := range queue {
			if o.moves {
				o.reserve[i] = -1
				o.reserve[i] = o.first(i)
			}
		}
		for _, i := range queue {
			if o.reserve[i] == o.now {
				o.reserve[i], o.starts[i] = -1, append(o.starts[i], o.now)
				o.moves = o.room(i, o.now)
				return true
			}
		}
		return false
	}
	for n, i := range queue {
		if o.used(o.now)+o.jobs[i].width > o.places {
			if o.rule == "fcfs" {
				return false
			}
			continue
		}
		before := o.ahead(queue[0])
		o.starts[i] = append(o.starts[i], o.now)
		if n == 0 || o.ahead(queue[0]) == before {
			return true
		}
		o.starts[i] = o.starts[i][:len(o.starts[i])-1]
	}
	return false
}

// Each policy starts each task of jobs that bound how many of their tasks run when the definition does, never more of them at a time
// than the job allows, and no later than it told: EASY to the first job, conservative backfilling to each.
func TestBackfillOfBoundedJobs(t *testing.T) {
	told, passed := map[string]int{}, 0
	schedules := func(t *rapid.T) {
		places := rapid.IntRange(1, 6).Draw(t, "places")
		var jobs []boundedTest
		at := 0
		for range rapid.IntRange(1, 6).Draw(t, "jobs") {
			at += rapid.IntRange(0, 3).Draw(t, "later")
			j := boundedTest{at: at, width: rapid.IntRange(1, places).Draw(t, "width"), limit: rapid.IntRange(1, 6).Draw(t, "limit"), atOnce: rapid.IntRange(0, 3).Draw(t, "at once")}
			for range rapid.IntRange(1, 4).Draw(t, "tasks") {
				j.runs = append(j.runs, rapid.IntRange(1, j.limit).Draw(t, "run"))
			}
			jobs = append(jobs, j)
		}
		for _, b := range backfills {
			c, err := gang.New(gang.Options{Places: places, Patience: gang.Never})
			if err != nil {
				t.Fatal(err)
			}
			r := &boundedRun{t: t, p: must(b.make, baseline.BackfillOptions{Places: places})(), c: c, jobs: jobs, starts: make([][]int, len(jobs)), slots: map[sojourn.SlotID]sojourn.Assignment{}}
			o := &boundedOracle{rule: b.name, places: places, jobs: jobs, starts: make([][]int, len(jobs)), reserve: slices.Repeat([]int{-1}, len(jobs))}
			for ; r.now < 200; r.now++ {
				r.second()
				for o.now, o.moves = r.now, o.event(r.now); o.start(); {
				}
			}
			for i, j := range jobs {
				if !slices.Equal(r.starts[i], o.starts[i]) || len(o.starts[i]) != len(j.runs) {
					t.Fatalf("%s on %d places: %+v: tasks start at %v, want %v", b.name, places, jobs, r.starts, o.starts)
				}
				for s := range 200 {
					o.now = s
					if n := o.busy(i, s); j.atOnce > 0 && n > j.atOnce {
						t.Fatalf("%s: %d tasks of job %d run at %d, want at most %d", b.name, n, i+1, s, j.atOnce)
					}
				}
				if i > 0 && j.atOnce == 0 && jobs[i-1].atOnce > 0 && r.starts[i][0] < slices.Max(r.starts[i-1]) {
					passed++
				}
			}
			for _, s := range r.told {
				if got := r.starts[s[0]][s[1]]; got > s[2] {
					t.Fatalf("%s on %d places: %+v: task %d of job %d was told second %d and starts at %d", b.name, places, jobs, s[1], s[0]+1, s[2], got)
				}
			}
			told[b.name] += len(r.told)
		}
	}
	rapid.Check(t, schedules)
	clear(told)
	passed = 0
	histories.Fixed(100, schedules)
	if told["easy"] < 50 || told["conservative"] < 100 || passed < 20 {
		t.Errorf("told %v, and %d jobs passed one that runs as many tasks as it may", told, passed)
	}
}
