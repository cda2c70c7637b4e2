package kubernetes_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/fifo"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
)

// A proxy stands before the API server, and answers some binds itself.
type proxy struct {
	next http.RoundTripper

	mu    sync.Mutex
	binds int
	fault func(bind int, pod string) string // "500", "409", "429", "drop" (after the bind), or ""
	bound map[string]int                    // how often the server has bound a pod
}

func (p *proxy) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.HasSuffix(r.URL.Path, "/binding") {
		return p.next.RoundTrip(r)
	}
	part := strings.Split(r.URL.Path, "/")
	pod := part[len(part)-2]
	p.mu.Lock()
	p.binds++
	bind := p.binds
	p.mu.Unlock()
	fault := p.fault(bind, pod)
	if code := map[string]int{"500": 500, "409": 409, "429": 429}[fault]; code != 0 {
		return failure(r, code), nil
	}
	resp, err := p.next.RoundTrip(r)
	if err == nil && resp.StatusCode == http.StatusCreated {
		p.mu.Lock()
		p.bound[pod]++
		p.mu.Unlock()
	}
	if fault == "drop" && err == nil {
		resp.Body.Close()
		return nil, errors.New("the answer is lost")
	}
	return resp, err
}

func failure(r *http.Request, code int) *http.Response {
	reason := map[int]metav1.StatusReason{500: metav1.StatusReasonInternalError, 409: metav1.StatusReasonConflict, 429: metav1.StatusReasonTooManyRequests}[code]
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a fault","reason":%q,"code":%d}`, reason, code)
	return &http.Response{StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// Whatever becomes of patches of Jobs, each Job that is accepted is resumed, and each one that is refused gets its
// condition: patches fail, conflict, are throttled, or succeed and the answer is lost.
func TestFaultyPatches(t *testing.T) {
	t.Parallel()
	c, _, direct := faulty(t, 2, &proxy{})
	var mu sync.Mutex
	patches := map[string]int{} // by path
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/jobs/") {
				return next.RoundTrip(r)
			}
			mu.Lock()
			n := patches[r.URL.Path]
			patches[r.URL.Path]++
			mu.Unlock()
			if code := []int{500, 409, 429, 0, 0}[n%5]; code != 0 {
				return failure(r, code), nil
			}
			resp, err := next.RoundTrip(r)
			if n%5 == 3 && err == nil {
				resp.Body.Close()
				return nil, errors.New("the answer is lost")
			}
			return resp, err
		})
	})
	policy, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, clients.NewForConfigOrDie(config), policy)
	for i := range 8 {
		create(t, direct, job(fmt.Sprint("good-", i), 2, true, nil))
		create(t, direct, job(fmt.Sprint("wrong-", i), 2, true, map[string]string{kubernetes.Size: "long"}))
	}
	for i := range 8 {
		await(t, direct, fmt.Sprint("good-", i), has(batchv1.JobComplete, ""))
		await(t, direct, fmt.Sprint("wrong-", i), has(kubernetes.Rejected, `"long"`))
	}
	mu.Lock()
	defer mu.Unlock()
	if len(patches) < 16 {
		t.Errorf("%d Jobs or statuses are patched, want 16", len(patches))
	}
	for path, n := range patches {
		if n < 4 {
			t.Errorf("%s: %d patches, want 4 at least: the fourth is the first that does what it says", path, n)
		}
	}
}

// faulty starts servers with nodes of 4 slots and kubelets whose pods end at once, and returns a client
// with a proxy before it, and one without.
func faulty(t *testing.T, nodes int, p *proxy) (c *kubetest.Cluster, through, direct clients.Interface) {
	t.Helper()
	c = kubetest.Start(t)
	direct = c.Client()
	if err := c.StartControllers(t.Context(), "job-controller", "garbage-collector-controller"); err != nil {
		t.Fatal(err)
	}
	for i := range nodes {
		n := kubetest.Node(fmt.Sprint("n", i), map[string]string{string(kubernetes.DefaultSlot): "4"})
		if _, err := direct.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	kubelet := &kubetest.Kubelet{Client: direct, Run: func(*corev1.Pod) (time.Duration, corev1.PodPhase) {
		return 10 * time.Millisecond, corev1.PodSucceeded
	}}
	if err := kubelet.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { p.next, p.bound = next, map[string]int{}; return p })
	return c, clients.NewForConfigOrDie(config), direct
}

// No slot and no pod is lost, and no pod is bound twice, whatever becomes of binds: they fail, fail with
// the answer of a conflict, are throttled, or succeed and the answer is lost. Those that fail for long keep nobody else
// from being bound.
func TestFaultyBinds(t *testing.T) {
	t.Parallel()
	var healed atomic.Bool
	p := &proxy{fault: func(bind int, pod string) string {
		if strings.HasPrefix(pod, "stuck-") && !healed.Load() {
			return "500"
		}
		return []string{"", "409", "drop", "500", "429"}[bind%5]
	}}
	_, through, direct := faulty(t, 6, p)
	policy, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	start(t, through, policy)
	create(t, direct, job("stuck", 16, false, nil)) // as many as there are workers
	create(t, direct, job("map", 40, false, nil))
	await(t, direct, "map", has(batchv1.JobComplete, ""))
	healed.Store(true)
	await(t, direct, "stuck", has(batchv1.JobComplete, ""))
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.bound) != 56 {
		t.Errorf("%d pods were bound, want 56", len(p.bound))
	}
	for pod, n := range p.bound {
		if n != 1 {
			t.Errorf("pod %s was bound %d times", pod, n)
		}
	}
}

// binds waits until a bind begins, and fails if Run ends before.
func binds(t *testing.T, began chan bool, run chan error) {
	t.Helper()
	select {
	case <-began:
	case err := <-run:
		t.Fatalf("Run = %v before it has bound a pod", err)
	case <-time.After(patience):
		t.Fatal("no bind in time")
	}
}

// lead runs a scheduler of policy fifo that schedules while it has the Lease, and returns what Run will return.
func lead(ctx context.Context, t *testing.T, cl clients.Interface, identity string) chan error {
	t.Helper()
	policy, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := kubernetes.New(kubernetes.Config{Client: cl, Policy: policy, Lease: &kubernetes.Lease{Namespace: "default", Name: "sojourn", Identity: identity}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return done
}

// The Lease is given back once no bind is under way, and not before. Who loses it says so.
func TestLease(t *testing.T) {
	t.Parallel()
	began, finish := make(chan bool), make(chan bool)
	p := &proxy{fault: func(int, string) string {
		began <- true
		<-finish
		return ""
	}}
	_, through, direct := faulty(t, 1, p)
	holder := func() string {
		l, err := direct.CoordinationV1().Leases("default").Get(t.Context(), "sojourn", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return *l.Spec.HolderIdentity
	}
	pod := func(name string) {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{SchedulerName: "sojourn", Containers: []corev1.Container{{Name: "c", Image: "none",
			Resources: corev1.ResourceRequirements{Limits: corev1.ResourceList{kubernetes.DefaultSlot: resource.MustParse("1")}}}}}}
		if _, err := direct.CoreV1().Pods("default").Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	first := lead(ctx, t, through, "first")
	pod("a")
	binds(t, began, first)
	cancel()
	select {
	case err := <-first:
		t.Errorf("Run = %v while a bind is under way", err)
	case <-time.After(500 * time.Millisecond):
	}
	if got := holder(); got != "first" {
		t.Errorf("the Lease belongs to %q while a bind is under way", got)
	}
	close(finish)
	if err := <-first; err != context.Canceled {
		t.Errorf("Run = %v, want %v", err, context.Canceled)
	}
	if got := holder(); got != "" {
		t.Errorf("the Lease belongs to %q after the end", got)
	}
	if p.bound["a"] != 1 {
		t.Errorf("the last bind was made %d times", p.bound["a"])
	}
	second := lead(t.Context(), t, through, "second")
	pod("b")
	binds(t, began, second) // so it leads
	patch := fmt.Appendf(nil, `{"spec":{"holderIdentity":"third","renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
	if _, err := direct.CoordinationV1().Leases("default").Patch(t.Context(), "sojourn", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := <-second; err == nil || err.Error() != "kubernetes: leadership is lost" {
		t.Errorf("Run = %v after the Lease was lost", err)
	}
	if got := holder(); got != "third" {
		t.Errorf("the Lease belongs to %q, want third", got)
	}
}

// If the API server does not answer about the Lease any more, its holder stops before another one may take over. No
// pod is bound twice.
func TestLeaseHangs(t *testing.T) {
	t.Parallel()
	c := kubetest.Start(t)
	direct := c.Client()
	n := kubetest.Node("n", map[string]string{string(kubernetes.DefaultSlot): "4"})
	if _, err := direct.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var hangs atomic.Bool
	config := c.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) {
			if hangs.Load() && strings.Contains(q.URL.Path, "/leases/") {
				<-q.Context().Done()
				return nil, q.Context().Err()
			}
			return next.RoundTrip(q)
		})
	})
	pods := direct.CoreV1().Pods("default")
	bound := func(name string) {
		o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: job(name, 1, false, nil).Spec.Template.Spec}
		if _, err := pods.Create(t.Context(), o, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
			p, err := pods.Get(t.Context(), name, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Spec.NodeName != "" {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("pod %s: not bound in time", name)
			}
		}
	}
	first := lead(t.Context(), t, clients.NewForConfigOrDie(config), "first")
	bound("a")
	hangs.Store(true)
	second := lead(t.Context(), t, direct, "second")
	var ended time.Time
	select {
	case err := <-first:
		if ended = time.Now(); err == nil || err.Error() != "kubernetes: leadership is lost" {
			t.Errorf("Run = %v while requests about the Lease hang", err)
		}
	case <-time.After(patience):
		t.Fatal("the first scheduler leads on while requests about the Lease hang")
	}
	bound("b")
	l, err := direct.CoordinationV1().Leases("default").Get(t.Context(), "sojourn", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *l.Spec.HolderIdentity != "second" || l.Spec.AcquireTime.Time.Before(ended) {
		t.Errorf("%s leads since %v, and the first ended at %v", *l.Spec.HolderIdentity, l.Spec.AcquireTime, ended)
	}
	select {
	case err := <-second:
		t.Errorf("Run = %v of the second", err)
	default:
	}
}
