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

// cancelling ends a context when something is written.
type cancelling struct{ cancel context.CancelFunc }

func (c cancelling) Write(p []byte) (int, error) { c.cancel(); return len(p), nil }

// A benchmark that is interrupted says so, even if a trace could not be read. The error names the trace and its place, and no file that
// was to be written.
func TestInterruptedBench(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"traces/bad.swf":     "1 0 x",
		"traces/good.swf":    "1 0 5 100 4 -1 -1 4 200 -1 1 1 1 1 1 1 -1 -1\n",
		"traces/traces.json": `[{"name":"bad","file":"bad.swf","cluster":"4x1","convert":["--from","swf"]},{"name":"good","file":"good.swf","cluster":"4x1","convert":["--from","swf"]}]`,
	} {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	root := newRoot(catalog.Builtin())
	root.SetArgs([]string{"bench", "traces", "-o", "out", "-p", "fifo", "--loads", "recorded", "--estimates", "exact", "-q"})
	root.SetOut(new(bytes.Buffer))
	root.SetErr(cancelling{cancel}) // what convert says of the good one
	err := root.ExecuteContext(ctx)
	if want := "trace bad: traces/bad.swf:1:5: want a number, found \"x\"\ninterrupted after 0 of 2 runs; the same command goes on"; err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
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

// A file that bench cannot write is named, with what to do, and the table is printed all the same. Nothing else is written in part.
func TestBenchOnFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("only Linux has /dev/full, a disk that is full")
	}
	traces := t.TempDir()
	if err := os.WriteFile(filepath.Join(traces, "one.swf"), []byte("; MaxProcs: 4\n1 0 0 100 4 -1 -1 4 200 -1 1 1 1 1 1 -1 -1 -1\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"bench.json", "index.html", "records.jsonl"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "records.jsonl"), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		os.Remove(path)
		if err := os.Symlink("/dev/full", path); err != nil {
			t.Fatal(err)
		}
		var stdout, stderr strings.Builder
		status := Run([]string{"bench", traces, "-o", dir, "-p", "fifo", "--loads", "recorded", "--estimates", "exact", "-q"}, strings.NewReader(""), &stdout, &stderr)
		if name == "records.jsonl" {
			if want := path + " is not a file, as records of runs are"; status != exitUsage || !strings.Contains(stderr.String(), want) {
				t.Errorf("status %d, stderr %q; want %d, %q", status, &stderr, exitUsage, want)
			}
			continue
		}
		if status != exitFailure || !strings.Contains(stderr.String(), path+": no space left on device") {
			t.Errorf("%s: status %d, stderr %q; want %d and the name", name, status, &stderr, exitFailure)
		}
		if !strings.Contains(stdout.String(), "1 of 1 runs on 1 trace;") || !strings.HasSuffix(stderr.String(), "; once that is mended, the same command writes it and goes on\n") {
			t.Errorf("%s: stdout %q, stderr %q; want the table, and what to do", name, &stdout, &stderr)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".") {
				t.Errorf("%s: %s is left", name, e.Name())
			}
		}
	}
}

// A trace whose file is missing is named, whatever the number of policies.
func TestBenchNamesMissingTrace(t *testing.T) {
	traces := t.TempDir()
	if err := os.WriteFile(filepath.Join(traces, "traces.json"), []byte(`[{"name":"gone","file":"gone.swf","cluster":"4x1","convert":["--from","swf"]}]`), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, policies := range []string{"fifo", "fifo,fair"} {
		var stdout, stderr strings.Builder
		status := Run([]string{"bench", traces, "-o", filepath.Join(t.TempDir(), "out"), "-p", policies, "--loads", "recorded", "--estimates", "exact", "-q"}, strings.NewReader(""), &stdout, &stderr)
		if want := "sojourn: trace gone: open " + filepath.Join(traces, "gone.swf") + ": no such file or directory\n"; status != exitFailure || stderr.String() != want {
			t.Errorf("%s: status %d, stderr %q; want %q", policies, status, &stderr, want)
		}
		if !strings.Contains(stdout.String(), "trace gone cannot be read, for ") || !strings.HasPrefix(stdout.String(), "0 of ") {
			t.Errorf("%s: stdout %q, want that the trace cannot be read", policies, &stdout)
		}
	}
}
