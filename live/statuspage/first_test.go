package statuspage_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// If more tasks wait than a forecast looks at, it is of the jobs that are served first, and the page, the answer to what if, and the JSON say
// so.
func TestForecastOfTheFirst(t *testing.T) {
	inOrder := func() (sojourn.Policy, error) { return fifo.New(fifo.Options{}) }
	shared := func() (sojourn.Policy, error) {
		return fair.New(fair.Options{Pools: map[string]fair.Pool{"web": {Weight: 3}, "etl": {Weight: 2}, "research": {Weight: 1}}})
	}
	for _, tc := range []struct {
		name        string
		another     func() (sojourn.Policy, error)
		jobs, tasks int
		first       string
		whatIf      []string
	}{
		{"5,000 jobs of 5 tasks", inOrder, 5_000, 5, "Ends are those of the first 2,000 of 5,000 jobs, in the order in which they will be served. The others are left out: where one of them overtakes, an end is later.", []string{"web, jobs that are served first", ", of 5,000. Times are of the 2,000 that all columns have"}},
		{"a job of 50,000 tasks", shared, 1, 50_000, "The forecast looks at the first 20,000 of 50,000 tasks. Ends behind them follow from how fast a job went until then.", []string{"mean time until a job ends", "Of 1 live job in 20 draws"}},
		{"three jobs", shared, 3, 10, "", []string{"Of 3 live jobs in 20 draws"}},
		{"3,000 jobs of 20 tasks", shared, 3000, 20, "The forecast looks at 20,000 tasks, and none of the 3,000 jobs ends before these have started.", []string{"etl, jobs that are served first"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			policy, err := tc.another()
			if err != nil {
				t.Fatal(err)
			}
			w, r := forecast.New(policy), statuspage.NewRecorder()
			p, err := live.New(w, live.Options{Slots: 8, Observer: r})
			if err != nil {
				t.Fatal(err)
			}
			h := statuspage.Handler(p, statuspage.WithRecorder(r), statuspage.WithForecast(w, tc.another))
			ctx, stop := context.WithCancel(t.Context())
			defer func() {
				stop()
				_ = p.Close(ctx)
			}()
			for i := range tc.jobs {
				j := live.Job{Name: "job", Pool: []string{"web", "etl", "research"}[i%3], Phases: []live.Phase{{Tasks: tc.tasks, Estimate: time.Minute, Run: func(ctx context.Context, _ live.Task) error { <-ctx.Done(); return nil }}}}
				if _, err := p.Submit(ctx, j); err != nil {
					t.Fatal(err)
				}
			}
			until := func(path, want string) (body string) {
				for range 3000 {
					if body = ask(h, path).Body.String(); strings.Contains(body, want) {
						return body
					}
					time.Sleep(100 * time.Millisecond)
				}
				t.Fatalf("%s lacks %q:\n%s", path, want, body)
				return ""
			}
			want := tc.first
			if want == "" {
				want = `data-label="will end"><time`
			}
			body := until("/?state=all", want)
			if got := strings.Contains(body, `id="firsts"`); got != (tc.first != "") || strings.Contains(body, "There is no forecast") {
				t.Errorf("the page says that others are left out: %v", got)
			}
			body = until("/?slots=8", `id="compared"`)
			for _, want := range tc.whatIf {
				if !strings.Contains(body, want) {
					t.Errorf("the answer lacks %q:\n%s", want, body[strings.Index(body, `id="compared"`):])
				}
			}
			body = until("/status.json", `"forecast":true`)
			var got struct {
				Forecast bool  `json:"forecast"`
				Live     int   `json:"live_jobs"`
				Foreseen int   `json:"foreseen_jobs"`
				Jobs     []any `json:"jobs"`
			}
			if err := json.Unmarshal([]byte(body), &got); err != nil || !got.Forecast || (got.Foreseen == 2000) != (tc.jobs == 5_000) || got.Foreseen > 2000 || got.Live != tc.jobs {
				t.Errorf("JSON says %d of %d jobs, %v, %v", got.Foreseen, got.Live, got.Forecast, err)
			}
		})
	}
}
