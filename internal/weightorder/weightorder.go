// Package weightorder has the orders of tasks with which the MarS paper compares its
// own (Ling et al. 2016, Section 5.1.3). They are defined once, for the offline
// planners of package mars and for the policies of package baseline.
package weightorder

// An Order is a rule by which tasks are listed.
type Order uint8

const (
	HUWF Order = iota // high unit weight first: the weight of the job over the work of all its tasks
	HJWF              // high job weight first
	STF               // shortest task first
	HTWF              // high task weight first
)

// A Task has the numbers that the orders use. Times are in nanoseconds, which are
// exact below 2^53: equal unit weights then give equal keys, since a division rounds
// once.
type Task struct {
	JobWeight float64
	JobWork   float64 // processing time of all tasks of the job
	Weight    float64
	Time      float64
}

// Key returns the rank of a task: the one with the least key is first. Ties, which
// the paper leaves open, go by the order of arrival of the jobs, then of the phases
// and of the tasks. The key of HUWF is the reciprocal of the unit weight, so that a
// job without work goes first.
func (o Order) Key(t Task) float64 {
	switch o {
	case HUWF:
		return t.JobWork / t.JobWeight
	case HJWF:
		return -t.JobWeight
	case STF:
		return t.Time
	default:
		return -t.Weight
	}
}
