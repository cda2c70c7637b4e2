package cli

import (
	"regexp"
	"strings"
	"testing"
)

// The examples of the help texts name commands, flags, policies, planners and workloads
// that exist.
func TestHelpExamples(t *testing.T) {
	examples := 0
	for _, c := range append(newRoot(builtin()).Commands(), newRoot(builtin())) {
		for _, text := range regexp.MustCompile(`\n|\||&&`).Split(c.Example, -1) {
			args := strings.Fields(strings.Split(text, ">")[0])
			if len(args) == 0 || args[0] != "sojourn" {
				continue
			}
			examples++
			named, args, err := newRoot(builtin()).Find(args[1:])
			if err == nil {
				err = named.ParseFlags(args)
			}
			if err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(text), err)
			}
		}
	}
	if examples < 20 {
		t.Errorf("%d examples", examples)
	}
}
