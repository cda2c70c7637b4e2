package cli

// experiments returns what 'sojourn paper' knows. This is the one place where an
// experiment is added.
func experiments() []experiment {
	known := hfspExperiments()
	known = append(known, hpfspExperiments()...)
	known = append(known, tdExperiments()...)
	return append(known, rtmrExperiments()...)
}
