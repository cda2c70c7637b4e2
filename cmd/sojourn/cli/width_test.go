package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"
)

// wideLines names the file to which the command writes lines that are too wide: see TestOutputFits.
const wideLines = "SOJOURN_TEST_WIDE_LINES"

// command is [Main]; with wideLines, it looks at what it prints.
func command() {
	to := os.Getenv(wideLines)
	if to == "" {
		Main()
	}
	columns, err := strconv.Atoi(os.Getenv("COLUMNS")) // which a command may unset
	if err != nil {
		panic(err)
	}
	var printed bytes.Buffer
	status := run(context.WithValue(context.Background(), stopper{}, os.Exit), os.Args[1:], os.Stdin, io.MultiWriter(os.Stdout, &printed), os.Stderr)
	file, err := os.OpenFile(to, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if forPeople(os.Args[1:]) {
		fmt.Fprintln(file, "command")
		for line := range strings.Lines(printed.String()) {
			line = strings.NewReplacer("\x1b[1m", "", "\x1b[32m", "", "\x1b[0m", "").Replace(line)
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > columns && !strings.HasPrefix(line, "| ") && len(strings.Fields(line)) > 1 { // a word is not broken; Markdown has no width
				fmt.Fprintf(file, "%s: %d columns: %s", strings.Join(os.Args[1:], " "), n, line)
			}
		}
	}
	file.Close()
	os.Exit(status)
}

// forPeople reports whether a command prints what people read, and not help, which is as it was typed.
func forPeople(args []string) bool {
	people := []string{"compare", "run", "sweep", "plan", "advise", "paper", "explain", "forecast", "bench", "replay", "fluid"}
	machines := []string{"--json", "--csv", "--csv=table", "--markdown", "--help", "-h", "--notes"}
	return len(args) > 0 && slices.Contains(people, args[0]) && !slices.ContainsFunc(args, func(arg string) bool { return slices.Contains(machines, arg) })
}

// What commands print for people has no line that is wider than the terminal: all scripts, at 60 columns, and with the build tag all at
// 80, too.
func TestOutputFits(t *testing.T) {
	scripts, err := filepath.Glob("testdata/script/*.txt*")
	if err != nil || len(scripts) < 30 {
		t.Fatal(len(scripts), err)
	}
	expects := regexp.MustCompile(`(?m)^(! )?(cmp|cmpenv|stdout|stderr|grep)\b.*$`) // those are for 100 columns
	for _, columns := range widths {
		t.Run(columns, func(t *testing.T) {
			dir := t.TempDir()
			found := filepath.Join(dir, "found")
			var copies []string
			for _, script := range scripts {
				text, err := os.ReadFile(script)
				if err != nil {
					t.Fatal(err)
				}
				at := bytes.Index(text, []byte("\n-- "))
				if at < 0 {
					at = len(text)
				}
				name := filepath.Join(dir, filepath.Base(script))
				if err := os.WriteFile(name, append(expects.ReplaceAll(text[:at:at], nil), text[at:]...), 0o644); err != nil {
					t.Fatal(err)
				}
				copies = append(copies, name)
			}
			t.Run("scripts", func(t *testing.T) {
				params := scripted(func(env *testscript.Env) {
					env.Setenv("COLUMNS", columns)
					env.Setenv(wideLines, found)
				})
				params.Dir, params.Files = "", copies
				testscript.Run(t, params)
			})
			text, err := os.ReadFile(found)
			if err != nil {
				t.Fatal(err)
			}
			commands := 0
			for line := range strings.Lines(string(text)) {
				if line == "command\n" {
					commands++
				} else {
					t.Error(line)
				}
			}
			if commands < 100 {
				t.Errorf("%d commands were looked at", commands)
			}
		})
	}
}
