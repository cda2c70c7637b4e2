package sim_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/kit/release"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

// A job waits for its release time and for those of its sequence that arrived before it, also while one of them fails and
// waits, and the policy learns both as the workload tells them.
func TestReleaseAndSequence(t *testing.T) {
	at := func(x float64) sojourn.Time { return sojourn.Time(x * 1e9) }
	late, first, second, other := job(1, 1, []float64{2, 2}), job(2, 1, []float64{3}), job(3, 2, []float64{1}), job(4, 2, []float64{1})
	late.Release, first.Release = at(10), at(4)
	first.Sequence, second.Sequence = "a", "a"
	_, st := run(t, sim.Config{Cluster: uniform(2), Policy: release.New(newFIFO(t)), Jobs: sim.Jobs(late, first, second, other)})
	checkGantt(t, st, `
		4/0/0 slot 0 2s-3s
		2/0/0 slot 0 4s-7s
		3/0/0 slot 0 7s-8s
		1/0/0 slot 0 10s-12s
		1/0/1 slot 1 10s-12s
	`)
	for _, j := range st.jobs {
		want := map[sojourn.JobID]time.Duration{1: 9*s + 2*s, 2: 3*s + 3*s, 3: 1 * s, 4: 1 * s}[j.ID]
		if j.Alone != want {
			t.Errorf("job %d takes %v alone, want %v", j.ID, j.Alone, want)
		}
		// Under fluid sharing of two slots, from the release on: job 4 shares with nobody, since job 2 waits until 4 s.
		if want := map[sojourn.JobID]sojourn.Time{1: at(12), 2: at(5.5), 3: at(7.5), 4: at(2.5)}[j.ID]; j.PSFinish != want || j.BeyondBound != 0 {
			t.Errorf("job %d ends at %v under fluid sharing, and %d phases beyond its bound, want %v and none", j.ID, j.PSFinish, j.BeyondBound, want)
		}
	}

	// A policy without them gets no such job, and one that starts a task too early is stopped.
	for _, j := range []*sim.Job{late, first, second} {
		r, _ := run(t, sim.Config{Cluster: uniform(2), Policy: newFIFO(t), Jobs: sim.Jobs(j)})
		if r.Unsupported != 1 {
			t.Errorf("job %d: %d are unsupported under a policy that knows no %v", j.ID, r.Unsupported, j.Features())
		}
	}
	_, err := sim.Run(t.Context(), sim.Config{Cluster: uniform(1), Policy: boaster{newTable(func([]sojourn.TaskID) int { return 0 })}, Jobs: sim.Jobs(late)})
	if bad := (*sim.PolicyError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "assigned task 1/0/0 before the release of its job at 10s") {
		t.Errorf("a policy that starts a task before its release: %v", err)
	}
}

// Fluid sharing begins at the release, whether or not the policy does anything then, and for one of a sequence when those before it
// have ended, if that is later.
func TestFluidSharingBeginsAtTheRelease(t *testing.T) {
	at := func(x float64) sojourn.Time { return sojourn.Time(x * 1e9) }
	late, last := job(1, 1, []float64{2}), job(2, 20, []float64{1})
	late.Release = at(10)
	lazy := func(tasks []sojourn.TaskID) int { return len(tasks) - 2 } // starts nothing before job 2 is there
	_, st := run(t, sim.Config{Cluster: uniform(1), Policy: boaster{newTable(lazy)}, Jobs: sim.Jobs(late, last)})
	if j := st.jobs[0]; j.ID != 1 || j.Finish != at(22) || j.PSFinish != at(12) {
		t.Errorf("job %d ends at %v, and at %v under fluid sharing, want job 1, 22s and 12s", j.ID, j.Finish, j.PSFinish)
	}
	first, second, third := job(1, 0, []float64{5}), job(2, 0, []float64{1}), job(3, 0, []float64{1})
	first.Sequence, second.Sequence, third.Sequence = "a", "a", "a"
	second.Release, third.Release = at(8), at(3)
	_, st = run(t, sim.Config{Cluster: uniform(2), Policy: release.New(newFIFO(t)), Jobs: sim.Jobs(first, second, third)})
	for i, want := range []sojourn.Time{at(2.5), at(8.5), at(9.5)} {
		if j := st.jobs[i]; j.PSFinish != want {
			t.Errorf("job %d ends at %v under fluid sharing, want %v", j.ID, j.PSFinish, want)
		}
	}
}

// A policy that says that it keeps Parallelism, and does not, is stopped.
func TestParallelismIsHeldTo(t *testing.T) {
	j := job(1, 0, []float64{2, 2, 2})
	j.Parallelism = 2
	_, err := sim.Run(t.Context(), sim.Config{Cluster: uniform(3), Policy: boaster{newTable(first)}, Jobs: sim.Jobs(j)})
	if bad := (*sim.PolicyError)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), "assigned task 1/0/2 while as many tasks of its job run as may: 2") {
		t.Errorf("a third task of a job of parallelism 2: %v", err)
	}
}

// A boaster says that it knows everything.
type boaster struct{ *table }

func (boaster) Supports() sojourn.Features { return math.MaxUint32 }

// Under faults, too, no task starts before the release of its job, nor before those of its sequence that arrived
// before it have ended. The oracle is the list of attempts.
func TestReleaseAndSequenceUnderFaults(t *testing.T) {
	whole := t
	rapid.Check(t, func(t *rapid.T) {
		var jobs []*sim.Job
		now := 0.0
		for i := range rapid.IntRange(1, 8).Draw(t, "jobs") {
			now += float64(rapid.IntRange(0, 3).Draw(t, "gap"))
			j := job(sojourn.JobID(i+1), now, rapid.SliceOfN(rapid.Float64Range(0, 4), 1, 4).Draw(t, "times"))
			if rapid.Bool().Draw(t, "released") {
				j.Release = j.At.Add(time.Duration(rapid.IntRange(1, 20).Draw(t, "after")) * s)
			}
			j.Sequence = rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "sequence")
			jobs = append(jobs, j)
		}
		var attempts []sim.TaskRecord
		ends := map[sojourn.JobID]sojourn.Time{}
		r, err := sim.Run(t.Context(), sim.Config{
			Cluster: uniform(rapid.IntRange(1, 3).Draw(t, "slots")), Policy: release.New(newFIFO(whole)), Jobs: sim.Jobs(jobs...), Seed: rapid.Uint64().Draw(t, "seed"),
			Faults: sim.Faults{Task: 0.3, Refuse: 0.2},
			Hooks: sim.Hooks{
				Attempt: func(a *sim.TaskRecord) { attempts = append(attempts, *a) },
				Job:     func(j *sim.JobRecord) { ends[j.ID] = j.Finish },
			},
		})
		if err != nil || r.Finished != len(jobs) {
			t.Fatalf("%d of %d jobs finished: %v", r.Finished, len(jobs), err)
		}
		for _, a := range attempts {
			j := jobs[a.Task.Job-1]
			if a.Start < j.Release {
				t.Errorf("task %v started at %v, before %v", a.Task, a.Start, j.Release)
			}
			for _, k := range jobs[:a.Task.Job-1] {
				if j.Sequence != "" && k.Sequence == j.Sequence && ends[k.ID] > a.Start {
					t.Errorf("task %v started at %v, before job %d of its sequence ended at %v", a.Task, a.Start, k.ID, ends[k.ID])
				}
			}
		}
	})
}

// Pools that share what tasks cost have slots in inverse proportion to it: at three times the cost, a third of the slots.
func TestCostIsShared(t *testing.T) {
	policy, err := fair.New(fair.Options{Order: fair.Service})
	if err != nil {
		t.Fatal(err)
	}
	const tasks = 2000
	jobs := []*sim.Job{}
	for i, cost := range []uint64{300, 100} {
		j := job(sojourn.JobID(i+1), 0, make([]float64, tasks))
		j.Pool = string(rune('a' + i))
		j.Times[0] = sim.Times{Each: s, Costs: make([]uint64, tasks)}
		for k := range j.Times[0].Costs {
			j.Times[0].Costs[k] = cost
		}
		jobs = append(jobs, j)
	}
	done := map[sojourn.JobID]int{}
	_, err = sim.Run(t.Context(), sim.Config{Cluster: uniform(4), Policy: policy, Jobs: sim.Jobs(jobs...),
		Hooks: sim.Hooks{Attempt: func(a *sim.TaskRecord) {
			if a.End <= sojourn.Time(400*s) {
				done[a.Task.Job]++
			}
		}}})
	if err != nil || done[1] < 390 || done[1] > 410 || done[1]+done[2] != 1600 {
		t.Errorf("of 1600 tasks in 400 s, jobs of cost 300 and 100 have run %v, want about 400 and 1200: %v", done, err)
	}
}

// The end of an attempt tells what it has cost: all of it if it finished, and a part, rounded down, if it was lost on the way.
func TestCostOfEnds(t *testing.T) {
	j := job(1, 0, []float64{10, 0})
	j.Times[0].Costs = []uint64{math.MaxInt64, 5}
	got := map[sojourn.EventKind][]uint64{}
	cfg := sim.Config{
		Cluster: sim.Cluster{Uniform: true, Nodes: []sim.Node{{Name: "n1", Slots: []int{1}}, {Name: "n2", Slots: []int{1}}}},
		Policy:  newFIFO(t), Jobs: sim.Jobs(j),
		Faults: sim.Faults{Script: []sim.NodeFault{{At: sojourn.Time(3 * s), Node: 1}, {At: sojourn.Time(4 * s), Node: 1, Up: true}}},
		Hooks: sim.Hooks{Event: func(ev sojourn.Event, _ error) {
			if ev.Kind == sojourn.TaskFinished || ev.Kind == sojourn.TaskFailed {
				got[ev.Kind] = append(got[ev.Kind], ev.Cost)
			}
		}},
	}
	if _, err := sim.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	lost, finished := got[sojourn.TaskFailed], got[sojourn.TaskFinished]
	if len(lost) != 1 || lost[0] != 2767011611056432742 || len(finished) != 2 || finished[0] != 5 || finished[1] != math.MaxInt64 {
		t.Errorf("ends cost %v, want a failure of 2767011611056432742 (3 tenths) and ends of 5 and %d", got, uint64(math.MaxInt64))
	}
	j.Times[0].Costs, cfg.Policy = []uint64{1}, newFIFO(t)
	if _, err := sim.Run(t.Context(), cfg); err == nil || !strings.Contains(err.Error(), "1 costs for 2 tasks") {
		t.Errorf("a job whose costs are not as many as its tasks: %v", err)
	}
}

// A phase that becomes a gang costs what its tasks do together, and what the tasks of a gang cannot keep is refused.
func TestGangsAndTheContract(t *testing.T) {
	j := job(1, 0, []float64{1, 2})
	j.Times[0].Costs = []uint64{math.MaxInt64, 5}
	cfg := sim.Config{Cluster: uniform(2), Policy: newFIFO(t), Jobs: sim.Jobs(j), Gangs: &sim.Gangs{}}
	cfg.Hooks.Event = func(ev sojourn.Event, _ error) {
		if ev.Kind == sojourn.TaskFinished && ev.Cost != math.MaxInt64 {
			t.Errorf("a gang costs %d, want %d", ev.Cost, uint64(math.MaxInt64))
		}
	}
	if _, err := sim.Run(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	for _, spoil := range []func(j *sim.Job){
		func(j *sim.Job) { j.Parallelism = 1 }, func(j *sim.Job) { j.Release = 1 }, func(j *sim.Job) { j.Sequence = "a" },
	} {
		bad := *j
		spoil(&bad)
		cfg.Jobs, cfg.Policy = sim.Jobs(&bad), release.New(newFIFO(t))
		if _, err := sim.Run(t.Context(), cfg); !errors.Is(err, sojourn.ErrUnsupported) || !strings.Contains(err.Error(), "its phases are to be gangs") {
			t.Errorf("%v of a job of gangs: %v", bad.Features(), err)
		}
	}
}

// Pools change in the middle of a run: one that is paused starts nothing, and goes on when it is not any more. What the run cannot do is an error.
func TestPoolChanges(t *testing.T) {
	change := func(at float64, p sojourn.Pool) sojourn.Event {
		return sojourn.Event{Kind: sojourn.PoolChanged, At: sojourn.Time(at * 1e9), Pool: &p}
	}
	config := func(changes ...sojourn.Event) sim.Config {
		p, err := fair.New(fair.Options{})
		if err != nil {
			t.Fatal(err)
		}
		j := job(1, 0, []float64{2, 2, 2})
		j.Pool = "a"
		return sim.Config{Cluster: uniform(1), Policy: p, Jobs: sim.Jobs(j), PoolChanges: changes}
	}
	_, st := run(t, config(change(0, sojourn.Pool{Name: "b", Weight: 3}), change(3, sojourn.Pool{Name: "a", Paused: true}), change(9, sojourn.Pool{Name: "a"}), change(99, sojourn.Pool{Name: "a"})))
	checkGantt(t, st, `
		1/0/0 slot 0 0s-2s
		1/0/1 slot 0 2s-4s
		1/0/2 slot 0 9s-11s
	`)
	r, _ := run(t, config(change(3, sojourn.Pool{Name: "a", Paused: true})))
	if r.Unfinished != 1 {
		t.Errorf("%d jobs are unfinished, want the one whose pool stays paused", r.Unfinished)
	}
	for want, changes := range map[string][]sojourn.Event{
		"PoolChanges[1].At":   {change(3, sojourn.Pool{Name: "a"}), change(2, sojourn.Pool{Name: "a"})},
		"PoolChanges[0].Kind": {{Kind: sojourn.Tick}},
		"PoolChanges[0].Pool": {{Kind: sojourn.PoolChanged}},
	} {
		if _, err := sim.Run(t.Context(), config(changes...)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one of %s", err, want)
		}
	}
	cfg := config(change(3, sojourn.Pool{Name: "a"}))
	cfg.Policy = newFIFO(t)
	if _, err := sim.Run(t.Context(), cfg); !errors.Is(err, sojourn.ErrUnsupported) {
		t.Errorf("a policy without pools: %v, want ErrUnsupported", err)
	}
}
