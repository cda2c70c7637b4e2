package main_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// The rooms of the command import only what DESIGN.md allows: see violations.
func TestArchitecture(t *testing.T) {
	found, err := violations(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range found {
		t.Error(v)
	}
}

const module = "github.com/sojourn-sched/sojourn/cmd/sojourn"

// floors are the folders of the module, from the ground up. Each may import those of
// lower floors only. Programs and tests may import all.
var floors = [][]string{
	{"internal/usage", "internal/format", "internal/progress", "internal/stats", "internal/page"},
	{"internal/files", "internal/paired", "pools"},
	{"catalog"},
	{"internal/input"},
	{"internal/trial", "internal/convert", "internal/recorded"},
	{"internal/report", "internal/whatif"},
	{"internal/paper", "internal/advice", "internal/bench"},
	{"cli"},
}

func floorOf(dir string) int {
	return slices.IndexFunc(floors, func(dirs []string) bool { return slices.Contains(dirs, dir) })
}

// starters are the files that start goroutines.
var starters = []string{"internal/convert/ahead.go", "internal/files/interrupt.go", "internal/trial/parallel.go", "internal/trial/plan.go"}

// violations returns what breaks the rules of the module, one line each.
func violations(tree fs.FS) (found []string, err error) {
	documented := map[string]bool{}
	var folders []string
	err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && name != "." {
			if _, err := fs.Stat(tree, path.Join(name, "go.mod")); err == nil {
				return fs.SkipDir // a module of its own
			}
		}
		if err != nil || d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		dir := path.Dir(name)
		if dir == "." || strings.HasPrefix(dir, "examples/") {
			return nil
		}
		if !slices.Contains(folders, dir) {
			folders = append(folders, dir)
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		if path.Base(name) == "doc.go" && file.Doc != nil {
			documented[dir] = true
		}
		v := &visitor{name: name, dir: dir, fset: fset}
		v.file(file)
		found = append(found, v.found...)
		return nil
	})
	for _, dir := range folders {
		if !documented[dir] {
			found = append(found, dir+": has no doc.go that says what it is for")
		}
		if floorOf(dir) < 0 {
			found = append(found, dir+": is on no floor of the house: add it to floors")
		}
	}
	return found, err
}

// A visitor looks at a file.
type visitor struct {
	name, dir string
	fset      *token.FileSet
	found     []string
}

func (v *visitor) add(at token.Pos, format string, args ...any) {
	v.found = append(v.found, fmt.Sprintf("%s:%d: ", v.name, v.fset.Position(at).Line)+fmt.Sprintf(format, args...))
}

func (v *visitor) file(file *ast.File) {
	for _, spec := range file.Imports {
		v.imports(spec)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			v.starts(n.Pos())
		case *ast.CallExpr:
			if s, ok := n.Fun.(*ast.SelectorExpr); ok {
				v.call(s)
			}
		case *ast.FuncType:
			v.signature(n)
		case *ast.SelectorExpr:
			v.selector(n)
		}
		return true
	})
}

// imports finds imports that a room may not have.
func (v *visitor) imports(spec *ast.ImportSpec) {
	imported, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return
	}
	if strings.HasPrefix(imported, "github.com/spf13/") && v.dir != "cli" {
		v.add(spec.Pos(), "imports %s, which cli alone knows", imported)
	}
	if imported == "os/signal" && v.dir != "internal/files" {
		v.add(spec.Pos(), "imports %s: files turns signals into the end of a context", imported)
	}
	if other, ours := strings.CutPrefix(imported, module+"/"); ours && floorOf(other) >= floorOf(v.dir) {
		v.add(spec.Pos(), "imports %s, which is not below it", other)
	}
}

// starts finds goroutines that are started outside of the files in starters.
func (v *visitor) starts(at token.Pos) {
	if !slices.Contains(starters, v.name) {
		v.add(at, "starts a goroutine; trial.Parallel does")
	}
}

func (v *visitor) call(s *ast.SelectorExpr) {
	if s.Sel.Name == "Go" {
		v.starts(s.Pos())
	}
}

// selector finds uses of the surroundings of the process outside of cli.
func (v *visitor) selector(s *ast.SelectorExpr) {
	pkg, ok := s.X.(*ast.Ident)
	if !ok || v.dir == "cli" {
		return
	}
	switch name := pkg.Name + "." + s.Sel.Name; name {
	case "os.Stdin", "os.Stdout", "os.Stderr", "os.Args", "os.Exit", "fmt.Print", "fmt.Println", "fmt.Printf":
		v.add(s.Pos(), "%s: only cli knows the streams and arguments of the process", name)
	case "context.Background", "context.TODO":
		v.add(s.Pos(), "%s: the caller has a context", name)
	}
}

// signature finds contexts that are not the first parameter.
func (v *visitor) signature(f *ast.FuncType) {
	for i, p := range f.Params.List {
		if s, ok := p.Type.(*ast.SelectorExpr); ok && s.Sel.Name == "Context" && i > 0 {
			v.add(p.Pos(), "a context is the first parameter")
		}
	}
}

// Each rule finds violations of itself, and nothing else.
func TestRules(t *testing.T) {
	for _, tc := range []struct{ name, file, text, want string }{
		{"cobra in trial", "internal/trial/a.go", `package trial; import "github.com/spf13/cobra"`,
			"internal/trial/a.go:1: imports github.com/spf13/cobra, which cli alone knows"},
		{"pflag in catalog", "catalog/a.go", `package catalog; import "github.com/spf13/pflag"`,
			"catalog/a.go:1: imports github.com/spf13/pflag, which cli alone knows"},
		{"cobra in cli", "cli/a.go", `package cli; import "github.com/spf13/cobra"`, ""},
		{"upwards", "internal/trial/a.go", `package trial; import "` + module + `/cli"`,
			"internal/trial/a.go:1: imports cli, which is not below it"},
		{"sideways", "internal/trial/a.go", `package trial; import "` + module + `/internal/convert"`,
			"internal/trial/a.go:1: imports internal/convert, which is not below it"},
		{"downwards", "internal/report/a.go", `package report; import "` + module + `/internal/trial"`, ""},
		{"goroutine", "internal/paper/a.go", `package paper; func f() { go f() }`,
			"internal/paper/a.go:1: starts a goroutine; trial.Parallel does"},
		{"goroutine of a group", "internal/report/a.go", `package report; func f(wg interface{ Go(func()) }) { wg.Go(nil) }`,
			"internal/report/a.go:1: starts a goroutine; trial.Parallel does"},
		{"goroutine of parallel", "internal/trial/parallel.go", `package trial; func f() { go f() }`, ""},
		{"stdout", "internal/report/a.go", `package report; import "fmt"; func f() { fmt.Println() }`,
			"internal/report/a.go:1: fmt.Println: only cli knows the streams and arguments of the process"},
		{"signals", "internal/trial/a.go", `package trial; import "os/signal"`,
			"internal/trial/a.go:1: imports os/signal: files turns signals into the end of a context"},
		{"second context", "internal/trial/a.go", `package trial; import "context"; func f(n int, ctx context.Context) {}`,
			"internal/trial/a.go:1: a context is the first parameter"},
		{"own context", "internal/trial/a.go", `package trial; import "context"; func f() { context.Background() }`,
			"internal/trial/a.go:1: context.Background: the caller has a context"},
		{"new room", "internal/attic/a.go", `package attic`,
			"internal/attic: is on no floor of the house: add it to floors"},
		{"test", "internal/trial/a_test.go", `package trial; import "` + module + `/cli"`, ""},
	} {
		tree := fstest.MapFS{tc.file: {Data: []byte(tc.text)}}
		tree[path.Dir(tc.file)+"/doc.go"] = &fstest.MapFile{Data: []byte("// Package p is.\npackage p\n")}
		found, err := violations(tree)
		if got := strings.Join(found, "\n"); err != nil || got != tc.want {
			t.Errorf("%s: %v, found %q, want %q", tc.name, err, got, tc.want)
		}
	}
	found, err := violations(fstest.MapFS{"cli/a.go": {Data: []byte("package cli")}})
	if want := []string{"cli: has no doc.go that says what it is for"}; err != nil || !slices.Equal(found, want) {
		t.Errorf("%v, found %q, want %q", err, found, want)
	}
}
