package files

import (
	"os"
	"path/filepath"
	"testing"
)

// The folder is made beside its final place, not where temporary files go, which may be
// another file system. The place may be the working folder.
func TestOutputIsMadeBesideItsPlace(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "absent"))
	for _, dir := range []string{"out", "deep/out", "."} {
		t.Chdir(t.TempDir())
		f := Folder{Dir: dir}
		out, err := f.Create()
		if err != nil {
			t.Fatalf("-o %s: %v", dir, err)
		}
		if err := out.Commit(); err != nil {
			t.Errorf("-o %s: %v", dir, err)
		}
	}
	if _, err := (&Folder{Dir: "/"}).Create(); err == nil {
		t.Error("-o /: nil, want an error")
	}
}

// Files that appear in the folder during a run are not lost.
func TestFolderInUseMeanwhile(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, force := range []bool{false, true} {
		f := Folder{Dir: "out", Force: force}
		out, err := f.Create()
		if err != nil {
			t.Fatal(err)
		}
		os.MkdirAll("out", 0o777)
		if err := os.WriteFile("out/mine", nil, 0o666); err != nil {
			t.Fatal(err)
		}
		if err := out.Commit(); err == nil {
			t.Errorf("force %v: no error", force)
		}
		if _, err := os.Stat("out/mine"); err != nil {
			t.Errorf("force %v: %v", force, err)
		}
		out.Abandon()
	}
}
