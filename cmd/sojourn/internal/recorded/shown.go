package recorded

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/page"
)

// mostRows is how many rows of a table for the terminal a page has.
const mostRows = 1000

// leading is the number with which a cell begins.
var leading = regexp.MustCompile(`^-?[0-9][0-9,]*(\.[0-9]+)?`)

// TableOf returns a table for the terminal as a table of a page.
func TableOf(id, title, help string, t *format.Table) page.Table {
	shown := page.Table{ID: id, Title: title, Help: help, Columns: []page.Column{{Name: t.Corner}}}
	names := t.Names
	if len(names) > mostRows {
		names, shown.Of = names[:mostRows], format.Thousands(len(t.Names))
	}
	for _, name := range names {
		shown.Rows = append(shown.Rows, []page.Cell{text(bounded(strings.TrimSpace(name)))})
	}
	t.Columns(func(group, title string, cells []string) {
		column := page.Column{Name: strings.TrimSpace(bounded(group) + " " + title)}
		for i := range names {
			cell := page.Cell{Text: bounded(cells[i]), Sort: math.NaN()}
			if v, err := strconv.ParseFloat(strings.ReplaceAll(leading.FindString(cells[i]), ",", ""), 64); err == nil {
				cell.Sort, column.Number = v, true
			}
			shown.Rows[i] = append(shown.Rows[i], cell)
		}
		shown.Columns = append(shown.Columns, column)
	})
	return shown
}

// CommandLine returns a command with its arguments and flags, as a shell reads them.
func CommandLine(command string, args []string, flags map[string]string) string {
	for _, arg := range args {
		command += " " + quoted(arg)
	}
	return (&runInfo{Command: command, Flags: flags}).again()
}
