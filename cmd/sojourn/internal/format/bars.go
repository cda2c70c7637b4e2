package format

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// longestBar is how many characters a bar has at most.
const longestBar = 40

// Bars returns a line for each name: the name, its number with the unit, and a bar as long as the number is beside the greatest. A name that is
// wider than a third of the line is cut. There is no line where a number is negative or not known, or all are 0.
func Bars(names []string, values []float64, unit string) string {
	cells, shown := Column(values), make([]string, len(names))
	greatest, first, second := 0.0, 0, 0
	for i, v := range values {
		if !(v >= 0) || math.IsInf(v, 0) {
			return ""
		}
		greatest = max(greatest, v)
		shown[i] = Visible(names[i])
		if most := Width() / 3; utf8.RuneCountInString(shown[i]) > most {
			shown[i] = string([]rune(shown[i])[:most-1]) + "…"
		}
		first, second = max(first, utf8.RuneCountInString(shown[i])), max(second, len(cells[i]))
	}
	if greatest == 0 {
		return ""
	}
	var b strings.Builder
	room := max(0, min(longestBar, Width()-first-second-utf8.RuneCountInString(unit)-7))
	for i, v := range values {
		bar := strings.Repeat("▇", int(math.Round(v/greatest*float64(room))))
		b.WriteString(strings.TrimRight(fmt.Sprintf("  %-*s  %*s %s  %s", first, shown[i], second, cells[i], unit, bar), " ") + "\n")
	}
	return b.String()
}
