package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// What may vary besides options.
const (
	varyLoad  = "load"
	varyError = "error"
)

// A vary says what varies in a sweep, and its values.
type vary struct {
	text   string
	name   string // load, error, or the name of an option
	policy string // that has the option, else ""
	values []string
}

// what returns what varies: load, error or POLICY:OPTION.
func (v *vary) what() string {
	if v.policy == "" {
		return v.name
	}
	return v.policy + ":" + v.name
}

// String returns the value in the form that Set reads.
func (v *vary) String() string { return v.text }

// Set reads NAME=VALUE,VALUE,...
func (v *vary) Set(text string) error {
	left, right, ok := strings.Cut(text, "=")
	policy, option, isOption := strings.Cut(left, ":")
	values := strings.Split(right, ",")
	switch {
	case !ok || slices.Contains(values, ""):
		return fmt.Errorf("want values, as in load=0.5,0.7,0.9")
	case isOption && policy != "" && option != "":
		*v = vary{text, option, policy, values}
		return nil
	case left != varyLoad && left != varyError:
		return fmt.Errorf("%q cannot vary; what can: load, error, POLICY:OPTION", left)
	}
	for _, value := range values {
		var err error
		if left == varyLoad {
			err = new(load).Set(value)
		} else {
			err = new(estimates).Set("lognormal:" + value)
		}
		if err != nil && left == varyError {
			return fmt.Errorf("error %q: want a number from 0 to 10, such as 0.5", value)
		} else if err != nil {
			return fmt.Errorf("load %q: %w", value, err)
		}
	}
	*v = vary{text, left, "", values}
	return nil
}

// A sweepGroup holds the policies of one value.
type sweepGroup struct {
	value string
	specs []catalog.Spec
}

// groups returns the policies to run for each value. If an option varies, those
// that do not have it come first, in a group of their own.
func (v *vary) groups(policies catalog.Catalog, specs []catalog.Spec) ([]sweepGroup, error) {
	var groups []sweepGroup
	if v.policy == "" {
		for _, value := range v.values {
			groups = append(groups, sweepGroup{value, specs})
		}
		return groups, nil
	}
	var others, varied []catalog.Spec
	for _, s := range specs {
		if s.Name != v.policy {
			others = append(others, s)
			continue
		}
		if slices.ContainsFunc(s.Options, func(o catalog.Option) bool { return o.Name == v.name }) {
			return nil, usagef("option %s of %s is both in -p and in --vary", v.name, v.policy)
		}
		varied = append(varied, s)
	}
	if len(varied) == 0 {
		return nil, usagef("--vary %s: policy %s is not in -p", v.text, v.policy)
	}
	if len(others) > 0 {
		groups = append(groups, sweepGroup{"-", others})
	}
	for _, value := range v.values {
		group := sweepGroup{value: value}
		for _, s := range varied {
			s.Options = append(slices.Clone(s.Options), catalog.Option{Name: v.name, Value: value})
			if _, err := newPolicy(policies, s); err != nil {
				return nil, err
			}
			group.specs = append(group.specs, s)
		}
		groups = append(groups, group)
	}
	return groups, nil
}

// scenarios returns a scenario for each value, or the one given for all if they do not
// differ in it.
func (v *vary) scenarios(base *scenario) (all []*scenario, err error) {
	if v.policy != "" {
		return []*scenario{base}, nil
	}
	for _, value := range v.values {
		s := *base
		if v.name == varyLoad {
			err = s.load.load.Set(value)
			s.workload = base.workload.clone()
		} else {
			err = s.estimates.Set("lognormal:" + value)
		}
		if err == nil && v.name == varyLoad {
			err = s.load.apply(s.workload, s.cluster)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &s)
	}
	return all, nil
}

// trials returns the policies of all groups, each in the scenario of its value.
func (v *vary) trials(groups []sweepGroup, base *scenario) ([]trial, error) {
	s, err := v.scenarios(base)
	if err != nil {
		return nil, err
	}
	var trials []trial
	for i, group := range groups {
		for _, spec := range group.specs {
			trials = append(trials, trial{scenario: s[min(i, len(s)-1)], spec: spec, value: group.value})
		}
	}
	return trials, nil
}
