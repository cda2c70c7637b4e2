package sojourn_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
)

// The module keeps the rules of imports of DESIGN.md, section 1, and the rules that keep decisions
// the same on every run and every platform.
func TestArchitecture(t *testing.T) {
	tr, err := load(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range tr.violations() {
		t.Error(v)
	}
}

const modulePath = "github.com/sojourn-sched/sojourn"

// A kind of folder, by what it may import.
type kind string

const (
	unknown  kind = ""
	root     kind = "the root package"
	internal kind = "an internal package"
	kit      kind = "a part of the kit"
	policy   kind = "a policy"
	planner  kind = "a planner of whole instances"
	wrapper  kind = "a wrapper of policies"
	outside  kind = "a driver or a format"
	helper   kind = "help for tests"
	entrance kind = "ready for use"
	gathered kind = "all policies behind their interface, for tests"
	program  kind = "an example"
)

// kindOf returns the kind of a folder of the module.
func kindOf(dir string) kind {
	switch dir {
	case "sojourntest", "sojourntest/scenario", "sojourntest/choice", "internal/doortest", "internal/killtest", "internal/gpstest", "internal/histories", "internal/snapshottest", "sojourntest/steady":
		return helper
	}
	if dir == "internal/constructors" || dir == "internal/constructors/pooled" {
		return gathered
	}
	switch top, _, _ := strings.Cut(dir, "/"); top {
	case ".":
		return root
	case "internal":
		return internal
	case "kit":
		return kit
	case "gang": // what drivers make of gangs, which policies may know
		return kit
	case "fifo", "fair", "leastwork", "pfsp", "hfsp", "td", "rtmr", "mars":
		return policy
	case "research":
		switch dir {
		case "research/baseline":
			return policy
		case "research/plan", "research/certify":
			return planner
		}
		return outside
	case "account":
		return wrapper
	case "history", "driver", "live", "journal", "shape", "forecast":
		return outside
	case "door": // a driver with a policy in it
		return entrance
	case "examples":
		return program
	}
	return unknown
}

// mayImport reports whether a package of kind k may import one of kind other in
// another folder, and what k may import.
func (k kind) mayImport(other kind) (ok bool, rule string) {
	switch k {
	case root:
		return false, "imports the standard library only"
	case internal, kit, policy, wrapper:
		return other == root || other == internal || other == kit, "imports the root package, the kit and internal packages only"
	case planner:
		return other == root || other == internal || other == kit || other == policy || other == planner, "imports policies, the kit and internal packages only"
	case outside:
		return other == root || other == internal || other == kit || other == wrapper || other == outside, "knows policies by their interface only, and no help for tests"
	case entrance:
		return other == root || other == internal || other == kit || other == policy || other == outside, "imports policies and drivers, and no help for tests"
	case gathered:
		return other == root || other == policy, "imports policies only"
	case helper:
		return other != policy && other != gathered && other != program, "knows policies by their interface only"
	}
	return true, ""
}

// pure reports whether packages of kind k only compute: no goroutine, no input or
// output.
func (k kind) pure() bool {
	return k == root || k == internal || k == kit || k == policy || k == planner || k == wrapper
}

// A tree is the Go source of the module, without the modules nested in it.
type tree struct {
	fset    *token.FileSet
	folders map[string]*folder // by path from the root, which is "."
	gomod   string
}

// A folder holds the packages of one folder.
type folder struct {
	dir   string
	code  []*ast.File
	tests []*ast.File // of both packages

	// Types of the code, as far as they do not depend on declarations of other modules or the
	// standard library.
	pkg  *types.Package
	info types.Info
}

// load parses and type-checks the module in fsys.
func load(fsys fs.FS) (*tree, error) {
	tr, err := parse(fsys)
	if err != nil {
		return nil, err
	}
	for _, f := range tr.inOrder() {
		tr.check(f)
	}
	return tr, nil
}

// parse parses the module in fsys.
func parse(fsys fs.FS) (*tree, error) {
	tr := &tree{fset: token.NewFileSet(), folders: map[string]*folder{}}
	gomod, err := fs.ReadFile(fsys, "go.mod")
	if err != nil {
		return nil, err
	}
	tr.gomod = string(gomod)
	err = fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, err := fs.Stat(fsys, path.Join(name, "go.mod"))
			if name != "." && (err == nil || d.Name() == "testdata" || strings.ContainsAny(d.Name()[:1], "._")) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".go" {
			return nil
		}
		src, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(tr.fset, name, src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(name)
		f := tr.folders[dir]
		if f == nil {
			f = &folder{dir: dir}
			tr.folders[dir] = f
		}
		if strings.HasSuffix(name, "_test.go") {
			f.tests = append(f.tests, file)
		} else {
			f.code = append(f.code, file)
		}
		return nil
	})
	return tr, err
}

// inOrder returns the folders in the order of their paths, the root first.
func (tr *tree) inOrder() []*folder {
	return slices.SortedFunc(maps.Values(tr.folders), func(a, b *folder) int { return cmp.Compare(a.dir, b.dir) })
}

// check type-checks the code of f. Expressions that it cannot resolve have no type.
func (tr *tree) check(f *folder) {
	if f.pkg != nil {
		return
	}
	f.info = types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}
	conf := types.Config{Importer: tr, Error: func(error) {}}
	f.pkg, _ = conf.Check(importPath(f.dir), tr.fset, f.code, &f.info)
}

// Import implements [types.Importer]: packages of other modules are empty.
func (tr *tree) Import(name string) (*types.Package, error) {
	if dir, ok := folderOf(name); ok && tr.folders[dir] != nil {
		tr.check(tr.folders[dir])
		return tr.folders[dir].pkg, nil
	}
	pkg := types.NewPackage(name, path.Base(name))
	pkg.MarkComplete()
	return pkg, nil
}

func importPath(dir string) string { return path.Join(modulePath, dir) }

// folderOf returns the folder of a package of this module.
func folderOf(importPath string) (string, bool) {
	rest, ok := strings.CutPrefix(importPath, modulePath)
	if !ok || rest != "" && rest[0] != '/' {
		return "", false
	}
	return path.Join(".", rest), true
}

// violations returns what breaks a rule, each with its place and the rule.
func (tr *tree) violations() []string {
	var list []string
	add := func(pos token.Pos, format string, args ...any) {
		p := tr.fset.Position(pos)
		list = append(list, fmt.Sprintf("%s:%d: %s", p.Filename, p.Line, fmt.Sprintf(format, args...)))
	}
	list = append(list, requirements(tr.gomod)...)
	for _, f := range tr.inOrder() {
		k := kindOf(f.dir)
		if k == unknown {
			list = append(list, f.dir+": unknown folder: kindOf in arch_test.go must say what it may import")
		}
		for _, file := range f.code {
			checkModules(f, file, false, add)
			checkArrows(f, k, file, false, add)
			checkStandard(f, k, file, add)
			checkMaps(f, file, tr.fset, add)
			checkVariables(f, file, add)
			checkSnapshots(file, add)
			checkCertifier(f, file, add)
			checkKit(f, file, add)
		}
		for _, file := range f.tests {
			checkModules(f, file, true, add)
			checkRandom(f, file, add)
			if k != policy && k != planner && !strings.HasSuffix(file.Name.Name, "_test") {
				checkArrows(f, k, file, true, add)
			}
		}
	}
	return list
}

type report func(pos token.Pos, format string, args ...any)

// requirements returns the lines that a go.mod must not have.
func requirements(gomod string) []string {
	var list []string
	block := ""
	for i, line := range strings.Split(gomod, "\n") {
		line, _, _ = strings.Cut(line, "//")
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
			continue
		case words[0] == ")":
			block = ""
			continue
		case len(words) == 2 && words[1] == "(":
			block = words[0]
			continue
		case block != "":
			words = append([]string{block}, words...)
		}
		switch words[0] {
		case "module", "go", "toolchain":
		case "require":
			if m := words[1]; m != btreePath && m != rapidPath {
				list = append(list, fmt.Sprintf("go.mod:%d: requires %s: the library gets by with btree, and rapid in tests", i+1, m))
			}
		default:
			list = append(list, fmt.Sprintf("go.mod:%d: has a %s: a library's go.mod only requires", i+1, words[0]))
		}
	}
	return list
}

const (
	btreePath = "github.com/google/btree"
	rapidPath = "pgregory.net/rapid"
)

// imports calls visit for each import of a file.
func imports(file *ast.File, visit func(spec *ast.ImportSpec, name string)) {
	for _, spec := range file.Imports {
		if name, err := strconv.Unquote(spec.Path.Value); err == nil {
			visit(spec, name)
		}
	}
}

// checkModules reports imports of other modules.
func checkModules(f *folder, file *ast.File, test bool, add report) {
	imports(file, func(spec *ast.ImportSpec, name string) {
		host, _, _ := strings.Cut(name, "/")
		_, ours := folderOf(name)
		switch {
		case ours || !strings.Contains(host, "."):
		case name == btreePath:
			if f.dir != "kit/vqueue" {
				add(spec.Pos(), "imports %s, which kit/vqueue alone does", name)
			}
		case name == rapidPath:
			if !test && kindOf(f.dir) != helper {
				add(spec.Pos(), "imports %s, which only tests and help for tests do", name)
			}
		default:
			add(spec.Pos(), "imports %s: no other modules, also in tests", name)
		}
	})
}

// checkArrows reports imports of packages of this module that packages of kind k must not import.
func checkArrows(f *folder, k kind, file *ast.File, test bool, add report) {
	top := func(dir string) string { return strings.SplitN(dir, "/", 2)[0] }
	if test && file.Name.Name == "sojourn" {
		add(file.Name.Pos(), "is inside package sojourn, so that go compiles every policy anew for the tests beside it")
	}
	imports(file, func(spec *ast.ImportSpec, name string) {
		dir, ours := folderOf(name)
		if !ours || top(dir) == top(f.dir) && kindOf(dir) == kindOf(f.dir) || test && kindOf(dir) == helper {
			return
		}
		if ok, rule := k.mayImport(kindOf(dir)); !ok {
			add(spec.Pos(), "imports %s: %s %s", dir, k, rule)
		}
	})
}

// checkCertifier reports uses of the solver in the certifier of schedules: a check of a proof by
// the solver's own code proves nothing.
func checkCertifier(f *folder, file *ast.File, add report) {
	const certifier, solver = "research/certify", "research/plan"
	if f.dir != certifier {
		return
	}
	imports(file, func(spec *ast.ImportSpec, name string) {
		if dir, ours := folderOf(name); ours && !slices.Contains([]string{".", solver, "internal/heap"}, dir) {
			add(spec.Pos(), "imports %s: %s knows the types of %s only", dir, certifier, solver)
		}
	})
	ast.Inspect(file, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		fn, ok := f.info.Uses[id].(*types.Func)
		if !ok || fn.Pkg() == nil || fn.Pkg().Path() != importPath(solver) {
			return true
		}
		if recv := fn.Signature().Recv(); recv == nil || !slices.Contains([]string{"Instance", "Job", "Phase"}, typeName(recv.Type())) {
			add(id.Pos(), "calls %s: %s calls nothing of %s but methods of instances", fn.Name(), certifier, solver)
		}
		return true
	})
}

// typeName returns the name of a type, or of what a pointer points to.
func typeName(t types.Type) string {
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

// Names whose results differ between runs or between platforms.
var (
	clockNames = []string{"Now", "Since", "Until", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Sleep"}
	// Names of math/rand/v2 apart from the global generator.
	seededNames = []string{"New", "NewPCG", "NewChaCha8", "NewZipf", "Rand", "PCG", "ChaCha8", "Source", "Zipf"}
	// Functions of math that are assembly on some platform, and not rounded alike on all.
	inexactNames = []string{"Acos", "Acosh", "Asin", "Asinh", "Atan", "Atan2", "Atanh", "Cbrt", "Cos", "Cosh", "Erf",
		"Erfc", "Erfcinv", "Erfinv", "Exp", "Exp2", "Expm1", "Gamma", "Hypot", "J0", "J1", "Jn", "Lgamma", "Log", "Log10",
		"Log1p", "Log2", "Pow", "Sin", "Sincos", "Sinh", "Tan", "Tanh", "Y0", "Y1", "Yn"}
	outsideImports = []string{"io/fs", "io/ioutil", "log", "net", "os", "plugin", "runtime", "syscall", "testing"}
	slogNames      = []string{"Debug", "DebugContext", "Info", "InfoContext", "Warn", "WarnContext", "Error", "ErrorContext",
		"Log", "LogAttrs", "Default", "SetDefault", "With"}
)

// checkStandard reports uses of the standard library and of the language that packages of kind k
// must not make.
func checkStandard(f *folder, k kind, file *ast.File, add report) {
	if k == program {
		return
	}
	checkRandom(f, file, add)
	if k.pure() {
		imports(file, func(spec *ast.ImportSpec, name string) {
			top, _, _ := strings.Cut(name, "/")
			if slices.Contains(outsideImports, name) || top != "log" && slices.Contains(outsideImports, top) {
				add(spec.Pos(), "imports %s: %s has no input or output", name, k)
			}
			if name == "sync" && k != root || name == "sync/atomic" {
				add(spec.Pos(), "imports %s: %s is not for concurrent use", name, k)
			}
		})
		ast.Inspect(file, func(n ast.Node) bool {
			if _, ok := n.(*ast.GoStmt); ok {
				add(n.Pos(), "starts a goroutine, which %s may not", k)
			}
			return true
		})
	}
	selectors(file, func(pos token.Pos, pkg, name string) {
		switch {
		case pkg == "time" && slices.Contains(clockNames, name) && f.dir != "live" && f.dir != "live/statuspage" && f.dir != "door" && f.dir != "internal/doortest":
			add(pos, "time.%s: live, its page and doors alone read a clock", name)
		case pkg == "math" && slices.Contains(inexactNames, name):
			add(pos, "math.%s: it differs between platforms; internal/detmath does not", name)
		case pkg == "log/slog" && slices.Contains(slogNames, name) && k.pure():
			add(pos, "slog.%s: %s logs nothing", name, k)
		}
	})
}

// checkRandom reports randomness that no seed determines. The page of a pool makes a token that nobody can guess.
func checkRandom(f *folder, file *ast.File, add report) {
	imports(file, func(spec *ast.ImportSpec, name string) {
		if name == "crypto/rand" && f.dir == "live/statuspage" {
			return
		}
		if name == "math/rand" || name == "crypto/rand" || name == "hash/maphash" {
			add(spec.Pos(), "imports %s: randomness is a PCG of math/rand/v2 with a seed", name)
		}
	})
	selectors(file, func(pos token.Pos, pkg, name string) {
		if pkg == "math/rand/v2" && !slices.Contains(seededNames, name) {
			add(pos, "rand.%s draws from the global generator: use a PCG with a seed", name)
		}
	})
}

// selectors calls visit for each name.sel in file where name is that of an
// imported package.
func selectors(file *ast.File, visit func(pos token.Pos, pkg, name string)) {
	names := packageNames(file)
	ast.Inspect(file, func(n ast.Node) bool {
		if pkg, name, ok := selector(names, n); ok {
			visit(n.Pos(), pkg, name)
		}
		return true
	})
}

// packageNames returns the imports of a file by the name they have in it.
func packageNames(file *ast.File) map[string]string {
	names := map[string]string{}
	imports(file, func(spec *ast.ImportSpec, pkg string) {
		name := path.Base(pkg)
		if name == "v2" {
			name = path.Base(path.Dir(pkg))
		}
		if spec.Name != nil {
			name = spec.Name.Name
		}
		names[name] = pkg
	})
	return names
}

func selector(names map[string]string, n ast.Node) (pkg, name string, ok bool) {
	sel, ok := n.(*ast.SelectorExpr)
	if !ok {
		return "", "", false
	}
	x, ok := sel.X.(*ast.Ident)
	if !ok || names[x.Name] == "" {
		return "", "", false
	}
	return names[x.Name], sel.Sel.Name, true
}

// unordered marks a loop over a map whose order has no visible effect. It stands on the line of
// the loop or on the line before, and a reason should follow it.
const unordered = "//sojourn:unordered"

// checkMaps reports loops in the order of a map.
func checkMaps(f *folder, file *ast.File, fset *token.FileSet, add report) {
	marked := map[int]bool{}
	for _, group := range file.Comments {
		for _, c := range group.List {
			if strings.HasPrefix(c.Text, unordered) {
				line := fset.Position(c.Pos()).Line
				marked[line], marked[line+1] = true, true
			}
		}
	}
	names := packageNames(file)
	ast.PreorderStack(file, nil, func(n ast.Node, stack []ast.Node) bool {
		if marked[fset.Position(n.Pos()).Line] {
			return true
		}
		const rule = "use a total order, or say by " + unordered + " why nobody can see it"
		if loop, ok := n.(*ast.RangeStmt); ok && isMap(f.info.TypeOf(loop.X)) {
			add(n.Pos(), "range over a map: %s", rule)
		}
		if pkg, name, ok := selector(names, n); ok && pkg == "maps" && (name == "Keys" || name == "Values" || name == "All") &&
			!sorted(names, stack) {
			add(n.Pos(), "maps.%s: %s", name, rule)
		}
		return true
	})
}

func isMap(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Map)
	return ok
}

// sorted reports whether the call whose function comes after stack is the
// argument of slices.Sorted or one of its variants.
func sorted(names map[string]string, stack []ast.Node) bool {
	if len(stack) < 2 {
		return false
	}
	call, ok := stack[len(stack)-2].(*ast.CallExpr)
	if !ok {
		return false
	}
	pkg, name, ok := selector(names, call.Fun)
	return ok && pkg == "slices" && strings.HasPrefix(name, "Sorted")
}

// embeds reports whether the value of a variable is a file.
func embeds(doc *ast.CommentGroup) bool {
	return doc != nil && strings.HasPrefix(doc.List[len(doc.List)-1].Text, "//go:embed ")
}

// checkVariables reports variables of a package that can change: two policies share nothing.
func checkVariables(f *folder, file *ast.File, add report) {
	for _, decl := range file.Decls {
		if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.VAR {
			for _, spec := range d.Specs {
				if v := spec.(*ast.ValueSpec); len(v.Values) == 0 && !embeds(v.Doc) && !embeds(d.Doc) && v.Names[0].Name != "_" {
					add(v.Pos(), "variable %s of the package has no value: state belongs to a policy", v.Names[0].Name)
				}
			}
		}
	}
	written := func(x ast.Expr) {
		if id := base(x); id != nil {
			if v, ok := f.info.Uses[id].(*types.Var); ok && v.Parent() == f.pkg.Scope() {
				add(x.Pos(), "changes variable %s of the package: state belongs to a policy", id.Name)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				written(x)
			}
		case *ast.IncDecStmt:
			written(n.X)
		case *ast.RangeStmt:
			written(n.Key)
			written(n.Value)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				written(n.X)
			}
		}
		return true
	})
}

// checkSnapshots reports numbers of a snapshot that are truncated if an int has 32 bits: a forged
// number would then be read as another one, and be saved as that one.
func checkSnapshots(file *ast.File, add report) {
	names := packageNames(file)
	if !slices.Contains(slices.Collect(maps.Values(names)), importPath("kit/snapshot")) {
		return
	}
	ast.Inspect(file, func(n ast.Node) bool {
		conv, ok := n.(*ast.CallExpr)
		if !ok || len(conv.Args) != 1 {
			return true
		}
		to, isName := conv.Fun.(*ast.Ident)
		call, isCall := conv.Args[0].(*ast.CallExpr)
		if !isName || !isCall || to.Name != "int" && to.Name != "uint" {
			return true
		}
		if read, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains([]string{"Uint", "Int", "Below"}, read.Sel.Name) {
			add(n.Pos(), "%s(%s()): a number of a snapshot may need 64 bits: use Index, Count, Native or Len", to.Name, read.Sel.Name)
		}
		return true
	})
}

// checkKit reports exports of the kit that authors elsewhere cannot name, since their type is in
// an internal package. It also reports parts of the ledger's account that others could write.
func checkKit(f *folder, file *ast.File, add report) {
	if kindOf(f.dir) != kit {
		return
	}
	names := packageNames(file)
	public := func(what string, n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok {
				if dir, ours := folderOf(names[pkg.Name]); ours && kindOf(dir) == internal {
					add(sel.Pos(), "%s has the type %s: nobody else can name it", what, source(sel))
				}
			}
			return true
		})
	}
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() {
				public(decl.Name.Name, decl.Type)
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					if spec.Type != nil && slices.ContainsFunc(spec.Names, (*ast.Ident).IsExported) {
						public(spec.Names[0].Name, spec.Type)
					}
				case *ast.TypeSpec:
					if !spec.Name.IsExported() {
						continue
					}
					if st, ok := spec.Type.(*ast.StructType); ok {
						checkKitStruct(f, spec.Name.Name, st, public, add)
					} else {
						public(spec.Name.Name, spec.Type)
					}
				}
			}
		}
	}
}

func checkKitStruct(f *folder, name string, st *ast.StructType, public func(string, ast.Node), add report) {
	for _, field := range st.Fields.List {
		if field.Names == nil || slices.ContainsFunc(field.Names, (*ast.Ident).IsExported) {
			public(name, field.Type)
		}
		for _, id := range field.Names {
			if f.dir == "kit/ledger" && slices.Contains([]string{"Job", "job", "Phase", "Side"}, name) && id.IsExported() && id.Name != "Data" {
				add(id.Pos(), "%s.%s is exported: the ledger alone writes its account, but for Data", name, id.Name)
			}
		}
	}
}

// base returns the variable that x is, or is a part of.
func base(x ast.Expr) *ast.Ident {
	switch x := x.(type) {
	case *ast.Ident:
		return x
	case *ast.IndexExpr:
		return base(x.X)
	case *ast.IndexListExpr:
		return base(x.X)
	case *ast.SelectorExpr:
		return base(x.X)
	case *ast.StarExpr:
		return base(x.X)
	case *ast.ParenExpr:
		return base(x.X)
	}
	return nil
}

// For each rule, one small module breaks it and another one keeps it.
func TestArchitectureRulesCanFail(t *testing.T) {
	const (
		goMod = "module " + modulePath + "\ngo 1.25.0\nrequire " + btreePath + " v1.1.3 // a comment\nrequire (\n\t" + rapidPath + " v1.3.0\n)\n"
		m     = `"` + modulePath
		// The cases that the rule of the certifier distinguishes.
		solver = `package plan
type Instance struct{}
func (*Instance) Check() error { return nil }
type Schedule struct{}
func (*Schedule) Ratio() float64 { return 1 }
func LowerBound(Instance) error { return nil }`
	)
	tests := []struct {
		name, file, src string
		want            string // the only violation; "" if there is none
	}{
		{"empty root", "doc.go", `package sojourn`, ""},

		{"root and std", "a.go", `package sojourn; import _ "encoding/json"`, ""},
		{"root and internal", "a.go", `package sojourn; import _ ` + m + `/internal/heap"`,
			"a.go:1: imports internal/heap: the root package imports the standard library only"},
		{"root and btree", "a.go", `package sojourn; import _ "` + btreePath + `"`,
			"a.go:1: imports github.com/google/btree, which kit/vqueue alone does"},
		{"root test, inside", "a_test.go", `package sojourn`,
			"a_test.go:1: is inside package sojourn, so that go compiles every policy anew for the tests beside it"},
		{"root test and policy", "a_test.go", `package sojourn_test; import _ ` + m + `/fifo"`, ""},
		{"root lock", "a.go", `package sojourn; import "sync"`, ""},

		{"policy and internal", "fifo/a.go", `package fifo; import (_ ` + m + `"; _ ` + m + `/internal/heap")`, ""},
		{"policy and policy", "fifo/a.go", `package fifo; import _ ` + m + `/fair"`,
			"fifo/a.go:1: imports fair: a policy imports the root package, the kit and internal packages only"},
		{"policy and part of itself", "fair/a.go", `package fair; import _ ` + m + `/fair/tree"`, ""},
		{"policy and sim", "mars/lp/a.go", `package lp; import _ ` + m + `/research/sim"`,
			"mars/lp/a.go:1: imports research/sim: a policy imports the root package, the kit and internal packages only"},
		{"policy test and sim", "td/a_test.go", `package td; import (_ ` + m + `/research/sim"; _ ` + m + `/fair")`, ""},
		{"internal and policy", "internal/x/a.go", `package x; import _ ` + m + `/fifo"`,
			"internal/x/a.go:1: imports fifo: an internal package imports the root package, the kit and internal packages only"},
		{"sim and trace", "research/sim/a.go", `package sim; import _ ` + m + `/research/trace"`, ""},
		{"sim and policy", "research/sim/a.go", `package sim; import _ ` + m + `/fifo"`,
			"research/sim/a.go:1: imports fifo: a driver or a format knows policies by their interface only, and no help for tests"},
		{"sim and sojourntest", "research/sim/a.go", `package sim; import _ ` + m + `/sojourntest"`,
			"research/sim/a.go:1: imports sojourntest: a driver or a format knows policies by their interface only, and no help for tests"},
		{"policy and all policies", "hfsp/a.go", `package hfsp; import _ ` + m + `/internal/constructors"`,
			"hfsp/a.go:1: imports internal/constructors: a policy imports the root package, the kit and internal packages only"},
		{"all policies and kit", "internal/constructors/a.go", `package constructors; import _ ` + m + `/kit/queue"`,
			"internal/constructors/a.go:1: imports kit/queue: all policies behind their interface, for tests imports policies only"},
		{"all policies and the one with pools", "internal/constructors/pooled/a.go", `package pooled; import (_ ` + m + `/fair"; _ ` + m + `/internal/constructors")`, ""},
		{"one with pools and kit", "internal/constructors/pooled/a.go", `package pooled; import _ ` + m + `/kit/queue"`,
			"internal/constructors/pooled/a.go:1: imports kit/queue: all policies behind their interface, for tests imports policies only"},
		{"all policies, outside", "fair/a_test.go", `package fair_test; import _ ` + m + `/internal/constructors"`, ""},
		{"door and policy", "door/a.go", `package door; import (_ ` + m + `/fair"; _ ` + m + `/live"; "time"); func f() { time.Now() }`, ""},
		{"door and help", "door/a.go", `package door; import _ ` + m + `/sojourntest"`,
			"door/a.go:1: imports sojourntest: ready for use imports policies and drivers, and no help for tests"},
		{"sim test and help", "research/sim/a_test.go", `package sim; import _ ` + m + `/sojourntest"`, ""},
		{"ledger and help", "kit/ledger/a.go", `package ledger; import _ ` + m + `/sojourntest/steady"`,
			"kit/ledger/a.go:1: imports sojourntest/steady: a part of the kit imports the root package, the kit and internal packages only"},
		{"sojourntest and policy, inside", "sojourntest/a_test.go", `package sojourntest; import _ ` + m + `/fifo"`,
			"sojourntest/a_test.go:1: imports fifo: help for tests knows policies by their interface only"},
		{"sojourntest and policy, outside", "sojourntest/a_test.go", `package sojourntest_test; import _ ` + m + `/fifo"`, ""},
		{"example", "examples/x/a.go", `package main; import ("time"; _ ` + m + `/fifo"); var _ = time.Now`, ""},
		{"folder without a kind", "util/a.go", `package util`,
			"util: unknown folder: kindOf in arch_test.go must say what it may import"},
		{"nested module", "cmd/x/a.go", `package main; import _ "example.com/x"`, ""},
		{"other name, same start", "a.go", `package sojourn; import _ ` + m + `x"`,
			"a.go:1: imports " + modulePath + "x: no other modules, also in tests"},

		{"planner and the policy", "research/plan/b.go", `package plan; import (_ ` + m + `/mars"; _ ` + m + `/internal/lp")`, ""},
		{"certifier and instances", "research/certify/a.go", `package certify; import ` + m + `/research/plan"; func f(in *plan.Instance, _ *plan.Schedule) error { return in.Check() }`, ""},
		{"certifier and a heap", "research/certify/a.go", `package certify; import _ ` + m + `/internal/heap"`, ""},
		{"certifier and the policy", "research/certify/a.go", `package certify; import _ ` + m + `/mars"`,
			"research/certify/a.go:1: imports mars: research/certify knows the types of research/plan only"},
		{"certifier and the linear program", "research/certify/a.go", `package certify; import _ ` + m + `/internal/lp"`,
			"research/certify/a.go:1: imports internal/lp: research/certify knows the types of research/plan only"},
		{"certifier and other code", "research/certify/a.go", `package certify; import _ ` + m + `/internal/wide"`,
			"research/certify/a.go:1: imports internal/wide: research/certify knows the types of research/plan only"},
		{"certifier and a planner", "research/certify/a.go", `package certify; import ` + m + `/research/plan"; func f(in plan.Instance) error { return plan.LowerBound(in) }`,
			"research/certify/a.go:1: calls LowerBound: research/certify calls nothing of research/plan but methods of instances"},
		{"certifier and what the solver says", "research/certify/a.go", `package certify; import p ` + m + `/research/plan"; func f(s *p.Schedule) float64 { return s.Ratio() }`,
			"research/certify/a.go:1: calls Ratio: research/certify calls nothing of research/plan but methods of instances"},

		{"btree in vqueue", "kit/vqueue/a.go", `package vqueue; import _ "` + btreePath + `"`, ""},
		{"btree in a test", "fifo/a_test.go", `package fifo; import _ "` + btreePath + `"`,
			"fifo/a_test.go:1: imports github.com/google/btree, which kit/vqueue alone does"},
		{"rapid in a test", "fifo/a_test.go", `package fifo; import _ "` + rapidPath + `"`, ""},
		{"rapid in sojourntest", "sojourntest/a.go", `package sojourntest; import _ "` + rapidPath + `"`, ""},
		{"rapid in code", "research/sim/a.go", `package sim; import _ "` + rapidPath + `"`,
			"research/sim/a.go:1: imports pgregory.net/rapid, which only tests and help for tests do"},
		{"assertions", "research/sim/a_test.go", `package sim; import _ "example.com/assert"`,
			"research/sim/a_test.go:1: imports example.com/assert: no other modules, also in tests"},

		{"clock", "fifo/a.go", `package fifo; import "time"; var _ = time.Now`, "fifo/a.go:1: time.Now: live, its page and doors alone read a clock"},
		{"clock by another name", "research/sim/a.go", `package sim; import clock "time"; func f() { clock.Sleep(1) }`,
			"research/sim/a.go:1: time.Sleep: live, its page and doors alone read a clock"},
		{"clock in live", "live/a.go", `package live; import "time"; var _ = time.Now`, ""},
		{"time without a clock", "fifo/a.go", `package fifo; import "time"; var _ = time.Second`, ""},

		{"global generator", "research/sim/a.go", `package sim; import "math/rand/v2"; var _ = rand.IntN`,
			"research/sim/a.go:1: rand.IntN draws from the global generator: use a PCG with a seed"},
		{"global generator in a test", "research/sim/a_test.go", `package sim; import "math/rand/v2"; var _ = rand.IntN(3)`,
			"research/sim/a_test.go:1: rand.IntN draws from the global generator: use a PCG with a seed"},
		{"generator with a seed", "research/sim/a.go", `package sim; import "math/rand/v2"; var _ = rand.New(rand.NewPCG(1, 2)).IntN(3)`, ""},
		{"old generator", "research/sim/a.go", `package sim; import "math/rand"`,
			"research/sim/a.go:1: imports math/rand: randomness is a PCG of math/rand/v2 with a seed"},
		{"token", "live/statuspage/a.go", `package statuspage; import "crypto/rand"`, ""},
		{"entropy", "internal/x/a.go", `package x; import "crypto/rand"`,
			"internal/x/a.go:1: imports crypto/rand: randomness is a PCG of math/rand/v2 with a seed"},

		{"platform's logarithm", "research/sim/a.go", `package sim; import "math"; var _ = math.Log(2)`,
			"research/sim/a.go:1: math.Log: it differs between platforms; internal/detmath does not"},
		{"exact functions", "fifo/a.go", `package fifo; import "math"; var _ = math.Floor(math.Sqrt(2))`, ""},

		{"files", "fifo/a.go", `package fifo; import "os/exec"`, "fifo/a.go:1: imports os/exec: a policy has no input or output"},
		{"testing", "fifo/a.go", `package fifo; import "testing"`,
			"fifo/a.go:1: imports testing: a policy has no input or output"},
		{"help for benchmarks", "sojourntest/steady/a.go", `package steady; import "testing"`, ""},
		{"log", "fifo/a.go", `package fifo; import "log"`, "fifo/a.go:1: imports log: a policy has no input or output"},
		{"attributes", "fifo/a.go", `package fifo; import "log/slog"; var _ slog.Attr`, ""},
		{"structured log", "fifo/a.go", `package fifo; import "log/slog"; func f() { slog.Info("x") }`,
			"fifo/a.go:1: slog.Info: a policy logs nothing"},
		{"lock", "fair/a.go", `package fair; import "sync"`, "fair/a.go:1: imports sync: a policy is not for concurrent use"},
		{"goroutine", "fair/a.go", `package fair; func f() { go f() }`,
			"fair/a.go:1: starts a goroutine, which a policy may not"},
		{"goroutine in live", "live/a.go", `package live; func f() { go f() }`, ""},

		{"loop over a map", "fifo/a.go", "package fifo\nfunc f(m map[int]int) {\n\tfor range m {\n\t}\n}",
			"fifo/a.go:3: range over a map: use a total order, or say by //sojourn:unordered why nobody can see it"},
		{"loop over a map in a field", "kit/ledger/a.go",
			"package ledger\nimport \"time\"\ntype table map[int]time.Time\ntype l struct{ t table }\nfunc (l *l) f() {\n\tfor k := range l.t {\n\t\t_ = k\n\t}\n}",
			"kit/ledger/a.go:6: range over a map: use a total order, or say by //sojourn:unordered why nobody can see it"},
		{"marked loop", "fifo/a.go", "package fifo\nfunc f(m map[int]int) {\n\tfor range m { //sojourn:unordered a count\n\t}\n}", ""},
		{"loop marked above", "fifo/a.go", "package fifo\nfunc f(m map[int]int) {\n\t//sojourn:unordered a count\n\tfor range m {\n\t}\n}", ""},
		{"mark too far above", "fifo/a.go", "package fifo\nfunc f(m map[int]int) {\n\t//sojourn:unordered a count\n\n\tfor range m {\n\t}\n}",
			"fifo/a.go:5: range over a map: use a total order, or say by //sojourn:unordered why nobody can see it"},
		{"loop over a slice", "fifo/a.go", "package fifo\nfunc f(m []int) {\n\tfor range m {\n\t}\n}", ""},
		{"keys of a map", "research/sim/a.go", "package sim\nimport \"maps\"\nfunc f(m map[int]int) {\n\tfor range maps.Keys(m) {\n\t}\n}",
			"research/sim/a.go:4: maps.Keys: use a total order, or say by //sojourn:unordered why nobody can see it"},
		{"sorted keys", "research/sim/a.go", "package sim\nimport (\"maps\"; \"slices\")\nfunc f(m map[int]int) {\n\tfor range slices.Sorted(maps.Keys(m)) {\n\t}\n}", ""},

		{"constant table", "fifo/a.go", "package fifo\nvar names = [...]string{\"a\"}\nfunc f(i int) string { names := names; names[i] = \"b\"; return names[i] }", ""},
		{"file", "live/statuspage/a.go", "package statuspage\nimport _ \"embed\"\n//go:embed a.css\nvar style string", ""},
		{"variable without a value", "fifo/a.go", "package fifo\nvar last int",
			"fifo/a.go:2: variable last of the package has no value: state belongs to a policy"},
		{"variable that changes", "internal/x/a.go", "package x\nvar n = 1\nfunc f() { n++ }",
			"internal/x/a.go:3: changes variable n of the package: state belongs to a policy"},
		{"table that changes", "research/sim/a.go", "package sim\nvar t = []struct{ n int }{{1}}\nfunc f() { t[0].n = 2 }",
			"research/sim/a.go:3: changes variable t of the package: state belongs to a policy"},
		{"variable of a loop", "td/a.go", "package td\nvar i = 1\nfunc f() {\n\tfor i = range 3 {\n\t}\n}",
			"td/a.go:4: changes variable i of the package: state belongs to a policy"},
		{"address of a variable", "mars/a.go", "package mars\nvar n = 1\nfunc f() *int { return &n }",
			"mars/a.go:3: changes variable n of the package: state belongs to a policy"},

		{"number of a snapshot", "fifo/a.go", "package fifo\nimport " + m + "/kit/snapshot\"\nfunc f(r *snapshot.Reader) int { return int(r.Below(1 << 62)) }",
			"fifo/a.go:3: int(Below()): a number of a snapshot may need 64 bits: use Index, Count, Native or Len"},
		{"index in a snapshot", "fifo/a.go", "package fifo\nimport " + m + "/kit/snapshot\"\nfunc f(r *snapshot.Reader) uint32 { return uint32(r.Index(3)) }", ""},

		{"internal type in the kit", "kit/queue/a.go", "package queue\nimport " + m + "/internal/heap\"\nfunc F() *heap.Heap[int] { return nil }",
			"kit/queue/a.go:3: F has the type heap.Heap: nobody else can name it"},
		{"internal type in a field of the kit", "kit/queue/a.go", "package queue\nimport w " + m + "/internal/wide\"\ntype T struct {\n\tm int\n\tN []w.Uint128\n}",
			"kit/queue/a.go:5: T has the type w.Uint128: nobody else can name it"},
		{"internal type inside the kit", "kit/queue/a.go", "package queue\nimport w " + m + "/internal/wide\"\ntype T struct{ n w.Uint128 }\nfunc f(w.Uint128) {}\nfunc F() { f(w.Uint128{}) }", ""},
		{"counter that others can write", "kit/ledger/a.go", "package ledger\ntype Job[J any] struct {\n\tData J\n\tLeft int\n}",
			"kit/ledger/a.go:4: Job.Left is exported: the ledger alone writes its account, but for Data"},

		{"another module", "go.mod", "module x\nrequire (\n\texample.com/x v1.0.0 // indirect\n)\n",
			"go.mod:3: requires example.com/x: the library gets by with btree, and rapid in tests"},
		{"replaced module", "go.mod", "module x\nreplace example.com/x => ../x\n",
			"go.mod:2: has a replace: a library's go.mod only requires"},
	}
	for _, tc := range tests {
		fsys := fstest.MapFS{
			"go.mod":             {Data: []byte(goMod)},
			"cmd/x/go.mod":       {Data: []byte("module x")},
			"testdata/a.go":      {Data: []byte("no Go")},
			"fifo/_old/doc.go":   {Data: []byte("no Go")},
			"research/plan/a.go": {Data: []byte(solver)},
		}
		fsys[tc.file] = &fstest.MapFile{Data: []byte(tc.src)}
		tr, err := load(fsys)
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		var want []string
		if tc.want != "" {
			want = []string{tc.want}
		}
		if got := tr.violations(); !slices.Equal(got, want) {
			t.Errorf("%s: %s: %s\ngot  %q\nwant %q", tc.name, tc.file, tc.src, got, want)
		}
	}
}
