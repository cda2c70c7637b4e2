package mars

import (
	"cmp"
	"time"

	"github.com/sojourn-sched/sojourn/internal/option"
)

// Options configure a [Policy]. The zero value is the default: all waiting work
// is planned again when jobs arrive.
// A snapshot may be restored under another Interval, Step or number of Iterations.
type Options struct {
	// Batch is the batch interval of SO-MarS (Section 5.3), which the paper varies
	// from 10 s to 100 s: jobs wait for the end of the interval in which they
	// arrive, and are planned there. Intervals are counted from the first arrival.
	// Zero means no batches: jobs may start when they arrive. At most 2^61-1 ns; an
	// interval that would end after the last instant of [sojourn.Time] ends there.
	Batch time.Duration

	// Commit never changes a plan: only the jobs of the batch are planned at its end,
	// and all work of a batch comes before that of later ones. Without Commit, all
	// work that has not started is planned at the end of each batch. Commit needs a
	// Batch.
	Commit bool

	// Interval is the least time between two plans if there are no batches. Jobs that
	// arrive meanwhile are placed by the prices of the latest plan. Zero means one
	// second. A plan for 100,000 live jobs of two phases takes about a quarter of a second of
	// processor time (BenchmarkReplan): with so many jobs, use some seconds. At most
	// 2^61-1 ns; an interval that would end after the last instant of [sojourn.Time] ends
	// there.
	Interval time.Duration

	// Iterations bounds the steps of the price dual in a plan. Each step looks a few
	// times at each phase of each job. Zero means 40. It is for research.
	Iterations int

	// Step bounds the work of a plan at one event, so that a driver can do something else in
	// between: about so many looks at a phase of a job, of 30 to 150 ns each. Plans for more
	// work take several Ticks, half a millisecond apart, during which slots take tasks in the
	// order of the plan before. Zero means 16,384: plans for about a hundred live jobs are made
	// at once. It is for research.
	Step int

	// DefaultTaskTime is how long a task without an estimate is assumed to take. Zero
	// means one minute.
	DefaultTaskTime time.Duration
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("mars",
		option.Range("Batch", o.Batch, 0, maxTail),
		option.Want(!o.Commit || o.Batch > 0, "Commit", o.Commit, "false without Batch"),
		option.Range("Interval", o.Interval, 0, maxTail),
		option.Want(o.Interval == 0 || o.Batch == 0, "Interval", o.Interval, "0 with Batch"),
		option.AtLeast("Iterations", o.Iterations, 0),
		option.AtLeast("Step", o.Step, 0),
		option.AtLeast("DefaultTaskTime", o.DefaultTaskTime, 0))
}

// settle returns valid options with their defaults.
func (o Options) settle() Options {
	if o.Batch == 0 {
		o.Interval = cmp.Or(o.Interval, time.Second)
	}
	o.Iterations = cmp.Or(o.Iterations, 40)
	o.Step = cmp.Or(o.Step, 1<<14)
	o.DefaultTaskTime = cmp.Or(o.DefaultTaskTime, option.DefaultTaskTime)
	return o
}
