package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// Every JSON object that a command prints or writes says which schema it has.
func TestSchemaOfJSON(t *testing.T) {
	dir := t.TempDir()
	out, plans, sweep, seeds := filepath.Join(dir, "run"), filepath.Join(dir, "plan"), filepath.Join(dir, "sweep"), filepath.Join(dir, "seeds")
	gen := []string{"--gen", "poisson:jobs=10", "-c", "5x1"}
	jobs := filepath.Join(dir, "jobs.jsonl")
	if err := os.WriteFile(jobs, []byte(`{"id":1,"at":0,"phases":[{"tasks":1,"time":1}]}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	type schema struct{ Schema any }
	check := func(what string, got schema) {
		if n, ok := got.Schema.(float64); !ok || n != format.Schema {
			if s, ok := got.Schema.(string); !ok || !strings.HasPrefix(s, "sojourn-") {
				t.Errorf("%s has the schema %v", what, got.Schema)
			}
		}
	}
	for _, args := range [][]string{
		append([]string{"run", "-p", "fifo", "-o", out}, gen...),
		append([]string{"compare", "-p", "fifo,fair"}, gen...),
		append([]string{"compare", "-p", "fifo,fair", "--seeds", "2", "-o", seeds}, gen...),
		append([]string{"sweep", "-p", "fifo", "--vary", "load=0.5,0.9", "-o", sweep}, gen...),
		append([]string{"plan", "-o", plans}, gen...),
		{"explain", out, "1"},
		{"forecast", out, "--at", "1s"},
		{"replay", filepath.Join(out, files.History)},
		{"advise", "--sample", "-p", "fifo,fair"},
		{"fluid", "-w", jobs, "--slots", "1"},
		{"gen", "poisson", "--options"},
		{"paper", "rtmr-table5", "--seeds", "1"},
	} {
		var got schema
		args = append(args, "--json")
		if args[0] != "explain" && args[0] != "forecast" && args[0] != "replay" && args[0] != "fluid" && args[0] != "gen" {
			args = append(args, "-q")
		}
		runJSON(t, &got, args...)
		check(strings.Join(args, " "), got)
	}
	for _, path := range []string{filepath.Join(out, files.Run), filepath.Join(plans, files.Plan), filepath.Join(sweep, files.Sweep), filepath.Join(seeds, files.Seeds)} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got schema
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		check(filepath.Base(path), got)
	}
}
