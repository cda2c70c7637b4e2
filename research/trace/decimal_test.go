package trace

import (
	"regexp"
	"testing"
)

// All texts of up to five of these characters.
func TestIsDecimal(t *testing.T) {
	want := regexp.MustCompile(`^[0-9]+(\.[0-9]+)?$`)
	var try func(text []byte)
	try = func(text []byte) {
		if got := isDecimal(text); got != want.Match(text) {
			t.Errorf("isDecimal(%q) = %t", text, got)
		}
		if len(text) == 5 {
			return
		}
		for _, b := range []byte("09.-e/:") {
			try(append(text, b))
		}
	}
	try(nil)
}
