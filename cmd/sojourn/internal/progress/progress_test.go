package progress

import (
	"bytes"
	"testing"
	"time"
)

// What a terminal would show: each line starts over the one before, and none is left in the end.
func TestBar(t *testing.T) {
	for _, tc := range []struct {
		max  int
		want []string
	}{
		{4, []string{"jobs [==========                              ] 1/4", "jobs [========================================] 4/4"}},
		{-1, []string{"jobs 1", "jobs 4"}},
	} {
		var out bytes.Buffer
		b := &Bar{terminal: &out, things: "jobs", max: tc.max}
		b.Add(1)
		for range 3 {
			b.drawn = b.drawn.Add(time.Hour) // within 100 ms: nothing is drawn
			b.Add(1)
		}
		if got, want := out.String(), "\r"+tc.want[0]; got != want {
			t.Errorf("up to %d: after one and three more at once %q, want %q", tc.max, got, want)
		}
		b.drawn = time.Time{}
		b.Add(0)
		if got, want := out.String(), "\r"+tc.want[0]+"\r"+tc.want[1]; got != want {
			t.Errorf("up to %d: later %q, want %q", tc.max, got, want)
		}
		out.Reset()
		b.Clear()
		b.Clear()
		if got, want := out.String(), "\r"+string(bytes.Repeat([]byte(" "), len(tc.want[1])))+"\r"; got != want || b.Count() != 4 {
			t.Errorf("up to %d: cleared by %q with %d counted, want %q and 4", tc.max, got, b.Count(), want)
		}
	}
}

// What is no terminal gets nothing, and the count is right all the same.
func TestNoTerminal(t *testing.T) {
	var out bytes.Buffer
	b := New(&out, "jobs", 10)
	b.Add(3)
	b.Clear()
	if out.Len() > 0 || b.Count() != 3 {
		t.Errorf("%q was written and %d counted, want nothing and 3", out.String(), b.Count())
	}
}

// The time that is left is in proportion to what is left, and is not said before 10 s.
func TestLeft(t *testing.T) {
	for _, tc := range []struct {
		took       time.Duration
		count, max int
		want       string
	}{
		{5 * time.Second, 1, 4, ""},
		{100 * time.Second, 0, 4, ""},
		{100 * time.Second, 4, 4, ""},
		{100 * time.Second, 5, 4, ""},
		{100 * time.Second, 1, -1, ""},
		{100 * time.Second, 2, 3, ", 50 s left"},
		{100 * time.Second, 1, 4, ", 5 min left"},
		{100 * time.Second, 1, 361, ", 10 h left"},
		{time.Hour, 1, 241, ", 10 days left"},
	} {
		b := &Bar{things: "jobs", max: tc.max, count: tc.count, began: time.Now().Add(-tc.took)}
		if got := b.left(); got != tc.want {
			t.Errorf("%d of %d after %v: %q, want %q", tc.count, tc.max, tc.took, got, tc.want)
		}
	}
	if got := (&Bar{max: 4, count: 1}).left(); got != "" {
		t.Errorf("a bar that nobody sees: %q", got)
	}
}
