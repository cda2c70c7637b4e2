package option_test

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/internal/option"
)

type color uint8

var colors = []string{"red", "green", "blue"}

func (c color) String() string { return option.Name("Color", colors, c) }

func (c *color) UnmarshalText(text []byte) error { return option.SetName(c, "color", colors, text) }

func TestChecks(t *testing.T) {
	for _, tc := range []struct {
		got  error
		want string
	}{
		{option.AtLeast("N", 0, 0), ""},
		{option.AtLeast("N", -1, 0), "N is -1: want at least 0"},
		{option.AtLeast("Delay", -time.Second, 0), "Delay is -1s: want at least 0s"},
		{option.AtLeast("X", math.NaN(), 0), "X is NaN: want at least 0"},
		{option.Range("N", 1, 1, 3), ""},
		{option.Range("N", 3, 1, 3), ""},
		{option.Range("N", 0, 1, 3), "N is 0: want 1 to 3"},
		{option.Range("N", 4, 1, 3), "N is 4: want 1 to 3"},
		{option.Range("X", math.NaN(), 0, 1), "X is NaN: want 0 to 1"},
		{option.Choice("Color", color(2)), ""},
		{option.Choice("Color", color(3)), `Color: unknown color "Color(3)": want red, green or blue`},
		{option.Want(true, "X", 1, "2"), ""},
		{option.Want(false, "X", 1, "%d", 2), "X is 1: want 2"},
		{option.OrZero(0, option.AtLeast("N", 0, 1)), ""},
		{option.OrZero(-1, option.AtLeast("N", -1, 1)), "N is -1: want at least 1"},
		{option.First("", nil, errors.New("a")), "a"},
		{option.First("p", nil, nil), ""},
		{option.First("p", nil, errors.New("a"), errors.New("b")), "p: a"},
	} {
		got := ""
		if tc.got != nil {
			got = tc.got.Error()
		}
		if got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
}

func TestPointed(t *testing.T) {
	bad := errors.New("bad")
	refuse := func(n int) error {
		if n == 7 {
			return bad
		}
		return nil
	}
	six, seven := 6, 7
	for _, tc := range []struct {
		p    *int
		want error
	}{{nil, nil}, {&six, nil}, {&seven, bad}} {
		if got := option.Pointed(tc.p, refuse); got != tc.want {
			t.Errorf("Pointed = %v, want %v", got, tc.want)
		}
	}
}
