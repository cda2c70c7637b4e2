package sim

import (
	"math"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// A Result sums up a run.
type Result struct {
	Jobs        int // jobs of the workload
	Tasks       int // tasks of those jobs
	Finished    int // jobs that finished
	Rejected    int // jobs that the policy declined (sojourn.ErrRejected)
	Unsupported int // jobs that the policy cannot schedule (sojourn.ErrUnsupported)
	Unfinished  int // jobs left behind: nothing could run them to the end

	Events   uint64 // events that the policy observed
	Attempts uint64 // attempts that were started
	Wasted   uint64 // attempts that ended without success

	// Sojourn is finish minus arrival. Slowdown is Sojourn divided by the time
	// that the job takes alone on the idle cluster. BoundedSlowdown takes that
	// time as at least 10 s and the quotient as at least 1 (Feitelson). Tardiness
	// is how late jobs with a deadline finished, 0 if in time. Times are in
	// seconds. All four cover the jobs that finished. A job that takes no time
	// alone has no slowdown, only a bounded one.
	Sojourn, Slowdown, BoundedSlowdown, Tardiness Dist

	// Bins holds the same for jobs of similar size.
	Bins []Bin

	// Makespan is the time from the first arrival to the last finish.
	Makespan time.Duration

	// Utilisation is, by class, the share of slot time between the first arrival and
	// the last finish in which an attempt held the slot. It has as many entries as
	// [Cluster.Capacity], and so has Idle.
	Utilisation []float64

	// Idle is, by class, the slot-seconds since the first arrival in which slots were
	// free although tasks could have been started. At each instant it counts the free
	// slots or the startable tasks, whichever are fewer. Tasks that only their job's Parallelism holds back
	// count as startable.
	Idle []float64

	// WeightedCompletion is the sum of weight times finish, and WeightedSojourn of
	// weight times sojourn, in seconds.
	WeightedCompletion, WeightedSojourn float64

	// Jain is Jain's index of the slowdowns: 1 if all are equal, and close to 1/n if
	// the slowdown of one job dominates.
	Jain float64

	// Deadlines counts the jobs with a deadline, Accepted those of them that the
	// policy accepted, and Met those that finished in time.
	Deadlines, Accepted, Met int

	// MetTime is the slot-seconds for which the attempts of the jobs in Met held
	// their slots.
	MetTime float64

	// Retested counts the accepted jobs that were rejected at first; see
	// Config.Retest.
	Retested int

	// Void counts the jobs whose deadline was accepted and whose promise was void at
	// some time, if the policy is a [sojourn.Promiser].
	Void int

	// Locality counts the finished attempts by the true distance from their input,
	// which may differ from the policy's view. Each of the four distances is a key.
	Locality map[sojourn.Locality]int

	// Transfers sums up the transfers over the network; nil without one.
	Transfers *Transfers

	// Audit is the fairness audit.
	Audit Audit

	// JobRecords holds a record of every job, in the order of arrival, if
	// Config.Records is set.
	JobRecords []JobRecord
}

// A Dist describes a set of numbers.
type Dist struct {
	N         int
	Mean, Max float64

	// Quantiles by the nearest-rank rule; NaN without numbers, and without Config.Records and
	// Config.Quantiles.
	Median, P90, P99 float64
}

// A Bin describes the jobs of at least Min and at most Max tasks.
type Bin struct {
	Min, Max          int // Max is 0 in the last bin, which has no upper end
	Sojourn, Slowdown Dist
}

// An Audit compares a run with fluid fair sharing (generalised processor
// sharing, GPS, in each class of slot, with the true sizes and without limits on
// parallelism).
type Audit struct {
	// Phases is the number of phases that ended.
	Phases int

	// BeyondBound is how many of them ended after D + P + (1-1/N)*p. D is the end
	// of the phase in fluid fair sharing if it entered at the instant at which it
	// was really ready. N is the number of slots of the class. p is the longest
	// time that an attempt at the phase held a slot, and P the same for other
	// phases in the class. FSP keeps BeyondBound at 0 under the hypotheses in the
	// package comment. N counts all slots, reserved or not: what FSP and PFSP with a
	// reserve of k slots promise is the bound of fluid fair sharing on N-k slots (package
	// kit/reserve), so they may be beyond this one.
	BeyondBound int

	// Furthest is the greatest time by which one of them ended after this, rounded up
	// to a nanosecond.
	Furthest time.Duration

	// Late is how many jobs finished later than in fluid fair sharing from the first
	// phase on (ps_finish), and Latest is the greatest such delay.
	Late   int
	Latest time.Duration
}

// An Outcome says how a job or an attempt ended.
type Outcome uint8

const (
	Finished    Outcome = iota // success
	Failed                     // attempts: the task failed; jobs: never finished
	Rejected                   // jobs: declined by the policy
	Unsupported                // jobs: the policy cannot schedule them
	Preempted                  // attempts: killed because the policy asked
	SlotLost                   // attempts: its node went down
	Refused                    // attempts: never started
)

var outcomeNames = [...]string{"finished", "failed", "rejected", "unsupported", "preempted", "lost", "refused"}

// String returns the name that the files of a run use.
func (o Outcome) String() string { return outcomeNames[o] }

// A JobRecord is the outcome of one job.
type JobRecord struct {
	ID         sojourn.JobID
	Name, Pool string
	Weight     float64 // 1 if the workload has none
	Tasks      int
	Outcome    Outcome

	Arrival    sojourn.Time
	FirstStart sojourn.Time // of its first attempt; 0 if it never started
	Finish     sojourn.Time // 0 unless finished
	Deadline   sojourn.Time // 0 if none

	// Void says why the promise of the deadline was void, as the policy first said;
	// "" if it never was.
	Void string

	// PSFinish is when the job ends in fluid fair sharing, in whole nanoseconds. It
	// is 0 without an audit, for jobs that were not accepted, and if the cluster
	// lost all its slots before.
	PSFinish sojourn.Time

	// Alone is the time that the job takes on the idle cluster.
	Alone time.Duration

	// BeyondBound counts its phases that ended beyond the bound; see Audit.
	BeyondBound int
}

// Sojourn returns the time from arrival to finish.
func (r *JobRecord) Sojourn() time.Duration { return r.Finish.Sub(r.Arrival) }

// Slowdown returns the sojourn time divided by the time that the job takes alone.
// It is NaN for a job that takes no time.
func (r *JobRecord) Slowdown() float64 {
	if r.Alone == 0 {
		return math.NaN()
	}
	return float64(r.Sojourn()) / float64(r.Alone)
}

// A TaskRecord is the outcome of one attempt.
type TaskRecord struct {
	Task       sojourn.TaskID
	Attempt    uint32
	Node       sojourn.NodeID
	Slot       sojourn.SlotID
	Class      sojourn.Class // of the slot
	Start, End sojourn.Time
	Outcome    Outcome
	Locality   sojourn.Locality // how far it was from its input
	Source     sojourn.NodeID   // where it read its input; 0 if nowhere
}
