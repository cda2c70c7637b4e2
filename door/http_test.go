package door_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn/door"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/rtmr"
)

// soak is how long TestServer goes on with each version of HTTP.
var soak = flag.Duration("soak", time.Second, "how long TestServer goes on with each version of HTTP")

func byHeader(name string) func(*http.Request) string {
	return func(r *http.Request) string { return r.Header.Get(name) }
}

// waitFor waits until something holds.
func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<20)
			t.Fatalf("after a minute: not %s\n%s", what, buf[:runtime.Stack(buf, true)])
		}
	}
}

// A backend does what the path says.
type backend struct {
	began atomic.Int64 // requests in the handler, ever
	now   atomic.Int64
	most  atomic.Int64
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.began.Add(1)
	for n := b.now.Add(1); ; {
		most := b.most.Load()
		if n <= most || b.most.CompareAndSwap(most, n) {
			break
		}
	}
	defer b.now.Add(-1)
	switch r.URL.Path {
	case "/late": // net/http closes a body of its own when the response begins
		fmt.Fprint(w, "late ")
		w.(http.Flusher).Flush()
		_, _ = io.Copy(w, r.Body)
	case "/echo":
		_, _ = io.Copy(w, r.Body)
	case "/stream":
		w.Header().Set("Trailer", "Tokens")
		for i := range 3 {
			fmt.Fprintf(w, "%d\n", i)
			w.(http.Flusher).Flush()
			door.Charge(r.Context(), uint64(i+1))
		}
		w.Header().Set("Tokens", "3")
	case "/panic":
		panic(http.ErrAbortHandler)
	case "/exit":
		runtime.Goexit()
	case "/block":
		<-r.Context().Done()
	case "/hijack":
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			http.Error(w, "cannot be hijacked", http.StatusNotImplemented) // as with HTTP/2
			return
		}
		defer c.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		fmt.Fprint(rw, line)
		_ = rw.Flush()
	default:
		fmt.Fprintf(w, "waited %v", door.Waited(r.Context()) >= 0)
	}
}

// serve serves a handler with a version of HTTP.
func serve(t testing.TB, version int, h http.Handler) *httptest.Server {
	srv := httptest.NewUnstartedServer(h)
	srv.Config.ErrorLog = nil
	if version == 2 {
		srv.EnableHTTP2 = true
		srv.StartTLS()
	} else {
		srv.Start()
	}
	return srv
}

func get(ctx context.Context, srv *httptest.Server, tenant, path string) (status int, body string, trailer http.Header, err error) {
	r, err := http.NewRequestWithContext(ctx, "POST", srv.URL+path, strings.NewReader("hello"))
	if err != nil {
		return 0, "", nil, err
	}
	r.Header.Set("Tenant", tenant)
	resp, err := srv.Client().Do(r)
	if err != nil {
		return 0, "", nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return resp.StatusCode, "", nil, nil // and the client goes without a word
	}
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), resp.Trailer, err
}

// What a handler can do without a door, it can do behind one: stream, send trailers, panic, end its goroutine, hijack, wait for the
// end of its client. The place is free afterwards.
func TestServer(t *testing.T) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			var b backend
			d := mustDoor(t, 1, door.Options{Tenant: byHeader("Tenant"), Exempt: func(r *http.Request) bool { return r.URL.Path == "/healthz" }})
			srv := serve(t, version, d.Wrap(&b))
			defer srv.Close()
			free := func() bool { st := d.Status(); return st.Running+st.Waiting == 0 }
			if _, body, _, err := get(bg, srv, "a", "/echo"); err != nil || body != "hello" {
				t.Errorf("echo: %q %v", body, err)
			}
			if _, body, _, err := get(bg, srv, "a", "/late"); err != nil || body != "late hello" {
				t.Errorf("a body that is read late: %q %v", body, err)
			}
			status, body, trailer, err := get(bg, srv, "a", "/stream")
			if err != nil || status != 200 || body != "0\n1\n2\n" || trailer.Get("Tokens") != "3" {
				t.Errorf("stream: %d %q %v %v", status, body, trailer, err)
			}
			waitFor(t, "free after a stream", free)
			if _, _, _, err := get(bg, srv, "a", "/panic"); err == nil {
				t.Error("a panic: no error")
			}
			waitFor(t, "free after a panic", free)
			if version == 1 {
				if _, _, _, err := get(bg, srv, "a", "/exit"); err == nil {
					t.Log("Goexit: the server closes the connection")
				}
				waitFor(t, "free after Goexit", free)
				hijack(t, srv)
				waitFor(t, "free after a hijack", free)
			} else if status, _, _, err := get(bg, srv, "a", "/hijack"); err != nil || status != http.StatusNotImplemented {
				t.Errorf("hijack with HTTP/2: %d %v", status, err)
			}
			began := b.began.Load()
			running, goneRunning := context.WithCancel(bg)
			waiting, goneWaiting := context.WithCancel(bg)
			var wg sync.WaitGroup
			defer wg.Wait()
			wg.Go(func() { _, _, _, _ = get(running, srv, "a", "/block") })
			waitFor(t, "in the handler", func() bool { return b.now.Load() == 1 })
			wg.Go(func() { _, _, _, _ = get(waiting, srv, "b", "/block") })
			waitFor(t, "waiting", func() bool { return d.Status().Waiting == 1 })
			if status, _, _, err := get(bg, srv, "c", "/healthz"); err != nil || status != 200 {
				t.Errorf("an exempt request: %d %v", status, err)
			}
			goneWaiting()
			waitFor(t, "gone while it waits", func() bool { return d.Status().Waiting == 0 })
			goneRunning()
			waitFor(t, "gone while it is in the handler", free)
			if n := b.began.Load() - began; n != 2 { // with the exempt one
				t.Errorf("%d were let in, want 2: who went away while it waited is not", n)
			}
			if status, body, _, err := get(bg, srv, "a", "/"); err != nil || body != "waited true" {
				t.Errorf("at the end: %d %q %v", status, body, err)
			}
			if err := d.Close(bg); err != nil {
				t.Error(err)
			}
		})
	}
}

func hijack(t *testing.T, srv *httptest.Server) {
	t.Helper()
	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /hijack HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\nhello\n")
	data, err := io.ReadAll(bufio.NewReader(c))
	if err != nil || !strings.HasPrefix(string(data), "HTTP/1.1 101") || !strings.HasSuffix(string(data), "hello\n") {
		t.Errorf("hijack: %q %v", data, err)
	}
}

// A flood of clients that vanish, stream, hijack, panic and are refused leaves neither a goroutine nor a place. -soak says how long.
func TestServerUnderAFlood(t *testing.T) {
	for version := 1; version <= 2; version++ {
		t.Run(fmt.Sprint("HTTP/", version), func(t *testing.T) {
			before := runtime.NumGoroutine()
			var b backend
			d := mustDoor(t, 4, door.Options{Tenant: byHeader("Tenant"), Session: byHeader("Session"), MaxWaiting: 12, MaxTenantWaiting: 8})
			srv := serve(t, version, d.Wrap(&b))
			stop := time.Now().Add(*soak)
			paths := []string{"/", "/", "/stream", "/stream", "/panic", "/block", "/hijack"}
			var wg sync.WaitGroup
			var ok, refused, failed atomic.Int64
			for i := range 40 {
				r := rand.New(rand.NewPCG(1, uint64(i)))
				wg.Go(func() {
					// On a busy machine it takes longer until all has happened.
					for time.Now().Before(stop) || ok.Load()*refused.Load()*failed.Load() == 0 && time.Now().Before(stop.Add(time.Minute)) {
						path := paths[r.IntN(len(paths))]
						ctx, cancel := context.WithTimeout(bg, time.Duration(r.IntN(30))*time.Millisecond)
						if path != "/block" && path != "/hijack" && r.IntN(2) == 0 {
							cancel()
							ctx, cancel = context.WithTimeout(bg, time.Minute)
						}
						switch status, _, _, err := get(ctx, srv, fmt.Sprint(r.IntN(6)), path); {
						case err != nil:
							failed.Add(1)
						case status == 429 || status == 503:
							refused.Add(1)
						default:
							ok.Add(1)
						}
						cancel()
					}
				})
			}
			wg.Wait()
			waitFor(t, "empty", func() bool { st := d.Status(); return st.Running+st.Waiting == 0 })
			t.Logf("%d answered, %d refused, %d gone or failed", ok.Load(), refused.Load(), failed.Load())
			if b.most.Load() > 4 || ok.Load() == 0 {
				t.Errorf("%d at a time, want 4; %d answered, want some", b.most.Load(), ok.Load())
			}
			if err := d.Close(bg); err != nil {
				t.Error(err)
			}
			srv.CloseClientConnections()
			srv.Client().CloseIdleConnections()
			srv.Close()
			waitFor(t, fmt.Sprintf("back to %d goroutines", before), func() bool { return runtime.NumGoroutine() <= before })
		})
	}
}

// A refusal has its status and Retry-After in whole seconds, and says nothing of policies, pools or jobs to the client; Refuse does.
func TestNoTextOfThePolicy(t *testing.T) {
	pool := must(live.New(must(rtmr.New(rtmr.Options{})), live.Options{Slots: 1}))
	var told *door.Refusal
	o := door.Options{
		Within:   func(*http.Request) time.Duration { return time.Second },
		Estimate: func(r *http.Request) time.Duration { return time.Duration(len(r.URL.Query())) * time.Hour },
	}
	h := must(door.New(pool, o)).Wrap(new(backend))
	ask := func(h http.Handler, url string) *http.Response {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", url, nil))
		return w.Result()
	}
	resp := ask(h, "/?a=1")
	body, _ := io.ReadAll(resp.Body)
	if resp.StatusCode != 429 || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%d, Retry-After %q", resp.StatusCode, resp.Header.Get("Retry-After"))
	}
	for _, word := range []string{"sojourn", "job", "policy", "rtmr", "slot", "event"} {
		if strings.Contains(strings.ToLower(string(body)), word) {
			t.Errorf("the client reads %q", body)
		}
	}
	o.Refuse = func(w http.ResponseWriter, _ *http.Request, no *door.Refusal) {
		told = no
		w.WriteHeader(no.Status)
	}
	if resp := ask(must(door.New(pool, o)).Wrap(new(backend)), "/?a=1"); resp.StatusCode != 429 || told == nil || told.Cause == nil || !strings.Contains(told.Error(), told.Cause.Error()) {
		t.Errorf("Refuse was told %v", told)
	}
	o.Estimate = func(*http.Request) time.Duration { return -1 }
	o.Refuse = nil
	if resp := ask(must(door.New(pool, o)).Wrap(new(backend)), "/"); resp.StatusCode != 500 {
		t.Errorf("a negative estimate: %d, want 500", resp.StatusCode)
	}
	ctx, cancel := context.WithCancel(bg)
	cancel()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
	if w.Code != 499 || w.Body.Len() > 0 {
		t.Errorf("a client that has gone gets %d and %q", w.Code, w.Body)
	}
	if err := pool.Close(bg); err != nil {
		t.Error(err)
	}
}

// The functions of a user may panic: as the handler would, and nothing is kept. Wrap of no handler panics.
func TestFunctionsThatPanic(t *testing.T) {
	d := mustDoor(t, 1, door.Options{Tenant: func(*http.Request) string { panic("tenant") }})
	for what, f := range map[string]func(){
		"tenant": func() {
			d.Wrap(new(backend)).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil))
		},
		"no handler": func() { d.Wrap(nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", what)
				}
			}()
			f()
		}()
	}
	if st := d.Status(); st.Running+st.Waiting > 0 {
		t.Errorf("%+v", st)
	}
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// The context of the request knows what it costs, and how long it has waited. Other contexts know nothing, and do no harm.
func TestChargeElsewhere(t *testing.T) {
	door.Charge(bg, 1)
	if w := door.Waited(bg); w != 0 {
		t.Errorf("waited %v", w)
	}
	pool := must(live.New(must(fifo.New(fifo.Options{})), live.Options{Slots: 1}))
	d := must(door.New(pool, door.Options{}))
	p := must(d.Enter(bg, door.Request{}))
	door.Charge(p.Context(), 1)
	p.Leave()
	door.Charge(p.Context(), 2)
	if !errors.Is(p.Context().Err(), context.Canceled) {
		t.Error("the context goes on after Leave")
	}
	if err := errors.Join(d.Close(bg), pool.Close(bg)); err != nil {
		t.Error(err)
	}
}

// The files of a form that was uploaded are removed after the request, as without a door, and who logs it knows for which pattern it was.
func TestUploadsAreRemoved(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	d := mustDoor(t, 1, door.Options{})
	files := func() int { return len(must(os.ReadDir(dir))) }
	mux := http.NewServeMux()
	during, pattern := 0, ""
	mux.HandleFunc("POST /upload", func(_ http.ResponseWriter, r *http.Request) {
		if err := r.ParseMultipartForm(1); err != nil {
			t.Error(err)
		}
		during = files()
	})
	wrapped := d.Wrap(mux)
	srv := serve(t, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wrapped.ServeHTTP(w, r)
		pattern = r.Pattern
	}))
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_, _ = must(form.CreateFormFile("f", "f")).Write(make([]byte, 20<<20))
	_ = form.Close()
	r, err := srv.Client().Post(srv.URL+"/upload", form.FormDataContentType(), &body)
	if err != nil {
		t.Fatal(err)
	}
	_ = r.Body.Close()
	waitFor(t, "the files are removed", func() bool { return files() == 0 })
	srv.Close()
	if during == 0 || pattern != "POST /upload" {
		t.Errorf("%d files during the request, pattern %q", during, pattern)
	}
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// A body that ends with its connection, or does not come in time, ends the request, since its context never would. One that is longer than it may
// be is for the handler, as without a door.
func TestBodyThatFails(t *testing.T) {
	var calls atomic.Int64
	d := mustDoor(t, 1, door.Options{})
	h := d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.URL.Path == "/long" {
			if _, err := io.ReadAll(r.Body); errors.As(err, new(*http.MaxBytesError)) {
				http.Error(w, "too long", http.StatusRequestEntityTooLarge)
				return
			}
		}
		<-r.Context().Done()
	}))
	var wait time.Duration
	srv := serve(t, 1, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/late" {
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(wait))
		}
		if r.URL.Path == "/long" {
			r.Body = http.MaxBytesReader(w, r.Body, 2)
		}
		h.ServeHTTP(w, r)
	}))
	send := func(path string) net.Conn {
		c := must(net.Dial("tcp", srv.Listener.Addr().String()))
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhe", path)
		return c
	}
	for _, busy := range []bool{false, true} {
		leave := func() {}
		if busy {
			leave = must(d.Enter(bg, door.Request{})).Leave
		}
		for range 20 {
			if err := send("/cut").Close(); err != nil {
				t.Error(err)
			}
		}
		late := send("/late")
		if resp, err := http.ReadResponse(bufio.NewReader(late), nil); err != nil || resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("a body that does not come: %v %v, want 408", resp, err)
		}
		leave()
		waitFor(t, "nobody is here", func() bool { st := d.Status(); return st.Running+st.Waiting == 0 })
		_ = late.Close()
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d requests without a whole body reached the handler", n)
	}
	if status, body, _, err := get(bg, srv, "a", "/long"); err != nil || status != http.StatusRequestEntityTooLarge {
		t.Errorf("a body that is too long: %d %q %v, want 413 by the handler", status, body, err)
	}
	srv.Close()
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// unpack is a middleware that puts an unpacked body in the place of what the client has sent.
func unpack(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		z, err := gzip.NewReader(r.Body)
		if err != nil {
			http.Error(w, "no gzip", http.StatusBadRequest)
			return
		}
		r.Body = z
		next.ServeHTTP(w, r)
	})
}

func packed(data []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(data)
	_ = z.Close()
	return b.Bytes()
}

// A reader that counts what is read of it.
type counting struct {
	io.Reader
	n *atomic.Int64
}

func (c counting) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// No more than Buffer bytes, and one, are read of a body before its request waits, however long it is behind a middleware that unpacks it. The
// handler reads all of it.
func TestBodyThatIsUnpacked(t *testing.T) {
	for _, size := range []int{0, 1, 999, 1000, 1001, 1 << 20} {
		d := mustDoor(t, 1, door.Options{Buffer: 1000})
		first := must(d.Enter(bg, door.Request{}))
		var read atomic.Int64
		h := d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			data, err := io.ReadAll(r.Body)
			fmt.Fprint(w, len(data), len(bytes.Trim(data, "x")), err)
		}))
		r := httptest.NewRequest("POST", "/", counting{strings.NewReader(strings.Repeat("x", size)), &read})
		r.ContentLength = 100 // of what was packed
		w := httptest.NewRecorder()
		done := make(chan bool)
		go func() { h.ServeHTTP(w, r); close(done) }()
		waitFor(t, "it waits", func() bool { return d.Status().Waiting == 1 })
		if n := int(read.Load()); n != min(size, 1001) {
			t.Errorf("%d bytes of %d are read before it waits, want %d", n, size, min(size, 1001))
		}
		first.Leave()
		<-done
		if want := fmt.Sprint(size, 0, error(nil)); w.Body.String() != want {
			t.Errorf("the handler has read %q, want %q", w.Body, want)
		}
		if err := d.Close(bg); err != nil {
			t.Error(err)
		}
	}
}

// A body that a middleware cannot unpack is for the handler, as without a door. One that ends too early may be of a client that is there, and is answered.
func TestBodyThatIsNoGzip(t *testing.T) {
	d := mustDoor(t, 1, door.Options{})
	srv := serve(t, 1, unpack(d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, "the handler says so", http.StatusBadRequest)
		}
	}))))
	damaged := packed([]byte("hello"))
	damaged[len(damaged)-6] ^= 1 // in the checksum
	for want, data := range map[string][]byte{"the handler says so\n": damaged, "the body ends too early\n": damaged[:len(damaged)-8], "": packed([]byte("hello"))} {
		resp, err := http.Post(srv.URL, "", bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if text, _ := io.ReadAll(resp.Body); string(text) != want || want != "" && resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s %q, want %q", resp.Status, text, want)
		}
		_ = resp.Body.Close()
	}
	srv.Close()
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// If the context of a request ends for another reason than that its client has gone, the client is told when to come again: a middleware does not let it wait
// for longer.
func TestGivenUpByTheServer(t *testing.T) {
	for _, cause := range []error{nil, errors.New("of a middleware"), context.Canceled} {
		inDoor(t, 1, door.Options{}, func(t *testing.T, d *door.Door) {
			p := must(d.Enter(bg, door.Request{}))
			time.Sleep(10 * time.Second)
			p.Leave() // from now on the door knows how long requests take
			p = must(d.Enter(bg, door.Request{}))
			ctx, cancel := context.WithTimeout(bg, time.Minute)
			ctx, end := context.WithCancelCause(ctx)
			defer cancel()
			defer end(nil)
			if cause != nil {
				end(cause)
			}
			w := httptest.NewRecorder()
			d.Wrap(new(backend)).ServeHTTP(w, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
			code, after, refused := 503, "10", uint64(1)
			if errors.Is(cause, context.Canceled) {
				code, after, refused = 499, "", 0 // the client has gone
			}
			if w.Code != code || w.Header().Get("Retry-After") != after || (w.Body.Len() > 0) != (code == 503) || strings.Contains(w.Body.String(), "middleware") || d.Status().Refused != refused {
				t.Errorf("%v: %d %v %q, %d refused; want %d after %q, %d", cause, w.Code, w.Header(), w.Body, d.Status().Refused, code, after, refused)
			}
			p.Leave()
		})
	}
}

// If the bodies of MaxWaiting requests are being read, that of one more is read when it is admitted: its client is watched then.
func TestBodyThatIsReadLate(t *testing.T) {
	d := mustDoor(t, 1, door.Options{MaxWaiting: 1})
	var began atomic.Int64
	srv := serve(t, 1, d.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		began.Add(1)
		<-r.Context().Done()
	})))
	send := func(body string) net.Conn {
		c := must(net.Dial("tcp", srv.Listener.Addr().String()))
		fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n%s", body)
		return c
	}
	for _, late := range []string{"hello", "he"} { // the first one whole, and the second one cut short
		slow := send("h")
		waitFor(t, "its body is being read", func() bool { return door.Reading(d) == 1 })
		before := began.Load()
		c := send(late)
		waitFor(t, "it is admitted", func() bool { return d.Status().Running == 1 })
		if late == "hello" {
			waitFor(t, "it is in the handler", func() bool { return began.Load() > before })
		}
		_ = c.Close()
		waitFor(t, "it has gone", func() bool { return d.Status().Running == 0 })
		if late != "hello" && began.Load() != before {
			t.Error("half a body has reached the handler")
		}
		_ = slow.Close()
		waitFor(t, "the slow one has gone", func() bool { return door.Reading(d) == 0 })
	}
	srv.Close()
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}

// A handler that has hijacked its connection holds its place until it returns, though its client has gone.
func TestHijackHoldsItsPlace(t *testing.T) {
	d := mustDoor(t, 1, door.Options{})
	hijacked, end := make(chan bool), make(chan bool)
	srv := serve(t, 1, d.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_ = c.Close()
		close(hijacked)
		<-end
	})))
	c := must(net.Dial("tcp", srv.Listener.Addr().String()))
	fmt.Fprint(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	_, _ = io.ReadAll(c) // until it is closed
	_ = c.Close()
	<-hijacked
	if st := d.Status(); st.Running != 1 {
		t.Errorf("%+v, want one that runs", st)
	}
	close(end)
	waitFor(t, "the place is free", func() bool { return d.Status().Running == 0 })
	srv.Close()
	if err := d.Close(bg); err != nil {
		t.Error(err)
	}
}
