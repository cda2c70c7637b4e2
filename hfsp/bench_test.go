package hfsp_test

import (
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/kit/vqueue"
	"github.com/sojourn-sched/sojourn/sojourntest/steady"
)

func BenchmarkSteady(b *testing.B) {
	b.Run("floor", func(b *testing.B) { steady.Floor(b, steady.Sizes...) })
	b.Run("hfsp", func(b *testing.B) { steady.Run(b, with(hfsp.Options{}), steady.Sizes...) })
}

func BenchmarkLife(b *testing.B) { steady.Life(b, with(hfsp.Options{}), steady.Sizes...) }

func BenchmarkIdle(b *testing.B) { steady.Idle(b, with(hfsp.Options{})) }

// BenchmarkQuestions is what a driver asks at every event. The options are those that make
// a question expensive.
func BenchmarkQuestions(b *testing.B) {
	for _, o := range []struct {
		name string
		opts hfsp.Options
	}{
		{"default", hfsp.Options{}},
		{"kill", hfsp.Options{Preemption: hfsp.Kill}},
		{"kill,fraction", hfsp.Options{Preemption: hfsp.Kill, KillFraction: 0.25, Estimator: oracle}},
		{"kill,first", hfsp.Options{Preemption: hfsp.Kill, Late: vqueue.LateFirst, Estimator: oracle}},
		{"delay", hfsp.Options{Preemption: hfsp.Kill, NodeDelay: 5 * time.Second}},
	} {
		b.Run(o.name, func(b *testing.B) { steady.Questions(b, with(o.opts), 1000, 100_000) })
	}
}

// The last victim of each phase is at hand: to name one takes no memory.
func TestFirstVictimTakesNoMemory(t *testing.T) {
	p := with(hfsp.Options{Preemption: hfsp.Kill, Estimator: oracle})()
	observe := func(ev sojourn.Event) {
		t.Helper()
		if err := p.Observe(ev); err != nil {
			t.Fatal(err)
		}
	}
	for id := range sojourn.SlotID(2) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	}
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 1, Phases: []sojourn.Phase{{Tasks: 4, Estimate: time.Minute}}}})
	for id := range sojourn.SlotID(2) {
		if _, ok := p.Assign(id); !ok {
			t.Fatal("a slot is idle")
		}
	}
	observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: 2, Phases: []sojourn.Phase{{Tasks: 1, Estimate: time.Second}}}})
	var named []sojourn.Preemption
	ask := func() { named = p.(sojourn.Preemptor).AppendPreemptions(named[:0]) }
	if ask(); len(named) != 1 {
		t.Fatalf("%d victims, want 1: %v", len(named), named)
	}
	if got := testing.AllocsPerRun(100, ask); got != 0 {
		t.Errorf("%v allocations, want 0", got)
	}
}
