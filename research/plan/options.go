package plan

import (
	"fmt"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/mars"
)

// Options of [Plan] and [LowerBound]. The zero value is the default.
type Options struct {
	// Planner says how [Plan] makes its schedule. Zero means BestOf.
	Planner Planner

	// Gap is the relative distance (UpperBoundLP-LowerBound)/LowerBound at which the
	// work on the linear program stops. Zero means 1e-6 for up to Exact jobs, and
	// 1e-4 beyond.
	Gap float64

	// Exact is the greatest number of jobs for which column generation solves
	// the linear program. Its gap goes to 0, at a cost that grows with the cube
	// of the number of jobs. Zero means 300; negative means never.
	Exact int

	// Iterations bounds the steps of the price dual. Each step looks a few times at each
	// task. Zero means 100.
	Iterations int

	// Pivots bounds the steps of the column generation. Zero means 20,000 plus 100 for each
	// job.
	Pivots int

	// Evaluations bounds the schedules that the local search of BestOf makes and
	// compares. Zero means 4,000,000 divided by the number of tasks, at most 1,000,
	// and none for more than 200,000 tasks. Negative means none.
	Evaluations int

	// Seed decides what the local search tries.
	Seed uint64

	// Epsilon and Rounds are the stop threshold and the greatest number of rounds of
	// Algorithm 1, for MarSCOGE. Zero means 0.3 (Section 5.1.3) and 1000.
	Epsilon float64
	Rounds  int

	// Online are the options of SOMarS; if Step is zero, plans are made at once. With a Batch, the lists (HUWF to HTWFDispatch) are
	// semi-online in the same way: jobs are released at the end of their interval, and
	// the strict lists take the jobs of one interval after those of the one before.
	Online mars.Options

	// ReleaseCuts adds the release-aware cuts of Goemans, which the paper lacks, to the
	// column generation, for [Bound.BestLowerBound]. It has an effect for up to Exact
	// jobs, and takes several times as long as LowerBound. Without it, or with more jobs,
	// only Smith ratios bound jobs that arrive over time, which costs little.
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

// The planners. A strict planner starts tasks in the order of its list, so a
// task that has to wait holds up the tasks behind it; the planners of Section
// 5.1.3 are strict. A dispatching planner starts, whenever a machine is free,
// the first task of the list that may start. It has no bound of its own.
const (
	// BestOf is the best of MarS, BestFit, Dispatch, Insertion (for up to 200,000 tasks),
	// and a local search. For JobCompletion it also tries BusyDispatch, HUWFDispatch, WSRPT
	// and, for up to 300 jobs, SOMarS; for TaskCompletion it tries STFDispatch, HTWFDispatch
	// and TMarS.
	BestOf    Planner = iota
	MarS              // Algorithm 2
	BestFit           // Algorithm 2, with the machine that becomes free last among those that allow the earliest start
	Insertion         // the order of MarS, each task at the earliest time that fits, also before tasks that were placed already
	Dispatch          // the order of MarS, dispatched

	// BusyDispatch takes tasks in the order of M under the C_j of the release-aware bound
	// (see "Jobs that arrive over time"). WSRPT takes the job with the least unstarted
	// load over its weight. Both dispatch, and are for JobCompletion.
	BusyDispatch
	WSRPT

	// SOMarS is the schedule that a [mars.Policy] makes; the policy learns of jobs when they
	// are released. It is for JobCompletion.
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
