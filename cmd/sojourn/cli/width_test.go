package cli

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"
)

// What commands print for people fits into 100 columns: see the golden files of the scripts.
func TestOutputFits(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	people := []string{"compare", "run", "sweep", "plan", "advise", "paper", "explain", "forecast"}
	machines := []string{"--json", "--csv", "--markdown"}
	checked := 0
	for _, script := range scripts {
		archive, err := txtar.ParseFile(script)
		if err != nil {
			t.Fatal(err)
		}
		goldens := map[string]string{}
		for _, f := range archive.Files {
			goldens[f.Name] = string(f.Data)
		}
		var command []string
		for line := range strings.Lines(string(archive.Comment)) {
			words := strings.Fields(line)
			if i := slices.Index(words, "sojourn"); i >= 0 {
				command = words[i+1:]
				continue
			}
			if len(words) < 3 || words[0] != "cmp" || words[1] != "stdout" || len(command) == 0 || !slices.Contains(people, command[0]) ||
				slices.ContainsFunc(command, func(arg string) bool { return slices.Contains(machines, arg) }) {
				continue
			}
			checked++
			for text := range strings.Lines(goldens[words[2]]) {
				if n := utf8.RuneCountInString(strings.TrimRight(text, "\n")); n > 100 && !strings.HasPrefix(text, "| ") { // Markdown
					t.Errorf("%s, %s: %d columns: %s", filepath.Base(script), strings.Join(command, " "), n, text)
				}
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d outputs were checked", checked)
	}
}
