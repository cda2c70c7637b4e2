package main

import (
	"errors"
	"image/color"
	"os"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

var colours = []color.RGBA{{0, 0x72, 0xb2, 255}, {0xd5, 0x5e, 0, 255}, {0, 0x9e, 0x73, 255}, {0xb0, 0x39, 0x8a, 255}, {0x8a, 0x6d, 0, 255}, {0x4f, 0x5a, 0x66, 255}}

// picture draws the time of a decision, a line for each policy. It draws nothing where no row has the axis.
func picture(name, axis string, rows []row) error {
	p := plot.New()
	p.X.Label.Text, p.Y.Label.Text = axis, "ns a decision"
	if axis == "tasks" || axis == "phases" {
		p.X.Label.Text += " of a job"
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = color.Gray{225}, color.Gray{225}
	p.Add(grid)
	lines := 0
	var seen []float64
	for i, policy := range policies {
		var points plotter.XYs
		for _, r := range rows {
			if r.policy == policy.name && r.axis == axis {
				points = append(points, plotter.XY{X: float64(r.value), Y: r.ns})
				seen = append(seen, r.ns)
			}
		}
		if len(points) < 2 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return err
		}
		line.Color, line.Width = colours[i%len(colours)], vg.Points(1.3)
		if i >= len(colours) {
			line.Dashes = []vg.Length{vg.Points(5), vg.Points(2)}
		}
		p.Add(line)
		p.Legend.Add(policy.name, line)
		lines++
	}
	if lines == 0 {
		return nil
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, powers()
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, powers()
	p.Y.Min, p.Y.Max = min(100, slices.Min(seen)), slices.Max(seen)
	return save(p, name)
}

// powers returns ticks at the powers of ten.
func powers() plot.ConstantTicks {
	var ticks plot.ConstantTicks
	for v := 1.0; v < 1e10; v *= 10 {
		ticks = append(ticks, plot.Tick{Value: v, Label: strconv.FormatFloat(v, 'f', 0, 64)})
	}
	return ticks
}

// save writes a picture with the legend at its right.
func save(p *plot.Plot, name string) error {
	const width, height = 16 * vg.Centimeter, 9 * vg.Centimeter
	canvas, err := draw.NewFormattedCanvas(width, height, "svg")
	if err != nil {
		return err
	}
	legend := p.Legend
	p.Legend = plot.NewLegend()
	legend.Top = true
	all := draw.New(canvas)
	room := 2.6 * vg.Centimeter
	p.Draw(draw.Crop(all, 0, -room, 0, -vg.Points(6)))
	legend.Draw(draw.Crop(all, width-room, 0, 0, -vg.Points(10)))
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	_, err = canvas.WriteTo(f)
	return errors.Join(err, f.Close())
}
