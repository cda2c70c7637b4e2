package kubetest

import (
	"context"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

func pod(name, node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{NodeName: node, RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
}

// until watches a pod until ok says so, or until it is deleted, and returns how it was at last.
func until(t *testing.T, cl kubernetes.Interface, name string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w, err := cl.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for ev := range w.ResultChan() {
		if p, is := ev.Object.(*corev1.Pod); is && ok(p) {
			return p
		}
	}
	t.Fatalf("pod %s: not in time", name)
	return nil
}

func phase(want corev1.PodPhase) func(*corev1.Pod) bool {
	return func(p *corev1.Pod) bool { return p.Status.Phase == want }
}

// A pod runs, ends, and a deleted one goes away.
func TestKubelet(t *testing.T) {
	ctx, c := t.Context(), Start(t)
	cl := c.Client()
	if _, err := cl.CoreV1().Nodes().Create(ctx, Node("n1", map[string]string{"cpu": "4", "example.com/slot": "2"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	kubelet := &Kubelet{Client: cl, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		if p.Name == "fails" {
			return 10 * time.Millisecond, corev1.PodFailed
		}
		return -1, ""
	}}
	if err := kubelet.Start(ctx); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fails", "stays"} {
		if _, err := cl.CoreV1().Pods("default").Create(ctx, pod(name, "n1"), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	until(t, cl, "fails", phase(corev1.PodFailed))
	until(t, cl, "stays", phase(corev1.PodRunning))
	remove(t, cl, "stays")
}

// remove deletes a pod and waits until it is gone.
func remove(t *testing.T, cl kubernetes.Interface, name string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	w, err := cl.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String()})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if err := cl.CoreV1().Pods("default").Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for ev := range w.ResultChan() {
		if ev.Type == watch.Deleted {
			return
		}
	}
	t.Fatalf("pod %s was deleted, and is still there", name)
}

// A deleted pod of a Job with a podFailurePolicy keeps its finalizer until it is Succeeded or Failed.
func TestDeletedPodOfJob(t *testing.T) {
	ctx, c := t.Context(), Start(t)
	cl := c.Client()
	if err := c.StartControllers(ctx, "job-controller"); err != nil {
		t.Fatal(err)
	}
	if err := (&Kubelet{Client: cl}).Start(ctx); err != nil {
		t.Fatal(err)
	}
	j := job("j", 1)
	j.Spec.Template.Spec.NodeName = "n1" // no scheduler is needed
	j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}}}
	if _, err := cl.BatchV1().Jobs("default").Create(ctx, j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := cl.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{LabelSelector: "job-name=j"})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	p, ok := (<-w.ResultChan()).Object.(*corev1.Pod)
	if !ok || len(p.Finalizers) == 0 {
		t.Fatalf("got %+v, want a pod with a finalizer", p)
	}
	until(t, cl, p.Name, phase(corev1.PodRunning))
	remove(t, cl, p.Name)
}

// What was written before a server went away is there after it came back.
func TestRestartKeepsData(t *testing.T) {
	ctx, c := t.Context(), Start(t)
	cl := c.Client()
	if _, err := cl.CoreV1().Pods("default").Create(ctx, pod("p", ""), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []Server{APIServer, Etcd} {
		c.Stop(s)
		short, cancel := context.WithTimeout(ctx, time.Second)
		if _, err := cl.CoreV1().Pods("default").Create(short, pod("lost", ""), metav1.CreateOptions{}); err == nil {
			t.Errorf("a pod was created without %s", s)
		}
		cancel()
		if err := c.Restart(ctx, s); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := cl.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := cl.CoreV1().Pods("default").Get(ctx, "lost", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("pod lost: got %v, want not found", err)
	}
}

// A paused server does not answer, and answers once it goes on.
func TestPause(t *testing.T) {
	ctx, c := t.Context(), Start(t)
	cl := c.Client()
	if err := c.Pause(APIServer); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := cl.CoreV1().Pods("default").List(short, metav1.ListOptions{}); err == nil {
		t.Error("a paused API server answered")
	}
	if err := c.Resume(APIServer); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CoreV1().Pods("default").List(ctx, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
}

// Stock kube-scheduler places a pod of a Job's controller, and both servers tell what they use.
func TestSchedulerAndControllers(t *testing.T) {
	ctx, c := t.Context(), Start(t)
	cl := c.Client()
	if err := c.StartScheduler(ctx, 1000); err != nil {
		t.Fatal(err)
	}
	if err := c.StartControllers(ctx, "job-controller"); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CoreV1().Nodes().Create(ctx, Node("n1", map[string]string{"cpu": "4"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := (&Kubelet{Client: cl, Run: func(*corev1.Pod) (time.Duration, corev1.PodPhase) { return 0, corev1.PodSucceeded }}).Start(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.BatchV1().Jobs("default").Create(ctx, job("j", 3), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	deadline, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	w, err := cl.BatchV1().Jobs("default").Watch(deadline, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	if !completes(w.ResultChan(), 3) {
		t.Fatal("the Job did not complete in time")
	}
	for _, s := range []Server{Etcd, APIServer, Scheduler, Controllers} {
		if cpu, err := c.CPU(s); err != nil || cpu <= 0 || cpu > time.Hour {
			t.Errorf("%s: CPU time %v, %v", s, cpu, err)
		}
		if now, peak, err := c.Memory(s); err != nil || now < 10<<20 || peak < now || peak > 4<<30 {
			t.Errorf("%s: memory %d, at most %d, %v", s, now, peak, err)
		}
	}
}

func TestWithoutServers(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		t.Setenv("KUBEBUILDER_ASSETS", dir)
		if c, err := New(t.Context(), t.TempDir()); err == nil {
			c.Close()
			t.Errorf("KUBEBUILDER_ASSETS=%q: no error", dir)
		}
	}
}

func job(name string, n int32) *batchv1.Job {
	indexed := batchv1.IndexedCompletion
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: batchv1.JobSpec{
			Completions: &n, Parallelism: &n, CompletionMode: &indexed,
			Template: corev1.PodTemplateSpec{Spec: pod("", "").Spec},
		},
	}
}

// completes reports whether a Job completes with n pods before the watch ends.
func completes(events <-chan watch.Event, n int32) bool {
	for ev := range events {
		j, is := ev.Object.(*batchv1.Job)
		if is && j.Status.CompletionTime != nil && j.Status.Succeeded == n {
			return true
		}
	}
	return false
}
