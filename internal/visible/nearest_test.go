package visible

import (
	"strings"
	"testing"
)

// What is meant is found for a slip of the finger, and nothing for another word.
func TestNearest(t *testing.T) {
	known := []string{"fifo", "fair", "srpt", "pfsp", "sample", "seeds", "estimates"}
	for word, want := range map[string]string{
		"smaple": "sample", "sampel": "sample", "fifoo": "fifo", "srtp": "srpt", "psfp": "pfsp", "estimate": "estimates", "estmiates": "estimates", "seed": "seeds",
		"": "", "x": "", "hue": "", "zzzz": "", "priority": "", strings.Repeat("a", 5000): "",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("%.20q: %q, want %q", word, got, want)
		}
	}
	for _, tc := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abd", 1}, {"abc", "acb", 1}, {"kitten", "sitting", 3}} {
		if got, back := distance(tc.a, tc.b), distance(tc.b, tc.a); got != tc.want || back != tc.want {
			t.Errorf("%q and %q: %d and %d, want %d", tc.a, tc.b, got, back, tc.want)
		}
	}
}
