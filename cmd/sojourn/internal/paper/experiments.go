package paper

import "slices"

// All returns the experiments of all papers. This is the one place where the experiments
// of a paper are added.
func All() []Experiment {
	return slices.Concat(hfspExperiments(), hpfspExperiments(), tdExperiments(), marsExperiments(), rtmrExperiments())
}
