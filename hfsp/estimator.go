package hfsp

import (
	"cmp"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/option"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// An Estimator tells how large phases are: HFSP's estimation module. A policy has an
// estimator of its own and asks it in the order of events.
//
// An answer depends only on the calls before it: an Estimator reads no clock, draws only
// from a seed, and gives the same bits on every platform. To be part of a snapshot, it
// implements the two methods of [sojourn.Snapshotter] as well.
//
// Observe calls it, so it must return without blocking. It does not call the policy. It
// neither changes the job nor keeps the samples. It must not panic: the panic would pass
// through Observe and leave the event half applied, and the policy would be unusable. All
// sizes are accepted. A negative size counts as 0, and a size that is much too large
// counts until the phase is trained or has ended.
// It is for research.
type Estimator interface {
	// Initial returns S_i, the work of all tasks of a phase, when the phase becomes
	// ready. If known is true, the phase is not trained. Initial is asked again when a
	// job is revised and the phase was not trained.
	Initial(job *sojourn.Job, phase int) (size time.Duration, known bool)

	// Final returns s, the mean time of a task of a phase that was trained. There is
	// at least one sample.
	Final(job *sojourn.Job, phase int, samples []Sample) time.Duration

	// Completed reports a phase of a job that has completed: how many of its tasks ran,
	// and for how long in total.
	Completed(job *sojourn.Job, phase int, tasks int, service time.Duration)
}

// A Sample is what is known of a training task: how long it ran, and how much progress it
// made in this time.
// It is for research.
type Sample struct {
	Service  time.Duration
	Progress uint16 // in 1/10000, from 1 to sojourn.MaxProgress
}

// Time returns how long the task takes, as far as the sample tells: Service divided by the
// progress, Delta/p_k in the paper.
func (s Sample) Time() time.Duration {
	if s.Progress >= sojourn.MaxProgress {
		return s.Service
	}
	t, _ := wide.Mul64(uint64(s.Service), sojourn.MaxProgress).QuoRem(wide.From64(uint64(s.Progress)))
	return clamp(t)
}

// A trainer is the estimator of the paper: see [NewTrainer].
type trainer struct {
	xi       uint64 // in 2^-16
	taskTime time.Duration
	classes  []history // by class: tasks of completed jobs
}

// history is what is known of tasks that have run.
type history struct {
	service wide.Uint128
	tasks   uint64
}

// NewTrainer returns the estimator of the paper (section III-A), in which the
// initial size of a phase of n tasks is
//
//	S_i = n xi s
//
// with s the mean time of the tasks of completed jobs that ran on slots of the same
// class, or taskTime until there are any; and the final mean is that of the samples.
// xi is rounded to a multiple of 2^-16. Zero stands for 1 and for one minute.
// It is for research.
func NewTrainer(xi float64, taskTime time.Duration) Estimator {
	return &trainer{xi: (&sojourn.Job{Weight: xi}).WeightUnits(), taskTime: cmp.Or(taskTime, option.DefaultTaskTime)}
}

// Initial implements [Estimator]. The size is never known.
func (e *trainer) Initial(job *sojourn.Job, phase int) (time.Duration, bool) {
	spec := &job.Phases[phase]
	size := wide.Mul64(uint64(spec.Tasks), uint64(e.taskTime))
	if c := int(spec.Class); c < len(e.classes) && e.classes[c].tasks > 0 {
		mean, rest := e.classes[c].service.QuoRem(wide.From64(e.classes[c].tasks))
		// n times the mean, not n times the mean rounded
		more, _ := rest.MulU64(uint64(spec.Tasks)).QuoRem(wide.From64(e.classes[c].tasks))
		size = mean.MulU64(uint64(spec.Tasks)).Add(more)
	}
	size, _ = wide.Mul64(uint64(clamp(size)), e.xi).QuoRem(wide.From64(1 << 16))
	return clamp(size), false
}

// Final implements [Estimator].
func (e *trainer) Final(_ *sojourn.Job, _ int, samples []Sample) time.Duration {
	return mean(samples)
}

// mean returns the mean time of samples.
func mean(samples []Sample) time.Duration {
	var sum wide.Uint128
	for _, s := range samples {
		sum = sum.Add(wide.From64(uint64(s.Time())))
	}
	mean, _ := sum.QuoRem(wide.From64(uint64(len(samples))))
	return clamp(mean)
}

// Completed implements [Estimator].
func (e *trainer) Completed(job *sojourn.Job, phase int, tasks int, service time.Duration) {
	c := int(job.Phases[phase].Class)
	for c >= len(e.classes) {
		e.classes = append(e.classes, history{})
	}
	e.classes[c].service = e.classes[c].service.Add(wide.From64(uint64(service)))
	e.classes[c].tasks += uint64(tasks)
}

// NewOracle returns an estimator that uses the estimates of jobs as sizes: a phase whose tasks all
// have an estimate is not trained. It asks next about the other phases. Both it and [NewTrainer]'s can be saved.
// It is for research.
func NewOracle(next Estimator) Estimator { return &oracle{next} }

// An oracle is the estimator of [NewOracle].
type oracle struct{ Estimator }

// Initial implements [Estimator].
func (e *oracle) Initial(job *sojourn.Job, phase int) (time.Duration, bool) {
	spec := &job.Phases[phase]
	if spec.Estimate > 0 || spec.Estimates != nil && !slices.Contains(spec.Estimates, 0) {
		return spec.Work(), true
	}
	return e.Estimator.Initial(job, phase)
}

// clamp limits a time to what a Duration holds.
func clamp(t wide.Uint128) time.Duration { return time.Duration(t.Clamp63()) }
