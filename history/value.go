package history

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/sojourn-sched/sojourn"
)

// A value is a part of a word.
type value struct {
	p    *parser
	off  int
	text string
}

// value returns the rest of the current word after the given number of bytes.
func (p *parser) value(after int) value {
	after = min(after, len(p.tok))
	return value{p, p.off + after, p.tok[after:]}
}

func (v value) uint(bits int) uint64 {
	n, err := strconv.ParseUint(v.text, 10, bits)
	if err != nil {
		v.failNumber(err, "0 to %d", uint64(math.MaxUint64)>>(64-bits))
	}
	return n
}

func (v value) int(bits int) int64 {
	n, err := strconv.ParseInt(v.text, 10, bits)
	if err != nil {
		most := int64(math.MaxInt64) >> (64 - bits)
		v.failNumber(err, "%d to %d", -most-1, most)
	}
	return n
}

func (v value) float() float64 {
	x, err := strconv.ParseFloat(v.text, 64)
	if err != nil {
		v.failNumber(err, "at most %g", math.MaxFloat64)
	}
	return x
}

func (v value) failNumber(err error, bounds string, args ...any) {
	if errors.Is(err, strconv.ErrRange) {
		v.p.fail(v.off, "%s is out of range: "+bounds, append([]any{brief(v.text)}, args...)...)
	} else {
		v.p.fail(v.off, "want a number, found %q", brief(v.text))
	}
}

// named reads the name of a constant, or a number of 8 bits.
func named[T ~uint8](v value, constants []constant[T]) T {
	var names []string
	for _, c := range constants {
		if c.name == v.text {
			return c.value
		}
		names = append(names, c.name)
	}
	n, err := strconv.ParseUint(v.text, 10, 8)
	if err != nil {
		v.p.fail(v.off, "want one of %s, found %q", strings.Join(names, ", "), brief(v.text))
	}
	return T(n)
}

// string reads a string with or without quotes.
func (v value) string() string {
	if !strings.Contains(v.text, `"`) {
		return v.text
	}
	s, err := strconv.Unquote(v.text)
	if err != nil || v.text[0] != '"' {
		v.p.fail(v.off, "want a word or one string in double quotes, found %q", brief(v.text))
	}
	return s
}

// nodes reads 1+2+3, or - for none.
func (v value) nodes() []sojourn.NodeID {
	return numbers(v, func(v value) sojourn.NodeID { return sojourn.NodeID(v.uint(32)) })
}

// numbers reads 1+2+3, or nil from - for none.
func numbers[T any](v value, one func(value) T) (list []T) {
	if v.text == noNumber {
		return nil
	}
	off := v.off
	for text := range strings.SplitSeq(v.text, "+") {
		list = append(list, one(value{v.p, off, text}))
		off += len(text) + 1
	}
	return list
}

// slots reads numbers of slots by class, such as 0:3+2:1.
func (v value) slots() sojourn.Slots {
	list, off := sojourn.Slots{}, v.off
	for text := range strings.SplitSeq(v.text, "+") {
		class, count, ok := strings.Cut(text, ":")
		if !ok {
			v.p.fail(off, "want a class and a number of slots, such as 0:3, found %q", brief(text))
		}
		c := sojourn.Class(value{v.p, off, class}.uint(16))
		if _, twice := list[c]; twice {
			v.p.fail(off, "class %d is there twice", c)
		}
		list[c] = int(value{v.p, off + len(class) + 1, count}.int(strconv.IntSize))
		off += len(text) + 1
	}
	return list
}

// all reads the word that says that something is true of all tasks.
func (v value) all(key string) bool {
	if v.text != allTasks {
		v.p.fail(v.off, "want %s=%s, found %q", key, allTasks, brief(v.text))
	}
	return v.text == allTasks
}

// duration reads seconds such as 12.5s, or any text that time.ParseDuration
// accepts. It keeps every nanosecond.
func (v value) duration() time.Duration {
	if d, ok := parseSeconds(v.text); ok {
		return d
	}
	d, err := time.ParseDuration(v.text)
	if err != nil {
		v.p.fail(v.off, "want a time such as 12.5s within 292 years, found %q", brief(v.text))
	}
	return d
}

// parseSeconds reads the seconds that appendDuration writes. It returns false
// for other forms.
func parseSeconds(text string) (time.Duration, bool) {
	text, negative := strings.CutPrefix(text, "-")
	text, ok := strings.CutSuffix(text, "s")
	whole, fraction, _ := strings.Cut(text, ".")
	if !ok || whole == "" || len(fraction) > 9 {
		return 0, false
	}
	ns, err := strconv.ParseUint(whole, 10, 63)
	const second = uint64(time.Second)
	if err != nil || ns > math.MaxInt64/second {
		return 0, false
	}
	ns *= second
	unit := second
	for i := range len(fraction) {
		if !isDigit(fraction[i]) {
			return 0, false
		}
		unit /= 10
		ns += unit * uint64(fraction[i]-'0')
	}
	if negative {
		return -time.Duration(ns), ns <= 1<<63
	}
	return time.Duration(ns), ns < 1<<63
}

// brief returns the start of a piece of input for use in a reason, which must
// not grow with the input.
func brief(text string) string {
	const most = 40
	if len(text) <= most {
		return text
	}
	n := most
	for n > most-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "..."
}

// one is the room of a line that a single value takes.
func one[T any](T) int { return 1 }

// list reads a list of items, "v" or "nxv" for n times v, with a comma between
// items. It is never nil. size is the room of a line that a value takes.
func list[T any](v value, read func(value) T, size func(T) int) []T {
	values := []T{}
	if v.text == "" {
		return values
	}
	for v.p.fault == nil {
		text, rest, more := strings.Cut(v.text, ",")
		item := value{v.p, v.off, text}
		n := 1
		if count, text, ok := strings.Cut(item.text, "x"); ok {
			n = int(value{v.p, v.off, count}.uint(31))
			if n == 0 {
				v.p.fail(v.off, "a value that stands 0 times")
			}
			item = value{v.p, v.off + len(count) + 1, text}
		}
		x := read(item)
		if n > v.p.room/size(x) {
			v.p.fail(v.off, "more than %d values in a line", maxValues)
			break
		}
		v.p.room -= n * size(x)
		values = slices.Grow(values, n)
		for range n {
			values = append(values, x)
		}
		if !more {
			break
		}
		v = value{v.p, v.off + len(text) + 1, rest}
	}
	return values
}
