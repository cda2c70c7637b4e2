package paper

// All returns what 'sojourn paper' knows. This is the one place where an
// experiment is added.
func All() []Experiment {
	known := hfspExperiments()
	known = append(known, hpfspExperiments()...)
	known = append(known, tdExperiments()...)
	known = append(known, marsExperiments()...)
	return append(known, rtmrExperiments()...)
}
