package door_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/door"
)

// clearText serves HTTP/2 without TLS, and returns a client for it.
func clearText(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	var p http.Protocols
	p.SetUnencryptedHTTP2(true)
	srv := httptest.NewUnstartedServer(h)
	srv.Config.Protocols = &p
	srv.Start()
	srv.Client().Transport.(*http.Transport).Protocols = &p
	return srv
}

// resets is how many streams a client of TestRapidReset opens and resets.
func resets() int {
	if testing.Short() {
		return 500
	}
	return 10_000
}

// A client of HTTP/2 without TLS opens 10,000 streams on one connection, and resets each as soon as it is sent: none of them
// keeps a place, in the handler or in the line, nor a goroutine; and who comes next is served.
func TestRapidReset(t *testing.T) {
	before := runtime.NumGoroutine()
	var b backend
	d := mustDoor(t, 2, door.Options{Tenant: byHeader("Tenant"), MaxWaiting: 50})
	srv := clearText(t, d.Wrap(&b))
	var wg sync.WaitGroup
	var n atomic.Int64
	ctx, cancel := context.WithCancel(bg) // for one in the handler, and one in the line
	for range 3 {
		wg.Go(func() { _, _, _, _ = get(ctx, srv, "first", "/block") })
	}
	waitFor(t, "one waits", func() bool { return d.Status().Waiting == 1 && b.now.Load() == 2 })
	cancel()
	for range 20 {
		wg.Go(func() {
			for i := n.Add(1); i <= int64(resets()); i = n.Add(1) {
				ctx, cancel := context.WithCancel(bg)
				time.AfterFunc(time.Duration(i%3)*100*time.Microsecond, cancel)
				_, _, _, _ = get(ctx, srv, fmt.Sprint(i%5), "/block")
				cancel()
			}
		})
	}
	wg.Wait()
	waitFor(t, "empty", func() bool { st := d.Status(); return st.Running+st.Waiting == 0 && b.now.Load() == 0 })
	if b.most.Load() > 2 {
		t.Errorf("%d were in the handler at a time, want 2", b.most.Load())
	}
	waitFor(t, "who comes next is served", func() bool { // some that were reset may come to the door only now, and places are kept for others
		status, _, _, err := get(bg, srv, "next", "/")
		return err == nil && status == 200
	})
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
	srv.Client().CloseIdleConnections()
	srv.Close()
	waitFor(t, fmt.Sprintf("back to %d goroutines", before), func() bool { return runtime.NumGoroutine() <= before })
}

// A reverse proxy behind the door passes streams on as they come, answers of the server behind and its failures; and the place is free each
// time.
func TestReverseProxyBehind(t *testing.T) {
	next := make(chan bool)
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/cut" {
			panic(http.ErrAbortHandler)
		}
		for i := range 3 {
			fmt.Fprintf(w, "data: %d\n", i)
			w.(http.Flusher).Flush()
			<-next
		}
	}))
	defer behind.Close()
	d := mustDoor(t, 1, door.Options{})
	proxy := httputil.NewSingleHostReverseProxy(must(url.Parse(behind.URL)))
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	proxy.FlushInterval = -1
	front := serve(t, 1, d.Wrap(proxy))
	resp, err := front.Client().Get(front.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(resp.Body)
	for i := range 3 {
		if line, err := lines.ReadString('\n'); err != nil || line != fmt.Sprintf("data: %d\n", i) {
			t.Errorf("%q, %v", line, err)
		}
		if st := d.Status(); st.Running != 1 {
			t.Errorf("while it streams: %+v", st)
		}
		next <- true
	}
	_ = resp.Body.Close()
	waitFor(t, "free after a stream", func() bool { return d.Status().Running == 0 })
	if resp, err := front.Client().Get(front.URL + "/cut"); err != nil || resp.StatusCode != http.StatusBadGateway {
		t.Errorf("a server that fails: %v %v", resp, err)
	}
	waitFor(t, "free after a failure", func() bool { return d.Status().Running == 0 })
	front.Close()
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// http.TimeoutHandler outside of a door bounds the time in the line and in the handler together, and the place is kept until the handler returns. Inside, it
// returns while the handler goes on, so that the place is free too early: more are at work than the door lets in.
func TestTimeoutHandler(t *testing.T) {
	for _, outside := range []bool{true, false} {
		var now, most atomic.Int64
		end := make(chan bool)
		h := http.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
			most.Store(max(most.Load(), now.Add(1))) // they come one by one
			<-end
			now.Add(-1)
		}))
		d := mustDoor(t, 1, door.Options{})
		if outside {
			h = http.TimeoutHandler(d.Wrap(h), 10*time.Millisecond, "too late")
		} else {
			h = d.Wrap(http.TimeoutHandler(h, 10*time.Millisecond, "too late"))
		}
		for i := range int64(3) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
			if w.Code != http.StatusServiceUnavailable || w.Body.String() != "too late" {
				t.Errorf("outside %v: %d %q", outside, w.Code, w.Body)
			}
			if !outside {
				waitFor(t, "one more is at work", func() bool { return now.Load() == i+1 })
			}
		}
		if st := d.Status(); outside && (st.Running != 1 || most.Load() != 1) || !outside && (st.Running != 0 || most.Load() != 3) {
			t.Errorf("outside %v: %d were at work at a time, and the door says %+v", outside, most.Load(), st)
		}
		close(end)
		waitFor(t, "all have returned", func() bool { return now.Load() == 0 && d.Status().Running+d.Status().Waiting == 0 })
		if err := d.Close(bg); err != nil {
			t.Error(err)
		}
	}
}

// A client that sends "Expect: 100-continue" is not asked for a body that would be refused, and sends it if there is a place. One that the handler
// does not read does no harm either.
func TestExpectContinue(t *testing.T) {
	d := mustDoor(t, 1, door.Options{MaxWaiting: 1})
	srv := serve(t, 1, d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/read" {
			_, _ = io.Copy(w, r.Body)
		}
	})))
	ask := func(path string) (first string, rest *bufio.Reader, c net.Conn) {
		c = must(net.Dial("tcp", srv.Listener.Addr().String()))
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n", path)
		rest = bufio.NewReader(c)
		first, _ = rest.ReadString('\n')
		return strings.TrimSpace(first), rest, c
	}
	for _, path := range []string{"/read", "/unread"} {
		first, rest, c := ask(path)
		if first != "HTTP/1.1 100 Continue" {
			t.Errorf("%s: %q, want to be asked for the body", path, first)
		}
		_, _ = rest.ReadString('\n')
		fmt.Fprint(c, "hello")
		resp, err := http.ReadResponse(rest, nil)
		if err != nil || resp.StatusCode != 200 {
			t.Fatalf("%s: %v %v", path, resp, err)
		}
		if body, _ := io.ReadAll(resp.Body); path == "/read" && string(body) != "hello" {
			t.Errorf("%s: %q", path, body)
		}
		_ = c.Close()
		waitFor(t, "free", func() bool { return d.Status().Running == 0 })
	}
	running := must(d.Enter(bg, door.Request{}))
	ctx, cancel := context.WithCancel(bg)
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = d.Enter(ctx, door.Request{}) })
	waitFor(t, "full", func() bool { return d.Status().Waiting == 1 })
	if first, _, c := ask("/read"); first != "HTTP/1.1 503 Service Unavailable" {
		t.Errorf("refused: %q", first)
	} else {
		_ = c.Close()
	}
	cancel()
	wg.Wait()
	running.Leave()
	srv.Close()
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// The context of a request that has left opens no door: who keeps it waits as others do.
func TestContextOfOneThatLeft(t *testing.T) {
	d := mustDoor(t, 1, door.Options{})
	var kept context.Context
	handler := d.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if d.Status().Running != 1 {
			t.Error("a request is in the handler that the door does not count")
		}
		kept = context.WithoutCancel(r.Context())
	}))
	first := httptest.NewRequest("GET", "/", nil)
	handler.ServeHTTP(httptest.NewRecorder(), first)
	handler.ServeHTTP(httptest.NewRecorder(), first.WithContext(kept))
	if n := d.Status().Admitted; n != 2 {
		t.Errorf("%d were admitted, want 2", n)
	}
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// A handler that is wrapped twice, as a whole and in a part, does not wait for the place that it has. Another door behind the first one is another line.
func TestTwiceThroughOneDoor(t *testing.T) {
	d, other := mustDoor(t, 1, door.Options{Tenant: byHeader("Tenant")}), mustDoor(t, 1, door.Options{})
	srv := serve(t, 2, d.Wrap(other.Wrap(d.Wrap(other.Wrap(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		if a, b := d.Status(), other.Status(); a.Running != 1 || b.Running != 1 {
			t.Errorf("in the handler: %+v and %+v", a, b)
		}
	}))))))
	for range 3 {
		if status, _, _, err := get(bg, srv, strings.Repeat("long/", 5000), "/"); err != nil || status != 200 {
			t.Errorf("%d %v", status, err)
		}
	}
	waitFor(t, "free", func() bool { return d.Status().Running+other.Status().Running == 0 })
	if n := d.Status().Admitted; n != 3 {
		t.Errorf("%d were admitted, want 3", n)
	}
	srv.Close()
	for _, d := range []*door.Door{d, other} {
		if err := d.Close(bg); err != nil {
			t.Error(err)
		}
	}
}
