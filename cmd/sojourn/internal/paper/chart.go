package paper

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/stats"
)

// panels are a figure of a paper: what it draws, on its axes.
type panels []panel

// A panel has our numbers as lines, and what the text of the paper says of the figure.
type panel struct {
	title  string
	x, y   axis
	lines  []line
	points []point // numbers of the paper
	mark   string  // what they are; "" for the paper's numbers
	stated string  // what the stated places of the axes are
}

// An axis goes from from to to, or further where our numbers do; to 0 says that they decide.
type axis struct {
	label    string  // with the unit
	unit     float64 // what the paper's ticks count; 0 is 1
	log      bool
	from, to float64
	ticks    []float64 // those of the paper, or where the numbers are
	names    []string  // of the places 0, 1, ..., if it has no numbers
	stated   []float64 // places that the paper names, or the ends of its axis
}

// how says how a line is drawn.
type how int

const (
	joined how = iota
	steps
	bars
	boxes // of the values y at the place x[0]
	dots
)

type line struct {
	name string
	how  how
	x, y []float64
}

type point struct {
	line int
	x, y float64
}

// marked returns the panel with a number of the paper for a line.
func (f panel) marked(line int, x, y float64) panel {
	f.points = append(slices.Clone(f.points), point{line, x, y})
	return f
}

// line returns a line of means of what the experiment measures.
func (p *Result) line(name string, how how, xs []float64, run func(i int) paperRun) line {
	l := line{name: name, how: how, x: xs}
	for i := range xs {
		l.y = append(l.y, stats.Mean(p.values(run(i), p.measure.Of)).Mean)
	}
	return l
}

// ratios returns a line of ratios to another policy on the same workloads.
func (p *Result) ratios(name, policy, over string, xs []float64, workload func(i int) string) line {
	l := p.line(name, joined, xs, func(i int) paperRun { return paperRun{workload(i), policy} })
	for i, below := range p.line("", joined, xs, func(i int) paperRun { return paperRun{workload(i), over} }).y {
		l.y[i] /= below
	}
	return l
}

// distribution returns the line of an empirical distribution, at 200 quantiles.
func distribution(name string, values []float64) line {
	l := line{name: name, how: steps}
	values = slices.Sorted(slices.Values(values))
	const parts = 200
	for k := 1; k <= parts && len(values) > 0; k++ {
		l.x, l.y = append(l.x, values[(k*len(values)-1)/parts]), append(l.y, float64(k)/parts)
	}
	return l
}

// Lengths in a picture, in pixels.
const (
	panelWidth  = 360
	singleWidth = 560 // of a panel that is alone
	panelHeight = 290
	lineHeight  = 20
)

// The colours of lines, which differ in their dashes besides, and those of the rest. All are plain attributes: not all
// viewers know style sheets.
var (
	colours = []string{"#0072b2", "#d55e00", "#009e73", "#b0398a", "#8a6d00", "#4b4bc8"}
	dashes  = []string{"", "7 3", "2 2", "8 2 2 2", "", "7 3"}
)

const (
	ink  = "#1b1f24"
	soft = "#5d6672"
	grid = "#dfe3e8"
)

// An svg is a picture that is being drawn.
type svg struct{ strings.Builder }

func (s *svg) text(x, y float64, anchor, colour, text string) {
	fmt.Fprintf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, anchor, colour, html.EscapeString(text))
}

func (s *svg) stroke(colour, dash string, width float64, path string) {
	if dash != "" {
		dash = ` stroke-dasharray="` + dash + `"`
	}
	fmt.Fprintf(s, "<path d=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"%g\"%s/>\n", path, colour, width, dash)
}

// diamond draws a number of the paper.
func (s *svg) diamond(x, y float64, colour string) {
	fmt.Fprintf(s, "<path d=\"M%.1f %.1fl5 5l-5 5l-5 -5z\" fill=\"#ffffff\" stroke=\"%s\" stroke-width=\"1.6\"/>\n", x, y-5, colour)
}

func (s *svg) circle(x, y, r float64, colour string) {
	fmt.Fprintf(s, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%g\" fill=\"%s\"/>\n", x, y, r, colour)
}

// picture returns the figure as SVG, nil if there is none.
func (p *Result) picture() []byte {
	if p.draw == nil {
		return nil
	}
	f := p.draw(p)
	columns, panel := min(len(f), 3), panelWidth
	switch len(f) {
	case 1:
		panel = singleWidth
	case 4:
		columns = 2
	}
	width := columns * panel
	names := f.names()
	var s svg
	for i := range f {
		f[i].draw(&s, names, float64(i%columns*panel), float64(i/columns*panelHeight), float64(panel))
	}
	rows := (len(f) + columns - 1) / columns
	bottom := f.legend(&s, names, float64(rows*panelHeight)+8, float64(width))
	return fmt.Appendf(nil, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\" font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" role=\"img\">\n"+
		"<title>%s: %s</title>\n<rect x=\"0\" y=\"0\" width=\"%d\" height=\"%.0f\" fill=\"#ffffff\"/>\n%s</svg>\n",
		width, bottom, width, bottom, html.EscapeString(p.Name), html.EscapeString(p.Title), width, bottom, s.String())
}

// names returns the names of the lines of all panels, which have the same colour in each.
func (f panels) names() (names []string) {
	for _, of := range f {
		for _, l := range of.lines {
			if !slices.Contains(names, l.name) {
				names = append(names, l.name)
			}
		}
	}
	return names
}

// legend says what is drawn, and returns where it ends.
func (f panels) legend(s *svg, names []string, y, width float64) float64 {
	x := 60.0
	entry := func(text string, mark func(x, y float64)) {
		if long := 45 + 6.2*float64(len([]rune(text))); x+long > width && x > 60 {
			x, y = 60, y+lineHeight
		}
		mark(x, y)
		s.text(x+26, y+4, "start", ink, text)
		x += 45 + 6.2*float64(len([]rune(text)))
	}
	if f[0].lines[0].how != boxes {
		for i, name := range names {
			entry(name, func(x, y float64) {
				s.stroke(colours[i%len(colours)], dashes[i%len(dashes)], 2, fmt.Sprintf("M%.1f %.1fh22", x, y))
			})
		}
	}
	if slices.ContainsFunc(f, func(of panel) bool { return len(of.points) > 0 }) {
		entry(cmp.Or(f[0].mark, "the paper's numbers"), func(x, y float64) { s.diamond(x+11, y, ink) })
	}
	if f[0].stated != "" {
		entry(f[0].stated, func(x, y float64) { s.stroke(soft, "3 3", 1, fmt.Sprintf("M%.1f %.1fh22", x, y)) })
	}
	return y + lineHeight
}

// draw draws a panel with its left upper corner at x and y.
func (f *panel) draw(s *svg, names []string, x, y, width float64) {
	left, right, top, bottom := x+56, x+width-14, y+26, y+panelHeight-42
	xs, ys := []float64{}, []float64{}
	for _, l := range f.lines {
		xs, ys = append(xs, l.x...), append(ys, l.y...)
		if l.how == bars {
			ys = append(ys, 0)
		}
	}
	for _, m := range f.points {
		xs, ys = append(xs, m.x), append(ys, m.y)
	}
	h, v := f.x.scale(xs, left, right), f.y.scale(ys, bottom, top)
	s.text((left+right)/2, y+15, "middle", ink, f.title)
	for _, t := range h.ticks {
		s.stroke(grid, "", 1, fmt.Sprintf("M%.1f %.1fV%.1f", h.at(t), top, bottom))
		s.text(h.at(t), bottom+15, "middle", soft, h.label(t))
	}
	for _, t := range v.ticks {
		s.stroke(grid, "", 1, fmt.Sprintf("M%.1f %.1fH%.1f", left, v.at(t), right))
		s.text(left-6, v.at(t)+4, "end", soft, v.label(t))
	}
	s.stroke(soft, "", 1, fmt.Sprintf("M%.1f %.1fV%.1fH%.1f", left, top, bottom, right))
	for _, at := range f.x.stated {
		s.stroke(soft, "3 3", 1, fmt.Sprintf("M%.1f %.1fV%.1f", h.at(at), top, bottom))
	}
	for _, at := range f.y.stated {
		s.stroke(soft, "3 3", 1, fmt.Sprintf("M%.1f %.1fH%.1f", left, v.at(at), right))
	}
	s.text((left+right)/2, bottom+32, "middle", ink, f.x.label)
	fmt.Fprintf(s, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\" fill=\"%s\" transform=\"rotate(-90 %.1f %.1f)\">%s</text>\n", x+14, (top+bottom)/2, ink, x+14, (top+bottom)/2, html.EscapeString(f.y.label))
	for i := range f.lines {
		n := slices.Index(names, f.lines[i].name)
		f.drawLine(s, i, h, v, colours[n%len(colours)], dashes[n%len(dashes)])
	}
	for _, m := range f.points {
		if math.IsNaN(m.x + m.y) {
			continue
		}
		n := slices.Index(names, f.lines[m.line].name)
		colour, px := colours[n%len(colours)], h.at(m.x)+f.shift(m.line, &h)
		if f.lines[m.line].how == steps { // an ECDF: it is read off both axes
			s.stroke(colour, "1 3", 1, fmt.Sprintf("M%.1f %.1fH%.1fV%.1f", left, v.at(m.y), px, bottom))
		}
		s.diamond(px, v.at(m.y), colour)
	}
}

// shift returns how far to the right of its place a bar of a line is.
func (f *panel) shift(i int, h *scale) float64 {
	if f.lines[i].how != bars {
		return 0
	}
	return (float64(i) - float64(len(f.lines)-1)/2) * f.barWidth(h)
}

func (f *panel) barWidth(h *scale) float64 {
	return 0.8 * math.Abs(h.at(1)-h.at(0)) / float64(len(f.lines))
}

// known returns the line without points that have no number.
func (l line) known() line {
	all := l
	l.x, l.y = nil, nil
	for k := range all.x {
		if !math.IsNaN(all.x[k]+all.y[k]) && !math.IsInf(all.x[k]+all.y[k], 0) {
			l.x, l.y = append(l.x, all.x[k]), append(l.y, all.y[k])
		}
	}
	return l
}

func (f *panel) drawLine(s *svg, i int, h, v scale, colour, dash string) {
	l := &f.lines[i]
	if l.how != boxes {
		known := l.known()
		l = &known
	}
	switch l.how {
	case boxes:
		f.drawBox(s, l, h, v, colour)
		return
	case bars:
		width := f.barWidth(&h)
		for k := range l.x {
			x := h.at(l.x[k]) + f.shift(i, &h)
			fmt.Fprintf(s, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x-width*0.45, v.at(l.y[k]), width*0.9, v.at(0)-v.at(l.y[k]), colour)
		}
		return
	case dots:
		for k := range l.x {
			s.circle(h.at(l.x[k]), v.at(l.y[k]), 1, colour)
		}
		return
	}
	var path strings.Builder
	for k := range l.x {
		switch {
		case k == 0 && l.how == steps && f.y.to == 1:
			fmt.Fprintf(&path, "M%.1f %.1fV%.1f", h.at(l.x[0]), v.at(0), v.at(l.y[0]))
		case k == 0:
			fmt.Fprintf(&path, "M%.1f %.1f", h.at(l.x[0]), v.at(l.y[0]))
		case l.how == steps:
			fmt.Fprintf(&path, "H%.1fV%.1f", h.at(l.x[k]), v.at(l.y[k]))
		default:
			fmt.Fprintf(&path, "L%.1f %.1f", h.at(l.x[k]), v.at(l.y[k]))
		}
	}
	if path.Len() > 0 {
		s.stroke(colour, dash, 1.8, path.String())
	}
	for k := range l.x {
		if l.how == joined {
			s.circle(h.at(l.x[k]), v.at(l.y[k]), 2.6, colour)
		}
	}
}

// drawBox draws the quartiles, whiskers to the last value within one and a half of their distance, and what is outside.
func (f *panel) drawBox(s *svg, l *line, h, v scale, colour string) {
	values := slices.Sorted(slices.Values(l.y))
	low, median, high := quantileOf(values, 25), quantileOf(values, 50), quantileOf(values, 75)
	reach := 1.5 * (high - low)
	x, least, most := h.at(l.x[0]), low, high
	for _, y := range values {
		if y < low-reach || y > high+reach {
			s.circle(x, v.at(y), 1.5, colour)
			continue
		}
		least, most = min(least, y), max(most, y)
	}
	s.stroke(colour, "", 1.5, fmt.Sprintf("M%.1f %.1fV%.1fM%.1f %.1fV%.1f", x, v.at(least), v.at(low), x, v.at(high), v.at(most)))
	s.stroke(colour, "", 1.5, fmt.Sprintf("M%.1f %.1fh40V%.1fh-40zM%.1f %.1fh40", x-20, v.at(low), v.at(high), x-20, v.at(median)))
}

// A scale maps numbers to places on a line of the given length.
type scale struct {
	axis
	low, high   float64
	begin, end  float64
	ticks       []float64
	tickDecimal int
}

// scale returns the scale of an axis for some values.
func (a axis) scale(values []float64, begin, end float64) scale {
	s := scale{axis: a, begin: begin, end: end}
	if len(a.names) > 0 {
		s.low, s.high = -0.5, float64(len(a.names))-0.5
		for i := range a.names {
			s.ticks = append(s.ticks, float64(i))
		}
		return s
	}
	values = slices.DeleteFunc(slices.Concat(values, a.ticks, a.stated), func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) || a.log && v <= 0 })
	if len(values) == 0 {
		values = []float64{1}
	}
	least, most := slices.Min(values), slices.Max(values)
	if a.to != 0 {
		least, most = min(least, a.from), max(most, a.to)
	}
	if a.log {
		return s.logarithmic(least, most)
	}
	if len(a.ticks) > 0 { // room beside the first and the last
		s.low, s.high, s.ticks = a.ticks[0], most, a.ticks
		if end > begin { // the lower axis
			margin := 0.04 * (s.high - s.low)
			s.low, s.high = s.low-margin, s.high+margin
		}
		s.low = min(s.low, least)
		s.tickDecimal = decimalsOf(a.ticks, cmp.Or(a.unit, 1))
		return s
	}
	least = min(least, a.from)
	step := math.Pow(10, math.Floor(math.Log10(max(most-least, 1e-9))))
	for _, part := range []float64{0.2, 0.5, 1, 2} {
		if most-least <= 6*part*step {
			step *= part
			break
		}
	}
	s.low, s.high = math.Floor(least/step+1e-9)*step, math.Ceil(most/step-1e-9)*step
	if s.high <= s.low {
		s.high = s.low + step
	}
	for i := 0; s.low+float64(i)*step <= s.high+step/1e3; i++ {
		s.ticks = append(s.ticks, s.low+float64(i)*step)
	}
	s.tickDecimal = max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	return s
}

// logarithmic returns the scale from a 1, 2 or 5 times a power of ten to another.
func (s scale) logarithmic(least, most float64) scale {
	var all []float64
	for e := math.Floor(math.Log10(least)); e <= math.Ceil(math.Log10(most)); e++ {
		for _, k := range []float64{1, 2, 5} {
			all = append(all, k*math.Pow(10, e))
		}
	}
	first, last := 0, len(all)-1
	for first+1 < last && all[first+1] <= least*1.0001 {
		first++
	}
	for last-1 > first && all[last-1] >= most*0.9999 {
		last--
	}
	s.low, s.high = all[first], all[last]
	for i, t := range all[first : last+1] {
		if s.high <= 200*s.low || (first+i)%3 == 0 {
			s.ticks = append(s.ticks, t)
		}
	}
	return s
}

// decimalsOf returns how many decimals tell ticks apart.
func decimalsOf(ticks []float64, unit float64) int {
	for n := range 3 {
		if !slices.ContainsFunc(ticks, func(t float64) bool {
			scaled := t / unit * math.Pow(10, float64(n))
			return math.Abs(scaled-math.Round(scaled)) > 1e-6
		}) {
			return n
		}
	}
	return 3
}

// label returns a tick as text.
func (s *scale) label(tick float64) string {
	switch {
	case len(s.names) > 0:
		return s.names[int(tick)]
	case s.log:
		return format.Number(tick, max(0, -int(math.Floor(math.Log10(tick)+1e-9))))
	}
	return format.Number(tick/cmp.Or(s.unit, 1), s.tickDecimal)
}

// at returns the place of a number.
func (s *scale) at(v float64) float64 {
	share := (v - s.low) / (s.high - s.low)
	if s.log {
		share = math.Log(max(v, s.low)/s.low) / math.Log(s.high/s.low)
	}
	return s.begin + (s.end-s.begin)*share
}
