package paper

import (
	"embed"
	"strings"
)

// findings has a text for each paper: what follows from the numbers, and what other commands say of it. Its first paragraph
// is the finding in short.
//
//go:embed findings/*.md
var findings embed.FS

// findingsOf returns the finding of a paper in short, and the rest of the text; both are "" if there is none.
func findingsOf(paper string) (short, rest string) {
	text, err := findings.ReadFile("findings/" + paper + ".md")
	if err != nil {
		return "", ""
	}
	short, rest, _ = strings.Cut(string(text), "\n\n")
	return short, rest
}

// whole reports whether the results are those of all experiments of their paper.
func whole(results []*Result) bool {
	n := 0
	for _, e := range All() {
		if e.Paper() == results[0].Paper() {
			n++
		}
	}
	return n == len(results)
}
