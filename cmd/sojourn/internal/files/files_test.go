package files

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
)

// A file that is replaced stays the old one until the new one is complete. A device is
// written.
func TestReplaceFile(t *testing.T) {
	t.Chdir(t.TempDir())
	text := func(parts ...string) func(io.Writer) error {
		return func(w io.Writer) error {
			for _, p := range parts {
				if p == "fail" {
					return errors.New("half of it")
				}
				io.WriteString(w, p)
			}
			return nil
		}
	}
	has := func(want string) {
		t.Helper()
		got, _ := os.ReadFile("f")
		if entries, _ := os.ReadDir("."); string(got) != want || want != "" && len(entries) != 1 || want == "" && len(entries) != 0 {
			t.Errorf("f holds %q among %v, want %q alone", got, entries, want)
		}
	}
	long := strings.Repeat("x", 100_000)
	if err := Replace("f", text(long, "fail")); err == nil || err.Error() != "f: half of it" {
		t.Errorf("error %v", err)
	}
	has("")
	if err := Replace("f", text("one")); err != nil {
		t.Fatal(err)
	}
	has("one")
	if err := Replace("f", text(long, "fail")); err == nil {
		t.Error("no error")
	}
	has("one")
	if err := Replace("f", text("two")); err != nil {
		t.Fatal(err)
	}
	has("two")
	if err := Replace("absent/f", text("two")); err == nil || err.Error() != "absent/f: no such file or directory" {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat("/dev/full"); err == nil {
		if err := Replace("/dev/full", text("two")); err == nil || err.Error() != "/dev/full: no space left on device" {
			t.Errorf("error %v", err)
		}
	}
}
