package fifo_test

import (
	"flag"
	"testing"

	"github.com/sojourn-sched/sojourn/sojourntest/scenario"
)

var update = flag.Bool("update", false, "rewrite what the policy does in the scenarios of testdata")

func TestScenarios(t *testing.T) { scenario.Run(t, "testdata/*.txt", newPolicy, *update) }
