// Package batch reads Jobs and the nodes of their pods, has loops hear of them, and says what answers of the API server mean.
package batch

import (
	"encoding/json"
	"math"
	"net/http"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
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

// Tasks returns how many pods of a Job must succeed. One without completions makes so many at a time, and no more once one
// has succeeded.
func Tasks(o *batchv1.Job) int {
	switch {
	case o.Spec.Completions != nil:
		return int(*o.Spec.Completions)
	case o.Spec.Parallelism != nil:
		return int(*o.Spec.Parallelism)
	}
	return 1
}

// Owner returns the Job that has made a pod, nil if none has.
func Owner(o metav1.Object) *metav1.OwnerReference {
	if r := metav1.GetControllerOf(o); r != nil && r.Kind == "Job" && strings.HasPrefix(r.APIVersion, "batch/") {
		return r
	}
	return nil
}

// Amount returns a quantity of a resource in units, of cpu in thousandths: from 0 to a quarter of what an int64 holds. Tenants write it, as
// they like.
func Amount(name corev1.ResourceName, q resource.Quantity) int64 {
	const most = math.MaxInt64 / 4
	switch {
	case name == corev1.ResourceCPU && q.CmpInt64(most/1000) < 0:
		return max(0, q.MilliValue())
	case name != corev1.ResourceCPU && q.CmpInt64(most) < 0:
		return max(0, q.Value())
	}
	return most
}

// Usable reports whether pods may be placed on a node, as far as its taints allow.
func Usable(n *corev1.Node) bool {
	if n.Spec.Unschedulable || n.DeletionTimestamp != nil {
		return false
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// Suspended reports whether a Job may have no pods.
func Suspended(o *batchv1.Job) bool { return o.Spec.Suspend != nil && *o.Spec.Suspend }

// Handler gives put closures of what an informer hears.
func Handler[T any](put func(func()), seen, gone func(T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { put(func() { seen(o.(T)) }) },
		UpdateFunc: func(_, o any) { put(func() { seen(o.(T)) }) },
		DeleteFunc: func(o any) {
			if d, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = d.Obj
			}
			put(func() { gone(o.(T)) })
		},
	}
}

// Definite reports whether an error is the API server's answer, so that a repetition makes no sense.
func Definite(err error) bool {
	s, ok := err.(apierrors.APIStatus)
	if !ok {
		return false
	}
	code := s.Status().Code
	return code >= 400 && code < 500 && code != http.StatusRequestTimeout && code != http.StatusTooManyRequests
}

// Patch returns a merge patch. It panics if v cannot be encoded.
func Patch(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
