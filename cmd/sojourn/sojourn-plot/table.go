package main

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// table reads plots from a CSV file. The first row names the columns, and each other one is a point: the name of its line, the name of
// its plot, x and y. A line has the same colour in all plots, and the axes are logarithmic.
func table(name string) (plots []page.Plot, err error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(rows) < 2 || len(rows[0]) < 4 {
		return nil, fmt.Errorf("%s: want rows of a line, a plot, x and y, below a row that names them", name)
	}
	var lines []page.Series
	for _, row := range rows[1:] {
		if !slices.ContainsFunc(lines, func(s page.Series) bool { return s.Name == row[0] }) {
			lines = append(lines, page.Series{Name: row[0]})
		}
	}
	for i, row := range rows[1:] {
		x, y := positive(row[2]), positive(row[3])
		if math.IsNaN(x) || math.IsNaN(y) || row[1] != filepath.Base(row[1]) {
			return nil, fmt.Errorf("%s, record %d: plot %q, x %q and y %q: want a plain name and two numbers above 0", name, i+2, row[1], row[2], row[3])
		}
		k := slices.IndexFunc(plots, func(p page.Plot) bool { return p.ID == row[1] })
		if k < 0 {
			k = len(plots)
			up := strings.ReplaceAll(rows[0][3], "_", " ")
			plots = append(plots, page.Plot{ID: row[1], X: page.Axis{Label: row[1], Scale: page.Log}, Y: page.Axis{Label: up, Scale: page.Log}, Series: slices.Clone(lines)})
		}
		s := &plots[k].Series[slices.IndexFunc(lines, func(s page.Series) bool { return s.Name == row[0] })]
		s.X, s.Y = append(s.X, x), append(s.Y, y)
	}
	return plots, nil
}

// positive reads a number above 0; what is none is NaN.
func positive(text string) float64 {
	if v, err := strconv.ParseFloat(text, 64); err == nil && v > 0 && v <= math.MaxFloat64 {
		return v
	}
	return math.NaN()
}
