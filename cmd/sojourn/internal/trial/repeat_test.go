package trial

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/progress"
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
	if err == nil || err.Error() != "interrupted" || samples != nil {
		t.Errorf("repeat after an interrupt = %v, %v; want nothing and an error", samples, err)
	}
	if _, err := f.Source.Gen.Workload(ctx, 1, false); !errors.Is(err, context.Canceled) {
		t.Errorf("making a workload after an interrupt: %v, want %v", err, context.Canceled)
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
