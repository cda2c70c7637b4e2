package statuspage_test

import (
	"context"
	"encoding/json"
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
		want := statuspage.Page{Now: 3, Live: 3, Late: 0, Ignoring: []string{}, Jobs: []statuspage.Job{
			{ID: 1, Name: "first", Age: 3, Tasks: 2, Running: 1, Why: "waits for a slot"},
			{ID: 2, Name: "<script>", Pool: "web", Age: 2, Deadline: &two, Tasks: 2, Why: "waits for a slot"},
		}, Slots: []statuspage.Slot{{Task: "1/0/0", Job: 1, Attempt: 1}}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got\n%+v\nwant\n%+v", got, want)
		}
		time.Sleep(time.Second)
		if pg := statuspage.Take(p, 100); pg.Late != 1 || !pg.Jobs[1].Late || pg.Jobs[0].Late || pg.Jobs[2].Late || len(pg.Jobs) != 3 {
			t.Errorf("after the deadline of job 2: %+v", pg)
		}
	})
}

// The page has the same, and names of jobs are no markup.
func TestPage(t *testing.T) {
	inPool(t, func(t *testing.T, p *live.Pool) {
		time.Sleep(time.Second)
		w := get(p, "GET", "/")
		for _, want := range []string{"3 live jobs, 1 late", "&lt;script&gt;", `<tr id="job2" class="late">`, `<a href="#job1">1/0/0</a>`,
			"<summary>waits for a slot</summary>", `href="status.json"`} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("the page lacks %s:\n%s", want, w.Body)
			}
		}
		if strings.Contains(w.Body.String(), "<script>") {
			t.Error("the name of a job is markup")
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
			{"GET", "/?jobs=0", 200}, {"GET", "/?jobs=-1", 400}, {"GET", "/status.json?jobs=all", 400},
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
		if html := ask("/"); !strings.Contains(html, "There is no forecast: nothing is known of what the tasks of 3 phases take") || strings.Contains(html, "Finishes in") {
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
		if html := ask("/"); !strings.Contains(html, `<td class="number">4.0<td class="number">14.0 to 14.7<td class="why">`) || !strings.Contains(html, `<td class="number"><td class="number">4.0<td class="why">`) {
			t.Errorf("at 1,006 s the page is\n%s", html)
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
			finish      []float64
		}{
			{"slots=1", "Live jobs finish 5.0 s earlier on average with 1 slot more.", []float64{1010, 1015, 1020}},
			{"policy=fair", "Live jobs finish 1.7 s later on average under fair.", []float64{1010, 1025, 1030}},
			{"tasks=2&each=5s", "Live jobs finish as soon on average with one more job of 2 tasks of 5s.", []float64{1010, 1020, 1030}},
			{"tasks=1&each=5s&policy=fair", "Live jobs finish 5.0 s later on average under fair, with one more job of 1 task of 5s.", []float64{1010, 1030, 1035}},
			{"slots=-1", "There is no forecast with 1 slot fewer: the cluster has 1 slot of that class, and one must stay", nil},
			{"slots=0&tasks=0&each=60s&policy=", "", nil},
		} {
			html := ask("/?" + c.query)
			if got := strings.Contains(html, `<p id="whatif">`); got != (c.says != "") || !strings.Contains(html, c.says) {
				t.Errorf("%s: the page is\n%s\nwant %q", c.query, html, c.says)
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
			for _, path := range []string{"/?", "/status.json?"} {
				if got := ask(path + strings.ReplaceAll(query, "<b>", "%3Cb%3E")); !strings.HasPrefix(got, want) {
					t.Errorf("%s%s: %q, want %q", path, query, got, want)
				}
			}
		}
	})
}
