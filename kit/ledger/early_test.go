package ledger

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
)

// In a job with Parallelism a phase that says After waits for all of the phase before, in one without it for so many, while tasks finish,
// fail, are lost and are adopted, and revisions set and take away the bound and change After. What may start, how many, and which phase
// comes first, are a count over the states of all tasks.
func TestEarlyPhasesOfBoundedJobs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &testLedger{t: t}
		l.Supports = sojourn.FeatureParallelism
		const slots = 6
		l.slots(slots)
		const pending, running, done = 'p', 'r', 'd'
		var states [][]byte
		tries := map[sojourn.TaskID]uint32{}
		spec := &sojourn.Job{ID: 1}
		describe := func() {
			spec.Parallelism = rapid.SampledFrom([]uint32{0, 1, 2, 3, 1<<32 - 1}).Draw(t, "parallelism")
			for i := 1; i < len(spec.Phases); i++ {
				spec.Phases[i].After = rapid.IntRange(sojourn.NoBarrier, spec.Phases[i-1].Tasks).Draw(t, "after")
			}
		}
		for range rapid.IntRange(2, 4).Draw(t, "phases") {
			n := rapid.IntRange(1, 4).Draw(t, "tasks")
			spec.Phases = append(spec.Phases, sojourn.Phase{Tasks: n})
			states = append(states, slices.Repeat([]byte{pending}, n))
		}
		describe()
		count := func(phase int, state byte) (n int) {
			for _, s := range states[phase] {
				if s == state {
					n++
				}
			}
			return n
		}
		// waits returns for how many finished tasks of the phase before a phase waits.
		waits := func(i int) int {
			switch {
			case i == 0 || spec.Phases[i].After == sojourn.NoBarrier:
				return 0
			case spec.Parallelism == 0 && spec.Phases[i].After > 0:
				return spec.Phases[i].After
			}
			return len(states[i-1])
		}
		l.arrive(2, sojourn.Phase{Tasks: 1}) // keeps the ledger from being empty
		first := *spec
		l.observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &first})
		live := map[sojourn.SlotID]sojourn.Assignment{}
		pick := func(t *rapid.T) sojourn.SlotID {
			ids := slices.Sorted(maps.Keys(live))
			if len(ids) == 0 {
				t.Skip("nothing runs")
			}
			return rapid.SampledFrom(ids).Draw(t, "slot")
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				slot, free := l.FreeSlot(0)
				j := l.Job(1)
				if !free || j.Side(0).Startable() == 0 {
					t.Skip("nothing to take")
				}
				a := l.Take(j, j.Side(0), slot)
				live[slot], states[a.Task.Phase][a.Task.Index], tries[a.Task] = a, running, a.Attempt
			},
			"adopt": func(t *rapid.T) {
				slot, free := l.FreeSlot(0)
				id := sojourn.TaskID{Job: 1, Phase: uint16(rapid.IntRange(0, len(states)-1).Draw(t, "phase"))}
				id.Index = uint32(rapid.IntRange(0, len(states[id.Phase])-1).Draw(t, "task"))
				if !free || states[id.Phase][id.Index] != pending {
					t.Skip("it does not run")
				}
				tries[id]++
				l.observe(sojourn.Event{Kind: sojourn.TaskAdopted, Task: id, Attempt: tries[id], Slot: sojourn.Slot{ID: slot}})
				live[slot], states[id.Phase][id.Index] = sojourn.Assignment{Task: id, Attempt: tries[id], Slot: slot}, running
			},
			"end": func(t *rapid.T) {
				slot := pick(t)
				kind := rapid.SampledFrom([]sojourn.EventKind{sojourn.TaskFinished, sojourn.TaskFailed, sojourn.TaskRefused}).Draw(t, "kind")
				if l.Job(1).Left() == 1 && kind == sojourn.TaskFinished {
					t.Skip("the job would end")
				}
				a := live[slot]
				l.end(kind, a)
				delete(live, slot)
				if states[a.Task.Phase][a.Task.Index] = pending; kind == sojourn.TaskFinished {
					states[a.Task.Phase][a.Task.Index] = done
				}
			},
			"lose": func(t *rapid.T) {
				i := rapid.IntRange(0, len(states)-1).Draw(t, "phase")
				k := slices.Index(states[i], done)
				if k < 0 {
					t.Skip("nothing is done")
				}
				id := sojourn.TaskID{Job: 1, Phase: uint16(i), Index: uint32(k)}
				l.observe(sojourn.Event{Kind: sojourn.OutputLost, Task: id, Attempt: tries[id]})
				states[i][k] = pending
			},
			"revise": func(t *rapid.T) {
				spec.Phases = slices.Clone(spec.Phases)
				describe()
				told := *spec
				l.observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &told})
			},
			"restart": func(t *rapid.T) {
				if err := l.restore(l.save()); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) {
				j := l.Job(1)
				room := 1<<31 - 1
				if spec.Parallelism > 0 && spec.Parallelism < 1<<31-1 {
					room = max(0, int(spec.Parallelism)-len(live))
				}
				all, next := 0, -1
				for i := range states {
					ready := i == 0 || count(i-1, done) >= waits(i)
					n := 0
					if ready {
						n = count(i, pending)
					}
					if all += n; n > 0 && next < 0 {
						next = i
					}
					if j.Phase(i).Ready() != ready || j.Startable(i) != min(n, room) {
						t.Fatalf("phase %d of %+v in %q: Ready = %v, Startable = %d, want %v, %d", i, *spec, states, j.Phase(i).Ready(), j.Startable(i), ready, min(n, room))
					}
				}
				side := j.Side(0)
				if side.Startable() != min(all, room) || side.Pending() != all {
					t.Fatalf("%+v in %q: Startable = %d, Pending = %d, want %d, %d", *spec, states, side.Startable(), side.Pending(), min(all, room), all)
				}
				if all > 0 && j.NextPhase(side) != next {
					t.Fatalf("%+v in %q: NextPhase = %d, want %d", *spec, states, j.NextPhase(side), next)
				}
			},
		})
	})
}
