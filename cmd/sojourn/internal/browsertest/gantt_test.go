package browsertest

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// rowMiddle returns where the middle of a row of a chart of two slots is: rows are 26 pixels high, the first one
// begins 4 pixels below the edge.
func rowMiddle(row int) float64 { return 4 + 26*(float64(row)+0.5) }

// The chart shows all of the run at first. The buttons zoom about the middle, and the last one shows all again.
func TestButtonsZoom(t *testing.T) {
	b := openReport(t, story(t, "first"), usual)
	all := span{from: 0, to: 1500}
	if got := b.shown(); !got.near(all, 1e-3) {
		t.Fatalf("the chart shows %v at first, want 0 to 1500 s", got)
	}
	b.click("#gantt-in")
	if got := b.shown(); !got.near(span{from: 375, to: 1125}, 1e-3) {
		t.Errorf("zoomed in: %v, want 375 to 1125 s", got)
	}
	b.click("#gantt-in")
	if got := b.shown(); !got.near(span{from: 562.5, to: 937.5}, 1e-3) {
		t.Errorf("zoomed in twice: %v, want 562.5 to 937.5 s", got)
	}
	b.click("#gantt-out")
	if got := b.shown(); !got.near(span{from: 375, to: 1125}, 1e-3) {
		t.Errorf("zoomed out again: %v, want 375 to 1125 s", got)
	}
	b.click("#gantt-all")
	if got := b.shown(); !got.near(all, 1e-3) {
		t.Errorf("all: %v, want 0 to 1500 s", got)
	}
	b.inside(chart)
}

// A drag moves the chart by as much as the pointer moves, and not beyond its ends. It selects no job.
func TestDragPans(t *testing.T) {
	b := openReport(t, story(t, "first"), usual)
	b.click("#gantt-in")
	before, at := b.shown(), b.show(chart)
	x, y := at.X+600, at.Y+20
	b.mouse(moved, x, y)
	b.mouse(pressed, x, y, left)
	for _, by := range []float64{-40, -100} {
		b.mouse(moved, x+by, y, held)
	}
	b.mouse(released, x-100, y, left)
	b.settle()
	by := 100 / (before.right - before.left) * before.length()
	if got, want := b.shown(), (span{from: before.from + by, to: before.to + by}); !got.near(want, 1e-3) {
		t.Errorf("after a drag by 100 pixels to the left: %v, want %v", got, want)
	}
	if why := b.text("#gantt-why"); why != "" {
		t.Errorf("a drag selects: %s", why)
	}
	for range 8 {
		b.mouse(pressed, x, y, left)
		b.mouse(moved, x-500, y, held)
		b.mouse(released, x-500, y, left)
	}
	b.settle()
	if got := b.shown(); !got.near(span{from: 750, to: 1500}, 1e-3) {
		t.Errorf("after many drags: %v, want the end, 750 to 1500 s", got)
	}
}

// The wheel with Ctrl zooms, and what is under the pointer stays there. Without Ctrl the page scrolls.
func TestWheelZooms(t *testing.T) {
	b := openReport(t, story(t, "first"), usual)
	at := b.show(chart)
	before := b.shown()
	x := before.x(1200)
	turn := func(modifiers int64) {
		b.mouse(wheel, at.X+x, at.Y+20, func(p *input.DispatchMouseEventParams) {
			p.DeltaX, p.DeltaY, p.Modifiers = 1e-9, -120, modifiers // 0 would be left out
		})
		b.settle()
	}
	turn(2)
	b.until("the chart is zoomed", `document.querySelector('#gantt-canvas').draws > 1`)
	b.settle()
	after := b.shown()
	if after.length() > 0.9*before.length() || after.length() < 0.4*before.length() {
		t.Errorf("a turn of the wheel shows %v instead of %v", after, before)
	}
	if got := after.x(1200); got < x-3 || got > x+3 {
		t.Errorf("1200 s move from pixel %v to %v", x, got)
	}
	turn(0)
	if got := b.shown(); !got.near(after, 1e-6) {
		t.Errorf("the wheel alone zooms from %v to %v", after, got)
	}
}

// The keyboard does all that the mouse does.
func TestKeysOnChart(t *testing.T) {
	b := openReport(t, story(t, "first"), usual)
	b.run(`document.querySelector('#gantt-canvas').focus()`)
	for _, c := range []struct {
		key      string
		from, to float64
	}{
		{"+", 225, 1275}, {kb.ArrowRight, 330, 1380}, {kb.ArrowLeft, 225, 1275}, {kb.ArrowLeft, 120, 1170}, {"-", 0, 1500}, {"=", 225, 1275}, {"0", 0, 1500},
	} {
		b.press(c.key)
		if got := b.shown(); !got.near(span{from: c.from, to: c.to}, 1e-3) {
			t.Errorf("after key %q: %v, want %v to %v", c.key, got, c.from, c.to)
		}
	}
	b.run(`document.querySelector('#gantt-job').focus()`)
	b.press("1", "3", kb.Enter)
	if why := b.text("#gantt-why"); !strings.HasPrefix(why, "Job 13 (third)") {
		t.Errorf("the field of jobs says %q", why)
	}
	b.run(`document.querySelector('#gantt-canvas').focus()`)
	b.press(kb.Escape)
	if why := b.text("#gantt-why"); why != "" {
		t.Errorf("after Escape, the page still says %q", why)
	}
}

// A click on a box says why its job waited, and which jobs had the slots.
func TestClickSaysWhy(t *testing.T) {
	b := openReport(t, story(t, "first"), usual)
	s := b.shown()
	b.clickAt(chart, s.x(1450), rowMiddle(0))
	want := []string{
		"Job 13 (third) arrived at 3 min 20 s. Its first task started after 20 min. It finished 21 min 40 s after its arrival",
		"While it waited, 2 of 2 slots were busy on average.",
		"job 11 (first): 66.7 % of the busy slot time; it arrived 3 min 20 s earlier",
		"job 12 (second): 33.3 % of the busy slot time; it arrived 100 s earlier",
	}
	why := b.text("#gantt-why")
	for _, w := range want {
		if !strings.Contains(why, w) {
			t.Errorf("the page says\n%s\nand not\n%s", why, w)
		}
	}
	b.shot("why")
	b.clickAt(chart, s.x(500), rowMiddle(1))
	if why := b.text("#gantt-why"); !strings.HasPrefix(why, "Job 11 (first) of pool first arrived at 0 s. Its first task started at once.") || !strings.HasSuffix(why, "No other job ran in that time.") {
		t.Errorf("after a click on the box of job 11 the page says %q", why)
	}
	b.clickAt(chart, s.x(1450), rowMiddle(1)) // this slot is idle
	if why := b.text("#gantt-why"); why != "" {
		t.Errorf("after a click on an idle slot the page says %q", why)
	}
}

// The colours say which job, which pool, or how late, and the key beside the chart says which is which.
func TestColours(t *testing.T) {
	for _, dark := range []bool{false, true} {
		b := openReport(t, story(t, "first"), view{width: 1280, height: 900, dark: dark})
		s := b.shown()
		first := func() string { return b.colour(chart, s.x(500), rowMiddle(0)) }
		second := func() string { return b.colour(chart, s.x(1200), rowMiddle(0)) }
		third := func() string { return b.colour(chart, s.x(1450), rowMiddle(0)) }
		if first() == second() || second() == third() || first() == third() {
			t.Errorf("by job: %s, %s and %s", first(), second(), third())
		}
		b.choose("#gantt-colour", "pool")
		if first() == second() || second() != third() {
			t.Errorf("by pool: %s, %s and %s", first(), second(), third())
		}
		key := value[[]string](b, `[...document.querySelectorAll('#gantt-key span')].map(s => s.textContent + ' ' + getComputedStyle(s.querySelector('i')).backgroundColor.replace(/[^\d ]/g, ''))`)
		if want := []string{"first " + first(), "(no pool) " + second()}; len(key) != 2 || key[0] != want[0] || key[1] != want[1] {
			t.Errorf("the key says %q, and the boxes %q", key, want)
		}
		b.choose("#gantt-colour", "lateness")
		key = value[[]string](b, `[...document.querySelectorAll('#gantt-key span')].map(s => s.textContent + ': ' + getComputedStyle(s.querySelector('i')).backgroundColor.replace(/[^\d ]/g, ''))`)
		if want := "not later than under fair sharing: " + first(); len(key) != 4 || key[0] != want {
			t.Errorf("the key says %q, want %q first", key, want)
		}
		if want := "later by more than that: " + third(); key[2] != want {
			t.Errorf("the key says %q, want %q third", key, want)
		}
		b.choose("#gantt-colour", "place of the input")
		if first() != third() {
			t.Errorf("no job has input, and the boxes are %s and %s", first(), third())
		}
	}
}

// Where single slots are not shown, the chart has how many slots each job has, and a click still says whose they are.
func TestSlotsInUse(t *testing.T) {
	b := openReport(t, story(t, "first"), usual)
	s := b.shown()
	colours := func() (list []string) {
		for _, at := range []float64{500, 1200, 1450} {
			for row := range 2 { // the upper one first
				list = append(list, b.colour(chart, s.x(at), rowMiddle(row)))
			}
		}
		return list
	}
	rows := colours() // of job 13, the one slot is the upper row
	b.choose("#gantt-as", "slots in use")
	if got, want := colours(), append(slices.Clone(rows[:4]), rows[5], rows[4]); !slices.Equal(got, want) {
		t.Errorf("the colours are %q, want %q", got, want)
	}
	for _, c := range []struct {
		at   float64
		row  int
		want string
	}{{500, 0, "Job 11 "}, {1200, 1, "Job 12 "}, {1450, 1, "Job 13 "}, {1450, 0, ""}} {
		b.clickAt(chart, s.x(c.at), rowMiddle(c.row))
		if why := b.text("#gantt-why"); !strings.HasPrefix(why, c.want) || (why == "") != (c.want == "") {
			t.Errorf("at %v s, row %d: the page says %q, want %q", c.at, c.row, why, c.want)
		}
	}
	b.inside(chart)
}

// A chart of more slots or tasks than there are pixels shows how many slots are in use, and says so; zoomed in, it has the tasks.
func TestCrowdedChart(t *testing.T) {
	for _, c := range []struct {
		cluster, gen string
		rows         bool // fit
	}{{"400x1", "bursty:jobs=100,tasks=50,sizes=lognormal,mean=3000s,load=0.8,slots=400", false}, {"10x1", "poisson:jobs=1000,tasks=20,load=0.8,slots=10", true}} {
		b := openReport(t, sojourn(t, "run", "--gen", c.gen, "-c", c.cluster, "-p", "fair"), usual)
		if note := b.text("#gantt-note"); !strings.HasPrefix(note, "Single tasks are too small to see here: the chart shows how many slots each job has") {
			t.Fatalf("%s: the page says %q", c.cluster, note)
		}
		if texts := b.texts(chart); !slices.Contains(texts, strings.TrimSuffix(c.cluster, "x1")) || !slices.Contains(texts, "slots in use") {
			t.Errorf("%s: the axis has %q", c.cluster, texts)
		}
		b.inside(chart)
		// What is coloured is as much as the plot of the slots in use has below its line.
		if off := value[float64](b, `(() => {
			const e = document.querySelector('#gantt-canvas'), W = Math.floor(e.width - 74 - 8), H = Math.floor(e.height - 40 - 4), d = e.getContext('2d').getImageData(74, 4, W, H).data;
			let n = 0;
			for (let i = 0; i < d.length; i += 4) if (d[i] === 0xec && d[i + 1] === 0xef && d[i + 2] === 0xf2) n++;
			const {x, y} = data.plots.find(p => p.id === 'utilisation').series[0];
			let sum = 0;
			for (let i = 1; i < x.length; i++) sum += y[i - 1] * (x[i] - x[i - 1]);
			return 1 - n / W / H - sum / (data.gantt.end - data.gantt.start);
		})()`); off < -0.01 || off > 0.01 {
			t.Errorf("%s: the share that is coloured is %v off", c.cluster, off)
		}
		b.shot("crowded-" + c.cluster)
		if !c.rows {
			b.choose("#gantt-as", "each slot")
			if note := b.text("#gantt-note"); !strings.HasPrefix(note, "Slots 1 to ") || !strings.Contains(note, " of 400: drag the chart up and down") {
				t.Errorf("each slot: the page says %q", note)
			}
			continue
		}
		for range 6 {
			b.click("#gantt-in")
		}
		if note := b.text("#gantt-note"); note != "" || !slices.Contains(b.texts(chart), "n2/1") {
			t.Errorf("zoomed in: the page says %q, and the axis %q", note, b.texts(chart))
		}
	}
}
