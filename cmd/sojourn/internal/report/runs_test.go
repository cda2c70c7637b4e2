package report

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

// A full disk is reported once, with the final place of the file and not with that of the
// temporary folder.
func TestFullDisk(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no /dev/full")
	}
	t.Chdir(t.TempDir())
	for _, name := range []string{files.Jobs, files.Tasks, files.History, files.Run} {
		with := trial.Setup{Policies: catalog.Builtin()}
		if err := with.Source.Gen.Set("poisson:jobs=5"); err != nil {
			t.Fatal(err)
		}
		s, err := with.Open(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		out, err := (&files.Folder{Dir: "out"}).Create()
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink("/dev/full", filepath.Join(out.Temp, name)); err != nil {
			t.Fatal(err)
		}
		specs, _ := trial.ParsePolicies(catalog.Builtin(), []string{"fifo"})
		_, err = runInto(t.Context(), io.Discard, s, specs, out, func(int) string { return "" }, Invocation{})
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		if got, want := out.Failed(err).Error(), filepath.Join("out", name)+": no space left on device"; got != want {
			t.Errorf("%s: error %q, want %q", name, got, want)
		}
		out.Abandon()
	}
	if entries, _ := os.ReadDir("."); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}
