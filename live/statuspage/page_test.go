package statuspage_test

import (
	"context"
	"encoding/json"
	"html/template"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// inPool runs a test with a pool of one slot: at 3 s, job 1 runs for 10 s, job 2 waits and is late, job 3 waits.
func inPool(t *testing.T, test func(t *testing.T, p *live.Pool)) {
	synctest.Test(t, func(t *testing.T) {
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := live.New(policy, live.Options{Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range []live.Job{{Name: "first"}, {Name: "<script>", Pool: "web", Deadline: 2 * time.Second}, {Name: "third", Deadline: time.Hour}} {
			j.Phases = []live.Phase{{Tasks: 2, Run: func(context.Context, live.Task) error { time.Sleep(5 * time.Second); return nil }}}
			if _, err := p.Submit(context.Background(), j); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Second)
		}
		test(t, p)
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

func get(p *live.Pool, method, path string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	http.StripPrefix("/sojourn", statuspage.Handler(p)).ServeHTTP(w, httptest.NewRequest(method, "/sojourn"+path, nil))
	return w
}

func TestJSON(t *testing.T) {
	inPool(t, func(t *testing.T, p *live.Pool) {
		w := get(p, "GET", "/status.json?jobs=2")
		var got statuspage.Page
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			t.Fatal(err)
		}
		two := 3.0
		for i := range got.Jobs {
			if len(got.Jobs[i].Explain) < 2 {
				t.Errorf("job %d is explained by %v", i, got.Jobs[i].Explain)
			}
			got.Jobs[i].Explain = nil
		}
		if !strings.HasPrefix(got.Says, "All is well: 1 of 1 slots are busy") {
			t.Errorf("the page says %q", got.Says)
		}
		got.Says = ""
		want := statuspage.Page{Now: 3, Live: 3, Late: 0, Busy: 1, Waiting: 5, Oldest: 2, Found: 3, Ignoring: []string{}, Tenants: []statuspage.Tenant{
			{Live: 2, Waiting: 3, Busy: 1, Oldest: 1}, {Name: "web", Live: 1, Waiting: 2, Oldest: 2},
		}, Jobs: []statuspage.Job{
			{ID: 1, Name: "first", Age: 3, Tasks: 2, Running: 1, Why: "waits for a slot"},
			{ID: 2, Name: "<script>", Pool: "web", Age: 2, Deadline: &two, Tasks: 2, Why: "waits for a slot"},
		}, Slots: []statuspage.Slot{{Task: "1/0/0", Job: 1, Attempt: 1}}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
		time.Sleep(time.Second)
		var pg statuspage.Page
		if err := json.Unmarshal(get(p, "GET", "/status.json").Body.Bytes(), &pg); err != nil || pg.Late != 1 || !pg.Jobs[1].Late || pg.Jobs[0].Late || pg.Jobs[2].Late || len(pg.Jobs) != 3 {
			t.Errorf("after the deadline of job 2: %+v, %v", pg, err)
		}
	})
}

// The page has the same, and names of jobs are no markup.
func TestPage(t *testing.T) {
	inPool(t, func(t *testing.T, p *live.Pool) {
		time.Sleep(time.Second)
		w := get(p, "GET", "/")
		for _, want := range []string{"<title>3 jobs, 1 late</title>", "&lt;script&gt;", `<tr id="job2" class="late">`, `<a class="c0 " href="job/1" title="slot 0: task 1/0/0, attempt 1"`,
			"late 1 s", `href="status.json?state=waiting"`, "1–2 of 2", "Running 1</a>"} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("the page lacks %s:\n%s", want, w.Body)
			}
		}
		if strings.Contains(w.Body.String(), "<script>") {
			t.Error("the name of a job is markup")
		}
		for path, want := range map[string][]string{
			"/job/2":                    {"<h2><i", "Job 2 &lt;script&gt;", "Tenant web", "late 1 s", "waits for a slot", "<dt>tasks done<dd>0 of 2"},
			"/job/7":                    {"Job 7 is not live", "1–2 of 2"},
			"/?state=running":           {">1 first</a>", "1–1 of 1"},
			"/?state=all&pool=web":      {"1–1 of 1", "&lt;script&gt;"},
			"/?state=all&q=THIR":        {"1–1 of 1", "third"},
			"/?state=all&jobs=2":        {"1–2 of 3", `href="?jobs=2&amp;page=2&amp;state=all#jobs">Later`},
			"/?state=all&jobs=2&page=2": {"3–3 of 3", "third"},
			"/?state=all&q=nothing":     {"No job is like that"},
			"/?state=ended":             {"give the pool a recorder"},
			"/?state=failing":           {"Nothing has failed."},
		} {
			body := get(p, "GET", path).Body.String()
			for _, want := range want {
				if !strings.Contains(body, want) {
					t.Errorf("%s lacks %s:\n%s", path, want, body)
				}
			}
		}
	})
}

func TestRequests(t *testing.T) {
	inPool(t, func(t *testing.T, p *live.Pool) {
		for _, c := range []struct {
			method, path string
			want         int
		}{
			{"GET", "/", 200}, {"HEAD", "/", 200}, {"POST", "/", 405}, {"GET", "/other", 404}, {"DELETE", "/status.json", 405},
			{"GET", "/?jobs=0", 200}, {"GET", "/?jobs=-1", 400}, {"GET", "/status.json?jobs=all", 400}, {"GET", "/?jobs=500", 200}, {"GET", "/?jobs=501", 400},
			{"GET", "/status.json?jobs=1e9", 400}, {"GET", "/jobs.csv?jobs=501", 400}, {"GET", "/jobs.csv", 200}, {"GET", "/job/1", 200}, {"GET", "/job/9", 404}, {"GET", "/job/x", 404},
			{"GET", "/?page=0", 400}, {"GET", "/?page=99999999999999999999", 400}, {"GET", "/?page=1000000", 200}, {"GET", "/?state=no", 400}, {"POST", "/act", 404}, {"GET", "/page.js", 200},
		} {
			if w := get(p, c.method, c.path); w.Code != c.want {
				t.Errorf("%s %s: status %d, want %d", c.method, c.path, w.Code, c.want)
			}
		}
	})
}

// With a forecast, the page says when jobs will start and finish. After 200 tasks of 5 s, each is expected to take 5 s. The clock
// is at 1,006 s: the first job ends at 1,010 s, the second runs from then to 1,020 s, and the third to 1,030 s. Before a task has ended, the
// page says that nothing is known.
func TestForecast(t *testing.T) {
	foreseen(t, 0, func(t *testing.T, ask func(path string) string) {
		time.Sleep(3 * time.Second)
		if html := ask("/"); !strings.Contains(html, "There is no forecast: nothing is known of what the tasks of 3 phases take") {
			t.Errorf("at 3 s the page is\n%s", html)
		}
	})
	foreseen(t, 200, func(t *testing.T, ask func(path string) string) {
		time.Sleep(6 * time.Second)
		var pg statuspage.Page
		if err := json.Unmarshal([]byte(ask("/status.json")), &pg); err != nil {
			t.Fatal(err)
		}
		at := func(s float64) *statuspage.Interval { return &statuspage.Interval{Low: s, Median: s, High: s} }
		want := [][2]*statuspage.Interval{{nil, at(1010)}, {at(1010), at(1020)}, {at(1020), at(1030)}}
		for i, j := range pg.Jobs {
			if got := [2]*statuspage.Interval{rounded(j.Start), rounded(j.Finish)}; !reflect.DeepEqual(got, want[i]) {
				t.Errorf("job %d starts and finishes at %+v and %+v, want %+v and %+v", j.ID, j.Start, j.Finish, want[i][0], want[i][1])
			}
		}
		if len(pg.Jobs) != 3 || !pg.Forecast {
			t.Errorf("%d jobs, forecast %t", len(pg.Jobs), pg.Forecast)
		}
		now := time.Now() // job 1 ends in 4 s, and job 3 in 24 s
		for query, want := range map[string]time.Duration{"state=running": 4 * time.Second, "state=waiting": 24 * time.Second} {
			if html := ask("/?" + query); !strings.Contains(html, now.Add(want).Format(">15:04:05</time>")) {
				t.Errorf("%s: at %v the page is\n%s", query, now, html)
			}
		}
	})
}

// rounded returns an interval in whole seconds: the next task may be the first that takes another time.
func rounded(i *statuspage.Interval) *statuspage.Interval {
	if i == nil {
		return nil
	}
	return &statuspage.Interval{Low: math.Floor(i.Low), Median: math.Floor(i.Median), High: math.Floor(i.High)}
}

// foreseen calls f with a page of a pool of one slot under fifo, and fair as another policy. The pool has three jobs of two
// tasks of 5 s. So many tasks of that name and that length have run before.
func foreseen(t *testing.T, before int, f func(t *testing.T, ask func(path string) string)) {
	synctest.Test(t, func(t *testing.T) {
		another := func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }
		policy, err := another()
		if err != nil {
			t.Fatal(err)
		}
		w := forecast.New(policy)
		p, err := live.New(w, live.Options{Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		submit := func(tasks int) *live.Handle {
			h, err := p.Submit(t.Context(), live.Job{Name: "five", Phases: []live.Phase{{Tasks: tasks, Run: func(context.Context, live.Task) error { time.Sleep(5 * time.Second); return nil }}}})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		if before > 0 {
			if err := submit(before).Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		for range 3 {
			submit(2)
		}
		handler := statuspage.Handler(p, statuspage.WithForecast(w, another),
			statuspage.WithPolicy("fair", func() (sojourn.Policy, error) { return fair.New(fair.Options{}) }))
		f(t, func(path string) string {
			r := httptest.NewRecorder()
			handler.ServeHTTP(r, httptest.NewRequest("GET", path, nil))
			return r.Body.String()
		})
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// At 1,006 s, the jobs finish at 1,010, 1,020 and 1,030 s. With a second slot, the second runs from 1,006 s on. Under fair, the second and the third take
// turns. A job that comes now changes nothing under fifo, and takes every third turn under fair.
func TestWhatIf(t *testing.T) {
	foreseen(t, 200, func(t *testing.T, ask func(path string) string) {
		time.Sleep(6 * time.Second)
		for _, c := range []struct {
			query, says string
			later       float64 // on average
			rows        string  // mean time until the end
			finish      []float64
		}{
			{"slots=1", "with 1 slot more", -5, "with 1 slot more: 14 s, 9 s (▼ 36 %)", []float64{1010, 1015, 1020}},
			{"policy=fair", "under fair", 1.7, "under fair: 14 s, 15 s (▲ 12 %)", []float64{1010, 1025, 1030}},
			{"tasks=2&each=5s", "with one more job of 2 tasks of 5s", 0, "with one more job of 2 tasks of 5s: 14 s, 14 s (same)", []float64{1010, 1020, 1030}},
			{"tasks=1&each=5s&policy=fair", "under fair, with one more job of 1 task of 5s", 5, "under fair, with one more job of 1 task of 5s, all together: 14 s, 15 s (▲ 12 %), 14 s (same), 19 s (▲ 36 %)", []float64{1010, 1030, 1035}},
			{"slots=-1", "the cluster has 1 slot of that class, and one must stay", 0, "", nil},
			{"slots=0&tasks=0&each=60s&policy=", "", 0, "", nil},
		} {
			html := ask("/?state=all&" + c.query)
			if got := comparison(html); got != c.rows || c.rows == "" && !strings.Contains(html, c.says) {
				t.Errorf("%s: the page compares %q, want %q, and says\n%s", c.query, got, c.rows, html)
			}
			var pg statuspage.Page
			if err := json.Unmarshal([]byte(ask("/status.json?"+c.query)), &pg); err != nil {
				t.Fatal(err)
			}
			var finish []float64
			for _, j := range pg.Jobs {
				if j.Otherwise != nil {
					finish = append(finish, j.Otherwise.Median)
				}
			}
			if q := pg.WhatIf; q != nil && q.Error == "" && (q.String() != c.says || math.Abs(*q.Later-c.later) > 0.05) {
				t.Errorf("%s: %g s later %s, want %g s later %s", c.query, *q.Later, q, c.later, c.says)
			}
			if c.finish != nil && !slices.Equal(finish, c.finish) || c.finish == nil && len(finish) > 1 {
				t.Errorf("%s: jobs finish at %v, want %v", c.query, finish, c.finish)
			}
		}
		for query, want := range map[string]string{
			"slots=x":         `slots="x": want a number from -10000 to 10000`,
			"slots=10001":     `slots="10001": want`,
			"tasks=-1":        `tasks="-1": want a number from 0 to 20000`,
			"tasks=1":         `each="": want how long each task of the job takes`,
			"tasks=1&each=0s": `each="0s": want`,
			"each=1001h":      `each="1001h": want`,
			"policy=<b>":      `policy="<b>": want one of ["fair"], or none`,
		} {
			query = strings.ReplaceAll(query, "<b>", "%3Cb%3E")
			if got := ask("/status.json?" + query); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q, want %q", query, got, want)
			}
			if got := ask("/?" + query); !strings.Contains(got, template.HTMLEscapeString(want)) || !strings.Contains(got, "<h1") {
				t.Errorf("%s: want a page with %q:\n%s", query, want, got)
			}
		}
	})
}

// comparison returns the heads of the columns of a page's comparison, and the first row.
func comparison(html string) string {
	_, table, ok := strings.Cut(html, `<table id="compared">`)
	if !ok {
		return ""
	}
	table, _, _ = strings.Cut(table, "</table>")
	cells := func(row, tag string) (list []string) {
		for _, part := range strings.Split(row, tag)[1:] {
			text, _, _ := strings.Cut(part, "<")
			list = append(list, text)
		}
		return list
	}
	rows := strings.Split(table, "<tr>")
	return strings.Join(cells(rows[1], `<th class="number">`)[1:], ", ") + ": " + strings.Join(cells(rows[2], `<td class="number">`), ", ")
}
