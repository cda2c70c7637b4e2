package cli

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// try runs a command on some input. It returns the exit status and what the command
// prints on stderr.
func try(t *testing.T, stdin io.Reader, args ...string) (int, string) {
	t.Helper()
	var stderr bytes.Buffer
	status := Run(args, stdin, io.Discard, &stderr)
	return status, stderr.String()
}

// Every flag that takes a number refuses a text that is no finite number. The error names
// the flag, and the exit status is that of wrong usage.
func TestNumbersOfFlags(t *testing.T) {
	found := 0
	for _, c := range newRoot(catalog.Builtin()).Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			numeric := []string{"float64", "int", "int64", "uint64", "duration", "LOAD", "N", "factors"}
			if !slices.Contains(numeric, f.Value.Type()) {
				return
			}
			found++
			for _, v := range []string{"", "0x", "1e", "--", "\x00", "١", "1e400", "1,1,NaN", "-Inf,1,1", "1,1,", "1,1,0", "1,1,1,1"} {
				if err := f.Value.Set(v); err == nil {
					t.Errorf("%s --%s=%q: no error", c.Name(), f.Name, v)
				}
			}
			shared := c.Name() == "run" || c.Name() == "sweep" || c.Name() == "advise" // with compare
			if f.Value.Type() != "float64" || shared && !thorough {
				return
			}
			for _, v := range []string{"NaN", "Inf", "-Inf"} {
				args := append(enough(c), "--"+f.Name+"="+v)
				if f.Name == "straggler-factor" {
					args = append(args, "--straggler-probability=0.5")
				}
				if status, stderr := try(t, strings.NewReader(""), args...); status != 2 || !strings.Contains(stderr, "--"+f.Name) {
					t.Errorf("%q: status %d, %s", args, status, stderr)
				}
			}
		})
	}
	if found < 30 {
		t.Errorf("%d flags were tried", found)
	}
}

// enough returns the arguments that a command needs before it looks at its flags.
func enough(c *cobra.Command) []string {
	switch c.Name() {
	case "compare":
		return []string{"compare", "--sample", "-p", "fifo"}
	case "advise":
		return []string{"advise", "--sample", "-p", "fifo"}
	case "run":
		return []string{"run", "--sample", "-p", "fifo"}
	case "sweep":
		return []string{"sweep", "--sample", "-p", "fifo", "--vary", "error=1"}
	case "plan":
		return []string{"plan", "--sample", "-p", "huwf"}
	case "convert":
		return []string{"convert", "--from", "swim", "-c", "1x1", "-"}
	}
	return []string{c.Name(), "-"}
}

// deepPools returns a pools file of n pools, each below the one before.
func deepPools(n int) string {
	var b strings.Builder
	b.WriteString(`{"pools": [{"name": "p0"}`)
	for i := range n - 1 {
		fmt.Fprintf(&b, `, {"name": "p%d", "parent": "p%d"}`, i+1, i)
	}
	return b.String() + "]}"
}

// Hostile input ends with a status and an error that names the place, at once and in
// little memory.
func TestHostileInput(t *testing.T) {
	t.Chdir(t.TempDir())
	write := func(name, text string) {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("deep.json", deepPools(10_000))
	write("open.json", `{"pools":`+strings.Repeat("[", 100_000))
	write("good.jsonl", `{"id":1,"at":0,"phases":[{"tasks":1,"time":10}]}`+"\n")
	if err := os.Mkdir("dir", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		args   string
		stdin  io.Reader
		status int
		stderr string // a regular expression
	}{
		{"run -w - -c 1x1 -p fifo", strings.NewReader(strings.Repeat("\x00", 100)), 3, "^sojourn: stdin:1:1: invalid JSON"},
		{"validate -", strings.NewReader("\x1f\x8b"), 3, "^sojourn: stdin:1:1: gzip data"},
		{"validate deep.json", nil, 3, `^sojourn: deep.json:1:\d+: pool "p17" is more than 16 pools deep`},
		{"compare --sample -p fair:pools=deep.json", nil, 3, `^sojourn: deep.json:1:\d+: pool "p17" is more than 16 pools deep`},
		{"validate open.json", nil, 3, `^sojourn: open.json:1:\d+: invalid JSON: .*max depth`},
		{"run -w good.jsonl -c 65537x16 -p fifo", nil, 2, "^sojourn: cluster 65537x16: 1,048,592 slots; what is simulated has at most 1,048,576\n"},
		{"compare -w good.jsonl -c 1x1048577 -p fifo", nil, 2, "^sojourn: cluster 1x1048577: 1,048,577 slots; what is simulated has at most 1,048,576\n"},
		{"run -w good.jsonl -c 1x1 -c 2x2 -p fifo", nil, 2, `^sojourn: invalid argument "2x2" for "-c, --cluster" flag: it is given twice\n`},
		{"run -w good.jsonl -c 1x1 -p fifo -p fair", nil, 2, `^sojourn: invalid argument "fair" for "-p, --policy" flag: it is given twice\n`},
		{"run -w good.jsonl -c 1x1 --seed 1 --seed=1 -p fifo", nil, 2, `"--seed" flag: it is given twice`},
		{"gen poisson --option jobs=1 --option jobs=2", nil, 2, `^sojourn: option jobs is given twice`},
		{"compare --sample --vary load=1 --vary error=1", nil, 2, `unknown flag: --vary`},
		{"compare --sample --seeds 100001", nil, 2, `want an integer from 1 to 100000`},
		{"compare --sample --load 1e308", nil, 1, `^sojourn: sample: a load of 1e\+308 cannot be had`},
		{"compare --sample --load 1e-320", nil, 1, `^sojourn: sample: at a load of 1e-320, job 1 arrives later than time can tell`},
		{"compare --sample --load 1e308 --scale durations", nil, 1, `^sojourn: sample: at a load of 1e\+308, job 1 takes longer than time can tell`},
		{"gen poisson --option jobs=100000001", nil, 2, `option jobs: .*from 1 to 100000000`},
		{"run -w dir -c 1x1 -p fifo", nil, 1, `^sojourn: read dir: this is a folder, not a file`},
		{"run --sample -p fifo -o good.jsonl", nil, 1, `good.jsonl`},
		{"run --sample -p fifo -o good.jsonl/x", nil, 1, `good.jsonl`},
		{"convert --from rumen --topology dir good.jsonl", nil, 1, `^sojourn: read dir: this is a folder`},
	} {
		if tc.stdin == nil {
			tc.stdin = strings.NewReader("")
		}
		status, stderr := try(t, tc.stdin, strings.Fields(tc.args)...)
		if status != tc.status || !regexp.MustCompile(tc.stderr).MatchString(stderr) {
			t.Errorf("%s: status %d, %.300s; want %d, %s", tc.args, status, stderr, tc.status, tc.stderr)
		}
	}
	if entries, _ := os.ReadDir("."); len(entries) != 4 {
		t.Errorf("left behind: %v", entries)
	}
}

// A million slots are simulated.
func TestMaxSlots(t *testing.T) {
	if testing.Short() || !thorough {
		t.Skip("takes seconds; .ci/run all does it, with the build tag all")
	}
	status, stderr := try(t, strings.NewReader(`{"id":1,"at":0,"phases":[{"tasks":1,"time":10}]}`), "run", "-w", "-", "-c", "131072x8", "-p", "fifo", "-q")
	if status != 0 {
		t.Errorf("status %d, %s", status, stderr)
	}
}

// Names come back from CSV unchanged, whatever characters they have.
func TestNamesInCSV(t *testing.T) {
	t.Chdir(t.TempDir())
	names := [][]string{{"=1+1", "+a"}, {"a,b", `"q"`}, {"line\nbreak", "tab\t"}, {"\u202eé\u200b", "\x00"}, {"@x|'", "; "}}
	var lines strings.Builder
	for i, n := range names {
		fmt.Fprintf(&lines, `{"id":%d,"at":0,"name":%s,"pool":%s,"phases":[{"tasks":1,"time":10}]}`+"\n", i+1, quoted(n[0]), quoted(n[1]))
	}
	if status, stderr := try(t, strings.NewReader(lines.String()), "run", "-w", "-", "-c", "1x1", "-p", "fifo", "-o", "out"); status != 0 {
		t.Fatalf("status %d, %s", status, stderr)
	}
	file, err := os.Open(filepath.Join("out", files.Jobs))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var got [][]string
	for _, row := range rows[1:] {
		got = append(got, row[1:3])
	}
	if !reflect.DeepEqual(got, names) {
		t.Errorf("names and pools %q, want %q", got, names)
	}
}

// quoted returns a string in JSON.
func quoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `\u%04x`, r)
	}
	return `"` + b.String() + `"`
}
