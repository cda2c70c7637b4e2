package format

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// Duration returns the shortest decimal number of seconds that is exactly d.
func Duration(d time.Duration) string {
	sign := ""
	n := uint64(d)
	if d < 0 {
		sign, n = "-", -n
	}
	s := fmt.Sprintf("%s%d.%09d", sign, n/1e9, n%1e9)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Column formats numbers that stand below one another: all with as many decimals
// as show three digits of the smallest that is not 0, and at most three.
func Column(values []float64) []string {
	d := Decimals(values, 3)
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = Number(v, d)
	}
	return cells
}

// Decimals returns how many decimals show the given number of digits of the
// smallest value that is not 0; at most three.
func Decimals(values []float64, digits int) int {
	n := 0
	for _, v := range values {
		for abs := math.Abs(v); abs > 0 && n < 3 && abs*math.Pow10(n) < math.Pow10(digits-1); n++ {
		}
	}
	return n
}

// Number formats one number, "-" if there is none.
func Number(v float64, decimals int) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case math.IsInf(v, 0):
		return "inf"
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// Percent formats a share.
func Percent(share float64) string { return Number(100*share, 1) + "%" }

// Thousands formats a count with commas.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count formats a number of things, whose plural ends in s.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return Thousands(n) + " " + thing
}

// Span formats a length of time for people, to three digits, or all of those before
// the point; from an hour on to the minute, such as "1 h 01".
func Span(d time.Duration) string {
	switch s := d.Seconds(); {
	case s >= 2*86400:
		return threeDigits(s/86400) + " days"
	case s >= 3600:
		minutes := int(math.Round(s / 60))
		return fmt.Sprintf("%d h %02d", minutes/60, minutes%60)
	case s >= 120:
		return threeDigits(s/60) + " minutes"
	default:
		n := threeDigits(s)
		if n == "1" {
			return "1 second"
		}
		return n + " seconds"
	}
}

// threeDigits formats a number above 0 to three digits, or all of those before the
// point, without an exponent.
func threeDigits(v float64) string {
	if v >= 999.5 {
		return Thousands(int(math.Round(v)))
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 3, 64), 64)
	if err != nil {
		panic(err) // it was formatted
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// Time returns an instant in seconds, exactly.
func Time(t sojourn.Time) string { return Duration(time.Duration(t)) }
