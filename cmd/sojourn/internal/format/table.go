package format

import (
	"fmt"
	"math"
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
}

func (t *Table) Add(group, title string, cells []string) {
	t.columns = append(t.columns, tableColumn{group, title, cells})
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

// nameWidth is where the names of lines are broken, between the options of a policy, if
// the table is too wide otherwise.
const nameWidth = 30

// String lays the table out: names to the left, cells to the right of their column, two
// spaces between columns. What does not fit into the width of tables continues below,
// with the names again; groups of columns stay together where they can.
func (t *Table) String() string {
	t = t.visible()
	var blocks []string
	names, first := t.brokenNames(math.MaxInt32)
	if first+widthOf(t.columns) > tableWidth {
		names, first = t.brokenNames(nameWidth)
	}
	for columns := t.columns; ; {
		n := fitting(columns, tableWidth-first)
		blocks = append(blocks, t.block(columns[:n], names, first))
		if columns = columns[n:]; len(columns) == 0 {
			return strings.Join(blocks, "\n")
		}
	}
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
		v.columns = append(v.columns, tableColumn{c.group, c.title, all(c.cells)})
	}
	return v
}

// brokenNames returns each name in lines of at most so many characters, if they can be
// broken, and the width of the longest.
func (t *Table) brokenNames(most int) (names [][]string, width int) {
	width = utf8.RuneCountInString(t.Corner)
	for _, name := range t.Names {
		lead := 0 // what stands before a policy in the same cell
		if i := strings.LastIndex(name, "  "); i >= 0 {
			lead = utf8.RuneCountInString(name[:i+2])
		}
		lines := []string{""}
		for part := range strings.SplitAfterSeq(name, ",") {
			last := &lines[len(lines)-1]
			if *last != "" && !strings.HasPrefix(part, " ") && utf8.RuneCountInString(*last)+utf8.RuneCountInString(part)-lead > most {
				lines = append(lines, strings.Repeat(" ", lead+2)+part)
			} else {
				*last += part
			}
		}
		for _, line := range lines {
			width = max(width, utf8.RuneCountInString(line))
		}
		names = append(names, lines)
	}
	return names, width
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
		if widthOf(columns[:group]) <= room {
			n = group
			continue
		}
		if n == 0 || widthOf(columns[n:group]) > room {
			for n < group && (n == 0 || widthOf(columns[:n+1]) <= room) {
				n++
			}
		}
		break
	}
	return n
}

// widthOf returns the width of columns side by side, with what separates them.
func widthOf(columns []tableColumn) int {
	total := 0
	for _, w := range columnWidths(columns) {
		total += 2 + w
	}
	return total
}

// columnWidths returns the width of each column. The first of a group has room for the
// heading of the group.
func columnWidths(columns []tableColumn) []int {
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
		widths[start] += max(0, utf8.RuneCountInString(columns[start].group)-total)
	}
	return widths
}

// block lays some columns out.
func (t *Table) block(columns []tableColumn, names [][]string, first int) string {
	widths := columnWidths(columns)
	var b strings.Builder
	groups := strings.Repeat(" ", first)
	for i := 0; i < len(columns); {
		group, total := columns[i].group, -2
		for ; i < len(columns) && columns[i].group == group; i++ {
			total += 2 + widths[i]
		}
		groups += "  " + heading(group, total)
	}
	if groups = strings.TrimRight(groups, " "); groups != "" {
		b.WriteString(groups + "\n")
	}
	fmt.Fprintf(&b, "%-*s", first, t.Corner)
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
			b.WriteString(more + "\n")
		}
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
