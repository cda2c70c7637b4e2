package sojourn_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/constant"
	"go/printer"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

var update = flag.Bool("update", false, "rewrite testdata/api.txt")

// The golden file has the exported API of the module's packages, one line for each
// symbol. After an intended change, `make api` rewrites it.
func TestAPI(t *testing.T) {
	const golden = "testdata/api.txt"
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range tr.importable() {
		got = append(got, f.api()...)
	}
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	data, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
	for _, line := range want {
		if !slices.Contains(got, line) {
			t.Errorf("gone:  %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			t.Errorf("added: %s", line)
		}
	}
	if !t.Failed() && !slices.Equal(got, want) {
		t.Errorf("%s is out of order", golden)
	}
	if t.Failed() {
		t.Errorf("if the change is meant: go test -run '^TestAPI$' . -update")
	}
}

// tier returns what the comment of the package says: "Tier: stable." is a paragraph of its own.
func (f *folder) tier() (tier string, lines int) {
	for _, file := range f.code {
		for line := range strings.Lines(file.Doc.Text()) {
			if name, ok := strings.CutPrefix(line, "Tier: "); ok {
				tier, lines = strings.TrimSuffix(name, ".\n"), lines+1
			}
		}
	}
	return tier, lines
}

// ofTier returns the lines of the API that the comments of their types, fields or functions put into another tier than that of
// the package: options that papers need, and interfaces that other modules implement.
func (f *folder) ofTier(tier string) (lines []string) {
	types, fields := map[string]bool{}, map[string]bool{}
	sentence := map[string]string{"research": "It is for research.", "kit": "It is of the tier kit."}[tier]
	says := func(doc *ast.CommentGroup) bool {
		return strings.Contains(strings.Join(strings.Fields(doc.Text()), " "), sentence)
	}
	for _, decl := range f.decls() {
		if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv == nil {
			types[fn.Name.Name] = says(fn.Doc)
		}
		decl, ok := decl.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range decl.Specs {
			spec, ok := spec.(*ast.TypeSpec)
			if !ok {
				continue
			}
			types[spec.Name.Name] = says(decl.Doc)
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					for _, name := range field.Names {
						fields[spec.Name.Name+" struct, "+name.Name] = says(field.Doc)
					}
				}
			}
		}
	}
	for _, line := range f.api() {
		_, what, _ := strings.Cut(line, ", ")
		words := strings.FieldsFunc(what, func(r rune) bool { return strings.ContainsRune(" ()*,", r) })
		field := false
		for name, is := range fields {
			field = field || is && strings.HasPrefix(what, "type "+name+" ")
		}
		switch {
		case field, words[0] == "type" && types[words[1]], (words[0] == "method" || words[0] == "func") && types[words[1]], words[0] == "const" && len(words) > 2 && types[words[2]]:
			lines = append(lines, line)
		}
	}
	return lines
}

// Each package that others can import is in one tier: its comment says in which. What studies work is
// research, whatever else is not listed as stable is the kit's, and no stable package imports research. The stable tier
// stays small enough to be kept.
func TestTiers(t *testing.T) {
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	stable := []string{".", "driver", "fair", "fifo", "hfsp", "journal", "leastwork", "live", "mars", "pfsp", "rtmr", "td"}
	lines := map[string]int{}
	for _, f := range tr.importable() {
		want := "kit"
		if top, _, _ := strings.Cut(f.dir, "/"); top == "research" {
			want = "research"
		} else if slices.Contains(stable, f.dir) {
			want = "stable"
		}
		if got, n := f.tier(); got != want || n != 1 {
			t.Errorf("the comment of %s names %d tiers, the last one %q: want one, %q", f.dir, n, got, want)
		}
		lines[want] += len(f.api())
		for _, tier := range []string{"research", "kit"} {
			n := len(f.ofTier(tier))
			lines[tier] += n
			lines[want] -= n
		}
		for _, file := range f.code {
			imports(file, func(_ *ast.ImportSpec, name string) {
				if dir, ours := folderOf(name); ours && want != "research" && strings.HasPrefix(dir, "research/") {
					t.Errorf("%s is of tier %s and imports %s, of tier research", f.dir, want, dir)
				}
			})
		}
	}
	for _, tier := range []string{"stable", "kit", "research"} {
		t.Logf("%s: %d lines of the golden", tier, lines[tier])
	}
	if lines["stable"] > 800 {
		t.Errorf("the stable tier has %d lines of the golden, want at most 800", lines["stable"])
	}
}

// The packages of the other modules are the kit's, too, but for those that study work.
func TestTiersOfOtherModules(t *testing.T) {
	seen := 0
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != "go.mod" || name == "go.mod" || strings.HasPrefix(name, "research") {
			return err
		}
		tr, err := parse(os.DirFS(filepath.Dir(name)))
		if err != nil {
			return err
		}
		for _, f := range tr.inOrder() {
			at := path.Join(filepath.ToSlash(filepath.Dir(name)), f.dir)
			words := strings.Split(at, "/")
			if len(f.code) == 0 || f.code[0].Name.Name == "main" || slices.Contains(words, "internal") || slices.Contains(words, "examples") {
				continue
			}
			seen++
			if got, n := f.tier(); got != "kit" || n != 1 {
				t.Errorf("the comment of %s names %d tiers, the last one %q: want one, kit", at, n, got)
			}
		}
		return nil
	})
	if err != nil || seen < 10 {
		t.Errorf("%d packages of other modules: %v", seen, err)
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range tr.importable() {
		for _, place := range tr.undocumented(f) {
			t.Error(place)
		}
	}
}

// importable returns the folders whose package others can import.
func (tr *tree) importable() []*folder {
	return slices.DeleteFunc(tr.inOrder(), func(f *folder) bool {
		return len(f.code) == 0 || f.pkg.Name() == "main" || slices.Contains(strings.Split(f.dir, "/"), "internal")
	})
}

// api returns a line for each exported symbol of a package, and for each exported
// field and method of its types, sorted.
func (f *folder) api() []string {
	var lines []string
	add := func(parts ...any) {
		line := "pkg " + path.Join("sojourn", f.dir) + ", "
		for _, part := range parts {
			if s, ok := part.(string); ok {
				line += s
			} else {
				line += source(part)
			}
		}
		lines = append(lines, line)
	}
	for _, decl := range f.decls() {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if sig := strings.TrimPrefix(source(decl.Type), "func"); decl.Recv == nil {
				add("func ", decl.Name, sig)
			} else {
				add("method (", f.receiver(decl), ") ", decl.Name, sig)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() {
							add(decl.Tok.String(), " ", name, f.value(name))
						}
					}
				case *ast.TypeSpec:
					if spec.Name.IsExported() {
						apiType(spec, add)
					}
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// apiType adds the lines of a type.
func apiType(spec *ast.TypeSpec, add func(parts ...any)) {
	name := "type " + spec.Name.Name
	if spec.TypeParams != nil {
		name += typeParams(spec.TypeParams)
	}
	if spec.Assign.IsValid() {
		name += " ="
	}
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		add(name, " struct")
		for _, field := range typ.Fields.List {
			for _, id := range field.Names {
				if id.IsExported() {
					add(name, " struct, ", id, " ", field.Type)
				}
			}
			if field.Names == nil && ast.IsExported(baseName(field.Type)) {
				add(name, " struct, embeds ", field.Type)
			}
		}
	case *ast.InterfaceType:
		add(name, " interface")
		for _, method := range typ.Methods.List {
			for _, id := range method.Names {
				add(name, " interface, ", id, strings.TrimPrefix(source(method.Type), "func"))
			}
			if method.Names == nil {
				add(name, " interface, embeds ", method.Type)
			}
		}
	default:
		add(name, " ", spec.Type)
	}
}

// undocumented returns the exported functions, methods, types, constants and
// variables without a comment, and a package without one.
func (tr *tree) undocumented(f *folder) []string {
	var list []string
	add := func(pos token.Pos, name string) {
		list = append(list, tr.fset.Position(pos).String()+": "+name+" has no doc comment")
	}
	if !slices.ContainsFunc(f.code, func(file *ast.File) bool { return file.Doc != nil }) {
		list = append(list, f.dir+": package "+f.pkg.Name()+" has no doc comment")
	}
	for _, decl := range f.decls() {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Doc == nil {
				add(decl.Pos(), decl.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						if name.IsExported() && decl.Doc == nil && spec.Doc == nil && spec.Comment == nil {
							add(name.Pos(), name.Name)
						}
					}
				case *ast.TypeSpec:
					if spec.Name.IsExported() && decl.Doc == nil && spec.Doc == nil {
						add(spec.Pos(), spec.Name.Name)
					}
				}
			}
		}
	}
	return list
}

// receiver returns the type that has an exported method for other packages: that of the receiver,
// or the exported struct that embeds it. It is empty if there is none.
func (f *folder) receiver(method *ast.FuncDecl) string {
	typ := method.Recv.List[0].Type
	if ast.IsExported(baseName(typ)) {
		return source(typ)
	}
	for _, file := range f.code {
		for _, decl := range file.Decls {
			gen, ok := decl.(*ast.GenDecl)
			if !ok || gen.Tok != token.TYPE {
				continue
			}
			for _, spec := range gen.Specs {
				spec := spec.(*ast.TypeSpec)
				if s, ok := spec.Type.(*ast.StructType); ok && spec.Name.IsExported() && slices.ContainsFunc(s.Fields.List,
					func(field *ast.Field) bool { return field.Names == nil && baseName(field.Type) == baseName(typ) }) {
					return strings.Replace(source(typ), baseName(typ), spec.Name.Name, 1)
				}
			}
		}
	}
	return ""
}

// decls returns the declarations of a package, without functions and methods that
// other packages cannot name.
func (f *folder) decls() []ast.Decl {
	var list []ast.Decl
	for _, file := range f.code {
		for _, decl := range file.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && (!fn.Name.IsExported() || fn.Recv != nil && f.receiver(fn) == "") {
				continue
			}
			list = append(list, decl)
		}
	}
	return list
}

// value returns the type and the value of a constant, if they can be computed
// without the standard library, and nothing for a variable.
func (f *folder) value(name *ast.Ident) string {
	c, ok := f.info.Defs[name].(*types.Const)
	if !ok {
		return ""
	}
	s := ""
	if named, ok := c.Type().(*types.Named); ok {
		s = " " + named.Obj().Name()
	}
	if v := c.Val(); v.Kind() != constant.Unknown {
		s += " = " + v.ExactString()
	}
	return s
}

// baseName returns the name of a type without pointer, package and type arguments.
func baseName(expr ast.Expr) string {
	switch expr := expr.(type) {
	case *ast.StarExpr:
		return baseName(expr.X)
	case *ast.IndexExpr:
		return baseName(expr.X)
	case *ast.IndexListExpr:
		return baseName(expr.X)
	case *ast.SelectorExpr:
		return expr.Sel.Name
	case *ast.Ident:
		return expr.Name
	}
	return ""
}

// source returns a piece of source on one line, without comments: the printer
// breaks a line where the source does, which an empty file set hides from it.
func source(node any) string {
	var buf bytes.Buffer
	if err := printer.Fprint(&buf, token.NewFileSet(), node); err != nil {
		return err.Error()
	}
	return strings.Join(strings.Fields(buf.String()), " ")
}

// typeParams returns a list of type parameters in brackets.
func typeParams(list *ast.FieldList) string {
	sig := source(&ast.FuncType{TypeParams: list, Params: &ast.FieldList{}})
	return strings.TrimSuffix(strings.TrimPrefix(sig, "func"), "()")
}

func TestAPILines(t *testing.T) {
	const src = `// Package p has one of each.
package p

import "time"

// A Level is a number.
type Level uint8

const (
	Low  Level = iota + 1 // the first
	High                  // the second
	none
)

const Max = 1 << 4

// Wait is a length of time.
const Wait = 3 * time.Second

var ErrX, errY error

// A Box has fields.
type Box[T any, P *T] struct {
	// A and B are lists.
	A, B []T
	sync Locker
	time.Duration
	*Level
	level
}

type Policy interface {
	// Run runs.
	Run(
		n int, // how often
	) (ok bool)
	time.Ticker
}

type Alias = Box[int, *int]
type level struct{ hidden }

func (b *Box[T, P]) Get(i int, _ ...T) (T, bool) { panic(0) }
func (b *Box[T, P]) put()                        {}

// Exported is a method of Box too.
func (*level) Exported() {}

// Map has two results.
func Map[K comparable](f func(K) int) (a, b time.Duration) { return }
func helper()                                               {}
type hidden struct{}
func (hidden) Exported() {}
`
	tr, err := load(fstest.MapFS{
		"go.mod":          {Data: []byte("module x")},
		"p/p.go":          {Data: []byte(src)},
		"p/internal/i.go": {Data: []byte("package i; func Hidden()")},
		"q/main.go":       {Data: []byte("package main; func Hidden()")},
		"r/r_test.go":     {Data: []byte("package r; func Hidden()")},
	})
	if err != nil {
		t.Fatal(err)
	}
	list := tr.importable()
	if len(list) != 1 || list[0].dir != "p" {
		t.Fatalf("importable() = %v, want only p", list)
	}
	want := []string{
		"pkg sojourn/p, const High Level = 2",
		"pkg sojourn/p, const Low Level = 1",
		"pkg sojourn/p, const Max = 16",
		"pkg sojourn/p, const Wait",
		"pkg sojourn/p, func Map[K comparable](f func(K) int) (a, b time.Duration)",
		"pkg sojourn/p, method (*Box) Exported()",
		"pkg sojourn/p, method (*Box[T, P]) Get(i int, _ ...T) (T, bool)",
		"pkg sojourn/p, type Alias = Box[int, *int]",
		"pkg sojourn/p, type Box[T any, P *T] struct",
		"pkg sojourn/p, type Box[T any, P *T] struct, A []T",
		"pkg sojourn/p, type Box[T any, P *T] struct, B []T",
		"pkg sojourn/p, type Box[T any, P *T] struct, embeds *Level",
		"pkg sojourn/p, type Box[T any, P *T] struct, embeds time.Duration",
		"pkg sojourn/p, type Level uint8",
		"pkg sojourn/p, type Policy interface",
		"pkg sojourn/p, type Policy interface, Run(n int) (ok bool)",
		"pkg sojourn/p, type Policy interface, embeds time.Ticker",
		"pkg sojourn/p, var ErrX",
	}
	if got := list[0].api(); !slices.Equal(got, want) {
		t.Errorf("api =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	want = []string{
		"p/p.go:15:7: Max has no doc comment",
		"p/p.go:20:5: ErrX has no doc comment",
		"p/p.go:32:6: Policy has no doc comment",
		"p/p.go:40:6: Alias has no doc comment",
		"p/p.go:43:1: Get has no doc comment",
	}
	if got := tr.undocumented(list[0]); !slices.Equal(got, want) {
		t.Errorf("undocumented =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
