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

// phases returns a job of phases of one task each.
func phases(at time.Duration, classes []sojourn.Class, times ...time.Duration) *sim.Job {
	j := &sim.Job{At: sojourn.Time(at)}
	for i, d := range times {
		j.Phases = append(j.Phases, sojourn.Phase{Tasks: 1})
		if classes == nil {
			j.AnyClass = append(j.AnyClass, true)
		} else {
			j.Phases[i].Class = classes[i]
		}

		j.Times = append(j.Times, sim.Times{Each: d})
	}
	return j
}

func TestLoad(t *testing.T) {
	const s = time.Second
	w := &Workload{Jobs: []*sim.Job{
		phases(5*s, nil, 6*s, 3*s, 1*s),                                               // 6 s of map, 4 s of reduce
		phases(9*s, []sojourn.Class{sojourn.ReduceClass, sojourn.MapClass}, 8*s, 2*s), // 2 s of map, 8 s of reduce
		phases(15*s, nil, 0),                                                          // the span is 10 s
	}}
	tests := []struct {
		name    string
		cluster sim.Cluster
		want    []float64
	}{
		{"classes", sim.Cluster{Nodes: []sim.Node{{Slots: []int{2, 3}}}}, []float64{8. / 20, 12. / 30}},
		{"uniform", sim.Cluster{Nodes: []sim.Node{{Slots: []int{4}}}, Uniform: true}, []float64{20. / 40}},
		{"speeds", sim.Cluster{Nodes: []sim.Node{{Slots: []int{2, 1}}, {Slots: []int{1, 1}, Speed: 2}}}, []float64{8. / 40, 12. / 30}},
		{"more classes", sim.Cluster{Nodes: []sim.Node{{Slots: []int{2, 3, 5}}}}, []float64{8. / 20, 12. / 30, 0}},
		{"no slots of a class", sim.Cluster{Nodes: []sim.Node{{Slots: []int{2}}}}, []float64{8. / 20, math.Inf(1)}},
	}
	for _, tc := range tests {
		if got := w.Load(&Cluster{Cluster: tc.cluster}); !slices.Equal(got, tc.want) {
			t.Errorf("%s: load = %v, want %v", tc.name, got, tc.want)
		}
	}
	w.Jobs = w.Jobs[:1]
	if got := w.Load(&Cluster{Cluster: tests[0].cluster}); !math.IsInf(got[0], 1) || !math.IsInf(got[1], 1) {
		t.Errorf("load of jobs that arrive at once = %v, want +Inf", got)
	}
}

// Scaling reaches the load. It keeps the first arrival, the order, and the distance of
// deadlines.
func TestScale(t *testing.T) {
	c, err := ReadCluster("3x2+1")
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		second := rapid.Int64Range(1, 1000)
		w := &Workload{}
		at := time.Duration(second.Draw(t, "start")) * time.Second
		first := at
		for range rapid.IntRange(2, 6).Draw(t, "jobs") {
			j := phases(at, nil,
				time.Duration(second.Draw(t, "map"))*time.Second, time.Duration(second.Draw(t, "reduce"))*time.Second)
			j.Deadline = j.At.Add(time.Minute)
			w.Jobs = append(w.Jobs, j)
			at += time.Duration(second.Draw(t, "gap")) * time.Second
		}
		want := rapid.Float64Range(0.05, 5).Draw(t, "load")
		if err := (&ScaledLoad{Load: Load(want)}).Apply(w, c); err != nil {
			t.Fatal(err)
		}
		load := w.Load(c)
		if got := max(load[0], load[1]); math.Abs(got/want-1) > 1e-6 {
			t.Fatalf("load = %v, want %v", got, want)
		}
		if got := time.Duration(w.Jobs[0].At); got != first {
			t.Fatalf("first arrival = %v, want %v", got, first)
		}
		for i, j := range w.Jobs {
			if i > 0 && j.At < w.Jobs[i-1].At {
				t.Fatalf("job %d arrives at %v, before the one before it", i, j.At)
			}
			if got := j.Deadline.Sub(j.At); got != time.Minute {
				t.Fatalf("job %d: deadline is %v after arrival, want 1m", i, got)
			}
		}
	})
}

func TestScaleOutOfRange(t *testing.T) {
	c, err := ReadCluster("1x1")
	if err != nil {
		t.Fatal(err)
	}
	w := &Workload{Jobs: []*sim.Job{
		phases(0, []sojourn.Class{0}, time.Hour),
		phases(time.Hour, []sojourn.Class{0}, time.Hour),
	}}
	if err := (&ScaledLoad{Load: 1e-9}).Apply(w, c); err == nil {
		t.Errorf("scale to a load of 1e-9 puts an arrival at %v, want an error", w.Jobs[1].At)
	}
}
