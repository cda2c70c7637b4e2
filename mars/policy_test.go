package mars_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func policy(opts mars.Options) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := mars.New(opts)
		if err != nil {
			panic(err)
		}
		return p
	}
}

// A free slot is declined at the instant at which a plan is due, until the driver sends
// the Tick that it owes. For lost work see TestLostWorkIsNotCharged.
func TestPolicyConformance(t *testing.T) {
	list := map[string]mars.Options{
		"plans again": {},
		"each time":   {Interval: 1, DefaultTaskTime: 2 * time.Minute},
		"commits":     {Batch: 7 * time.Second, Commit: true},
		"in steps":    {Interval: 1, Iterations: 2, Step: 20, DefaultTaskTime: time.Hour},
		"in batches":  {Batch: time.Second, Iterations: 2, Step: 20},
	}
	for name, opts := range list {
		var others []func() sojourn.Policy
		for n, o := range list {
			if n != name {
				others = append(others, policy(o))
			}
		}
		t.Run(name, func(t *testing.T) {
			// Plans take time, so the first options get a fifth of rapid's checks, and
			// each other ones a fiftieth.
			share := 5
			if name != "plans again" {
				share = 50
			}
			histories.Share(t, share)
			changed := opts
			changed.Step = 100
			if changed.Iterations = 3; opts.Batch == 0 {
				changed.Interval = 3 * time.Second
			}
			sojourntest.Run(t, policy(opts), sojourntest.Options{
				IdlesOnPurpose: true, ChargesLostWork: true, ChargesFailures: true, Others: others, Changed: []func() sojourn.Policy{policy(changed)},
			})
		})
	}
}

// The options are drawn anew for each history.
func TestConformanceOfAllOptions(t *testing.T) {
	histories.Options(t, 4, func(t *rapid.T) mars.Options {
		o := mars.Options{Iterations: rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "iterations"), Step: rapid.SampledFrom([]int{0, 10, 100, 1000}).Draw(t, "step")}
		o.DefaultTaskTime = rapid.SampledFrom([]time.Duration{0, 1, time.Second}).Draw(t, "task time")
		interval := rapid.SampledFrom([]time.Duration{1, time.Second, 7 * time.Second, time.Hour}).Draw(t, "interval")
		if rapid.Bool().Draw(t, "batches") {
			o.Batch, o.Commit = interval, rapid.Bool().Draw(t, "commit")
		} else {
			o.Interval = interval
		}
		return o
	}, func(t *testing.T, opts mars.Options) {
		sojourntest.Run(t, policy(opts), sojourntest.Options{IdlesOnPurpose: true, ChargesLostWork: true, ChargesFailures: true})
	})
}

// At any instant, with lengths, weights and numbers of tasks from the ends of their
// ranges, the policy restores what it saves, to the same bytes. It asks for no instant
// that has passed, and not again for one at which it has had its Tick.
func TestExtremes(t *testing.T) {
	last := sojourn.Time(math.MaxInt64)
	for _, at := range []sojourn.Time{0, 1, 1 << 61, 1<<62 - 1, 1 << 62, 1<<62 + 1, 3 << 61, last - 2e9, last - 1, last} {
		for _, o := range []mars.Options{{}, {DefaultTaskTime: math.MaxInt64}, {DefaultTaskTime: 1}, {Interval: 1}, {Interval: 1<<61 - 1},
			{Batch: time.Second}, {Batch: time.Second, Commit: true}, {Batch: 1<<61 - 1}, {Batch: 1<<61 - 1, Commit: true},
			{Step: 20}, {Batch: time.Second, Commit: true, Step: 20}} {
			o.Iterations = 3
			p := policy(o)().(*mars.Policy)
			now, id := at, sojourn.JobID(0)
			observe := func(ev sojourn.Event) {
				ev.At = now
				if err := p.Observe(ev); err != nil {
					t.Fatalf("Observe(%v) = %v", ev, err)
				}
				saved, err := p.AppendBinary(nil)
				if err != nil {
					t.Fatal(err)
				}
				p = policy(o)().(*mars.Policy)
				if err := p.UnmarshalBinary(saved); err != nil {
					t.Fatalf("%+v: after %v: UnmarshalBinary = %v", o, ev, err)
				}
				if again, _ := p.AppendBinary(nil); !bytes.Equal(again, saved) {
					t.Fatalf("%+v: after %v: what was restored saves something else", o, ev)
				}
				if wake, ok := p.NextWake(); ok && (wake < now || wake == now && ev.Kind == sojourn.Tick) {
					t.Fatalf("%+v: after %v: NextWake = %v", o, ev, wake)
				}
				for _, id := range p.AppendRanking(nil) {
					p.Explain(id)
				}
			}
			arrive := func(weight float64, tasks int, estimate, delay time.Duration) {
				id++
				ph := sojourn.Phase{Tasks: tasks, Estimate: estimate}
				if delay > 0 {
					ph.Delays = slices.Repeat([]time.Duration{delay}, tasks)
				}
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Weight: weight, Phases: []sojourn.Phase{ph, {Tasks: 1, Class: 1, Estimate: estimate}}}})
			}
			for range 3 {
				observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(id)}})
				arrive(1<<32-1, 1, math.MaxInt64, 0)
				arrive(1.0/(1<<16), 1<<13, 0, 0)
				arrive(1<<32-1, 3, 1, math.MaxInt64)
				arrive(1, 2, math.MaxInt64/2, math.MaxInt64)
				first, ticks := now, 0
				for wake, ok := p.NextWake(); ok || ticks == 0; wake, ok = p.NextWake() {
					if ok {
						now = wake
					}
					if ticks == 0 {
						first = now
					}
					observe(sojourn.Event{Kind: sojourn.Tick})
					if ticks++; ticks > 1 && o.Step == 0 || ticks > 100 {
						t.Fatalf("%+v: at %v a plan is due again", o, now)
					}
				}
				if (ticks > 1) != (o.Step > 0 && first < last) {
					t.Fatalf("%+v: at %v a plan took %d Ticks", o, now, ticks)
				}
				if slot, ok := p.Seek(0); !ok {
					t.Fatalf("%+v: at %v nothing is to start", o, now)
				} else if _, ok := p.Assign(slot); !ok {
					t.Fatalf("%+v: at %v Seek names slot %d, and Assign declines it", o, now, slot)
				}
			}
		}
	}
}

// A plan is the same, however many steps it takes. The steps are half a millisecond apart, and what
// happens between them does not stop them: jobs end, arrive, are cancelled.
func TestPlanInSteps(t *testing.T) {
	order := func(step int, between func(step int, observe func(sojourn.Event))) (ranking []sojourn.JobID, ticks int) {
		p := policy(mars.Options{Step: step})().(*mars.Policy)
		now := sojourn.Time(0)
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatalf("Observe(%v) = %v", ev, err)
			}
		}
		for id := sojourn.JobID(1); id <= 300; id++ {
			ph := sojourn.Phase{Tasks: int(1 + id*7%13), Estimate: time.Duration(1+id*31%17) * time.Second}
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Weight: float64(1 + id%5), Phases: []sojourn.Phase{ph, {Tasks: 1, Class: 1}}}})
		}
		for at, ok := p.NextWake(); ok && at < sojourn.Time(time.Second); at, ok = p.NextWake() {
			if ticks > 0 && at != now.Add(time.Millisecond/2) {
				t.Fatalf("a step at %v, and the next at %v", now, at)
			}
			now = at
			observe(sojourn.Event{Kind: sojourn.Tick})
			ticks++
			between(ticks, observe)
		}
		return p.AppendRanking(nil), ticks
	}
	nothing := func(int, func(sojourn.Event)) {}
	want, ticks := order(math.MaxInt, nothing)
	if ticks != 1 {
		t.Fatalf("%d Ticks, want 1", ticks)
	}
	for _, step := range []int{1000, 137} {
		got, ticks := order(step, nothing)
		if !slices.Equal(got, want) {
			t.Errorf("in steps of %d, the order is %v, want %v", step, got, want)
		}
		if ticks < 10_000/step {
			t.Errorf("in steps of %d, a plan took %d Ticks", step, ticks)
		}
	}
	// Jobs end during the plan, and others with their handles arrive.
	got, _ := order(100, func(step int, observe func(sojourn.Event)) {
		if step%20 == 5 && step < 300 {
			observe(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: sojourn.JobID(step)}})
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(1000 + step), Phases: []sojourn.Phase{{Tasks: 1}}}})
		}
	})
	at := 0
	for _, id := range want {
		if gone := id%20 == 5 && !slices.Contains(got, id); !gone {
			if at = slices.Index(got[at:], id) + at; got[at] != id {
				t.Fatalf("job %d is at another place: %v, want %v", id, got, want)
			}
		}
	}
}

// A job takes memory for tasks that are started, not for tasks that are announced.
func TestLargeJob(t *testing.T) {
	snapshottest.Large(t, policy(mars.Options{}))
	snapshottest.Large(t, policy(mars.Options{Batch: time.Second, Commit: true}))
}

func TestForgedPolicySnapshots(t *testing.T) {
	snapshottest.Attack(t, policy(mars.Options{Interval: 1}), 600)
	snapshottest.Attack(t, policy(mars.Options{Batch: time.Second, Commit: true}), 600)
	snapshottest.Attack(t, policy(mars.Options{Interval: 1, Step: 20, Iterations: 3}), 600)
}
