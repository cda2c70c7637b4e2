package cli

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// explain says why a job waited in at most 24 lines of 80 columns, in words: nothing of the state of a policy stands there.
func TestExplainIsShort(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, policy := range []string{"default", "fair", "pfsp", "hfsp", "td"} {
		dir := filepath.Join(t.TempDir(), policy)
		var errs strings.Builder
		if status := Run([]string{"run", "--sample", "-p", policy, "-q", "-o", dir}, strings.NewReader(""), new(strings.Builder), &errs); status != 0 {
			t.Fatalf("status %d: %s", status, &errs)
		}
		for _, job := range []int{12, 58, 68, 169} {
			var out strings.Builder
			if status := Run([]string{"explain", dir, strconv.Itoa(job)}, strings.NewReader(""), &out, &errs); status != 0 {
				t.Fatalf("status %d: %s", status, &errs)
			}
			text := out.String()
			if n := strings.Count(text, "\n"); n > 24 || n < 5 || strings.Contains(text, "v=") || strings.Contains(text, "[") {
				t.Errorf("%s, job %d: %d lines\n%s", policy, job, n, text)
			}
		}
	}
}
