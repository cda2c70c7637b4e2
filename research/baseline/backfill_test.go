package baseline_test

import (
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest"
	"pgregory.net/rapid"
)

var backfills = []struct {
	name string
	make func(baseline.BackfillOptions) (sojourn.Policy, error)
}{{"fcfs", baseline.NewFCFS}, {"easy", baseline.NewEASY}, {"conservative", baseline.NewConservative}}

// One job may block all others, so nothing is promised about service, except with gangs.
func TestBackfillConformance(t *testing.T) {
	for _, b := range backfills {
		for _, places := range []int{0, 6} {
			if (places == 0) != (b.name == "fcfs") { // without places all are the same
				continue
			}
			t.Run(b.name, func(t *testing.T) {
				newPolicy := must(b.make, baseline.BackfillOptions{Places: places})
				histories.Share(t, 15)
				sojourntest.Run(t, newPolicy, sojourntest.Options{
					MayStarve: true, MaxPhases: 1,
					Supports: func(j *sojourn.Job) bool { return places == 0 || int(j.Phases[0].Class) < places },
					Others:   []func() sojourn.Policy{must(b.make, baseline.BackfillOptions{Places: 7})},
				})
				snapshottest.Attack(t, newPolicy, 100)
			})
		}
	}
}

func TestBackfillGangs(t *testing.T) {
	for _, b := range backfills {
		sojourntest.Gangs(t, func(places int) sojourn.Policy {
			return must(b.make, baseline.BackfillOptions{Places: places})()
		}, sojourntest.GangOptions{Reserves: true, InOrder: true})
	}
}

func TestBackfillRefusesOtherJobs(t *testing.T) {
	p := must(baseline.NewEASY, baseline.BackfillOptions{Places: 3})()
	for _, phases := range [][]sojourn.Phase{
		{{Tasks: 1}, {Tasks: 1}}, {{Tasks: 1, Class: 3}},
	} {
		job := &sojourn.Job{ID: 1, Phases: phases}
		if err := p.Observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job}); !errors.Is(err, sojourn.ErrUnsupported) {
			t.Errorf("%v: error %v", phases, err)
		}
		if err := p.(sojourn.Admitter).Admit(job); !errors.Is(err, sojourn.ErrUnsupported) {
			t.Errorf("%v: Admit: %v", phases, err)
		}
	}
}

// A rigidTest is a rigid job; times are in seconds.
type rigidTest struct{ at, width, run, limit int }

// runRigid drives a policy with rigid jobs, whose IDs are their places in the list, from 1. It
// returns when each started, and what the policy promised: the starts that Explain told, each for
// a job. restarts says when the rest runs after a restart.
func runRigid(t rapid.TB, restarts func() bool, p sojourn.Policy, places int, jobs []rigidTest) (starts []int, promises [][2]int) {
	c, err := gang.New(gang.Options{Places: places, Patience: gang.Never})
	if err != nil {
		t.Fatal(err)
	}
	now := sojourn.Time(0)
	observe := func(ev sojourn.Event) {
		ev.At = now
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	starts = slices.Repeat([]int{-1}, len(jobs))
	slots, left := make([]sojourn.SlotID, len(jobs)), len(jobs)
	promised := func(id sojourn.JobID) {
		attrs, _ := p.(sojourn.Explainer).Explain(id)
		for _, a := range attrs {
			if a.Key == "start" {
				promises = append(promises, [2]int{int(id) - 1, int(a.Value.Duration() / time.Second)})
			}
		}
	}
	for s := 0; left > 0; s++ {
		if s > 10_000 {
			t.Fatalf("%d jobs never end", left)
		}
		now = sojourn.Time(s) * sojourn.Time(time.Second)
		for i, j := range jobs {
			if starts[i] >= 0 && starts[i]+j.run == s {
				left--
				c.End(slots[i])
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: sojourn.TaskID{Job: sojourn.JobID(i + 1)}, Attempt: 1, Slot: sojourn.Slot{ID: slots[i]}})
			}
		}
		for i, j := range jobs {
			if j.at == s {
				id, limit := sojourn.JobID(i+1), time.Duration(j.limit)*time.Second
				class, _ := c.Class(j.width)
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Phases: []sojourn.Phase{{Tasks: 1, Class: class, Estimate: limit}}}})
				if err := c.Wait(gang.Gang{Task: sojourn.TaskID{Job: id}, Width: j.width, Limit: limit}, now); err != nil {
					t.Fatal(err)
				}
				promised(id)
			}
		}
		for again := true; again; {
			again = false
			for class := range sojourn.Class(c.Widths().Len()) {
				for _, ev := range c.AppendChanges(nil, now) {
					observe(ev)
				}
				if slot, ok := p.(sojourn.Seeker).Seek(class); ok {
					a, _ := p.Assign(slot)
					c.Start(a, now)
					starts[a.Task.Job-1], slots[a.Task.Job-1], again = s, a.Slot, true
				}
			}
		}
		for i := range jobs {
			if jobs[i].at <= s && starts[i] < 0 {
				promised(sojourn.JobID(i + 1))
				if restarts() {
					data, err := p.(sojourn.Snapshotter).AppendBinary(nil)
					if err != nil {
						t.Fatal(err)
					}
					if err := p.(sojourn.Snapshotter).UnmarshalBinary(data); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	return starts, promises
}

// nowAndThen returns a function that is true once in ten times.
func nowAndThen(t *rapid.T) func() bool {
	return func() bool { return rapid.IntRange(0, 9).Draw(t, "snapshot") == 0 }
}

// A rigidOracle schedules rigid jobs by the definitions, second by second.
type rigidOracle struct {
	places  int
	jobs    []rigidTest
	starts  []int // -1 if not yet
	reserve []int // conservative: the reservation of each job that waits, -1 if it has none
	now     int
}

// used returns the places that are taken in a second by jobs that run, to their limits; and by
// reservations.
func (o *rigidOracle) used(second int) (sum int) {
	for i, j := range o.jobs {
		from := o.starts[i]
		switch {
		case from >= 0 && from+j.run <= o.now: // has ended
			continue
		case from < 0 && o.reserve != nil && j.at <= o.now:
			from = o.reserve[i]
		}
		if from >= 0 && from <= second && second < from+j.limit {
			sum += j.width
		}
	}
	return sum
}

// first returns the first second from which a job could run to its limit.
func (o *rigidOracle) first(i int) int {
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

// queue returns the jobs that wait.
func (o *rigidOracle) queue() (list []int) {
	for i, j := range o.jobs {
		if j.at <= o.now && o.starts[i] < 0 {
			list = append(list, i)
		}
	}
	return list
}

// fcfs starts jobs in order, and with backfilling those out of order that leave the first second
// of the first job as it is.
func (o *rigidOracle) fcfs(backfill bool) {
	for started := true; started; {
		started = false
		queue := o.queue()
		for n, i := range queue {
			if o.used(o.now)+o.jobs[i].width > o.places {
				if !backfill {
					break
				}
				continue
			}
			before := o.first(queue[0])
			o.starts[i] = o.now
			if n > 0 && o.first(queue[0]) != before {
				o.starts[i] = -1
				continue
			}
			started = true
			break
		}
	}
}

// compress moves the reservations forward, one after the other.
func (o *rigidOracle) compress() {
	for _, i := range o.queue() {
		o.reserve[i] = -1
		o.reserve[i] = o.first(i)
	}
}

// run returns when each job starts.
func (o *rigidOracle) run(rule string) []int {
	o.starts = slices.Repeat([]int{-1}, len(o.jobs))
	if rule != "conservative" {
		for ; slices.Contains(o.starts, -1); o.now++ {
			o.fcfs(rule == "easy")
		}
		return o.starts
	}
	o.reserve = slices.Repeat([]int{-1}, len(o.jobs))
	for ; slices.Contains(o.starts, -1); o.now++ {
		// The ends and arrivals of a second are heard of before anything starts.
		for started := true; started; {
			started = false
			o.compress()
			for _, i := range o.queue() {
				if o.reserve[i] == o.now {
					o.starts[i], started = o.now, true
					break
				}
			}
		}
	}
	return o.starts
}

// drawRigid draws jobs whose limits are upper bounds.
func drawRigid(t *rapid.T) (places int, jobs []rigidTest) {
	places = rapid.IntRange(1, 8).Draw(t, "places")
	at := 0
	for range rapid.IntRange(1, 12).Draw(t, "jobs") {
		at += rapid.IntRange(0, 3).Draw(t, "later")
		limit := rapid.IntRange(1, 8).Draw(t, "limit")
		jobs = append(jobs, rigidTest{at, rapid.IntRange(1, places).Draw(t, "width"), rapid.IntRange(1, limit).Draw(t, "run"), limit})
	}
	return places, jobs
}

// Each policy starts each job when the definition does, and no later than it promised: EASY to the
// first job whenever it is the first, conservative backfilling to each job at its arrival, and at
// any time after that.
//
// Reference: Mu'alem, Feitelson 2001, section 2; Feitelson, Weil 1998.
func TestBackfillKeepsItsPromises(t *testing.T) {
	promised := map[string]int{}
	outOfTurn := map[string]int{}
	schedules := func(t *rapid.T) {
		places, jobs := drawRigid(t)
		for _, b := range backfills {
			starts, promises := runRigid(t, nowAndThen(t), must(b.make, baseline.BackfillOptions{Places: places})(), places, jobs)
			want := (&rigidOracle{places: places, jobs: jobs}).run(b.name)
			if !slices.Equal(starts, want) {
				t.Fatalf("%s on %d places: %+v start at %v, want %v", b.name, places, jobs, starts, want)
			}
			for _, s := range promises {
				if starts[s[0]] > s[1] {
					t.Fatalf("%s on %d places: %+v: job %d was promised second %d and starts at %d", b.name, places, jobs, s[0]+1, s[1], starts[s[0]])
				}
			}
			promised[b.name] += len(promises)
			if !slices.IsSorted(starts) {
				outOfTurn[b.name]++
			}
		}
	}
	rapid.Check(t, schedules)
	clear(promised)
	clear(outOfTurn)
	histories.Fixed(100, schedules)
	if promised["easy"] < 50 || promised["conservative"] < 100 || outOfTurn["easy"] < 10 || outOfTurn["conservative"] < 10 || outOfTurn["fcfs"] > 0 {
		t.Errorf("promises: %v; schedules with a job out of turn: %v", promised, outOfTurn)
	}
}

// After an attempt was lost, conservative backfilling has the reservations that a cluster has in which the
// attempt never was and nothing was promised: the earliest in the order of arrival. If it is lost at
// the instant at which it started, all is as before.
func TestLostWorkRenewsReservations(t *testing.T) {
	moved := 0
	rapid.Check(t, func(t *rapid.T) {
		places, jobs := drawRigid(t)
		for i := range jobs {
			jobs[i].at, jobs[i].run = 0, jobs[i].limit
		}
		p := must(baseline.NewConservative, baseline.BackfillOptions{Places: places})()
		c, err := gang.New(gang.Options{Places: places, Patience: gang.Never})
		if err != nil {
			t.Fatal(err)
		}
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		wait := func(i int) {
			limit := time.Duration(jobs[i].limit) * time.Second
			if err := c.Wait(gang.Gang{Task: sojourn.TaskID{Job: sojourn.JobID(i + 1)}, Width: jobs[i].width, Limit: limit}, now); err != nil {
				t.Fatal(err)
			}
		}
		for i, j := range jobs {
			class, _ := c.Class(j.width)
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{
				{Tasks: 1, Class: class, Estimate: time.Duration(j.limit) * time.Second},
			}}})
			wait(i)
		}
		o := rigidOracle{places: places, jobs: jobs, starts: slices.Repeat([]int{-1}, len(jobs)), reserve: slices.Repeat([]int{-1}, len(jobs))}
		var running []sojourn.Assignment
		offer := func() {
			for again := true; again; {
				again = false
				for class := range sojourn.Class(c.Widths().Len()) {
					for _, ev := range c.AppendChanges(nil, now) {
						observe(ev)
					}
					if slot, ok := p.(sojourn.Seeker).Seek(class); ok {
						a, _ := p.Assign(slot)
						c.Start(a, now)
						running, again = append(running, a), true
						o.starts[a.Task.Job-1] = 0
					}
				}
			}
		}
		check := func() {
			o.compress()
			for _, i := range o.queue() {
				attrs, _ := p.(sojourn.Explainer).Explain(sojourn.JobID(i + 1))
				at := slices.IndexFunc(attrs, func(a slog.Attr) bool { return a.Key == "start" })
				if at < 0 || attrs[at].Value.Duration() != time.Duration(o.reserve[i])*time.Second {
					t.Fatalf("on %d places at %v: %+v: %v of job %d, want a start at %d s", places, now, jobs, attrs, i+1, o.reserve[i])
				}
			}
		}
		offer()
		check()
		end := 8
		for _, a := range running {
			end = min(end, jobs[a.Task.Job-1].limit)
		}
		o.now = rapid.IntRange(0, end-1).Draw(t, "at")
		now = sojourn.Time(o.now) * sojourn.Time(time.Second)
		a := rapid.SampledFrom(running).Draw(t, "lost")
		lost := int(a.Task.Job) - 1
		ev := rapid.SampledFrom([]sojourn.Event{
			{Kind: sojourn.TaskRefused}, {Kind: sojourn.TaskFailed, Cause: sojourn.CausePreempted},
			{Kind: sojourn.TaskFailed, Cause: sojourn.CauseSlotLost}, {Kind: sojourn.TaskFailed},
		}).Draw(t, "how")
		ev.Task, ev.Attempt, ev.Slot = a.Task, a.Attempt, sojourn.Slot{ID: a.Slot}
		c.End(a.Slot)
		observe(ev)
		wait(lost)
		o.starts[lost] = -1
		before := slices.Clone(o.reserve)
		for i := range o.reserve {
			o.reserve[i] = -1
		}
		if o.now == 0 {
			o.reserve = before
			o.reserve[lost] = 0
		}
		check()
		for i := range before {
			if i != lost && o.reserve[i] > before[i] && o.starts[i] < 0 {
				moved++
			}
		}
	})
	if moved == 0 {
		t.Error("no reservation was ever moved back")
	}
}

// On four places, job 1 takes three for 10 s and job 2 waits for all four. Job 3, of 20 s on one
// place, would delay job 2. Job 4, of 10 s, does not: EASY and conservative backfilling start it.
func TestBackfillByHand(t *testing.T) {
	jobs := []rigidTest{{0, 3, 10, 10}, {0, 4, 5, 5}, {0, 1, 20, 20}, {0, 1, 10, 10}}
	for name, want := range map[string][]int{
		"fcfs": {0, 10, 15, 15}, "easy": {0, 10, 15, 0}, "conservative": {0, 10, 15, 0},
	} {
		for _, b := range backfills {
			if b.name != name {
				continue
			}
			rapid.Check(t, func(t *rapid.T) {
				if got, _ := runRigid(t, nowAndThen(t), must(b.make, baseline.BackfillOptions{Places: 4})(), 4, jobs); !slices.Equal(got, want) {
					t.Fatalf("%s: starts %v, want %v", name, got, want)
				}
			})
		}
	}
}

// Limits that are too short, or not known, void promises but stop nothing: every job ends.
func TestBackfillWithWrongLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places, jobs := drawRigid(t)
		for i := range jobs {
			jobs[i].limit = rapid.IntRange(0, 8).Draw(t, "wrong")
		}
		for _, b := range backfills {
			starts, _ := runRigid(t, nowAndThen(t), must(b.make, baseline.BackfillOptions{Places: places})(), places, jobs)
			if b.name == "fcfs" && !slices.IsSorted(starts) {
				t.Fatalf("starts %v", starts)
			}
		}
	})
}
