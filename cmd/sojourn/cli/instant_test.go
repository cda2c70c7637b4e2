package cli

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"pgregory.net/rapid"
)

// Each form in which the command prints a time is read as that time.
func TestInstantsThatArePrinted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.OneOf(rapid.Int64Range(0, math.MaxInt64), rapid.Int64Range(0, 100), rapid.Map(rapid.Int64Range(0, 1e6), func(s int64) int64 { return s * 1e9 })).Draw(t, "at")
		for _, text := range []string{format.Duration(time.Duration(at)), format.Duration(time.Duration(at)) + " s", time.Duration(at).String(), sojourn.Time(at).String()} {
			if got, err := parseInstant(text); err != nil || got != sojourn.Time(at) {
				t.Fatalf("%q is read as %v, %v; want %v", text, got, err, at)
			}
		}
		span := format.Span(time.Duration(at)) // has three digits, or minutes
		off := .0051 * float64(at)
		if strings.Contains(span, " h ") {
			off = 30e9
		}
		if got, err := parseInstant(span); at < math.MaxInt64/2 && (err != nil || math.Abs(float64(got)-float64(at)) > off) {
			t.Fatalf("%q is read as %v, %v; want about %v", span, got, err, at)
		}
	})
}

func TestInstants(t *testing.T) {
	for _, tc := range []struct {
		text string
		want time.Duration
		err  string // a part of it
	}{
		{"0", 0, ""},
		{"23d", 23 * 24 * time.Hour, ""},
		{"2000000", 2_000_000 * time.Second, ""},
		{"2000000s", 2_000_000 * time.Second, ""},
		{"2,000,000", 2_000_000 * time.Second, ""},
		{"4067.910599601", 4067910599601, ""},
		{"1d2h3m4.5s", 26*time.Hour + 3*time.Minute + 4500*time.Millisecond, ""},
		{"1.5 hours", 90 * time.Minute, ""},
		{" 1 day 30 minutes ", 24*time.Hour + 30*time.Minute, ""},
		{".5us", 500, ""},
		{"1.s", time.Second, ""},
		{"9223372036.854775807", math.MaxInt64, ""},
		{"9223372036.854775808", 0, "so long"},
		{"200000d", 0, "so long"},
		{"-1s", 0, "before the history"},
		{"", 0, "want a time"},
		{"noon", 0, "want a time"},
		{"1e6", 0, `called "e"`},
		{"3 weeks", 0, `called "weeks"`},
		{"1h30", 90 * time.Minute, ""},
		{"1 h 01", 61 * time.Minute, ""},
		{"1d30", 0, "30 has no unit"},
		{"1h30m5", 0, "5 has no unit"},
		{"1h30 5s", 0, "30 has no unit"},
		{"20,00s", 0, "20 has no unit"},
		{"1 2 s", 0, "1 has no unit"},
		{"NaN", 0, "want a time"},
	} {
		got, err := parseInstant(tc.text)
		if tc.err == "" && (err != nil || got != sojourn.Time(tc.want)) {
			t.Errorf("%q is read as %v, %v; want %v", tc.text, got, err, tc.want)
		}
		if tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)) {
			t.Errorf("%q: error %v, want one about %q", tc.text, err, tc.err)
		}
	}
}
