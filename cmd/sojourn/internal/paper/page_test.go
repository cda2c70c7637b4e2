package paper

import (
	"cmp"
	"encoding/xml"
	"errors"
	"html"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
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

// No text leaves its picture at the right, if a letter is as wide as half the size of the font.
func TestTextsFitTheirPictures(t *testing.T) {
	pictures, err := filepath.Glob(pages + "*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatal(pictures, err)
	}
	texts := 0
	for _, path := range pictures {
		picture := read(t, filepath.Base(path))
		width, err := strconv.ParseFloat(regexp.MustCompile(`<svg [^>]*width="(\d+)"`).FindStringSubmatch(picture)[1], 64)
		if err != nil {
			t.Fatal(path, err)
		}
		for _, m := range regexp.MustCompile(`<text x="([\d.]+)" y="[\d.]+" text-anchor="(start|middle)"[^>]*>([^<]*)<`).FindAllStringSubmatch(picture, -1) {
			x, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				t.Fatal(path, err)
			}
			long := 5.5 * float64(utf8.RuneCountInString(html.UnescapeString(m[3])))
			if m[2] == "middle" {
				long /= 2
			}
			if texts++; x+long > width {
				t.Errorf("%s: %q ends at %v of %v", path, m[3], x+long, width)
			}
		}
	}
	if texts < 500 {
		t.Errorf("%d texts, want more", texts)
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
	if short, _ := findingsOf("hpfsp"); !strings.Contains(contents, "In short:\n\n- H-PFSP (Li et al.): "+short+"\n") {
		t.Errorf("contents lack %q:\n%s", short, contents)
	}
}

// drawn returns the picture of a figure.
func drawn(f ...panel) string {
	p := Result{Experiment: &Experiment{Name: "made-<up>", Title: "a & b", draw: func(*Result) panels { return f }}}
	return string(p.picture())
}

var (
	verticalOf   = regexp.MustCompile(`<path d="M([0-9.]+) [0-9.]+V[0-9.]+" fill="none" stroke="` + grid + `"[^>]*/>\n<text [^>]*>([^<]*)</text>`)
	horizontalOf = regexp.MustCompile(`<path d="M[0-9.]+ ([0-9.]+)H[0-9.]+" fill="none" stroke="` + grid + `"[^>]*/>\n<text [^>]*>([^<]*)</text>`)
	circleOf     = regexp.MustCompile(`<circle cx="([0-9.]+)" cy="([0-9.]+)"`)
	diamondOf    = regexp.MustCompile(`<path d="M([0-9.]+) ([0-9.]+)l5 5l-5 5l-5 -5z"`)
	statedOf     = regexp.MustCompile(`<path d="M[0-9.]+ ([0-9.]+)H[0-9.]+" fill="none" stroke="` + soft + `" stroke-width="1" stroke-dasharray`)
	numberOf     = func(t *testing.T, text string) float64 {
		t.Helper()
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
)

// readOff returns what turns a place on an axis into the number that its first and its last tick say, by straight
// lines, or of a logarithmic axis of equal factors.
func readOff(t *testing.T, ticks [][]string, log bool) func(place string) float64 {
	t.Helper()
	if len(ticks) < 2 || len(ticks) > 12 {
		t.Fatalf("%d ticks", len(ticks))
	}
	first, last := ticks[0], ticks[len(ticks)-1]
	p0, v0, p1, v1 := numberOf(t, first[1]), numberOf(t, first[2]), numberOf(t, last[1]), numberOf(t, last[2])
	return func(place string) float64 {
		share := (numberOf(t, place) - p0) / (p1 - p0)
		if log {
			return v0 * math.Pow(v1/v0, share)
		}
		return v0 + share*(v1-v0)
	}
}

// A picture shows what its axes say: the numbers at the place of a mark, read off the ticks, are ours and the paper's.
func TestPictureShowsTheNumbers(t *testing.T) {
	for _, log := range []bool{false, true} {
		for _, factor := range []float64{1e-3, 0.7, 1, 42, 1e5} {
			f := panel{x: axis{log: log}, y: axis{from: 2 * factor, to: 5 * factor, stated: []float64{5 * factor}}, lines: []line{
				{name: "a", x: []float64{2 * factor, 30 * factor}, y: []float64{3 * factor, 6 * factor}},
				{name: "b", x: []float64{4 * factor}, y: []float64{4 * factor}}}}
			svg := drawn(f.marked(1, 8*factor, 2.5*factor))
			x, y := readOff(t, verticalOf.FindAllStringSubmatch(svg, -1), log), readOff(t, horizontalOf.FindAllStringSubmatch(svg, -1), false)
			near := func(what string, place []string, wantX, wantY, down float64) {
				t.Helper()
				below := strconv.FormatFloat(numberOf(t, place[2])+down, 'f', 1, 64)
				if gotX, gotY := x(place[1])/factor, y(below)/factor; math.Abs(gotX-wantX) > 0.02*wantX+0.01 || math.Abs(gotY-wantY) > 0.02 {
					t.Errorf("log %t, %g: %s is drawn at %g, %g, want %g, %g", log, factor, what, gotX, gotY, wantX, wantY)
				}
			}
			circles, diamonds, stated := circleOf.FindAllStringSubmatch(svg, -1), diamondOf.FindAllStringSubmatch(svg, -1), statedOf.FindAllStringSubmatch(svg, -1)
			if len(circles) != 3 || len(diamonds) != 2 || len(stated) != 1 { // a diamond is in the legend
				t.Fatalf("%d circles, %d diamonds, %d stated places\n%s", len(circles), len(diamonds), len(stated), svg)
			}
			near("first of a", circles[0], 2, 3, 0)
			near("second of a, beyond the paper's axis", circles[1], 30, 6, 0)
			near("b", circles[2], 4, 4, 0)
			near("the paper's number", diamonds[0], 8, 2.5, 5)
			if got := y(stated[0][1]) / factor; math.Abs(got-5) > 0.02 {
				t.Errorf("the end of the paper's axis is drawn at %g, want 5", got)
			}
		}
	}
}

// An axis with the paper's ticks shows these, and one without has at most seven, from a round number to another.
func TestAxes(t *testing.T) {
	for _, tc := range []struct {
		axis axis
		want string
	}{
		{axis{ticks: []float64{1, 1.5, 2}}, "1.0 1.5 2.0"},
		{axis{}, "0 5 10 15 20"},
		{axis{from: -5, to: 8}, "-5 0 5 10 15 20"},
		{axis{ticks: []float64{100, 150, 200}, unit: 100}, "1.0 1.5 2.0"},
		{axis{log: true}, "1 2 5 10 20"},
		{axis{log: true, to: 3000, from: 1}, "1 10 100 1000"},
		{axis{names: []string{"x", "y"}}, "x y"},
	} {
		s := tc.axis.scale([]float64{1, 17}, 0, 100)
		var got []string
		for _, tick := range s.ticks {
			got = append(got, s.label(tick))
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%+v: ticks %q, want %q", tc.axis, got, tc.want)
		}
	}
}

// Numbers that are not there are not drawn, and disturb no others.
func TestPictureWithoutNumbers(t *testing.T) {
	nan := math.NaN()
	f := panel{lines: []line{{name: "a", x: []float64{1, 2, 3}, y: []float64{1, nan, math.Inf(1)}}, {name: "b", x: []float64{1}, y: []float64{nan}}, {name: "c", how: steps}}}
	svg := drawn(f.marked(0, 1, nan))
	if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || len(circleOf.FindAllString(svg, -1)) != 1 {
		t.Errorf("want one circle, and only numbers:\n%s", svg)
	}
}

// A distribution ends at the greatest value, and has the median in the middle.
func TestDistribution(t *testing.T) {
	var values []float64
	for v := range 1000 {
		values = append(values, float64(999-v))
	}
	l := distribution("d", values)
	for share, want := range map[float64]float64{0.5: 499, 1: 999, 0.005: 4} {
		if i := slices.Index(l.y, share); i < 0 || l.x[i] != want {
			t.Errorf("%g of the values are at most %v, want %v", share, l.x, want)
		}
	}
	if none := distribution("d", nil); len(none.x) != 0 {
		t.Errorf("the distribution of nothing is %v", none)
	}
}

// The pictures in docs/papers have plain attributes only: viewers without style sheets show them.
func TestPicturesArePlain(t *testing.T) {
	pictures, err := filepath.Glob(pages + "*.svg")
	if err != nil || len(pictures) == 0 {
		t.Fatal(pictures, err)
	}
	for _, p := range pictures {
		text := read(t, filepath.Base(p))
		for _, word := range []string{"<style", "class=", "style=", "var(", "NaN", "Inf"} {
			if strings.Contains(text, word) {
				t.Errorf("%s has %q", p, word)
			}
		}
	}
}

// Nothing in a name is markup, in a picture or on a page.
func TestNamesAreEscaped(t *testing.T) {
	svg := drawn(panel{title: "<i>", x: axis{label: "a & b"}, lines: []line{{name: "<b>&", x: []float64{1}, y: []float64{2}}}})
	d := xml.NewDecoder(strings.NewReader(svg))
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
			if elements++; e.Name.Local == "b" || e.Name.Local == "i" || e.Name.Local == "up" {
				t.Errorf("a name became an element: %s", e.Name.Local)
			}
		}
	}
	if elements < 10 || !strings.Contains(svg, ">&lt;b&gt;&amp;<") {
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
	if row := (paperRow{policy: "<script>"}); row.marked() != "`<script>`" {
		t.Errorf("a policy becomes %q", row.marked())
	}
}

// An experiment whose figure is not drawn has no picture.
func TestNothingToDraw(t *testing.T) {
	if svg := (&Result{Experiment: &Experiment{}}).picture(); svg != nil {
		t.Errorf("%s", svg)
	}
}
