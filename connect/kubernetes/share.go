package kubernetes

import (
	"time"

	"github.com/sojourn-sched/sojourn"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Describe returns the job of so many tasks that the annotations of an object describe, with its times since
// the epoch of [Time], or says which annotation is wrong. It is for other programs that schedule Jobs, such as
// package suspend. The job has no ID yet.
func Describe(o metav1.Object, tasks int) (*sojourn.Job, error) {
	j, err := describe(o, tasks, 0)
	if err != nil {
		return nil, err
	}
	j.Phases[0].Held = false
	return j, nil
}

// Time is how policies are told an instant: the time since 2020.
func Time(t time.Time) sojourn.Time { return sojourn.Time(t.Sub(epoch)) }

// Refusal says to users why a policy has refused a job, and which deadline it would accept.
func Refusal(err error) string { return explain(err) }
