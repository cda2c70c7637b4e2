package format

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

// Bars are as long as their numbers are beside the greatest, and no line is wider than COLUMNS.
func TestBars(t *testing.T) {
	t.Setenv("COLUMNS", "60")
	want := strings.Join([]string{
		"  fifo  100.000 s  " + strings.Repeat("▇", 40),
		"  las    25.000 s  " + strings.Repeat("▇", 10),
		"  fsp     0.040 s",
		"",
	}, "\n")
	if got := Bars([]string{"fifo", "las", "fsp"}, []float64{100, 25, 0.04}, "s"); got != want {
		t.Errorf("bars:\n%swant:\n%s", got, want)
	}
	for _, columns := range []string{"40", "60", "100"} {
		t.Setenv("COLUMNS", columns)
		for line := range strings.Lines(Bars([]string{strings.Repeat("é", 300), "b"}, []float64{1e15, 7}, "s")) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > Width() {
				t.Errorf("%d columns at %s: %s", n, columns, line)
			}
		}
	}
	for _, values := range [][]float64{{0, 0}, {1, math.NaN()}, {1, -1}, {1, math.Inf(1)}} {
		if got := Bars([]string{"a", "b"}, values, "s"); got != "" {
			t.Errorf("%v: %q", values, got)
		}
	}
}
