package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// requests returns how many slots of each class a pod requests.
func requests(slots []corev1.ResourceName, pod *corev1.PodSpec) []int {
	n := make([]int, len(slots))
	for i, name := range slots {
		for _, c := range pod.Containers {
			q, ok := c.Resources.Requests[name]
			if !ok {
				q = c.Resources.Limits[name] // requests default to limits, but not yet in a Job's template
			}
			n[i] += int(max(0, min(q.Value(), 1<<16)))
		}
	}
	return n
}

// class returns the class of the slot that a pod requests.
func class(slots []corev1.ResourceName, pod *corev1.PodSpec) (sojourn.Class, error) {
	found, sum := 0, 0
	for i, n := range requests(slots, pod) {
		if sum += n; n > 0 {
			found = i
		}
	}
	if sum != 1 {
		return 0, fmt.Errorf("the pod requests %d slots: want 1 of one of %v", sum, slots)
	}
	return sojourn.Class(found), nil
}

// placeable returns what of a pod's demands nobody would look at.
func placeable(pod *corev1.PodSpec) error {
	switch {
	case pod.Affinity != nil && (pod.Affinity.PodAffinity != nil || pod.Affinity.PodAntiAffinity != nil):
		return errors.New("the pod has an affinity to other pods, which this scheduler does not honour")
	case len(pod.TopologySpreadConstraints) > 0:
		return errors.New("the pod has topologySpreadConstraints, which this scheduler does not honour")
	case len(pod.ResourceClaims) > 0:
		return fmt.Errorf("the pod has the resource claim %s, which this scheduler does not allocate", pod.ResourceClaims[0].Name)
	}
	for _, v := range pod.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return fmt.Errorf("volume %s of the pod is a claim, which this scheduler does not honour", v.Name)
		}
	}
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		for _, p := range c.Ports {
			if p.HostPort != 0 {
				return fmt.Errorf("container %s of the pod has a hostPort, which this scheduler does not honour", c.Name)
			}
		}
	}
	return nil
}

// indexed reports whether the pods of a Job have indexes.
func indexed(o *batchv1.Job) bool {
	return o.Spec.CompletionMode != nil && *o.Spec.CompletionMode == batchv1.IndexedCompletion
}

// notes joins what describes a Job and may change.
func notes(o *batchv1.Job) string {
	return fmt.Sprintf("%s %d", noted(o), batch.Tasks(o))
}

// noted returns the annotations that Describe reads.
func noted(o metav1.Object) string {
	a := o.GetAnnotations()
	return fmt.Sprintf("%q", []string{a[Size], a[Weight], a[Deadline], a[Pool]})
}

// attemptOf returns the attempt that the Binding of a pod names, 0 if none does.
func attemptOf(p *corev1.Pod) uint32 {
	n, err := strconv.ParseUint(p.Annotations[Attempt], 10, 32)
	if err != nil || n > 1<<30 { // nobody counts that far
		return 0
	}
	return uint32(n)
}

const indexAnnotation = batchv1.JobCompletionIndexAnnotation

// indexOf returns the index of a pod in its Job.
func indexOf(p *corev1.Pod) (uint32, error) {
	s := p.Annotations[indexAnnotation]
	n, err := strconv.ParseUint(s, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("annotation %s is %q: want the index of the pod in its Job", indexAnnotation, s)
	}
	return uint32(n), nil
}
