package browsertest

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// Each kind of report fits into windows of a desk, a tablet and a telephone, in the light and in the dark: nothing is
// wider than the window, no label of a plot is cut off or lies on another, every plot names its axes, and texts can be told
// from their ground.
func TestNothingIsCutOff(t *testing.T) {
	reports := map[string]string{
		"compare": sojourn(t, "compare", "--sample"),
		"run":     sojourn(t, "run", "--sample", "-p", "fair"),
		"seeds":   sojourn(t, "compare", "--gen", "hfsp-dev:jobs=20", "-p", "fifo,default,fair:delay=5s,rack-delay=0s", "--seeds", "3"),
		"sweep":   sojourn(t, "sweep", "--gen", "hfsp-dev:jobs=20", "-p", "fifo,fair", "--vary", "load=0.5,0.7,0.9", "--seeds", "2"),
		"plan":    sojourn(t, "plan", "--sample"),
		"story":   story(t, strings.Repeat("a long name ", 12)),
	}
	for name, file := range reports {
		for _, v := range []view{{1280, 900, false}, {1280, 900, true}, {820, 1000, false}, {820, 1000, true}, {390, 800, false}, {390, 800, true}} {
			theme := map[bool]string{true: "dark", false: "light"}[v.dark]
			t.Run(fmt.Sprintf("%s-%d-%s", name, v.width, theme), func(t *testing.T) {
				b := openReport(t, file, v)
				if got := value[string](b, `document.documentElement.dataset.theme`); got != theme {
					t.Errorf("the page is %s", got)
				}
				b.fits()
				for _, id := range value[[]string](b, `[...document.querySelectorAll('canvas')].map(c => '#' + c.id)`) {
					b.inside(id)
					if sideways := len(slices.DeleteFunc(b.labels(id), func(l label) bool { return l.Upright })); strings.HasPrefix(id, "#plot-") && sideways != 1 {
						t.Errorf("%s has %d names at its vertical axis", id, sideways)
					}
				}
				if v.width == usual.width {
					if n := value[int](b, `[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).length`); n != 0 {
						t.Errorf("%d tables are wider than the page", n)
					}
					b.accessible()
				}
				b.readable()
				b.shot(strings.TrimPrefix(t.Name(), "TestNothingIsCutOff/"))
			})
		}
	}
}

// Where the fonts of the page are missing, letters are wider: still nothing is cut off.
func TestFontsAreMissing(t *testing.T) {
	for _, v := range []view{usual, {390, 800, true}} {
		b := openReport(t, sojourn(t, "compare", "--sample"), v)
		b.run(`document.body.style.fontFamily = '"No Such Font", monospace'`)
		b.click("#theme") // which draws all anew
		b.settle()
		if fonts := value[[]string](b, `[...document.querySelectorAll('canvas')].map(c => c.getContext('2d').font)`); len(fonts) == 0 || slices.ContainsFunc(fonts, func(f string) bool { return !strings.Contains(f, "monospace") }) {
			t.Errorf("canvases have the fonts %q", fonts)
		}
		b.fits()
		for _, id := range value[[]string](b, `[...document.querySelectorAll('canvas')].map(c => '#' + c.id)`) {
			b.inside(id)
		}
		b.shot(fmt.Sprintf("fonts-%d", v.width))
	}
}

// fits checks that nothing is wider than the window, but for what scrolls in a box of its own.
func (b *tab) fits() {
	b.Helper()
	if wide := value[[]string](b, `(() => {
		const width = document.documentElement.clientWidth, bad = [];
		if (document.documentElement.scrollWidth > width) bad.push('the page is ' + document.documentElement.scrollWidth + ' wide');
		for (const e of document.body.querySelectorAll('*')) {
			const r = e.getBoundingClientRect(), name = e.tagName + '#' + e.id + ' ' + e.textContent.slice(0, 30);
			if (e.closest('.scroll') && !e.matches('.scroll')) continue;
			if (r.right > width + 1 || r.left < -1) bad.push(name + ' from ' + r.left + ' to ' + r.right);
			if (!e.matches('.scroll, input, svg text') && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1) bad.push(name + ' is wider than its box');
		}
		for (const th of document.querySelectorAll('th')) if (th.scrollWidth > th.clientWidth + 1) bad.push(th.textContent + ' is cut off');
		return bad;
	})()`); len(wide) > 0 {
		b.Errorf("wider than the window:\n%s", strings.Join(wide, "\n"))
	}
}

// readable checks the contrast of texts with what they stand on [WCAG 2.2, 1.4.3: at least 4.5], and of the lines of
// plots [1.4.11: at least 3].
func (b *tab) readable() {
	b.Helper()
	if bad := value[[]string](b, `(() => {
		const one = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
		const rgb = c => { one.clearRect(0, 0, 1, 1); one.fillStyle = c; one.fillRect(0, 0, 1, 1); return [...one.getImageData(0, 0, 1, 1).data]; };
		const light = c => { const [r, g, b] = rgb(c).map(v => { v /= 255; return v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; }); return .2126 * r + .7152 * g + .0722 * b; };
		const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + .05) / (y + .05); };
		const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (rgb(c)[3] === 255) return c; } return 'white'; };
		const faded = e => { for (; e; e = e.parentElement) if (getComputedStyle(e).opacity < 1) return true; };
		const bad = new Set();
		for (const e of document.body.querySelectorAll('*')) {
			if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility()) continue;
			const k = contrast(e instanceof SVGElement ? getComputedStyle(e).fill : getComputedStyle(e).color, ground(e));
			if (k < 4.5 || faded(e)) bad.add(e.tagName + ' ' + e.textContent.slice(0, 30) + ': ' + k.toFixed(2));
		}
		for (const i of document.querySelectorAll('.plot .legend i')) { const k = contrast(getComputedStyle(i).backgroundColor, ground(i.parentElement)); if (k < 3) bad.add('line ' + i.parentElement.textContent + ': ' + k.toFixed(2)); }
		for (const c of document.querySelectorAll('canvas')) if (c.checkVisibility()) for (const l of c.noted) { const k = contrast(l.Ink, ground(c)); if (k < 4.5) bad.add('label ' + l.Text + ': ' + k.toFixed(2)); }
		return [...bad];
	})()`); len(bad) > 0 {
		b.Errorf("too little contrast:\n%s", strings.Join(bad, "\n"))
	}
}

// The verdict is what a reader sees first, and says the same as the numbers below.
func TestVerdictComesFirst(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample", "-p", "default,fifo"), usual)
	if at := b.show("#verdict"); at.Y < 0 || at.Y > 200 {
		t.Errorf("the verdict is %v pixels from the top", at.Y)
	}
	best := value[string](b, `(() => { const r = data.ratios, v = r.grids[0].rows[0].values; return r.policies[v.indexOf(Math.min(...v))]; })()`)
	if text := b.text("#verdict p"); best != "default" || !strings.HasPrefix(text, "default is best here, and that is more than chance: a job takes ") {
		t.Errorf("best is %s, and the verdict says %q", best, text)
	}
}

// The button changes the theme, and all plots with it.
func TestThemeButton(t *testing.T) {
	b := openReport(t, story(t, "first"), usual)
	ground := func() string {
		return value[string](b, `getComputedStyle(document.body).backgroundColor + ' ' + document.querySelector('#plot-sojourn').noted[0].Ink + ' ' + document.querySelector('#gantt-canvas').noted[0].Ink`)
	}
	light := ground()
	b.click("#theme")
	dark := ground()
	for i, l := range strings.Fields(light) {
		if l == strings.Fields(dark)[i] && strings.HasPrefix(l, "#") {
			t.Errorf("in the light %s, in the dark %s", light, dark)
		}
	}
	b.readable()
	b.click("#theme")
	if got := ground(); got != light {
		t.Errorf("light again: %s, want %s", got, light)
	}
}

// column returns the texts of a column of a table.
func (b *tab) column(table string, k int) []string {
	b.Helper()
	return value[[]string](b, fmt.Sprintf(`[...document.querySelector('#%s').tBodies[0].rows].map(r => r.cells[%d].textContent)`, table, k))
}

// A click on the head of a column sorts by it, numbers as numbers, and a second click the other way round. Enter does the same.
func TestTablesSort(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample"), usual)
	numbers := func(k int) (list []float64) {
		for _, c := range b.column("policies", k) {
			v, err := strconv.ParseFloat(strings.ReplaceAll(c, ",", ""), 64)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, v)
		}
		return list
	}
	head := func(k int) string { return fmt.Sprintf("#policies thead th:nth-child(%d)", k+1) }
	sorting := func(k int) string {
		return value[string](b, fmt.Sprintf(`document.querySelector(%q).ariaSort ?? ''`, head(k)))
	}
	const mean, longest = 2, 6
	b.click(head(longest) + " button")
	if got := numbers(longest); !slices.IsSorted(got) || sorting(longest) != "ascending" || len(got) != 8 {
		t.Errorf("a click sorts %v (%s)", got, sorting(longest))
	}
	b.click(head(longest) + " button")
	down := numbers(longest)
	slices.Reverse(down)
	if !slices.IsSorted(down) || sorting(longest) != "descending" {
		t.Errorf("a second click sorts %v (%s), reversed", down, sorting(longest))
	}
	b.run(fmt.Sprintf(`document.querySelector(%q).focus()`, head(mean)+" button"))
	b.press(kb.Enter)
	if got := numbers(mean); !slices.IsSorted(got) || sorting(mean) != "ascending" || sorting(longest) != "" {
		t.Errorf("Enter sorts %v (%s), and the other column is %q", got, sorting(mean), sorting(longest))
	}
	b.click(head(0) + " button")
	if got := b.column("policies", 0); !slices.IsSorted(got) {
		t.Errorf("policies are sorted as %v", got)
	}
}

// reach presses Tab until it has been everywhere that can be clicked or typed into: it reaches all, and where it is can be seen.
func (b *tab) reach() (n int) {
	b.Helper()
	const places = `[...document.querySelectorAll('a[href], button, select, input:not([type=hidden]), canvas, .scroll[tabindex], summary')].filter(e => e.checkVisibility())`
	n = value[int](b, places+`.length`)
	b.run(`document.activeElement.blur()`)
	seen := map[string]bool{}
	for range n + 1 {
		do(b, "press Tab", chromedp.KeyEvent(kb.Tab))
		at := value[string](b, `(() => {
			const e = document.activeElement, s = getComputedStyle(e);
			if (e === document.body) return '';
			if (s.outlineStyle === 'none' || parseFloat(s.outlineWidth) < 2) return 'no outline: ' + e.outerHTML.slice(0, 60);
			return `+places+`.indexOf(e) + '';
		})()`)
		if strings.HasPrefix(at, "no outline") {
			b.Error(at)
		}
		if at != "" {
			seen[at] = true
		}
	}
	if len(seen) != n {
		b.Errorf("Tab reaches %d of %d places", len(seen), n)
	}
	return n
}

// accessible checks what screen readers need: each thing that they name has a name, ids are unique, there is one main part and one heading of the first
// rank, everything is in a part of the page, parts of one kind have different names, rows of tables have heads, and pictures have tables.
func (b *tab) accessible() (named int) {
	b.Helper()
	if bad := value[[]string](b, `(() => {
		const bad = [], all = s => [...document.querySelectorAll(s)], twice = list => list.filter((x, i) => list.indexOf(x) !== i);
		if (!document.documentElement.lang || !document.title) bad.push('no language or title');
		for (const s of ['main', 'h1']) if (all(s).length !== 1) bad.push(all(s).length + ' elements ' + s);
		for (const id of twice(all('[id]').map(e => e.id))) bad.push('two elements are #' + id);
		for (const e of all('[tabindex]')) if (e.tabIndex > 0) bad.push('tabindex of ' + e.outerHTML.slice(0, 60));
		for (const e of document.body.querySelectorAll('*')) if ([...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && e.checkVisibility() && !e.closest('main, header, footer, nav, .skip, [role=status]')) bad.push('in no part: ' + e.outerHTML.slice(0, 60));
		for (const n of twice(all('nav, section[aria-label], section[aria-labelledby], [role=region]').filter(e => e.checkVisibility()).map(e => e.ariaLabel || document.getElementById(e.getAttribute('aria-labelledby'))?.textContent))) bad.push('two parts are called ' + n);
		for (const t of all('table')) if (!t.querySelector('th')) bad.push('a table has no heads: ' + t.textContent.slice(0, 40));
		for (const e of all('canvas, svg[role=img]')) if (!e.closest('section, figure').querySelector('table, details')) bad.push('a picture has no table: ' + e.ariaLabel);
		for (const e of all('[aria-labelledby], [aria-describedby], [aria-controls]')) for (const a of ['aria-labelledby', 'aria-describedby', 'aria-controls']) for (const id of (e.getAttribute(a) ?? '').split(' ')) if (id && !document.getElementById(id)) bad.push(a + ' leads nowhere: ' + id);
		return bad;
	})()`); len(bad) > 0 {
		b.Errorf("not accessible:\n%s", strings.Join(bad, "\n"))
	}
	b.checkAxe()
	for _, n := range call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if n.Ignored || n.Role == nil {
			continue
		}
		switch role := strings.Trim(string(n.Role.Value), `"`); role {
		case "button", "link", "combobox", "textbox", "searchbox", "spinbutton", "image", "img", "region", "figure", "table", "columnheader", "DisclosureTriangle":
			named++
			if name := ""; n.Name != nil {
				if name = strings.Trim(string(n.Name.Value), `" `); name == "" && role != "table" && role != "figure" {
					b.Errorf("a %s has no name", role)
				}
			}
		}
	}
	return named
}

// checkAxe runs the checks of axe-core, if -axe names its program. There are to be no violations.
func (b *tab) checkAxe() {
	b.Helper()
	if *axe == "" {
		return
	}
	program, err := os.ReadFile(*axe)
	if err != nil {
		b.Fatal(err)
	}
	b.run(string(program))
	if found := value[[]string](b, `axe.run().then(r => r.violations.map(v => v.id + ': ' + v.help + ' ' + v.nodes.map(n => n.target + ' ' + n.failureSummary).slice(0, 3).join(', ')))`); len(found) > 0 {
		b.Errorf("axe: %s", strings.Join(found, "\n"))
	}
}

// The keyboard reaches all of a report, and screen readers name it.
func TestKeyboard(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample", "-p", "default,fifo"), usual)
	want := b.reach()
	if named := b.accessible(); named < want {
		t.Errorf("screen readers see %d things, want at least %d", named, want)
	}
}

// On a plot, the arrows move a line that tells the values, and a click on a name takes its line away.
func TestPlotTells(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample", "-p", "default,fifo"), usual)
	const plot, figure = "#plot-sojourn", `figure[data-plot="sojourn"] `
	b.run(fmt.Sprintf(`document.querySelector(%q).focus()`, plot))
	b.press(kb.ArrowRight, kb.ArrowRight)
	if text := b.text(figure + ".readout"); !strings.Contains(text, "sojourn time") || !strings.Contains(text, "default ") || !strings.Contains(text, "fifo ") || !strings.Contains(text, " %") {
		t.Errorf("the plot tells %q", text)
	}
	ink := value[string](b, fmt.Sprintf(`getComputedStyle(document.querySelector(%q)).backgroundColor`, figure+".legend button:nth-child(2) i"))
	before := b.has(plot, ink)
	b.click(figure + ".legend button:nth-child(2)")
	b.mouse(moved, 1, 1)
	b.settle()
	if after := b.has(plot, ink); before < 100 || after != 0 {
		t.Errorf("the line of fifo has %d pixels, and %d after a click on its name", before, after)
	}
	if state := value[string](b, fmt.Sprintf(`document.querySelector(%q).ariaPressed`, figure+".legend button:nth-child(2)")); state != "false" {
		t.Errorf("the name is pressed: %s", state)
	}
	at := b.show(plot)
	b.mouse(moved, at.X+at.W/2, at.Y+at.H/2)
	b.settle()
	if text := b.text(figure + ".readout"); !strings.Contains(text, "default ") || strings.Contains(text, "fifo ") {
		t.Errorf("the pointer tells %q", text)
	}
}

// Names that are HTML are shown as they are, and run nothing: open fails the test if they do.
func TestHostileNames(t *testing.T) {
	b := openReport(t, story(t, strings.ReplaceAll(hostile, `"`, `\"`)), usual)
	s := b.shown()
	b.clickAt(chart, s.x(500), rowMiddle(1))
	if why := b.text("#gantt-why"); !strings.Contains(why, "job 11 ("+hostile+")") && !strings.Contains(why, "Job 11 ("+hostile+")") {
		t.Errorf("the page says %q", why)
	}
	if n := value[int](b, `document.querySelectorAll('img, main script').length`); n != 0 {
		t.Errorf("names made %d elements", n)
	}
	if names := b.column("jobs", 1); !slices.Contains(names, hostile) {
		t.Errorf("names of jobs are %q", names)
	}
	b.choose("#gantt-colour", "pool")
	b.fits()
	b.shot("hostile")
}

// On paper the page is dark on white without buttons, and all rows of the tables are there.
func TestPrint(t *testing.T) {
	b := openReport(t, sojourn(t, "compare", "--sample"), view{width: 1280, height: 900, dark: true})
	pdf := do(b, "print", chromedp.PrintToPDF())
	if !strings.HasPrefix(string(pdf), "%PDF-") || len(pdf) < 20_000 {
		t.Errorf("a PDF of %d bytes", len(pdf))
	}
	if got := value[string](b, `document.documentElement.dataset.theme`); got != "dark" {
		t.Errorf("after printing, the page is %s", got)
	}
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	b.run(`dispatchEvent(new Event('beforeprint'))`)
	b.settle()
	if got := value[string](b, `getComputedStyle(document.body).backgroundColor`); got != "rgb(255, 255, 255)" {
		t.Errorf("paper is %s", got)
	}
	if n := value[int](b, `[...document.querySelectorAll('#theme, .controls')].filter(e => e.checkVisibility()).length`); n != 0 {
		t.Errorf("%d controls are printed", n)
	}
	if cut := value[int](b, `[...document.querySelectorAll('.scroll')].filter(e => e.scrollHeight > e.clientHeight + 1).length`); cut != 0 {
		t.Errorf("%d tables are cut off", cut)
	}
	b.readable()
	b.shot("print")
}
