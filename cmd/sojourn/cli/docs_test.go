package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	docs     = "../../../docs"
	findings = "../internal/paper/findings" // are on the pages of the papers, too
)

// The commands on the pages of docs print what the pages say. A block of the language console is a
// session: a line that begins with "$ " is a command, lines that begin with "> " belong to it, and what follows is
// its output. A line "..." stands for any lines. The sessions of a page share a folder, which is empty at first.
func TestDocs(t *testing.T) {
	var pages []string
	for _, folder := range []string{docs, findings} {
		of, err := filepath.Glob(folder + "/*.md")
		if err != nil || len(of) == 0 {
			t.Fatal(folder, of, err)
		}
		pages = append(pages, of...)
	}
	commands := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		var folder string
		for _, s := range sessions(string(text)) {
			if folder == "" {
				folder = t.TempDir()
			}
			commands++
			got := shell(t, folder, s.command)
			if *update && !matches(got, s.output) {
				text = []byte(strings.Replace(string(text), s.typed+s.output, s.typed+got, 1))
				continue
			}
			if !matches(got, s.output) {
				t.Errorf("%s: %sprints\n%s\nand the page says\n%s", filepath.Base(page), s.typed, got, s.output)
			}
		}
		if *update {
			if err := os.WriteFile(page, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if commands == 0 {
		t.Error("no command on any page")
	}
}

type session struct{ typed, command, output string }

func sessions(page string) (all []session) {
	inside := false
	for line := range strings.Lines(page) {
		prompt, text, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console\n"
		case inside && prompt == "$":
			all = append(all, session{typed: line, command: text})
		case inside && prompt == ">" && all[len(all)-1].output == "":
			all[len(all)-1].typed += line
			all[len(all)-1].command += text
		case inside && len(all) > 0:
			all[len(all)-1].output += line
		}
	}
	return all
}

// matches reports whether got is the output on a page, in which a line "..." is any number of lines.
func matches(got, page string) bool {
	var pattern strings.Builder
	for line := range strings.Lines(page) {
		if line == "...\n" {
			pattern.WriteString(`(.*\n)*`)
		} else {
			pattern.WriteString(regexp.QuoteMeta(line))
		}
	}
	return regexp.MustCompile(`\A` + pattern.String() + `\z`).MatchString(got)
}

func TestMatches(t *testing.T) {
	const got = "a\nb\nc\nd\n"
	for page, want := range map[string]bool{
		got: true, "a\n...\nd\n": true, "a\n...\n": true, "...\nd\n": true, "a\n...\nc\n...\n": true, "...\n": true,
		"": false, "a\nb\nc\n": false, "b\n...\n": false, "a\n...\nc\n": false, "a\n...\nx\n...\n": false, "a\n...\nc\n...\nb\n...\n": false,
	} {
		if matches(got, page) != want {
			t.Errorf("%q matches %q: %t", got, page, !want)
		}
	}
}

func shell(t *testing.T, folder, command string) string {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", command)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "HOME="+folder, "COLUMNS=100")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("$ %s%v\n%s", command, err, out)
	}
	return string(out)
}
