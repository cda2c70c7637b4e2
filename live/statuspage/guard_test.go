package statuspage_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// A body counts how often it is read.
type body struct{ reads int }

func (b *body) Read([]byte) (int, error) { b.reads++; return 0, errors.New("it is read") }
func (b *body) Close() error             { return nil }

// quiet returns the page of a pool without jobs.
func quiet(t *testing.T) http.Handler {
	t.Helper()
	policy, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := live.New(policy, live.Options{Slots: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close(context.Background()) })
	return statuspage.Handler(p)
}

var methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT", "QUERY"}

// Nobody reads a body, whatever the method and the type of the content, and a body has no parameters.
func TestBodiesAreNotRead(t *testing.T) {
	h := quiet(t)
	for _, method := range methods {
		for _, kind := range []string{"", "multipart/form-data; boundary=x", "multipart/mixed; boundary=x", "application/x-www-form-urlencoded", "application/json", "text/plain", "\x00"} {
			for _, path := range []string{"/", "/status.json", "/?slots=1", "/?jobs=x", "/other"} {
				b := &body{}
				r := httptest.NewRequest(method, path, nil)
				r.Body, r.ContentLength = b, 1<<40
				r.Header.Set("Content-Type", kind)
				h.ServeHTTP(httptest.NewRecorder(), r)
				if b.reads > 0 || r.Form != nil || r.MultipartForm != nil {
					t.Errorf("%s %s, %q: the body is read %d times, the form is %v", method, path, kind, b.reads, r.Form)
				}
			}
		}
	}
}

// Each answer has the headers, and the style of the page is the one that they allow.
func TestHeaders(t *testing.T) {
	h := quiet(t)
	seen := map[int]bool{}
	for _, method := range methods {
		for _, path := range []string{"/", "/status.json", "/other", "//", "/../status.json", "/?jobs=x", "/?" + strings.Repeat("a", 2000)} {
			for _, site := range []string{"", "cross-site"} {
				r := httptest.NewRequest(method, path, nil)
				r.Header.Set("Sec-Fetch-Site", site)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				seen[w.Code] = true
				policy := w.Header().Get("Content-Security-Policy")
				for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'self'"} {
					if !strings.Contains(policy, part) {
						t.Errorf("%s %s: the policy %q lacks %s", method, path, policy, part)
					}
				}
				for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin"} {
					if got := w.Header().Values(name); len(got) != 1 || got[0] != want {
						t.Errorf("%s %s: %d, %s is %q, want %q", method, path, w.Code, name, got, want)
					}
				}
				if _, styled, ok := strings.Cut(w.Body.String(), "<style>"); ok {
					styled, _, _ = strings.Cut(styled, "</style>")
					sum := sha256.Sum256([]byte(styled))
					if want := "style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, want) {
						t.Errorf("the policy %q lacks %s", policy, want)
					}
				}
			}
		}
	}
	for _, code := range []int{200, 400, 403, 404, 405} {
		if !seen[code] {
			t.Errorf("no request had status %d", code)
		}
	}
}

// Parameters have a bound, and an error names what is wrong with them.
func TestParameters(t *testing.T) {
	h := quiet(t)
	for query, want := range map[string]string{
		"x=" + strings.Repeat("a", 1022):        "",
		"x=" + strings.Repeat("a", 1023):        "parameters of 1025 bytes: want at most 1024",
		"each=" + strings.Repeat("1h", 500_000): "parameters of 1000005 bytes",
		"jobs=%zz":                              `parameters "jobs=%zz": invalid`,
		"jobs=1;x=2":                            `parameters "jobs=1;x=2": invalid`,
		"policy=%1b[":                           `policy="\x1b["`,
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", "/status.json?"+query, nil))
		if failed := w.Code == http.StatusBadRequest; failed != (want != "") || failed && !strings.HasPrefix(w.Body.String(), want) || failed && w.Body.Len() > 2048 {
			t.Errorf("%.40s: %d, %.200q, want %q", query, w.Code, w.Body, want)
		}
	}
}

// What the page of another origin makes a browser ask for is refused. Users may follow links, and programs say nothing.
func TestOtherSites(t *testing.T) {
	h := quiet(t)
	for _, c := range []struct {
		site, mode, dest, purpose string
		want                      int
	}{
		{"", "", "", "", 200},
		{"none", "navigate", "document", "", 200},
		{"same-origin", "navigate", "document", "", 200},
		{"same-origin", "cors", "empty", "", 200},
		{"cross-site", "navigate", "document", "", 200},
		{"cross-site", "navigate", "document", "prefetch;prerender", 403},
		{"cross-site", "no-cors", "image", "", 403},
		{"cross-site", "cors", "empty", "", 403},
		{"cross-site", "navigate", "iframe", "", 403},
		{"same-site", "no-cors", "script", "", 403},
		{"same-site", "navigate", "document", "", 200},
		{"unheard-of", "no-cors", "image", "", 403},
		{"cross-site", "", "", "", 403},
	} {
		r := httptest.NewRequest("GET", "/status.json", nil)
		for name, value := range map[string]string{"Sec-Fetch-Site": c.site, "Sec-Fetch-Mode": c.mode, "Sec-Fetch-Dest": c.dest, "Sec-Purpose": c.purpose} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != c.want {
			t.Errorf("%+v: %d", c, w.Code)
		}
	}
}

// visited calls f with a page whose forecasts take 20 s: each of their 20 draws has its policy made in a second. It fails
// if two are made at a time. made returns how many draws have begun.
func visited(t *testing.T, f func(t *testing.T, ask func(ctx context.Context, query string) string, made func() int)) {
	synctest.Test(t, func(t *testing.T) {
		var active, total atomic.Int64
		another := func() (sojourn.Policy, error) {
			if total.Add(1); active.Add(1) > 1 {
				t.Error("two forecasts are made at a time")
			}
			time.Sleep(time.Second)
			active.Add(-1)
			return fifo.New(fifo.Options{})
		}
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		w := forecast.New(policy)
		p, err := live.New(w, live.Options{Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		hour := live.Phase{Tasks: 2, Estimate: time.Hour, Run: func(context.Context, live.Task) error { time.Sleep(time.Hour); return nil }}
		if _, err := p.Submit(t.Context(), live.Job{Phases: []live.Phase{hour}}); err != nil {
			t.Fatal(err)
		}
		h := statuspage.Handler(p, statuspage.WithForecast(w, another), statuspage.WithPolicy("other", another))
		f(t, func(ctx context.Context, query string) string {
			r := httptest.NewRecorder()
			h.ServeHTTP(r, httptest.NewRequest("GET", "/status.json?"+query, nil).WithContext(ctx))
			return r.Body.String()
		}, func() int { return int(total.Load()) })
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// Forecasts are made one at a time, whatever visitors ask, and one is kept for a second.
func TestOneForecastAtATime(t *testing.T) {
	visited(t, func(t *testing.T, ask func(context.Context, string) string, made func() int) {
		for i, want := range []int{1 + 3, 2 * (1 + 3), 2*(1+3) + 1} {
			var all sync.WaitGroup
			for v := range 60 {
				all.Go(func() {
					query := [...]string{"", "slots=1", "slots=1&x=" + fmt.Sprint(v), "policy=other", "tasks=1&each=1s", "jobs=" + fmt.Sprint(v)}[v%6]
					if i == 2 {
						query = ""
					}
					if got := ask(t.Context(), query); !strings.Contains(got, `"forecast":true`) || strings.Contains(got, `"error":"too`) {
						t.Errorf("%s: %.300s", query, got)
					}
				})
			}
			all.Wait()
			if got := made(); got != 20*want {
				t.Errorf("%d draws, want those of %d forecasts", got, want)
			}
			time.Sleep(2 * time.Second)
		}
	})
}

// A visitor who goes takes no forecast from the others, and makes none if nobody waits. Where too many changes are asked
// about, the page says so, and has the forecast without a change.
func TestVisitorsGo(t *testing.T) {
	visited(t, func(t *testing.T, ask func(context.Context, string) string, made func() int) {
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { ask(ctx, "") })
		synctest.Wait()
		for range 5 {
			all.Go(func() {
				if got := ask(t.Context(), ""); !strings.Contains(got, `"forecast":true`) {
					t.Errorf("after the first visitor has gone: %s", got)
				}
			})
		}
		synctest.Wait()
		time.Sleep(5*time.Second + 1)
		cancel()
		all.Wait()
		if got := made(); got > 6+20 {
			t.Errorf("%d draws, want those until the first visitor went, and 20", got)
		}
		before := made()
		ask(ctx, "") // it is kept
		ask(ctx, "slots=1")
		if made() != before {
			t.Error("a forecast is made for a visitor who is gone")
		}
		var refused atomic.Int64
		for v := range 30 {
			all.Go(func() {
				got := ask(t.Context(), fmt.Sprint("slots=", v+1))
				if !strings.Contains(got, `"forecast":true`) {
					t.Errorf("no forecast: %s", got)
				}
				if strings.Contains(got, `"error":"too many different things`) {
					refused.Add(1)
				}
			})
		}
		time.Sleep(10 * time.Second) // the forecast without a change is no longer kept, and eight changes wait
		if got := ask(t.Context(), ""); !strings.Contains(got, `"forecast":true`) {
			t.Errorf("while others ask about changes: %s", got)
		}
		all.Wait()
		if refused.Load() != 22 || made() != before+(8+1)*20 {
			t.Errorf("%d of 30 are refused, and %d draws are made; want 22, and those of 9", refused.Load(), made()-before)
		}
	})
}
