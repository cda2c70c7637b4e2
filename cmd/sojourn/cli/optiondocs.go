package cli

import (
	_ "embed"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// optionsText holds what the sources say of the options of policies. A test compares it
// with them, and writes it with -update.
//
//go:embed options.txt
var optionsText string

// optionDocs returns the comments of the options of the built-in policies.
func optionDocs() catalog.Docs {
	docs := catalog.Docs{}
	for line := range strings.Lines(optionsText) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		docs[name] = text
	}
	return docs
}
