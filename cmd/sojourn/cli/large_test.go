//go:build ci

package cli

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
)

// A run of 10 million attempts writes its folder, and a page that is small and says that it shows a sample, in at most 500 MB
// of memory.
func TestTenMillionAttempts(t *testing.T) {
	dir := t.TempDir()
	var jobs strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&jobs, `{"id":%d,"at":%d,"phases":[{"tasks":1000,"time":%d}]}`+"\n", i+1, 10*i, 5+i*37%11)
	}
	workload, out := filepath.Join(dir, "w.jsonl"), filepath.Join(dir, "out")
	if err := os.WriteFile(workload, []byte(jobs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var before, after syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
		t.Fatal(err)
	}
	var stdout bytes.Buffer
	root := newRoot(catalog.Builtin())
	root.SetArgs([]string{"run", "-w", workload, "-c", "250x5", "-p", "fifo", "-q", "-o", out})
	root.SetOut(&stdout)
	if err := root.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
		t.Fatal(err)
	}
	const most = 500_000 // kB
	if after.Maxrss > most && after.Maxrss > before.Maxrss {
		t.Errorf("%d kB of memory, want at most %d", after.Maxrss, most)
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
}
