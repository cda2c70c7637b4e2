package suspend_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clients "k8s.io/client-go/kubernetes"
)

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// through returns a client whose requests go to f, with what would answer them.
func (r *room) through(f func(*http.Request, http.RoundTripper) (*http.Response, error)) clients.Interface {
	config := r.cluster.Config()
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(q *http.Request) (*http.Response, error) { return f(q, next) })
	})
	return clients.NewForConfigOrDie(config)
}

// patched returns the name of the Job that a request patches, empty if it patches none.
func patched(q *http.Request) string {
	_, name, ok := strings.Cut(q.URL.Path, "/jobs/")
	if !ok || q.Method != http.MethodPatch {
		return ""
	}
	return name
}

// many makes Jobs of 4 pods each, two at a time, which get their turns one after the other.
func (r *room) many(jobs int) {
	for i := range jobs {
		r.job(fmt.Sprint("job-", i), 4, 2, nil)
	}
}

func (r *room) allComplete(jobs int) {
	for i := range jobs {
		r.complete(fmt.Sprint("job-", i))
	}
}

func failure(q *http.Request, code int) *http.Response {
	body := fmt.Sprintf(`{"kind":"Status","apiVersion":"v1","status":"Failure","message":"a fault","code":%d}`, code)
	return &http.Response{StatusCode: code, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: q,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}
}

// Whatever becomes of patches, each Job runs to its end, and no pod is too many: patches fail, conflict, are throttled,
// or succeed and the answer is lost. A Job whose patches hang keeps no other Job waiting.
func faults(r *room) {
	release := make(chan bool)
	var patches atomic.Int32
	stop := r.startWith(r.through(func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
		switch name := patched(q); name {
		case "":
			return next.RoundTrip(q)
		case "hangs":
			select {
			case <-release:
				return next.RoundTrip(q)
			case <-q.Context().Done():
				return nil, q.Context().Err()
			}
		}
		n := patches.Add(1)
		if code := []int{500, 409, 429, 0, 0}[n%5]; code != 0 {
			return failure(q, code), nil
		}
		resp, err := next.RoundTrip(q)
		if n%5 == 3 && err == nil {
			resp.Body.Close()
			return nil, errors.New("the answer is lost")
		}
		return resp, err
	}), "fifo")
	r.job("hangs", 2, 2, nil)
	r.await("hangs", "there", succeeded(0))
	r.many(6)
	r.allComplete(6)
	close(release)
	r.complete("hangs")
	if n := patches.Load(); n < 5 {
		r.Errorf("%d patches, want 5 at least, so that each fault was met", n)
	}
	r.audit(stop(), 24)
}

// Whatever becomes of patches of a status, each Job that is refused gets its condition, and loses it when it is accepted.
// No other Job waits for that.
func statuses(r *room) {
	release := make(chan bool)
	var mu sync.Mutex
	patches := map[string]int{} // by Job
	stop := r.startWith(r.through(func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
		name, status := strings.CutSuffix(patched(q), "/status")
		if !status {
			return next.RoundTrip(q)
		}
		if name == "hangs" {
			select {
			case <-release:
				return next.RoundTrip(q)
			case <-q.Context().Done():
				return nil, q.Context().Err()
			}
		}
		mu.Lock()
		n := patches[name]
		patches[name]++
		mu.Unlock()
		if code := []int{500, 500, 500, 500, 500, 409, 409, 429, 0, 0}[n%10]; code != 0 {
			return failure(q, code), nil
		}
		resp, err := next.RoundTrip(q)
		if n%10 == 8 && err == nil {
			resp.Body.Close()
			return nil, errors.New("the answer is lost")
		}
		return resp, err
	}), "fifo")
	wrong := map[string]string{kubernetes.Size: "long"}
	r.job("hangs", 1, 1, wrong)
	for i := range 6 {
		r.job(fmt.Sprint("wrong-", i), 1, 1, wrong)
	}
	r.job("good", 1, 1, nil)
	r.complete("good")
	for i := range 6 {
		name := fmt.Sprint("wrong-", i)
		r.await(name, "refused", has(kubernetes.Rejected, `"long"`))
		r.patch(name, `{"metadata":{"annotations":{"`+kubernetes.Size+`":"2s"}}}`)
	}
	for i := range 6 {
		name := fmt.Sprint("wrong-", i)
		r.complete(name)
		r.await(name, "accepted", func(j *batchv1.Job) bool { return !has(kubernetes.Rejected, "")(j) })
	}
	close(release)
	r.await("hangs", "refused", has(kubernetes.Rejected, `"long"`))
	writes := stop()
	for name, n := range patches {
		if n < 10 {
			r.Errorf("job %s: %d patches of its status, want 10, so that each fault was met", name, n)
		}
	}
	r.audit(writes, 21)
}

// Of two commands that compete for a Lease, one gives turns. When it is killed, the other goes on: each Job runs to its
// end, no pod that runs is ended, and no pod is too many.
func commands(r *room) {
	program := filepath.Join(r.TempDir(), "sojourn-jobs")
	if out, err := exec.CommandContext(r.Context(), "go", "build", "-o", program, "../cmd/sojourn-jobs").CombinedOutput(); err != nil {
		r.Fatalf("%v\n%s", err, out)
	}
	kubeconfig, err := r.cluster.Kubeconfig()
	if err != nil {
		r.Fatal(err)
	}
	start := func(s kubetest.Server) {
		port, err := r.cluster.Port(s)
		if err != nil {
			r.Fatal(err)
		}
		address := fmt.Sprintf("127.0.0.1:%d", port)
		if err := r.cluster.StartCommand(r.Context(), s, program, "http://"+address+"/readyz", "-policy=fifo", fmt.Sprint("-slots=", slots),
			"-kubeconfig="+kubeconfig, "-namespace="+r.name, "-lease="+r.name+"/jobs", "-listen="+address); err != nil {
			r.Fatal(err)
		}
	}
	holder := func() string {
		l, err := r.client.CoordinationV1().Leases(r.name).Get(r.Context(), "jobs", metav1.GetOptions{})
		if err != nil || l.Spec.HolderIdentity == nil {
			return ""
		}
		return *l.Spec.HolderIdentity
	}
	start("first-jobs")
	for end := time.Now().Add(patience); holder() == ""; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			r.Fatal("nobody has the Lease")
		}
	}
	first := holder()
	start("second-jobs")
	r.job("40s", 2, 2, nil)
	r.many(8)
	r.await("40s", "running", active(2))
	r.complete("job-0")
	if got := holder(); got != first {
		r.Errorf("%q holds the Lease, and %s did not give it back", got, first)
	}
	r.cluster.Kill("first-jobs")
	r.job("after", 1, 1, nil) // only the other command can give it a turn
	r.allComplete(8)
	r.complete("after")
	r.complete("40s")
	if got := holder(); got == "" || got == first {
		r.Errorf("%q holds the Lease; %s is dead", got, first)
	}
	r.cluster.Stop("second-jobs")
	if got := holder(); got != "" {
		r.Errorf("%s holds the Lease, and has ended", got)
	}
	r.audit(0, 0)
}

// A controller that cannot renew its Lease in the middle stops to write before the next one begins, which goes on.
func lease(r *room) {
	var hangs atomic.Bool
	var last [2]atomic.Int64 // when a controller has sent a patch last
	var first atomic.Int64   // when the second one has sent its first
	by := func(i int) clients.Interface {
		return r.through(func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
			if i == 0 && hangs.Load() && strings.Contains(q.URL.Path, "/leases/") {
				<-q.Context().Done()
				return nil, q.Context().Err()
			}
			if patched(q) != "" {
				now := time.Now().UnixNano()
				last[i].Store(now)
				if i == 1 {
					first.CompareAndSwap(0, now)
				}
			}
			return next.RoundTrip(q)
		})
	}
	c := r.controller(by(0), "fifo")
	lost := make(chan error, 1)
	go func() { lost <- c.Run(r.Context()) }()
	r.job("before", 1, 1, nil)
	r.complete("before")
	r.many(14)
	hangs.Store(true)
	stop := r.startWith(by(1), "hfsp")
	select {
	case err := <-lost:
		if err == nil || err.Error() != "kubernetes: leadership is lost" {
			r.Errorf("Run = %v while requests about the Lease hang", err)
		}
	case <-time.After(patience):
		r.Fatal("the first controller goes on while requests about the Lease hang")
	}
	r.job("after", 1, 1, nil) // only the second controller can give it a turn
	r.allComplete(14)
	r.complete("after")
	if first.Load() == 0 || first.Load() < last[0].Load() {
		r.Errorf("the second controller writes from %d on, and the first until %d", first.Load(), last[0].Load())
	}
	r.audit(stop(), 61)
}

// The API server is stopped and started in the middle, while a patch is under way.
func TestServerStops(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	r := newRoom(t, c, "stops")
	var failed atomic.Int32 // requests of the controller
	began, down := make(chan bool, 1), make(chan bool)
	stop := r.startWith(r.through(func(q *http.Request, next http.RoundTripper) (*http.Response, error) {
		if patched(q) == "held" {
			select {
			case began <- true:
			default:
			}
			select {
			case <-down:
			case <-q.Context().Done():
			}
		}
		resp, err := next.RoundTrip(q)
		if err != nil {
			failed.Add(1)
		}
		return resp, err
	}), "fifo")
	r.job("before", 1, 1, nil)
	r.complete("before")
	r.job("held", 1, 1, nil)
	r.many(6)
	select {
	case <-began:
	case <-time.After(patience):
		t.Fatal("no patch of a Job")
	}
	c.Stop(kubetest.APIServer)
	close(down)
	for before, end := failed.Load(), time.Now().Add(patience); failed.Load() < before+3; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody asks the server that is gone")
		}
	}
	if err := c.Restart(t.Context(), kubetest.APIServer); err != nil {
		t.Fatal(err)
	}
	r.complete("held")
	r.allComplete(6)
	if n := stop(); n < 8 || n > 26 {
		t.Errorf("%d patches, want 8 to 26: one for each of 8 Jobs at least, and for each of 26 pods at most", n)
	}
}
