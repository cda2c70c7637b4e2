package charge

import "github.com/sojourn-sched/sojourn"

// Grown reports whether a description of a phase continues an earlier one: its estimates are a list in the same memory, with more
// tasks at the end or as many. Then only the estimates from old.Tasks on have to be read, since nobody changes what a job
// refers to.
func Grown(old, ph *sojourn.Phase) bool {
	return ph.Tasks >= old.Tasks && old.Tasks > 0 && ph.Estimate == old.Estimate &&
		len(old.Estimates) == old.Tasks && len(ph.Estimates) == ph.Tasks && &ph.Estimates[0] == &old.Estimates[0]
}
