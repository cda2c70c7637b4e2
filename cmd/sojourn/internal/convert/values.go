package convert

import (
	"cmp"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// isUnknown reports whether a cell has no value: the words that logs have for it.
func isUnknown(text string) bool {
	if len(text) > len("0001-01-01T00:00:00Z") {
		return false
	}
	switch text {
	case "", "-", "--", "?", "-1", "-1.0", "\\N":
		return true
	}
	switch strings.ToLower(text) {
	case "unknown", "none", "null", "(null)", "n/a", "na", "nan", "nat", "nil", "undefined", "invalid", "unlimited", "infinite",
		"partition_limit", "not_set", "notset", "never", "0001-01-01t00:00:00z", "0000-00-00 00:00:00":
		return true
	}
	return false
}

// number reads a decimal number exactly; its length and exponent are bounded, so that it takes no memory
// to speak of. A comma is the decimal point where cells are separated by semicolons.
func number(text string, comma bool) (*big.Rat, bool) {
	if len(text) > 60 {
		return nil, false
	}
	if comma && !strings.Contains(text, ".") {
		text = strings.Replace(text, ",", ".", 1)
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(text), "e")
	for i, r := range mantissa {
		if (r < '0' || r > '9') && r != '.' && (i > 0 || r != '-' && r != '+') {
			return nil, false
		}
	}
	if len(strings.Trim(exponent, "+-0123456789")) > 0 || len(strings.TrimLeft(exponent, "+-0")) > 2 {
		return nil, false
	}
	return new(big.Rat).SetString(text)
}

// nanoseconds reads a number of a unit, to the nearest nanosecond, and halves away from 0.
func nanoseconds(text, unit string, comma bool) (int64, error) {
	factor := units[unit]
	if n, err := strconv.ParseInt(text, 10, 64); err == nil && n <= math.MaxInt64/factor && n >= math.MinInt64/factor {
		return n * factor, nil
	}
	v, ok := number(text, comma)
	if !ok {
		return 0, fmt.Errorf("want a number of %s, found %q%s", unit, short(text), commaHint(text, comma))
	}
	v.Mul(v, new(big.Rat).SetInt64(factor))
	twice := new(big.Int).Mul(v.Num(), big.NewInt(2))
	twice.Add(twice, new(big.Int).Mul(v.Denom(), big.NewInt(int64(v.Sign()))))
	twice.Quo(twice, new(big.Int).Mul(v.Denom(), big.NewInt(2)))
	if !twice.IsInt64() {
		return 0, fmt.Errorf("%q is out of range: a time is at most 292 years", short(text))
	}
	return twice.Int64(), nil
}

// commaHint says what helps if a number has a comma.
func commaHint(text string, comma bool) string {
	switch {
	case !strings.Contains(text, ","):
		return ""
	case comma:
		return "; a comma is the decimal point here, and nothing stands between thousands"
	}
	return "; a comma is the decimal point only between semicolons: see --separator; nothing stands between thousands"
}

// dateForms are the forms of dates of each unit. Fractions of seconds may follow the seconds in all of them.
var dateForms = map[string][]string{
	unitDate: {
		time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02 15:04:05Z0700", "2006-01-02 15:04:05 Z0700",
		"2006-01-02 15:04:05 Z07:00", "2006-01-02T15:04:05Z07", "2006-01-02 15:04:05Z07", "2006-01-02T15:04:05", "2006-01-02 15:04:05",
		"2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04", "2006/01/02 15:04:05", "2006/01/02 15:04", "2.1.2006 15:04:05", "2.1.2006 15:04", "2.1.2006, 15:04:05",
		"2006-01-02", time.ANSIC, time.RFC1123Z, "Mon, 02 Jan 2006 15:04:05Z", "02 Jan 2006 15:04:05", "02-Jan-2006 15:04:05",
		"02/Jan/2006:15:04:05 -0700", "Jan 2, 2006 15:04:05", "Jan 2, 2006, 3:04:05 PM", "Jan 2, 2006 3:04 PM",
	},
	unitMonthFirst: {"1/2/2006 15:04:05", "1/2/2006 15:04", "1/2/2006 3:04:05 PM", "1/2/2006 3:04 PM", "1/2/2006, 3:04:05 PM", "1/2/2006"},
	unitDayFirst:   {"2/1/2006 15:04:05", "2/1/2006 15:04", "2/1/2006 3:04:05 PM", "2/1/2006 3:04 PM", "2/1/2006, 15:04:05", "2/1/2006"},
}

// date reads a date, in nanoseconds since 1970. One without a zone is in that of the reader.
func (r *tableReader) date(text, unit string) (int64, error) {
	plain := text
	if rest, ok := strings.CutSuffix(plain, " +0000 UTC"); ok { // as Go prints times
		plain = rest + "Z"
	} else if rest, ok := strings.CutSuffix(plain, " UTC"); ok {
		plain = rest + "Z"
	} else if rest, ok := strings.CutSuffix(plain, " GMT"); ok {
		plain = rest + "Z"
	}
	try := func(form string) (time.Time, bool) {
		t, err := time.ParseInLocation(form, plain, r.zone)
		return t, err == nil
	}
	form := r.forms[unit] // that of the date before
	t, ok := try(form)
	for i := 0; !ok; i++ {
		if i == len(dateForms[unit]) {
			return 0, fmt.Errorf("want %s, found %q; --zone says where clocks without a zone are", wantDate(text, unit), short(text))
		}
		form = dateForms[unit][i]
		t, ok = try(form)
	}
	r.forms[unit] = form
	if year := t.Year(); year < 1678 || year > 2261 {
		return 0, fmt.Errorf("%q is out of range: want a year from 1678 to 2261", short(text))
	}
	return t.UnixNano(), nil
}

// wantDate says which dates a unit has, and which unit another one may have.
func wantDate(text, unit string) string {
	switch {
	case unit == unitMonthFirst:
		return "a date such as 1/31/2025 15:04:05 or 1/31/2025 3:04 PM"
	case unit == unitDayFirst:
		return "a date such as 31/1/2025 15:04:05"
	case len(text) > 2 && strings.Contains(text[:3], "/"):
		return "a date such as 2025-01-31T15:04:05Z, or a unit that says what is first, m/d/y or d/m/y"
	}
	return "a date such as 2025-01-31T15:04:05Z or 2025-01-31 15:04:05"
}

// instant reads an instant, in nanoseconds since some zero of the log.
func (r *tableReader) instant(text, unit string) (int64, error) {
	if _, ok := dateForms[unit]; ok {
		return r.date(text, unit)
	}
	return nanoseconds(text, unit, r.comma)
}

// length reads a length of time.
func (r *tableReader) length(text, unit string) (int64, error) {
	if unit != unitText {
		return nanoseconds(text, unit, r.comma)
	}
	if rest, negative := strings.CutPrefix(text, "-"); negative { // such as -1 days +23:59:00
		if ns, ok := clock(clockOf(rest)); ok {
			return -ns, nil
		}
	}
	if ns, ok := clock(clockOf(text)); ok {
		return ns, nil
	}
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		return 0, fmt.Errorf("want a length of time such as 90s, 1h30m or 1-02:03:04 (days-hours:minutes:seconds), found %q%s", short(text), commaHint(text, r.comma))
	}
	return int64(d), nil
}

// days are lengths as pandas and Python write them: 1 days 02:03:04, 1 day, 2:03:04.
var days = regexp.MustCompile(`^(\d+) days?(?:,? \+?(\d.*))?$`)

// iso are those of ISO 8601, as far as they have no years, months and weeks: P1DT2H3M4.5S.
var iso = regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$`)

// clockOf returns such lengths as clock reads them, and other texts as they are.
func clockOf(text string) string {
	if m := days.FindStringSubmatch(text); m != nil {
		return m[1] + "-" + cmp.Or(m[2], "0")
	}
	if m := iso.FindStringSubmatch(text); m != nil && strings.IndexByte("DHMS", text[len(text)-1]) >= 0 {
		return cmp.Or(m[1], "0") + "-" + cmp.Or(m[2], "0") + ":" + cmp.Or(m[3], "0") + ":" + cmp.Or(m[4], "0")
	}
	return text
}

// clock reads [D-][HH:]MM:SS[.ffffff], or D-HH.
func clock(text string) (int64, bool) {
	days, rest, dashed := strings.Cut(text, "-")
	if !dashed {
		days, rest = "0", text
	}
	total, err := strconv.ParseInt(days, 10, 32)
	if err != nil || total < 0 || total > 100_000 {
		return 0, false
	}
	parts := strings.Split(rest, ":")
	if len(parts) > 3 || len(parts) < 2 && !dashed {
		return 0, false
	}
	fraction := ""
	if last := &parts[len(parts)-1]; len(parts) > 1 {
		*last, fraction, _ = strings.Cut(*last, ".")
	}
	sizes := []int64{3600, 60, 1} // D-HH, D-HH:MM and D-HH:MM:SS; without days the last two or three
	if !dashed {
		sizes = sizes[3-len(parts):]
	}
	total *= 86400
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil || n > 10_000_000 {
			return 0, false
		}
		total += int64(n) * sizes[i]
	}
	ns := total * 1e9
	if fraction != "" {
		if len(fraction) > 9 {
			return 0, false
		}
		n, err := strconv.ParseUint(fraction+"000000000"[len(fraction):], 10, 64)
		if err != nil {
			return 0, false
		}
		ns += int64(n)
	}
	return ns, true
}

// unitOf guesses the unit of a column from its title and a value.
func (r *tableReader) unitOf(f field, title, value string) string {
	v, ok := number(value, r.comma)
	switch {
	case !ok && f.instant():
		return unitDate
	case !ok:
		return unitText
	}
	if _, unit := cutUnit(title); unit != "" {
		return unit
	}
	if f.instant() { // seconds since 1970 have ten digits until 2286
		size, _ := v.Float64()
		for _, epoch := range []struct {
			least float64
			unit  string
		}{{1e17, "ns"}, {1e14, "us"}, {1e11, "ms"}} {
			if math.Abs(size) >= epoch.least {
				return epoch.unit
			}
		}
	}
	return "s"
}

// amount reads how many there are of something: a number, in percent, in thousandths, or under a key of a
// list such as cpu=8,gres/gpu=2. Nothing known is -1.
func (r *tableReader) amount(text, unit string) (*big.Rat, error) {
	factor := int64(1)
	switch unit {
	case "":
	case "percent":
		factor = 100
	case "milli":
		factor = 1000
	case "places": // n1/0+n1/1, n1/0*2, or n1/0-3,5
		n := int64(0)
		for _, host := range strings.Split(text, "+") {
			host, times, _ := strings.Cut(host, "*")
			_, at, _ := strings.Cut(host, "/")
			k, err := strconv.ParseUint(cmp.Or(times, "1"), 10, 31)
			for _, span := range strings.Split(at, ",") {
				first, last, ranged := strings.Cut(span, "-")
				low, errLow := strconv.ParseUint(cmp.Or(first, "0"), 10, 31)
				high, errHigh := low, error(nil)
				if ranged {
					high, errHigh = strconv.ParseUint(last, 10, 31)
				}
				if err != nil || errLow != nil || errHigh != nil || high < low {
					return nil, fmt.Errorf("want places such as n1/0+n2/0*2+n3/0-3, found %q", short(text))
				}
				n = min(n+int64(k*(high-low+1)), 1<<40)
			}
		}
		return big.NewRat(n, 1), nil
	default:
		found := ""
		for _, item := range strings.Split(text, ",") {
			if key, value, ok := strings.Cut(item, "="); ok && strings.TrimSpace(key) == unit {
				found = strings.TrimSpace(value)
			}
		}
		if found == "" {
			return new(big.Rat), nil
		}
		text = found
	}
	v, ok := number(text, r.comma)
	if !ok {
		hint := commaHint(text, r.comma)
		if r.options.From == "sacct" && strings.Trim(text, "0123456789.") != "" && strings.Trim(text, "0123456789.KMGT") == "" {
			hint = "; sacct --noconvert writes it in full"
		}
		return nil, fmt.Errorf("want a number, found %q%s", short(text), hint)
	}
	return v.Quo(v, new(big.Rat).SetInt64(factor)), nil
}
