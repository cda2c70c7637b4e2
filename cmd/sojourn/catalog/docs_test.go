package catalog_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

var update = flag.Bool("update", false, "write options.txt anew")

// options.txt holds the doc comments of the options of each policy. Every option of every
// policy has one.
func TestOptionDocs(t *testing.T) {
	docs, seen := map[string]string{}, map[reflect.Type]bool{}
	for _, e := range catalog.Builtin() {
		for _, typ := range e.Types() {
			if !seen[typ] {
				seen[typ] = true
				addDocs(t, docs, typ)
			}
		}
		for _, d := range e.Describe(docs) {
			if d.Text == "" {
				t.Errorf("%s:%s: its field has no comment", e.Name, d.Options[0].Name)
			}
			for _, o := range d.Options {
				for _, v := range o.Values {
					if v.Text == "" && o.Name != "estimator" {
						t.Errorf("%s:%s=%s: its constant has no comment", e.Name, o.Name, v.Name)
					}
				}
			}
		}
	}
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		text.WriteString(name + "\t" + docs[name] + "\n")
	}
	if *update {
		if err := os.WriteFile("options.txt", []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if told, err := os.ReadFile("options.txt"); err != nil || string(told) != text.String() {
		t.Error("options.txt is not what the sources say; go test -run TestOptionDocs -update writes it")
	}
}

// addDocs adds the doc comments of a type: of the fields of a struct, or of the constants
// of any other type.
func addDocs(t *testing.T, docs map[string]string, typ reflect.Type) {
	t.Helper()
	within, ok := strings.CutPrefix(typ.PkgPath(), "github.com/sojourn-sched/sojourn/")
	if !ok {
		t.Fatalf("type %v of %s: not of this project", typ, typ.PkgPath())
	}
	name := typ.PkgPath() + "." + typ.Name()
	dir := filepath.Join("..", "..", "..", filepath.FromSlash(within))
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range names {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			general, ok := decl.(*ast.GenDecl)
			if !ok {
				continue
			}
			ours := false // a constant without a type has the type of the one before it
			for _, spec := range general.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					fields, ok := spec.Type.(*ast.StructType)
					if !ok || spec.Name.Name != typ.Name() {
						continue
					}
					for _, f := range fields.Fields.List {
						for i, ident := range f.Names {
							if i == 0 {
								docs[name+"."+ident.Name] = comment(f.Doc, f.Comment)
							}
						}
					}
				case *ast.ValueSpec:
					if ident, typed := spec.Type.(*ast.Ident); typed && general.Tok == token.CONST {
						ours = ident.Name == typ.Name()
					}
					if ours && general.Tok == token.CONST && spec.Names[0].IsExported() {
						docs[name] = strings.TrimSpace(docs[name] + " " + spec.Names[0].Name)
						docs[name+"="+spec.Names[0].Name] = comment(spec.Doc, spec.Comment)
					}
				}
			}
		}
	}
}

// comment returns the text of the comment above a declaration, or else of the comment
// beside it.
func comment(above, beside *ast.CommentGroup) string {
	if above == nil {
		above = beside
	}
	return strings.Join(strings.Fields(above.Text()), " ")
}
