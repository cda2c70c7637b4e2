package page

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// hostile is a name that would end a script, an attribute, or a comment.
const hostile = `</script><script>alert(1)</script><img src=x onerror="alert(2)"> & ' <!-- -->`

// full returns a report that has everything, with a name wherever there is one.
func full(name string) *Report {
	g := NewGantt(0, 100)
	g.AddJob(name, name, name, 0, 0)
	g.AddRun(Lanes{Name: name, Note: name, Share: 1}, map[int]string{0: name}, []Box{{Slot: 0, Start: 1, End: 2}}, []float64{0}, []JobTimes{{1, 2, math.NaN()}})
	return &Report{
		Title: name, Verdict: []string{name}, Notes: []string{name}, Facts: []Fact{{name, name}},
		Command: name, Bold: []string{name},
		Ratios: &Ratios{Policies: []string{name}, Grids: []RatioGrid{{ID: "g", Title: name, Help: name, Over: name, Rows: []Ratio{{name, Numbers{1}, Numbers{math.NaN()}}}}}},
		Plots:  []Plot{{ID: "a", Title: name, Help: name, X: Axis{Label: name}, Y: Axis{Label: name}, Series: []Series{{Name: name, X: Numbers{1}, Y: Numbers{math.Inf(1)}}}}},
		Gantt:  g,
		Tables: []Table{{ID: "t", Title: name, Help: name, Columns: []Column{{Name: name}, {Name: name, Unit: name, Number: true}}, Rows: [][]Cell{{{Text: name}, {Text: name, Sort: math.NaN()}}}}},
	}
}

// Names stay texts, wherever they stand.
func TestNamesAreEscaped(t *testing.T) {
	var b strings.Builder
	if err := full(hostile).Write(&b); err != nil {
		t.Fatal(err)
	}
	text := b.String()
	for _, bad := range []string{"<script>alert", "<img src=x", `onerror="alert`, "<!-- -->"} {
		if strings.Contains(text, bad) {
			t.Errorf("the page holds %s", bad)
		}
	}
	if n := strings.Count(text, "</script>"); n != 2 {
		t.Errorf("%d scripts end, want 2: data and program", n)
	}
	if n := strings.Count(text, "&lt;script&gt;alert"); n < 15 {
		t.Errorf("the name is %d times in the page", n)
	}
	data := regexp.MustCompile(`(?s)id="data">(.*?)</script>`).FindStringSubmatch(text)
	var read struct {
		Plots []Plot
		Gantt struct{ Runs []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(data[1]), &read); err != nil {
		t.Fatal(err)
	}
	if got := read.Plots[0].Series[0].Name; got != hostile || read.Gantt.Runs[0].Name != hostile {
		t.Errorf("name in the data %q, want %q", got, hostile)
	}
}

// Numbers that are none or infinite are null in the data, so that a page leaves them out and can be read.
func TestNumbersInTheData(t *testing.T) {
	got, err := json.Marshal(Numbers{1.5, math.NaN(), math.Inf(1), math.Inf(-1), -2e9, 1.0 / 3, 0})
	if want := "[1.5,null,null,null,-2e+09,0.33333,0]"; err != nil || string(got) != want {
		t.Errorf("%s and %v, want %s", got, err, want)
	}
}

// The data of a page tell which share of the attempts is drawn: with less than all, it says that its numbers are estimates.
func TestShareInTheData(t *testing.T) {
	for _, share := range []float64{1, 0.25} {
		g := NewGantt(0, 1)
		g.AddRun(Lanes{Share: share}, nil, nil, nil, nil)
		text, err := json.Marshal(g)
		if want := `"share":` + strconv.FormatFloat(share, 'g', -1, 64) + ","; err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s and %v, want %s", text, err, want)
		}
	}
}

// A page says nowhere where anything else is, except in data: URLs.
func TestNoLinks(t *testing.T) {
	var b strings.Builder
	if err := full("job").Write(&b); err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?i)(https?:|//[a-z]|src=|href="[^d]|@import|\burl\([^#])[^\n]{0,40}`).FindAllString(b.String(), -1) {
		if !strings.HasPrefix(m, "// ") {
			t.Errorf("the page holds %q", m)
		}
	}
	if !strings.Contains(b.String(), `content="default-src 'none';`) {
		t.Error("the page does not forbid requests")
	}
}

// Boxes that are unpacked are those that were packed, to a tick: slot by slot, and by their start.
func TestBoxesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := NewGantt(0, 1<<21) // a tick is a second
		var boxes []Box
		at := map[int]int{}
		for range rapid.IntRange(0, 20).Draw(t, "boxes") {
			slot := rapid.IntRange(0, 3).Draw(t, "slot")
			start := at[slot] + rapid.IntRange(0, 1000).Draw(t, "gap")
			at[slot] = start + rapid.IntRange(0, 1000).Draw(t, "length")
			boxes = append(boxes, Box{slot, float64(start), float64(at[slot]), rapid.IntRange(0, 300).Draw(t, "job"), rapid.IntRange(0, 3).Draw(t, "locality"), rapid.IntRange(0, 1).Draw(t, "outcome")})
		}
		late := rapid.IntRange(-5000, 5000).Draw(t, "late")
		g.AddRun(Lanes{}, map[int]string{0: "a", 1: "b", 2: "c", 3: "d"}, boxes, []float64{10, 10}, []JobTimes{{12, 30, float64(late)}, {math.NaN(), math.NaN(), math.NaN()}})
		l := g.Runs[0]
		rest := []byte(l.Boxes)
		next := func() int {
			v, n := binary.Uvarint(rest)
			rest = rest[n:]
			return int(v)
		}
		var got []Box
		for _, name := range l.Slots {
			now := 0
			for range next() {
				b := Box{Slot: int(name[0] - 'a')}
				now += next()
				b.Start = float64(now)
				now += next()
				b.End, b.Job = float64(now), next()
				code := next()
				b.Locality, b.Outcome = code%8, code/8
				got = append(got, b)
			}
		}
		slices.SortStableFunc(boxes, func(a, b Box) int { return a.Slot - b.Slot })
		if len(rest) > 0 || !slices.Equal(got, boxes) {
			t.Errorf("boxes %v, want %v", got, boxes)
		}
		rest = l.Times
		wait, sojourn, zigzag := next(), next(), next()-1
		sign := zigzag / 2
		if zigzag%2 == 1 {
			sign = -(zigzag + 1) / 2
		}
		if wait != 3 || sojourn != 21 || sign != late || next() != 0 || next() != 0 || next() != 0 {
			t.Errorf("times %d %d %d, want 3 21 %d, and zeros", wait, sojourn, sign, late)
		}
	})
}
