package hfsp

import (
	"container/list"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// Oracle is an [Estimator] that believes the estimates of jobs: a phase whose tasks all
// have an estimate is not trained. Another estimator answers for the other phases.
// It is for research.
type Oracle struct{ Estimator }

// NewOracle returns an Oracle. It asks next about phases without estimates.
// It is for research.
func NewOracle(next Estimator) *Oracle { return &Oracle{next} }

// Initial implements [Estimator].
func (e *Oracle) Initial(job *sojourn.Job, phase int) (time.Duration, bool) {
	spec := &job.Phases[phase]
	if spec.Estimate > 0 || spec.Estimates != nil && !slices.Contains(spec.Estimates, 0) {
		return spec.Work(), true
	}
	return e.Estimator.Initial(job, phase)
}

// History is an [Estimator] that learns from the runs of the same job: "recurring
// jobs are around 40 %" in production [HFSP, section V]. Once enough runs have
// completed, it knows the size of a phase beforehand: the number of its tasks times
// the mean task time of that phase in earlier runs. Until then, another estimator
// answers.
// It is for research.
type History struct {
	Estimator
	by   Recurrence
	runs int
	keys int

	known map[string]*list.Element // of recurring
	order *list.List               // the one that completed last at the front
}

// Recurrence says which jobs are runs of the same job.
// It is for research.
type Recurrence uint8

const (
	ByName Recurrence = iota // those of the same Job.Name; jobs without a name do not recur
	ByPool                   // those of the same Job.Pool
)

// recurring is what is known of the phases of a recurring job.
type recurring struct {
	key    string
	phases []runs
}

// runs is what is known of a phase of a recurring job.
type runs struct {
	count int           // completed runs, at most memory
	mean  time.Duration // of a task
}

// memory is how many runs a mean goes back: a run counts 1/memory, more in the
// beginning, so that what is known follows what changes.
const memory = 8

// HistoryOptions configure a [History]. The zero value is the default.
// It is for research.
type HistoryOptions struct {
	// By says which jobs are runs of the same. The default is ByName.
	By Recurrence

	// Runs is how many runs must have completed before a phase is no longer trained.
	// Zero means 1.
	Runs int

	// Keys bounds the memory: it is the number of recurring jobs that are remembered, those
	// that completed last. Zero means 10,000.
	Keys int
}

// Validate returns what is wrong with the options, or nil. The zero options are valid.
func (o HistoryOptions) Validate() error {
	return option.First("hfsp",
		option.Want(o.By <= ByPool, "By", o.By, "ByName or ByPool"),
		option.Range("Runs", o.Runs, 0, memory),
		option.AtLeast("Keys", o.Keys, 0))
}

// NewHistory returns a History, or an error if the options are out of range. It asks next
// about phases that it does not know.
// It is for research.
func NewHistory(next Estimator, opts HistoryOptions) (*History, error) {
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	e := &History{Estimator: next, by: opts.By, runs: max(opts.Runs, 1), keys: opts.Keys}
	if e.keys == 0 {
		e.keys = 10_000
	}
	e.reset()
	return e, nil
}

// reset forgets all runs.
func (e *History) reset() { e.known, e.order = make(map[string]*list.Element), list.New() }

// key returns what runs of the same job have in common; "" if the job does not recur.
func (e *History) key(job *sojourn.Job) string {
	if e.by == ByPool {
		return job.Pool
	}
	return job.Name
}

// Initial implements [Estimator].
func (e *History) Initial(job *sojourn.Job, phase int) (time.Duration, bool) {
	if at, ok := e.known[e.key(job)]; ok {
		if r := at.Value.(*recurring); phase < len(r.phases) && r.phases[phase].count >= e.runs {
			return clamp(wide.Mul64(uint64(job.Phases[phase].Tasks), uint64(r.phases[phase].mean))), true
		}
	}
	return e.Estimator.Initial(job, phase)
}

// Completed implements [Estimator].
func (e *History) Completed(job *sojourn.Job, phase int, tasks int, service time.Duration) {
	e.Estimator.Completed(job, phase, tasks, service)
	key := e.key(job)
	if key == "" {
		return
	}
	at, ok := e.known[key]
	if !ok {
		at = e.order.PushFront(&recurring{key: key})
		e.known[key] = at
		if e.order.Len() > e.keys {
			delete(e.known, e.order.Remove(e.order.Back()).(*recurring).key)
		}
	}
	e.order.MoveToFront(at)
	r := at.Value.(*recurring)
	for phase >= len(r.phases) {
		r.phases = append(r.phases, runs{})
	}
	ph := &r.phases[phase]
	ph.count = min(ph.count+1, memory)
	ph.mean += (service/time.Duration(tasks) - ph.mean) / time.Duration(ph.count)
}
