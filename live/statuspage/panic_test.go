package statuspage_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/forecast"
	"github.com/sojourn-sched/sojourn/leastwork"
	"github.com/sojourn-sched/sojourn/live"
	"github.com/sojourn-sched/sojourn/live/statuspage"
)

// A policy that panics in a forecast ends neither the program nor its jobs: the page says so, and goes on.
func TestForecastThatPanics(t *testing.T) {
	newPolicy := func() (sojourn.Policy, error) { return leastwork.New(leastwork.Options{}) }
	synctest.Test(t, func(t *testing.T) {
		policy, err := newPolicy()
		if err != nil {
			t.Fatal(err)
		}
		w := forecast.New(policy)
		p, err := live.New(w, live.Options{Slots: 1})
		if err != nil {
			t.Fatal(err)
		}
		h, err := p.Submit(t.Context(), live.Job{Phases: []live.Phase{{Tasks: 3, Estimate: time.Minute, Run: lasts(time.Hour)}}})
		if err != nil {
			t.Fatal(err)
		}
		page := statuspage.Handler(p, statuspage.WithRecorder(nil), statuspage.WithForecast(w, newPolicy),
			statuspage.WithPolicy("bad", func() (sojourn.Policy, error) { panic("of a visitor's question") }))
		ask(page, "/?policy=bad")
		time.Sleep(time.Minute)
		if w := ask(page, "/?policy=bad"); w.Code != 200 || !strings.Contains(w.Body.String(), "panicked: of a visitor") {
			t.Errorf("%d: the page does not say what happened:\n%s", w.Code, w.Body)
		}
		h.Cancel()
		if err := p.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
