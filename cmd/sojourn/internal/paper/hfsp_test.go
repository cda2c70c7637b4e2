package paper

import (
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

func at(seconds int) sojourn.Time { return sojourn.Time(0).Add(time.Duration(seconds) * time.Second) }

func TestJobsInSystem(t *testing.T) {
	job := func(arrival, finish int) sim.JobRecord {
		return sim.JobRecord{Name: "L1/10GB", Outcome: sim.Finished, Arrival: at(arrival), Finish: at(finish)}
	}
	// The number of jobs in the system is 1 from 10 s on, 2 from 20, 1 from 30 (one
	// leaves as another arrives), and 1 from 50 to 100.
	res := &sim.Result{JobRecords: []sim.JobRecord{job(10, 30), job(20, 50), job(50, 100), {Arrival: at(30), Outcome: sim.Rejected}}}
	if got := mostInSystem(res); got != 2 {
		t.Errorf("at most %v jobs in the system, want 2", got)
	}
	if got, want := meanInSystem(res), (1*10+2*10+1*20)/40.0; math.Abs(got-want) > 1e-12 {
		t.Errorf("%v jobs in the system on average, want %v", got, want)
	}
}

func TestNumbersOfJobs(t *testing.T) {
	var res sim.Result
	for i, name := range []string{"L1/1GB", "L2/10GB", "L2/10GB", "L3/1TB"} {
		res.JobRecords = append(res.JobRecords, sim.JobRecord{
			Name: name, Outcome: sim.Finished, Arrival: at(1), Finish: at(10 - i), Alone: 2 * time.Second})
	}
	res.JobRecords[2].Outcome = sim.Rejected
	if got, want := hfspSeconds().ofJobs(&res, 2, 3, 4), []float64{6, 8}; !slices.Equal(got, want) {
		t.Errorf("%v seconds, want %v", got, want)
	}
	if got, want := hfspSlowdown().ofJobs(&res, 1), []float64{4.5}; !slices.Equal(got, want) {
		t.Errorf("slowdowns %v, want %v", got, want)
	}
}

func TestPercents(t *testing.T) {
	values := []float64{10, 20, 30, 40}
	for percent, want := range map[int]float64{1: 10, 25: 10, 26: 20, 50: 20, 99: 40, 100: 40} {
		if got := quantileOf(values, percent); got != want {
			t.Errorf("%d %% have at most %v, want %v", percent, got, want)
		}
	}
	if got := quantileOf(nil, 50); !math.IsNaN(got) {
		t.Errorf("the median of nothing is %v", got)
	}
	for limit, want := range map[float64]float64{9: 0, 10: 25, 35: 75, 40: 100} {
		if got := percentBelow(values, limit); got != want {
			t.Errorf("%v %% have at most %v, want %v", got, limit, want)
		}
	}
}

// A row may be a ratio to the result of another workload. With exact sizes, an oracle is
// as good as with sizes whose error is zero.
func TestBaseline(t *testing.T) {
	ofNumbers(t)
	e := hfspRobust(trial.MeasureDist("", "mean response time (s)", trial.SojournTime, trial.Mean))
	isDev := func(workload string) bool { return workload == "DEV" || workload == "DEV 2" }
	e.workloads = slices.DeleteFunc(e.workloads, func(w paperWorkload) bool { return !isDev(w.name) })
	e.rows = slices.DeleteFunc(e.rows, func(r paperRow) bool { return !isDev(r.workload) })
	p, err := e.Run(t.Context(), io.Discard, trial.Setup{Policies: catalog.Builtin()}, 2)
	if err != nil {
		t.Fatal(err)
	}
	number := func(workload, over, baseline string) float64 {
		for _, r := range p.rows {
			if r.workload == workload && r.policy == hfspOracle && r.over == over && r.baseline == baseline {
				return r.ours.Mean
			}
		}
		t.Fatalf("no row of %s over %s of %q on %s", hfspOracle, over, baseline, workload)
		return 0
	}
	// Fair is not told sizes, so it does the same on both.
	want := number("DEV 2", hfspFair, "") / number("DEV", hfspFair, "")
	if got := number("DEV 2", hfspOracle, "DEV"); math.Abs(got-want) > 1e-9 || got < 1.05 {
		t.Errorf("with wrong sizes over exact ones: %v, want %v, which is more than 1.05", got, want)
	}
}

// The errors of sizes of all workloads are joined seed by seed, by class and bin, in
// ascending order.
func TestSizeErrors(t *testing.T) {
	p := &Result{Experiment: &Experiment{workloads: []paperWorkload{{name: "A"}, {name: "B"}}}, samples: map[paperRun]*trial.Sample{
		{"A", hfspWait}: {Seen: []any{[]sizeError{{sojourn.MapClass, 2, 1.5}, {sojourn.ReduceClass, 2, 3}, {sojourn.MapClass, 4, 0.5}}, []sizeError(nil)}},
		{"B", hfspWait}: {Seen: []any{[]sizeError{{sojourn.MapClass, 2, 0.9}}, []sizeError{{sojourn.MapClass, 3, 2}}}},
	}}
	for _, tc := range []struct {
		class sojourn.Class
		bins  []int
		want  [][]float64
	}{
		{sojourn.MapClass, trainedBins, [][]float64{{0.5, 0.9, 1.5}, {2}}},
		{sojourn.MapClass, []int{2}, [][]float64{{0.9, 1.5}, nil}},
		{sojourn.ReduceClass, trainedBins, [][]float64{{3}, nil}},
	} {
		if got := sizeErrors(p, tc.class, tc.bins...); !slices.EqualFunc(got, tc.want, slices.Equal) {
			t.Errorf("class %d, bins %v: %v, want %v", tc.class, tc.bins, got, tc.want)
		}
	}
	if got := []float64{percentAbove([]float64{1, 2, 2, 4}, 2), percentAbove([]float64{1, 2, 2, 4}, 4.1), percentAbove([]float64{1, 2, 2, 4}, 0)}; !slices.Equal(got, []float64{75, 0, 100}) {
		t.Errorf("%v %% are at least 2, 4.1 and 0", got)
	}
}

// The watch of the runs of hfsp sees the errors of all trained phases. With tasks of
// equal length they are zero, and there are as many as phases with more than five tasks.
func TestWatchSizes(t *testing.T) {
	e := hfspSizes([]paperWorkload{{"DEV", "hfsp-dev:jobs=20,map-noise=0,reduce-noise=0,load=0.2", ""}})
	p, err := e.Run(t.Context(), io.Discard, trial.Setup{Policies: catalog.Builtin()}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, class := range []sojourn.Class{sojourn.MapClass, sojourn.ReduceClass} {
		want := 0
		for _, j := range p.order[0].Scenario.Workload.Jobs {
			if j.Phases[class].Tasks > 5 {
				want++
			}
		}
		got := sizeErrors(p, class, trainedBins...)[0]
		if len(got) != want || want == 0 || math.Abs(got[0]-1) > 1e-6 || math.Abs(got[len(got)-1]-1) > 1e-6 {
			t.Errorf("class %d: errors %v, want %d of 1", class, got, want)
		}
	}
}
