package kit_test

import (
	"os"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func TestConformance(t *testing.T) {
	histories.Share(t, 5) // the queue and the ledger are tested by every policy
	sojourntest.Run(t, func() sojourn.Policy { return newEDF() }, sojourntest.Options{})
}

// The package comment says that the policy of the example has at most 60 lines.
func TestPolicyIsShort(t *testing.T) {
	data, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(data), "// An edf")
	policy, _, ended := strings.Cut(rest, "// A complete policy")
	if n := strings.Count(policy, "\n"); !found || !ended || n > 60 {
		t.Errorf("the policy has %d lines, want at most 60", n)
	}
}
