// Package batch reads the status of Jobs.
package batch

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Over reports whether a Job needs no more pods.
func Over(o *batchv1.Job) bool {
	return o.DeletionTimestamp != nil ||
		Is(o, batchv1.JobComplete) || Is(o, batchv1.JobFailed) || Is(o, batchv1.JobFailureTarget) || Is(o, batchv1.JobSuccessCriteriaMet)
}

// Others reports whether somebody else suspends and resumes a Job: the controller that its spec.managedBy names, Kueue, or a
// JobSet.
func Others(o *batchv1.Job) bool {
	by := o.Spec.ManagedBy
	_, queued := o.Labels["kueue.x-k8s.io/queue-name"]
	_, inSet := o.Labels["jobset.sigs.k8s.io/jobset-name"]
	return by != nil && *by != batchv1.JobControllerName || queued || inSet
}

// Is reports whether a condition of a Job is true.
func Is(o *batchv1.Job, condition batchv1.JobConditionType) bool {
	return slices.ContainsFunc(o.Status.Conditions, func(c batchv1.JobCondition) bool {
		return c.Type == condition && c.Status == corev1.ConditionTrue
	})
}
