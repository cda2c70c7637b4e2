package trace

import (
	"bytes"
	"math"
	"strconv"
	"time"
)

// parseSeconds returns the time that a JSON number of seconds denotes, to the
// nearest nanosecond, ties to even, by decimal arithmetic: no number passes
// through floating point. reason is not empty if the number is negative or does
// not fit.
func parseSeconds(number []byte) (d time.Duration, reason string) {
	if d, ok := shortSeconds(number); ok {
		return d, ""
	}
	mantissa, exponent := number, int64(0)
	if i := bytes.IndexAny(number, "eE"); i >= 0 {
		mantissa, exponent = number[:i], parseExponent(number[i+1:])
	}
	negative := mantissa[0] == '-'
	if negative {
		mantissa = mantissa[1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))

	// The number is digit(0) digit(1) ... with the decimal point after the first
	// len(whole)+exponent of them. The nanoseconds end nine digits later, at
	// digit(end).
	digits := len(whole) + len(fraction)
	digit := func(i int) byte {
		if i < len(whole) {
			return whole[i] - '0'
		}
		return fraction[i-len(whole)] - '0'
	}
	end := int64(len(whole)) + exponent + 9

	first := 0
	for first < digits && digit(first) == 0 {
		first++
	}
	switch {
	case first == digits:
		return 0, ""
	case negative:
		return 0, "is negative"
	case end-int64(first) > 19: // 2^63-1 has 19 digits
		return 0, outOfRange
	case end < int64(first):
		return 0, "" // below a tenth of a nanosecond
	}
	var ns uint64 // below 10^19, so that it cannot overflow
	for i := first; i < int(end); i++ {
		ns *= 10
		if i < digits {
			ns += uint64(digit(i))
		}
	}
	if rest := int(end); rest < digits {
		above := digit(rest) > 5
		if digit(rest) == 5 {
			above = ns%2 == 1
			for i := rest + 1; i < digits && !above; i++ {
				above = digit(i) > 0
			}
		}
		if above {
			ns++
		}
	}
	if ns > math.MaxInt64 {
		return 0, outOfRange
	}
	return time.Duration(ns), ""
}

// shortSeconds returns the time that a number of seconds denotes if it is plain: at most nine
// digits, which a point and one to nine digits may follow.
func shortSeconds(number []byte) (time.Duration, bool) {
	n, whole := int64(0), -1
	for i, b := range number {
		switch {
		case b-'0' <= 9:
			n = n*10 + int64(b-'0') // below 10^18 if the number is plain
		case b == '.' && whole < 0:
			whole = i
		default:
			return 0, false
		}
	}
	fraction := len(number) - whole - 1
	if whole < 0 {
		whole, fraction = len(number), 0
	} else if fraction == 0 {
		return 0, false
	}
	if whole == 0 || whole > 9 || fraction > 9 {
		return 0, false
	}
	units := [...]int64{1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1}
	return time.Duration(n * units[fraction]), true
}

// parseUint returns the number that digits denote, as strconv.ParseUint does; false if text is
// not digits alone or the number is out of range.
func parseUint(text []byte) (n uint64, ok bool) {
	if len(text) > 19 { // 20 digits may be out of range
		n, err := strconv.ParseUint(string(text), 10, 64)
		return n, err == nil
	}
	for _, b := range text {
		if b-'0' > 9 {
			return 0, false
		}
		n = n*10 + uint64(b-'0')
	}
	return n, len(text) > 0
}

// isDecimal reports whether text is digits, behind which may be a point and more digits.
func isDecimal(text []byte) bool {
	digits, point := 0, false
	for _, b := range text {
		switch {
		case '0' <= b && b <= '9':
			digits++
		case b == '.' && digits > 0 && !point:
			digits, point = 0, true
		default:
			return false
		}
	}
	return digits > 0
}

const outOfRange = "is out of range: a time is at most 9223372036.854775807 seconds"

// parseExponent returns the exponent of a JSON number. One beyond int64 becomes
// the nearest that is far beyond the number of digits of any line.
func parseExponent(text []byte) int64 {
	const most = 1 << 60
	n, _ := strconv.ParseInt(string(text), 10, 64) // out of range: the nearest int64
	return min(max(n, -most), most)
}

// appendSeconds appends the shortest decimal that denotes d exactly. d is not
// negative.
func appendSeconds(dst []byte, d time.Duration) []byte {
	dst = strconv.AppendInt(dst, int64(d/time.Second), 10)
	fraction := int64(d % time.Second)
	if fraction == 0 {
		return dst
	}
	point := len(dst)
	dst = strconv.AppendInt(dst, int64(time.Second)+fraction, 10) // ten digits, of which the first gives way
	dst[point] = '.'
	n := len(dst)
	for dst[n-1] == '0' {
		n--
	}
	return dst[:n]
}
