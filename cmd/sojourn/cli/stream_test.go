package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/report"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
	"github.com/sojourn-sched/sojourn/research/sim"
	"github.com/spf13/cobra"
)

// run and compare read the jobs again for each policy. They print the same as if all jobs
// were in memory.
func TestReadAnewIsKept(t *testing.T) {
	t.Chdir(filepath.Dir(firstOfSample(t, 60)))
	for _, line := range []string{
		"--sample --seed 3 --estimates lognormal:1",
		"-w w.jsonl -c 10x3 --load 0.7",
		"-w w.jsonl -c 10x2+1 --load 0.7 --scale durations --fault-task 0.1",
		"--gen hfsp-test:jobs=30 --load 0.9 --place 2 --place-all",
		"--gen rtmr-1 --retest",
	} {
		list := "hfsp,fair"
		if strings.Contains(line, "rtmr") {
			list = "rtmr"
		}
		specs, err := trial.ParsePolicies(catalog.Builtin(), []string{list})
		if err != nil {
			t.Fatal(err)
		}
		var said [2]any
		for i := range said {
			var f runFlags
			cmd := &cobra.Command{}
			cmd.SetContext(t.Context())
			f.register(catalog.Builtin(), cmd.Flags())
			if err := cmd.ParseFlags(append(strings.Fields(line), "-q")); err != nil {
				t.Fatal(err)
			}
			var s *trial.Scenario
			var results []*sim.Result
			if i == 0 {
				if s, err = f.open(cmd); err == nil {
					results, err = s.Run(t.Context(), terminal(cmd, true), specs, nil)
				}
			} else if s, results, err = f.run(cmd, specs, nil); err == nil && !f.Source.Sample && s.Workload.Jobs != nil {
				t.Errorf("%s: %d jobs are kept", line, len(s.Workload.Jobs))
			}
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			data, err := json.Marshal((&report.Comparison{Scenario: s, Specs: specs, Results: results}).Summary())
			if err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal(data, &said[i]); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(said[0], said[1]) {
			t.Errorf("%s: with all jobs in memory\n%v\nread anew\n%v", line, said[0], said[1])
		}
	}
}

// firstOfSample writes the first jobs of the built-in workload to a file w.jsonl. Their
// bound takes less time than the bound of all.
func firstOfSample(t *testing.T, jobs int) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "w.jsonl")
	lines := bytes.SplitAfterN(input.SampleWorkload, []byte("\n"), jobs+1)
	if err := os.WriteFile(name, bytes.Join(lines[:jobs], nil), 0o666); err != nil {
		t.Fatal(err)
	}
	return name
}
