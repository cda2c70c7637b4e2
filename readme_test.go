package sojourn_test

import (
	"context"
	"fmt"
	"io/fs"
	"log"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
)

// Two jobs of Go functions on eight slots.
func Example_firstScreen() {
	ctx, work := context.Background(), func(context.Context, uint32) error { return nil }

	policy, err := leastwork.New(leastwork.Options{})
	if err != nil {
		log.Fatal(err)
	}
	pool, err := live.New(policy, live.Options{Slots: 8})
	if err != nil {
		log.Fatal(err)
	}
	for _, tasks := range []int{100, 2} { // the second job does not wait for the first
		_, err := pool.Submit(ctx, live.Job{Phases: []live.Phase{{Tasks: tasks, Run: func(ctx context.Context, t live.Task) error {
			return work(ctx, t.Index)
		}}}})
		if err != nil {
			log.Fatal(err)
		}
	}
	err = pool.Close(ctx) // waits for both
	fmt.Println(err, len(policy.AppendRanking(nil)), "jobs left")
	// Output: <nil> 0 jobs left
}

// A policy drives real work: eight goroutines, a job of 100 tasks, and a job of
// 2 that does not have to wait for it.
func Example_goroutines() {
	work := func(sojourn.TaskID) { time.Sleep(time.Millisecond) }

	p, err := hfsp.New(hfsp.Options{})
	if err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	d, err := driver.New(p, driver.Options{Now: func() sojourn.Time { return sojourn.Time(time.Since(start)) }})
	if err != nil {
		log.Fatal(err)
	}
	observe := func(ev sojourn.Event) {
		if err := d.Observe(ev); err != nil {
			log.Fatal(err)
		}
	}
	for slot := range sojourn.SlotID(8) {
		observe(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: slot}})
	}
	for i, tasks := range []int{100, 2} {
		observe(sojourn.Event{Kind: sojourn.JobArrived, Job: &sojourn.Job{ID: sojourn.JobID(i + 1), Phases: []sojourn.Phase{{Tasks: tasks}}}})
	}
	done := make(chan sojourn.Assignment)
	for left := 100 + 2; left > 0; {
		r := d.Settle()
		for _, a := range r.Starts {
			go func() { work(a.Task); done <- a }()
		}
		select {
		case a := <-done:
			left--
			observe(driver.Finished(a))
		case <-time.After(r.Sleep): // the policy wants to be asked again
		}
	}
	fmt.Println(len(p.AppendRanking(nil)), "jobs left")
	// Output: 0 jobs left
}

// The Go code in the README and in the tour for owners is that of the examples above. A block with a line "..." is
// not a whole program.
func TestReadmeExamples(t *testing.T) {
	source, err := os.ReadFile("readme_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"README.md", "docs/owner.md"} {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		whole := 0
		for _, after := range strings.Split(string(text), "```go\n")[1:] {
			block, _, _ := strings.Cut(after, "```")
			if strings.Contains(block, "\n...\n") {
				continue
			}
			whole++
			var body strings.Builder
			for line := range strings.Lines(block) {
				if line != "\n" {
					body.WriteByte('\t')
				}
				body.WriteString(line)
			}
			if !strings.Contains(string(source), body.String()) {
				t.Errorf("this Go code of %s is not in readme_test.go:\n%s", page, block)
			}
		}
		if whole != 1 {
			t.Errorf("%s has %d whole programs, want 1", page, whole)
		}
	}
}

// The tests that docs/peers.md names are there.
func TestPeersPage(t *testing.T) {
	text, err := os.ReadFile("docs/peers.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| what holds ") {
			continue
		}
		rows++
		named := regexp.MustCompile("(root package|`[a-z/]+`) ((?:Test|Benchmark)[A-Za-z0-9]+)").FindAllStringSubmatch(line, -1)
		if len(named) == 0 {
			t.Errorf("no test is named in: %s", line)
		}
		for _, m := range named {
			folder := strings.Trim(m[1], "`")
			if folder == "root package" {
				folder = "."
			}
			files, _ := filepath.Glob(filepath.Join(folder, "*_test.go"))
			if !slices.ContainsFunc(files, func(file string) bool {
				code, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(code), "\nfunc "+m[2]+"(")
			}) {
				t.Errorf("%s has no %s", folder, m[2])
			}
		}
	}
	if rows != 16 {
		t.Errorf("%d rows, want 16", rows)
	}
}

// Each test that a document names is there. One that doc.go names is a test of its package, or of a package that the same line
// names. A document of docs may give the beginning of names, behind -run.
func TestNamedTestsExist(t *testing.T) {
	name := regexp.MustCompile(`\bTest[A-Z][A-Za-z0-9]+`)
	var docs []string
	folders := map[string][]string{} // by test
	err := fs.WalkDir(os.DirFS("."), ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch code, test := strings.CutSuffix(file, "_test.go"); {
		case test && !strings.Contains(code, "/testdata/"):
			text, err := os.ReadFile(file)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				folders[m[1]] = append(folders[m[1]], path.Dir(file))
			}
			return err
		case path.Base(file) == "doc.go", path.Ext(file) == ".md" && file != "CHANGELOG.md":
			docs = append(docs, file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	all, named := slices.Sorted(maps.Keys(folders)), 0
	for _, file := range docs {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "func ") { // an example
				continue
			}
			for _, test := range name.FindAllString(line, -1) {
				named++
				in := folders[test]
				at, _ := slices.BinarySearch(all, test)
				switch begins := at < len(all) && strings.HasPrefix(all[at], test); {
				case len(in) == 0 && !(begins && strings.Contains(line, "-run")):
					t.Errorf("%s names %s, which is not there", file, test)
				case path.Base(file) == "doc.go" && !slices.ContainsFunc(in, func(dir string) bool {
					return dir == path.Dir(file) || dir != "." && strings.Contains(line, path.Base(dir))
				}):
					t.Errorf("%s names %s, which is in %v: say so in the same line", file, test, in)
				}
			}
		}
	}
	if named < 300 {
		t.Errorf("%d tests are named, want the hundreds of the documents", named)
	}
	t.Logf("%d names of tests", named)
}

// Each file of research/proofs stands in the table there, with Go code that is there and a heading of the theorem that is there, and
// its own comment names both.
func TestProofsNameWhatIsThere(t *testing.T) {
	read := func(file string) string {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	files, err := filepath.Glob("research/proofs/*.dfy")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile("(?m)^\\| `(\\w+\\.dfy)` \\| `(?:(\\w+)\\.)?(\\w+)` of `([\\w/]+)`.*? \\| (.*) \\|$").FindAllStringSubmatch(read("research/proofs/README.md"), -1)
	if len(rows) != len(files) || len(rows) == 0 {
		t.Errorf("%d files, and %d rows of the table that name one and the code", len(files), len(rows))
	}
	theorem := regexp.MustCompile("\"([^\"]+)\" of `([\\w/.]+)`")
	for _, row := range rows {
		file, of, name, dir := row[1], row[2], row[3], row[4]
		code, proof := "", strings.Join(strings.Fields(strings.ReplaceAll(read(filepath.Join("research/proofs", file)), "\n//", "")), " ")
		sources, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, source := range sources {
			if !strings.HasSuffix(source, "_test.go") {
				code += read(source)
			}
		}
		declared := `(?m)^(type ` + name + `\b|func (\(.*\) )?` + name + `\()`
		if of != "" {
			declared = `(?m)^func \(\w+ \*?` + of + `(\[.*\])?\) ` + name + `\(`
		}
		if !regexp.MustCompile(declared).MatchString(code) {
			t.Errorf("%s: %s has no %s", file, dir, strings.TrimPrefix(of+"."+name, "."))
		}
		if begin, _, _ := strings.Cut(proof, "Theorem:"); !strings.Contains(begin, "package "+dir) || !strings.Contains(begin, name) {
			t.Errorf("%s does not say that it is about %s of package %s", file, name, dir)
		}
		for _, m := range theorem.FindAllStringSubmatch(row[5], -1) {
			place := m[2]
			if !strings.HasSuffix(place, ".md") {
				place += "/doc.go"
			}
			if !strings.Contains(read(place), m[1]) || !strings.Contains(proof, m[1]) {
				t.Errorf("%s: %q is not in %s, or not in the file's own comment", file, m[1], place)
			}
		}
	}
}
