package td_test

import (
	"log/slog"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/internal/snapshottest"
	"github.com/sojourn-sched/sojourn/sojourntest"
	"github.com/sojourn-sched/sojourn/td"
)

// demandOf is the demand of a job in these tests: its name, if that is a number.
func demandOf(j *sojourn.Job) uint32 {
	if j.Name == "" || j.Name[0] > '9' {
		return 0
	}
	n, _ := strconv.Atoi(j.Name)
	return uint32(n)
}

// newWith returns a policy to which the name of a job is its demand.
func newWith(opts td.Options) *td.Policy {
	opts.DemandOf = demandOf
	p, err := td.New(opts)
	if err != nil {
		panic(err)
	}
	return p
}

func newPolicy() sojourn.Policy { return newWith(td.Options{}) }

func TestConformance(t *testing.T) {
	var others []func() sojourn.Policy // one for each option that is part of the state
	for _, o := range []td.Options{
		{Theta: 3}, {SplitTime: 1}, {SplitSize: 1 << 20}, {Bandwidth: 1e6}, {SelfTune: true}, {AsPrinted: true},
	} {
		others = append(others, func() sojourn.Policy { return newWith(o) })
	}
	histories.Share(t, 4)
	changed := td.Options{L: 0.6, H: 1.3, MaxCoScheduled: 1, Demand: 2, DefaultTaskTime: time.Second}
	sojourntest.Run(t, newPolicy, sojourntest.Options{
		TellsSlotsApart: true,                        // by the job that ran there last
		ChargesLostWork: true, ChargesFailures: true, // since a status only ever grows
		Others: others, Changed: []func() sojourn.Policy{func() sojourn.Policy { return newWith(changed) }},
	})
}

// The options are drawn anew for each history. As printed, some tasks are never served:
// TestAsPrintedStarves.
func TestConformanceOfAllOptions(t *testing.T) {
	histories.Options(t, 2, func(t *rapid.T) td.Options {
		o := td.Options{
			L:              rapid.SampledFrom([]float64{0, 0.5, 0.6, 1}).Draw(t, "L"),
			H:              rapid.SampledFrom([]float64{0, 1.3, 2}).Draw(t, "H"),
			Theta:          rapid.IntRange(0, 3).Draw(t, "theta"),
			SplitTime:      rapid.SampledFrom([]time.Duration{0, 1, time.Second}).Draw(t, "split time"),
			SplitSize:      rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "split size"),
			Bandwidth:      rapid.SampledFrom([]float64{0, 1e6}).Draw(t, "bandwidth"),
			HotPolicy:      rapid.SampledFrom([]td.HotPolicy{td.Relaxed, td.Strict}).Draw(t, "hot"),
			MaxCoScheduled: rapid.IntRange(0, 3).Draw(t, "co-scheduled"),
			Demand:         rapid.Uint32Range(0, 2).Draw(t, "demand"),
			SelfTune:       rapid.Bool().Draw(t, "self-tune"),
		}
		o.AsPrinted = !o.SelfTune && rapid.IntRange(0, 3).Draw(t, "as printed") == 0
		if rapid.Bool().Draw(t, "task times") {
			o.DefaultTaskTime = time.Second
		}
		return o
	}, func(t *testing.T, opts td.Options) {
		sojourntest.Run(t, func() sojourn.Policy { return newWith(opts) },
			sojourntest.Options{TellsSlotsApart: true, ChargesLostWork: true, ChargesFailures: true, IdlesOnPurpose: opts.HotPolicy == td.Strict, MayStarve: opts.AsPrinted})
	})
}

// As printed, a task is never served although its slot is free and no other task is
// there. The last task of the slot was one of its own job, which is not senile. So lines
// 6 to 18 of Algorithm 1 are left out, and the job never joins the others.
func TestAsPrintedStarves(t *testing.T) {
	for _, opts := range []td.Options{{}, {AsPrinted: true}} {
		p := newWith(opts)
		slot, task := sojourn.Slot{ID: 1, Class: 1}, sojourn.TaskID{Job: 1}
		for _, ev := range []sojourn.Event{
			{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 2, Class: 1}}}},
			{Kind: sojourn.SlotAdded, Slot: slot},
			{Kind: sojourn.TaskAdopted, Task: task, Attempt: 1, Slot: slot},
			{Kind: sojourn.TaskFinished, At: sojourn.Time(time.Second), Task: task, Attempt: 1, Slot: slot},
			{Kind: sojourn.Tick, At: sojourn.Time(time.Hour)},
		} {
			if err := p.Observe(ev); err != nil {
				t.Fatal(err)
			}
		}
		_, waits := p.NextWake()
		if _, served := p.Assign(slot.ID); waits || served == opts.AsPrinted {
			t.Errorf("as printed %v: task 1 is served: %v, and there is a NextWake: %v", opts.AsPrinted, served, waits)
		}
	}
}

// A snapshot that is restored was read to the last bit.
func TestForgedSnapshots(t *testing.T) {
	for _, opts := range []td.Options{{}, {HotPolicy: td.Strict, Theta: 1, SelfTune: true}} {
		snapshottest.Attack(t, func() sojourn.Policy { return newWith(opts) }, 1000)
	}
}

// A job takes memory for tasks that are started, not for tasks that are announced.
func TestLargeJob(t *testing.T) {
	for _, opts := range []td.Options{{}, {HotPolicy: td.Strict, SelfTune: true}} {
		snapshottest.Large(t, func() sojourn.Policy { return newWith(opts) })
	}
}

// attr returns the value of a key in Explain of a job.
func attr(p *td.Policy, id sojourn.JobID, key string) slog.Value {
	attrs, _ := p.Explain(id)
	for _, a := range attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return slog.Value{}
}
