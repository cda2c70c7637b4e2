//go:build all

package cli

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
)

// A run of 10 million attempts writes its folder, and a page that is small and says that it shows a sample, in at most 200 MB
// of memory. It runs in a process of its own, since the memory of this one is that of all tests. That process reads its own
// peak: what the kernel tells a parent of its child counts the parent's memory at the time of the fork.
func TestTenMillionAttempts(t *testing.T) {
	const alone = "SOJOURN_TEST_ALONE"
	if os.Getenv(alone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run=^TestTenMillionAttempts$", "-test.count=1")
		cmd.Env = append(os.Environ(), alone+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	dir := t.TempDir()
	var jobs strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&jobs, `{"id":%d,"at":%d,"phases":[{"tasks":1000,"time":%d}]}`+"\n", i+1, 10*i, 5+i*37%11)
	}
	workload, out := filepath.Join(dir, "w.jsonl"), filepath.Join(dir, "out")
	if err := os.WriteFile(workload, []byte(jobs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	root := newRoot(catalog.Builtin())
	root.SetArgs([]string{"run", "-w", workload, "-c", "250x5", "-p", "fifo", "-q", "-o", out})
	root.SetOut(&stdout)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := "10,000 jobs, 10,000,000 tasks"; !strings.Contains(stdout.String(), want) {
		t.Errorf("the output lacks %q:\n%s", want, &stdout)
	}
	page, err := os.ReadFile(filepath.Join(out, files.Report))
	if err != nil {
		t.Fatal(err)
	}
	sample := regexp.MustCompile(`fifo: This is a sample: [0-9,]+ of 10,000,000 attempts \(about 1 of every [0-9]+ slots is drawn\)\. Numbers, lines and tables count all\.`)
	if !sample.Match(page) || len(page) > 10_000_000 {
		t.Errorf("the page has %d bytes, and says that it is a sample: %t", len(page), sample.Match(page))
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	peak := regexp.MustCompile(`(?m)^VmHWM:\s+(\d+) kB$`).FindSubmatch(status)
	if peak == nil {
		t.Fatalf("no peak of memory in\n%s", status)
	}
	if kB, err := strconv.Atoi(string(peak[1])); err != nil || kB > 200_000 {
		t.Errorf("%s kB of memory, want at most 200,000 (%v)", peak[1], err)
	}
}
