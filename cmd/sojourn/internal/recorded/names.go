package recorded

import (
	"encoding/csv"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// maxName is the most characters of a name of others that a page shows.
const maxName = 120

// bounded returns a name of others as pages show it: without what browsers obey, and not long.
func bounded(name string) string {
	if len(name) > utf8.UTFMax*maxName {
		name = name[:utf8.UTFMax*maxName]
	}
	name = format.Visible(name)
	if utf8.RuneCountInString(name) > maxName {
		name = string([]rune(name)[:maxName-1]) + "…"
	}
	return name
}

// again returns the command line of a run, "" if its folder does not tell.
func (info *runInfo) again() string {
	if info.Command == "" {
		return ""
	}
	line := "sojourn " + info.Command
	for _, name := range slices.Sorted(maps.Keys(info.Flags)) {
		value := info.Flags[name]
		values := []string{value}
		if list, ok := strings.CutPrefix(value, "["); ok { // a flag that may be repeated
			if all, err := csv.NewReader(strings.NewReader(strings.TrimSuffix(list, "]"))).Read(); err == nil {
				values = all
			}
		}
		for _, v := range values {
			if line += " --" + name; v != "true" {
				line += "=" + quoted(v)
			}
		}
	}
	return line
}

// quoted returns a word as a shell reads it.
func quoted(word string) string {
	if word != "" && strings.Trim(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%") == "" {
		return word
	}
	return "'" + strings.ReplaceAll(format.Visible(word), "'", `'\''`) + "'"
}
