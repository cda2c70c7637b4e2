package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
)

// What run says of a policy, which reads jobs again and again, is what compare says, which
// keeps them.
func TestRunIsCompare(t *testing.T) {
	t.Chdir(filepath.Dir(firstOfSample(t, 60)))
	for _, args := range []string{
		"--sample --seed 3 --estimates lognormal:1",
		"-w w.jsonl -c 10x3 --load 0.7",
		"-w w.jsonl -c 10x2+1 --load 0.7 --scale durations --fault-task 0.1",
		"--gen hfsp-test:jobs=30 --load 0.9 --place 2 --place-all",
		"--gen rtmr-1 -p rtmr --retest",
	} {
		args := strings.Fields(args)
		if args[len(args)-2] != "rtmr" && args[len(args)-1] != "--retest" {
			args = append(args, "-p", "hfsp")
		}
		var alone map[string]any
		runJSON(t, &alone, append([]string{"run", "--json", "-q"}, args...)...)
		var both struct{ Policies []map[string]any }
		runJSON(t, &both, append([]string{"compare", "--json", "-q"}, args...)...)
		if len(both.Policies) != 1 || !reflect.DeepEqual(alone, both.Policies[0]) {
			t.Errorf("%v: run says\n%v\ncompare\n%v", args, alone, both.Policies)
		}
	}
}

// firstOfSample writes the first jobs of the built-in workload to a file w.jsonl, whose
// bound takes less time than that of all.
func firstOfSample(t *testing.T, jobs int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "w.jsonl")
	lines := bytes.SplitAfterN(input.SampleWorkload, []byte("\n"), jobs+1)
	if err := os.WriteFile(name, bytes.Join(lines[:jobs], nil), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}
