package trial

import (
	"slices"
	"strconv"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
)

// drawsErrors reports whether a policy is hfsp with errors of sizes.
func drawsErrors(spec catalog.Spec) bool {
	return spec.Name == "hfsp" && slices.ContainsFunc(spec.Options, func(o catalog.Option) bool { return o.Name == "sigma" && o.Value != "0" })
}

// seeded returns the spec of a policy in a run of some seed: errors of sizes are drawn
// from it. Were they the same for the same job with each seed, intervals would not tell
// how much depends on them.
func seeded(spec catalog.Spec, seed uint64) catalog.Spec {
	if !drawsErrors(spec) || seed == 0 {
		return spec
	}
	spec.Options = slices.DeleteFunc(slices.Clone(spec.Options), func(o catalog.Option) bool {
		if o.Name != "seed" {
			return false
		}
		n, _ := strconv.ParseUint(o.Value, 10, 64) // no error: such policies were made before
		seed += n
		return true
	})
	spec.Options = append(spec.Options, catalog.Option{Name: "seed", Value: strconv.FormatUint(seed, 10)})
	return spec
}
