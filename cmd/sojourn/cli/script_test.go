package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"reflect"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sojourn": command})
}

// Each script in testdata/script is a session at a shell.
func TestScripts(t *testing.T) {
	testscript.Run(t, scripted(func(*testscript.Env) {}))
}

// scripted says how scripts are run.
func scripted(setup func(*testscript.Env)) testscript.Params {
	return testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			setup(env)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"gzip":     compress,
			"policies": policies,
			"status":   status,
		},
		Condition: func(cond string) (bool, error) {
			if cond != "thorough" {
				return false, fmt.Errorf("unknown condition %q", cond)
			}
			return thorough, nil
		},
	}
}

// status CODE COMMAND... runs a command that must end with an exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND...")
	}
	// Exec tells the exit status only in its error: "exit status 2".
	err := ts.Exec(args[1], args[2:]...)
	got := "0"
	if err != nil {
		got = err.Error()
	}
	if want := "exit status " + args[0]; got != want {
		ts.Fatalf("%v: %s, want %s", args[1:], got, want)
	}
}

// policies ALONE SWEPT VALUE compares two files in JSON: all policies of the first, and
// the policies of one value of a sweep in the second.
func policies(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: policies ALONE SWEPT VALUE")
	}
	read := func(name string) (all []map[string]any) {
		var file struct{ Policies []map[string]any }
		ts.Check(json.Unmarshal([]byte(ts.ReadFile(name)), &file))
		return file.Policies
	}
	var swept []map[string]any
	for _, p := range read(args[1]) {
		if p["value"] == args[2] {
			delete(p, "value")
			swept = append(swept, p)
		}
	}
	if alone := read(args[0]); len(alone) == 0 || !reflect.DeepEqual(alone, swept) {
		ts.Fatalf("%s says of its policies\n%v\n%s of those of %s\n%v", args[0], alone, args[1], args[2], swept)
	}
}

// gzip FILE TARGET compresses a file.
func compress(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: gzip FILE TARGET")
	}
	var buf bytes.Buffer
	z := gzip.NewWriter(&buf)
	if _, err := io.WriteString(z, ts.ReadFile(args[0])); err != nil {
		ts.Fatalf("%v", err)
	}
	ts.Check(z.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), buf.Bytes(), 0o644))
}
