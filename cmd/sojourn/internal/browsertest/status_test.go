package browsertest

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	core "github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// The page of a pool says what waits and why, on wide and narrow windows, in the light and in the dark.
func TestStatusPage(t *testing.T) {
	another := func() (core.Policy, error) { return fifo.New(fifo.Options{}) }
	policy, err := another()
	if err != nil {
		t.Fatal(err)
	}
	w := forecast.New(policy)
	pool, err := live.New(w, live.Options{Slots: 2})
	if err != nil {
		t.Fatal(err)
	}
	end := make(chan struct{})
	for _, name := range []string{"first", hostile, strings.Repeat("a long name ", 12)} {
		_, err := pool.Submit(t.Context(), live.Job{Name: name, Pool: "web", Deadline: time.Hour, Phases: []live.Phase{{Tasks: 3, Estimate: 90 * time.Second, Run: func(context.Context, live.Task) error { <-end; return nil }}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	server := httptest.NewServer(http.StripPrefix("/sojourn", statuspage.Handler(pool, statuspage.WithForecast(w, another), statuspage.WithPolicy("again", another))))
	defer server.Close()
	defer func() {
		close(end)
		if err := pool.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for _, v := range []view{{1280, 900, false}, {1280, 900, true}, {390, 800, false}} {
		b := open(t, server.URL+"/sojourn/", v)
		b.until("the page is there", `document.readyState === 'complete'`)
		if scheme := value[string](b, `getComputedStyle(document.body).backgroundColor`); (scheme != "rgb(255, 255, 255)") != v.dark {
			t.Errorf("dark is %v, and the page is %s", v.dark, scheme)
		}
		b.fits()
		b.readable()
		if names := b.column("jobs", 1); len(names) != 3 || names[1] != hostile {
			t.Errorf("names of jobs are %q", names)
		}
		if n := value[int](b, `document.querySelectorAll('img, script').length`); n != 0 {
			t.Errorf("names made %d elements", n)
		}
		// Three jobs of three tasks of 90 s on two slots: if that is true, the first one ends 180 s after its start, and the last one 270 s
		// later. Nothing has shown yet how true it is.
		head, ends := b.text("#jobs thead"), b.column("jobs", 10)
		if !strings.Contains(head, "Finishes in (s)") || len(ends) != 3 {
			t.Fatalf("below %q jobs finish in %q", head, ends)
		}
		var low, high [3]float64
		for i, text := range ends {
			if _, err := fmt.Sscanf(text, "%f to %f", &low[i], &high[i]); err != nil {
				t.Errorf("job %d finishes in %q: %v", i+1, text, err)
			}
		}
		if low[0] <= 0 || low[0] > 180 || high[0] < 180 || low[2] > 450 || high[2] < 450 || low[0] > low[2] {
			t.Errorf("jobs finish in %q", ends)
		}
		opened := func() bool { return value[bool](b, `document.querySelector('#job2 details').open`) }
		if opened() {
			t.Error("details are open before a click")
		}
		b.click("#job2 summary")
		if text := b.text("#job2 details"); !opened() || !strings.Contains(text, "waits for a slot") || !strings.Contains(text, " = ") {
			t.Errorf("a click on why job 2 waits: open %v, %q", opened(), text)
		}
		b.shot("status-" + map[bool]string{true: "dark", false: "light"}[v.dark] + "-" + map[bool]string{true: "wide", false: "narrow"}[v.width > 1000])
		b.press(kb.Enter)
		if opened() {
			t.Error("Enter does not close the details")
		}
		b.click("#slots a")
		if at := value[string](b, `location.hash + ' ' + document.querySelector(':target').id`); at != "#job1 job1" {
			t.Errorf("the task of a slot leads to %s", at)
		}
		b.click("input[name=slots]")
		b.press(kb.ArrowUp)
		asks := value[string](b, `new URLSearchParams(new FormData(document.querySelector('form'))).toString()`)
		if asks != "slots=1&tasks=0&each=60s&policy=" {
			t.Errorf("the form asks %s", asks)
		}
		b = open(t, server.URL+"/sojourn/?"+asks, v) // what a click on the button does
		if says := b.text("#whatif"); !strings.Contains(says, "earlier on average with 1 slot more.") {
			t.Errorf("with a slot more the page says %q", says)
		}
		b.fits()
		b.readable()
		b.shot("status-what-if-" + map[bool]string{true: "dark", false: "light"}[v.dark] + "-" + map[bool]string{true: "wide", false: "narrow"}[v.width > 1000])
	}
}
