package baseline_test

import (
	"flag"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest/scenario"
)

var update = flag.Bool("update", false, "rewrite what the policies do in the scenarios of testdata")

func TestScenarios(t *testing.T) {
	for name, newPolicy := range map[string]func() sojourn.Policy{
		"srpt": must(baseline.NewSRPT, baseline.SRPTOptions{}),
		"fsp":  must(baseline.NewFSP, baseline.FSPOptions{}),
		"las":  must(baseline.NewLAS, baseline.LASOptions{}),
	} {
		t.Run(name, func(t *testing.T) { scenario.Run(t, "testdata/"+name+"/*.txt", newPolicy, *update) })
	}
}
