package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// A table has one line for each name, and columns of cells to the right of the
// names. Neighbouring columns of one group share a heading above their own.
type table struct {
	corner  string   // above the names
	names   []string // of the lines, from the top
	columns []tableColumn
}

type tableColumn struct {
	group, title string
	cells        []string // as many as there are names
}

func (t *table) add(group, title string, cells []string) {
	t.columns = append(t.columns, tableColumn{group, title, cells})
}

// String lays the table out: names to the left, cells to the right of their
// column, two spaces between columns.
func (t *table) String() string {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, cell := range c.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	first := utf8.RuneCountInString(t.corner)
	for _, name := range t.names {
		first = max(first, utf8.RuneCountInString(name))
	}

	var b strings.Builder
	groups := strings.Repeat(" ", first)
	for i := 0; i < len(t.columns); {
		group, total := t.columns[i].group, -2
		start := i
		for ; i < len(t.columns) && t.columns[i].group == group; i++ {
			total += 2 + widths[i]
		}
		if short := utf8.RuneCountInString(group) - total; short > 0 {
			widths[start] += short
			total += short
		}
		groups += "  " + heading(group, total)
	}
	if groups = strings.TrimRight(groups, " "); groups != "" {
		b.WriteString(groups + "\n")
	}
	fmt.Fprintf(&b, "%-*s", first, t.corner)
	for i, c := range t.columns {
		fmt.Fprintf(&b, "  %*s", widths[i], c.title)
	}
	b.WriteByte('\n')
	for line, name := range t.names {
		row := fmt.Sprintf("%-*s", first, name)
		for i, c := range t.columns {
			row += fmt.Sprintf("  %*s", widths[i], c.cells[line])
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return b.String()
}

// heading centres the name of a group of columns over their width, in a rule if
// there is room for one.
func heading(group string, width int) string {
	fill := " "
	if group != "" && width >= utf8.RuneCountInString(group)+6 {
		fill = "-"
		group = " " + group + " "
	}
	space := width - utf8.RuneCountInString(group)
	return strings.Repeat(fill, space/2) + group + strings.Repeat(fill, space-space/2)
}
