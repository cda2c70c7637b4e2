package paper

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

const pages = "../../../../docs/papers/"

// The pages in docs/papers are those that the command writes: of cheap experiments, the section and the picture come out
// byte for byte, and with the build tag all, all of two papers.
func TestPagesAreThoseOfTheCommand(t *testing.T) {
	cheap := []string{"hpfsp-fig2", "hpfsp-fig3", "rtmr-table5", "mars-fig20"}
	if thorough {
		cheap = append(cheap, "hpfsp-fig4", "hpfsp-fig5", "rtmr-table6", "rtmr-overestimate", "hfsp-fig13")
	}
	found := 0
	papers := map[string][]*Result{}
	for _, e := range All() {
		for _, name := range cheap {
			if e.Name != name {
				continue
			}
			found++
			p := run(t, e, cmp.Or(e.Seeds, 20))
			papers[e.Paper()] = append(papers[e.Paper()], p)
			page := read(t, e.Paper()+".md")
			if !strings.Contains(page, p.section()) {
				t.Errorf("docs/papers/%s.md does not have what 'sojourn paper %s -o DIR' writes:\n%s", e.Paper(), name, p.section())
			}
			if picture := p.picture(); picture != nil && string(picture) != read(t, name+".svg") {
				t.Errorf("docs/papers/%s.svg is not what 'sojourn paper %s -o DIR' writes", name, name)
			}
		}
	}
	if found != len(cheap) {
		t.Errorf("%d experiments of %d exist", found, len(cheap))
	}
	if thorough {
		for _, name := range []string{"hpfsp", "rtmr"} {
			if got := Page(papers[name]); string(got[0].Data) != read(t, name+".md") {
				t.Errorf("docs/papers/%s is not what 'sojourn paper %s -o DIR' writes", got[0].Name, name)
			}
		}
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(pages + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func run(t *testing.T, e Experiment, seeds int) *Result {
	t.Helper()
	p, err := e.Run(t.Context(), io.Discard, trial.Setup{Policies: catalog.Builtin()}, seeds)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// docs/papers has a page for each paper with each of its experiments, and shows each picture that is there.
func TestPagesAreComplete(t *testing.T) {
	contents := read(t, "README.md")
	shown := map[string]bool{}
	for _, e := range All() {
		page := read(t, e.Paper()+".md")
		if !strings.Contains(page, "\n## "+e.Name+"\n") {
			t.Errorf("docs/papers/%s.md lacks %s", e.Paper(), e.Name)
		}
		if !strings.Contains(contents, "]("+e.Paper()+".md) | ") {
			t.Errorf("docs/papers/README.md does not lead to %s.md", e.Paper())
		}
		shown[e.Name+".svg"] = strings.Contains(page, "]("+e.Name+".svg)")
		if _, err := os.Stat(pages + e.Name + ".svg"); (err == nil) != shown[e.Name+".svg"] {
			t.Errorf("%s.svg: shown %t, and %v", e.Name, shown[e.Name+".svg"], err)
		}
	}
	pictures, err := filepath.Glob(pages + "*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatal(pictures, err)
	}
	for _, p := range pictures {
		if !shown[filepath.Base(p)] {
			t.Errorf("no page shows %s", p)
		}
	}
}

// Each paper has findings, which stand on its page as they are, and the first paragraph in the contents. They name only
// experiments that exist.
func TestFindings(t *testing.T) {
	known := map[string]bool{}
	for _, e := range All() {
		known[e.Name], known[e.Paper()] = true, true
	}
	texts, err := filepath.Glob("findings/*.md")
	if err != nil || len(texts) == 0 {
		t.Fatal(texts, err)
	}
	for _, path := range texts {
		paper := strings.TrimSuffix(filepath.Base(path), ".md")
		short, rest := findingsOf(paper)
		if !known[paper] || short == "" || rest == "" || strings.Contains(short, "\n") {
			t.Errorf("%s is about no paper, or does not begin with a line of its own", path)
		}
		if page := read(t, paper+".md"); !strings.Contains(page, "\n\n"+short+" ") || !strings.Contains(page, "\n\n## What follows\n\n"+rest+"\n## "+paper+"-") {
			t.Errorf("docs/papers/%s.md does not have the text of %s", paper, path)
		}
		if !strings.Contains(read(t, "README.md"), ": "+short+"\n") {
			t.Errorf("docs/papers/README.md lacks %q", short)
		}
		for _, m := range regexp.MustCompile(`sojourn\s+paper\s+([a-z0-9-]+)`).FindAllStringSubmatch(rest, -1) {
			if !known[m[1]] {
				t.Errorf("%s: no experiment %s", path, m[1])
			}
		}
		delete(known, paper)
	}
	for _, e := range All() {
		if known[e.Paper()] {
			t.Errorf("no findings about %s", e.Paper())
		}
	}
}

// The findings of a paper are on a page of all its experiments, and not on one of a few.
func TestFindingsAreOfWholePapers(t *testing.T) {
	var results []*Result
	for _, e := range All() {
		if e.Paper() == "hpfsp" {
			results = append(results, run(t, shrunk(e, "4"), 1))
		}
	}
	for n, want := range map[int]bool{1: false, len(results): true} {
		page := string(Page(results[:n])[0].Data)
		if got := strings.Contains(page, "## What follows"); got != want {
			t.Errorf("with %d experiments of %d, the page has findings: %t, want %t", n, len(results), got, want)
		}
	}
	contents := string(Contents([][]*Result{results}).Data)
	if short, _ := findingsOf("hpfsp"); !strings.HasSuffix(contents, "In short:\n\n- H-PFSP (Li et al.): "+short+"\n") {
		t.Errorf("contents lack %q:\n%s", short, contents)
	}
}

// outcomes returns a result of the given rows, which are never run.
func outcomes(rows ...paperOutcome) *Result {
	return &Result{Experiment: &Experiment{Name: "made-up", measure: trial.Measure{Title: "time <&> (s)"}}, rows: rows}
}

func outcome(row paperRow, mean, half float64) paperOutcome {
	return paperOutcome{paperRow: row, ours: stats.Interval{Mean: mean, Half: half}, verdict: verdict{is: reproduced}}
}

var (
	tickOf   = regexp.MustCompile(`<line class="grid" x1="([0-9.]+)".*<text class="soft mid"[^>]*>([^<]*)</text>`)
	dotOf    = regexp.MustCompile(`<circle class="ours" cx="([0-9.]+)"`)
	lineOf   = regexp.MustCompile(`<line class="ours"[^>]* x1="([0-9.]+)" x2="([0-9.]+)"`)
	paperOf  = regexp.MustCompile(`<path class="paper" d="M([0-9.]+) [0-9.]+l([-0-9]+) 5`)
	numberOf = func(t *testing.T, text string) float64 {
		t.Helper()
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
)

// A picture shows what its axis says: the number at the place of a mark, read off the first and the last tick, is that
// of the row.
func TestPictureShowsTheNumbers(t *testing.T) {
	for _, factor := range []float64{1e-3, 0.7, 1, 42, 1e5} {
		svg := string(outcomes(
			outcome(paperRow{workload: "a", policy: "p", value: 3 * factor}, 2*factor, 0.5*factor),
			outcome(paperRow{workload: "b", policy: "p", claim: above, limit: 1.5 * factor}, 4*factor, math.NaN()),
			outcome(paperRow{workload: "c", policy: "p", claim: below, limit: 2.5 * factor}, factor, 1.5*factor),
		).picture())
		ticks := tickOf.FindAllStringSubmatch(svg, -1)
		if len(ticks) < 3 || len(ticks) > 8 {
			t.Fatalf("%g: %d ticks", factor, len(ticks))
		}
		first, last := ticks[0], ticks[len(ticks)-1]
		x0, v0, x1, v1 := numberOf(t, first[1]), numberOf(t, first[2]), numberOf(t, last[1]), numberOf(t, last[2])
		at := func(x float64) float64 { return (v0 + (x-x0)/(x1-x0)*(v1-v0)) / factor }
		near := func(what string, x string, want float64) {
			if got := at(numberOf(t, x)); math.Abs(got-want) > 0.01 {
				t.Errorf("%g: %s is drawn at %g, want %g", factor, what, got, want)
			}
		}
		dots, lines, papers := dotOf.FindAllStringSubmatch(svg, -1), lineOf.FindAllStringSubmatch(svg, -1), paperOf.FindAllStringSubmatch(svg, -1)
		if len(dots) != 4 || len(lines) != 2 || len(papers) != 6 { // with those of the legend
			t.Fatalf("%d dots, %d lines, %d marks of the paper", len(dots), len(lines), len(papers))
		}
		near("dot of a", dots[0][1], 2)
		near("dot of b", dots[1][1], 4)
		near("begin of a", lines[0][1], 1.5)
		near("end of a", lines[0][2], 2.5)
		near("begin of c, which is below the axis", lines[1][1], 0)
		near("paper's number", papers[0][1], 3)
		near("limit", papers[1][1], 1.5)
		near("limit", papers[2][1], 2.5)
		if papers[1][2] != "8" || papers[2][2] != "-8" {
			t.Errorf("triangles point to %s and %s", papers[1][2], papers[2][2])
		}
	}
}

// Numbers that differ by orders of magnitude are on a logarithmic axis: equal factors are equally far apart.
func TestPictureOfManySizes(t *testing.T) {
	svg := string(outcomes(outcome(paperRow{policy: "p", value: 1}, 1, 0), outcome(paperRow{policy: "p", value: 1}, 10, 0), outcome(paperRow{policy: "p", value: 1}, 1000, 0)).picture())
	dots := dotOf.FindAllStringSubmatch(svg, -1)
	a, b, c := numberOf(t, dots[0][1]), numberOf(t, dots[1][1]), numberOf(t, dots[2][1])
	if math.Abs((c-b)-2*(b-a)) > 0.3 || b <= a {
		t.Errorf("1, 10 and 1000 are drawn at %g, %g, %g", a, b, c)
	}
	if texts := tickOf.FindAllStringSubmatch(svg, -1); len(texts) != 4 || texts[3][2] != "1000" || texts[0][2] != "1" {
		t.Errorf("ticks are %v", texts)
	}
}

// The axis is logarithmic from a quotient of 40 on.
func TestAxisOfManySizes(t *testing.T) {
	for most, first := range map[float64]string{39: "0", 41: "1"} {
		svg := string(outcomes(outcome(paperRow{policy: "p", value: 1}, most, 0)).picture())
		if got := tickOf.FindStringSubmatch(svg); got == nil || got[2] != first {
			t.Errorf("up to %g, the first tick is %q, want %s", most, got, first)
		}
	}
}

// Nothing in a name is markup, in a picture or on a page.
func TestNamesAreEscaped(t *testing.T) {
	p := outcomes(outcome(paperRow{workload: "<b>&", policy: "<script>", value: 1}, 1, 0))
	svg := p.picture()
	d := xml.NewDecoder(bytes.NewReader(svg))
	elements := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, svg)
		}
		if e, ok := token.(xml.StartElement); ok {
			if elements++; e.Name.Local == "b" || e.Name.Local == "script" {
				t.Errorf("a name became an element: %s", e.Name.Local)
			}
		}
	}
	if elements < 10 || !bytes.Contains(svg, []byte("&lt;b&gt;&amp;: &lt;script&gt;")) {
		t.Errorf("the label is not there:\n%s", svg)
	}
	for text, want := range map[string]string{
		"a < b | *c* d_e [f]":          `a &lt; b \| \*c\* d\_e \[f]`,
		"with kill-fraction=0.25, say": "with `kill-fraction=0.25`, say",
		"(epsilon = 0.3)":              "(epsilon = 0.3)",
	} {
		if got := plainText(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := p.rows[0].marked(); got != "`<script>`" {
		t.Errorf("a policy becomes %q", got)
	}
}

// Where nothing was measured there is no picture.
func TestNothingToDraw(t *testing.T) {
	if svg := outcomes(outcome(paperRow{policy: "p", value: 1}, math.NaN(), math.NaN())).picture(); svg != nil {
		t.Errorf("%s", svg)
	}
}

func TestTally(t *testing.T) {
	var none, some tally
	some.add(&Result{rows: []paperOutcome{{verdict: verdict{is: reproduced}}, {verdict: verdict{is: reproduced}}, {verdict: verdict{is: shapeOnly}},
		{verdict: verdict{is: notReproduced}}, {verdict: verdict{is: tooFewSeeds}}, {}}})
	if got, want := some.sentence(), "Of 5 statements of the paper, 2 came out, 1 in shape only, and 1 did not; for 1 there are too few seeds."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := some.cells(), "2 | 1 | 1 | 1"; got != want {
		t.Errorf("cells %s, want %s", got, want)
	}
	if got, want := none.sentence(), "The text of the paper has no number to compare with."; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
