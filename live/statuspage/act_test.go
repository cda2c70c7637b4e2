package statuspage_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

var tokens = regexp.MustCompile(`name="token" value="(\w+)"`)

// post sends a form to the page, with a header.
func post(h http.Handler, form url.Values, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "http://pool.example/act", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// Visitors who may act cancel a job, try again, pause, resume and weigh tenants, and each of these is in the log. The others see no button.
func TestActions(t *testing.T) {
	var log bytes.Buffer
	may := true
	options := []statuspage.Option{statuspage.WithActions(func(*http.Request) bool { return may }), statuspage.WithLog(slog.New(slog.NewTextHandler(&log, nil)))}
	pooled(t, 2, options, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		submit(t, p, "fails", "web", 1, func(ctx context.Context, task live.Task) error {
			if task.Attempt < 2 {
				return errors.New("no")
			}
			return lasts(time.Hour)(ctx, task)
		})
		other := submit(t, p, "other", "etl", 1, lasts(time.Hour))
		synctest.Wait()
		found := tokens.FindStringSubmatch(ask(h, "/").Body.String())
		if found == nil {
			t.Fatal("the page has no token")
		}
		token := found[1]
		if body := ask(h, "/job/1").Body.String(); !strings.Contains(body, "Retry now") || !strings.Contains(body, "Yes, cancel it") {
			t.Errorf("the page of a job that fails lacks buttons:\n%s", body)
		}
		act := func(code int, pairs ...string) {
			t.Helper()
			form := url.Values{"token": {token}}
			for i := 0; i < len(pairs); i += 2 {
				form.Set(pairs[i], pairs[i+1])
			}
			log.Reset()
			w := post(h, form, "Sec-Fetch-Site", "same-origin", "Origin", "http://pool.example")
			if w.Code != code {
				t.Errorf("%v: status %d, want %d\n%s", pairs, w.Code, code, w.Body)
			}
			if !strings.Contains(log.String(), "do="+form.Get("do")) {
				t.Errorf("%v: the log has %q", pairs, &log)
			}
		}
		act(303, "do", "retry", "job", "1")
		synctest.Wait()
		if pr := p.Handles()[0].Progress(); pr.Running != 1 {
			t.Errorf("job 1 is not tried again: %+v", pr)
		}
		act(409, "do", "retry", "job", "1")
		act(303, "do", "cancel", "job", "2")
		if err := other.Wait(t.Context()); !errors.Is(err, live.ErrCancelled) {
			t.Errorf("job 2 ends with %v", err)
		}
		act(409, "do", "cancel", "job", "2")
		act(409, "do", "cancel", "job", "x")
		act(409, "do", "format", "job", "1")
		act(303, "do", "pause", "pool", "etl")
		act(303, "do", "weight", "pool", "etl", "weight", "7")
		synctest.Wait()
		if n, _ := p.Settings("etl"); !n.Paused || n.Weight != 7 {
			t.Errorf("etl is %+v", n)
		}
		for _, bad := range []string{"", "0", "-1", "NaN", "1e300", "x"} {
			act(409, "do", "weight", "pool", "etl", "weight", bad)
		}
		act(303, "do", "limit", "pool", "etl", "limit-0", " 3 ")
		synctest.Wait()
		if n, _ := p.Settings("etl"); n.Max[0] != 3 || n.Weight != 7 || !strings.Contains(log.String(), `limit-0=" 3 "`) {
			t.Errorf("etl is %+v, and the log has %q", n, &log)
		}
		if body := ask(h, "/").Body.String(); !strings.Contains(body, "at most 3 tasks") {
			t.Errorf("the page does not tell the limit:\n%s", body)
		}
		for _, bad := range []string{"0", "-1", "1.5", "x", "99999999999999999999"} {
			act(409, "do", "limit", "pool", "etl", "limit-0", bad)
			act(409, "do", "limit", "pool", "etl", "limit-70000", "1")
		}
		if n, _ := p.Settings("etl"); n.Max[0] != 3 {
			t.Errorf("etl is %+v", n)
		}
		act(303, "do", "limit", "pool", "etl", "limit-0", "")
		if n, _ := p.Settings("etl"); len(n.Max) != 0 {
			t.Errorf("etl is %+v", n)
		}
		act(303, "do", "resume", "pool", "etl")
		if n, _ := p.Settings("etl"); n.Paused || n.Weight != 7 {
			t.Errorf("etl is %+v", n)
		}
		may = false
		if body := ask(h, "/job/1").Body.String(); strings.Contains(body, token) || strings.Contains(body, "Yes, cancel it") {
			t.Error("visitors who may not act see buttons")
		}
		if w := post(h, url.Values{"token": {token}, "do": {"cancel"}, "job": {"1"}}); w.Code != 403 {
			t.Errorf("a visitor who may not act: %d", w.Code)
		}
		may = true
	})
}

// Nothing is done for what another site makes a browser send, nor without the token, whoever is allowed.
func TestActionsOfOtherSites(t *testing.T) {
	pooled(t, 1, []statuspage.Option{statuspage.WithActions(func(*http.Request) bool { return true })}, func(t *testing.T, p *live.Pool, r *statuspage.Recorder, h http.Handler) {
		submit(t, p, "job", "web", 1, lasts(time.Hour))
		token := tokens.FindStringSubmatch(ask(h, "/job/1").Body.String())[1]
		good := url.Values{"token": {token}, "do": {"cancel"}, "job": {"1"}}
		for _, header := range [][]string{
			{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Sec-Fetch-Site", "none"},
			{"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
			{"Origin", "http://evil.example"}, {"Origin", "null"}, {"Origin", "http://pool.example:81"}, {"Origin", "%"},
		} {
			if w := post(h, good, header...); w.Code != 403 {
				t.Errorf("%v: %d", header, w.Code)
			}
		}
		for _, wrong := range []string{"", "x", token + "x", strings.ToLower(token)} {
			if w := post(h, url.Values{"token": {wrong}, "do": {"cancel"}, "job": {"1"}}); w.Code != 403 {
				t.Errorf("token %q: %d", wrong, w.Code)
			}
		}
		if w := post(h, url.Values{"token": {token}, "do": {strings.Repeat("x", 1<<20)}}); w.Code != 400 {
			t.Errorf("a form of a megabyte: %d", w.Code)
		}
		if w := post(h, url.Values{"token": {token}, "do": {"pause"}, "pool": {"web"}}, "Sec-Fetch-Site", "same-origin", "Origin", "https://dash.example"); w.Code != 303 {
			t.Errorf("a page of the same origin, behind a proxy that gives the host another name: %d", w.Code)
		}
		if w := ask(h, "/act?"+good.Encode()); w.Code != 405 {
			t.Errorf("GET: %d", w.Code)
		}
		if n := len(p.Handles()); n != 1 {
			t.Fatalf("%d jobs are live", n)
		}
		if w := post(h, good, "Sec-Fetch-Site", "same-origin", "Origin", "http://pool.example"); w.Code != 303 || w.Header().Get("Location") != "job/1" {
			t.Errorf("what the page sends itself: %d", w.Code)
		}
	})
}

// Visitors of the stream are told of what happens within two seconds, the 101st is told to come again, and when all have gone nothing
// is asked any more.
func TestStream(t *testing.T) {
	policy, err := fair.New(fair.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := statuspage.NewRecorder()
	p, err := live.New(policy, live.Options{Slots: 1, Observer: r})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close(context.Background())
	asked := &atomicAsking{Looker: r.Pool()}
	r.Watch(asked)
	server := httptest.NewServer(statuspage.Handler(p, statuspage.WithRecorder(r)))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	visit := func() *http.Response {
		q, err := http.NewRequestWithContext(ctx, "GET", server.URL+"/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		w, err := http.DefaultClient.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	all := make([]*http.Response, 100)
	for i := range all {
		if all[i] = visit(); all[i].StatusCode != 200 || all[i].Header.Get("Content-Type") != "text/event-stream" || all[i].Header.Get("X-Accel-Buffering") != "no" {
			t.Fatalf("visitor %d: %d", i, all[i].StatusCode)
		}
	}
	if w := visit(); w.StatusCode != 503 || w.Header.Get("Retry-After") == "" {
		t.Errorf("visitor 101: %d", w.StatusCode)
	}
	for i, w := range all {
		lines := bufio.NewScanner(w.Body)
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data: ") {
		}
		if _, err := time.Parse(time.RFC3339, strings.TrimPrefix(lines.Text(), "data: ")); err != nil {
			t.Errorf("visitor %d is told %q: %v", i, lines.Text(), err)
		}
	}
	cancel()
	// When the goroutine of the stream has ended, three seconds and a half pass without a question.
	for n := int64(-1); n != asked.n.Load(); time.Sleep(3500 * time.Millisecond) {
		n = asked.n.Load()
	}
	fmt.Fprint(t.Output(), asked.n.Load(), " questions\n")
	if w, err := http.Get(server.URL + "/events"); err != nil || w.StatusCode != 200 {
		t.Errorf("when all have gone: %v", err)
	} else {
		w.Body.Close()
	}
}

// What several visitors change of a tenant at once is all changed, also beside one who uses the pool.
func TestActionsAtOnce(t *testing.T) {
	policy, err := fair.New(fair.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := live.New(policy, live.Options{Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close(t.Context()) }) // which has ended
	h := statuspage.Handler(p, statuspage.WithActions(func(*http.Request) bool { return true }))
	submit(t, p, "other", "etl", 1, lasts(time.Hour))
	token := tokens.FindStringSubmatch(ask(h, "/").Body.String())[1]
	var all sync.WaitGroup
	for n := range 20 * sojourn.MaxClasses {
		class, most := sojourn.Class(n%sojourn.MaxClasses), 1+n/sojourn.MaxClasses
		all.Go(func() {
			form := url.Values{"token": {token}, "pool": {"etl"}, "do": {"limit"}, fmt.Sprint("limit-", class): {fmt.Sprint(most)}}
			if w := post(h, form, "Sec-Fetch-Site", "same-origin"); w.Code != http.StatusSeeOther {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
		if class < sojourn.MaxClasses-1 {
			continue
		}
		if err := p.ChangePool("etl", func(n *sojourn.Pool) { n.Paused = !n.Paused }); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		got, _ := p.Settings("etl")
		for c := range sojourn.Class(sojourn.MaxClasses) {
			if got.Max[c] != most {
				t.Fatalf("each of %d visitors was told that a class has the limit %d, and the limits are %v", sojourn.MaxClasses, most, got.Max)
			}
		}
		if got.Paused != (most%2 == 1) {
			t.Fatalf("the limits are %d, and etl is paused: %v", most, got.Paused)
		}
	}
	all.Wait()
}
