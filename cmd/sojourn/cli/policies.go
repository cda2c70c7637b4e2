package cli

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/baseline"
	"github.com/sojourn-sched/sojourn/cmd/sojourn/internal/catalog"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/mars"
	"github.com/sojourn-sched/sojourn/pfsp"
	"github.com/sojourn-sched/sojourn/rtmr"
	"github.com/sojourn-sched/sojourn/td"
	"github.com/sojourn-sched/sojourn/trace"
)

// builtin returns the policies that the command line knows by itself. This is the
// one place where a new one is added.
func builtin() catalog.Catalog {
	return catalog.Catalog{
		catalog.NewEntry("fifo", "jobs in the order of their arrival", fifo.New),
		catalog.NewEntry("fair", "equal shares, for jobs and for weighted pools (Hadoop's Fair Scheduler)", newFair),
		catalog.NewEntry("srpt", "the job with the shortest remaining processing time", baseline.NewSRPT),
		catalog.NewEntry("fsp", "the job that would finish first under fluid fair sharing (FSP)", baseline.NewFSP),
		catalog.NewEntry("las", "the job with the least attained service", baseline.NewLAS),
		catalog.NewEntry("local", "any job's task whose input is closest to the slot (greedy)", baseline.NewLocal),
		catalog.NewEntry("huwf", "the job with the highest weight over the work of all its tasks", baseline.NewHUWF),
		catalog.NewEntry("hjwf", "the job with the highest weight", baseline.NewHJWF),
		catalog.NewEntry("stf", "the shortest task, whatever its job", baseline.NewSTF),
		catalog.NewEntry("htwf", "the task with the highest weight, which is that of its job", baseline.NewHTWF),
		catalog.NewEntry("pfsp", "the shortest job that delays no other beyond its end under fluid fair sharing (H-PFSP)", pfsp.New),
		catalog.NewEntry("hfsp", "the job of the least virtual size, estimated from its first tasks (HFSP)", newHFSP),
		catalog.NewEntry("td", "many jobs at once, local tasks first, no hot spots (throughput-driven)", td.New),
		catalog.NewEntry("dc", "jobs with deadlines that pass a test, with as few maps at a time as that takes (Deadline Constraint)", baseline.NewDeadlineConstraint),
		catalog.NewEntry("mars", "tasks in the order of a near-optimal plan for weighted completion times (SO-MarS)", mars.New),
		catalog.NewEntry("rtmr", "jobs with deadlines: none is accepted that would miss its own (RTMR)", rtmr.New),
	}
}

// defaultPolicies is what compare compares.
const defaultPolicies = "fifo,fair,las,srpt,fsp,pfsp,hfsp"

// parsePolicies reads the values of -p, and checks that each names a policy that
// can be made.
func parsePolicies(policies catalog.Catalog, values []string) ([]catalog.Spec, error) {
	specs, err := catalog.Parse(strings.Join(values, ","))
	if err != nil {
		return nil, usageError{err}
	}
	for _, s := range specs {
		if _, err := newPolicy(policies, s); err != nil {
			return nil, err
		}
	}
	return specs, nil
}

// newPolicy makes a policy.
func newPolicy(policies catalog.Catalog, s catalog.Spec) (sojourn.Policy, error) {
	p, err := policies.New(s)
	if err == nil {
		return p, nil
	}
	if bad := (*trace.Error)(nil); errors.As(err, &bad) {
		return nil, bad // in a file that an option names
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		return nil, err
	}
	return nil, usageError{err}
}

// policyHelp names the policies for the help text.
func policyHelp(policies catalog.Catalog) string {
	return strings.Join(wrap("Policies are written as name or name:option=value,... They are "+
		strings.Join(policies.Names(), ", ")+". 'sojourn policies' says what they are, and 'sojourn policies NAME' what can be chosen.",
		helpWidth, ""), "\n")
}
