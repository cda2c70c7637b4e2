package cli

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
)

func TestSeedsFlag(t *testing.T) {
	for _, text := range []string{"0", "-3", "1.5", "", "x", "100001", "9999999999999999999"} {
		var n seedsFlag
		if err := n.Set(text); err == nil || n != 0 {
			t.Errorf("--seeds %q: %d, %v; want an error", text, n, err)
		}
	}
}

// Repetition k is the run of seed + k, under every policy: with errors of estimates, with
// faults, and with a workload that is generated anew.
func TestRepeatIsOneRunASeed(t *testing.T) {
	file := firstOfSample(t, 40)
	for _, args := range [][]string{
		{"-w", file, "-c", "10x2+1", "--estimates", "lognormal:1"},
		{"-w", file, "-c", "10x2+1", "--fault-task", "0.1", "--load", "0.5"},
		{"--gen", "hfsp-dev:jobs=20", "--load", "0.8", "--scale", "durations"},
		{"-w", file, "-c", "10x2+1", "-p", "hfsp:estimator=oracle,sigma=2", "-p", "hfsp:sigma=2,seed=3"},
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
		var sum struct {
			Policies []struct {
				Policy  string
				Sojourn struct{ Mean struct{ Values []float64 } }
			}
		}
		runJSON(t, &sum, append(args, "--seed", "5", "--seeds", "3")...)
		differ := false
		for k := range 3 {
			want := single(5 + k)
			for _, p := range sum.Policies {
				if got := p.Sojourn.Mean.Values[k]; got != want[p.Policy] {
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

// A note says whether a scenario is random.
func TestNoteFixed(t *testing.T) {
	note := func(f trial.Setup, seeds int) string {
		var b strings.Builder
		noteFixed(&b, seeds, []trial.Trial{{Scenario: &trial.Scenario{Setup: f}}})
		return b.String()
	}
	if got := note(trial.Setup{}, 20); !strings.Contains(got, "all 20 seeds give the same") {
		t.Errorf("nothing random: %q", got)
	}
	if got := note(trial.Setup{}, 1); got != "" {
		t.Errorf("nothing random, one seed: %q", got)
	}
	gen := trial.Setup{}
	if err := gen.Source.Gen.Set("poisson"); err != nil {
		t.Fatal(err)
	}
	for _, f := range []trial.Setup{
		gen,
		{Estimates: trial.Estimates{Mode: sim.LogNormal, Sigma: 1}},
		{Stragglers: sim.Stragglers{Probability: 0.1, Factor: 2}},
		{Faults: sim.Faults{Task: 0.1}},
		{Faults: sim.Faults{Refuse: 0.1}},
		{Faults: sim.Faults{MTBF: 1, MTTR: 1}},
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
	if noteFixed(&b, 20, []trial.Trial{{Spec: noisy[0], Scenario: &trial.Scenario{}}}); b.Len() > 0 {
		t.Errorf("%v: %q, want nothing", noisy, b.String())
	}
}
