package main

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

func centimetres(v float64) vg.Length { return vg.Length(v) * vg.Centimeter }

// textSize is the size of all texts, in points, as journals print them.
const textSize = 8

// The colours of report.html in the light. Dashes, and the shapes of points, tell lines apart in grey print.
var (
	colours = []color.RGBA{{0, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0, 255}, {0, 0x9e, 0x73, 255}, {0xb0, 0x39, 0x8a, 255},
		{0x8a, 0x6d, 0, 255}, {0x4b, 0x4b, 0xc8, 255}, {0x7a, 0x4a, 0x21, 255}, {0x4f, 0x5a, 0x66, 255}}
	dashes = [][]vg.Length{nil, {vg.Points(5), vg.Points(2)}, {vg.Points(1.5), vg.Points(1.5)}, {vg.Points(6), vg.Points(1.5), vg.Points(1.5), vg.Points(1.5)}}
	shapes = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}, draw.RingGlyph{}}
)

// look returns how line i looks. Nobody else in the first 32 looks so.
func look(i int) (c color.RGBA, form int) {
	return colours[i%len(colours)], (i + i/len(colours)) % len(dashes)
}

// A drawing is a plot with its key, an entry for each line.
type drawing struct {
	*plot.Plot
	key []plot.Legend
}

// picture returns a plot of the report as one of gonum.
func picture(p *page.Plot) (*drawing, error) {
	out := &drawing{Plot: plot.New()}
	out.Title.Text = p.Title
	out.Title.Padding = vg.Points(6)
	for _, style := range []*draw.TextStyle{&out.Title.TextStyle, &out.X.Label.TextStyle, &out.Y.Label.TextStyle, &out.X.Tick.Label, &out.Y.Tick.Label} {
		style.Font.Size = vg.Points(textSize)
	}
	xUnit, yUnit := scale(&out.X, p.X, bounds(p, true)), scale(&out.Y, p.Y, bounds(p, false))
	if p.Y.Scale == page.Linear {
		out.Y.Min = 0
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	out.Add(grid)
	for i := range p.Series {
		c, _ := look(i)
		if err := band(out.Plot, p, &p.Series[i], c, xUnit, yUnit); err != nil {
			return nil, fmt.Errorf("band of %s: %w", p.Series[i].Name, err)
		}
	}
	for i := range p.Series {
		s := &p.Series[i]
		points := known(s.X, s.Y, xUnit, yUnit)
		if len(points) == 0 {
			continue
		}
		if err := out.add(p, i, points, xUnit, yUnit); err != nil {
			return nil, fmt.Errorf("line %s: %w", s.Name, err)
		}
	}
	for _, a := range []*plot.Axis{&out.X, &out.Y} { // of one value; gonum would begin a logarithmic axis at one less, which may be 0
		if _, log := a.Scale.(plot.LogScale); log && a.Min == a.Max {
			a.Min, a.Max = a.Min/2, a.Max*2
		}
	}
	return out, nil
}

// band draws the band of a line, if it has one.
func band(out *plot.Plot, p *page.Plot, s *page.Series, c color.RGBA, xUnit, yUnit float64) error {
	if p.X.Scale == page.Categoric || len(s.Low) == 0 || len(s.Low) != len(s.X) || len(s.High) != len(s.X) {
		return nil
	}
	edge, high := known(s.X, s.Low, xUnit, yUnit), known(s.X, s.High, xUnit, yUnit)
	slices.Reverse(high)
	area, err := plotter.NewPolygon(append(edge, high...))
	if err != nil {
		return err
	}
	area.Color, area.LineStyle.Width = color.NRGBA{c.R, c.G, c.B, 45}, 0
	out.Add(area)
	return nil
}

// add draws line i, or points with whiskers.
func (out *drawing) add(p *page.Plot, i int, points plotter.XYs, xUnit, yUnit float64) error {
	s := &p.Series[i]
	c, form := look(i)
	style := draw.LineStyle{Color: c, Width: vg.Points(1.3)}
	if p.X.Scale == page.Categoric {
		side := float64(i) - float64(len(p.Series)-1)/2
		for k := range points {
			points[k].X += side * 0.08
		}
		dots, err := plotter.NewScatter(points)
		if err != nil {
			return err
		}
		dots.GlyphStyle = draw.GlyphStyle{Color: c, Radius: vg.Points(2.5), Shape: shapes[form]}
		out.Add(dots)
		for k, at := range points {
			if k < len(s.Low) && k < len(s.High) {
				whisker, err := plotter.NewLine(plotter.XYs{{X: at.X, Y: s.Low[k] / yUnit}, {X: at.X, Y: s.High[k] / yUnit}})
				if err != nil {
					return err
				}
				whisker.LineStyle = style
				out.Add(whisker)
			}
		}
		out.enter(s.Name, dots)
		return nil
	}
	if p.Steps && p.X.Scale != page.Linear { // an ECDF begins at 0
		points = append(plotter.XYs{{X: points[0].X}}, points...)
	}
	line, err := plotter.NewLine(points)
	if err != nil {
		return err
	}
	style.Dashes = dashes[form]
	line.LineStyle = style
	if p.Steps {
		line.StepStyle = plotter.PostStep
	}
	out.Add(line)
	out.enter(s.Name, line)
	return nil
}

// enter adds an entry to the key.
func (out *drawing) enter(name string, sample plot.Thumbnailer) {
	entry := plot.NewLegend()
	entry.Left, entry.Top = true, true
	entry.TextStyle.Font.Size, entry.ThumbnailWidth = vg.Points(textSize), vg.Points(18)
	entry.Add(name, sample)
	out.key = append(out.key, entry)
}

// draw draws the key in rows, and the plot below it. Labels that are longer than their axis go on in another line.
func (out *drawing) draw(all draw.Canvas) {
	const gap, line = 8, textSize + 3
	width, height := all.Max.X-all.Min.X, all.Max.Y-all.Min.Y
	all = draw.Crop(all, vg.Points(2), -vg.Points(2), vg.Points(2), -vg.Points(4))
	x, y := vg.Length(0), vg.Length(0)
	for i := range out.key {
		box := out.key[i].Rectangle(all)
		if w := box.Max.X - box.Min.X; x > 0 && x+w > width-vg.Points(4) {
			x, y = 0, y+vg.Points(line)
		}
		out.key[i].Draw(draw.Crop(all, x, 0, 0, -y))
		x += box.Max.X - box.Min.X + vg.Points(gap)
	}
	if len(out.key) > 0 {
		y += vg.Points(line + 3)
	}
	out.X.Label.Text = wrap(out.X.Label.TextStyle, out.X.Label.Text, width-vg.Points(40))
	out.Y.Label.Text = wrap(out.Y.Label.TextStyle, out.Y.Label.Text, height-y-vg.Points(34))
	out.Draw(draw.Crop(all, 0, 0, 0, -y))
}

// wrap breaks a text into lines that are no wider than said, as far as its words let it.
func wrap(style draw.TextStyle, text string, width vg.Length) string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		if longer := strings.TrimSpace(*last + " " + word); *last == "" || style.Width(longer) <= width {
			*last = longer
		} else {
			lines = append(lines, word)
		}
	}
	return strings.Join(lines, "\n")
}

// known returns the points that have both numbers, in the units of the axes.
func known(x, y page.Numbers, xUnit, yUnit float64) (points plotter.XYs) {
	for i := range min(len(x), len(y)) {
		if !math.IsNaN(x[i]) && !math.IsInf(x[i], 0) && !math.IsNaN(y[i]) && !math.IsInf(y[i], 0) {
			points = append(points, plotter.XY{X: x[i] / xUnit, Y: y[i] / yUnit})
		}
	}
	return points
}

// bounds returns the least and the greatest number of an axis.
func bounds(p *page.Plot, x bool) (b [2]float64) {
	b = [2]float64{math.Inf(1), math.Inf(-1)}
	for i := range p.Series {
		s := &p.Series[i]
		lists := []page.Numbers{s.X}
		if !x {
			lists = []page.Numbers{s.Y, s.Low, s.High}
		}
		for _, list := range lists {
			for _, v := range list {
				if !math.IsNaN(v) && !math.IsInf(v, 0) {
					b = [2]float64{min(b[0], v), max(b[1], v)}
				}
			}
		}
	}
	return b
}

// scale names an axis, gives it a scale with ticks, and returns the unit of its numbers.
func scale(axis *plot.Axis, a page.Axis, b [2]float64) (unit float64) {
	name := a.Unit
	unit = 1
	switch {
	case a.Scale == page.Categoric:
		var ticks plot.ConstantTicks
		for i, t := range a.Names {
			ticks = append(ticks, plot.Tick{Value: float64(i), Label: t})
		}
		axis.Tick.Marker, axis.Min, axis.Max = ticks, -0.5, float64(len(a.Names))-0.5
		axis.Scale = plot.LinearScale{}
	case a.Scale == page.Log:
		axis.Scale, axis.Tick.Marker = plot.LogScale{}, powers(a.Unit, b)
	case a.Scale == page.SymLog:
		axis.Scale, axis.Tick.Marker = symlog{}, bothSides(b)
	case a.Unit == "%":
		unit = 0.01
		axis.Min, axis.Max = 0, 100
	case a.Unit == "s":
		for _, u := range []struct {
			seconds float64
			name    string
		}{{86400, "d"}, {3600, "h"}, {60, "min"}} {
			if b[1] >= 2*u.seconds {
				unit, name = u.seconds, u.name
				break
			}
		}
	}
	if a.Scale == page.Linear {
		axis.Tick.Marker = plot.TickerFunc(round)
	}
	if a.Unit == "s" && a.Scale != page.Linear {
		name = "" // ticks have units
	}
	axis.Label.Text = a.Label
	if name != "" {
		axis.Label.Text += " (" + name + ")"
	}
	return unit
}

// times are the ticks of logarithmic axes of time.
var times = []plot.Tick{{Value: 1e-3, Label: "1 ms"}, {Value: 0.1, Label: "0.1 s"}, {Value: 1, Label: "1 s"}, {Value: 10, Label: "10 s"},
	{Value: 60, Label: "1 min"}, {Value: 600, Label: "10 min"}, {Value: 3600, Label: "1 h"}, {Value: 36000, Label: "10 h"}, {Value: 864000, Label: "10 d"}}

// powers returns ticks at round times, or at powers of ten.
func powers(unit string, b [2]float64) (ticks plot.ConstantTicks) {
	for _, t := range times {
		if unit == "s" && t.Value >= b[0] && t.Value <= b[1] {
			ticks = append(ticks, t)
		}
	}
	if len(ticks) >= 2 {
		return ticks
	}
	steps := []float64{1}
	if b[1] < 30*b[0] {
		steps = []float64{1, 2, 5}
	}
	ticks = nil
	for e := -9; e <= 15; e++ {
		for _, k := range steps {
			if v := k * math.Pow(10, float64(e)); v >= b[0]*0.999 && v <= b[1]*1.001 {
				label := strconv.FormatFloat(v, 'f', max(0, -e), 64)
				if unit == "s" {
					label += " s"
				}
				ticks = append(ticks, plot.Tick{Value: v, Label: label})
			}
		}
	}
	return ticks
}

// bothSides returns ticks at round times before and after 0, not too near to it.
func bothSides(b [2]float64) plot.ConstantTicks {
	ticks := plot.ConstantTicks{{Value: 0, Label: "0"}}
	least := 10.0
	if max(-b[0], b[1]) < 60 {
		least = 1
	}
	for _, t := range times {
		if t.Value >= least && t.Value <= b[1] {
			ticks = append(ticks, plot.Tick{Value: t.Value, Label: "+" + t.Label})
		}
		if t.Value >= least && -t.Value >= b[0] {
			ticks = append(ticks, plot.Tick{Value: -t.Value, Label: "−" + t.Label})
		}
	}
	return ticks
}

// round returns four to nine ticks at multiples of 1, 2 or 5 times a power of ten.
func round(least, most float64) (ticks []plot.Tick) {
	if !(most > least) {
		return []plot.Tick{{Value: least, Label: strconv.FormatFloat(least, 'g', 4, 64)}}
	}
	step := math.Pow(10, math.Floor(math.Log10(most-least)))
	for _, k := range []float64{0.1, 0.2, 0.5, 1} {
		if (most-least)/(k*step) <= 8 {
			step *= k
			break
		}
	}
	first := math.Ceil(least/step-1e-9) + 0 // 0 in the place of -0
	for i := first; i*step <= most+step*1e-9; i++ {
		ticks = append(ticks, plot.Tick{Value: i * step, Label: strconv.FormatFloat(i*step, 'g', 6, 64)})
	}
	return ticks
}

// symlog is logarithmic on both sides of 0.
type symlog struct{}

// Normalize implements [plot.Normalizer].
func (symlog) Normalize(least, most, v float64) float64 {
	f := func(v float64) float64 { return math.Copysign(math.Log10(1+math.Abs(v)), v) }
	return (f(v) - f(least)) / (f(most) - f(least))
}
