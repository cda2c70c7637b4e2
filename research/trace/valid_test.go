package trace

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// isJSON is json.Valid: of values, of values with an edit, and of pieces that are put together at random.
func TestIsJSON(t *testing.T) {
	pieces := rapid.SampledFrom(strings.Fields(`{ } [ ] , : " ' \ \" \u \u12aF \u12g4 \/ \b \f \n \r \t \x a aaaaaaa aaaaaaaaa ` +
		`é true false null tru nul 0 1 9 01 -1 - + . 1.5 1. .5 e E 1e5 1E-5 1e+ "a":1 "a" [] {} / : ; [1,2] {"a":1}`))
	blank := rapid.SampledFrom([]string{"", "", "", " ", "\t", "\n", "\r", "\x1f", "\x00", "\x7f", "\v", "\xff", "\u00a0"})
	check := func(t *rapid.T, text []byte) {
		if got, want := isJSON(text), json.Valid(text); got != want {
			t.Fatalf("isJSON(%q) = %v, want %v", text, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		var text []byte
		for range rapid.IntRange(0, 12).Draw(t, "pieces") {
			text = append(append(text, pieces.Draw(t, "piece")...), blank.Draw(t, "blank")...)
		}
		check(t, text)
		text = drawJSON(t, 4)
		check(t, text)
		if !isJSON(text) {
			t.Fatalf("isJSON(%q) = false, want true", text)
		}
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		check(t, text[:at])
		piece := pieces.Draw(t, "piece") + blank.Draw(t, "blank")
		check(t, append(append(bytes.Clone(text[:at]), piece...), text[at:]...))
		check(t, append(append(bytes.Clone(text[:at]), piece...), text[at+1:]...))
	})
}

// drawJSON returns a value with white space anywhere.
func drawJSON(t *rapid.T, depth int) []byte {
	blank := func() string { return rapid.StringMatching(`[ \t\n\r]{0,2}`).Draw(t, "blank") }
	text := func() string {
		return rapid.StringMatching(`"([ !#-\[\]-~é]{0,9}|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt]){0,3}"`).Draw(t, "string")
	}
	var list []string
	kind := rapid.IntRange(0, 4).Draw(t, "kind")
	if kind > 2 && depth > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			member := blank() + string(drawJSON(t, depth-1)) + blank()
			if kind == 4 {
				member = blank() + text() + blank() + ":" + member
			}
			list = append(list, member)
		}
	}
	value := strings.Join(list, ",")
	switch {
	case kind == 0:
		value = rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?([eE][-+]?[0-9]{1,3})?`).Draw(t, "number")
	case kind == 1:
		value = text()
	case kind == 3:
		value = "[" + value + blank() + "]"
	case kind == 4:
		value = "{" + value + blank() + "}"
	default:
		value = rapid.SampledFrom([]string{"true", "false", "null"}).Draw(t, "literal")
	}
	return []byte(blank() + value + blank())
}

// Lists and objects may be nested as deep as encoding/json allows, and no deeper.
func TestIsJSONDepth(t *testing.T) {
	for _, depth := range []int{1, maxJSONDepth - 1, maxJSONDepth, maxJSONDepth + 1} {
		for _, text := range []string{
			strings.Repeat("[", depth) + strings.Repeat("]", depth),
			strings.Repeat("[", depth) + "1" + strings.Repeat("]", depth),
			strings.Repeat(`{"a":`, depth-1) + "{}" + strings.Repeat("}", depth-1),
		} {
			if got, want := isJSON([]byte(text)), json.Valid([]byte(text)); got != want {
				t.Errorf("depth %d, %s...: isJSON = %v, want %v", depth, text[:5*min(depth, 2)-4], got, want)
			}
		}
	}
}

// plain finds the first byte that it looks for at any place, behind any bytes.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.OneOf(rapid.ByteRange(' ', 0xff), rapid.SampledFrom([]byte("!#[] ~\x7f\x80\x9f\xa0\xa2\xdc\xff"))), 0, 40).Draw(t, "text")
		if len(text) > 0 && rapid.Bool().Draw(t, "ends") {
			text[rapid.IntRange(0, len(text)-1).Draw(t, "at")] = rapid.OneOf(rapid.ByteRange(0, ' '-1), rapid.SampledFrom([]byte(`"\`))).Draw(t, "byte")
		}
		from := rapid.IntRange(0, len(text)).Draw(t, "from")
		want := from
		for want < len(text) && text[want] >= ' ' && text[want] != '"' && text[want] != '\\' {
			want++
		}
		if got := plain(text, from); got != want {
			t.Fatalf("plain(%q, %d) = %d, want %d", text, from, got, want)
		}
	})
}

// Objects end at the same bytes however their strings are written, and whatever pieces the reader delivers.
func TestObjectsEnd(t *testing.T) {
	want := []string{`{"a":"\nb"}`, `{"b":"\\"}`, `{"c":"\"}{"}`, `{"d":["\u00e9",{}]}`}
	for _, size := range []int{1, 2, 3, 64} {
		o := newObjects(open(chunks{strings.NewReader(strings.Join(want, "\n ")), size}, "", limits{}.withDefaults()))
		for i, w := range want {
			if got, err := o.read(); err != nil || string(got) != w || o.line != i+1 {
				t.Errorf("pieces of %d bytes: object %d = %q, %v in line %d, want %q in line %d", size, i, got, err, o.line, w, i+1)
			}
		}
	}
}

// A chunks delivers at most size bytes at a time.
type chunks struct {
	r    *strings.Reader
	size int
}

func (c chunks) Read(p []byte) (int, error) { return c.r.Read(p[:min(len(p), c.size)]) }

// parseUint is strconv.ParseUint, also where numbers go out of range.
func TestParseUint(t *testing.T) {
	for _, text := range []string{"", "0", "007", "9999999999999999999", "18446744073709551615", "18446744073709551616", "99999999999999999999", "1a", "-1", "+1", "00000000000000000000001"} {
		want, err := strconv.ParseUint(text, 10, 64)
		if got, ok := parseUint([]byte(text)); ok != (err == nil) || ok && got != want {
			t.Errorf("parseUint(%q) = %d, %v, want %d, %v", text, got, ok, want, err)
		}
	}
}
