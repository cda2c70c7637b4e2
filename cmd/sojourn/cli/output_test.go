package cli

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
)

// A run that is interrupted leaves nothing behind, and what was there before as
// it was; one that succeeds leaves its folder and no other.
func TestInterruptLeavesNothing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	dir := t.TempDir()
	out := filepath.Join(dir, "out")
	compare := func(ctx context.Context, args ...string) error {
		root := newRoot(builtin())
		root.SetArgs(append([]string{"compare", "--sample", "-q", "-o", out}, args...))
		root.SetOut(new(bytes.Buffer))
		return root.ExecuteContext(ctx)
	}
	if err := compare(ctx); err == nil || err.Error() != "interrupted" {
		t.Fatalf("compare = %v, want interrupted", err)
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
	if _, err := os.Stat(filepath.Join(out, "1-fifo", jobsFile)); err != nil {
		t.Errorf("the earlier run is gone: %v", err)
	}

	if err := compare(t.Context(), "--force", "-p", "fsp"); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("after --force, the folder holds %v, %v, want out alone", entries, err)
	}
	if entries, err := os.ReadDir(out); err != nil || len(entries) != 1 || entries[0].Name() != "1-fsp" {
		t.Errorf("after --force, out holds %v, %v, want 1-fsp alone", entries, err)
	}
}

// The folder is made beside its place, not where temporary files go, which may be
// another file system. The place may be the working folder.
func TestOutputIsMadeBesideItsPlace(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
	for _, dir := range []string{"out", "deep/out", "."} {
		t.Chdir(t.TempDir())
		f := outputFlags{dir: dir}
		out, err := f.create()
		if err != nil {
			t.Fatalf("-o %s: %v", dir, err)
		}
		if err := out.commit(); err != nil {
			t.Errorf("-o %s: %v", dir, err)
		}
	}
	if _, err := (&outputFlags{dir: "/"}).create(); err == nil {
		t.Error("-o /: nil, want an error")
	}
}

// Where there is no place for temporary files, a run that reads a file writes its output;
// one that reads stdin says so.
func TestNoTemporaryFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "absent"))
	if status, stderr := try(t, strings.NewReader(""), "run", "--sample", "-p", "fifo", "-q", "-o", filepath.Join(dir, "out")); status != 0 {
		t.Errorf("status %d, %s", status, stderr)
	}
	if entries, _ := os.ReadDir(filepath.Join(dir, "out")); len(entries) != 4 {
		t.Errorf("%d files, want 4: %v", len(entries), entries)
	}
	for _, args := range []string{"run -w - -c 1x1 -p fifo", "convert --from swim -"} {
		status, stderr := try(t, strings.NewReader("a\t1\t1\t1\t1\t1\n"), strings.Fields(args)...)
		want := "sojourn: a temporary file in " + filepath.Join(dir, "absent") + ": no such file or directory\n"
		if status != 1 || stderr != want {
			t.Errorf("%s: status %d, %q, want %q", args, status, stderr, want)
		}
	}
}

// A full disk is told once, with the place that the file was for and not that of the
// folder in the making.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{jobsFile, tasksFile, historyFile, runFile} {
		flags := runFlags{policies: builtin(), quiet: true, output: outputFlags{dir: "out"}}
		if err := flags.input.gen.Set("poisson:jobs=5"); err != nil {
			t.Fatal(err)
		}
		cmd := newRoot(builtin())
		cmd.SetContext(t.Context())
		s, err := flags.open(cmd)
		if err != nil {
			t.Fatal(err)
		}
		out, err := flags.output.create()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/full", filepath.Join(out.temp, name)); err != nil {
			t.Fatal(err)
		}
		specs, _ := parsePolicies(builtin(), []string{"fifo"})
		_, err = s.runInto(t.Context(), out, cmd, specs, func(int, catalog.Spec) string { return "" })
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		if got, want := out.failed(err).Error(), filepath.Join("out", name)+": no space left on device"; got != want {
			t.Errorf("%s: error %q, want %q", name, got, want)
		}
		out.abandon()
	}
	if entries, _ := os.ReadDir("."); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

// What comes to lie in the folder while a run goes on is not lost.
func TestFolderInUseMeanwhile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, force := range []bool{false, true} {
		f := outputFlags{dir: "out", force: force}
		out, err := f.create()
		if err != nil {
			t.Fatal(err)
		}
		os.MkdirAll("out", 0o777)
		if err := os.WriteFile("out/mine", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := out.commit(); err == nil {
			t.Errorf("force %v: no error", force)
		}
		if _, err := os.Stat("out/mine"); err != nil {
			t.Errorf("force %v: %v", force, err)
		}
		out.abandon()
	}
}
