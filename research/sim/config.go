package sim

import (
	"fmt"
	"iter"
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
)

// A Config describes one run. For every field except Cluster, Jobs and Policy the
// zero value is the simple case: exact estimates, no faults, no records.
type Config struct {
	Cluster Cluster

	// Jobs yields the workload in the order of arrival. An error ends the run.
	Jobs iter.Seq2[*Job, error]

	// Policy must be new: it has observed nothing yet.
	Policy sojourn.Policy

	// Estimates says which service times the policy is told.
	Estimates Estimates

	// Stragglers makes some attempts slow.
	Stragglers Stragglers

	// Remote makes attempts slow if they are far from their input.
	Remote Remote

	// Network makes such attempts transfer their input over shared links instead.
	// Remote must then be zero.
	Network Network

	// Faults makes attempts, assignments and nodes fail.
	Faults Faults

	// PoolChanges are the events of kind [sojourn.PoolChanged] that the policy is told, in the order of At. A policy without
	// [sojourn.FeaturePools] is an error, and so is one that refuses a change.
	PoolChanges []sojourn.Event

	// Gangs, unless nil, makes every phase a gang, whose tasks start together.
	Gangs *Gangs

	// Progress is the time between two TaskProgress events of a running attempt.
	// Zero means none.
	Progress time.Duration

	// Preempt honours the requests of a [sojourn.Preemptor] at once, by killing.
	Preempt bool

	// Retest offers jobs that the policy rejected to its [sojourn.Admitter] again,
	// whenever a job has finished and until their deadlines have passed.
	Retest bool

	// Seed determines all random numbers of the run.
	Seed uint64

	// Records asks for a record of every job in Result.JobRecords, in the order of
	// arrival, and for quantiles. Without it, the memory of a run does not grow with
	// the number of jobs that have ended, except for Quantiles.
	Records bool

	// Quantiles asks for quantiles in Result without records. They take 40 bytes for
	// each job that has finished.
	Quantiles bool

	// NoAudit leaves the fairness audit out.
	NoAudit bool

	// Hooks are called during the run.
	Hooks Hooks
}

// Estimates says which service times a policy is told for phases without an estimate
// in the workload.
type Estimates struct {
	Mode EstimateMode

	// Sigma is the standard deviation of the logarithm of the error, for
	// LogNormal. Each job has one error: every estimate is the true time, times
	// exp(Sigma*Z) with Z standard normal.
	Sigma float64

	// Factor is how many times the true time every estimate is, for Scaled.
	Factor float64
}

// An EstimateMode is a way to estimate service times.
type EstimateMode uint8

const (
	Exact     EstimateMode = iota // the true time of every task, at least 1 ns
	None                          // nothing
	LogNormal                     // the true time, off by a factor that is drawn for each job
	Scaled                        // the true time, off by the same factor for all jobs
)

// Stragglers makes some attempts slow.
type Stragglers struct {
	Probability float64 // that an attempt is a straggler
	Factor      float64 // how many times longer its task takes; at least 1
}

// Faults makes attempts, assignments and nodes fail.
type Faults struct {
	// Task is the probability that an attempt fails, at a uniformly drawn point of
	// its service time.
	Task float64

	// Refuse is the probability that an assignment is refused at once.
	Refuse float64

	// MTBF is the mean time between failures of one node, and MTTR the mean time
	// until the node is back; both are exponentially distributed. MTBF zero means
	// that nodes fail only by Script.
	MTBF, MTTR time.Duration

	// Script lists failures and recoveries of nodes, in the order of time.
	Script []NodeFault

	// LoseOutput makes the failure of a node lose the output of the tasks that
	// finished on it, as long as the next phase of the job still needs it.
	LoseOutput bool
}

// A NodeFault is the failure or the recovery of a node.
type NodeFault struct {
	At   sojourn.Time
	Node sojourn.NodeID
	Up   bool
}

// Hooks are functions that a run calls; nil ones are skipped. They must not call the
// policy.
type Hooks struct {
	// Event is called after each event that the policy observed, with its answer.
	Event func(sojourn.Event, error)

	// Assigned is called after each call of Assign, with its answer.
	Assigned func(sojourn.SlotID, sojourn.Assignment, bool)

	// Job is called once for each job, when its outcome and its ps_finish are both
	// known.
	Job func(*JobRecord)

	// Attempt is called at the end of each attempt.
	Attempt func(*TaskRecord)
}

// Validate returns the first thing that is wrong with the configuration, or nil. It does not
// read Jobs. [Run] calls it.
func (c Config) Validate() error {
	return option.First("sim",
		option.Want(c.Policy != nil, "Policy", c.Policy, "a policy"),
		option.Want(c.Jobs != nil, "Jobs", "nil", "a workload"),
		option.AtLeast("Progress", c.Progress, 0),
		c.Estimates.check(),
		c.Stragglers.check(),
		c.Remote.check(),
		c.Network.check(c.Remote),
		c.Cluster.check(),
		c.Gangs.check(&c),
		c.Faults.check(len(c.Cluster.Nodes)),
		c.checkPoolChanges())
}

func (c *Config) checkPoolChanges() error {
	last := sojourn.Time(0)
	for i, ev := range c.PoolChanges {
		name := fmt.Sprintf("PoolChanges[%d]", i)
		if err := option.First("",
			option.Want(ev.Kind == sojourn.PoolChanged, name+".Kind", ev.Kind, "PoolChanged"),
			option.Want(ev.At >= last, name+".At", ev.At, "an instant from that of the change before on, %v", last),
			option.Want(ev.Pool.Check() == nil, name+".Pool", ev.Pool, "a pool: %v", ev.Pool.Check())); err != nil {
			return err
		}
		last = ev.At
	}
	return nil
}

func (e *Estimates) check() error {
	return option.First("",
		option.Range("Estimates.Mode", e.Mode, Exact, Scaled),
		option.Range("Estimates.Sigma", e.Sigma, 0, math.MaxFloat64),
		option.Want(e.Sigma == 0 || e.Mode == LogNormal, "Estimates.Sigma", e.Sigma, "0 without LogNormal"),
		option.Range("Estimates.Factor", e.Factor, 0, math.MaxFloat64),
		option.Want((e.Factor > 0) == (e.Mode == Scaled), "Estimates.Factor", e.Factor, "above 0 with Scaled, and 0 without"))
}

func (s *Stragglers) check() error {
	if err := option.Range("Stragglers.Probability", s.Probability, 0, 1); err != nil || s.Probability == 0 {
		return err
	}
	return option.Range("Stragglers.Factor", s.Factor, 1, math.MaxFloat64)
}

// check returns the first thing that is wrong with f on the given number of nodes,
// or nil.
func (f *Faults) check(nodes int) error {
	if err := option.First("",
		option.Want(f.Task >= 0 && f.Task < 1, "Faults.Task", f.Task, "0 to below 1"),
		option.Want(f.Refuse >= 0 && f.Refuse < 1, "Faults.Refuse", f.Refuse, "0 to below 1"),
		option.AtLeast("Faults.MTBF", f.MTBF, 0),
		option.AtLeast("Faults.MTTR", f.MTTR, 0),
		option.Want((f.MTBF > 0) == (f.MTTR > 0), "Faults.MTBF", f.MTBF, "0 if and only if MTTR is, which is %v", f.MTTR)); err != nil {
		return err
	}
	down := make(map[sojourn.NodeID]bool)
	last := sojourn.Time(0)
	for i, c := range f.Script {
		bad := func(what string) error {
			return fmt.Errorf("Faults.Script: entry %d: node %d at %v %s", i+1, c.Node, c.At, what)
		}
		switch {
		case c.At < last:
			return bad("is out of order")
		case c.Node == 0 || int64(c.Node) > int64(nodes):
			return bad("does not exist")
		case f.MTBF == 0 && c.Up != down[c.Node]:
			return bad("is in that state already")
		}
		last, down[c.Node] = c.At, !c.Up
	}
	return nil
}
