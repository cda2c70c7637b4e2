//go:build all

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const library = "github.com/sojourn-sched/sojourn"

// The eight steps of CONTRIBUTING.md, in another module. This command and its policy get
// a go.mod of their own, which takes the library and the command from here. It needs no
// module that is not in the cache.
func TestAnotherModule(t *testing.T) {
	steps(t)
	here, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	read := func(name string) string {
		t.Helper()
		data, err := os.ReadFile(filepath.Join(here, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	// This module requires what the command requires, and nothing else.
	_, requires, found := strings.Cut(read("cmd/sojourn/go.mod"), "\nrequire")
	if !found {
		t.Fatal("cmd/sojourn/go.mod requires nothing")
	}
	write("go.mod", "module example.org/own\n\ngo 1.25.0\n\nrequire "+library+"/cmd/sojourn v0.1.0\n\nrequire"+requires+
		"\nreplace (\n\t"+library+" => "+here+"\n\t"+library+"/cmd/sojourn => "+here+"/cmd/sojourn\n)\n")
	write("go.sum", read("go.sum")+read("cmd/sojourn/go.sum"))

	// Step 1: the folder. Its files are the result of steps 2 to 8.
	if err := os.Mkdir(filepath.Join(dir, "fewest"), 0o777); err != nil {
		t.Fatal(err)
	}
	const example = "cmd/sojourn/examples/ownpolicy/"
	for _, name := range []string{"main.go", "fewest/doc.go", "fewest/fewest.go", "fewest/snapshot.go", "fewest/fewest_test.go",
		"fewest/oracle_test.go", "fewest/paper_test.go", "fewest/bench_test.go"} {
		write(name, strings.ReplaceAll(read(example+name), library+"/"+example, "example.org/own/"))
	}
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOFLAGS=-mod=mod", "GONOSUMDB=*", "GOTOOLCHAIN=local")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	run("vet", "./...")
	if out := run("list", "-m"); strings.TrimSpace(out) != "example.org/own" {
		t.Fatalf("the module is %s", out)
	}
	for _, c := range []struct {
		args []string
		want []string
	}{
		// Steps 2 to 7: conformance fails if the account, a decision, an answer or a
		// snapshot is wrong.
		{[]string{"test", "-count=1", "-v", "./fewest"}, []string{"--- PASS: TestConformance", "--- PASS: TestFewestFirst", "--- PASS: TestSmith"}},
		// Step 8.
		{[]string{"test", "-run", "^$", "-bench", "Steady/jobs=1000$", "-benchtime", "1000x", "./fewest"}, []string{"BenchmarkSteady/jobs=1000", "0 allocs/op"}},
		{[]string{"run", ".", "compare", "--sample", "-q", "-p", "fewest:most=true,fewest,fifo"}, []string{"fewest:most=true", "fewest", "fifo"}},
		{[]string{"run", ".", "policies", "fewest"}, []string{"most"}},
	} {
		out := run(c.args...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("go %s says nothing of %q:\n%s", strings.Join(c.args, " "), want, out)
			}
		}
	}
}
