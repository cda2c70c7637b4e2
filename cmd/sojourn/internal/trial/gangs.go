package trial

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/format"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/input"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/usage"
	"github.com/sojourn-sched/sojourn/gang"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// Gangs say whether the tasks of a phase start together.
type Gangs struct {
	On       bool
	Patience time.Duration // until slots are reserved for the gang that waits longest
}

func (g *Gangs) check(f *Setup) error {
	switch {
	case g.Patience < 0:
		return usage.Errorf("--gang-patience %v is negative", g.Patience)
	case g.On && f.Faults.LoseOutput:
		return usage.Errorf("--gangs and --fault-lose-output exclude each other: the output of a gang is on no node")
	case g.On && f.Locality.Network.Bandwidth > 0:
		return usage.Errorf("--gangs and --bandwidth exclude each other: a gang has no nodes")
	}
	return nil
}

func (g *Gangs) checkCluster(c *input.Cluster) error {
	if g.On && !c.Uniform {
		return usage.Errorf("--gangs needs a cluster of uniform slots, such as 100x1; %s has classes", c.Name)
	}
	return nil
}

// The options of policies that say whose turn it is: how many places the cluster has, or that tasks are gangs.
const (
	placesOption = "places"
	gangsOption  = "gangs"
)

// gangs returns the gangs of a run of a policy, and the policy with one of these options, if it has one.
func (s *Scenario) gangs(spec catalog.Spec) (*sim.Gangs, catalog.Spec) {
	if !s.Gangs.On {
		return nil, spec
	}
	e, err := s.Policies.Find(spec.Name)
	if err != nil {
		return &sim.Gangs{Patience: s.Gangs.Patience}, spec
	}
	for _, o := range []catalog.Option{{Name: placesOption, Value: strconv.Itoa(s.Cluster.Capacity()[0])}, {Name: gangsOption, Value: "true"}} {
		if !slices.Contains(e.Options(), o.Name) {
			continue
		}
		i := slices.IndexFunc(spec.Options, func(given catalog.Option) bool { return given.Name == o.Name })
		if i >= 0 && isOff(spec.Options[i].Value) {
			continue
		}
		if i < 0 {
			spec.Options = append(slices.Clone(spec.Options), o)
		}
		return &sim.Gangs{Patience: gang.Never}, spec
	}
	return &sim.Gangs{Patience: s.Gangs.Patience}, spec
}

// needed returns an error if a policy has the option for gangs, and there are none.
func (g *Gangs) needed(spec catalog.Spec) error {
	for _, o := range spec.Options {
		if o.Name == gangsOption && !g.On && !isOff(o.Value) {
			return usage.Errorf("policy %v: option %s needs --gangs", spec, gangsOption)
		}
	}
	return nil
}

// isOff reports whether a value of one of these options is 0 or false, however it is written.
func isOff(value string) bool {
	if n, err := strconv.ParseInt(value, 10, 64); err == nil {
		return n == 0
	}
	on, err := strconv.ParseBool(value)
	return err == nil && !on
}

// Header returns the line of a report about gangs, "" if there are none.
func (g *Gangs) Header() string {
	if !g.On {
		return ""
	}
	return format.Hang("gangs      ", fmt.Sprintf("the tasks of a phase start together; slots are reserved as the policy says, or after %v", g.Patience))
}
