package kubernetes

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Limits bound what the annotations and labels of Jobs and pods may say, since whoever may create one writes them. With the
// zero Limits nobody gets more than others by an annotation under fifo, default, fair and hfsp (TestCheatsGainNothing). A policy that
// uses sizes as they are stated, such as srpt, serves those first who state small ones. A Job that asks for more is refused with a word.
type Limits struct {
	// AnyPool lets the annotation Pool name any pool. Otherwise a job counts against its namespace, and an annotation may
	// name nothing else.
	AnyPool bool

	// MaxWeight is the greatest weight, at least 2^-16. Zero means 1: an annotation may only lower the weight of its job. Below 1 it
	// is the weight of a job that says nothing as well.
	MaxWeight float64

	// MinSize is the least size: a smaller one counts as it. Zero means 1 nanosecond.
	MinSize time.Duration

	// NoDeadlines refuses Jobs with a Deadline, by which a policy such as rtmr keeps slots free for one Job.
	NoDeadlines bool

	// MaxGang is how many pods a gang has at most. Zero means any number, and a negative number that there are no gangs.
	MaxGang int
}

// minWeight is the least weight of a job.
const minWeight = 1.0 / 65536

// validate returns what is wrong with l.
func (l Limits) validate() error {
	switch {
	case !(l.MaxWeight == 0 || l.MaxWeight >= minWeight && l.MaxWeight < 1<<32):
		return fmt.Errorf("kubernetes: Limits.MaxWeight is %v: want 0, or 2^-16 to below 2^32", l.MaxWeight)
	case l.MinSize < 0:
		return fmt.Errorf("kubernetes: Limits.MinSize is %v", l.MinSize)
	}
	return nil
}

// Describe returns the job of so many tasks that the annotations of an object describe, with its times since
// the epoch of [Time], or says which annotation is wrong. It is for other programs that schedule Jobs, such as
// package suspend. The job has no ID yet.
func (l Limits) Describe(o metav1.Object, tasks int) (*sojourn.Job, error) {
	job := &sojourn.Job{Name: o.GetNamespace() + "/" + o.GetName(), Pool: o.GetNamespace()}
	phase := sojourn.Phase{Tasks: tasks}
	notes := o.GetAnnotations()
	if s, ok := notes[Pool]; ok {
		if s != job.Pool && !l.AnyPool {
			return nil, fmt.Errorf("annotation %s is %q: the pool of a job is its namespace here, %s", Pool, s, job.Pool)
		}
		job.Pool = s
	}
	if s, ok := notes[Size]; ok {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return nil, fmt.Errorf("annotation %s is %q: want a length of time above 0, such as 90s", Size, s)
		}
		phase.Estimate = max(d, l.MinSize)
	}
	most := l.MaxWeight
	if most == 0 {
		most = 1
	}
	if most < 1 {
		job.Weight = most
	}
	if s, ok := notes[Weight]; ok {
		w, err := strconv.ParseFloat(s, 64)
		if err != nil || !(w >= minWeight && w < 1<<32) {
			return nil, fmt.Errorf("annotation %s is %q: want a number from 2^-16 to below 2^32, such as 2.5", Weight, s)
		}
		if w > most {
			return nil, fmt.Errorf("annotation %s is %q: the greatest weight here is %v", Weight, s, most)
		}
		job.Weight = w
	}
	if s, ok := notes[Deadline]; ok {
		at, err := time.Parse(time.RFC3339, s)
		if err != nil || !at.After(epoch) || at.Year() > 2200 {
			return nil, fmt.Errorf("annotation %s is %q: want a time as in RFC 3339, such as 2026-01-31T15:04:05Z, from 2020 to 2200", Deadline, s)
		}
		if l.NoDeadlines {
			return nil, fmt.Errorf("annotation %s is %q: there are no deadlines here", Deadline, s)
		}
		job.Deadline = sojourn.Time(at.Sub(epoch))
	}
	job.Phases = []sojourn.Phase{phase}
	return job, nil
}

// gang returns why a Job cannot be a gang.
func (l Limits) gang(o *batchv1.Job) error {
	n := batch.Tasks(o)
	switch _, gang := o.Labels[Gang]; {
	case !gang:
		return nil
	case l.MaxGang < 0:
		return errors.New("there are no gangs here")
	case l.MaxGang > 0 && n > l.MaxGang:
		return fmt.Errorf("a gang has at most %d pods here: this one has %d", l.MaxGang, n)
	case o.Spec.Parallelism == nil || int(*o.Spec.Parallelism) < n:
		return errors.New("the pods of a gang start together: want a spec.parallelism of at least spec.completions")
	}
	return nil
}
