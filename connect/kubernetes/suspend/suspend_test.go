package suspend_test

import (
	"context"
	"fmt"
	"io"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/cmd/sojourn/catalog"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/suspend"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
)

const slots = 4

// A room is a namespace with a test of its own.
type room struct {
	*testing.T
	name    string
	cluster *kubetest.Cluster
	client  clients.Interface

	mu      sync.Mutex
	running map[types.UID]bool // pods that have not ended
	most    int
}

func newRoom(t *testing.T, c *kubetest.Cluster, name string) *room {
	cl := c.Client()
	r := &room{T: t, name: name, cluster: c, client: cl, running: map[types.UID]bool{}}
	if _, err := cl.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w, err := cl.CoreV1().Pods(name).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for ev := range w.ResultChan() {
			if p, ok := ev.Object.(*corev1.Pod); ok {
				r.see(p, ev.Type == "DELETED")
			}
		}
	}()
	t.Cleanup(w.Stop)
	return r
}

func (r *room) see(p *corev1.Pod, gone bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if gone || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		delete(r.running, p.UID)
	} else {
		r.running[p.UID] = true
	}
	r.most = max(r.most, len(r.running))
}

// patience is how long a test waits for what must come: more than a busy machine takes.
const patience = 5 * time.Minute

// controller makes one, which competes for a Lease in the room of that name. Elsewhere it has none: on a
// busy machine, a Lease is lost by chance.
func (r *room) controller(cl clients.Interface, policy string) *suspend.Controller {
	r.Helper()
	p, err := catalog.Builtin().Make(policy)
	if err != nil {
		r.Fatal(err)
	}
	config := suspend.Config{Client: cl, Policy: p, Slots: slots, Namespace: r.name, Limits: kubernetes.Limits{AnyPool: true}}
	if r.name == "lease" {
		config.Lease = &kubernetes.Lease{Namespace: r.name, Name: "jobs", Identity: fmt.Sprint(time.Now().UnixNano())}
	}
	if r.name == "capacity" {
		config.Slots, config.Nodes = 0, "room=capacity"
	}
	c, err := suspend.New(config)
	if err != nil {
		r.Fatal(err)
	}
	return c
}

// start runs a controller until the function it returns is called, which returns how many patches it wrote.
func (r *room) start(policy string) (stop func() int) {
	r.Helper()
	return r.startWith(r.client, policy)
}

func (r *room) startWith(cl clients.Interface, policy string) (stop func() int) {
	r.Helper()
	c := r.controller(cl, policy)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- c.Run(ctx) }()
	stopped := false
	stop = func() int {
		if cancel(); !stopped {
			stopped = true
			if err := <-done; err != context.Canceled {
				r.Errorf("Run = %v, want %v", err, context.Canceled)
			}
		}
		rec := httptest.NewRecorder()
		c.Handler().ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
		text, _ := io.ReadAll(rec.Body)
		n, err := strconv.Atoi(regexp.MustCompile(`(?m)^sojourn_jobs_patches_total (\d+)$`).FindStringSubmatch(string(text))[1])
		if err != nil {
			r.Fatal(err)
		}
		return n
	}
	r.Cleanup(func() { stop() })
	return stop
}

func (r *room) job(name string, n, parallelism int32, notes map[string]string) {
	r.Helper()
	on, none, short := true, int32(0), int64(0)
	mode := batchv1.IndexedCompletion
	j := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{suspend.Managed: "true"}, Annotations: notes},
		Spec: batchv1.JobSpec{Suspend: &on, Completions: &n, Parallelism: &parallelism, CompletionMode: &mode, BackoffLimit: &none,
			Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &short,
				Containers: []corev1.Container{{Name: "c", Image: "none"}}}}},
	}
	if r.name == "capacity" {
		j.Spec.Template.Spec.NodeSelector = map[string]string{"room": "capacity"}
		j.Spec.Template.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	}
	if _, err := r.client.BatchV1().Jobs(r.name).Create(r.Context(), j, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
}

// await watches a Job until ok says so.
func (r *room) await(name, what string, ok func(*batchv1.Job) bool) *batchv1.Job {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	w, err := r.client.BatchV1().Jobs(r.name).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		r.Fatal(err)
	}
	defer w.Stop()
	var last *batchv1.Job
	for ev := range w.ResultChan() {
		if j, is := ev.Object.(*batchv1.Job); is {
			if last = j; ok(j) {
				return j
			}
		}
	}
	r.Fatalf("job %s is not %s: %v %v suspend %v parallelism %v", name, what, last.Annotations, last.Status, *last.Spec.Suspend, *last.Spec.Parallelism)
	return nil
}

func (r *room) complete(name string) *batchv1.Job {
	r.Helper()
	j := r.await(name, "complete", has(batchv1.JobComplete, ""))
	if j.Status.Failed != 0 || j.Status.Succeeded != *j.Spec.Completions {
		r.Errorf("job %s: %d succeeded and %d failed, want %d and 0", name, j.Status.Succeeded, j.Status.Failed, *j.Spec.Completions)
	}
	return j
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

func succeeded(n int32) func(*batchv1.Job) bool {
	return func(j *batchv1.Job) bool { return j.Status.Succeeded >= n }
}

func active(n int32) func(*batchv1.Job) bool {
	return func(j *batchv1.Job) bool {
		return j.Status.Active == n && j.Status.Ready != nil && *j.Status.Ready == n
	}
}

func (r *room) patch(name, patch string) {
	r.Helper()
	if _, err := r.client.BatchV1().Jobs(r.name).Patch(r.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		r.Fatal(err)
	}
}

// audit tells what broke a promise. TestToldPodsRunToTheirEnds says which pods are not ended.
func (r *room) audit(patches, most int) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.Logf("%d patches, %d pods at a time", patches, r.most)
	if most := slots + map[bool]int{true: 2}[r.name == "capacity"]; r.most > most {
		r.Errorf("%d pods at a time, want %d at most", r.most, most)
	}
	if patches > most {
		r.Errorf("%d patches, want %d at most", patches, most)
	}
}

// newCluster starts servers with one node, where pods of a Job that is named after a duration run for so long, and others
// for 2 seconds.
func newCluster(t *testing.T) *kubetest.Cluster {
	t.Helper()
	c := kubetest.Start(t, "job-controller", "garbage-collector-controller")
	cl := c.Client()
	if err := c.StartScheduler(t.Context(), 1000); err != nil {
		t.Fatal(err)
	}
	if _, err := cl.CoreV1().Nodes().Create(t.Context(), kubetest.Node("n", map[string]string{"cpu": "8"}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := (&kubetest.Kubelet{Client: cl, Run: func(p *corev1.Pod) (time.Duration, corev1.PodPhase) {
		if d, err := time.ParseDuration(p.Labels[batchv1.JobNameLabel]); err == nil {
			return d, corev1.PodSucceeded
		}
		return 2 * time.Second, corev1.PodSucceeded
	}}).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return c
}

// What must hold on real servers, with the stock Job controller and the stock scheduler.
func TestServers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	t.Run("rooms", func(t *testing.T) {
		for name, test := range map[string]func(*room){
			"fifo": turns, "fair": turns, "hfsp": turns, "restart": restart, "deleted": deleted, "paused": paused,
			"bad": bad, "preempt": preempt, "overwritten": overwritten, "faults": faults, "lease": lease,
			"statuses": statuses, "commands": commands, "capacity": capacity,
		} {
			t.Run(name, func(t *testing.T) { t.Parallel(); test(newRoom(t, c, name)) })
		}
	})
}

// Two Jobs run to their ends under the policy that the room is named after. Under fifo the large one, which is
// the first, ends first, under others the small one.
func turns(r *room) {
	stop := r.start(r.name)
	r.job("map", 20, 6, nil)
	r.await("map", "running", active(4))
	r.job("reduce", 4, 2, nil)
	small, large := r.complete("reduce"), r.complete("map")
	if got, want := small.Status.CompletionTime.Before(large.Status.CompletionTime), r.name != "fifo"; got != want {
		r.Errorf("the small Job ends first: %v, want %v", got, want)
	}
	r.audit(stop(), 24+4)
}

// A controller is replaced by another one, with another policy, in the middle.
func restart(r *room) {
	stop := r.start("fifo")
	r.job("map", 12, 6, nil)
	r.job("reduce", 4, 4, nil)
	r.await("map", "on its way", succeeded(2))
	patches := stop()
	r.await("map", "further", succeeded(6))
	stop = r.start("hfsp")
	r.complete("map")
	r.complete("reduce")
	r.audit(patches+stop(), 16+4)
}

// A Job that is deleted gives its slots to the next one.
func deleted(r *room) {
	stop := r.start("fifo")
	r.job("1h", 4, 4, nil)
	r.await("1h", "running", active(4))
	r.job("next", 4, 4, nil)
	policy := metav1.DeletePropagationForeground
	if err := r.client.BatchV1().Jobs(r.name).Delete(r.Context(), "1h", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		r.Fatal(err)
	}
	r.complete("next")
	if n := stop(); n > 8 {
		r.Errorf("%d patches, want 8 at most", n)
	}
}

// A Job that its user suspends stays so and gives its slots to the next one, until its user resumes it.
func paused(r *room) {
	stop := r.start("fifo")
	r.job("20s", 4, 4, nil)
	r.await("20s", "running", active(4))
	r.patch("20s", `{"spec":{"suspend":true}}`)
	r.job("next", 4, 4, nil)
	r.complete("next")
	j, err := r.client.BatchV1().Jobs(r.name).Get(r.Context(), "20s", metav1.GetOptions{})
	if err != nil {
		r.Fatal(err)
	}
	if !*j.Spec.Suspend || j.Status.Succeeded != 0 {
		r.Errorf("suspend is %v and %d pods have succeeded, want true and 0", *j.Spec.Suspend, j.Status.Succeeded)
	}
	r.patch("20s", `{"spec":{"suspend":false}}`)
	r.complete("20s")
	if n := stop(); n > 10 {
		r.Errorf("%d patches, want 10 at most", n)
	}
}

// A Job with a wrong annotation is refused, does not harm the next one, and runs once it is corrected.
func bad(r *room) {
	stop := r.start("fifo")
	r.job("size", 2, 2, map[string]string{kubernetes.Size: "long"})
	r.job("parallelism", 2, 2, map[string]string{suspend.Parallelism: "-1"})
	r.job("good", 2, 2, nil)
	r.await("size", "refused", has(kubernetes.Rejected, `"long"`))
	r.await("parallelism", "refused", has(kubernetes.Rejected, `"-1"`))
	r.complete("good")
	r.patch("size", `{"metadata":{"annotations":{"`+kubernetes.Size+`":"2s"}}}`)
	r.complete("size")
	r.patch("parallelism", `{"metadata":{"annotations":{"`+suspend.Parallelism+`":"1"}}}`)
	r.complete("parallelism")
	r.audit(stop(), 10)
}

// A policy that preempts takes pods away from a Job that runs, and that is no failure of it.
func preempt(r *room) {
	stop := r.start("fair:fair-timeout=1s")
	r.job("1h", 4, 4, map[string]string{kubernetes.Pool: "a"})
	r.await("1h", "running", active(4))
	r.job("short", 2, 2, map[string]string{kubernetes.Pool: "b"})
	r.complete("short")
	j := r.await("1h", "whole again", active(4))
	if j.Status.Failed != 0 {
		r.Errorf("%d pods have failed, want 0", j.Status.Failed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.most > slots {
		r.Errorf("%d pods at a time, want %d at most", r.most, slots)
	}
	if n := stop(); n > 10 {
		r.Errorf("%d patches, want 10 at most", n)
	}
}

// What somebody else writes is written again, after a while.
func overwritten(r *room) {
	stop := r.start("fifo")
	r.job("1h", 4, 2, nil)
	r.await("1h", "running", active(2))
	r.patch("1h", `{"spec":{"parallelism":1}}`)
	r.await("1h", "running again", active(2))
	if n := stop(); n > 3 {
		r.Errorf("%d patches, want 3 at most", n)
	}
}

// Nobody says how many pods may run: as many as selected nodes have room for, beside a pod of others until that is gone, more with a
// new node, and no more while one is cordoned.
func capacity(r *room) {
	node := func(name string) {
		n := kubetest.Node(name, map[string]string{"cpu": "2"})
		n.Labels["room"] = "capacity"
		if _, err := r.client.CoreV1().Nodes().Create(r.Context(), n, metav1.CreateOptions{}); err != nil {
			r.Fatal(err)
		}
	}
	node("first")
	other := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "1h"}, Spec: corev1.PodSpec{NodeName: "first", Containers: []corev1.Container{{Name: "c", Image: "none",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}}}}}
	other.Labels = map[string]string{batchv1.JobNameLabel: "1h"}
	if _, err := r.client.CoreV1().Pods(r.name).Create(r.Context(), other, metav1.CreateOptions{}); err != nil {
		r.Fatal(err)
	}
	stop := r.start("fifo")
	r.job("1h", 9, 9, nil)
	r.await("1h", "running beside a pod of others", active(1))
	if err := r.client.CoreV1().Pods(r.name).Delete(r.Context(), "1h", metav1.DeleteOptions{GracePeriodSeconds: new(int64)}); err != nil {
		r.Fatal(err)
	}
	r.await("1h", "running alone", active(2))
	patches := stop()
	stop = r.start("fifo")
	node("second")
	r.await("1h", "running on two nodes", active(4))
	if _, err := r.client.CoreV1().Nodes().Patch(r.Context(), "second", types.MergePatchType, []byte(`{"spec":{"unschedulable":true}}`), metav1.PatchOptions{}); err != nil {
		r.Fatal(err)
	}
	r.job("1s", 1, 1, nil)
	node("third")
	r.await("1h", "running on three nodes", active(6))
	r.audit(patches+stop(), 8)
}
