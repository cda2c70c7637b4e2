package sim

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// The books of a run have its live jobs, and the data of the result.
type books struct {
	machines
	jobs       map[sojourn.JobID]*job // accepted and not finished
	rejected   []*job                 // jobs to offer again, in the order of arrival
	unreleased []*job                 // jobs that only wait for their release, by it and then by arrival
	growing    []*job                 // jobs to which tasks will come, by when the next ones do and then by arrival
	lines      map[string][]*job      // of each Sequence of jobs, in the order of arrival
	audit      *audit                 // nil without an audit
	tally      tally
	res        Result
}

// A job is an accepted job. It is kept until its outcome and its ps_finish are
// known.
type job struct {
	*Job                 // the truth
	told    *sojourn.Job // of what has come
	whole   *sojourn.Job // the same of all tasks, whenever they come
	grows   sojourn.Time // when the next tasks come, if the job is among those that grow
	phases  []phase
	tasks   []task           // of all phases, in their order
	homes   []sojourn.NodeID // the node of the output of each task, 0 if none; nil unless outputs can be lost
	left    int              // tasks that are not finished
	present bool             // released, and the first of its Sequence
	running uint32           // live attempts
	started bool             // an attempt has started
	held    time.Duration    // how long its ended attempts held slots
	record  JobRecord
	order   int     // among the jobs of the workload
	readers [][]int // by phase: those that read its output; nil if each is read by the next one at most
	fluid   fluidJob
}

// A phase is the state of a phase of a job. First come the parts of its description and of its state that
// each attempt needs, so that few lines of a cache hold them.
type phase struct {
	first    int              // index of its first task in job.tasks
	tasks    int              // how many tasks it has
	known    int              // how many of them have come
	finished int              // tasks that are finished now
	pending  int              // tasks that are pending now
	counted  int              // the ones that tally.startable counts
	class    sojourn.Class    // as the policy is told
	unmet    int32            // how many of the phases that it waits for have finished too few tasks
	missing  int32            // how many of the phases that it reads have not finished
	input    sojourn.Time     // when the outputs of those that have finished have arrived
	delays   bool             // its outputs take time to arrive
	ready    bool             // enough tasks of the phases that it waits for finished, at some time
	ended    bool             // all its tasks were finished, at some time
	arrived  sojourn.Time     // when the outputs of the finished tasks have arrived at the phases that read them
	waiting  []sojourn.SlotID // attempts that wait for the phases that they read to end, in the order of their start
	fluid    fluidPhase
}

// A task holds the state of a task in its two low bits, and above them how many
// attempts at it there have been.
type task uint32

const (
	pending task = iota
	running
	finished
)

func (t task) state() task { return t & 3 }

func (t task) attempts() uint32 { return uint32(t >> 2) }

func (t *task) set(state task) { *t = *t&^3 | state }

// task returns the state of a task of j.
func (j *job) task(id sojourn.TaskID) *task {
	return &j.tasks[j.phases[id.Phase].first+int(id.Index)]
}

// newBooks returns empty books. The audit is added later, since it needs their
// final address.
func newBooks(m machines) books {
	b := books{machines: m, jobs: map[sojourn.JobID]*job{}, lines: map[string][]*job{}}
	b.res.Locality = map[sojourn.Locality]int{sojourn.AnyNode: 0, sojourn.NodeLocal: 0, sojourn.RackLocal: 0, sojourn.Remote: 0}
	b.tally.classes = make([]classTally, len(m.free))
	if m.gangs != nil {
		b.tally.classes = []classTally{{present: m.gangs.places}}
	}
	return b
}

// await adds a job that the policy accepted: from now on, or later.
func (b *books) await(j *job) {
	if name := j.told.Sequence; name != "" {
		b.lines[name] = append(b.lines[name], j)
		if b.lines[name][0] != j {
			return
		}
	}
	b.turn(j)
}

// turn adds a job that is the first of its Sequence, from now on or from its release.
func (b *books) turn(j *job) {
	if j.told.Release <= b.now {
		b.enter(j)
		return
	}
	i, _ := slices.BinarySearchFunc(b.unreleased, j, func(a, b *job) int {
		return cmp.Or(cmp.Compare(a.told.Release, b.told.Release), a.order-b.order)
	})
	b.unreleased = slices.Insert(b.unreleased, i, j)
}

// enterDue adds the jobs whose release has come.
func (b *books) enterDue() {
	for len(b.unreleased) > 0 && b.unreleased[0].told.Release <= b.now {
		j := b.unreleased[0]
		b.unreleased = b.unreleased[1:]
		b.enter(j)
	}
}

// enter makes a job present.
func (b *books) enter(j *job) {
	j.present = true
	if b.audit != nil {
		b.audit.jobArrived(j)
	}
	for p := range j.phases {
		j.phases[p].pending = j.phases[p].known
		b.pending(j, p)
		if j.open(p) {
			b.phaseReady(j, p)
		}
	}
}

// phaseReady records that the tasks of a phase may start. What happens after
// outputs were lost does not count again.
func (b *books) phaseReady(j *job, p int) {
	if !j.phases[p].ready {
		j.phases[p].ready = true
		if b.audit != nil {
			b.audit.phaseReady(j, p)
		}
	}
}

// jobFinished records that the last task of a job has finished.
func (b *books) jobFinished(j *job) {
	delete(b.jobs, j.ID)
	b.res.Finished++
	j.record.Outcome, j.record.Finish = Finished, b.now
	if j.record.Deadline > 0 && b.now <= j.record.Deadline {
		b.res.Met++
		b.res.MetTime += j.held.Seconds()
	}
	b.tally.finished(&j.record, b.cfg.Records || b.cfg.Quantiles)
	if b.audit != nil {
		b.audit.jobFinished(j)
	} else {
		b.close(j)
	}
	if name := j.told.Sequence; name != "" {
		if b.lines[name] = b.lines[name][1:]; len(b.lines[name]) == 0 {
			delete(b.lines, name)
		} else {
			b.turn(b.lines[name][0])
		}
	}
}

func (b *books) closeRejected(j *job) {
	b.res.Rejected++
	j.record.Outcome = Rejected
	b.close(j)
}

// close delivers the record of a job, which does not change any more.
func (b *books) close(j *job) {
	if b.cfg.Records {
		b.res.JobRecords[j.order] = j.record
	}
	if b.cfg.Hooks.Job != nil {
		b.cfg.Hooks.Job(&j.record)
	}
}

// liveJobs returns the live jobs in the order of arrival.
func (b *books) liveJobs() []*job {
	return slices.SortedFunc(maps.Values(b.jobs), func(a, b *job) int { return a.order - b.order })
}

// conclude ends the jobs that are left when nothing happens any more.
func (b *books) conclude() {
	if b.audit != nil {
		b.audit.drain()
	}
	for _, j := range b.rejected {
		b.closeRejected(j)
	}
	for _, j := range b.liveJobs() {
		b.res.Unfinished++
		j.record.Outcome = Failed
		b.close(j)
	}
}
