package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/cli"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"gonum.org/v1/plot/plotter"
)

// record runs the command with -o and returns the folder.
func record(t *testing.T, args ...string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "out")
	var errs strings.Builder
	if status := cli.Run(append(args, "-q", "-o", dir), strings.NewReader(""), io.Discard, &errs); status != 0 {
		t.Fatalf("sojourn %q: status %d\n%s", args, status, &errs)
	}
	return dir
}

// texts returns the texts of an SVG.
func texts(t *testing.T, file string) (list []string) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for d := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			inside = token.Name.Local == "text"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if inside {
				list = append(list, strings.TrimSpace(string(token)))
			}
		}
	}
}

// Each plot of a report becomes an SVG and a PNG that name the axes with their units, and the policies.
func TestPictures(t *testing.T) {
	for _, c := range []struct {
		args  []string
		plots map[string][]string // texts in each plot
	}{
		{[]string{"compare", "--sample", "-p", "default,fifo"}, map[string][]string{
			"sojourn":       {"sojourn time: from arrival to end", "share of the jobs (%)", "10 s", "1 min", "10 min", "default", "fifo", "0", "100"},
			"slowdown":      {"slowdown (times)", "1", "10", "100", "fifo"},
			"lateness":      {"end, compared with ideal fair sharing", "0", "+10 s", "−10 s"},
			"queue":         {"time (h)", "jobs", "1", "2", "0"},
			"utilisation-1": {"time (h)", "slots in use (%)", "20", "100"},
		}},
		{[]string{"sweep", "--gen", "hfsp-dev:jobs=10", "-p", "fifo,fair", "--vary", "load=0.5,0.9", "--seeds", "2"}, map[string][]string{
			"mean-sojourn": {"mean sojourn time (min)", "load: work that arrives, over work that can be done", "fifo", "fair", "0.5", "0.9"},
		}},
		{[]string{"compare", "--gen", "hfsp-dev:jobs=10", "-p", "fifo,fair", "--seeds", "2"}, map[string][]string{
			"sojourn": {"sojourn time", "mean", "p90", "fifo", "fair"},
		}},
	} {
		out := t.TempDir()
		var list strings.Builder
		if err := run(context.Background(), []string{record(t, c.args...), "-o", out}, &list); err != nil {
			t.Fatal(err)
		}
		for id, want := range c.plots {
			got := texts(t, filepath.Join(out, id+".svg"))
			for _, w := range want {
				if !slices.Contains(got, w) {
					t.Errorf("%s of %v lacks %q: %q", id, c.args, w, got)
				}
			}
			if slices.Contains(got, "-0") {
				t.Errorf("%s has a negative 0", id)
			}
			name := filepath.Join(out, id+".png")
			if !strings.Contains(list.String(), name+"\n") {
				t.Errorf("%s is not listed:\n%s", name, &list)
			}
			checkPNG(t, name, c.args[1] == "--sample")
		}
	}
}

// In a clone, one command draws a picture that is as wide as a column of a journal.
func TestOneCommandInAClone(t *testing.T) {
	out := t.TempDir()
	cmd := exec.Command("go", "run", ".", "-width", "8.5", "-height", "6", "-o", out, record(t, "compare", "--sample", "-p", "default,fifo"))
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOWORK=") })
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	file, err := os.Open(filepath.Join(out, "sojourn.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m, err := png.DecodeConfig(file)
	if err != nil {
		t.Fatal(err)
	}
	if want := 8.5 / 2.54 * 200; math.Abs(float64(m.Width)-want) > 2 {
		t.Errorf("the picture is %d dots wide at 200 an inch, want %.0f", m.Width, want)
	}
}

// The pictures of docs/curves are those of the table that was measured.
func TestTable(t *testing.T) {
	out := t.TempDir()
	args := []string{"-o", out, "-formats", "svg", "-width", "16", "-height", "9", "-title", "../../../research/benchmarks/results/curves.csv"}
	if err := run(context.Background(), args, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jobs", "slots", "pools", "tasks", "phases"} {
		got, want := texts(t, filepath.Join(out, name+".svg")), texts(t, "../../../docs/curves/"+name+".svg")
		if !slices.Equal(got, want) || !slices.Contains(got, "leastwork") || !slices.Contains(got, "ns decision") {
			t.Errorf("%s has the texts %q, docs/curves has %q", name, got, want)
		}
	}
}

// checkPNG checks the size of a picture, that its edge is white, and that it has the colours of two lines. The second
// one is fifo, which goes over half of the picture if it is steep.
func checkPNG(t *testing.T, name string, steep bool) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	m, err := png.Decode(file)
	if err != nil {
		t.Fatal(err)
	}
	b := m.Bounds()
	if width := 12 / 2.54 * 200; math.Abs(float64(b.Dx())-width) > 2 || math.Abs(float64(b.Dy())-8/2.54*200) > 2 {
		t.Errorf("%s has %v pixels", name, b)
	}
	count := map[string]int{}
	rows := map[int]bool{} // with the colour of the second line
	for y := range b.Dy() {
		for x := range b.Dx() {
			r, g, bl, a := m.At(x, y).RGBA()
			colour := fmt.Sprintf("%02x%02x%02x", r>>8, g>>8, bl>>8)
			if count[colour]++; colour == "d55e00" {
				rows[y] = true
			}
			if edge := x == 0 || y == 0 || x == b.Dx()-1 || y == b.Dy()-1; edge && (r != 0xffff || g != 0xffff || bl != 0xffff || a != 0xffff) {
				t.Fatalf("%s is cut off at %d, %d", name, x, y)
			}
		}
	}
	if steep && len(rows) < b.Dy()/2 {
		t.Errorf("%s: the line of fifo is in %d of %d rows", name, len(rows), b.Dy())
	}
	for _, colour := range []string{"0072b2", "d55e00"} {
		if count[colour] < 50 {
			t.Errorf("%s has %d pixels of colour %s", name, count[colour], colour)
		}
	}
}

// Ticks are round, in order, inside, and neither too few nor too many.
func TestRound(t *testing.T) {
	for _, c := range [][2]float64{{0, 1}, {0, 100}, {0.03, 2.1}, {-3, 4}, {0, 26.3}, {0.5, 0.9}, {0, 1e6}, {99, 100}} {
		ticks := round(c[0], c[1])
		if len(ticks) < 4 || len(ticks) > 9 {
			t.Errorf("%v has %d ticks", c, len(ticks))
		}
		for i, k := range ticks {
			if k.Value < c[0]-1e-9 || k.Value > c[1]+1e-9 || i > 0 && k.Value <= ticks[i-1].Value {
				t.Errorf("%v has the tick %v", c, k)
			}
			if v, err := strconv.ParseFloat(k.Label, 64); err != nil || math.Abs(v-k.Value) > 1e-6*math.Abs(c[1]) || len(k.Label) > 6 {
				t.Errorf("%v has the tick %v", c, k)
			}
		}
	}
}

// An axis ends at the least and the greatest number that is known, of lines and bands: what is none or infinite is not drawn.
func TestInfiniteNumbers(t *testing.T) {
	none, inf := math.NaN(), math.Inf(1)
	p := &page.Plot{Series: []page.Series{
		{X: page.Numbers{-inf, 2, 3, none, 5, inf}, Y: page.Numbers{1, inf, 20, 30, 40, 50}, Low: page.Numbers{none, none, 10, none, -inf, none}},
		{X: page.Numbers{4}, Y: page.Numbers{60}, Low: page.Numbers{0.5}, High: page.Numbers{70}},
	}}
	if got, want := bounds(p, true), [2]float64{2, 5}; got != want {
		t.Errorf("axis x from and to %v, want %v", got, want)
	}
	if got, want := bounds(p, false), [2]float64{0.5, 70}; got != want {
		t.Errorf("axis y from and to %v, want %v", got, want)
	}
	if got, want := known(p.Series[0].X, p.Series[0].Y, 1, 10), (plotter.XYs{{X: 3, Y: 2}, {X: 5, Y: 4}}); !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
}

// In a column of a journal, 8.5 cm wide, all texts have 8 points and lie in the picture, also a long label and the names of many lines; no two
// lines look the same in grey; and there is a title only if it is asked for.
func TestColumn(t *testing.T) {
	var names []string
	for i := range 12 {
		c, form := look(i)
		grey := fmt.Sprint(c, form)
		names = append(names, fmt.Sprintf("policy-%d:order=service", i))
		for k := range i {
			if other, same := look(k); fmt.Sprint(other, same) == grey || i < len(dashes) && same == form {
				t.Errorf("lines %d and %d look the same", k, i)
			}
		}
	}
	const label = "standard deviation of the logarithm of the errors of the estimates of the sizes of tasks"
	rows := ""
	for _, name := range names {
		rows += fmt.Sprintf("%s,%s,1,2\n%s,%[2]s,3,4\n", name, "a", name)
	}
	file := filepath.Join(t.TempDir(), "table.csv")
	if err := os.WriteFile(file, []byte("line,plot,x,y\n"+rows), 0o600); err != nil {
		t.Fatal(err)
	}
	plots, err := table(file)
	if err != nil {
		t.Fatal(err)
	}
	plots[0].X.Label = label
	for _, of := range []string{"", "A title"} {
		p, err := picture(&plots[0])
		if err != nil {
			t.Fatal(err)
		}
		p.Title.Text = of
		out := filepath.Join(t.TempDir(), "a.svg")
		width := centimetres(8.5)
		if err := save(p, width, centimetres(7), "svg", out); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(out)
		if err != nil {
			t.Fatal(err)
		}
		sizes := regexp.MustCompile(`font-size:([0-9.]+)`).FindAllStringSubmatch(string(data), -1)
		if len(sizes) < len(names) {
			t.Errorf("%d texts have a size", len(sizes))
		}
		for _, m := range sizes {
			if size, err := strconv.ParseFloat(m[1], 64); err != nil || size != textSize {
				t.Errorf("a text has the size %s", m[1])
			}
		}
		got := texts(t, out)
		for _, name := range names {
			if !slices.Contains(got, name) {
				t.Errorf("the key lacks %s", name)
			}
		}
		if slices.Contains(got, label) || !strings.Contains(strings.Join(got, " "), label) {
			t.Errorf("the label is not broken: %q", got)
		}
		for _, line := range strings.Split(p.X.Label.Text, "\n") {
			if p.X.Label.TextStyle.Width(line) > width {
				t.Errorf("%q is wider than the picture", line)
			}
		}
		if of != "" != slices.Contains(got, "A title") {
			t.Errorf("texts %q, title %q", got, of)
		}
	}
}

// A line of one point is a picture whose axes have ticks and name the line.
func TestLineOfOnePoint(t *testing.T) {
	for _, scale := range []page.Scale{page.Linear, page.Log, page.SymLog} {
		for _, steps := range []bool{false, true} {
			at := 30.0
			if scale == page.Log { // below which there is no power of ten, but 0
				at = 1
			}
			p := page.Plot{ID: "a", X: page.Axis{Label: "across", Unit: "s", Scale: scale}, Y: page.Axis{Label: "up"}, Steps: steps,
				Series: []page.Series{{Name: "alone", X: page.Numbers{at}, Y: page.Numbers{1}}, {Name: "none"}}}
			out, err := picture(&p)
			if err != nil {
				t.Fatal(err)
			}
			if out.X.Min > at || out.X.Max < at || out.Y.Min > 1 || out.Y.Max < 1 {
				t.Errorf("%q, steps %v: the point is outside of %v to %v and %v to %v", scale, steps, out.X.Min, out.X.Max, out.Y.Min, out.Y.Max)
			}
			file := filepath.Join(t.TempDir(), "a.svg")
			if err := save(out, centimetres(12), centimetres(8), "svg", file); err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			text := string(data)
			if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || !strings.Contains(text, ">alone<") {
				t.Errorf("%q, steps %v: the picture lacks the line, or a place in it is none:\n%s", scale, steps, text)
			}
		}
	}
	if got := round(30, 30); len(got) != 1 || got[0].Value != 30 || got[0].Label != "30" {
		t.Errorf("ticks %v, want one at 30", got)
	}
}

// What cannot be drawn is an error that says what is wanted.
func TestBadArguments(t *testing.T) {
	file := func(text string) string {
		name := filepath.Join(t.TempDir(), "table.csv")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for want, args := range map[string][]string{
		"no folder: give":                   {},
		`record 2: plot "../a"`:             {file("a,b,c,d\nfifo,../a,1,2\n")},
		`record 3: plot "a", x "0"`:         {file("a,b,c,d\nfifo,a,1,2\nfifo,a,0,2\n")},
		`y "-Inf": want a plain name`:       {file("a,b,c,d\nfifo,a,1,-Inf\n")},
		"want rows of a line, a plot":       {file("a,b,c\nfifo,a,1\n")},
		"wrong number of fields":            {file("a,b,c,d\nfifo,a,1\n")},
		"nowhere":                           {"nowhere"},
		`format "gif": want svg`:            {"-formats", "svg,gif", "x"},
		"name another format":               {"-formats", "svg", "a.svg"},
		"a picture of 1 x 8 cm: want 4 x 3": {"x", "-width", "1"},
		"a picture of NaN x 8 cm":           {"x", "-width", "NaN"},
		"15748 x 15748 dots, 200 an inch":   {file("a,b,c,d\nfifo,a,1,2\n"), "-width", "200", "-height", "200", "-o", t.TempDir()},
	} {
		if err := run(context.Background(), args, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}

// A figure of any size is small in memory, or an error: no PNG has more than 64 million dots, and no picture is of no size.
func TestHugeFigures(t *testing.T) {
	dir := t.TempDir()
	for size, want := range map[string]string{
		`width="100000" height="100000"`: "208333 x 208333 dots, 200 an inch: want 64 million",
		`width="100000" height="10"`:     "",
		`width="3850" height="3850"`:     "million dots at most",
		`width="0" height="10"`:          "a picture of 0 x",
		`width="-10" height="10"`:        "a picture of -",
		`width="NaN" height="10"`:        `number "NaN"`,
		`width="1e300" height="10"`:      `number "1e300"`,
		`height="10"`:                    `number ""`,
	} {
		file := filepath.Join(dir, "a.svg")
		if err := os.WriteFile(file, []byte(`<svg xmlns="http://www.w3.org/2000/svg" `+size+` font-size="11"><title>t</title></svg>`), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := run(context.Background(), []string{"-formats", "png", "-o", dir, file}, io.Discard); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", size, err, want)
		}
	}
}

// A figure of a paper, as SVG with plain attributes, becomes a PNG with the same colours at the same places, 200 dots an inch:
// 25/12 dots a pixel. A rectangle, a filled path with a stroke, a circle, dashes and text are drawn; what is no picture is an error.
func TestFigures(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.svg")
	const head = `<svg xmlns="http://www.w3.org/2000/svg" width="240" height="120" viewBox="0 0 240 120" font-size="11"><title>t</title><rect x="0" y="0" width="240" height="120" fill="#ffffff"/>`
	write := func(text string) error {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		return run(context.Background(), []string{"-formats", "png,svg,pdf", "-o", dir, file}, io.Discard)
	}
	if err := write(head + `<rect x="24" y="12" width="48" height="24" fill="#0072b2"/><circle cx="120" cy="60" r="6" fill="#009e73"/>
<path d="M180 24l12 12l-12 12l-12 -12z" fill="#ff0000" stroke="#d55e00" stroke-width="2"/><path d="M12 108H228V96h-12" fill="none" stroke="#b0398a" stroke-width="3"/>
<text x="120" y="90" text-anchor="middle" fill="#000000">time (h)</text><text x="12" y="60" text-anchor="middle" fill="#000000" transform="rotate(-90 12 60)">jobs</text></svg>`); err != nil {
		t.Fatal(err)
	}
	in, err := os.Open(filepath.Join(dir, "a.png"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	image, err := png.Decode(in)
	if err != nil {
		t.Fatal(err)
	}
	if size := image.Bounds().Size(); size.X != 500 || size.Y != 250 {
		t.Errorf("240 x 120 pixels become %v dots", size)
	}
	at := func(x, y int) string {
		r, g, b, _ := image.At(x*25/12, y*25/12).RGBA()
		return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
	}
	for where, want := range map[[2]int]string{
		{48, 24}: "#0072b2", {75, 24}: "#ffffff", {48, 40}: "#ffffff", {120, 60}: "#009e73", {129, 60}: "#ffffff",
		{180, 36}: "#ff0000", {100, 108}: "#b0398a", {228, 100}: "#b0398a", {220, 96}: "#b0398a", {4, 4}: "#ffffff",
	} {
		if got := at(where[0], where[1]); got != want {
			t.Errorf("at %v the picture is %s, want %s", where, got, want)
		}
	}
	inked := func(x0, y0, x1, y1 int) (n int) {
		for x := x0; x < x1; x++ {
			for y := y0; y < y1; y++ {
				if at(x, y) != "#ffffff" {
					n++
				}
			}
		}
		return n
	}
	if level, turned := inked(95, 80, 145, 94), inked(2, 45, 16, 75); level < 40 || turned < 20 {
		t.Errorf("of the texts %d and %d pixels are inked", level, turned)
	}
	if pdf, err := os.ReadFile(filepath.Join(dir, "a.pdf")); err != nil || !bytes.HasPrefix(pdf, []byte("%PDF")) {
		t.Errorf("no PDF: %v", err)
	}
	for _, bad := range []string{"", "<b/>", head, head + `<circle cx="a" cy="1" r="1" fill="#000000"/></svg>`, head + `<rect x="1" y="1" width="1" height="1" fill="red"/></svg>`,
		head + `<path d="L1 2" fill="none" stroke="#000000" stroke-width="1"/></svg>`, head + `<path d="M1" fill="none" stroke="#000000" stroke-width="1"/></svg>`, head + `<path d="M1 1q2 2" fill="none" stroke="#000000" stroke-width="1"/></svg>`} {
		if err := write(bad); err == nil || !strings.Contains(err.Error(), "a.svg: ") {
			t.Errorf("%.200s: %v, want an error that names the file", bad, err)
		}
	}
}
