package browsertest

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A label is a text on a canvas.
type label struct {
	Text                     string
	X, Y                     float64 // where it was drawn
	Upright                  bool
	Ink                      string
	Left, Right, Top, Bottom float64
}

// labels returns the texts on a canvas.
func (b *tab) labels(canvas string) []label {
	b.Helper()
	return value[[]label](b, fmt.Sprintf(`document.querySelector(%q).noted`, canvas))
}

var number = regexp.MustCompile(`^[-−+]?[\d.,]+$`)

// inside checks that no text of a canvas is cut off by its edges, that none lies on another, and that numbers are short.
func (b *tab) inside(canvas string) {
	b.Helper()
	size := b.show(canvas)
	all := b.labels(canvas)
	if len(all) < 4 {
		b.Errorf("%s has the texts %v", canvas, all)
	}
	for i, l := range all {
		if l.Left < -0.5 || l.Top < -0.5 || l.Right > size.W+0.5 || l.Bottom > size.H+0.5 {
			b.Errorf("%s: %q is cut off: from %v, %v to %v, %v of %v x %v", canvas, l.Text, l.Left, l.Top, l.Right, l.Bottom, size.W, size.H)
		}
		if number.MatchString(l.Text) && len(l.Text) > 6 {
			b.Errorf("%s: %q has many digits", canvas, l.Text)
		}
		for _, o := range all[:i] {
			if l.Left < o.Right && o.Left < l.Right && l.Top < o.Bottom && o.Top < l.Bottom {
				b.Errorf("%s: %q lies on %q", canvas, l.Text, o.Text)
			}
		}
	}
}

// A span is the times that a Gantt chart shows, in seconds, over its width in pixels.
type span struct{ from, to, left, right float64 }

func (s span) length() float64 { return s.to - s.from }

func (s span) x(t float64) float64 { return s.left + (t-s.from)/s.length()*(s.right-s.left) }

const chart = "#gantt-canvas"

// shown reads the times that the Gantt chart shows off its axis: two ticks say where each second is.
func (b *tab) shown() span {
	b.Helper()
	var ticks []label
	unit := 0.0
	for _, l := range b.labels(chart) {
		if u, ok := map[string]float64{"time (s)": 1, "time (min)": 60, "time (h)": 3600, "time (d)": 86400}[l.Text]; ok {
			unit = u
		}
	}
	width, height := b.show(chart).W, b.show(chart).H
	for _, l := range b.labels(chart) {
		if _, err := strconv.ParseFloat(strings.ReplaceAll(l.Text, ",", ""), 64); err == nil && l.Top > height-40 {
			ticks = append(ticks, l)
		}
	}
	if unit == 0 || len(ticks) < 3 {
		b.Fatalf("the axis of the chart has unit %v and ticks %v", unit, ticks)
	}
	at := func(l label) float64 {
		v, err := strconv.ParseFloat(strings.ReplaceAll(l.Text, ",", ""), 64)
		if err != nil {
			b.Fatal(err)
		}
		return v * unit
	}
	// The last tick may be moved to stay inside.
	first, last := ticks[0], ticks[len(ticks)-2]
	perPixel := (at(last) - at(first)) / (last.X - first.X)
	const gutter, margin = 74, 8 // where the names of the slots stand; the free space at the right
	return span{at(first) - (first.X-gutter)*perPixel, at(first) + (width-margin-first.X)*perPixel, gutter, width - margin}
}

// near reports whether two times are the same to a share of the chart's length.
func (s span) near(o span, share float64) bool {
	slack := share * math.Max(s.length(), o.length())
	return math.Abs(s.from-o.from) <= slack && math.Abs(s.to-o.to) <= slack
}

// colour returns the colour of a pixel of a canvas, as "r g b".
func (b *tab) colour(canvas string, x, y float64) string {
	b.Helper()
	return value[string](b, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q), r = window.devicePixelRatio || 1;
		return [...e.getContext('2d').getImageData(Math.round(%v * r), Math.round(%v * r), 1, 1).data.slice(0, 3)].join(' ');
	})()`, canvas, x, y))
}

// has reports how many pixels of a canvas have a colour of CSS.
func (b *tab) has(canvas, colour string) int {
	b.Helper()
	return value[int](b, fmt.Sprintf(`(() => {
		const e = document.querySelector(%q), d = e.getContext('2d').getImageData(0, 0, e.width, e.height).data;
		const one = document.createElement('canvas').getContext('2d');
		one.fillStyle = %q; one.fillRect(0, 0, 1, 1);
		const [r, g, b] = one.getImageData(0, 0, 1, 1).data;
		let n = 0;
		for (let i = 0; i < d.length; i += 4) if (d[i] === r && d[i + 1] === g && d[i + 2] === b && d[i + 3] === 255) n++;
		return n;
	})()`, canvas, colour))
}
