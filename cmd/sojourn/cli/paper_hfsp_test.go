package cli

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/sim"
)

func at(seconds int) sojourn.Time { return sojourn.Time(0).Add(time.Duration(seconds) * time.Second) }

func TestJobsInSystem(t *testing.T) {
	job := func(arrival, finish int) sim.JobRecord {
		return sim.JobRecord{Name: "L1/10GB", Outcome: sim.Finished, Arrival: at(arrival), Finish: at(finish)}
	}
	// In the system: 1 from 10 s on, 2 from 20, 1 from 30 (one goes as another comes),
	// 1 from 50 to 100.
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

// A row may be a ratio to what another workload gives: with exact sizes an oracle is
// as good as with sizes that are off by nothing.
func TestBaseline(t *testing.T) {
	ofNumbers(t)
	var out paperSummary
	runJSON(t, &out, "paper", "hfsp-errors", "--seeds", "2", "--json", "-q")
	exact := map[string]float64{}
	for _, r := range out.Rows {
		if r.Policy == hfspOracle && r.Over == hfspFair {
			exact[r.Workload] = float64(r.Mean)
		}
	}
	found := 0
	for _, r := range out.Rows {
		if r.Baseline == "" || r.Policy != hfspOracle {
			continue
		}
		found++
		// Fair is not told sizes, and does the same on both.
		if want := exact[r.Workload] / exact[r.Baseline]; math.Abs(float64(r.Mean)-want) > 1e-9 {
			t.Errorf("%s over %s: %v, want %v", r.Workload, r.Baseline, r.Mean, want)
		}
	}
	if found != 9 {
		t.Errorf("%d ratios to another workload, want 9", found)
	}
}
