package browsertest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/cli"
)

// sojourn runs the command, and returns the path of the report in the folder that -o names.
func sojourn(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	var out, errs strings.Builder
	if status := cli.Run(append(args, "-o", dir), strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("sojourn %q: status %d\n%s", args, status, &errs)
	}
	return filepath.Join(dir, "report.html")
}

// hostile is a name that would end a script, an attribute or a comment.
const hostile = `</script><script>alert(1)</script><img src=x onerror=alert(2)>' & <!-- -->`

// story is a run under FIFO of three jobs on two slots: job 1 takes both slots from 0 to 1000 s, job 2 waits from 100 s
// and runs on both from 1000 to 1400 s, job 3 waits from 200 s and runs on one from 1400 to 1500 s.
func story(t *testing.T, name string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "story.jsonl")
	text := `{"id":11,"at":0,"name":"NAME","pool":"NAME","phases":[{"tasks":2,"time":1000}]}
{"id":12,"at":100,"name":"second","phases":[{"tasks":2,"time":400}]}
{"id":13,"at":200,"name":"third","phases":[{"tasks":1,"time":100}]}
`
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, "NAME", name)), 0o600); err != nil {
		t.Fatal(err)
	}
	return sojourn(t, "run", "-w", file, "-c", "2x1", "-p", "fifo")
}
