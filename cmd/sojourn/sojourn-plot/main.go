// Command sojourn-plot draws pictures for papers, as SVG, PNG, PDF or EPS: the plots of recorded runs, or of a table. In a clone, in its folder:
//
//	go run . -width 8.5 -height 6 -o pictures OUT            what 'sojourn compare -o OUT' wrote
//	go run . -width 16 -height 9 -o pictures TABLE.csv       rows of a line, a plot, x and y
//	go run . -formats png,pdf -o pictures pages/*.svg        the figures that 'sojourn paper -o pages' wrote
//
// It draws what report.html shows: the same lines, axes and units, on white, with texts of 8 points. A figure of a paper becomes the same picture in
// another format, of the same size. It is a module of its own, since the
// library that draws takes longer to build than all of sojourn.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/files"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/recorded"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

func main() {
	ctx, stop := files.Interruptible(context.Background(), "sojourn-plot", os.Stderr, os.Exit)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if err != flag.ErrHelp {
			fmt.Fprintln(os.Stderr, "sojourn-plot:", format.VisibleLines(err.Error()))
		}
		os.Exit(1)
	}
}

// run draws the plots of the folders that the arguments name, and lists the files that it writes.
func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("sojourn-plot", flag.ContinueOnError)
	flags.SetOutput(&format.Shown{To: os.Stderr})
	flags.Usage = func() {
		fmt.Fprintln(flags.Output(), "usage: sojourn-plot [-o FOLDER] [-formats svg,png] [-width CM] [-height CM] [-title] DIR...\n\nDIR is what 'sojourn run, compare, sweep or plan -o DIR' wrote, or a table:\nFILE.csv with rows of a line, a plot, x and y. Or give FILE.svg ..., the figures that\n'sojourn paper -o DIR' wrote, for other formats of them.")
		flags.PrintDefaults()
	}
	folder := flags.String("o", ".", "the `FOLDER` for the pictures, which is made if need be")
	formats := flags.String("formats", "svg,png", "of pictures, separated by commas: svg, png, pdf, eps")
	width := flags.Float64("width", 12, "`CM` of each picture")
	height := flags.Float64("height", 8, "`CM` of each picture")
	title := flags.Bool("title", false, "a title in each picture; papers have captions")
	var dirs []string
	for rest := args; ; dirs, rest = append(dirs, flags.Arg(0)), flags.Args()[1:] { // flags may stand behind folders
		if err := flags.Parse(rest); err != nil {
			return err
		}
		if flags.NArg() == 0 {
			break
		}
	}
	if len(dirs) == 0 {
		return fmt.Errorf("no folder: give what 'sojourn run -o DIR' wrote")
	}
	if !(*width >= 4 && *width <= 200 && *height >= 3 && *height <= 200) {
		return fmt.Errorf("a picture of %g x %g cm: want 4 x 3 to 200 x 200", *width, *height)
	}
	for _, f := range strings.Split(*formats, ",") {
		if f != "svg" && f != "png" && f != "pdf" && f != "eps" {
			return fmt.Errorf("format %q: want svg, png, pdf or eps", f)
		}
	}
	if filepath.Ext(dirs[0]) == ".svg" {
		return figures(ctx, dirs, strings.Split(*formats, ","), *folder, out)
	}
	plots, err := read(ctx, dirs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(*folder, 0o777); err != nil {
		return err
	}
	for i := range plots {
		p, err := picture(&plots[i])
		if err != nil {
			return fmt.Errorf("plot %s: %w", plots[i].ID, err)
		}
		if !*title {
			p.Title.Text = ""
		}
		for _, f := range strings.Split(*formats, ",") {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			name := filepath.Join(*folder, plots[i].ID+"."+f)
			if err := save(p, centimetres(*width), centimetres(*height), f, name); err != nil {
				return err
			}
			fmt.Fprintln(out, format.Visible(name))
		}
	}
	return nil
}

// figures writes pictures of papers in other formats.
func figures(ctx context.Context, names, formats []string, folder string, out io.Writer) error {
	if formats = slices.DeleteFunc(formats, func(f string) bool { return f == "svg" }); len(formats) == 0 {
		return errors.New("-formats svg: the figures are SVG; name another format")
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	for _, file := range names {
		for _, f := range formats {
			if ctx.Err() != nil {
				return errors.New("interrupted")
			}
			name := filepath.Join(folder, strings.TrimSuffix(filepath.Base(file), ".svg")+"."+f)
			if err := redraw(file, f, name); err != nil {
				return err
			}
			fmt.Fprintln(out, format.Visible(name))
		}
	}
	return nil
}

// read returns the plots of folders, or of one table.
func read(ctx context.Context, names []string) ([]page.Plot, error) {
	if len(names) == 1 && filepath.Ext(names[0]) == ".csv" {
		return table(names[0])
	}
	report, err := recorded.Page(ctx, names)
	if err != nil {
		return nil, err
	}
	return report.Plots, nil
}

// dpi is how many dots an inch a PNG has, as papers want it, and mostDots how many in all: 256 MB of memory.
const (
	dpi      = 200
	mostDots = 64e6
)

// newCanvas returns an empty picture.
func newCanvas(width, height vg.Length, format string) (vg.CanvasWriterTo, error) {
	if !(width > 0 && height > 0) {
		return nil, fmt.Errorf("a picture of %g x %g cm", width/vg.Centimeter, height/vg.Centimeter)
	}
	if format != "png" {
		return draw.NewFormattedCanvas(width, height, format)
	}
	if w, h := float64(width/vg.Inch)*dpi, float64(height/vg.Inch)*dpi; w*h > mostDots {
		return nil, fmt.Errorf("a PNG of %.0f x %.0f dots, %d an inch: want %.0f million dots at most; draw it smaller, or as svg or pdf", w, h, dpi, mostDots/1e6)
	}
	return vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))}, nil
}

// save writes a picture.
func save(p *drawing, width, height vg.Length, format, name string) error {
	canvas, err := newCanvas(width, height, format)
	if err != nil {
		return err
	}
	all := draw.New(canvas)
	if format == "png" {
		all.SetColor(color.White)
		all.Fill(all.Rectangle.Path())
	}
	p.draw(all)
	return files.Replace(name, func(w io.Writer) error {
		_, err := canvas.WriteTo(w)
		return err
	})
}
