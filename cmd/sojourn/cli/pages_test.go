package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
)

// advise, explain and forecast write a page with -o: it begins with what they print, has pictures, tables and the command, and asks for
// nothing from elsewhere. What they print is the same without it.
func TestPagesOfAnswers(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must := func(args ...string) string {
		t.Helper()
		var out, errs strings.Builder
		if status := Run(args, strings.NewReader(""), &out, &errs); status != 0 {
			t.Fatalf("%v: status %d: %s", args, status, &errs)
		}
		return out.String()
	}
	must("run", "--sample", "-p", "fifo", "-q", "-o", "out")
	for _, tc := range []struct {
		args            []string
		verdict, figure string
		tables          int
	}{
		{[]string{"advise", "--sample", "--estimates", "exact", "-p", "srpt", "--loads", "recorded", "-q"}, "Use srpt: ", `data-grid="forest"`, 2},
		{[]string{"explain", "out", "169"}, "Under fifo, job 169 (train) arrived at 6292.2 s", `data-plot="before"`, 2},
		{[]string{"forecast", "out", "--at", "3000s", "--with", "default"}, "11 of 11 jobs finish", `data-plot="finish"`, 1},
	} {
		file := filepath.Join(dir, tc.args[0]+".html")
		plain, printed := must(tc.args...), must(append(tc.args, "-o", file)...)
		if plain != printed {
			t.Errorf("%v prints with -o\n%s\nand without\n%s", tc.args, printed, plain)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		html := string(text)
		_, verdict, _ := strings.Cut(html, `id="verdict"`)
		if verdict, _, _ = strings.Cut(verdict, "</section>"); !strings.Contains(verdict, tc.verdict) {
			t.Errorf("%v: the verdict is %s", tc.args, verdict)
		}
		if !strings.Contains(html, tc.figure) || strings.Count(html, `<table id=`) != tc.tables || !strings.Contains(html, `<pre id="command">sojourn `+tc.args[0]+" ") || strings.Contains(html, `="http`) {
			t.Errorf("%v: %d tables, or the picture or the command is missing, or there is an address", tc.args, strings.Count(html, `<table id=`))
		}
		_, data, _ := strings.Cut(html, `id="data">`)
		data, _, _ = strings.Cut(data, "</script>")
		var into struct {
			Ratios *struct {
				Policies []string
				Grids    []struct {
					Rows []struct{ Values, Half []*float64 }
				}
			}
			Plots []struct {
				X      struct{ Names []string }
				Series []struct{ X, Y []*float64 }
			}
		}
		if err := json.Unmarshal([]byte(data), &into); err != nil {
			t.Fatal(err)
		}
		for _, p := range into.Plots {
			for _, s := range p.Series {
				if len(s.X) == 0 || len(s.X) != len(s.Y) || len(s.X) != len(p.X.Names) {
					t.Errorf("%v: a line of %d and %d numbers, and %d names", tc.args, len(s.X), len(s.Y), len(p.X.Names))
				}
			}
		}
		if r := into.Ratios; r != nil {
			for _, g := range r.Grids {
				for _, row := range g.Rows {
					n := len(r.Policies)
					if len(row.Values) != n || len(row.Half) != n*n || row.Values[0] == nil {
						t.Errorf("%d policies, %d values, %d intervals", n, len(row.Values), len(row.Half))
					}
				}
			}
		}
	}
	var errs strings.Builder
	if status := Run([]string{"advise", "a.jsonl@1x1", "-o", "x.html"}, strings.NewReader(""), new(strings.Builder), &errs); status != exitUsage {
		t.Errorf("status %d: %s", status, &errs)
	}
}

// A page of four runs of 20,000 jobs and 200,000 tasks has at most 5 MB and 5,000 elements, and draws at most 100,000 tasks of a run:
// what a browser has to do until it can be used is bounded by that.
func TestLargePageIsSmall(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds to make runs of 800,000 tasks")
	}
	dir := t.TempDir()
	var jobs strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&jobs, `{"id":%d,"at":%d,"name":"job %d","pool":"pool %d","phases":[{"tasks":10,"time":%d}]}`+"\n", i+1, 2*i, i%50, i%5, 50+i*37%101)
	}
	workload, out := filepath.Join(dir, "w.jsonl"), filepath.Join(dir, "out")
	if err := os.WriteFile(workload, []byte(jobs.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs strings.Builder
	if status := Run([]string{"compare", "-w", workload, "-c", "150x4", "-p", "fifo,fair,srpt,default", "-q", "-o", out}, strings.NewReader(""), new(strings.Builder), &errs); status != 0 {
		t.Fatalf("status %d: %s", status, &errs)
	}
	text, err := os.ReadFile(filepath.Join(out, files.Report))
	if err != nil {
		t.Fatal(err)
	}
	elements := regexp.MustCompile(`<[a-z]`).FindAllIndex(text, -1)
	_, data, _ := bytes.Cut(text, []byte(`id="data">`))
	data, _, _ = bytes.Cut(data, []byte("</script>"))
	var drawn struct {
		Gantt struct {
			Runs []struct {
				Share float64
				Boxes []byte
			}
		}
	}
	if err := json.Unmarshal(data, &drawn); err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2f MB, %d elements", float64(len(text))/1e6, len(elements))
	if len(text) > 5_000_000 || len(elements) > 5_000 || len(drawn.Gantt.Runs) != 4 {
		t.Errorf("%d bytes, %d elements, %d runs", len(text), len(elements), len(drawn.Gantt.Runs))
	}
	for _, r := range drawn.Gantt.Runs {
		ends := 0 // of numbers
		for _, b := range r.Boxes {
			if b < 0x80 {
				ends++
			}
		}
		if boxes := ends / 4; boxes > 101_000 || boxes < 40_000 || !(r.Share > .2 && r.Share < 1) {
			t.Errorf("%d boxes, a share of %v", boxes, r.Share)
		}
	}
}
