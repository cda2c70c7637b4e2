package prometheus_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/sojourn-sched/sojourn/connect/prometheus"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/journal"
	"github.com/sojourn-sched/sojourn/live"
)

// scrape returns the lines that a server of Prometheus gets.
func scrape(t *testing.T, registry *client.Registry) map[string]string {
	t.Helper()
	w := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	lines := map[string]string{}
	for line := range strings.Lines(w.Body.String()) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name != "#" {
			lines[name] = value
		}
	}
	return lines
}

func want(t *testing.T, got map[string]string, lines string) {
	t.Helper()
	for line := range strings.Lines(lines) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && got[name] != value {
			t.Errorf("%s is %q, want %s", name, got[name], value)
		}
	}
}

// One slot, a job of three tasks of 10 s of which the second fails once, and a job that waits behind it and fails.
func TestScrape(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		metrics := prometheus.New()
		registry := client.NewRegistry()
		registry.MustRegister(metrics)
		pool, err := live.New(policy, live.Options{Slots: 1, Observer: metrics, Retry: live.Retry{Attempts: 2, Backoff: 4 * time.Second}})
		if err != nil {
			t.Fatal(err)
		}
		submit := func(tasks int, run func(context.Context, live.Task) error) *live.Handle {
			h, err := pool.Submit(t.Context(), live.Job{Phases: []live.Phase{{Tasks: tasks, Run: run, Estimate: 5 * time.Second}}})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		first := submit(3, func(_ context.Context, task live.Task) error {
			time.Sleep(10 * time.Second)
			if task.Index == 1 && task.Attempt == 1 {
				return errors.New("once")
			}
			return nil
		})
		time.Sleep(5 * time.Second)
		want(t, scrape(t, registry), `
			sojourn_jobs 1
			sojourn_queued_tasks 2
			sojourn_starvation_seconds 0`)
		second := submit(2, func(context.Context, live.Task) error { return errors.New("always") })
		time.Sleep(10 * time.Second)
		want(t, scrape(t, registry), `
			sojourn_jobs 2
			sojourn_queued_tasks 3
			sojourn_running_tasks 1
			sojourn_share_error_ratio{among="jobs"} 0.5
			sojourn_share_error_ratio{among="pools"} 0
			sojourn_starvation_seconds 10
			sojourn_task_wait_seconds_count 2
			sojourn_task_wait_seconds_sum 10
			sojourn_task_run_seconds_sum{result="ok"} 10`)
		time.Sleep(10 * time.Second)
		want(t, scrape(t, registry), `
			sojourn_queued_tasks 3
			sojourn_running_tasks 1
			sojourn_starvation_seconds 20
			sojourn_task_run_seconds_sum{result="failed"} 10`)
		if err := first.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Second) // both tasks of the second job have failed once
		want(t, scrape(t, registry), `
			sojourn_queued_tasks 2
			sojourn_starvation_seconds 2`)
		if err := second.Wait(t.Context()); err == nil {
			t.Error("the second job did not fail")
		}
		if err := pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
		got := scrape(t, registry)
		want(t, got, `
			sojourn_jobs 0
			sojourn_queued_tasks 0
			sojourn_running_tasks 0
			sojourn_starvation_seconds 0
			sojourn_jobs_total{result="ok"} 1
			sojourn_jobs_total{result="failed"} 1
			sojourn_job_sojourn_seconds_sum{result="ok"} 40
			sojourn_job_sojourn_seconds_sum{result="failed"} 39
			sojourn_task_run_seconds_count{result="ok"} 3
			sojourn_task_run_seconds_sum{result="ok"} 30
			sojourn_task_wait_seconds_count 5
			sojourn_task_run_estimate_ratio_count 3
			sojourn_task_run_estimate_ratio_sum 6`)
		if got["sojourn_decision_seconds_count"] == "0" {
			t.Error("no decision was seen")
		}
		problems, err := testutil.GatherAndLint(registry)
		if err != nil || len(problems) > 0 {
			t.Errorf("problems %v, error %v", problems, err)
		}
	})
}

// The metrics of a process that goes on with the jobs of another one count them, and say that the pool is broken when its journal
// takes nothing more.
func TestRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		open := func(o live.Options) (*live.Pool, *journal.Journal) {
			store, err := journal.OpenFiles(dir)
			if err != nil {
				t.Fatal(err)
			}
			policy, err := fifo.New(fifo.Options{})
			if err != nil {
				t.Fatal(err)
			}
			j, err := journal.Open(store, policy, journal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			o.Slots, o.Handlers = 2, map[string]live.Handler{"h": func(ctx context.Context, _ live.Task, _ []byte) error {
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
				}
				return context.Cause(ctx)
			}}
			pool, err := live.New(j, o)
			if err != nil {
				t.Fatal(err)
			}
			return pool, j
		}
		before, was := prometheus.New(), client.NewRegistry()
		was.MustRegister(before)
		pool, j := open(live.Options{Observer: before})
		for _, tasks := range []int{5, 4} {
			if _, err := pool.Submit(t.Context(), live.Job{Handler: "h", Phases: []live.Phase{{Tasks: tasks}}}); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(90 * time.Second) // two tasks are done
		stop, cancel := context.WithCancel(t.Context())
		cancel()
		if err := pool.Suspend(stop); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		last := scrape(t, was)
		want(t, last, "sojourn_jobs 0")
		for name := range last {
			if strings.HasPrefix(name, "sojourn_jobs_total") || strings.HasPrefix(name, "sojourn_job_sojourn_seconds") {
				t.Errorf("%s: jobs that go on in the next process are said to have ended", name)
			}
		}

		metrics, registry := prometheus.New(), client.NewRegistry()
		registry.MustRegister(metrics)
		pool, j = open(live.Options{Observer: metrics})
		want(t, scrape(t, registry), `
			sojourn_jobs 2
			sojourn_queued_tasks 5
			sojourn_running_tasks 2
			sojourn_ignoring_attempts 0
			sojourn_broken 0
			sojourn_starvation_seconds 90
			sojourn_share_error_ratio{among="jobs"} 0.5`)
		if err := j.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Minute)
		want(t, scrape(t, registry), `
			sojourn_jobs 0
			sojourn_queued_tasks 0
			sojourn_running_tasks 0
			sojourn_broken 1
			sojourn_jobs_total{result="failed"} 2`)
		if err := pool.Close(t.Context()); !errors.Is(err, journal.ErrClosed) {
			t.Error(err)
		}
	})
}
