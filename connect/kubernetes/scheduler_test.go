package kubernetes_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/hfsp"
	"github.com/sojourn-sched/sojourn/rtmr"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clients "k8s.io/client-go/kubernetes"
)

func job(name string, n int32, suspend bool, notes map[string]string) *batchv1.Job {
	mode, grace := batchv1.IndexedCompletion, int64(0)
	spec := corev1.PodSpec{
		SchedulerName: "sojourn", RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
		Containers: []corev1.Container{{Name: "c", Image: "none", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{kubernetes.DefaultSlot: resource.MustParse("1")},
		}}},
	}
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: notes, Labels: map[string]string{kubernetes.Admit: "true"}},
		Spec: batchv1.JobSpec{Completions: &n, Parallelism: &n, CompletionMode: &mode, Suspend: &suspend,
			Template: corev1.PodTemplateSpec{Spec: spec}},
	}
}

// patience is how long a test waits for what must come: more than a busy machine takes.
const patience = 5 * time.Minute

// start runs a scheduler, without a Lease, which is lost by chance on a busy machine, until the function it returns is called.
func start(t *testing.T, cl clients.Interface, p sojourn.Policy) (*kubernetes.Scheduler, func()) {
	t.Helper()
	s, err := kubernetes.New(kubernetes.Config{Client: cl, Policy: p, Limits: kubernetes.Limits{MaxWeight: 2}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	stopped := false
	stop := func() {
		if cancel(); stopped {
			return
		}
		stopped = true
		if err := <-done; err != context.Canceled {
			t.Errorf("Run = %v, want %v", err, context.Canceled)
		}
	}
	t.Cleanup(stop)
	return s, stop
}

// await watches Jobs until ok says so of the one of that name.
func await(t *testing.T, cl clients.Interface, name string, ok func(*batchv1.Job) bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := cl.BatchV1().Jobs("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for ev := range w.ResultChan() {
		if j, is := ev.Object.(*batchv1.Job); is && ok(j) {
			return
		}
	}
	t.Fatalf("job %s is not so in time", name)
}

func has(kind batchv1.JobConditionType, text string) func(*batchv1.Job) bool {
	return func(j *batchv1.Job) bool {
		for _, c := range j.Status.Conditions {
			if c.Type == kind && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, text) {
				return true
			}
		}
		return false
	}
}

func create(t *testing.T, cl clients.Interface, j *batchv1.Job) {
	t.Helper()
	if _, err := cl.BatchV1().Jobs("default").Create(t.Context(), j, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Jobs run to their ends on a real API server: under a policy that is replaced by another one in the
// middle, with admission, and with a Job that is wrong beside them.
func TestRealServer(t *testing.T) {
	c := kubetest.Start(t, "job-controller", "garbage-collector-controller")
	cl := c.Client()
	for i := range 3 {
		n := kubetest.Node(fmt.Sprint("n", i), map[string]string{"cpu": "4", string(kubernetes.DefaultSlot): "2"})
		if _, err := cl.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	// Until the policy is replaced, only 5 pods of the Job "map" end.
	var replaced atomic.Bool
	var asked atomic.Int64
	var early sync.Map // UIDs
	kubelet := &kubetest.Kubelet{Client: cl, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		if p.Labels[batchv1.JobNameLabel] == "map" && !replaced.Load() {
			if _, ok := early.Load(p.UID); !ok && asked.Add(1) > 5 {
				return time.Since(p.CreationTimestamp.Time) + 50*time.Millisecond, "" // which is not over yet
			}
			early.Store(p.UID, true)
		}
		return 50 * time.Millisecond, corev1.PodSucceeded
	}}
	if err := kubelet.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	first, err := hfsp.New(hfsp.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, stop := start(t, cl, first)
	create(t, cl, job("wrong", 2, false, map[string]string{kubernetes.Size: "long"}))
	create(t, cl, job("map", 20, false, nil))
	create(t, cl, job("reduce", 8, true, map[string]string{kubernetes.Weight: "2"}))
	await(t, cl, "wrong", has(kubernetes.Rejected, `"long"`))
	await(t, cl, "map", func(j *batchv1.Job) bool { return j.Status.Succeeded >= 5 })
	stop()
	second, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, stop := start(t, cl, second)
	replaced.Store(true)
	await(t, cl, "map", has(batchv1.JobComplete, ""))
	await(t, cl, "reduce", has(batchv1.JobComplete, ""))
	r := httptest.NewRecorder()
	s.Handler().ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	if text, _ := io.ReadAll(r.Body); !strings.Contains(string(text), "sojourn_leading 1\n") {
		t.Errorf("metrics: %s", text)
	}
	stop()
	pods, err := cl.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pods.Items {
		if got := p.Annotations[kubernetes.Attempt]; got != "1" && p.Labels[batchv1.JobNameLabel] != "wrong" {
			t.Errorf("pod %s: attempt %q, want 1: every pod succeeds at once", p.Name, got)
		}
	}
	third, err := rtmr.New(rtmr.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, cl, third)
	create(t, cl, job("late", 60, true, map[string]string{kubernetes.Size: "1m", kubernetes.Deadline: time.Now().Add(5 * time.Minute).Format(time.RFC3339)}))
	await(t, cl, "late", has(kubernetes.Rejected, "or later would be accepted"))
}
