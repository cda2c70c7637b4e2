package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// redraw writes a picture of 'sojourn paper -o DIR' in another format.
func redraw(file, format, name string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	d := &redrawing{format: format}
	if err := d.read(xml.NewDecoder(in)); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return files.Replace(name, func(w io.Writer) error {
		_, err := d.canvas.WriteTo(w)
		return err
	})
}

// pixel is what a pixel of an SVG is on paper.
const pixel = vg.Inch / 96

// A redrawing draws the elements of an SVG as sojourn writes it: rectangles, circles, paths of straight lines, and text,
// with plain attributes.
type redrawing struct {
	format string
	canvas vg.CanvasWriterTo
	height vg.Length
	size   vg.Length // of text
	text   func()    // draws the text that is read, nil outside of one
	words  string
	err    error
}

// read draws all elements.
func (d *redrawing) read(in *xml.Decoder) error {
	for {
		token, err := in.Token()
		switch {
		case errors.Is(err, io.EOF) && d.canvas == nil:
			return errors.New("no picture")
		case errors.Is(err, io.EOF):
			return d.err
		case err != nil:
			return err
		}
		switch token := token.(type) {
		case xml.StartElement:
			attributes := map[string]string{}
			for _, a := range token.Attr {
				attributes[a.Name.Local] = a.Value
			}
			if token.Name.Local != "svg" && d.canvas == nil {
				return fmt.Errorf("begins with <%s>", token.Name.Local)
			}
			d.element(token.Name.Local, attributes)
		case xml.CharData:
			if d.text != nil {
				d.words += string(token)
			}
		case xml.EndElement:
			if d.text != nil {
				d.text()
				d.text, d.words = nil, ""
			}
		}
		if d.err != nil {
			return d.err
		}
	}
}

// number returns a number of an element in the units of the paper.
func (d *redrawing) number(text string) vg.Length {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(math.Abs(v) <= 1e5) {
		d.err = fmt.Errorf("number %q", text)
	}
	return vg.Length(v) * pixel
}

func (d *redrawing) colour(text string) color.Color {
	v, err := strconv.ParseUint(strings.TrimPrefix(text, "#"), 16, 24)
	if err != nil || len(text) != 7 {
		d.err = fmt.Errorf("colour %q", text)
	}
	return color.RGBA{uint8(v >> 16), uint8(v >> 8), uint8(v), 255}
}

func (d *redrawing) element(name string, a map[string]string) {
	x, y := vg.Length(0), vg.Length(0)
	if a["x"] != "" {
		x, y = d.number(a["x"]), d.height-d.number(a["y"])
	}
	switch name {
	case "svg":
		d.begin(d.number(a["width"]), d.number(a["height"]), d.number(a["font-size"]))
	case "rect":
		w, h := d.number(a["width"]), d.number(a["height"])
		d.canvas.SetColor(d.colour(a["fill"]))
		d.canvas.Fill(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: x, Y: y}}, {Type: vg.LineComp, Pos: vg.Point{X: x + w, Y: y}},
			{Type: vg.LineComp, Pos: vg.Point{X: x + w, Y: y - h}}, {Type: vg.LineComp, Pos: vg.Point{X: x, Y: y - h}}, {Type: vg.CloseComp}})
	case "circle":
		centre, r := vg.Point{X: d.number(a["cx"]), Y: d.height - d.number(a["cy"])}, d.number(a["r"])
		d.canvas.SetColor(d.colour(a["fill"]))
		d.canvas.Fill(vg.Path{{Type: vg.MoveComp, Pos: vg.Point{X: centre.X + r, Y: centre.Y}}, {Type: vg.ArcComp, Pos: centre, Radius: r, Angle: 2 * math.Pi}, {Type: vg.CloseComp}})
	case "path":
		path := d.path(a["d"])
		if a["fill"] != "none" {
			d.canvas.SetColor(d.colour(a["fill"]))
			d.canvas.Fill(path)
		}
		d.canvas.SetColor(d.colour(a["stroke"]))
		d.canvas.SetLineWidth(d.number(a["stroke-width"]))
		var dashes []vg.Length
		for _, part := range strings.Fields(a["stroke-dasharray"]) {
			dashes = append(dashes, d.number(part))
		}
		d.canvas.SetLineDash(dashes, 0)
		d.canvas.Stroke(path)
	case "text":
		d.canvas.SetColor(d.colour(a["fill"]))
		d.text = func() { d.write(x, y, a["text-anchor"], a["transform"] != "") }
	}
}

// begin makes the canvas.
func (d *redrawing) begin(width, height, size vg.Length) {
	if d.err != nil {
		return
	}
	d.height, d.size = height, size
	d.canvas, d.err = newCanvas(width, height, d.format)
}

// write draws the text that was read, upwards if it is turned.
func (d *redrawing) write(x, y vg.Length, anchor string, turned bool) {
	face := font.DefaultCache.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, d.size)
	at := vg.Point{X: x, Y: y}
	d.canvas.Push()
	if turned {
		d.canvas.Translate(at)
		d.canvas.Rotate(math.Pi / 2)
		at = vg.Point{}
	}
	switch anchor {
	case "middle":
		at.X -= face.Width(d.words) / 2
	case "end":
		at.X -= face.Width(d.words)
	}
	d.canvas.FillString(face, at, d.words)
	d.canvas.Pop()
}

// path reads a path of straight lines.
func (d *redrawing) path(text string) (p vg.Path) {
	for text != "" && d.err == nil {
		command := text[0]
		n := strings.IndexAny(text[1:], "MLHVlhz") + 1
		if n == 0 {
			n = len(text)
		}
		var v []vg.Length
		for _, word := range strings.Fields(text[1:n]) {
			v = append(v, d.number(word))
		}
		text = text[n:]
		if want := map[byte]int{'M': 2, 'L': 2, 'l': 2, 'H': 1, 'V': 1, 'h': 1}[command]; len(v) != want || strings.IndexByte("MLHVlhz", command) < 0 || len(p) == 0 && command != 'M' {
			d.err = fmt.Errorf("path command %q with %d numbers", command, len(v))
			return p
		}
		kind, at := vg.LineComp, vg.Point{}
		if len(p) > 0 {
			at = p[len(p)-1].Pos
		}
		switch command {
		case 'M':
			kind, at = vg.MoveComp, vg.Point{X: v[0], Y: d.height - v[1]}
		case 'L':
			at = vg.Point{X: v[0], Y: d.height - v[1]}
		case 'l':
			at = vg.Point{X: at.X + v[0], Y: at.Y - v[1]}
		case 'H':
			at.X = v[0]
		case 'V':
			at.Y = d.height - v[0]
		case 'h':
			at.X += v[0]
		case 'z':
			kind = vg.CloseComp
		}
		p = append(p, vg.PathComp{Type: kind, Pos: at})
	}
	return p
}
