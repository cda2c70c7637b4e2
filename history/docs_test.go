package history

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// The examples in the documents read, and tell the truth.
func TestDocuments(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	source := regexp.MustCompile(`(?m)^//[ \t]?`).ReplaceAllString(string(doc), "")
	page, err := os.ReadFile("../docs/history.md")
	if err != nil {
		t.Fatal(err)
	}
	example, _, _ := strings.Cut(source[strings.Index(source, firstLine):], "\n\n")
	_, rest, _ := strings.Cut(string(page), "```history\n")
	onPage, _, _ := strings.Cut(rest, "```")
	for name, text := range map[string]string{"doc.go": example + "\n", "docs/history.md": onPage} {
		if entries, err := collect(Check(Read(strings.NewReader(text), name))); err != nil || len(entries) < 5 {
			t.Errorf("%s: %d entries, error %v\n%s", name, len(entries), err, text)
		}
	}

	// The grammar is the same in both.
	_, rest, _ = strings.Cut(string(page), "```ebnf\n")
	grammar, _, _ := strings.Cut(rest, "```")
	rule := regexp.MustCompile(`(?m)^\t(\w+ +=|  +\|).*$`)
	lines := 0
	for line := range strings.SplitSeq(string(doc), "\n") {
		line = strings.TrimPrefix(line, "//")
		if rule.MatchString(line) {
			lines++
			if !strings.Contains("\n"+grammar, "\n"+strings.TrimPrefix(line, "\t")+"\n") {
				t.Errorf("docs/history.md lacks %q", line)
			}
		}
	}
	if lines < 25 {
		t.Errorf("found %d lines of grammar in doc.go", lines)
	}
}
