package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A full disk is told once, with the place that the file was for and not that of the
// folder in the making.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{jobsFile, tasksFile, historyFile, runFile} {
		with := setup{policies: builtin()}
		if err := with.source.gen.Set("poisson:jobs=5"); err != nil {
			t.Fatal(err)
		}
		s, err := with.open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := (&folder{dir: "out"}).create()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/full", filepath.Join(out.temp, name)); err != nil {
			t.Fatal(err)
		}
		specs, _ := parsePolicies(builtin(), []string{"fifo"})
		_, err = runInto(t.Context(), io.Discard, s, specs, out, func(int) string { return "" }, invocation{})
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
