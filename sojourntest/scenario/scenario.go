package scenario

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/history"
)

// Run plays each file that matches pattern (see [filepath.Glob]) on a new policy,
// in a subtest named after the file. It compares what the policy did with the
// file. With update it writes the file instead: keep the changes only if you
// understand what caused them.
func Run(t *testing.T, pattern string, newPolicy func() sojourn.Policy, update bool) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no scenario matches %s", pattern)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			told, want := split(string(data))
			got, err := play(file, told, newPolicy())
			if err != nil {
				t.Fatal(err)
			}
			diff := compare(told, got, want)
			if diff != "" && update {
				if err := os.WriteFile(file, []byte(told+line+got), 0o666); err != nil {
					t.Fatal(err)
				}
			} else if diff != "" {
				t.Errorf("%s:\n%s", file, diff)
			}
		})
	}
}

// line separates the story from the record of what the policy did.
const line = "----\n"

// split returns what comes before and after the line.
func split(text string) (told, want string) {
	if before, after, ok := strings.Cut("\n"+text, "\n"+line); ok {
		return strings.TrimPrefix(before+"\n", "\n"), after
	}
	return text, ""
}

// compare returns the story with both histories from the first difference on, or
// "" if they are equal.
func compare(told, got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.SplitAfter(got, "\n"), strings.SplitAfter(want, "\n")
	same := 0
	for same < len(g) && same < len(w) && g[same] == w[same] {
		same++
	}
	return fmt.Sprintf("%s%s%sgot:\n%swant:\n%s", told, line, strings.Join(g[:same], ""),
		strings.Join(g[same:], ""), strings.Join(w[same:], ""))
}

// play returns the history that a story makes with p.
func play(file, told string, p sojourn.Policy) (string, error) {
	s, err := parse(file, told)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	w := history.NewWriter(&text)
	endless := newDriver(s, history.NewRecorder(p, w)).run()
	if err := w.Flush(); err != nil {
		return "", err
	}
	for _, err := range history.Check(history.Read(strings.NewReader(text.String()), "history")) {
		if err != nil {
			return "", fmt.Errorf("%s: the policy breaks the contract: %w\n%s", file, err, text.String())
		}
	}
	if endless != nil {
		return "", fmt.Errorf("%s: %w", file, endless)
	}
	_, calls, _ := strings.Cut(text.String(), "\n")
	return calls, nil
}
