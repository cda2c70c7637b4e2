package format

import (
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestFormatSeconds(t *testing.T) {
	tests := []struct {
		d    time.Duration
		want string
	}{
		{0, "0"},
		{time.Second, "1"},
		{10 * time.Second, "10"},
		{1500 * time.Millisecond, "1.5"},
		{1, "0.000000001"},
		{-1, "-0.000000001"},
		{-90 * time.Second, "-90"},
		{math.MaxInt64, "9223372036.854775807"},
		{math.MinInt64, "-9223372036.854775808"},
	}
	for _, tc := range tests {
		if got := Duration(tc.d); got != tc.want {
			t.Errorf("formatSeconds(%d) = %q, want %q", int64(tc.d), got, tc.want)
		}
	}
}

// The text is exact, and no shorter one is.
func TestFormatSecondsIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := rapid.Int64().Draw(t, "d")
		text := Duration(time.Duration(d))
		got, ok := new(big.Rat).SetString(text)
		if want := big.NewRat(d, 1e9); !ok || got.Cmp(want) != 0 {
			t.Fatalf("formatSeconds(%d) = %q, want %v", d, text, want)
		}
		if strings.Contains(text, ".") && strings.HasSuffix(text, "0") || strings.HasSuffix(text, ".") {
			t.Fatalf("formatSeconds(%d) = %q, which could be shorter", d, text)
		}
	})
}

func TestColumn(t *testing.T) {
	nan := math.NaN()
	tests := []struct {
		values []float64
		want   []string
	}{
		{nil, []string{}},
		{[]float64{0, nan}, []string{"0", "-"}},
		{[]float64{1234.5678, 100}, []string{"1235", "100"}},
		{[]float64{1234.5678, 12.34}, []string{"1234.6", "12.3"}},
		{[]float64{12345, 1.2345, nan}, []string{"12345.00", "1.23", "-"}},
		{[]float64{0.00012, 5}, []string{"0.000", "5.000"}}, // three decimals at most
		{[]float64{-12.34, math.Inf(1)}, []string{"-12.3", "inf"}},
	}
	for _, tc := range tests {
		if got := Column(tc.values); !slices.Equal(got, tc.want) {
			t.Errorf("column(%v) = %q, want %q", tc.values, got, tc.want)
		}
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 265150: "265,150", 1000000: "1,000,000"} {
		if got := Thousands(n); got != want {
			t.Errorf("thousands(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		1:                               "0.000000001 seconds",
		999999999:                       "1 second",
		90500 * time.Millisecond:        "90.5 seconds",
		119999 * time.Millisecond:       "120 seconds",
		59*time.Minute + 59*time.Second: "60 minutes",
		time.Hour:                       "1 h 00",
		3681600 * time.Millisecond:      "1 h 01",
		2*time.Hour - time.Second:       "2 h 00",
		110 * time.Minute:               "1 h 50",
		47 * time.Hour:                  "47 h 00",
		999 * 24 * time.Hour:            "999 days",
		99951 * 24 * time.Hour / 100:    "1,000 days",
		1274 * 24 * time.Hour:           "1,274 days",
		math.MaxInt64:                   "106,752 days",
	} {
		if got := Span(d); got != want {
			t.Errorf("span(%d) = %q, want %q", d, got, want)
		}
	}
}

// Columns that do not fit beside the names stand below, with the names again. Groups stay
// together where they can, and names of policies are broken if it helps.
func TestWideTable(t *testing.T) {
	tb := Table{Corner: "policy", Names: []string{"fifo", "hfsp:estimator=oracle,sigma=1,delta=5s,early-delay=5m"}}
	cell := strings.Repeat("x", 20)
	for _, title := range []string{"a", "b", "c", "d", "e"} {
		tb.Add(map[string]string{"a": "", "b": "one", "c": "one", "d": "two", "e": "two"}[title], title, []string{cell, "1"})
	}
	for _, line := range strings.Split(tb.String(), "\n") {
		if n := len([]rune(line)); n > Widest {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	blocks := strings.Split(tb.String(), "\n\n")
	if len(blocks) != 2 || strings.Count(tb.String(), cell) != 5 || !strings.Contains(blocks[0], " one ") || strings.Contains(blocks[0], "two") {
		t.Errorf("%d blocks, want the column a with group one, and group two:\n%s", len(blocks), &tb)
	}
	if !strings.Contains(tb.String(), "\n  delta=5s,early-delay=5m\n") {
		t.Errorf("the long name is not broken:\n%s", &tb)
	}
}

// No line of a table is wider than the width, whatever stands in it. Each column is there or, if it is minor, named below; and
// minor columns are left out only where there is no room for all.
func TestTableFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(narrowest, Widest).Draw(t, "width")
		word := func(most int, name string) string {
			return strings.Repeat(rapid.StringMatching("[a-zé]").Draw(t, name), rapid.IntRange(1, most).Draw(t, name+" length"))
		}
		tb := Table{Corner: word(12, "corner")}
		lines := rapid.IntRange(1, 4).Draw(t, "lines")
		for range lines {
			tb.Names = append(tb.Names, strings.Join([]string{word(150, "name"), word(150, "name")}, rapid.SampledFrom([]string{",", ":"}).Draw(t, "between")))
		}
		for i := range rapid.IntRange(1, 12).Draw(t, "columns") {
			group := rapid.SampledFrom([]string{"", "time", "a group of many words that is wider than all its columns"}).Draw(t, "group")
			cells := make([]string, lines)
			for k := range cells {
				cells[k] = word(15, "cell")
			}
			title := word(5, "title") + strconv.Itoa(i)
			if rapid.Bool().Draw(t, "minor") {
				tb.AddMinor(group, title, cells)
			} else {
				tb.Add(group, title, cells)
			}
		}
		text := tb.Fit(width)
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > width {
				t.Fatalf("%d columns at %d:\n%s", n, width, text)
			}
		}
		shown, left, _ := strings.Cut(text, "left out for width: ")
		for _, c := range tb.columns {
			named := slices.Contains(strings.FieldsFunc(left, func(r rune) bool { return strings.ContainsRune(" ,;\n", r) }), c.title)
			if there := slices.Contains(strings.Fields(shown), c.title); there == named || named && !c.minor {
				t.Fatalf("column %s: shown %t, named %t, minor %t:\n%s", c.title, there, named, c.minor, text)
			}
		}
		if strings.Contains(tb.Fit(math.MaxInt32), "left out") {
			t.Fatalf("columns are left out where there is room for all:\n%s", text)
		}
	})
}

// A name that is wider than its place stands in several lines, and nothing of it is lost.
func TestLongName(t *testing.T) {
	name := strings.Repeat("0123456789", 12)
	tb := Table{Corner: "policy", Names: []string{name}}
	tb.Add("", "jobs", []string{strings.Repeat("x", 50)})
	var whole strings.Builder
	for line := range strings.Lines(tb.Fit(80)) {
		if first, _, _ := strings.Cut(strings.TrimSpace(line), " "); first != "policy" {
			whole.WriteString(first)
		}
	}
	if whole.String() != name {
		t.Errorf("%s, want %s", &whole, name)
	}
}

// COLUMNS says how wide lines are, within bounds.
func TestWidth(t *testing.T) {
	for columns, want := range map[string]int{"80": 80, "1": narrowest, "40": 40, "100": 100, "500": Widest, "": Widest, "0": Widest, "-3": Widest, "wide": Widest} {
		if t.Setenv("COLUMNS", columns); Width() != want {
			t.Errorf("COLUMNS=%s: %d, want %d", columns, Width(), want)
		}
	}
}

func TestTable(t *testing.T) {
	tb := Table{Corner: "policy", Names: []string{"fifo", "fair:order=deficit"}}
	tb.Add("time (s)", "mean", []string{"1.5", "12.5"})
	tb.Add("time (s)", "max", []string{"3", "100"})
	tb.Add("", "jobs", []string{"1,000", "7"})
	tb.Add("a group wider than its column", "é", []string{"é", "-"})
	// "time (s)" is centred over 9 characters: there is no room for a rule.
	want := strings.Join([]string{
		"                    time (s)          a group wider than its column",
		"policy              mean  max   jobs                              é",
		"fifo                 1.5    3  1,000                              é",
		"fair:order=deficit  12.5  100      7                              -",
		"",
	}, "\n")
	if got := tb.String(); got != want {
		t.Errorf("table:\n%swant:\n%s", got, want)
	}
}
