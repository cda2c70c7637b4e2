package report

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Of runs that are stopped, the policies that have ended are shown whole, and of all others how far they are, over the same jobs.
func TestInterruptedRuns(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // one policy after the other
	c, err := input.ReadCluster("2x2")
	if err != nil {
		t.Fatal(err)
	}
	const jobs, stop = 12000, 3000
	w, err := input.Streamed(linesOf(jobs), "stdin", c)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Release()
	with := trial.Setup{Policies: catalog.Builtin()}
	with.Estimates.Mode = sim.Exact
	s := &trial.Scenario{Setup: with, Workload: w, Cluster: c}
	specs := []catalog.Spec{{Name: "fifo"}, {Name: "fair"}, {Name: "las"}}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	results, err := s.RunCounted(ctx, new(progress.Bar), specs, func(i int) trial.RunHooks {
		return trial.RunHooks{Job: func(int, *sim.JobRecord) {
			if i == 1 {
				if seen++; seen == stop {
					cancel()
				}
			}
		}}
	})
	var stopped *trial.Interrupted
	if !errors.As(err, &stopped) || stopped.Done != 1 || results[0] == nil || results[1] != nil || results[2] != nil {
		t.Fatalf("results %v, error %v; want those of fifo", results, err)
	}
	r := Interrupted{s, specs, results}
	sum := r.Summary()
	if n := len(sum.Policies); n != 1 || sum.Policies[0].Policy != "fifo" || sum.Policies[0].Finished != jobs {
		t.Errorf("%d policies in JSON, want fifo: %+v", n, sum.Policies)
	}
	so := sum.Interrupted
	done := so.Policies[1].Finished
	if done < stop || done > stop+8192 {
		t.Errorf("fair has finished %d jobs, want a few more than %d", done, stop)
	}
	want := []reached{{Policy: "fifo", Ended: true, Finished: jobs}, {Policy: "fair", Finished: done}, {Policy: "las"}}
	for i := range want {
		got := so.Policies[i]
		if got.Policy != want[i].Policy || got.Ended != want[i].Ended || got.Finished != want[i].Finished {
			t.Errorf("%s: %+v, want %+v", want[i].Policy, got, want[i])
		}
	}
	if so.Common != done {
		t.Errorf("%d jobs in common, want the %d of fair", so.Common, done)
	}
	// Tasks take 0, 1 and 2 s in turn, two a job on four slots: no job waits.
	for _, p := range so.Policies[:2] {
		if p.Mean < 0.9 || p.Mean > 1.1 || p.P90 != 2 || p.Max != 2 {
			t.Errorf("%s: %+v, want times of 0, 1 and 2 s", p.Policy, p)
		}
	}
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"=> interrupted: only fifo has ended, of 3 policies\n", "policy      of 12,000 ", "fair  ", "las                 - ", "=> under fifo, jobs were in the system for "} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("no %q in\n%s", part, &text)
		}
	}
	for line := range strings.Lines(text.String()) {
		if len([]rune(line)) > 81 {
			t.Errorf("wider than 80 columns: %q", line)
		}
	}
}

// nth finds what sorting finds.
func TestNth(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= 40; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(r.IntN(1 + n/2))
		}
		sorted := slices.Sorted(slices.Values(values))
		for k := 1; k <= n; k++ {
			if got := nth(slices.Clone(values), k); got != sorted[k-1] {
				t.Fatalf("nth(%v, %d) = %v, want %v", values, k, got, sorted[k-1])
			}
		}
	}
}
