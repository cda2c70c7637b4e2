package plan

import (
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/mars"
)

// Options of [Plan] and [LowerBound]. The zero value is the default.
type Options struct {
	// Planner is how [Plan] makes its schedule. Zero means BestOf.
	Planner Planner

	// Gap is the relative distance (UpperBoundLP-LowerBound)/LowerBound at which the
	// work on the linear program stops. Zero means 1e-6 for up to Exact jobs, and
	// 1e-4 beyond.
	Gap float64

	// Exact is up to how many jobs the linear program is solved by column
	// generation, whose gap goes to 0 at a cost that grows with the cube of the
	// number of jobs. Zero means 300; negative means never.
	Exact int

	// Iterations bounds the steps of the price dual, each of which looks a few
	// times at each task. Zero means 100.
	Iterations int

	// Pivots bounds the steps of the column generation. Zero means 20,000 and 100
	// a job.
	Pivots int

	// Evaluations bounds the local search of BestOf: so many schedules are made and
	// compared. Zero means 4,000,000 divided by the number of tasks, at most 1,000,
	// and none for more than 200,000 tasks; negative means none.
	Evaluations int

	// Seed decides what the local search tries.
	Seed uint64

	// Epsilon and Rounds are the stop threshold and the most rounds of Algorithm 1, for
	// MarSCOGE. Zero means 0.3 (Section 5.1.3) and 1000.
	Epsilon float64
	Rounds  int

	// Online are the options of SOMarS. With a Batch, the lists (HUWF to HTWFDispatch) are
	// semi-online in the same way: jobs are released at the end of their interval, and
	// the strict lists take the jobs of one interval after those of the one before.
	Online mars.Options

	// ReleaseCuts adds the release-aware cuts of Goemans, which the paper lacks, to the
	// column generation, for [Bound.BestLowerBound]. It has an effect on up to Exact jobs,
	// and takes some times as long as LowerBound; without it, and beyond that, jobs that
	// arrive over time are bounded by Smith ratios only, which costs little.
	ReleaseCuts bool
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("plan",
		option.Want(o.Planner >= 0 && int(o.Planner) < len(plannerNames), "Planner", o.Planner, "one of %s", strings.Join(plannerNames[:], ", ")),
		option.Range("Gap", o.Gap, 0, 1),
		option.AtLeast("Iterations", o.Iterations, 0),
		option.AtLeast("Pivots", o.Pivots, 0),
		option.Want(o.Epsilon >= 0 && o.Epsilon < 1, "Epsilon", o.Epsilon, "0 to below 1"),
		option.AtLeast("Rounds", o.Rounds, 0),
		o.Online.Validate())
}

// A Planner is a way to make a schedule.
type Planner int

// The planners. "Strict" ones start tasks in the order of their list, so that a
// task that has to wait holds up those behind it; those of Section 5.1.3 are so.
// "Dispatch" starts, whenever a machine is free, the first of the list that may
// start, which has no bound of its own.
const (
	// BestOf is the best of MarS, BestFit, Dispatch, for up to 200,000 tasks Insertion, and
	// a local search; for JobCompletion also of BusyDispatch, HUWFDispatch, WSRPT and,
	// for up to 300 jobs, SOMarS, for TaskCompletion of STFDispatch, HTWFDispatch and TMarS.
	BestOf    Planner = iota
	MarS              // Algorithm 2
	BestFit           // Algorithm 2 with the machine that is free last of those that let the task start as early
	Insertion         // the order of MarS, each task at the earliest time that fits, also before tasks placed earlier
	Dispatch          // the order of MarS, dispatched

	// BusyDispatch goes by the order of M under the C_j of the release-aware bound (see
	// "Jobs that arrive over time"), and WSRPT takes the job with the least load left that
	// has not been started, over its weight. Both are dispatched, and for JobCompletion.
	BusyDispatch
	WSRPT

	// SOMarS is what a [mars.Policy] makes of the instance, which learns of jobs when they are
	// released. It is for JobCompletion.
	SOMarS

	HUWF         // strict, high unit weight first: weight over work of the job
	HUWFDispatch // the same, dispatched
	HJWF         // strict, high job weight first
	HJWFDispatch // the same, dispatched
	STF          // strict, shortest task first
	STFDispatch  // the same, dispatched
	HTWF         // strict, high task weight first
	HTWFDispatch // the same, dispatched

	MarSCOGE // Algorithm 1 with Options.Epsilon and Options.Rounds, and then Algorithm 2: the paper's MarS, for JobCompletion
	TMarS    // Algorithm 3, for TaskCompletion
	MARES    // [8], with tasks assigned to machines in advance
	HMARES   // its heuristic form
)

// plannerNames are the names of the planners on command lines.
var plannerNames = [...]string{
	BestOf: "bestof", MarS: "mars", BestFit: "best-fit", Insertion: "insertion", Dispatch: "dispatch",
	BusyDispatch: "busy-dispatch", WSRPT: "wsrpt", SOMarS: "so-mars",
	HUWF: "huwf", HUWFDispatch: "huwf-dispatch", HJWF: "hjwf", HJWFDispatch: "hjwf-dispatch",
	STF: "stf", STFDispatch: "stf-dispatch", HTWF: "htwf", HTWFDispatch: "htwf-dispatch",
	MarSCOGE: "mars-coge", TMarS: "tmars", MARES: "mares", HMARES: "h-mares",
}

// String returns the name of the planner.
func (p Planner) String() string {
	if p < 0 || int(p) >= len(plannerNames) {
		return fmt.Sprintf("Planner(%d)", int(p))
	}
	return plannerNames[p]
}

// ParsePlanner returns the planner of a name. The error lists the names.
func ParsePlanner(name string) (Planner, error) {
	for p, known := range plannerNames {
		if name == known {
			return Planner(p), nil
		}
	}
	return 0, fmt.Errorf("unknown planner %q; known planners: %s", name, strings.Join(plannerNames[:], ", "))
}
