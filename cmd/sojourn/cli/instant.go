package cli

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"

	"github.com/sojourn-sched/sojourn"
)

// An instant is the value of a flag: a time of a history in any form in which the command prints times: a bare number of seconds,
// as in tables, or numbers with units.
type instant struct {
	at    sojourn.Time
	given bool
}

// String implements pflag.Value.
func (i *instant) String() string {
	if !i.given {
		return ""
	}
	return i.at.String()
}

// Type implements pflag.Value.
func (i *instant) Type() string { return "time" }

// Set implements pflag.Value.
func (i *instant) Set(text string) error {
	at, err := parseInstant(text)
	if err != nil {
		return err
	}
	i.at, i.given = at, true
	return nil
}

// pointer returns the instant, nil if none was given.
func (i *instant) pointer() *sojourn.Time {
	if !i.given {
		return nil
	}
	return &i.at
}

// units are lengths in nanoseconds.
var units = []struct {
	names string
	in    int64
}{
	{"ns nanosecond nanoseconds", 1},
	{"us µs μs microsecond microseconds", 1e3},
	{"ms millisecond milliseconds", 1e6},
	{"s sec second seconds", 1e9},
	{"m min minute minutes", 60e9},
	{"h hour hours", 3600e9},
	{"d day days", 86400e9},
}

// part is a number and a unit. Commas stand between groups of three digits.
var part = regexp.MustCompile(`^ *((?:[0-9]{1,3}(?:,[0-9]{3})+|[0-9]+)(?:\.[0-9]*)?|\.[0-9]+) *([a-zµμ]*)`)

// parseInstant reads a time such as 90, 90s, 1h30m, "1 h 30", 23d or "2.5 hours"; digits below a nanosecond are dropped.
func parseInstant(text string) (sojourn.Time, error) {
	sum := new(big.Rat)
	rest := strings.TrimSpace(text)
	if strings.HasPrefix(rest, "-") {
		return 0, fmt.Errorf("%s is before the history", rest)
	}
	last := int64(0) // unit
	for first := true; first || rest != ""; first = false {
		m := part.FindStringSubmatch(rest)
		if m == nil {
			return 0, fmt.Errorf("want a time such as 90 (seconds), 90s, 1h30m or 23d")
		}
		unit := int64(0)
		for _, u := range units {
			for _, name := range strings.Fields(u.names) {
				if name == m[2] {
					unit = u.in
				}
			}
		}
		rest = strings.TrimSpace(rest[len(m[0]):])
		switch {
		case m[2] == "" && first && rest == "":
			unit = 1e9
		case m[2] == "" && last == 3600e9 && rest == "": // 1 h 30
			unit = 60e9
		case m[2] == "":
			return 0, fmt.Errorf("%s has no unit: want s, m, h or d after each number", m[1])
		case unit == 0:
			return 0, fmt.Errorf("no unit is called %q: want ns, us, ms, s, m, h or d", m[2])
		}
		last = unit
		number, ok := new(big.Rat).SetString(strings.TrimSuffix(strings.ReplaceAll(m[1], ",", ""), "."))
		if !ok {
			return 0, fmt.Errorf("%q is not a number", m[1])
		}
		sum.Add(sum, number.Mul(number, new(big.Rat).SetInt64(unit)))
	}
	ns := new(big.Int).Quo(sum.Num(), sum.Denom())
	if !ns.IsInt64() {
		return 0, fmt.Errorf("no history is so long: its last instant is %d s at most", math.MaxInt64/int64(1e9))
	}
	return sojourn.Time(ns.Int64()), nil
}
