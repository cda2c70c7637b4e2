package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The tour that newcomers run goes through from end to end, and says who waited and what would help.
func TestDemo(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "demo")
	out, err := exec.CommandContext(t.Context(), docs+"/demo.sh", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"workload   jobs.jsonl: 4 jobs, 228 tasks, arriving over 2 minutes\n",
		"Under fifo, job 2 (thumbnail) arrived at 60 s, waited 11.5 minutes", "=> 4 of 4 jobs finish, the last one at ", "with default, 3 finish sooner and 1 later"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the tour does not say %q:\n%s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(folder, "runs", "report.html")); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(docs + "/demo.sh")
	if lines := strings.Count(string(text), "\n"); err != nil || lines > 22 {
		t.Errorf("the tour has %d lines (%v)", lines, err)
	}
}
