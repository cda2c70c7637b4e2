package paper

import (
	"slices"
	"testing"
)

// hpfspMeans runs an experiment and returns a function that gives the mean of a policy on
// a workload.
func hpfspMeans(t *testing.T, name string, seeds int) func(workload, policy string) float64 {
	all := hpfspExperiments()
	i := slices.IndexFunc(all, func(e Experiment) bool { return e.Name == name })
	means := runExperiment(t, all[i], seeds)
	return func(workload, policy string) float64 { return means.of(t, workload, policy) }
}

// If sizes are known, protective scheduling without probes is at least 1.4 times better
// than fair sharing on jobs of one size and 3 times on exponential ones, and probes cost
// something. With as many probes as tasks, it is fair sharing by deficit, which is
// stricter than Hadoop's.
// Reference: H-PFSP, Section IV-B and Figure 4.
func TestSlowdownGrowsWithProbes(t *testing.T) {
	ofNumbers(t)
	mean := hpfspMeans(t, "hpfsp-fig4", 5)
	for workload, factor := range map[string]float64{"A": 1.4, "B": 3} {
		if none, fair := mean(workload, hpfsp(0, false)), mean(workload, hpfspFair); fair < factor*none {
			t.Errorf("%s: slowdown %.2f without probes, %.2f under fair: want %v times as much", workload, none, fair, factor)
		}
	}
	for _, workload := range []string{"A", "B", "D"} {
		last := mean(workload, hpfsp(0, false))
		for _, k := range []int{1, 2, 5, 10, 20} {
			is := mean(workload, hpfsp(k, true))
			if is < last {
				t.Errorf("%s: slowdown %.3f with K = %d, %.3f with fewer probes", workload, is, k, last)
			}
			last = is
		}
	}
	if all, fair := mean("A", hpfsp(200, true)), mean("A", hpfspFair); all < fair {
		t.Errorf("A: slowdown %.2f with as many probes as tasks, %.2f under fair: want no less", all, fair)
	}
}

// If sizes are learned from a poor start, one or two probes help.
// Reference: H-PFSP, Section IV-B and Figure 5.
func TestProbesHelpWhereSizesAreLearned(t *testing.T) {
	ofNumbers(t)
	mean := hpfspMeans(t, "hpfsp-fig5", 5)
	for _, tc := range []struct{ workload, prior string }{{"F5B", "1m"}, {"F5C", "10m"}, {"F5C", "100m"}} {
		with := func(k int) float64 { return mean(tc.workload, hpfsp(k, true)+",default-task-time="+tc.prior) }
		if none, one, many := with(0), min(with(1), with(2)), with(20); one >= none || one >= many {
			t.Errorf("%s, prior %s: slowdown %.2f without probes, %.2f with 1 or 2, %.2f with 20: want a dip", tc.workload, tc.prior, none, one, many)
		}
	}
}
