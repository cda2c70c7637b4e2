package trace

import (
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseSeconds(t *testing.T) {
	zeros := strings.Repeat("0", 1000)
	tests := []struct {
		number string
		want   time.Duration
	}{
		{"0", 0}, {"-0", 0}, {"-0.000", 0}, {"0e9", 0}, {"0e99999999999999999999", 0},
		{"1", time.Second}, {"1.0", time.Second}, {"1e0", time.Second}, {"0.1e1", time.Second}, {"10e-1", time.Second},
		{"1e3", 1000 * time.Second}, {"1E+3", 1000 * time.Second}, {"1.5e-3", 1500 * time.Microsecond},
		{"0.000000001", 1}, {"1e-9", 1}, {"123.456789012", 123456789012},
		// Ties go to even: 0.5 to 0, 1.5 to 2, 2.5 to 2 ns.
		{"0.0000000005", 0}, {"0.0000000015", 2}, {"0.0000000025", 2},
		{"5e-10", 0}, {"5.000000001e-10", 1}, {"4.999999999e-10", 0}, {"9e-10", 1}, {"9e-11", 0},
		{"0.0000000005" + zeros + "1", 1}, {"0." + zeros + "1e1001", time.Second}, {"1" + zeros + "e-1000", time.Second},
		{"1e-999999999999999999999", 0},
		{"9223372036.854775807", math.MaxInt64}, {"9223372036.8547758074", math.MaxInt64},
		{"9223372036854775807e-9", math.MaxInt64}, {"0.9223372036854775807e10", math.MaxInt64},
	}
	for _, tc := range tests {
		got, reason := parseSeconds([]byte(tc.number))
		if got != tc.want || reason != "" {
			t.Errorf("%.40s: got %d ns %s, want %d", tc.number, got, reason, tc.want)
		}
	}
	for _, number := range []string{
		"9223372036.854775808", "9223372036.8547758075", "1e10", "1" + zeros, "1e99999999999999999999", "99999999999",
	} {
		if got, reason := parseSeconds([]byte(number)); reason != outOfRange {
			t.Errorf("%.40s: got %d %q, want it out of range", number, got, reason)
		}
	}
	for _, number := range []string{"-1", "-1e-99", "-0.0000000000001", "-1e99"} {
		if got, reason := parseSeconds([]byte(number)); reason != "is negative" {
			t.Errorf("%s: got %d %q, want it negative", number, got, reason)
		}
	}
}

// The oracle computes with rational numbers.
func TestParseSecondsRoundsExactly(t *testing.T) {
	number := rapid.StringMatching(`(0|[1-9][0-9]{0,11})(\.[0-9]{0,10}[05]{1,12})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		text := number.Draw(t, "number")
		got, reason := parseSeconds([]byte(text))

		exact, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		exact.Mul(exact, big.NewRat(1e9, 1))
		// The nearest integers are floor and floor+1.
		floor := new(big.Int).Div(exact.Num(), exact.Denom())
		twice := new(big.Rat).Sub(exact, new(big.Rat).SetInt(floor))
		twice.Add(twice, twice)
		want := floor
		if c := twice.Cmp(big.NewRat(1, 1)); c > 0 || c == 0 && floor.Bit(0) == 1 {
			want = new(big.Int).Add(floor, big.NewInt(1))
		}
		switch {
		case !want.IsInt64():
			if reason == "" {
				t.Fatalf("%s: got %d ns, want it out of range", text, got)
			}
		case reason != "" || int64(got) != want.Int64():
			t.Fatalf("%s: got %d ns %s, want %v", text, got, reason, want)
		}
	})
}

func TestAppendSecondsIsShortestAndExact(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0": 0, "1": time.Second, "0.1": 100 * time.Millisecond, "0.000000001": 1, "12.05": 12050 * time.Millisecond,
		"9223372036.854775807": math.MaxInt64,
	} {
		if got := string(appendSeconds(nil, d)); got != want {
			t.Errorf("%d ns: got %s, want %s", d, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "ns"))
		text := appendSeconds(nil, d)
		if got, reason := parseSeconds(text); got != d || reason != "" {
			t.Fatalf("%d ns: %s is %d ns %s", d, text, got, reason)
		}
		if strings.Contains(string(text), ".") && strings.HasSuffix(string(text), "0") {
			t.Fatalf("%d ns: %s is not the shortest", d, text)
		}
	})
}
