package catalog

import (
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/visible"
)

// A Spec names a policy and its options, as text.
type Spec struct {
	Name    string
	Options []Option // in the order given, with distinct names
}

// An Option is a name and a value.
type Option struct{ Name, Value string }

// String returns "name" or "name:option=value,...".
func (s Spec) String() string {
	var b strings.Builder
	b.WriteString(s.Name)
	for i, o := range s.Options {
		separator := ","
		if i == 0 {
			separator = ":"
		}
		b.WriteString(separator + o.Name + "=" + o.Value)
	}
	return b.String()
}

// Parse reads a list of specs, separated by commas. Commas also separate the
// options of one policy: an item with a "=" and no ":" before it continues the
// policy before it, as in "fifo,td:l=0.7,h=1.3,fair".
func Parse(list string) ([]Spec, error) {
	var specs []Spec
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		head, _, hasValue := strings.Cut(item, "=")
		name, option, hasColon := strings.Cut(item, ":")
		switch {
		case item == "":
			return nil, fmt.Errorf("empty policy in %q", list)
		case hasValue && !strings.Contains(head, ":"):
			if len(specs) == 0 {
				return nil, fmt.Errorf("option %q stands before any policy in %q", item, list)
			}
			option = item
		case name == "":
			return nil, fmt.Errorf("policy without a name: %q", item)
		default:
			specs = append(specs, Spec{Name: name})
			if !hasColon {
				continue
			}
		}
		if err := specs[len(specs)-1].add(option); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// parseOne reads a list of one spec.
func parseOne(text string) (Spec, error) {
	specs, err := Parse(text)
	if err != nil {
		return Spec{}, err
	}
	if len(specs) != 1 {
		return Spec{}, fmt.Errorf("want one policy, got %q", text)
	}
	return specs[0], nil
}

// add appends an option that is written as name=value.
func (s *Spec) add(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return visible.Errorf("policy %s: want option=value, got %q", s.Name, text)
	}
	for _, o := range s.Options {
		if o.Name == name {
			return visible.Errorf("policy %s: option %s is given twice", s.Name, name)
		}
	}
	s.Options = append(s.Options, Option{name, value})
	return nil
}
