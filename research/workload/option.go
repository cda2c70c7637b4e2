package workload

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// An Option is a choice about a workload.
type Option struct {
	Name    string
	Default string // a value
	Values  string // which values there are, such as "an integer from 1 to 9"
	Doc     string // what it means
	Source  string // of the default: a place in the paper, or "assumed"

	parse func(text string) (value any, ok bool)
}

// parse returns the values of all options.
func (g *Generator) parse(options map[string]string) (values, error) {
	v := values{}
	names := make([]string, len(g.Options))
	for i, o := range g.Options {
		names[i] = o.Name
		text, given := options[o.Name]
		if !given {
			text = o.Default
		}
		value, ok := o.parse(text)
		if !ok {
			return nil, fmt.Errorf("option %s: %s is not %s", o.Name, brief(text), o.Values)
		}
		v[o.Name] = value
	}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("unknown option %s; known options: %s%s", brief(name), strings.Join(names, ", "), visible.Meant(name, names))
		}
	}
	return v, nil
}

// brief quotes a text for an error, shortened if it is long.
func brief(text string) string {
	if len(text) > 40 {
		text = text[:40] + "..."
	}
	return strconv.Quote(text)
}

// values holds the value of each option by its name. Asking for one that the
// generator does not have is a bug, and panics.
type values map[string]any

func (v values) integer(name string) int    { return v[name].(int) }
func (v values) number(name string) float64 { return v[name].(float64) }
func (v values) word(name string) string    { return v[name].(string) }
func (v values) span(name string) span      { return v[name].(span) }
func (v values) spans(name string) []span   { return v[name].([]span) }

// A span is an interval of integers, from min to max.
type span struct{ min, max int }

// A kind is a set of values and the way to write them.
type kind[T any] struct {
	what  string // after "want": "an integer from 1 to 9"
	parse func(text string) (T, bool)
}

// option makes an Option.
func option[T any](name, value string, k kind[T], doc, source string) Option {
	return Option{Name: name, Default: value, Values: k.what, Doc: doc, Source: source,
		parse: func(text string) (any, bool) { return k.parse(text) }}
}

func integers(min, max int) kind[int] {
	return kind[int]{fmt.Sprintf("an integer from %d to %d", min, max), func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= min && n <= max
	}}
}

// numbers are real numbers from min to max.
func numbers(min, max float64) kind[float64] {
	return kind[float64]{fmt.Sprintf("a number from %v to %v", min, max), func(text string) (float64, bool) {
		x, err := strconv.ParseFloat(text, 64)
		return x, err == nil && x >= min && x <= max
	}}
}

// positive are real numbers above 0, up to max.
func positive(max float64) kind[float64] {
	k := numbers(0, max)
	return kind[float64]{fmt.Sprintf("a number above 0, at most %v", max), func(text string) (float64, bool) {
		x, ok := k.parse(text)
		return x, ok && x > 0
	}}
}

// The longest time that an option may give: well below what a Duration holds.
const longest = 10_000 * time.Hour

// durations are lengths of time from min to longest. Their values are numbers of
// nanoseconds.
func durations(min time.Duration) kind[float64] {
	from := min.String()
	if min == 0 {
		from = "0"
	}
	return kind[float64]{fmt.Sprintf("a duration from %s to %.0fh, such as 90s or 1m30s", from, longest.Hours()), func(text string) (float64, bool) {
		d, err := time.ParseDuration(text)
		return float64(d), err == nil && d >= min && d <= longest
	}}
}

// choice is one of several words.
func choice(words ...string) kind[string] {
	return kind[string]{"one of " + strings.Join(words, ", "), func(text string) (string, bool) {
		return text, slices.Contains(words, text)
	}}
}

// spans are intervals of integers within min and max, such as "1-5" or "3".
func spans(min, max int) kind[span] {
	return kind[span]{fmt.Sprintf("an integer or a range such as 1-5, from %d to %d", min, max), func(text string) (span, bool) {
		first, last, isRange := strings.Cut(text, "-")
		if !isRange {
			last = first
		}
		lo, err1 := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		return span{lo, hi}, err1 == nil && err2 == nil && min <= lo && lo <= hi && hi <= max
	}}
}

// list is n values, separated by commas.
func list[T any](n int, k kind[T]) kind[[]T] {
	return kind[[]T]{fmt.Sprintf("%d values separated by commas, each %s", n, k.what), func(text string) ([]T, bool) {
		var all []T
		for part := range strings.SplitSeq(text, ",") {
			value, ok := k.parse(part)
			if !ok {
				return nil, false
			}
			all = append(all, value)
		}
		return all, len(all) == n
	}}
}

// or is k or a word, which stands for the zero value.
func or[T any](word string, k kind[T]) kind[T] {
	return kind[T]{word + ", or " + k.what, func(text string) (zero T, ok bool) {
		if text == word {
			return zero, true
		}
		return k.parse(text)
	}}
}

// Options that many generators share.

// Bounds of counts, which keep a typing error from filling the memory.
const (
	maxJobs  = 100_000_000
	maxTasks = 1_000_000 // of a phase
)

func jobsOption(value, source string) Option {
	return option("jobs", value, integers(1, maxJobs), "number of jobs", source)
}

func intervalOption(value, source string) Option {
	return option("interval", value, durations(1), "mean time between arrivals, before load scales it", source)
}

// loadOptions choose the load of a cluster whose slots run anything.
func loadOptions(load, loadSource, slots, slotsSource string) []Option {
	return []Option{loadOption(load, loadSource),
		option("slots", slots, integers(1, math.MaxInt32), "slots that load refers to", slotsSource)}
}

// classLoadOptions choose the load of a cluster of map and reduce slots.
func classLoadOptions(maps, reduces, source string) []Option {
	return []Option{loadOption("none", "the arrivals of the paper"),
		option("map-slots", maps, integers(1, math.MaxInt32), "map slots that load refers to", source),
		option("reduce-slots", reduces, integers(1, math.MaxInt32), "reduce slots that load refers to", source)}
}

func loadOption(value, source string) Option {
	return option("load", value, or("none", positive(1000)), "stretch or squeeze the arrivals to this load of the busier class of slots", source)
}

// capacity returns the slots that load refers to: map and reduce slots, or 0 and
// the slots that run anything.
func (v values) capacity() capacity {
	if slots, ok := v["slots"].(int); ok {
		return capacity{uniform: true, slots: [2]int{slots}}
	}
	return capacity{slots: [2]int{v.integer("map-slots"), v.integer("reduce-slots")}}
}
