package trial

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// An interrupt ends long runs with an error, and no result.
func TestRepeatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := Setup{Policies: catalog.Builtin()}
	if err := f.Source.Gen.Set("hfsp-dev"); err != nil {
		t.Fatal(err)
	}
	s, err := f.Open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	samples, err := Repeat(ctx, io.Discard, []Trial{{Scenario: s, Spec: catalog.Spec{Name: "fifo"}}}, MaxSeeds)
	if err == nil || err.Error() != "interrupted after 0 of 100,000 runs" || len(samples) != 0 {
		t.Errorf("repeat after an interrupt = %v, %v; want nothing and an error", samples, err)
	}
	if _, err := f.Source.Gen.Workload(ctx, 1, false); !errors.Is(err, context.Canceled) {
		t.Errorf("making a workload after an interrupt: %v, want %v", err, context.Canceled)
	}
}

// What is whole when an interrupt comes is returned: the seeds that all trials have ended, or else the trials that have ended the first one.
func TestRepeatKeepsWhatIsWhole(t *testing.T) {
	f := Setup{Policies: catalog.Builtin()}
	if err := f.Source.Gen.Set("poisson:jobs=10"); err != nil {
		t.Fatal(err)
	}
	s, err := f.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		stop           int // the run that the interrupt comes in, from 0
		samples, seeds int
	}{{0, 0, 0}, {1, 1, 1}, {2, 2, 1}, {3, 3, 1}, {7, 3, 2}} {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var before sync.WaitGroup
		before.Add(tc.stop)
		trials := make([]Trial, 3)
		for i, name := range []string{"fifo", "fair", "las"} {
			trials[i] = Trial{Scenario: s, Spec: catalog.Spec{Name: name}, Watch: func(cfg *sim.Config) (func() any, error) {
				if n := int(cfg.Seed)*len(trials) + i; n == tc.stop {
					before.Wait()
					cancel()
				} else if n > tc.stop {
					<-ctx.Done()
				}
				return func() any {
					before.Done()
					return nil
				}, nil
			}}
		}
		samples, err := Repeat(ctx, io.Discard, trials, 5)
		var stopped *Interrupted
		if !errors.As(err, &stopped) || stopped.Of != 15 || stopped.Done != tc.stop {
			t.Errorf("stopped in run %d: error %v, want %d of 15", tc.stop, err, tc.stop)
		}
		if len(samples) != tc.samples {
			t.Fatalf("stopped in run %d: %d trials, want %d", tc.stop, len(samples), tc.samples)
		}
		for _, sample := range samples {
			if len(sample.Results) != tc.seeds || slices.Contains(sample.Results, nil) || len(sample.Loads) != tc.seeds {
				t.Errorf("stopped in run %d: results %v, want %d", tc.stop, sample.Results, tc.seeds)
			}
		}
	}
}

// The progress bar of a run counts each job once under each policy, and no more.
func TestBarCountsJobs(t *testing.T) {
	f := Setup{Policies: catalog.Builtin()}
	f.Source.Sample = true
	s, err := f.Open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	bar := new(progress.Bar)
	specs := []catalog.Spec{{Name: "fifo"}, {Name: "las"}}
	if _, err := s.RunCounted(t.Context(), bar, specs, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := bar.Count(), 2*len(s.Workload.Jobs); got != want {
		t.Errorf("the bar is at %d after %d jobs under 2 policies, want %d", got, len(s.Workload.Jobs), want)
	}
}
