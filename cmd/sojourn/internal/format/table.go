package format

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Table has one line for each name, and columns of cells to the right of the
// names. Neighbouring columns of one group share a heading above their own.
type Table struct {
	Corner  string   // above the names
	Names   []string // of the lines, from the top
	columns []tableColumn
	group   string // of the latest line: see Under
}

type tableColumn struct {
	group, title string
	cells        []string // as many as there are names
	minor        bool     // is left out where there is no room
}

func (t *Table) Add(group, title string, cells []string) {
	t.columns = append(t.columns, tableColumn{group: group, title: title, cells: cells})
}

// AddMinor is Add for a column that is left out, and named, where there is no room for it.
func (t *Table) AddMinor(group, title string, cells []string) {
	t.columns = append(t.columns, tableColumn{group, title, cells, true})
}

// Columns calls column for each column, from the left.
func (t *Table) Columns(column func(group, title string, cells []string)) {
	for _, c := range t.columns {
		column(c.group, c.title, c.cells)
	}
}

// Row adds a line: its name, and its cells in the first columns.
func (t *Table) Row(name string, cells ...string) {
	t.Names = append(t.Names, name)
	for i, cell := range cells {
		t.columns[i].cells = append(t.columns[i].cells, cell)
	}
}

// Under returns the name of a line that is one of a group. Only the first line of the group has the group's name, in a column of that width.
func (t *Table) Under(width int, group, name string) string {
	shown := group
	if len(t.Names) > 0 && group == t.group {
		shown = ""
	}
	t.group = group
	return fmt.Sprintf("%-*s  %s", width, shown, name)
}

// nameWidth is what the names of lines may take where the table is too wide otherwise.
const nameWidth = 30

// String is Fit of [Width].
func (t *Table) String() string { return t.Fit(Width()) }

// Fit lays the table out: names to the left, cells to the right of their column, two
// spaces between columns. Where the width has no room for all, minor columns are left out, the last first, and named below.
// What still does not fit continues below, with the names again; groups of columns stay together where they can.
func (t *Table) Fit(width int) string {
	t = t.visible()
	columns := t.columns
	corner, names, first := t.brokenNames(math.MaxInt32/2, 0)
	if first+widthOf(columns, false) > width {
		corner, names, first = t.brokenNames(min(nameWidth, width/2), width-widthOf(columns, false))
	}
	room := width - first
	var left []tableColumn // out
	for i := len(columns) - 1; i >= 0 && widthOf(columns, false) > room; i-- {
		if c := columns[i]; c.minor {
			left = slices.Insert(left, 0, c)
			columns = slices.Delete(slices.Clone(columns), i, i+1)
		}
	}
	var blocks []string
	for len(columns) > 0 || len(blocks) == 0 {
		n := fitting(columns, room)
		blocks = append(blocks, block(corner, columns[:n], names, first, room))
		columns = columns[n:]
	}
	text := strings.Join(blocks, "\n")
	if len(left) > 0 {
		named := "left out for width: "
		for i, c := range left {
			switch {
			case i > 0 && c.group == left[i-1].group:
				named += ", "
			case i > 0:
				named += "; "
			}
			if c.group != "" && (i == 0 || c.group != left[i-1].group) {
				named += c.group + ": "
			}
			named += c.title
		}
		text += strings.Join(Wrap(named, width, "  "), "\n") + "\n"
	}
	return text
}

// visible returns the table with names and cells as [Visible] shows them.
func (t *Table) visible() *Table {
	all := func(list []string) []string {
		shown := make([]string, len(list))
		for i := range list {
			shown[i] = Visible(list[i])
		}
		return shown
	}
	v := &Table{Corner: t.Corner, Names: all(t.Names)}
	for _, c := range t.columns {
		v.columns = append(v.columns, tableColumn{c.group, c.title, all(c.cells), c.minor})
	}
	return v
}

// brokenNames returns the corner and each name in lines, as broken does, and the width of the longest.
func (t *Table) brokenNames(soft, hard int) (corner []string, names [][]string, width int) {
	corner = broken(t.Corner, soft, hard)
	for _, name := range t.Names {
		names = append(names, broken(name, soft, hard))
	}
	for _, lines := range append(names, corner) {
		for _, line := range lines {
			width = max(width, utf8.RuneCountInString(line))
		}
	}
	return corner, names, width
}

// broken returns a name in lines. It is broken between the options of a policy where it has more than soft characters, besides what
// stands before a policy in the same cell; and between words, or where there is no other way, where it has more than hard ones, too.
func broken(name string, soft, hard int) (lines []string) {
	lead := 0
	if i := strings.LastIndex(name, "  "); i >= 0 {
		lead = utf8.RuneCountInString(name[:i+2])
	}
	soft += lead
	hard = max(soft, hard)
	indent := []rune(strings.Repeat(" ", lead+2))
	var line []rune
	for part := range strings.SplitAfterSeq(name, ",") {
		if len(line) > 0 && !strings.HasPrefix(part, " ") && len(line)+utf8.RuneCountInString(part) > soft {
			lines = append(lines, string(line))
			line = slices.Clone(indent)
		}
		line = append(line, []rune(part)...)
		for len(line) > hard {
			at := hard
			if space := strings.LastIndex(strings.TrimLeft(string(line[:at]), " "), " "); space > 0 {
				at -= utf8.RuneCountInString(strings.TrimLeft(string(line[:at]), " ")[space+1:])
			}
			lines = append(lines, string(line[:at]))
			line = slices.Concat(indent, line[at:])
		}
	}
	return append(lines, string(line))
}

// fitting returns how many of the columns stand in one block of some width: at least
// one, and no part of a group that would fit into a block of its own.
func fitting(columns []tableColumn, room int) int {
	n := 0
	for n < len(columns) {
		group := n + 1
		for group < len(columns) && columns[group].group == columns[n].group && columns[n].group != "" {
			group++
		}
		if widthOf(columns[:group], false) <= room {
			n = group
			continue
		}
		if n == 0 || widthOf(columns[n:group], false) > room {
			for n < group && (n == 0 || widthOf(columns[:n+1], false) <= room) {
				n++
			}
		}
		break
	}
	return n
}

// widthOf returns the width of columns side by side, with what separates them.
func widthOf(columns []tableColumn, whole bool) int {
	total := 0
	for _, w := range columnWidths(columns, whole) {
		total += 2 + w
	}
	return total
}

// columnWidths returns the width of each column. The first of a group has room for the
// heading of the group: the whole of it, or each of its words.
func columnWidths(columns []tableColumn, whole bool) []int {
	widths := make([]int, len(columns))
	for i, c := range columns {
		widths[i] = utf8.RuneCountInString(c.title)
		for _, cell := range c.cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for i := 0; i < len(columns); {
		start, total := i, -2
		for ; i < len(columns) && columns[i].group == columns[start].group; i++ {
			total += 2 + widths[i]
		}
		words := []string{columns[start].group}
		if !whole {
			words = strings.Fields(words[0])
		}
		most := 0
		for _, word := range words {
			most = max(most, utf8.RuneCountInString(word))
		}
		widths[start] += max(0, most-total)
	}
	return widths
}

// block lays some columns out.
func block(corner []string, columns []tableColumn, names [][]string, first, room int) string {
	widths := columnWidths(columns, widthOf(columns, true) <= room)
	var b strings.Builder
	var headings [][]string // of each group, the lines
	var totals []int
	most := len(corner) - 1
	for i := 0; i < len(columns); {
		group, total := columns[i].group, -2
		for ; i < len(columns) && columns[i].group == group; i++ {
			total += 2 + widths[i]
		}
		headings, totals = append(headings, Wrap(group, total, "")), append(totals, total)
		most = max(most, len(headings[len(headings)-1]))
	}
	for line := range most {
		text := ""
		if at := line - (most - len(corner)) - 1; at >= 0 {
			text = corner[at]
		}
		text = fmt.Sprintf("%-*s", first, text)
		for i, h := range headings {
			part := ""
			if at := line - (most - len(h)); at >= 0 {
				part = h[at]
			}
			text += "  " + heading(part, totals[i], len(h) == 1)
		}
		if text = strings.TrimRight(text, " "); text != "" {
			b.WriteString(text + "\n")
		}
	}
	fmt.Fprintf(&b, "%-*s", first, corner[len(corner)-1])
	for i, c := range columns {
		fmt.Fprintf(&b, "  %*s", widths[i], c.title)
	}
	b.WriteByte('\n')
	for line, name := range names {
		row := fmt.Sprintf("%-*s", first, name[0])
		for i, c := range columns {
			row += fmt.Sprintf("  %*s", widths[i], c.cells[line])
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
		for _, more := range name[1:] {
			b.WriteString(strings.TrimRight(more, " ") + "\n")
		}
	}
	return b.String()
}

// heading centres the name of a group of columns over their width, in a rule if
// there should be one and there is room for it.
func heading(group string, width int, rule bool) string {
	fill := " "
	if rule && group != "" && width >= utf8.RuneCountInString(group)+6 {
		fill = "-"
		group = " " + group + " "
	}
	space := width - utf8.RuneCountInString(group)
	return strings.Repeat(fill, space/2) + group + strings.Repeat(fill, space-space/2)
}
