package catalog

import (
	_ "embed"
	"strings"
)

// optionsText has the comments of the options of policies. A test compares it with the
// sources, and writes it with -update.
//
//go:embed options.txt
var optionsText string

// OptionDocs returns the comments of the options of the built-in policies.
func OptionDocs() Docs {
	docs := Docs{}
	for line := range strings.Lines(optionsText) {
		name, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		docs[name] = text
	}
	return docs
}
