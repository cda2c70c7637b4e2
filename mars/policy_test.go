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
// the Tick that it owes.
func TestPolicyConformance(t *testing.T) {
	list := map[string]mars.Options{
		"plans again": {},
		"each time":   {Interval: 1, DefaultTaskTime: 2 * time.Minute},
		"commits":     {Batch: 7 * time.Second, Commit: true},
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
			if changed.Iterations = 3; opts.Batch == 0 {
				changed.Interval = 3 * time.Second
			}
			sojourntest.Run(t, policy(opts), sojourntest.Options{
				IdlesOnPurpose: true, Others: others, Changed: []func() sojourn.Policy{policy(changed)},
			})
		})
	}
}

// The options are drawn anew for each history.
func TestConformanceOfAllOptions(t *testing.T) {
	histories.Options(t, 4, func(t *rapid.T) mars.Options {
		o := mars.Options{Iterations: rapid.SampledFrom([]int{1, 3, 40}).Draw(t, "iterations")}
		o.DefaultTaskTime = rapid.SampledFrom([]time.Duration{0, 1, time.Second}).Draw(t, "task time")
		interval := rapid.SampledFrom([]time.Duration{1, time.Second, 7 * time.Second, time.Hour}).Draw(t, "interval")
		if rapid.Bool().Draw(t, "batches") {
			o.Batch, o.Commit = interval, rapid.Bool().Draw(t, "commit")
		} else {
			o.Interval = interval
		}
		return o
	}, func(t *testing.T, opts mars.Options) {
		sojourntest.Run(t, policy(opts), sojourntest.Options{IdlesOnPurpose: true})
	})
}

// At any instant, with lengths, weights and numbers of tasks from the ends of their
// ranges, the policy restores what it saves, to the same bytes. It asks for no instant
// that has passed, and not again for one at which it has had its Tick.
func TestExtremes(t *testing.T) {
	last := sojourn.Time(math.MaxInt64)
	for _, at := range []sojourn.Time{0, 1, 1 << 61, 1<<62 - 1, 1 << 62, 1<<62 + 1, 3 << 61, last - 2e9, last - 1, last} {
		for _, o := range []mars.Options{{}, {DefaultTaskTime: math.MaxInt64}, {DefaultTaskTime: 1}, {Interval: 1}, {Interval: 1<<61 - 1},
			{Batch: time.Second}, {Batch: time.Second, Commit: true}, {Batch: 1<<61 - 1}, {Batch: 1<<61 - 1, Commit: true}} {
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
				if wake, ok := p.NextWake(); ok {
					now = wake
				}
				observe(sojourn.Event{Kind: sojourn.Tick})
				if _, ok := p.NextWake(); ok {
					t.Fatalf("%+v: at %v a plan is due again", o, now)
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

// A job takes memory for tasks that are started, not for tasks that are announced.
func TestLargeJob(t *testing.T) {
	snapshottest.Large(t, policy(mars.Options{}))
	snapshottest.Large(t, policy(mars.Options{Batch: time.Second, Commit: true}))
}

func TestForgedPolicySnapshots(t *testing.T) {
	snapshottest.Attack(t, policy(mars.Options{Interval: 1}), 600)
	snapshottest.Attack(t, policy(mars.Options{Batch: time.Second, Commit: true}), 600)
}
