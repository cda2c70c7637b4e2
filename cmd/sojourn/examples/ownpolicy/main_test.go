package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/cli"
)

// compare, run and replay know the policy. It differs from SRPT where tasks differ in
// length.
func TestCommands(t *testing.T) {
	sojourn := func(args ...string) []byte {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if status := cli.Run(args, new(bytes.Buffer), &stdout, &stderr, own()); status != 0 {
			t.Fatalf("sojourn %q ended with %d: %s", args, status, stderr.String())
		}
		return stdout.Bytes()
	}
	var got struct {
		Policies []struct {
			Policy  string
			Sojourn struct{ Mean float64 }
		}
	}
	if err := json.Unmarshal(sojourn("compare", "--sample", "-q", "--json", "-p", "fewest,srpt"), &got); err != nil {
		t.Fatal(err)
	}
	if p := got.Policies; len(p) != 2 || p[0].Policy != "fewest" || p[0].Sojourn.Mean == p[1].Sojourn.Mean {
		t.Errorf("compare = %+v, want fewest and srpt with different means", p)
	}
	out := filepath.Join(t.TempDir(), "out")
	sojourn("run", "--sample", "-q", "-p", "fewest", "-o", out)
	history := filepath.Join(out, "history.txt")
	if _, err := os.Stat(history); err != nil {
		t.Fatal(err)
	}
	sojourn("replay", history)
}
