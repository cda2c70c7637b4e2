package baseline_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func TestConformance(t *testing.T) {
	for _, tc := range []struct {
		name      string
		newPolicy func() sojourn.Policy
	}{
		{"srpt", must(baseline.NewSRPT, baseline.SRPTOptions{})},
		{"fsp", must(baseline.NewFSP, baseline.FSPOptions{})},
		{"fsp with late sharing", must(baseline.NewFSP, baseline.FSPOptions{Late: baseline.LateShare})},
		{"las", must(baseline.NewLAS, baseline.LASOptions{})},
	} {
		t.Run(tc.name, func(t *testing.T) { sojourntest.Run(t, tc.newPolicy, sojourntest.Options{}) })
	}
}
