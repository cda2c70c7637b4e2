package paper

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
)

// Lengths in a picture, in pixels.
const (
	pictureWidth = 1040
	lineHeight   = 20
	labelWidth   = 6.1 // of a character
	maxLabel     = 84  // characters
	verdictWidth = 100
	axisHeight   = 26
	titleHeight  = 30
)

// pictureStyle has the colours in the light and in the dark. A reader whose fonts differ sees others.
const pictureStyle = `<style>
:root{--bg:#fff;--ink:#1b1f24;--soft:#5d6672;--line:#dfe3e8;--ours:#0072b2;--paper:#d55e00}
@media(prefers-color-scheme:dark){:root{--bg:#14171b;--ink:#e8eaed;--soft:#a3acb8;--line:#30363d;--ours:#6cb6f5;--paper:#ff9b54}}
text{font:11px system-ui,-apple-system,"Segoe UI",Helvetica,Arial,sans-serif;fill:var(--ink)}
.soft{fill:var(--soft)}.head{font-weight:bold}.end{text-anchor:end}.mid{text-anchor:middle}
.grid{stroke:var(--line)}.ours{stroke:var(--ours);fill:var(--ours)}.paper{stroke:var(--paper);fill:var(--bg);stroke-width:1.6}
</style>
`

// A scale maps numbers to places on a line of the given length.
type scale struct {
	low, high float64
	log       bool
	ticks     []float64
	from, to  float64
}

// picture returns an SVG with the paper's numbers and ours in the same lines: those that the paper says something of, or
// if there are none, all. Ratios have an axis of their own. It is nil if there is nothing to draw.
func (p *Result) picture() []byte {
	said := func(r paperOutcome) bool { return r.value > 0 || r.claim != noClaim }
	some := slices.ContainsFunc(p.rows, said)
	var panels [2][]paperOutcome // numbers, ratios
	longest := 0
	for _, r := range p.rows {
		if some && !said(r) || math.IsNaN(r.ours.Mean) || math.IsInf(r.ours.Mean, 0) {
			continue
		}
		kind := 0
		if r.over != "" {
			kind = 1
		}
		panels[kind] = append(panels[kind], r)
		longest = max(longest, utf8.RuneCountInString(label(&r)))
	}
	left := labelWidth*float64(min(longest, maxLabel)) + 20
	var b strings.Builder
	y := 8.0
	for kind, rows := range panels {
		if len(rows) == 0 {
			continue
		}
		title := p.measure.Title
		if kind == 1 {
			title, _, _ = strings.Cut(title, " (") // a ratio has no unit
			title = "ratio of " + title
		}
		y = panel(&b, rows, title, left, y)
	}
	if b.Len() == 0 {
		return nil
	}
	var out strings.Builder
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%.0f" viewBox="0 0 %d %.0f" role="img">`+"\n", pictureWidth, y+24, pictureWidth, y+24)
	fmt.Fprintf(&out, "<title>%s: the paper's numbers beside ours</title>\n%s<rect width=\"100%%\" height=\"100%%\" fill=\"var(--bg)\"/>\n", html.EscapeString(p.Name), pictureStyle)
	out.WriteString(b.String())
	legend(&out, slices.Concat(panels[0], panels[1]), left, y+8)
	out.WriteString("</svg>\n")
	return []byte(out.String())
}

// label returns what stands before a line.
func label(r *paperOutcome) string { return r.workload + ": " + r.quantity() }

// panel draws lines over one axis, and returns where it ends.
func panel(b *strings.Builder, rows []paperOutcome, title string, left, y float64) float64 {
	s := scaleOf(rows, left, pictureWidth-verdictWidth-10)
	bottom := y + titleHeight + lineHeight*float64(len(rows))
	fmt.Fprintf(b, "<text class=\"head\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", left, y+14, html.EscapeString(title))
	for _, tick := range s.ticks {
		x := s.at(tick)
		fmt.Fprintf(b, "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/><text class=\"soft mid\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			x, x, y+titleHeight-6, bottom, x, bottom+15, s.text(tick))
	}
	for i := range rows {
		drawRow(b, &rows[i], s, left, y+titleHeight+lineHeight*(float64(i)+0.5))
	}
	return bottom + axisHeight
}

func drawRow(b *strings.Builder, r *paperOutcome, s scale, left, y float64) {
	text := []rune(label(r))
	if len(text) > maxLabel {
		text = append(text[:maxLabel-1], '…')
	}
	fmt.Fprintf(b, "<text class=\"end\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", left-12, y+4, html.EscapeString(string(text)))
	switch {
	case r.value > 0:
		x := s.at(r.value)
		fmt.Fprintf(b, "<path class=\"paper\" d=\"M%.1f %.1fl5 5 -5 5 -5 -5z\"/>\n", x, y-5)
	case r.claim != noClaim:
		x, way := s.at(r.bound()), 8.0
		if r.claim == below {
			way = -8
		}
		fmt.Fprintf(b, "<path class=\"paper\" d=\"M%.1f %.1fl%.0f 5 %.0f 5z\"/>\n", x, y-5, way, -way)
	}
	if !math.IsNaN(r.ours.Half) {
		fmt.Fprintf(b, "<line class=\"ours\" stroke-width=\"2\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>\n", s.at(r.ours.Low()), s.at(r.ours.High()), y, y)
	}
	fmt.Fprintf(b, "<circle class=\"ours\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", s.at(r.ours.Mean), y)
	fmt.Fprintf(b, "<text class=\"soft\" x=\"%d\" y=\"%.1f\">%s</text>\n", pictureWidth-verdictWidth+6, y+4, r.is)
}

// legend says what the marks are that the lines have.
func legend(b *strings.Builder, rows []paperOutcome, x, y float64) {
	entry := func(mark, text string) {
		fmt.Fprintf(b, "%s<text x=\"%.1f\" y=\"%.1f\">%s</text>\n", mark, x+12, y+4, text)
		x += 30 + labelWidth*float64(len(text))
	}
	entry(fmt.Sprintf("<circle class=\"ours\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>", x, y), "ours, with its interval")
	if slices.ContainsFunc(rows, func(r paperOutcome) bool { return r.value > 0 }) {
		entry(fmt.Sprintf("<path class=\"paper\" d=\"M%.1f %.1fl5 5 -5 5 -5 -5z\"/>", x, y-5), "the paper's")
	}
	if slices.ContainsFunc(rows, func(r paperOutcome) bool { return r.value == 0 && r.claim == above }) {
		entry(fmt.Sprintf("<path class=\"paper\" d=\"M%.1f %.1fl8 5 -8 5z\"/>", x, y-5), "more than this, the paper says")
	}
	if slices.ContainsFunc(rows, func(r paperOutcome) bool { return r.value == 0 && r.claim == below }) {
		entry(fmt.Sprintf("<path class=\"paper\" d=\"M%.1f %.1fl-8 5 8 5z\"/>", x+8, y-5), "less than this, the paper says")
	}
}

// scaleOf returns an axis for all numbers of the lines: from 0, or logarithmic if the greatest is more than 40 times the least.
func scaleOf(rows []paperOutcome, from, to float64) scale {
	s := scale{from: from, to: to}
	least := math.Inf(1)
	for i := range rows {
		r := &rows[i]
		list := []float64{r.ours.Mean}
		if !math.IsNaN(r.ours.Half) {
			list = append(list, r.ours.High())
		}
		if r.value > 0 {
			list = append(list, r.value)
		} else if r.claim != noClaim {
			list = append(list, r.bound())
		}
		for _, v := range list {
			s.high = max(s.high, v)
			if v > 0 {
				least = min(least, v)
			} else {
				least = 0
			}
		}
	}
	if s.high <= 0 {
		s.high = 1
	}
	if s.log = least > 0 && s.high > 40*least; s.log {
		s.low = math.Pow(10, math.Floor(math.Log10(least)))
		s.high = math.Pow(10, math.Ceil(math.Log10(s.high)))
		for v := s.low; v <= s.high*1.001; v *= 10 {
			s.ticks = append(s.ticks, v)
		}
		return s
	}
	step := s.step()
	s.high = math.Ceil(s.high/step) * step
	for i := 0; float64(i)*step <= s.high*1.001; i++ {
		s.ticks = append(s.ticks, float64(i)*step)
	}
	return s
}

// step returns the distance of ticks, of which there are at most six; the least tick of a logarithmic axis.
func (s *scale) step() float64 {
	if s.log {
		return s.low
	}
	step := math.Pow(10, math.Floor(math.Log10(s.high)))
	for _, part := range []float64{0.2, 0.5, 1, 2} {
		if s.high <= 6*part*step {
			return part * step
		}
	}
	return 2 * step
}

// text returns a tick as a number.
func (s *scale) text(tick float64) string {
	unit := s.step()
	if s.log {
		unit = tick
	}
	return format.Number(tick, max(0, -int(math.Floor(math.Log10(unit)))))
}

// at returns the place of a number. What is below the axis stands at its begin.
func (s *scale) at(v float64) float64 {
	share := v / s.high
	if s.log {
		share = math.Log(max(v, s.low)/s.low) / math.Log(s.high/s.low)
	}
	return s.from + (s.to-s.from)*max(0, share)
}
