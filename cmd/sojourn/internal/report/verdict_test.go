package report

import (
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// compared returns a comparison of policies of which the results are given.
func compared(t *testing.T, results ...*sim.Result) *Comparison {
	t.Helper()
	specs, err := trial.ParsePolicies(catalog.Builtin(), []string{"fifo", "fair", "srpt"}[:len(results)])
	if err != nil {
		t.Fatal(err)
	}
	return &Comparison{Specs: specs, Results: results}
}

func took(mean, slowdown float64) *sim.Result {
	return &sim.Result{Sojourn: sim.Dist{N: 2, Mean: mean}, Slowdown: sim.Dist{N: 2, Mean: slowdown}}
}

// The verdicts name the policies with the least and the greatest mean, wherever they stand; the only policy is described; and
// nothing is said of policies that finish no job.
func TestVerdicts(t *testing.T) {
	for _, tc := range []struct {
		r                 *Comparison
		fastest, slowdown string
	}{
		{compared(t, took(30, 2), took(10, 4), took(20, 3)),
			"=> fair has the shortest mean sojourn time; that of fifo, the longest, is 3.00 times as long\n",
			"=> for their size, jobs wait least under fifo (2.00 times as long as alone) and most under fair\n   (4.00 times)\n"},
		{compared(t, took(10, 2), took(10.04, 3)),
			"=> fifo has the shortest mean sojourn time; that of fair, the longest, is less than 1 % longer\n",
			"=> for their size, jobs wait least under fifo (2.00 times as long as alone) and most under fair\n   (3.00 times)\n"},
		{compared(t, took(10, 2), took(10, 2)), "=> all policies have the same mean sojourn time\n", "=> all policies have the same mean slowdown\n"},
		{compared(t, took(10, 2)), "=> under fifo, jobs were in the system for 10.0 s on average\n", "=> under fifo, jobs took 2.00 times as long as alone, on average\n"},
		{compared(t, took(10, 2), &sim.Result{}), "", ""},
	} {
		if got := tc.r.fastest(); got != tc.fastest {
			t.Errorf("%q, want %q", got, tc.fastest)
		}
		if got := tc.r.leastSlowdown(); got != tc.slowdown {
			t.Errorf("%q, want %q", got, tc.slowdown)
		}
	}
}

func TestVerdictOfDeadlines(t *testing.T) {
	met := func(n int) *sim.Result { return &sim.Result{Met: n, Deadlines: 9} }
	for _, tc := range []struct {
		r    *Comparison
		want string
	}{
		{compared(t, met(3), met(7), met(7)), "=> fair meets most deadlines: 7 of 9\n"},
		{compared(t, met(3), met(3)), "=> all policies meet as many deadlines: 3\n"},
		{compared(t, met(3)), "=> fifo meets most deadlines: 3 of 9\n"},
	} {
		if got := tc.r.mostMet(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}

// The verdict on sizes is about the smallest and the largest bins that have jobs.
func TestVerdictBySize(t *testing.T) {
	bins := func(means ...float64) *sim.Result {
		r := &sim.Result{}
		for i, m := range means {
			n := 0
			if m > 0 {
				n = 1
			}
			r.Bins = append(r.Bins, sim.Bin{Min: i*10 + 1, Max: i*10 + 10, Sojourn: sim.Dist{N: n, Mean: m}})
		}
		return r
	}
	for _, tc := range []struct {
		r    *Comparison
		want string
	}{
		{compared(t, bins(0, 5, 9, 3, 0), bins(0, 4, 1, 6, 0)), "=> jobs of 11-20 tasks have the shortest mean sojourn time under fair, those of 31-40 under fifo\n"},
		{compared(t, bins(5, 9), bins(4, 9)), "=> jobs of 1-10 tasks have the shortest mean sojourn time under fair, those of 11-20 under fifo\n"},
		{compared(t, bins(5, 9), bins(4, 8)), "=> jobs of 1-10 tasks have the shortest mean sojourn time under fair, and so have those of 11-20\n"},
		{compared(t, bins(0, 5, 0), bins(0, 4, 0)), ""},
		{compared(t, bins(0, 5, 0, 7), bins(0, 4, 0, 0)), ""}, // fair finishes none of the largest jobs
		{compared(t, bins(5, 4)), ""},
	} {
		if got := tc.r.bySize(); got != tc.want {
			t.Errorf("%q, want %q", got, tc.want)
		}
	}
}
