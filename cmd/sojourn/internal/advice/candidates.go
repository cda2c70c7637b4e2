package advice

import (
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/trial"
)

// The policies with which all others are compared, for every objective.
const (
	fifo = "fifo"
	fair = "fair"
)

// candidates are the policies that are tried if none is named, if the catalog has them, the simplest first.
var candidates = []struct {
	name      string
	sized     bool // needs the lengths of tasks
	deadlines bool // is about deadlines
}{
	{name: fifo}, {name: fair}, {name: "default"}, {name: "las"}, {name: "hfsp"},
	{name: "srpt", sized: true}, {name: "fsp", sized: true}, {name: "pfsp", sized: true},
	{name: "rtmr", sized: true, deadlines: true},
}

// plainness returns the place of a policy among the candidates. What has options, or is not among them, comes after them.
func plainness(s catalog.Spec) int {
	for i, c := range candidates {
		if c.name == s.String() {
			return i
		}
	}
	return len(candidates)
}

// A leftOut is a policy that is not compared.
type leftOut struct {
	Policy string `json:"policy"`
	Reason string `json:"reason"`
}

// choose returns the candidates of an objective, and those that are left out because they do not
// know features of the workload, or because policies are not told sizes.
func choose(policies catalog.Catalog, deadlines, told bool, features sojourn.Features) (specs []catalog.Spec, left []leftOut) {
	for _, c := range candidates {
		p, err := policies.New(catalog.Spec{Name: c.name})
		if err != nil || c.deadlines && !deadlines {
			continue
		}
		unknown := features.Check(sojourn.Supports(p))
		switch {
		case unknown != nil:
			left = append(left, leftOut{c.name, unknown.Error()})
		case c.sized && !told:
			left = append(left, leftOut{c.name, "the workload does not tell in advance how long tasks take; --estimates exact does"})
		default:
			specs = append(specs, catalog.Spec{Name: c.name})
		}
	}
	return specs, left
}

// withYardsticks returns the policies with fifo and fair before them, unless they are there.
func withYardsticks(specs []catalog.Spec) []catalog.Spec {
	var all []catalog.Spec
	for _, name := range []string{fifo, fair} {
		if indexOf(specs, name) < 0 {
			all = append(all, catalog.Spec{Name: name})
		}
	}
	return append(all, specs...)
}

// indexOf returns the place of the policy that is written as a text, -1 if there is none.
func indexOf(specs []catalog.Spec, text string) int {
	return slices.IndexFunc(specs, func(s catalog.Spec) bool { return s.String() == text })
}

// told reports whether policies know, or can find out, how long tasks take before they start.
func told(s *trial.Scenario) bool {
	return s.Estimates != noEstimates || s.Workload.Facts().Told > 0
}
