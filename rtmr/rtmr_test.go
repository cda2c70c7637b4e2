package rtmr_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

// with returns a constructor of policies with given options.
func with(opts rtmr.Options) func() sojourn.Policy {
	return func() sojourn.Policy {
		p, err := rtmr.New(opts)
		if err != nil {
			panic(err)
		}
		return p
	}
}

// supported reports whether the theory covers a job: a map phase, a reduce phase, or both
// with a barrier between them.
func supported(j *sojourn.Job) bool {
	return len(j.Phases) == 1 ||
		j.Phases[0].Class == sojourn.MapClass && j.Phases[1].Class == sojourn.ReduceClass && j.Threshold(1) == j.Phases[0].Tasks
}

// conformance says what the policy does not promise.
var conformance = sojourntest.Options{
	IdlesOnPurpose: true, Rejects: true, NeedsEstimates: true, MaxPhases: 2,
	Classes: []sojourn.Class{sojourn.MapClass, sojourn.ReduceClass}, Supports: supported,
}

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name  string
		share int
		opts  rtmr.Options
	}{
		{"rebook", 4, rtmr.Options{}},
		{"chain, feedback", 4, rtmr.Options{Booking: rtmr.Chain, Feedback: true}},
		{"chain, paper", 8, rtmr.Options{Booking: rtmr.Chain, Feedback: true, Delta: 1e9, OnePosition: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			histories.Share(t, tc.share)
			sojourntest.Run(t, with(tc.opts), conformance)
		})
	}
}

// known reports whether a job is supported where all rates are known: a phase without an
// estimate has a size, or gets its part of a phase that has one.
func known(j *sojourn.Job) bool {
	for i := range j.Phases {
		p := &j.Phases[i]
		for k := range p.Tasks {
			if p.EstimateOf(k) == 0 && p.Bytes == nil && (i == 0 || j.Phases[0].Bytes == nil) {
				return false
			}
		}
	}
	return supported(j)
}

// The options are drawn anew for each history. Those that make estimates are drawn
// together, so that the policy supports the same jobs all the time, whatever it learns.
func TestConformanceOfAllOptions(t *testing.T) {
	histories.Options(t, 2, func(t *rapid.T) rtmr.Options {
		bit := func(name string) bool { return rapid.Bool().Draw(t, name) }
		o := rtmr.Options{
			Order:            rapid.SampledFrom([]rtmr.Order{rtmr.EDF, rtmr.EDF, rtmr.FIFO}).Draw(t, "order"),
			OnePosition:      bit("one position"),
			Latency:          rapid.SampledFrom([]time.Duration{0, 1, time.Second}).Draw(t, "latency"),
			RequireDeadline:  bit("require deadline"),
			PaperReservation: bit("paper reservation"),
		}
		if bit("chain") {
			o.Booking, o.Feedback = rtmr.Chain, bit("feedback")
		}
		if o.Feedback {
			o.Delta = rapid.SampledFrom([]time.Duration{0, 1, time.Second}).Draw(t, "delta")
		}
		if bit("rates") {
			rate := rapid.SampledFrom([]time.Duration{1, time.Second, time.Hour})
			o.MapRate, o.ReduceRate = rate.Draw(t, "map rate"), rate.Draw(t, "reduce rate")
			o.StartUp = rapid.SampledFrom([]time.Duration{0, time.Second}).Draw(t, "start-up")
			o.Ratio = rapid.SampledFrom([]float64{0.1, 3}).Draw(t, "ratio")
			o.Skew = rapid.SampledFrom([]float64{0, 1.5}).Draw(t, "skew")
			o.Learn = bit("learn")
		}
		return o
	}, func(t *testing.T, opts rtmr.Options) {
		o := conformance
		if opts.MapRate > 0 {
			o.NeedsEstimates, o.Supports = false, known
		}
		sojourntest.Run(t, with(opts), o)
	})
}

// Job 2 has started. Its next attempt outlasts its bound, so that its promise is void, and is refused. The promise holds again, and job 2
// keeps its turn before job 1, which has not started.
func TestLostAfterAnOverrun(t *testing.T) {
	o := conformance
	o.NeedsEstimates, o.Supports = false, known
	sojourntest.Replay(t, with(rtmr.Options{
		Booking: rtmr.Chain, Feedback: true, Delta: time.Second, Latency: time.Second, RequireDeadline: true,
		MapRate: time.Hour, ReduceRate: time.Hour, StartUp: time.Second, Ratio: .1, Skew: 1.5,
	}), o, `
		sojourn history 1
		repeat: calls, ends and replays; all questions; small names
		@0s SlotAdded 1
		@0s JobArrived 1 deadline=3617.500000003s | 1x1ns
		@16.500000002s SlotAdded 2
		@26.500000003s TaskHeld 1/0/0
		@26.500000003s JobArrived 2 deadline=3626.500000002s | 1x1ns
		@26.500000003s Assign 2 -> 2/0/0#1
		@26.500000003s TaskFailed 2/0/0#1 slot=2
		@26.500000003s TaskReady 1/0/0
		@26.500000003s Assign 2 -> 2/0/0#2
		@86.500000003s Tick
	`)
}

// In the chain, a job without maps waits for its turn at the map slots. An assignment
// there can end the wait. Then the job takes the reduce slot that was declined, so a
// driver has to offer it again.
func TestTurnAtMapSlots(t *testing.T) {
	p := with(rtmr.Options{Booking: rtmr.Chain})()
	job := func(id sojourn.JobID, deadline sojourn.Time, c sojourn.Class) *sojourn.Job {
		return &sojourn.Job{ID: id, Deadline: deadline, Phases: []sojourn.Phase{{Tasks: 1, Class: c, Estimate: time.Second}}}
	}
	for _, ev := range []sojourn.Event{
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1, Class: sojourn.ReduceClass}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 2}},
		{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 3}},
		{Kind: sojourn.JobArrived, Job: job(1, 3600e9, sojourn.ReduceClass)},
		{Kind: sojourn.JobArrived, Job: job(2, 20e9, sojourn.MapClass)},
	} {
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	var got string
	for _, slot := range []sojourn.SlotID{1, 2, 1} {
		a, ok := p.Assign(slot)
		got += fmt.Sprintf("%d:%v ", slot, ok)
		if ok {
			got += fmt.Sprintf("(%v) ", a.Task)
		}
	}
	if want := "1:false 2:true (2/0/0) 1:true (1/0/0) "; got != want {
		t.Errorf("the slots get %q, want %q", got, want)
	}
}

// Promises rest on all options except one.
func TestSnapshotOptions(t *testing.T) {
	saved, err := with(rtmr.Options{})().(*rtmr.Policy).AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, opts := range []rtmr.Options{
		{}, {RequireDeadline: true}, // these two accept it
		{Order: rtmr.FIFO}, {OnePosition: true}, {Latency: 1}, {MapRate: 1}, {ReduceRate: 1}, {StartUp: 1}, {Ratio: 1}, {Skew: 1},
		{Learn: true}, {PaperReservation: true}, {Booking: rtmr.Chain}, {Booking: rtmr.Chain, Feedback: true},
	} {
		err := with(opts)().(*rtmr.Policy).UnmarshalBinary(saved)
		if (i < 2) != (err == nil) || err != nil && !errors.Is(err, sojourn.ErrForeignSnapshot) {
			t.Errorf("restored under %+v: %v", opts, err)
		}
	}
}

// A promise allows for a slot that is offered late by less than the latency. A slot that is added
// meanwhile breaks nothing.
func TestSlotAddedWithinTheLatency(t *testing.T) {
	for _, booking := range []rtmr.Booking{rtmr.Rebook, rtmr.Chain} {
		p := with(rtmr.Options{Booking: booking, Latency: time.Second})()
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: 1}},
			{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Deadline: sojourn.Time(2 * time.Second), Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}}},
			{Kind: sojourn.SlotAdded, At: 1, Slot: sojourn.Slot{ID: 2, Class: sojourn.ReduceClass}},
		} {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
			if void := p.(sojourn.Promiser).AppendVoid(nil); len(void) > 0 {
				why, ok := p.(sojourn.Promiser).Void(1)
				t.Errorf("%v: after %v the promises to %v are void, because %q, %v", booking, ev, void, why, ok)
			}
		}
	}
}
