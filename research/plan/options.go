package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/visible"
	"github.com/sojourn-sched/sojourn/mars"
)

// Options of [Plan] and [LowerBound]. The zero value is the default.
type Options struct {
	// Planner says how [Plan] makes its schedule. Empty means bestof.
	Planner Planner

	// Gap is the relative distance (UpperBoundLP-LowerBound)/LowerBound at which the
	// work on the linear program stops. Zero means 1e-6 for up to 300 jobs, and
	// 1e-4 beyond.
	Gap float64

	// exact is the greatest number of jobs for which column generation solves
	// the linear program. Its gap goes to 0, at a cost that grows with the cube
	// of the number of jobs. Zero means 300; negative means never.
	exact int

	// Iterations bounds the steps of the price dual. Each step looks a few times at each
	// task. Zero means 100.
	Iterations int

	// pivots bounds the steps of the column generation. Zero means 20,000 plus 100 for each
	// job.
	pivots int

	// Evaluations bounds the schedules that the local search of bestof makes and
	// compares. Zero means 4,000,000 divided by the number of tasks, at most 1,000,
	// and none for more than 200,000 tasks. Negative means none.
	Evaluations int

	// Seed decides what the local search tries.
	Seed uint64

	// Epsilon and Rounds are the stop threshold and the greatest number of rounds of
	// Algorithm 1, for mars-coge. Zero means 0.3 (Section 5.1.3) and 1000.
	Epsilon float64
	Rounds  int

	// Online are the options of so-mars; if Step is zero, plans are made at once. With a Batch, the lists (huwf to htwf-dispatch) are
	// semi-online in the same way: jobs are released at the end of their interval, and
	// the strict lists take the jobs of one interval after those of the one before.
	Online mars.Options

	// ReleaseCuts adds the release-aware cuts of Goemans, which the paper lacks, to the
	// column generation, for [Bound.BestLowerBound]. It has an effect for up to 300
	// jobs, and takes several times as long as LowerBound. Without it, or with more jobs,
	// only Smith ratios bound jobs that arrive over time, which costs little.
	ReleaseCuts bool
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o Options) Validate() error {
	return option.First("plan",
		option.Want(o.Planner == "" || slices.Contains(planners, o.Planner), "Planner", o.Planner, "one of %s", strings.Join(names(), ", ")),
		option.Range("Gap", o.Gap, 0, 1),
		option.AtLeast("Iterations", o.Iterations, 0),
		option.AtLeast("pivots", o.pivots, 0),
		option.Want(o.Epsilon >= 0 && o.Epsilon < 1, "Epsilon", o.Epsilon, "0 to below 1"),
		option.AtLeast("Rounds", o.Rounds, 0),
		o.Online.Validate())
}

// A Planner is the name of a way to make a schedule. [Planners] lists them; the empty name means bestof.
//
//	bestof         the best of mars, best-fit, dispatch, insertion (for up to 200,000 tasks), and a local
//	               search. For JobCompletion it also tries busy-dispatch, huwf-dispatch, wsrpt and, for up to 300
//	               jobs, so-mars; for TaskCompletion it tries stf-dispatch, htwf-dispatch and tmars
//	mars           Algorithm 2
//	best-fit       Algorithm 2, with the machine that becomes free last among those that allow the earliest start
//	insertion      the order of mars, each task at the earliest time that fits, also before tasks that were placed already
//	dispatch       the order of mars, dispatched
//	busy-dispatch  tasks in the order of M under the C_j of the release-aware bound, dispatched; for JobCompletion
//	wsrpt          the job with the least unstarted load over its weight, dispatched; for JobCompletion
//	so-mars        what a [mars.Policy] makes, which learns of jobs when they are released; for JobCompletion
//	huwf           strict, high unit weight first: weight over work of the job
//	hjwf           strict, high job weight first
//	stf            strict, shortest task first
//	htwf           strict, high task weight first
//	mars-coge      Algorithm 1 with Options.Epsilon and Options.Rounds, and then Algorithm 2: the paper's MarS, for JobCompletion
//	tmars          Algorithm 3, for TaskCompletion
//	mares          [8], with tasks assigned to machines in advance
//	h-mares        its heuristic form
//
// A strict planner starts tasks in the order of its list, so a task that has to wait holds up the tasks behind
// it; the planners of Section 5.1.3 are strict. A dispatching planner starts, whenever a machine is free, the
// first task of the list that may start. It has no bound of its own. huwf, hjwf, stf and htwf are also
// dispatched, as huwf-dispatch and so on.
type Planner string

const (
	bestOf       Planner = "bestof"
	marS         Planner = "mars"
	bestFit      Planner = "best-fit"
	insertion    Planner = "insertion"
	dispatch     Planner = "dispatch"
	busyDispatch Planner = "busy-dispatch"
	wsrpt        Planner = "wsrpt"
	soMarS       Planner = "so-mars"
	huwf         Planner = "huwf"
	huwfDispatch Planner = "huwf-dispatch"
	stfDispatch  Planner = "stf-dispatch"
	htwfDispatch Planner = "htwf-dispatch"
	marSCOGE     Planner = "mars-coge"
	tMarS        Planner = "tmars"
	maresWaiting Planner = "mares"
	maresAtOnce  Planner = "h-mares"
)

var planners = []Planner{bestOf, marS, bestFit, insertion, dispatch, busyDispatch, wsrpt, soMarS,
	huwf, huwfDispatch, "hjwf", "hjwf-dispatch", "stf", stfDispatch, "htwf", htwfDispatch,
	marSCOGE, tMarS, maresWaiting, maresAtOnce}

// Planners returns all planners, bestof first.
func Planners() []Planner { return slices.Clone(planners) }

// ParsePlanner returns the planner of a name. The error lists the names.
func ParsePlanner(name string) (Planner, error) {
	if p := Planner(name); slices.Contains(planners, p) {
		return p, nil
	}
	return "", fmt.Errorf("unknown planner %q; known planners: %s%s", name, strings.Join(names(), ", "), visible.Meant(name, names()))
}

// joined returns the names of all planners.
func names() (list []string) {
	for _, p := range planners {
		list = append(list, string(p))
	}
	return list
}
