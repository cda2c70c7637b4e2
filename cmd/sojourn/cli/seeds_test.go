package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/schollz/progressbar/v3"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/sim"
	"github.com/spf13/cobra"
)

func TestSeedsFlag(t *testing.T) {
	for _, text := range []string{"0", "-3", "1.5", "", "x", "100001", "9999999999999999999"} {
		var n seedsFlag
		if err := n.Set(text); err == nil || n != 0 {
			t.Errorf("--seeds %q: %d, %v; want an error", text, n, err)
		}
	}
}

// The first policy is best, the second is not told apart from it, the third is.
func TestJudge(t *testing.T) {
	values := [][]float64{
		{10, 20, 30},
		{12, 19, 32}, // differences 2, -1, 2: mean 1, standard error 1, times 4.30
		{11, 21, 31}, // always 1 more
	}
	judged := judge(values)
	marks := ""
	for i := range judged {
		marks += judged[i].mark()
	}
	if want := "*~ "; marks != want {
		t.Errorf("marks of %v = %q, want %q", values, marks, want)
	}
	// Means 20, 21, 21, and 4.303 times a standard error of sqrt(100/3), sqrt(103/3).
	want := []string{"20 ± 25 *", "21 ± 25 ~", "21 ± 25  "}
	if got := judgedColumn(judged); !slices.Equal(got, want) {
		t.Errorf("column of %v = %q, want %q", values, got, want)
	}
}

// The best is the least mean wherever it stands, and where a policy has no number
// there is nothing to compare.
func TestJudgeFindsBest(t *testing.T) {
	nan := math.NaN()
	for _, tc := range []struct {
		values [][]float64
		want   string
	}{
		{[][]float64{{3, 3}, {2, 2}, {4, 4}}, " * "},
		{[][]float64{{2, 2}, {2, 2}}, "*~"},
		{[][]float64{{nan, 1}, {5, 6}, {9, 10}}, " * "},
		{[][]float64{{1, 2}}, " "},            // alone
		{[][]float64{{1}, {2}}, "  "},         // one seed
		{[][]float64{{1, 2}, {1.5, 2}}, "*~"}, // differences -.5 and 0
	} {
		got := ""
		for _, j := range judge(tc.values) {
			got += j.mark()
		}
		if got != tc.want {
			t.Errorf("marks of %v = %q, want %q", tc.values, got, tc.want)
		}
	}
}

func TestJudgedColumnOfOneSeed(t *testing.T) {
	for _, tc := range []struct {
		values [][]float64
		want   []string
	}{
		{[][]float64{{90}, {0}, {7}}, []string{"90", "0", "7"}},
		{[][]float64{{8.56}, {1.474}}, []string{"8.56", "1.47"}},
	} {
		if got := judgedColumn(judge(tc.values)); !slices.Equal(got, tc.want) {
			t.Errorf("column of %v = %q, want %q", tc.values, got, tc.want)
		}
	}
}

func TestParallel(t *testing.T) {
	var calls [100]atomic.Int32
	err := parallel(context.Background(), len(calls), func(_ context.Context, i int) error {
		calls[i].Add(1)
		return nil
	})
	for i := range calls {
		if n := calls[i].Load(); n != 1 || err != nil {
			t.Fatalf("f(%d) was called %d times, error %v", i, n, err)
		}
	}
}

// An error ends the calls with greater numbers. One with a lesser number goes on,
// and its error, although it comes later, is what comes out.
func TestParallelError(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	later, earlier := errors.New("call 3"), errors.New("call 2")
	var started atomic.Int32
	ended := make(chan struct{}) // a call above 3 was
	err := parallel(context.Background(), 1_000_000, func(ctx context.Context, i int) error {
		started.Add(1)
		switch {
		case i == 2:
			<-ended
			if ctx.Err() != nil {
				t.Error("call 2 was cancelled")
			}
			return earlier
		case i == 3:
			for started.Load() < 5 {
				runtime.Gosched()
			}
			return later
		case i > 3:
			<-ctx.Done()
			close(ended)
			return fmt.Errorf("run %d: %w", i, ctx.Err())
		}
		return nil
	})
	if err != earlier || started.Load() != 5 {
		t.Errorf("error %v after %d calls, want %v after 5", err, started.Load(), earlier)
	}
}

// An interrupt ends long runs with an error, and no result.
func TestRepeatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cmd := &cobra.Command{}
	cmd.SetContext(ctx)
	cmd.SetErr(io.Discard)
	f := &runFlags{policies: builtin()}
	if err := f.input.gen.Set("hfsp-dev"); err != nil {
		t.Fatal(err)
	}
	s, err := f.open(cmd)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	samples, err := repeat(cmd, []trial{{scenario: s, spec: catalog.Spec{Name: "fifo"}}}, maxSeeds)
	if err == nil || err.Error() != "interrupted" || samples != nil {
		t.Errorf("repeat after an interrupt = %v, %v; want nothing and an error", samples, err)
	}
	if _, err := f.input.gen.workload(ctx, 1, false); !errors.Is(err, context.Canceled) {
		t.Errorf("making a workload after an interrupt: %v, want %v", err, context.Canceled)
	}
}

// The progress bar of a run counts each job once under each policy, and no more.
func TestBarCountsJobs(t *testing.T) {
	cmd := &cobra.Command{}
	cmd.SetContext(context.Background())
	f := &runFlags{policies: builtin()}
	f.input.sample = true
	s, err := f.open(cmd)
	if err != nil {
		t.Fatal(err)
	}
	bar := progressbar.DefaultSilent(1 << 30)
	specs := []catalog.Spec{{Name: "fifo"}, {Name: "las"}}
	if _, err := s.runCounted(cmd.Context(), bar, specs, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := bar.State().CurrentNum, int64(2*len(s.workload.jobs)); got != want {
		t.Errorf("the bar is at %d after %d jobs under 2 policies, want %d", got, len(s.workload.jobs), want)
	}
}

// Repetition k is the run of seed + k, under every policy: with errors of
// estimates, with faults, and with a workload that is made anew.
func TestRepeatIsOneRunASeed(t *testing.T) {
	for _, args := range [][]string{
		{"--sample", "--estimates", "lognormal:1"},
		{"--sample", "--fault-task", "0.1", "--load", "0.5"},
		{"--gen", "hfsp-dev:jobs=20", "--load", "0.8", "--scale", "durations"},
		{"--sample", "-p", "hfsp:estimator=oracle,sigma=2", "-p", "hfsp:sigma=2,seed=3"},
	} {
		args = append([]string{"compare", "-p", "fifo,fsp", "--json"}, args...)
		single := func(seed int) map[string]float64 {
			var sum struct {
				Policies []struct {
					Policy  string
					Sojourn struct{ Mean float64 }
				}
			}
			runJSON(t, &sum, append(args, "--seed", fmt.Sprint(seed))...)
			means := map[string]float64{}
			for _, p := range sum.Policies {
				means[p.Policy] = p.Sojourn.Mean
			}
			return means
		}
		var sum repetitionSummary
		runJSON(t, &sum, append(args, "--seed", "5", "--seeds", "3")...)
		differ := false
		for k := range 3 {
			want := single(5 + k)
			for _, p := range sum.Policies {
				if got := float64(p.Sojourn.Mean.Values[k]); got != want[p.Policy] {
					t.Errorf("%v: %s, value %d: mean sojourn time %v, want %v as with --seed %d", args, p.Policy, k, got, want[p.Policy], 5+k)
				}
				differ = differ || p.Sojourn.Mean.Values[k] != p.Sojourn.Mean.Values[0]
			}
		}
		if !differ {
			t.Errorf("%v: all seeds give the same", args)
		}
	}
}

// What is random says so, and what is not as well.
func TestNoteFixed(t *testing.T) {
	note := func(f *runFlags, seeds int) string {
		var b strings.Builder
		noteFixed(&b, seeds, []trial{{scenario: &scenario{flags: f}}})
		return b.String()
	}
	if got := note(&runFlags{}, 20); !strings.Contains(got, "all 20 seeds give the same") {
		t.Errorf("nothing random: %q", got)
	}
	if got := note(&runFlags{}, 1); got != "" {
		t.Errorf("nothing random, one seed: %q", got)
	}
	gen := &runFlags{}
	if err := gen.input.gen.Set("poisson"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []*runFlags{
		gen,
		{estimates: estimatesFlag{Mode: sim.LogNormal, Sigma: 1}},
		{stragglers: sim.Stragglers{Probability: 0.1, Factor: 2}},
		{faults: sim.Faults{Task: 0.1}},
		{faults: sim.Faults{Refuse: 0.1}},
		{faults: sim.Faults{MTBF: 1, MTTR: 1}},
	} {
		if got := note(f, 20); got != "" {
			t.Errorf("%+v: %q, want nothing", f, got)
		}
	}
	var b strings.Builder
	noisy, err := catalog.Parse("hfsp:sigma=0.5")
	if err != nil {
		t.Fatal(err)
	}
	if noteFixed(&b, 20, []trial{{spec: noisy[0], scenario: &scenario{flags: &runFlags{}}}}); b.Len() > 0 {
		t.Errorf("%v: %q, want nothing", noisy, b.String())
	}
}

func TestGeneratorFlag(t *testing.T) {
	var g generatorFlag
	if err := g.Set("hfsp-dev:bins=1,1,0,0,jobs=50,load=0.9"); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(g.options), "map[bins:1,1,0,0 jobs:50 load:0.9]"; got != want || g.from.Name != "hfsp-dev" {
		t.Errorf("generator %s with %s, want hfsp-dev with %s", g.from.Name, got, want)
	}
	for _, text := range []string{"", "hfsp", "hfsp-dev:", "hfsp-dev:jobs", "hfsp-dev:=3", "hfsp-dev:jobs=1,jobs=2", "hfsp-dev:jobs=1,=2"} {
		var g generatorFlag
		if err := g.Set(text); err == nil || g.given() {
			t.Errorf("--gen %q: %v, %v; want an error", text, g, err)
		}
	}
}
