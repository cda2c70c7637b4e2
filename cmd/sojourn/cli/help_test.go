package cli

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// The examples of the help texts name commands, flags, policies, planners and workloads
// that exist.
func TestHelpExamples(t *testing.T) {
	examples := 0
	for _, c := range append(newRoot(catalog.Builtin()).Commands(), newRoot(catalog.Builtin())) {
		for _, text := range regexp.MustCompile(`\n|\||&&`).Split(c.Example, -1) {
			args := strings.Fields(strings.Split(text, ">")[0])
			if len(args) == 0 || args[0] != "sojourn" {
				continue
			}
			examples++
			named, args, err := newRoot(catalog.Builtin()).Find(args[1:])
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

// No help text is wider than a terminal, and each policy has its line.
func TestHelpWidth(t *testing.T) {
	commands := [][]string{{"help"}, {"help", "help"}, {"help", "pools"}, {"policies"}, {"gen"}, {"paper"}}
	for _, c := range newRoot(catalog.Builtin()).Commands() {
		commands = append(commands, []string{c.Name(), "--help"})
	}
	for _, name := range catalog.Builtin().Names() {
		commands = append(commands, []string{"policies", name})
	}
	for _, args := range commands {
		var out bytes.Buffer
		if status := Run(args, strings.NewReader(""), &out, &out); status != 0 || out.Len() == 0 {
			t.Errorf("%v: exit status %d: %s", args, status, &out)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > format.Widest {
				t.Errorf("%v: %d columns: %s", args, n, line)
			}
		}
	}
}

// What is printed below the tables of the sample fits into 80 columns.
func TestHintsWidth(t *testing.T) {
	for line := range strings.Lines(sampleHints) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}

// Each command that writes CSV says what cells have, and no other.
func TestHelpCSV(t *testing.T) {
	want := strings.TrimSpace(csvCells)
	said := 0
	for _, c := range newRoot(catalog.Builtin()).Commands() {
		writes := c.Flags().Lookup("csv") != nil
		if o := c.Flags().Lookup("output"); o != nil && strings.Contains(o.Usage, ".csv") {
			writes = true
		}
		says := strings.Contains(c.Long, want)
		if says != writes {
			t.Errorf("%s: it writes CSV: %t, and says so: %t", c.Name(), writes, says)
		}
		if says {
			said++
		}
	}
	if said < 2 {
		t.Errorf("%d commands write CSV", said)
	}
}

func TestNearest(t *testing.T) {
	names := []string{"compare", "convert", "fair", "fifo", "hfsp", "hfsp-dev", "pfsp", "run"}
	for text, want := range map[string][]string{
		"hfps": {"hfsp"}, "comp": {"compare"}, "co": {"compare", "convert"}, "fiar": {"fair", "fifo"}, "fir": {"fair"}, "hfsp-": {"hfsp-dev"},
		"x": nil, "": nil, "elephant": nil, "rum": {"run"}, "pfs": {"pfsp"},
	} {
		got := nearest(text, names)
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("nearest(%q) = %v, want %v", text, got, want)
		}
	}
}
