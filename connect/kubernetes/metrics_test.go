package kubernetes

import (
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
)

// /healthz says so when the loop does not come to a pause, and is well again when it does.
func TestLiveness(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := New(Config{Client: &kubernetes.Clientset{}, Policy: builtin(t, "fifo")})
		if err != nil {
			t.Fatal(err)
		}
		check := func(want int, what string) {
			t.Helper()
			r := httptest.NewRecorder()
			s.Handler().ServeHTTP(r, httptest.NewRequest("GET", "/healthz", nil))
			if r.Code != want {
				t.Errorf("%s: %d %s, want %d", what, r.Code, r.Body, want)
			}
		}
		check(200, "before it runs")
		s.pulse.Work()
		time.Sleep(stuck)
		check(200, "for a minute at work")
		time.Sleep(time.Second)
		check(503, "for more")
		s.pulse.Wait()
		time.Sleep(time.Hour)
		check(200, "when it waits")
	})
}

// The metrics tell of each pool how many pods wait, how long the first one has waited, and how long those waited that have got a
// place; a name with any bytes is one line. A scrape does not wait for a loop that hangs.
func TestMetricsOfPools(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLab(t, "fair", Limits{AnyPool: true})
		s := &Scheduler{core: l.core, events: newMailbox(), api: &api{}}
		s.ready.Store(true)
		for range 10 {
			l.newPodIn("a", nil)
		}
		l.settle()
		running := l.order
		l.carryOut()
		l.now = l.now.Add(5 * time.Second)
		l.newPodIn("b", nil)
		l.now = l.now.Add(7 * time.Second)
		l.newPodIn("b", nil)
		p := &corev1.Pod{Spec: template(1)}
		p.UID, p.Namespace, p.Annotations = "odd", "c", map[string]string{Pool: "x\"}\ny\\"}
		l.core.pod(p)
		l.now = l.now.Add(time.Second)
		l.end(running[0].uid)
		l.settle()
		scrape := func() string {
			r := httptest.NewRecorder()
			done := make(chan bool)
			go func() {
				s.Handler().ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
				close(done)
			}()
			synctest.Wait()
			for _, f := range s.events.all() {
				f()
			}
			<-done
			return r.Body.String()
		}
		for range 5 {
			l.newPodIn("b", nil) // the youngest
		}
		text := scrape()
		for _, want := range []string{
			`sojourn_waiting_pods{pool="b"} 6`,
			`sojourn_waiting_pods{pool="x\"}\ny\\"} 1`,
			`sojourn_longest_wait_seconds{pool="b"} 1`,
			`sojourn_wait_seconds_bucket{pool="a",le="0.01"} 10`,
			`sojourn_wait_seconds_bucket{pool="b",le="1"} 0`,
			`sojourn_wait_seconds_bucket{pool="b",le="10"} 1`,
			`sojourn_wait_seconds_bucket{pool="b",le="+Inf"} 1`,
			`sojourn_wait_seconds_sum{pool="b"} 8`,
			`sojourn_wait_seconds_count{pool="b"} 1`,
			`sojourn_bind_seconds_bucket{le="+Inf"} 0`,
			`sojourn_bind_seconds_count 0`,
		} {
			if !strings.Contains(text, "\n"+want+"\n") {
				t.Errorf("no line %s in\n%s", want, text)
			}
		}
		if strings.Contains(text, `waiting_pods{pool="a"}`) {
			t.Error("pool a has pods that wait")
		}
		start := time.Now()
		r := httptest.NewRecorder()
		s.Handler().ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
		if took := time.Since(start); took != time.Second || !strings.Contains(r.Body.String(), "sojourn_leading 1") || strings.Contains(r.Body.String(), "waiting_pods") {
			t.Errorf("with a loop that hangs the answer took %v: %s", took, r.Body)
		}
		for _, f := range s.events.all() {
			f() // too late, and does nothing
		}
	})
}

// However many pools there are, the metrics tell of so many and no more.
func TestManyPools(t *testing.T) {
	l := newLab(t, "fifo", Limits{AnyPool: true})
	l.setNode("n", 0, nil)
	for i := range maxPools + 50 {
		p := l.newPodIn("ns"+strings.Repeat("x", i), nil)
		l.core.waited(l.core.pods[p.UID], l.core.jobOf(l.core.pods[p.UID]))
	}
	if n, m := len(l.core.queues()), len(l.core.waits); n != maxPools+1 || m != maxPools+1 {
		t.Errorf("%d pools with pods that wait, and %d that have waited; want %d", n, m, maxPools+1)
	}
}
