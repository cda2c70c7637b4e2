//go:build ci

package sojourntest_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/sojourn-sched/sojourn/"

// counter is a package that counts.
const counter = `package counter

var N int
`

// steps prints, for each policy, how many functions a finish and the decision after it enter:
// the median and the most over all steps of two jobs of 60 + 60 tasks on 4 slots. The jobs
// have no estimates and each task takes 4 s.
const steps = `package main

import (
	"fmt"
	"slices"
	"time"

	"` + module + `internal/counter"
	"github.com/sojourn-sched/sojourn"
	"` + module + `fair"
	"` + module + `fifo"
	"` + module + `hfsp"
	"` + module + `leastwork"
)

func must[P sojourn.Policy](p P, err error) sojourn.Policy {
	if err != nil {
		panic(err)
	}
	return p
}

func main() {
	newHFSP := func() sojourn.Policy { return must(hfsp.New(hfsp.Options{})) }
	count("fifo", must(fifo.New(fifo.Options{})))
	count("fair", must(fair.New(fair.Options{})))
	count("leastwork", must(leastwork.New(leastwork.Options{})))
	count("hfsp", newHFSP())
	count("fair(hfsp)", must(fair.New(fair.Options{Pools: map[string]fair.Pool{"*": {Policy: newHFSP}}})))
}

func count(name string, p sojourn.Policy) {
	observe := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			panic(err)
		}
	}
	for i := range sojourn.SlotID(4) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: i}})
	}
	for id := sojourn.JobID(1); id <= 2; id++ {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: id, Pool: "a", Phases: []sojourn.Phase{{Tasks: 60}, {Tasks: 60}}}})
	}
	var running []sojourn.Assignment
	assign := func(slot sojourn.SlotID) {
		if a, ok := p.Assign(slot); ok {
			running = append(running, a)
		}
	}
	for i := range sojourn.SlotID(4) {
		assign(i)
	}
	var entered []int
	for now := sojourn.Time(0); len(running) > 0; {
		a := running[0]
		running = running[1:]
		now = now.Add(time.Second)
		counter.N = 0
		observe(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: a.Task, Attempt: a.Attempt,
			Slot: sojourn.Slot{ID: a.Slot}, Service: 4 * time.Second})
		assign(a.Slot)
		entered = append(entered, counter.N)
	}
	slices.Sort(entered)
	fmt.Println(name, len(entered), entered[len(entered)/2], entered[len(entered)-1])
}
`

// A finish and the decision after it enter no more functions than this: DESIGN.md, "Costs to
// hold". All functions of the library count, except those that only return an expression
// without a call (other than len, and conversions to basic types), which the compiler inlines.
func TestFunctionsOfAStep(t *testing.T) {
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	dir, files := t.TempDir(), map[string]string{}
	put := func(path, text string) {
		files[filepath.Join(root, path)] = filepath.Join(dir, strconv.Itoa(len(files))+".go")
		if err := os.WriteFile(files[filepath.Join(root, path)], []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	put("internal/counter/counter.go", counter)
	put("internal/counter/steps/main.go", steps)
	for _, path := range sources(t, root) {
		put(path, counted(t, filepath.Join(root, path)))
	}
	overlay, err := json.Marshal(map[string]any{"Replace": files})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(name, overlay, 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "go", "run", "-overlay", name, "./internal/counter/steps")
	cmd.Dir = root
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("policy, steps, median, most:\n%s", out)
	most := map[string]int{"fifo": 57, "fair": 140, "leastwork": 175, "hfsp": 104, "fair(hfsp)": 341}
	for line := range strings.Lines(string(out)) {
		var policy string
		var n, median, max int
		if _, err := fmt.Sscan(line, &policy, &n, &median, &max); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if limit, ok := most[policy]; !ok || n != 240 || median > limit {
			t.Errorf("%s: %d steps with a median of %d functions, want 240 and at most %d", policy, n, median, limit)
		}
		delete(most, policy)
	}
	if len(most) > 0 {
		t.Errorf("nothing was counted for %v", most)
	}
}

// sources returns the files that the policies are made of.
func sources(t *testing.T, root string) (list []string) {
	cmd := exec.Command("go", "list", "-deps", "-f", `{{range .GoFiles}}{{$.ImportPath}}/{{.}}{{"\n"}}{{end}}`, "./fifo", "./fair", "./leastwork", "./hfsp")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if path, ours := strings.CutPrefix(strings.TrimSpace(line), module); ours {
			list = append(list, path)
		}
	}
	return list
}

// counted returns the text of a file whose functions count when they are entered.
func counted(t *testing.T, path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	fs := token.NewFileSet()
	file, err := parser.ParseFile(fs, path, text, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	from := fs.Position(file.Name.End()).Offset
	out.Write(text[:from])
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil && !inlined(f) {
			if from == fs.Position(file.Name.End()).Offset {
				out.WriteString("\nimport \"" + module + "internal/counter\"\n")
			}
			to := fs.Position(f.Body.Lbrace).Offset + 1
			out.Write(text[from:to])
			out.WriteString(" counter.N++; ")
			from = to
		}
	}
	out.Write(text[from:])
	return out.String()
}

// inlined reports whether a function only returns an expression without a call but len. A conversion to a
// basic type is no call.
func inlined(f *ast.FuncDecl) bool {
	if len(f.Body.List) != 1 {
		return false
	}
	r, ok := f.Body.List[0].(*ast.ReturnStmt)
	if !ok {
		return false
	}
	calls := false
	ast.Inspect(r, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			name, _ := call.Fun.(*ast.Ident)
			if name == nil {
				calls = true
				return true
			}
			_, conversion := types.Universe.Lookup(name.Name).(*types.TypeName)
			calls = calls || name.Name != "len" && !conversion
		}
		return true
	})
	return !calls
}
