package catalog

import (
	"slices"
	"strings"
)

// A Named is something with a name and options, such as a policy.
type Named struct {
	Name, Text string
	Options    []Described
}

// Named returns the names of the entries and their options.
func (c Catalog) Named(docs Docs) []Named {
	var all []Named
	for _, e := range c {
		all = append(all, Named{e.Name, e.Summary, e.Explained(docs)})
	}
	return all
}

// Complete returns the completions of a list in the form of [Parse] whose last item is
// incomplete: a name, an option with "=", or a value of that option. With one, the list
// has a single name, as in "bursty:jobs=5", and all items after the first are options or
// continue the value before them. A list with a fault has no completions.
func Complete(list string, known []Named, one bool) []Choice {
	done, item := "", list
	if i := strings.LastIndexByte(list, ','); i >= 0 {
		done, item = list[:i+1], list[i+1:]
	}
	var owner Spec // the spec to which the item may belong as an option
	if done != "" {
		specs, err := Parse(strings.TrimSuffix(done, ","))
		if err != nil {
			return nil
		}
		owner = specs[len(specs)-1]
		if one {
			owner.Name = specs[0].Name
			owner.Options = nil
			for _, s := range specs {
				owner.Options = append(owner.Options, s.Options...)
			}
		}
	}

	var all []Choice
	offer := func(whole, text string) {
		if strings.HasPrefix(whole, item) {
			all = append(all, Choice{done + whole, text})
		}
	}
	head, _, hasValue := strings.Cut(item, "=")
	name, _, hasColon := strings.Cut(head, ":")
	prefix := ""
	switch {
	case hasColon && one && done != "":
		return nil
	case hasColon:
		owner, prefix = Spec{Name: name}, name+":"
	case !hasValue && (!one || done == ""):
		for _, n := range known {
			offer(n.Name, n.Text)
		}
	}
	i := slices.IndexFunc(known, func(n Named) bool { return n.Name == owner.Name })
	if i < 0 || prefix == "" && len(owner.Options) == 0 {
		return all
	}
	for _, o := range known[i].Options {
		key, isMap := strings.CutSuffix(o.Name, mapSuffix)
		switch {
		case slices.ContainsFunc(owner.Options, func(given Option) bool { return given.Name == o.Name }):
		case isMap:
			offer(prefix+key+".", o.Text)
		case !hasValue:
			offer(prefix+o.Name+"=", o.Text)
		case o.Kind == kindBool:
			offer(prefix+o.Name+"=false", "")
			offer(prefix+o.Name+"=true", "")
		default:
			for _, v := range o.Values {
				offer(prefix+o.Name+"="+v.Name, v.Text)
			}
		}
	}
	return all
}
