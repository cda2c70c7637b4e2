package catalog

import (
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
)

// Builtin returns the policies of the library. To add a policy, add it here; no
// other place lists them.
func Builtin() Catalog {
	return Catalog{
		NewEntry("default", "the job with the least work left; a few slots are kept for short tasks", leastwork.New),
		NewEntry("fifo", "jobs in the order of their arrival", fifo.New),
		NewEntry("fair", "equal shares, for jobs and for weighted pools (Hadoop's Fair Scheduler)", newFair),
		NewEntry("priority", "the jobs of the greatest priority first, and those of each priority in the order of another policy", newPriority),
		NewEntry("release", "jobs not before their release, those of a sequence one after the other, in the order of another policy", newRelease),
		NewEntry("srpt", "the job with the shortest remaining processing time", baseline.NewSRPT),
		NewEntry("fsp", "the job that would finish first under fluid fair sharing (FSP)", baseline.NewFSP),
		NewEntry("las", "the job with the least attained service", baseline.NewLAS),
		NewEntry("local", "any job's task whose input is closest to the slot (greedy)", baseline.NewLocal),
		NewEntry("huwf", "the job with the highest weight over the work of all its tasks", baseline.NewHUWF),
		NewEntry("hjwf", "the job with the highest weight", baseline.NewHJWF),
		NewEntry("stf", "the shortest task, whatever its job", baseline.NewSTF),
		NewEntry("htwf", "the task with the highest weight, which is that of its job", baseline.NewHTWF),
		NewEntry("pfsp", "the shortest job that delays no other beyond its end under fluid fair sharing (H-PFSP)", pfsp.New),
		NewEntry("hfsp", "the job of the least virtual size, estimated from its first tasks (HFSP)", newHFSP),
		NewEntry("td", "many jobs at once, local tasks first, no hot spots (throughput-driven)", td.New),
		NewEntry("fcfs", "rigid jobs strictly in the order of their arrival, for --gangs", baseline.NewFCFS),
		NewEntry("easy", "rigid jobs by arrival; a job may overtake if it does not delay the first (EASY backfilling)", baseline.NewEASY),
		NewEntry("conservative", "rigid jobs by arrival; a job may overtake if it delays none (conservative backfilling)", baseline.NewConservative),
		NewEntry("dc", "jobs with deadlines that pass a test, with as few maps at a time as that takes (Deadline Constraint)", baseline.NewDeadlineConstraint),
		NewEntry("mars", "tasks in the order of a near-optimal plan for weighted completion times (SO-MarS)", mars.New),
		NewEntry("rtmr", "jobs with deadlines: none is accepted that would miss its own (RTMR)", rtmr.New),
	}
}
