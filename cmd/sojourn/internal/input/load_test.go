package input

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/sim"
	"pgregory.net/rapid"
)

func TestLoadFlag(t *testing.T) {
	for _, text := range []string{"0", "-1", "NaN", "Inf", "+inf", "1e999", "", "x", "-0"} {
		var l Load
		if err := l.Set(text); err == nil || l != 0 {
			t.Errorf("--load %q: %v, %v; want an error", text, float64(l), err)
		}
	}
	var l Load
	if err := l.Set("0.9"); err != nil || l != 0.9 || l.String() != "0.9" {
		t.Errorf("--load 0.9: %v, printed as %s, %v", float64(l), l.String(), err)
	}
	var s scaledWhat
	if err := s.Set("deadlines"); err == nil || s.What() != ScaleArrivals {
		t.Errorf("--scale deadlines: %v, %v; want an error and arrivals", s.What(), err)
	}
}

// drawLoaded draws a workload whose load can be scaled, and a cluster for it.
func drawLoaded(t *rapid.T) (*Workload, *Cluster) {
	w := &Workload{Name: "drawn"}
	at := sojourn.Time(0)
	for id := range rapid.IntRange(2, 6).Draw(t, "jobs") {
		at += sojourn.Time(rapid.Int64Range(1e9, 1e12).Draw(t, "gap"))
		n := rapid.IntRange(1, 4).Draw(t, "tasks")
		j := &sim.Job{At: at}
		j.ID = sojourn.JobID(id + 1)
		j.Deadline = at + sojourn.Time(rapid.Int64Range(1, 1e12).Draw(t, "deadline"))
		if rapid.Bool().Draw(t, "list") {
			list, told := make([]time.Duration, n), make([]time.Duration, n)
			for i := range list {
				list[i] = time.Duration(rapid.Int64Range(1e8, 1e12).Draw(t, "time"))
				told[i] = 2 * list[i]
			}
			told[0] = 0 // unknown
			j.Phases = []sojourn.Phase{{Tasks: n, Estimates: told}}
			j.Times = []sim.Times{{List: list}}
		} else {
			each := time.Duration(rapid.Int64Range(1e8, 1e12).Draw(t, "time"))
			j.Phases = []sojourn.Phase{{Tasks: n, Class: sojourn.ReduceClass, Estimate: 3 * each}}
			j.Times = []sim.Times{{Each: each}}
		}
		w.Jobs = append(w.Jobs, j)
	}
	return w, &Cluster{Cluster: sim.Cluster{Nodes: []sim.Node{{Slots: []int{2, 1}, Speed: 1.5}}}}
}

// Scaling durations reaches the load. It scales estimates as it scales true times, and
// changes nothing else: neither arrivals and deadlines nor the original.
func TestScaleDurations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original, c := drawLoaded(t)
		before := original.Load(c)
		want := rapid.Float64Range(0.01, 20).Draw(t, "load")
		w := original.Clone()
		if err := (&ScaledLoad{Load: Load(want), Scale: ScaleDurations}).Apply(w, c); err != nil {
			t.Fatalf("load %v: %v", want, err)
		}
		load := w.Load(c)
		if got := max(load[0], load[1]); math.Abs(got/want-1) > 1e-3 {
			t.Fatalf("load = %v, want %v", got, want)
		}
		if now := original.Load(c); !slices.Equal(now, before) {
			t.Fatalf("the original's load was %v and is %v", before, now)
		}
		factor := want / max(before[0], before[1])
		near := func(got, was time.Duration) bool {
			return (got == 0) == (was == 0) && math.Abs(float64(got)-float64(was)*factor) <= 1
		}
		for i, j := range w.Jobs {
			o := original.Jobs[i]
			if j.At != o.At || j.Deadline != o.Deadline {
				t.Fatalf("job %d: at %v, deadline %v; want %v, %v", j.ID, j.At, j.Deadline, o.At, o.Deadline)
			}
			for task := range j.Phases[0].Tasks {
				if got, was := j.Times[0].Of(task), o.Times[0].Of(task); !near(got, was) {
					t.Fatalf("job %d: time %v was %v, want it times %v", j.ID, got, was, factor)
				}
				if got, was := j.Phases[0].EstimateOf(task), o.Phases[0].EstimateOf(task); !near(got, was) {
					t.Fatalf("job %d: estimate %v was %v, want it times %v", j.ID, got, was, factor)
				}
			}
		}
	})
}

// Scaling the arrivals of a clone changes nothing in the original.
func TestScaleArrivalsLeavesTheOriginal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		original, c := drawLoaded(t)
		var before []sojourn.Time
		for _, j := range original.Jobs {
			before = append(before, j.At, j.Deadline)
		}
		w := original.Clone()
		if err := (&ScaledLoad{Load: 0.7}).Apply(w, c); err != nil {
			t.Fatal(err)
		}
		if load := w.Load(c); math.Abs(max(load[0], load[1])/0.7-1) > 1e-3 {
			t.Fatalf("load = %v, want 0.7", load)
		}
		var after []sojourn.Time
		for _, j := range original.Jobs {
			after = append(after, j.At, j.Deadline)
		}
		if !slices.Equal(before, after) {
			t.Fatalf("the original's times were %v and are %v", before, after)
		}
	})
}

// An impossible load is an error.
func TestScaleErrors(t *testing.T) {
	job := func(at sojourn.Time, each time.Duration, class sojourn.Class) *sim.Job {
		j := &sim.Job{At: at, Times: []sim.Times{{Each: each}}}
		j.ID, j.Phases = 1, []sojourn.Phase{{Tasks: 1, Class: class}}
		return j
	}
	maps := &Cluster{Cluster: sim.Cluster{Nodes: []sim.Node{{Slots: []int{1}}}}}
	second := sojourn.Time(time.Second)
	for _, tc := range []struct {
		name string
		jobs []*sim.Job
		load float64
	}{
		{"no jobs", nil, 0.9},
		{"one instant", []*sim.Job{job(second, 1e9, 0), job(second, 1e9, 0)}, 0.9},
		{"no slots of the class", []*sim.Job{job(0, 1e9, sojourn.ReduceClass), job(second, 1e9, 0)}, 0.9},
		{"no work", []*sim.Job{job(0, 0, 0), job(second, 0, 0)}, 0.9},
		{"too long", []*sim.Job{job(0, 1e9, 0), job(second, 1e9, 0)}, 1e300},
		{"too short", []*sim.Job{job(0, 1e9, 0), job(second, 1e9, 0)}, 1e-300},
	} {
		for _, way := range []scaledWhat{ScaleArrivals, ScaleDurations} {
			w := &Workload{Name: tc.name, Jobs: tc.jobs}
			f := ScaledLoad{Load: Load(tc.load), Scale: way}
			if err := f.Apply(w.Clone(), maps); err == nil {
				t.Errorf("%s: %s scaled to %v without an error", tc.name, way, tc.load)
			}
		}
	}
}
