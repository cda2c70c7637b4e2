package fair_test

import (
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/history"
	"github.com/sojourn-sched/sojourn/sojourntest/choice"
)

func newWith(opts fair.Options) sojourn.Policy {
	p, err := fair.New(opts)
	if err != nil {
		panic(err)
	}
	return p
}

// over returns n/weight, where weight 0 means 1.
func over(n int, weight float64) *big.Rat {
	if weight == 0 {
		weight = 1
	}
	return new(big.Rat).Quo(new(big.Rat).SetInt64(int64(n)), new(big.Rat).SetFloat64(weight))
}

func weights(of map[string]float64) map[string]fair.Pool {
	list := map[string]fair.Pool{}
	for path, w := range of {
		list[path] = fair.Pool{Weight: w}
	}
	return list
}

var pools = map[string]float64{"a": 1, "b": 3, "c": 0.25}

// With the order Running, the least r/w goes first, among pools and then among the jobs of a pool.
func TestLeastRunningPerWeightFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		choice.Check(t, newWith(fair.Options{Order: fair.Running, Ties: fair.Arrival, Pools: weights(pools)}), choice.Options{Classes: 2, Phases: 2, Pools: []string{"", "a", "b", "c"}},
			func(w *choice.World, c sojourn.Class, a, b *choice.Job) bool {
				if pa, pb := a.Spec.Pool, b.Spec.Pool; pa != pb {
					sum := map[string]int{}
					for _, j := range w.Jobs {
						sum[j.Spec.Pool] += w.Running(j, c)
					}
					if d := over(sum[pa], pools[pa]).Cmp(over(sum[pb], pools[pb])); d != 0 {
						return d < 0
					}
					return w.PoolTurn(pa, c) < w.PoolTurn(pb, c)
				}
				if d := over(w.Running(a, c), a.Spec.Weight).Cmp(over(w.Running(b, c), b.Spec.Weight)); d != 0 {
					return d < 0
				}
				return a.Seq < b.Seq
			})
	})
}

// With the order Service, a pool that was idle starts level with the others and does not
// make up for the time in which it asked for nothing.
func TestIdlePoolsEarnNothing(t *testing.T) {
	p := newWith(fair.Options{Order: fair.Service})
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			t.Fatalf("Observe(%v) = %v, want nil", ev, err)
		}
	}
	arrive := func(id sojourn.JobID, pool string, tasks int) {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: pool, Phases: []sojourn.Phase{{Tasks: tasks}}}})
	}
	observe(sojourn.Event{Kind: sojourn.SlotAdded})
	next := func() sojourn.JobID {
		a, ok := p.Assign(0)
		if !ok {
			t.Fatal("Assign = false, want a task")
		}
		observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: 0}})
		return a.Task.Job
	}
	arrive(1, "busy", 200)
	for range 100 {
		next()
	}
	arrive(2, "idle", 100)
	count := map[sojourn.JobID]int{}
	for range 20 {
		count[next()]++
	}
	if count[1] != 10 || count[2] != 10 {
		t.Errorf("20 tasks went %d to the busy pool and %d to the idle one, want 10 and 10", count[1], count[2])
	}
}

// With the order Service, a pool that declines slots keeps its deficit. When it is served at last, the others
// still start level with the latest that was served. The inputs of job 1 are elsewhere: the pool of job 2
// starts five tasks, and then job 1 one. The pool that comes then does not make up for all of these.
func TestLateServiceMakesNobodyElseLate(t *testing.T) {
	replay(t, newWith(fair.Options{Order: fair.Service, Delay: time.Hour}), `
		@0s SlotAdded 0 node=1
		@0s SlotAdded 1 node=2
		@0s JobArrived 9 | 1
		@0s Assign 1 -> 9/0/0#1
		@0s JobArrived 1 pool=near | 9 inputs=2,2,2,2,2,2,2,2,2
		@0s JobArrived 2 pool=any | 99
		@0s Assign 0 -> 2/0/0#1
		@1s TaskFinished 2/0/0#1 slot=0
		@1s Assign 0 -> 2/0/1#1
		@2s TaskFinished 2/0/1#1 slot=0
		@2s Assign 0 -> 2/0/2#1
		@3s TaskFinished 2/0/2#1 slot=0
		@3s Assign 0 -> 2/0/3#1
		@4s TaskFinished 2/0/3#1 slot=0
		@4s Assign 0 -> 2/0/4#1
		@4s TaskFinished 9/0/0#1 slot=1
		@4s Assign 1 -> 1/0/0#1 source=2 locality=node
		@5s JobArrived 3 pool=new | 99
		@5s TaskFinished 2/0/4#1 slot=0
		@5s Assign 0 -> 3/0/0#1
		@6s TaskFinished 3/0/0#1 slot=0
		@6s Assign 0 -> 2/0/5#1
	`)
}

// An attempt that is adopted counts the same for a pool whose phases were held from the start and for
// one whose tasks were reported as held.
func TestAdoptedAttemptOfAHeldPool(t *testing.T) {
	for _, held := range []string{"JobArrived 2 pool=b | 1 held=all | 1", "JobArrived 2 pool=b | 1 | 1\n@0s TaskHeld 2/0/0"} {
		replay(t, newWith(fair.Options{Order: fair.Service}), `
			@0s SlotAdded 1
			@0s SlotAdded 2
			@0s JobArrived 1 pool=a | 4
			@0s Assign 1 -> 1/0/0#1
			@0s TaskFinished 1/0/0#1 slot=1
			@0s Assign 1 -> 1/0/1#1
			@0s TaskFinished 1/0/1#1 slot=1
			@0s `+held+`
			@0s TaskAdopted 2/1/0#1 slot=2
			@0s TaskReady 2/0/0
			@0s Assign 1 -> 2/0/0#1
		`)
	}
}

// replay makes the calls of a history, without its first line, on a new policy.
func replay(t *testing.T, p sojourn.Policy, text string) {
	t.Helper()
	if err := history.Replay(p, history.Read(strings.NewReader("sojourn history 1\n"+strings.ReplaceAll(text, "\t", "")), "history")); err != nil {
		t.Error(err)
	}
}

// For every Order, the first job of the ranking is the one that is served next. The jobs
// are in pools of different weights, all have tasks to start, and slots are busy for
// different times.
func TestRankingTellsWhoIsNext(t *testing.T) {
	for _, opts := range []fair.Options{{}, {Ties: fair.LeastWork}, {Ties: fair.RoundRobin}, {Order: fair.Running, Ties: fair.Arrival}, {Order: fair.Running}} {
		opts.Pools = weights(pools)
		p := newWith(opts).(*fair.Policy)
		var now sojourn.Time
		observe := func(ev sojourn.Event) {
			ev.At = now
			if err := p.Observe(ev); err != nil {
				t.Fatalf("Observe(%v) = %v, want nil", ev, err)
			}
		}
		const slots = 5
		for i := range slots {
			observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
		}
		var running [slots]*sojourn.Assignment
		for step := range 600 {
			if step < 60 && step%10 == 0 {
				observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{
					ID: sojourn.JobID(step + 1), Pool: []string{"a", "b", "c", "c/d"}[step/10%4], Weight: float64(1 + step%4),
					Phases: []sojourn.Phase{{Tasks: 1000}},
				}})
			}
			i := step * step % slots
			now += sojourn.Time(step * 7 % 5)
			if a := running[i]; a != nil {
				observe(sojourn.Event{Kind: sojourn.TaskFinished, Task: a.Task, Attempt: a.Attempt, Slot: sojourn.Slot{ID: a.Slot}})
			}
			want := p.AppendRanking(nil)[0]
			a, ok := p.Assign(sojourn.SlotID(i))
			if !ok || a.Task.Job != want {
				t.Fatalf("%+v, step %d: Assign(%d) = %+v, %v, want a task of job %d, the first of %v", opts, step, i, a, ok, want, p.AppendRanking(nil))
			}
			running[i] = &a
		}
	}
}
