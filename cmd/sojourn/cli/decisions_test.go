package cli

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
)

// The recorded workloads. Some are files of traces that a clone does not have. They are
// used where they lie beside it.
var decisionLoads = []struct {
	name     string
	convert  string // the arguments, and
	run      string // the arguments of run; $DATA and $OUT are folders
	policies []string
}{
	{
		name: "sample", run: "--sample",
		policies: decisionPolicies,
	},
	{
		name:     "sample,none",
		run:      "--sample --estimates none --preempt --fault-mtbf 2h --fault-mttr 1m --straggler-probability 0.05 --straggler-factor 3",
		policies: without(decisionPolicies, "rtmr", "dc"), // they need estimates
	},
	{
		name: "rtmr-1", run: "--gen rtmr-1",
		policies: []string{"dc", "dc:hold-slots=true", "rtmr", "rtmr:booking=chain", "rtmr:booking=chain,feedback=true"},
	},
	{
		name:     "mumak-19",
		convert:  "--from rumen --slots 1+1 --topology $DATA/rumen/19-jobs.topology.json.gz --cluster-out $OUT/cluster.json $DATA/rumen/19-jobs.trace.json.gz",
		run:      "-c $OUT/cluster.json -w $OUT/trace.jsonl",
		policies: decisionPolicies,
	},
	{
		name:     "fb-2009",
		convert:  "--from swim $DATA/swim-facebook/FB-2009_samples_24_times_1hr_0.tsv.gz",
		run:      "-c 30x2+1 -w $OUT/trace.jsonl",
		policies: []string{"default", "fifo", "fair", "srpt", "fsp", "las", "pfsp", "hfsp", "mars:interval=1m"},
	},
}

// decisionPolicies are all policies, with the options that change decisions most.
var decisionPolicies = []string{
	"default", "fifo", "fifo:ignore-locality=true", "fair", "fair:order=running", "fair:delay=5s,rack-delay=0s", "srpt", "fsp", "las", "local",
	"huwf", "hjwf", "stf", "htwf", "pfsp", "pfsp:fair-limit=0", "hfsp", "hfsp:preemption=kill", "hfsp:preemption=kill-any", "hfsp:node-delay=5s",
	"td", "td:self-tune=true", "td:hot-policy=strict", "dc", "mars", "mars:batch=10s", "rtmr",
}

func without(list []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(names, s) })
}

// Each event and each decision of each policy is the one that testdata/decisions.txt
// records. The file has a line for each run: workload, policy, and the SHA-256 of its
// history.
func TestDecisions(t *testing.T) {
	const golden = "testdata/decisions.txt"
	recorded, err := os.ReadFile(golden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	data := filepath.Join("..", "..", "..", "..", "shared", "data")
	var written strings.Builder
	keep := func(load string) { // a workload that is not run keeps its lines
		for line := range strings.Lines(string(recorded)) {
			if strings.HasPrefix(line, load+" ") {
				written.WriteString(line)
			}
		}
	}
	for _, load := range decisionLoads {
		if !strings.HasPrefix(load.name, "sample") && !thorough {
			keep(load.name)
			continue
		}
		out := t.TempDir()
		words := func(args string) []string {
			return strings.Fields(strings.NewReplacer("$DATA", data, "$OUT", out).Replace(args))
		}
		if load.convert != "" {
			if _, err := os.Stat(data); err != nil {
				t.Logf("%s is not there: %v", load.name, err)
				keep(load.name)
				continue
			}
			if err := os.WriteFile(filepath.Join(out, "trace.jsonl"), printed(t, words("convert "+load.convert)...), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		args := words("compare -q -o " + filepath.Join(out, "runs") + " " + load.run)
		for _, policy := range load.policies {
			args = append(args, "-p", policy)
		}
		printed(t, args...)
		for i, policy := range load.policies {
			name, _, _ := strings.Cut(policy, ":")
			history, err := os.ReadFile(filepath.Join(out, "runs", fmt.Sprintf("%d-%s", i+1, name), files.History))
			if err != nil {
				t.Fatal(err)
			}
			line := fmt.Sprintf("%s %s %x\n", load.name, policy, sha256.Sum256(history))
			written.WriteString(line)
			if !*update && !strings.Contains(string(recorded), line) {
				t.Errorf("%s under %s decides otherwise than %s says", load.name, policy, golden)
			}
		}
	}
	if *update {
		if err := os.WriteFile(golden, []byte(written.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// printed runs a command that must work, and returns what it prints.
func printed(t *testing.T, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if status := Run(args, strings.NewReader(""), &stdout, &stderr); status != 0 {
		t.Fatalf("sojourn %v: status %d, %s", args, status, &stderr)
	}
	return stdout.Bytes()
}
