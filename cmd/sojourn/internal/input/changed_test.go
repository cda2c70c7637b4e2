package input

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file that changes between two readings is detected.
func TestChangedFile(t *testing.T) {
	c, err := ReadCluster("10x2+1")
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "w.jsonl")
	text := string(SampleWorkload)
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	w, err := Streamed(file, name, c)
	if err != nil {
		t.Fatal(err)
	}
	read := func() (jobs int, last error) {
		for _, err := range w.All() {
			if last = err; err == nil {
				jobs++
			}
		}
		return jobs, last
	}
	for range 2 {
		if jobs, err := read(); err != nil || jobs != 180 {
			t.Fatalf("%d jobs, %v", jobs, err)
		}
	}
	// Additional text at the end is not part of it.
	if err := os.WriteFile(name, []byte(text+"{}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if jobs, err := read(); err != nil || jobs != 180 {
		t.Errorf("with more at the end: %d jobs, %v", jobs, err)
	}
	for _, other := range []string{strings.Replace(text, `"at":`, `"at" :`, 1)[:len(text)-1] + "\n", strings.Replace(text, "time", "tims", 1), text[:len(text)/2]} {
		if err := os.WriteFile(name, []byte(other), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := read(); err == nil {
			t.Errorf("no error although the file is another one")
		}
	}
}
