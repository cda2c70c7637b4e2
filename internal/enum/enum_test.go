package enum_test

import (
	"testing"

	"github.com/sojourn-sched/sojourn/internal/enum"
)

type color uint8

var names = []string{"red", "green", "blue"}

func TestNamesAndBack(t *testing.T) {
	for i, name := range names {
		c := color(7)
		if err := enum.Set(&c, "color", names, []byte(name)); err != nil || c != color(i) {
			t.Errorf("Set %q = %v, %v, want %d", name, c, err, i)
		}
		if got := enum.Name("Color", names, c); got != name {
			t.Errorf("Name(%d) = %q, want %q", c, got, name)
		}
	}
	if got := enum.Name("Color", names, color(3)); got != "Color(3)" {
		t.Errorf("Name(3) = %q", got)
	}
}

func TestUnknownNameChangesNothing(t *testing.T) {
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{names, `unknown color "Red": want red, green or blue`},
		{names[:2], `unknown color "Red": want red or green`},
	} {
		c := color(1)
		err := enum.Set(&c, "color", tc.names, []byte("Red"))
		if err == nil || err.Error() != tc.want || c != 1 {
			t.Errorf("Set = %v, %v, want 1, %s", c, err, tc.want)
		}
	}
}
