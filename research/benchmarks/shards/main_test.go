package main

import (
	"io"
	"math"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Where each job needs one class, a policy for each class starts and ends every task when one policy for all
// classes does.
func TestPolicyForEachClass(t *testing.T) {
	list, err := draw(500, 32, 0.9)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range policies {
		for _, k := range []int{2, 4} {
			one, err := simulate(p.make, [][]*sim.Job{classes(list, k)}, sim.Node{Slots: equal(32/k, k)})
			if err != nil {
				t.Fatal(err)
			}
			each, err := simulate(p.make, split(list, k), sim.Node{Slots: []int{32 / k}})
			if err != nil {
				t.Fatal(err)
			}
			want := map[sojourn.JobID]sim.JobRecord{}
			for _, r := range one {
				want[r.ID] = r
			}
			for _, r := range each {
				if w := want[r.ID]; r.FirstStart != w.FirstStart || r.Finish != w.Finish {
					t.Errorf("%s, %d classes, job %d: from %v to %v, want %v to %v", p.name, k, r.ID, r.FirstStart, r.Finish, w.FirstStart, w.Finish)
				}
			}
			if len(each) != len(list) || len(want) != len(list) {
				t.Errorf("%s, %d classes: %d and %d records of %d jobs", p.name, k, len(each), len(want), len(list))
			}
		}
	}
}

// Two jobs of 20 s on two slots take 10 s each alone, if they have two tasks. On a slot each they take 20 s, and in
// turn on both slots 10 and 20 s.
func TestMeans(t *testing.T) {
	var list []*sim.Job
	for id := range sojourn.JobID(2) {
		job := &sim.Job{Times: []sim.Times{{Each: 10e9}}}
		job.ID, job.Phases = id+1, []sojourn.Phase{{Tasks: 2}}
		list = append(list, job)
	}
	alone := map[sojourn.JobID]float64{1: 10, 2: 10}
	for _, tc := range []struct {
		parts             int
		sojourn, slowdown float64
	}{{1, 15, 1.5}, {2, 20, 2}} {
		records, err := simulate(policies[0].make, split(list, tc.parts), sim.Node{Slots: []int{2 / tc.parts}})
		if err != nil {
			t.Fatal(err)
		}
		if s, d := sojourns(records), slowdown(records, alone); s != tc.sojourn || d != tc.slowdown {
			t.Errorf("%d parts: sojourn time %v, slowdown %v, want %v and %v", tc.parts, s, d, tc.sojourn, tc.slowdown)
		}
	}
	if d := slowdown([]sim.JobRecord{{ID: 1, Finish: 2e9}}, map[sojourn.JobID]float64{1: 1}); d != 1 {
		t.Errorf("slowdown of a job of 1 s that took 2 s: %v, want 1", d)
	}
}

// The jobs ask for the load.
func TestLoad(t *testing.T) {
	list, err := draw(20_000, 160, 0.8)
	if err != nil {
		t.Fatal(err)
	}
	work := 0.0
	for _, j := range list {
		work += j.Times[0].Total(j.Phases[0].Tasks).Seconds()
	}
	if load := work / (160 * (float64(list[len(list)-1].At) / 1e9)); math.Abs(load-0.8) > 0.01 {
		t.Errorf("load %v, want 0.8", load)
	}
}

// Every way to decide makes as many decisions as it says: the clock of a part counts them.
func TestDecisions(t *testing.T) {
	if err := won(io.Discard, "", 1000, 2000, 1); err != nil {
		t.Error(err)
	}
	for _, p := range policies {
		part, err := newPart(p.make, 100, 16)
		if err != nil {
			t.Fatal(err)
		}
		before, now := map[sojourn.SlotID]sojourn.Assignment{}, part.now
		for _, a := range part.running {
			before[a.Slot] = a
		}
		for slot := range part.running {
			part.step(slot)
		}
		for _, a := range part.running {
			if was, ok := before[a.Slot]; !ok || was.Task == a.Task {
				t.Errorf("%s: slot %d has %v after %v", p.name, a.Slot, a.Task, was.Task)
			}
			delete(before, a.Slot)
		}
		if len(before) > 0 || part.now == now {
			t.Errorf("%s: %d slots were lost", p.name, len(before))
		}
	}
}
