package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../../../.." // of the repository

// section returns what CONTRIBUTING.md says about a policy.
func section(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(data), "## Add a policy in eight steps\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// steps returns the eight steps of CONTRIBUTING.md.
func steps(t *testing.T) []string {
	t.Helper()
	text := section(t)
	list := regexp.MustCompile(`(?m)^\d\. .*\n(?:   .*\n)*`).FindAllString(text, -1)
	if len(list) != 8 {
		t.Fatalf("CONTRIBUTING.md has %d steps, want 8", len(list))
	}
	return list
}

// The eight steps name nothing that another module cannot import. Each place that they
// name in the repository exists, and each file of the policy is in the folder of this
// example.
func TestStepsNameWhatIsThere(t *testing.T) {
	file := regexp.MustCompile("`([a-z_]+/[a-z_/.]+|[a-z_]+\\.go)`")
	own := 0
	for _, step := range steps(t) {
		for _, m := range file.FindAllStringSubmatch(step, -1) {
			name := strings.TrimSuffix(m[1], "/")
			where := filepath.Join(root, name)
			switch {
			case name == "mypolicy":
				continue
			case strings.Contains(name, "internal"):
				t.Errorf("%s is internal, in: %s", name, step)
				continue
			case !strings.Contains(name, "/"):
				own++
				where = filepath.Join("fewest", name)
			}
			if _, err := os.Stat(where); err != nil {
				t.Errorf("%s, in: %s", err, step)
			}
		}
	}
	if own < 5 {
		t.Errorf("the steps name %d files of a policy, want at least 5: %s", own, path.Base(root))
	}
}

// If the steps name a function of a file, as in "`Builtin` of
// `cmd/sojourn/catalog/builtin.go`", the file has the function.
func TestFunctionsAreWhereTheStepsSay(t *testing.T) {
	list := regexp.MustCompile("`(\\w+)` of\\s`([a-z_/]+\\.go)`").FindAllStringSubmatch(section(t), -1)
	if len(list) == 0 {
		t.Error("CONTRIBUTING.md does not say in which file Builtin is")
	}
	for _, m := range list {
		data, err := os.ReadFile(filepath.Join(root, m[2]))
		if err != nil || !strings.Contains(string(data), "\nfunc "+m[1]+"(") {
			t.Errorf("%s has no function %s: %v", m[2], m[1], err)
		}
	}
}
