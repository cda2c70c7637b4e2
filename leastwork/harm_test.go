package leastwork

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// misled returns a policy that has seen told times be off by 20 octaves up and down, 120 times, while
// the tasks all took a minute. Without told it is told nothing of the same tasks.
func misled(t *testing.T, told bool) *Policy {
	p, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	slot := sojourn.Slot{ID: 100}
	observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
	for i := range sojourn.JobID(120) {
		job := &sojourn.Job{ID: 1<<40 + i, Phases: []sojourn.Phase{{Tasks: 1}}}
		if told {
			job.Phases[0].Estimate = time.Minute << 20 >> (40 * (i % 2))
		}
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
		a, _ := p.Assign(slot.ID)
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slot, Service: time.Minute})
	}
	observe(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: slot})
	return p
}

// A task that took no time teaches what one of a nanosecond teaches. So what is predicted later of jobs
// of the same name is the same.
func TestNoTimeCountsAsANanosecond(t *testing.T) {
	after := func(first time.Duration) (works []string) {
		p, err := New(Options{})
		if err != nil {
			t.Fatal(err)
		}
		slot := sojourn.Slot{ID: 1}
		observe := func(ev sojourn.Event) {
			t.Helper()
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: slot})
		for i, took := range []time.Duration{first, time.Second, first, time.Minute, time.Minute, time.Minute, time.Minute} {
			job := &sojourn.Job{ID: sojourn.JobID(i + 1), Name: "a", Phases: []sojourn.Phase{{Tasks: 1}}}
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: job})
			attrs, _ := p.Explain(job.ID)
			for _, attr := range attrs {
				if attr.Key == "work" {
					works = append(works, attr.Value.String())
				}
			}
			a, _ := p.Assign(slot.ID)
			observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: slot, Service: took})
		}
		return works
	}
	zero, one := after(0), after(1)
	if !slices.Equal(zero, one) {
		t.Errorf("work of later jobs: %v s, want %v s", zero, one)
	}
	if len(one) != 7 || one[1] == one[3] {
		t.Errorf("work of later jobs: %v s, want 7 numbers that learn", one)
	}
}

// Told times that are not used change no decision: the policy then does what it does if it is told
// nothing, down to the reserve and to when jobs are late. So what useless times cost at most is what
// is lost until they are no longer used.
func TestUselessTimesChangeNothing(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		slots := rapid.SampledFrom([]int{1, 2, 24, 25, 60}).Draw(rt, "slots")
		now := sojourn.Time(0)
		var jobs []*sim.Job
		for i := range rapid.IntRange(1, 30).Draw(rt, "jobs") {
			job := &sim.Job{Job: sojourn.Job{ID: sojourn.JobID(i + 1), Weight: rapid.SampledFrom([]float64{0, 1, 8}).Draw(rt, "weight")}}
			for range rapid.IntRange(1, 2).Draw(rt, "phases") {
				job.Phases = append(job.Phases, sojourn.Phase{Tasks: rapid.SampledFrom([]int{1, 2, 12}).Draw(rt, "tasks")})
				// Within 3 octaves of a minute, so that the mean stays a better guess.
				job.Times = append(job.Times, sim.Times{Each: time.Duration(rapid.Int64Range(int64(8*time.Second), int64(480*time.Second)).Draw(rt, "time"))})
			}
			job.At = now
			now = now.Add(rapid.SampledFrom([]time.Duration{0, 5 * time.Minute, 2 * time.Hour}).Draw(rt, "gap"))
			jobs = append(jobs, job)
		}
		type step struct {
			at   sojourn.Time
			kind sojourn.EventKind
			task sojourn.TaskID
			slot sojourn.SlotID
		}
		history := func(told bool) (steps []step) {
			p := misled(t, told)
			cfg := sim.Config{Policy: p, Jobs: sim.Jobs(jobs...), Estimates: sim.Estimates{Mode: sim.None}, NoAudit: true}
			if told {
				cfg.Estimates = sim.Estimates{Mode: sim.LogNormal, Sigma: 14}
			}
			cfg.Cluster = sim.Cluster{Nodes: []sim.Node{{Slots: []int{slots}}}}
			cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
				s := step{ev.At, ev.Kind, ev.Task, ev.Slot.ID}
				steps = append(steps, s)
			}
			if _, err := sim.Run(context.Background(), cfg); err != nil {
				rt.Fatal(err)
			}
			if b := p.stats.of(0); told && (b.useTold || b.toldVotes <= 120) {
				rt.Fatalf("told times are used: %+v", b)
			}
			return steps
		}
		if told, untold := history(true), history(false); !slices.Equal(told, untold) {
			rt.Fatalf("told times that are not used: %v\nno told times: %v", told, untold)
		}
	})
}

// The moving means weigh all errors alike: that of the i-th of n votes by
//
//	w(i) = 1/m(i) * (1 - 1/m(i+1)) ... (1 - 1/m(n)), m(i) = min(i+16, 128),
//
// and what stood there before the first vote by what is missing to 1. So while told times are used,
// they are off by at most 9/8 of what the mean of the class is off, and while they are not, by at
// least 8/9 of it, whatever is told.
func TestToldTimesAreUsedWhileTheyAreGood(t *testing.T) {
	// Each vote cuts less than one 2^-16 off a mean, and a mean forgets one part in 128 of that with
	// each further vote. The bias of told times is such a mean, too.
	const rounding = 2.0 * 129 / 65536
	rapid.Check(t, func(t *rapid.T) {
		var b stats
		b.reset()
		var told, class []float64 // by how many octaves each was off
		bias, sum := 0.0, 0.0
		lies, spread := int64(1), int64(1)
		for vote := range rapid.IntRange(1, 600).Draw(t, "votes") {
			if vote%100 == 0 {
				lies = rapid.SampledFrom([]int64{1, 1 << 4, 1 << 10, 1 << 40}).Draw(t, "lies")
				spread = rapid.SampledFrom([]int64{1, 1 << 4, 1 << 10, 1 << 20}).Draw(t, "spread")
			}
			took := time.Duration(rapid.Int64Range(1, spread).Draw(t, "took"))
			says := took * time.Duration(rapid.Int64Range(1, lies).Draw(t, "lie"))
			b.vote(took, says, "", false)

			n := float64(len(told))
			y, x := math.Log2(float64(took)), math.Log2(float64(took))-math.Log2(float64(says))
			usual := math.Log2(60e9)
			if n > 0 {
				usual = sum / n
			} else {
				bias = x
			}
			told, class = append(told, math.Abs(x-bias)), append(class, math.Abs(y-usual))
			sum, bias = sum+y, bias+(x-bias)/math.Min(n+1, 128)

			offTold, offClass, rest := 0.0, 0.0, 1.0
			for i := len(told) - 1; i >= 0; i-- {
				w := 1 / math.Min(float64(i+1+16), 128)
				offTold, offClass, rest = offTold+rest*w*told[i], offClass+rest*w*class[i], rest*(1-w)
			}
			offClass += rest * 1.25
			if b.useTold && offTold > offClass*9/8+3*rounding || !b.useTold && offTold < offClass*8/9-3*rounding {
				t.Fatalf("told times are used: %v, though they are off by %v octaves and the class by %v", b.useTold, offTold, offClass)
			}
		}
	})
}
