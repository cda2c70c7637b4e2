package browsertest

import (
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	download "github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp/kb"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/cli"
)

// texts returns the texts on a canvas.
func (b *tab) texts(canvas string) (list []string) {
	b.Helper()
	for _, l := range b.labels(canvas) {
		list = append(list, l.Text)
	}
	return list
}

// The forest plot tells the ratios of the means in the table to that of the baseline that is chosen, and all pictures of
// ratios follow it. What is tied is marked, and so is the least.
func TestBaseline(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample"), usual)
	means := map[string]float64{}
	for i, name := range b.column("policies", 0) {
		v, err := strconv.ParseFloat(b.column("policies", 2)[i], 64)
		if err != nil {
			t.Fatal(err)
		}
		means[name] = v
	}
	for _, base := range []string{"fair", "fifo", "pfsp"} {
		b.choose("#baseline", base)
		for _, id := range []string{"forest", "tenants"} {
			if !slices.Contains(b.texts("#grid-"+id), "times that under "+base) {
				t.Errorf("%s says %q", id, b.texts("#grid-"+id))
			}
		}
		if !slices.Contains(b.texts("#grid-sizes"), "ratio to "+base) {
			t.Errorf("sizes say %q", b.texts("#grid-sizes"))
		}
		if n := value[int](b, `document.querySelector('#grid-sizes').noted.filter(l => /^([1-9]|10)$/.test(l.Text)).length`); n < 10 {
			t.Errorf("%d tenths", n)
		}
		// The first column: a name and a ratio in each line.
		lines := map[float64][]label{}
		for _, l := range b.labels("#grid-forest") {
			lines[l.Y] = append(lines[l.Y], l)
		}
		seen := 0
		for _, l := range lines {
			slices.SortFunc(l, func(x, y label) int { return int(x.Left - y.Left) })
			mean, ok := means[l[0].Text]
			if !ok || len(l) != 6 {
				continue
			}
			seen++
			text := strings.TrimSuffix(strings.TrimPrefix(l[1].Text, "* "), " ~")
			if l[0].Text == base {
				if text != "baseline" {
					t.Errorf("%s is %s of itself", base, text)
				}
				continue
			}
			got, err := strconv.ParseFloat(text, 64)
			if want := mean / means[base]; err != nil || math.Abs(got/want-1) > 0.02 {
				t.Errorf("%s is %s times %s, want %.3f", l[0].Text, text, base, want)
			}
			if strings.HasPrefix(l[1].Text, "* ") != (l[0].Text == "pfsp") {
				t.Errorf("%s has %q", l[0].Text, l[1].Text)
			}
			// Against pfsp, the tied ones are those of the verdict.
			if tie := strings.Contains("srpt fsp hfsp default", l[0].Text); base == "pfsp" && strings.HasSuffix(l[1].Text, " ~") != tie {
				t.Errorf("%s against pfsp has %q", l[0].Text, l[1].Text)
			}
		}
		if seen != len(means) {
			t.Errorf("%d lines, want %d", seen, len(means))
		}
	}
	b.inside("#grid-forest")
	b.shot("baseline")
}

// Each picture can be had as CSV, JSON and SVG from a file, without a network, and each table as CSV and JSON.
func TestFiles(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample", "-p", "default,fifo,fair"), usual)
	dir := t.TempDir()
	call(b, download.SetDownloadBehavior, download.SetDownloadBehaviorParams{Behavior: download.SetDownloadBehaviorBehaviorAllow, DownloadPath: dir})
	pictures := []string{"forest", "sizes", "tenants", "sojourn", "slowdown", "lateness", "queue", "utilisation-1", "utilisation-2", "backlog", "gantt"}
	want := 3*len(pictures) + 2*2
	if n := value[int](b, `document.querySelectorAll('.files button:not(.tail)').length`); n != want {
		t.Fatalf("%d buttons for files, want %d", n, want)
	}
	b.run(`document.querySelectorAll('.files button:not(.tail)').forEach((b, i) => { b.id = 'file-' + i; })`)
	whole := func() int {
		names, err := filepath.Glob(filepath.Join(dir, "sojourn-*"))
		if err != nil {
			t.Fatal(err)
		}
		return len(slices.DeleteFunc(names, func(n string) bool { return strings.HasSuffix(n, ".crdownload") }))
	}
	// A browser saves ten files of a page at most without a question, so that most are looked at without being saved.
	for i := range 3 {
		b.click(fmt.Sprint("#file-", i))
		for turn := 0; whole() <= i; turn++ {
			if turn > 1000 {
				t.Fatalf("%d files after %d clicks", whole(), i+1)
			}
			b.settle()
		}
	}
	b.run(`window.saved = {}; save = (name, type, text) => { saved[name] = text; }`)
	b.run(`document.querySelectorAll('.files button:not(.tail)').forEach(b => b.click())`)
	saved := value[map[string]string](b, `saved`)
	if len(saved) != want {
		t.Errorf("%d files, want %d", len(saved), want)
	}
	read := func(name string) string { return saved[name] }
	for _, kind := range []string{".csv", ".json", ".svg"} {
		if text, err := os.ReadFile(filepath.Join(dir, "sojourn-forest"+kind)); err != nil || string(text) != read("forest"+kind) {
			t.Errorf("the file of the forest plot as %s has %d bytes, want %d (%v)", kind, len(text), len(read("forest"+kind)), err)
		}
	}
	for _, id := range append(pictures, "policies", "jobs") {
		rows, err := csv.NewReader(strings.NewReader(read(id + ".csv"))).ReadAll()
		if err != nil || len(rows) < 4 {
			t.Errorf("%s: %d rows and %v", id, len(rows), err)
		}
		var objects []map[string]any
		if err := json.Unmarshal([]byte(read(id+".json")), &objects); err != nil || len(objects) != len(rows)-1 {
			t.Errorf("%s: %d objects and %v, want as many as rows, %d", id, len(objects), err, len(rows)-1)
		}
	}
	for _, id := range pictures {
		text := read(id + ".svg")
		texts := 0
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", id, err)
				break
			}
			if e, ok := token.(xml.StartElement); ok && e.Name.Local == "text" {
				texts++
			}
		}
		if texts < 4 || strings.Contains(text, "NaN") || strings.Contains(text, "undefined") {
			t.Errorf("%s: a picture with %d texts, and NaN: %t", id, texts, strings.Contains(text, "NaN"))
		}
	}
	if text := read("jobs.csv"); strings.Count(text, "\n") != 181 {
		t.Errorf("jobs.csv has %d lines, want 181", strings.Count(text, "\n"))
	}
}

// The command on the page makes the same page again, and the button copies it.
func TestCommand(t *testing.T) {
	file := sojourn(t, "compare", "--gen", "hfsp-dev:jobs=30,load=0.9", "-p", "fifo,fair:order=running", "-p", "pfsp", "--seed", "7")
	b := openReport(t, file, usual)
	line := b.text("#command")
	b.run(`addEventListener('copy', () => { window.taken = getSelection().toString(); })`)
	b.click(`[data-copy="command"]`)
	b.until("the command is copied", `window.taken !== undefined`)
	if got := value[string](b, `window.taken`); got != line {
		t.Errorf("copied %q, want %q", got, line)
	}
	b.click(`[data-copy="verdict"]`)
	b.settle()
	if got, want := value[string](b, `window.taken`), b.text("#verdict p"); !strings.HasPrefix(got, want) || strings.Contains(got, "cop") {
		t.Errorf("copied %q, want the verdict", got)
	}
	fields := strings.Fields(line)
	dir := filepath.Join(t.TempDir(), "again")
	var out, errs strings.Builder
	if status := cli.Run(append(fields[1:], "-o", dir), strings.NewReader(""), &out, &errs); status != 0 {
		t.Fatalf("%s: %s", line, &errs)
	}
	for _, name := range []string{"1-fifo", "2-fair", "3-pfsp"} {
		first, err := os.ReadFile(filepath.Join(filepath.Dir(file), name, "jobs.csv"))
		if err != nil {
			t.Fatal(err)
		}
		again, err := os.ReadFile(filepath.Join(dir, name, "jobs.csv"))
		if err != nil || string(first) != string(again) {
			t.Errorf("%s: %s gives other jobs (%v)", line, name, err)
		}
	}
}

// A drag over a plot of time zooms it, the other plots of time and the chart; the button of the chart shows all again.
func TestBrush(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample", "-p", "default,fifo,fair"), usual)
	all := b.shown()
	view := func() span { return span{value[float64](b, `view.from`), value[float64](b, `view.to`), 0, 0} }
	for _, id := range []string{"queue", "utilisation-1", "utilisation-2", "backlog"} {
		at := b.show("#plot-" + id)
		before := b.texts("#plot-backlog")
		b.mouse(moved, at.X+300, at.Y+60)
		b.mouse(pressed, at.X+300, at.Y+60, left)
		b.mouse(moved, at.X+500, at.Y+70, held)
		b.mouse(moved, at.X+600, at.Y+70, held)
		b.mouse(released, at.X+600, at.Y+70, left)
		b.settle()
		if got := b.shown(); got.length() > 0.4*all.length() || got.length() < 0.1*all.length() || !got.near(view(), 1e-2) {
			t.Errorf("%s: after a drag over a quarter, the chart shows %v of %v, and plots %v", id, got, all, view())
		}
		if after := b.texts("#plot-backlog"); slices.Equal(before, after) {
			t.Errorf("%s: the other plots stay: %q", id, after)
		}
		b.click("#gantt-all")
		if got := b.shown(); !got.near(all, 1e-3) {
			t.Errorf("all: %v, want %v", got, all)
		}
	}
}

// A number of a job that is typed shows the job from its arrival to its end, in two runs one above the other.
func TestJobZooms(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample"), usual)
	if texts := b.texts(chart); !slices.Contains(texts, "pfsp") || !slices.Contains(texts, "fair") {
		t.Errorf("the chart has the texts %q, want the best and the baseline", texts)
	}
	all := b.shown()
	b.run(`document.querySelector('#gantt-job').focus()`)
	b.press("1", "6", "9", kb.Enter)
	// Under pfsp, job 169 takes 978 s from 6292 s on, under fair 1247 s.
	got := b.shown()
	if got.from < 6000 || got.from > 6292 || got.to < 6292+1247 || got.length() > 1.3*1247 {
		t.Errorf("the chart shows %v of %v, want job 169", got, all)
	}
	if why := b.text("#gantt-why"); !strings.HasPrefix(why, "Under pfsp: Job 169 (train) of pool batch arrived at ") {
		t.Errorf("the page says %q", why)
	}
	b.inside(chart)
	b.shot("job")
	b.clickAt(chart, 10, 10)
	b.choose("#gantt-below", "none")
	if texts := b.texts(chart); slices.Contains(texts, "fair") {
		t.Errorf("the chart still has %q", texts)
	}
}

// Tables say when they show a part of their rows, and show all when asked.
func TestTablesShowAPart(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample", "-p", "default,fifo"), usual)
	rows := func() int {
		return value[int](b, `[...document.querySelectorAll('#jobs tbody tr')].filter(e => e.checkVisibility()).length`)
	}
	part := `#jobs-title ~ .part`
	if text := b.text(part); rows() != 15 || !strings.HasPrefix(text, "Showing 15 of 180 rows.") {
		t.Errorf("%d rows, and the page says %q", rows(), text)
	}
	b.click(part + " button")
	if text := b.text(part); rows() != 180 || !strings.HasPrefix(text, "All 180 rows.") {
		t.Errorf("%d rows, and the page says %q", rows(), text)
	}
	if value[bool](b, `document.querySelector('#policies-title ~ .part') !== null`) {
		t.Error("the table of two policies says that it shows a part")
	}
}

// A policy has the same colour and dashes in all reports, whichever others are there and in whatever order; two of a page never look alike.
func TestSameColours(t *testing.T) {
	looks := map[string]string{}
	for _, policies := range []string{"default,fifo,fair", "hfsp,fair,fifo:order=running,pfsp,default", "fair:order=running,fair:delay=5s,fair,las,srpt,fsp"} {
		args := []string{"compare", "--sample"}
		for p := range strings.SplitSeq(policies, ",") {
			if strings.Contains(p, "fifo:") {
				continue
			}
			args = append(args, "-p", p)
		}
		b := openReport(t, sojourn(t, args...), usual)
		seen := map[string]string{}
		for name, look := range value[map[string]string](b, `Object.fromEntries(data.plots[0].series.map(s => [s.name, colourOf(s.name) + ' ' + dashOf(s.name)]))`) {
			if other := seen[look]; other != "" {
				t.Errorf("%s and %s are both %s", name, other, look)
			}
			seen[look] = name
			if before := looks[name]; before != "" && before != look {
				t.Errorf("%s is %s, and %s in another report", name, look, before)
			}
			looks[name] = look
		}
	}
}

// The plot of the slowest jobs has the rest of the shares, down to one job.
func TestSlowest(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample", "-p", "default,fifo"), usual)
	b.click(`figure[data-plot="sojourn"] .tail`)
	if texts := b.texts("#plot-sojourn"); !slices.Contains(texts, "share that takes longer (%)") || !slices.Contains(texts, "1") || !slices.Contains(texts, "100") {
		t.Errorf("the plot has %q", texts)
	}
	b.inside("#plot-sojourn")
	b.shot("slowest")
}

// On A4, the verdict, the forest plot, the distributions, the chart and the first rows of the jobs fill at most three pages.
func TestPaper(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample"), view{width: 703, height: 1032, dark: true}) // A4 without its margins
	pdf := call(b, page.PrintToPDF, page.PrintToPDFParams{PaperWidth: 8.27, PaperHeight: 11.69, PreferCSSPageSize: new(true)}).Data
	if n := len(regexp.MustCompile(`/Type\s*/Page\b`).FindAll(pdf, -1)); n == 0 || n > 3 {
		t.Errorf("%d pages, want at most 3", n)
	}
	if *shots != "" {
		if err := os.WriteFile(filepath.Join(*shots, "paper.pdf"), pdf, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n := value[int](b, `document.querySelectorAll('.paper').length`); n != 0 {
		t.Errorf("%d pictures for paper stay", n)
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	b.run(`dispatchEvent(new Event('beforeprint'))`)
	b.settle()
	if cut := value[[]string](b, `[...document.querySelectorAll('main, .scroll, .paper')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).map(e => e.textContent.trim().slice(0, 40))`); len(cut) > 0 {
		t.Errorf("cut off on paper: %q", cut)
	}
	shown := value[[]string](b, `[...document.querySelectorAll('#verdict, figure, #gantt, section.table')].filter(e => e.checkVisibility()).map(e => e.id || e.querySelector('table').id)`)
	if want := []string{"verdict", "figure-forest", "figure-sojourn", "figure-slowdown", "gantt", "policies", "jobs"}; !slices.Equal(shown, want) {
		t.Errorf("on paper are %q, want %q", shown, want)
	}
	if n := value[int](b, `[...document.querySelectorAll('#jobs tbody tr')].filter(e => e.checkVisibility()).length`); n != 15 {
		t.Errorf("%d rows of jobs, want 15", n)
	}
	b.shot("paper")
}
