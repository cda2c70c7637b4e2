package cli

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
)

// A run that is interrupted leaves no new files behind and changes no old ones. A run
// that succeeds leaves its folder and no other.
func TestInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	compare := func(ctx context.Context, args ...string) error {
		root := newRoot(catalog.Builtin())
		root.SetArgs(append([]string{"compare", "--sample", "-q", "-o", out}, args...))
		root.SetOut(new(bytes.Buffer))
		return root.ExecuteContext(ctx)
	}
	if err := compare(ctx); err == nil || err.Error() != "interrupted after 0 of 8 policies; "+out+" is as it was" {
		t.Fatalf("compare = %v, want interrupted after 0 of 8 policies", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Fatalf("after an interrupt, the folder holds %v, %v, want nothing", entries, err)
	}

	if err := compare(t.Context(), "-p", "fifo"); err != nil {
		t.Fatal(err)
	}
	if err := compare(ctx, "--force", "-p", "fsp"); err == nil {
		t.Fatal("compare = nil, want interrupted")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("after another interrupt, the folder holds %v, %v, want out alone", entries, err)
	}
	if _, err := os.Stat(filepath.Join(out, "1-fifo", files.Jobs)); err != nil {
		t.Errorf("the earlier run is gone: %v", err)
	}

	if err := compare(t.Context(), "--force", "-p", "fsp"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("after --force, the folder holds %v, %v, want out alone", entries, err)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 2 || entries[0].Name() != "1-fsp" || entries[1].Name() != files.Report {
		t.Errorf("after --force, out holds %v, %v, want 1-fsp and the page alone", entries, err)
	}
}

// Without a place for temporary files, a run that reads a file writes its output. A run
// that reads stdin says what is missing.
func TestNoTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "absent"))
	if status, stderr := try(t, strings.NewReader(""), "run", "--sample", "-p", "fifo", "-q", "-o", filepath.Join(dir, "out")); status != 0 {
		t.Errorf("status %d, %s", status, stderr)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "out")); len(entries) != 5 {
		t.Errorf("%d files, want 5: %v", len(entries), entries)
	}
	for _, args := range []string{"run -w - -c 1x1 -p fifo", "convert --from swim -"} {
		status, stderr := try(t, strings.NewReader("a\t1\t1\t1\t1\t1\n"), strings.Fields(args)...)
		want := "sojourn: a temporary file in " + filepath.Join(dir, "absent") + ": no such file or directory\n"
		if status != 1 || stderr != want {
			t.Errorf("%s: status %d, %q, want %q", args, status, stderr, want)
		}
	}
}

// Only a terminal shows colours by itself, and only if neither NO_COLOR nor TERM says no. --color has the last word.
func TestColours(t *testing.T) {
	for _, tc := range []struct {
		flag          colourFlag
		terminal      bool
		noColor, kind string
		want          bool
	}{
		{"auto", true, "", "xterm", true},
		{"auto", true, "", "", true},
		{"auto", false, "", "xterm", false},
		{"auto", true, "1", "xterm", false},
		{"auto", true, "", "dumb", false},
		{"always", false, "1", "dumb", true},
		{"never", true, "", "xterm", false},
	} {
		t.Setenv("NO_COLOR", tc.noColor)
		t.Setenv("TERM", tc.kind)
		if got := tc.flag.wants(tc.terminal); got != tc.want {
			t.Errorf("%+v: %t", tc, got)
		}
	}
	for _, to := range []any{new(bytes.Buffer), file(t)} {
		c := colourFlag("auto")
		if c.on(to.(io.Writer)) {
			t.Errorf("%T is a terminal", to)
		}
	}
}

func file(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}
