package trial

import (
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/research/sim"
)

// sized are the policies that order jobs by sizes that somebody tells them.
var sized = []string{"srpt", "fsp", "pfsp", "huwf", "stf", "mars", "rtmr", "dc", "easy", "conservative"}

// Unsized names the policies that are made for sizes, if nobody tells any; "" if there is none, or sizes are told.
func (s *Scenario) Unsized(specs []catalog.Spec) string {
	if s.Estimates.Mode != sim.None || s.Workload.Facts().Told > 0 {
		return ""
	}
	var names []string
	for _, spec := range specs {
		if slices.Contains(sized, spec.Name) && !slices.Contains(names, spec.String()) {
			names = append(names, spec.String())
		}
	}
	return strings.Join(names, ", ")
}
