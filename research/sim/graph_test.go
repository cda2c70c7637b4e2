package sim

import (
	"slices"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"pgregory.net/rapid"
)

// graphJob returns the state of a job whose phases have tasks and wait as described.
func graphJob(phases []sojourn.Phase) *job {
	in := &Job{Job: sojourn.Job{Phases: phases}}
	j := &job{Job: in, phases: make([]phase, len(phases)), readers: in.listReaders()}
	for p := range phases {
		ph := &j.phases[p]
		for range in.inputs(p) {
			ph.missing++
		}
		ph.tasks, ph.unmet = phases[p].Tasks, ph.missing
	}
	return j
}

// A phase is open when the phases that it waits for have finished enough tasks, whatever finishes and is lost.
func TestOpen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var phases []sojourn.Phase
		for i := range rapid.IntRange(1, 8).Draw(t, "phases") {
			p := sojourn.Phase{Tasks: rapid.IntRange(1, 4).Draw(t, "tasks")}
			switch {
			case rapid.Bool().Draw(t, "graph"):
				p.Needs = []int{}
				for k := range i {
					if rapid.Bool().Draw(t, "needs") {
						p.Needs = append(p.Needs, k)
					}
				}
			case i > 0:
				p.After = rapid.IntRange(sojourn.NoBarrier, phases[i-1].Tasks).Draw(t, "after")
			}
			phases = append(phases, p)
		}
		j := graphJob(phases)
		for range 40 {
			p := rapid.IntRange(0, len(phases)-1).Draw(t, "phase")
			ph := &j.phases[p]
			was := make([]bool, len(phases))
			for k := range phases {
				was[k] = j.open(k)
			}
			before := ph.finished
			ph.finished = rapid.IntRange(0, ph.tasks).Draw(t, "finished")
			turned := slices.Sorted(j.turnedBy(p, before))
			for k := range phases {
				open := true
				for i, n := range j.WaitsFor(k) {
					open = open && j.phases[i].finished >= n
				}
				if j.open(k) != open || open != was[k] && !slices.Contains(turned, k) {
					t.Fatalf("%+v, phase %d has %d of its tasks: phase %d is open %t, want %t, and turned are %v", phases, p, ph.finished, k, j.open(k), open, turned)
				}
			}
		}
	})
}

// The phases that are looked at when tasks finish are as many as pairs of phases that wait for each other, and one for each
// task at most.
func TestGraphsAreSparing(t *testing.T) {
	for _, n := range []int{1, 50, 400} {
		const tasks = 3
		phases := make([]sojourn.Phase, n)
		for i := range phases {
			phases[i] = sojourn.Phase{Tasks: tasks, Needs: []int{}}
			for k := range i {
				phases[i].Needs = append(phases[i].Needs, k)
			}
		}
		j, turned := graphJob(phases), 0
		for p := range phases {
			for i := range tasks {
				j.phases[p].finished++
				for range j.turnedBy(p, i) {
					turned++
				}
			}
		}
		if most := n * (n - 1) / 2; turned != most {
			t.Errorf("%d phases: %d turned, want %d", n, turned, most)
		}
	}
}
