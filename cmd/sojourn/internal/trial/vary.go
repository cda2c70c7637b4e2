package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/internal/visible"
)

// The parameters that may vary, apart from options.
const (
	VaryLoad      = "load"
	VaryError     = "error"
	VaryEstimates = "estimates"
)

// A Vary says what varies in a sweep, and its values.
type Vary struct {
	text   string
	Name   string // load, error, estimates, or the name of an option
	Policy string // that has the option, else ""
	Values []string
}

// What returns the name of the varied parameter: load, error, estimates or POLICY:OPTION.
func (v *Vary) What() string {
	if v.Policy == "" {
		return v.Name
	}
	return v.Policy + ":" + v.Name
}

// String returns the value in the form that Set reads.
func (v *Vary) String() string { return v.text }

// Set reads NAME=VALUE,VALUE,...
func (v *Vary) Set(text string) error {
	left, right, ok := strings.Cut(text, "=")
	policy, option, isOption := strings.Cut(left, ":")
	values := strings.Split(right, ",")
	switch {
	case !ok || slices.Contains(values, ""):
		return fmt.Errorf("want values, as in load=0.5,0.7,0.9")
	case repeated(values) != "":
		return fmt.Errorf("the value %s is named twice", repeated(values))
	case isOption && policy != "" && option != "":
		*v = Vary{text, option, policy, values}
		return nil
	case left != VaryLoad && left != VaryError && left != VaryEstimates:
		return fmt.Errorf("%q cannot vary; what can: load, error, estimates, POLICY:OPTION%s", left, visible.Meant(left, []string{VaryLoad, VaryError, VaryEstimates}))
	}
	for _, value := range values {
		var err error
		switch left {
		case VaryLoad:
			err = new(input.Load).Set(value)
		case VaryEstimates:
			err = new(Estimates).Set(value)
		default:
			if new(Estimates).Set("lognormal:"+value) != nil {
				err = errors.New("want a number from 0 to 10, such as 0.5")
			}
		}
		if err != nil {
			return fmt.Errorf("%s %q: %w", left, value, err)
		}
	}
	*v = Vary{text, left, "", values}
	return nil
}

// A Group holds the policies of one value.
type Group struct {
	value string
	specs []catalog.Spec
}

// Groups returns the policies to run for each value. If an option varies, those
// that do not have it come first, in a group of their own.
func (v *Vary) Groups(policies catalog.Catalog, specs []catalog.Spec) ([]Group, error) {
	var groups []Group
	if v.Policy == "" {
		for _, value := range v.Values {
			groups = append(groups, Group{value, specs})
		}
		return groups, nil
	}
	var others, varied []catalog.Spec
	for _, s := range specs {
		if s.Name != v.Policy {
			others = append(others, s)
			continue
		}
		if slices.ContainsFunc(s.Options, func(o catalog.Option) bool { return o.Name == v.Name }) {
			return nil, usage.Errorf("option %s of %s is both in -p and in --vary", v.Name, v.Policy)
		}
		varied = append(varied, s)
	}
	if len(varied) == 0 {
		return nil, usage.Errorf("--vary %s: policy %s is not in -p", v.text, v.Policy)
	}
	if len(others) > 0 {
		groups = append(groups, Group{"-", others})
	}
	for _, value := range v.Values {
		group := Group{value: value}
		for _, s := range varied {
			s.Options = append(slices.Clone(s.Options), catalog.Option{Name: v.Name, Value: value})
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
func (v *Vary) scenarios(base *Scenario) (all []*Scenario, err error) {
	if v.Policy != "" {
		return []*Scenario{base}, nil
	}
	for _, value := range v.Values {
		s := *base
		switch v.Name {
		case VaryLoad:
			err = s.Load.Load.Set(value)
			s.Workload = base.Workload.Clone()
		case VaryEstimates:
			err = s.Estimates.Set(value)
		default:
			err = s.Estimates.Set("lognormal:" + value)
		}
		if err == nil && v.Name == VaryLoad {
			err = s.Load.Apply(s.Workload, s.Cluster)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, &s)
	}
	return all, nil
}

// Trials returns the policies of all groups, each in the scenario of its value.
func (v *Vary) Trials(groups []Group, base *Scenario) ([]Trial, error) {
	s, err := v.scenarios(base)
	if err != nil {
		return nil, err
	}
	var trials []Trial
	for i, group := range groups {
		for _, spec := range group.specs {
			trials = append(trials, Trial{Scenario: s[min(i, len(s)-1)], Spec: spec, Value: group.value})
		}
	}
	return trials, nil
}
