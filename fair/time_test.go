package fair_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// Close to the end of time, a wake is later than now or there is none, so a driver that
// ticks at each wake comes to an end. A snapshot from there can be restored.
func TestWakesAtTheEndOfTime(t *testing.T) {
	long := time.Duration(math.MaxInt64)
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, long / 2, long - 1, long}).Draw(t, "length")
		build := rapid.SampledFrom([]func() sojourn.Policy{
			with(fair.Options{Delay: d, RackDelay: &d}),
			with(fair.Options{Preemption: fair.Preemption{FairTimeout: d, Interval: d}}),
			with(fair.Options{Preemption: fair.Preemption{MinTimeout: 1, Interval: d}, Pools: map[string]fair.Pool{"b": {Min: fair.Slots{0: 3}}}}),
			with(fair.Options{Pools: map[string]fair.Pool{"*": {Policy: constructors.HFSP.With(hfsp.Options{Delta: d, NodeDelay: d, RackDelay: d})}}}),
			constructors.RTMR.With(rtmr.Options{Latency: d}),
			constructors.TD.With(td.Options{HotPolicy: td.Strict, Theta: 1, SplitTime: d}),
		}).Draw(t, "policy")
		p := build()
		now := sojourn.Time(math.MaxInt64 - rapid.SampledFrom([]int64{0, 1, 2e6, 2e9, math.MaxInt64 / 2, math.MaxInt64}).Draw(t, "before the end"))
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		waker, _ := sojourn.As[sojourn.Waker](p)
		snapshotter, _ := sojourn.As[sojourn.Snapshotter](p)
		for i := range 3 {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i), Node: sojourn.NodeID(1 + i), Rack: 1}})
		}
		for i, pool := range []string{"a", "b", "c"} {
			estimate := rapid.SampledFrom([]time.Duration{1, time.Second, long / 2}).Draw(t, "estimate")
			observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(1 + i), Pool: pool, Phases: []sojourn.Phase{
				{Tasks: 2, Estimate: estimate, Inputs: sojourn.MakeInputs([][]sojourn.NodeID{{9}, {1, 9}})}}}})
		}
		for ticks := 0; ; ticks++ {
			for _, id := range []sojourn.SlotID{0, 1, 2} {
				if ticks == 0 || ticks == 2 && rapid.Bool().Draw(t, "offer") {
					func() {
						defer func() { recover() }() // it is busy
						p.Assign(id)
					}()
				}
			}
			data, err := snapshotter.AppendBinary(nil)
			if err != nil {
				t.Fatal(err)
			}
			p2, _ := sojourn.As[sojourn.Snapshotter](build())
			if err := p2.UnmarshalBinary(data); err != nil {
				t.Fatal(err)
			}
			at, ok := waker.NextWake()
			if !ok || ticks == 30 {
				return
			}
			if ticks > 0 && at <= now {
				t.Fatalf("after a Tick at %d NextWake() = %d", now, at)
			}
			now = max(at, now)
			observe(sojourn.Event{Kind: sojourn.Tick})
		}
	})
}

// A delay under which no job could wait is refused, and the error says what to set
// instead.
func TestDelayWithoutJobsThatWait(t *testing.T) {
	inner := fair.Pool{Policy: constructors.FIFO.With(fifo.Options{})}
	pools := func(p fair.Pool, paths ...string) fair.Options {
		o := fair.Options{Pools: map[string]fair.Pool{}}
		for _, path := range paths {
			o.Pools[path] = p
		}
		return o
	}
	strict := pools(inner, "a", "b")
	strict.Strict = true
	for _, tc := range []struct {
		opts fair.Options
		bad  bool
	}{
		{pools(inner, "*"), true},
		{pools(inner, "*", "a"), true},
		{strict, true},
		{pools(inner, "a"), false},
		{pools(inner, "a/*"), false},
		{pools(fair.Pool{}, "*"), false},
		{fair.Options{}, false},
	} {
		if _, err := fair.New(tc.opts); err != nil {
			t.Errorf("without a delay: %v", err)
		}
		tc.opts.Delay = 5 * time.Second
		_, err := fair.New(tc.opts)
		if (err != nil) != tc.bad || tc.bad && !strings.Contains(err.Error(), "5s") {
			t.Errorf("%+v: %v, want an error that names an option: %v", tc.opts.Pools, err, tc.bad)
		}
	}
}
