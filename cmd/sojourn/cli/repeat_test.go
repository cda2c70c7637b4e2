package cli

import (
	"context"
	"errors"
	"io"
	"testing"

	"github.com/schollz/progressbar/v3"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// An interrupt ends long runs with an error, and no result.
func TestRepeatIsInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	f := setup{policies: builtin()}
	if err := f.source.gen.Set("hfsp-dev"); err != nil {
		t.Fatal(err)
	}
	s, err := f.open(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	samples, err := repeat(ctx, io.Discard, []trial{{scenario: s, spec: catalog.Spec{Name: "fifo"}}}, maxSeeds)
	if err == nil || err.Error() != "interrupted" || samples != nil {
		t.Errorf("repeat after an interrupt = %v, %v; want nothing and an error", samples, err)
	}
	if _, err := f.source.gen.workload(ctx, 1, false); !errors.Is(err, context.Canceled) {
		t.Errorf("making a workload after an interrupt: %v, want %v", err, context.Canceled)
	}
}

// The progress bar of a run counts each job once under each policy, and no more.
func TestBarCountsJobs(t *testing.T) {
	f := setup{policies: builtin()}
	f.source.sample = true
	s, err := f.open(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	bar := progressbar.DefaultSilent(1 << 30)
	specs := []catalog.Spec{{Name: "fifo"}, {Name: "las"}}
	if _, err := s.runCounted(t.Context(), bar, specs, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := bar.State().CurrentNum, int64(2*len(s.workload.jobs)); got != want {
		t.Errorf("the bar is at %d after %d jobs under 2 policies, want %d", got, len(s.workload.jobs), want)
	}
}
