package kubernetes_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Whatever is wrong with a Job or a pod, an event or a condition of it says so, and the Job beside it runs
// to its end.
func TestBadObjects(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.room(t, "bad")
	r.node(0, 4)
	r.start(nil, r.policy("rtmr"), nil)
	soon := func(d time.Duration) map[string]string {
		return map[string]string{kubernetes.Size: "1s", kubernetes.Deadline: time.Now().Add(d).Format(time.RFC3339)}
	}
	for i, tc := range []struct {
		notes  map[string]string
		change func(*batchv1.Job)
		want   string
	}{
		{map[string]string{kubernetes.Size: "long"}, nil, `annotation sojourn-sched.github.io/size is "long"`},
		{map[string]string{kubernetes.Size: "9999999h"}, nil, `annotation sojourn-sched.github.io/size is "9999999h"`},
		{map[string]string{kubernetes.Size: "-1s"}, nil, `annotation sojourn-sched.github.io/size is "-1s"`},
		{map[string]string{kubernetes.Weight: "1e40"}, nil, `annotation sojourn-sched.github.io/weight is "1e40"`},
		{map[string]string{kubernetes.Deadline: "tomorrow"}, nil, `annotation sojourn-sched.github.io/deadline is "tomorrow"`},
		{map[string]string{kubernetes.Deadline: "9999-01-01T00:00:00Z"}, nil, `annotation sojourn-sched.github.io/deadline is "9999-01-01T00:00:00Z"`},
		{soon(-time.Hour), nil, "or later would be accepted"},
		{soon(2 * time.Second), func(j *batchv1.Job) { n := int32(60); j.Spec.Completions, j.Spec.Parallelism = &n, &n }, "or later would be accepted"},
		{soon(time.Hour), func(j *batchv1.Job) { n := int32(1); j.Spec.Parallelism = &n }, "no deadline can be promised"},
		{nil, func(j *batchv1.Job) { n := int32(0); j.Spec.Completions = &n }, "nothing to admit"},
		{nil, func(j *batchv1.Job) { j.Spec.Template.Spec.Containers[0].Resources = corev1.ResourceRequirements{} }, "requests 0 slots"},
	} {
		name := fmt.Sprint("bad", i)
		yes := true
		r.job(name, 2, tc.notes, func(j *batchv1.Job) {
			j.Spec.Suspend = &yes
			if tc.change != nil {
				tc.change(j)
			}
		})
		r.await(name, has(kubernetes.Rejected, tc.want))
		r.awaitEvent("Job", name, "AdmissionRejected", tc.want)
	}

	// Pods: without slots, with two, with an index that is none, of a Job that this scheduler does not
	// have, and of a Job that was refused.
	slots := func(n string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{kubernetes.DefaultSlot: resource.MustParse(n)}
		}
	}
	owned := func(name, index string) func(*corev1.Pod) {
		j, err := r.client.BatchV1().Jobs(r.name).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return func(p *corev1.Pod) {
			yes := true
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: j.Name, UID: j.UID, Controller: &yes}}
			p.Labels = map[string]string{"batch.kubernetes.io/job-completion-index": index}
			p.Annotations = map[string]string{batchv1.JobCompletionIndexAnnotation: index}
		}
	}
	by := "example.com/nobody" // so that the Job controller leaves the Jobs alone
	r.job("another", 2, nil, func(j *batchv1.Job) { j.Spec.ManagedBy, j.Spec.Template.Spec.SchedulerName = &by, "another" })
	r.job("spoilt", 2, map[string]string{kubernetes.Size: "long"}, func(j *batchv1.Job) { j.Spec.ManagedBy = &by })
	r.job("never", 2, map[string]string{kubernetes.Size: "1s"}, func(j *batchv1.Job) { j.Spec.ManagedBy = &by })
	for _, tc := range []struct {
		name, want string
		change     func(*corev1.Pod)
	}{
		{"none", "requests 0 slots", slots("0")},
		{"double", "requests 2 slots", slots("2")},
		{"index", `is "x": want the index`, owned("never", "x")},
		{"beyond", "the index of the pod is 7, and its Job has 2 completions", owned("never", "7")},
		{"unknown", "is not one of this scheduler", owned("another", "0")},
		{"refused", `was refused: annotation sojourn-sched.github.io/size is "long"`, owned("spoilt", "0")},
	} {
		r.pod(tc.name, tc.change)
		defer r.awaitEvent("Pod", tc.name, "NotScheduled", tc.want)
	}
	defer r.awaitEvent("Job", "never", "NoPods", "none of its pods has come")

	r.pod("plain", func(p *corev1.Pod) { p.Annotations = map[string]string{kubernetes.Size: "1s"} }) // a pod without a Job is a job of its own
	r.awaitPods("the plain pod", 1, func(p *corev1.Pod) bool { return p.Name == "plain" && p.Status.Phase == corev1.PodSucceeded })
	r.job("good", 8, soon(time.Hour), nil)
	r.await("good", has(batchv1.JobComplete, ""))
}

// Pods that wait get one event each that says why.
func TestWhyItWaits(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	r := h.room(t, "why")
	r.node(0, 1)
	r.live(func(*corev1.Pod) bool { return false })
	r.start(nil, r.policy("hfsp"), nil)
	r.job("first", 1, nil, nil)
	r.awaitPods("one pod", 1, placed())
	r.job("second", 3, map[string]string{kubernetes.Size: "1s"}, nil)
	for _, p := range r.awaitPods("3 pods wait", 3, func(p *corev1.Pod) bool { return p.Labels[batchv1.JobNameLabel] == "second" }) {
		r.awaitEvent("Pod", p.Name, "Waiting", "all slots of sojourn-sched.github.io/slot are taken, 1 of them. Job why/second is number 1 of 2")
	}
	list, err := r.client.CoreV1().Events(r.name).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, e := range list.Items {
		if e.Source.Component == r.name {
			n += int(max(1, e.Count))
		}
	}
	if n != 3 {
		t.Errorf("%d events of the scheduler, want 3: %v", n, list.Items)
	}
}
