package option_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/option"
)

func TestNamesAndBack(t *testing.T) {
	for i, name := range colors {
		c := color(7)
		if err := option.SetName(&c, "color", colors, []byte(name)); err != nil || c != color(i) {
			t.Errorf("Set %q = %v, %v, want %d", name, c, err, i)
		}
		if got := option.Name("Color", colors, c); got != name {
			t.Errorf("Name(%d) = %q, want %q", c, got, name)
		}
	}
	if got := option.Name("Color", colors, color(3)); got != "Color(3)" {
		t.Errorf("Name(3) = %q", got)
	}
}

func TestUnknownNameChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{colors, `unknown color "Red": want red, green or blue`},
		{colors[:2], `unknown color "Red": want red or green`},
	} {
		c := color(1)
		err := option.SetName(&c, "color", tc.names, []byte("Red"))
		if err == nil || err.Error() != tc.want || c != 1 {
			t.Errorf("Set = %v, %v, want 1, %s", c, err, tc.want)
		}
	}
}
