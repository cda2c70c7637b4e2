package otel_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdk "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/otel"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/live"
)

// collect returns what an exporter gets: each value with its name, its attributes and its unit.
func collect(t *testing.T, reader sdk.Reader) map[string]float64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			key := func(attrs attribute.Set) string {
				return strings.TrimSuffix(fmt.Sprint(m.Name, " ", m.Unit, " ", attrs.Encoded(attribute.DefaultEncoder())), " ")
			}
			switch data := m.Data.(type) {
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					got[key(p.Attributes)] = p.Value
				}
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					got[key(p.Attributes)] = float64(p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					got[key(p.Attributes)] = p.Sum
					got[key(p.Attributes)+" count"] = float64(p.Count)
				}
			default:
				t.Errorf("%s has %T", m.Name, m.Data)
			}
		}
	}
	return got
}

func want(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for name, v := range want {
		if g, ok := got[name]; g != v || !ok {
			t.Errorf("%s is %v, %v, want %v", name, g, ok, v)
		}
	}
}

// One slot, a job of two tasks of 10 s of which the second fails once, and a job that waits behind it and is cancelled.
func TestMetrics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		policy, err := fifo.New(fifo.Options{})
		if err != nil {
			t.Fatal(err)
		}
		reader := sdk.NewManualReader()
		metrics, err := otel.New(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("builds"))
		if err != nil {
			t.Fatal(err)
		}
		pool, err := live.New(policy, live.Options{Slots: 1, Observer: metrics, Retry: live.Retry{Attempts: 2}})
		if err != nil {
			t.Fatal(err)
		}
		submit := func(tasks int, group string) *live.Handle {
			h, err := pool.Submit(t.Context(), live.Job{Pool: group, Phases: []live.Phase{{Tasks: tasks, Estimate: 5 * time.Second, Run: func(ctx context.Context, task live.Task) error {
				select {
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(10 * time.Second):
				}
				if task.Index == 1 && task.Attempt == 1 {
					return errors.New("once")
				}
				return nil
			}}}})
			if err != nil {
				t.Fatal(err)
			}
			return h
		}
		first, second := submit(2, "a"), submit(3, "b")
		time.Sleep(5 * time.Second)
		want(t, collect(t, reader), map[string]float64{
			"sojourn_jobs {job}":                      2,
			"sojourn_queued_tasks {task}":             4,
			"sojourn_running_tasks {attempt}":         1,
			"sojourn_starvation_seconds s":            5,
			"sojourn_share_error_ratio 1 among=jobs":  0.5,
			"sojourn_share_error_ratio 1 among=pools": 0.5,
			"sojourn_task_wait_seconds s count":       1,
		})
		if err := first.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		time.Sleep(4 * time.Second)
		second.Cancel()
		if err := second.Wait(t.Context()); !errors.Is(err, live.ErrCancelled) {
			t.Error(err)
		}
		if err := pool.Close(t.Context()); err != nil {
			t.Error(err)
		}
		got := collect(t, reader)
		want(t, got, map[string]float64{
			"sojourn_jobs {job}":                          0,
			"sojourn_queued_tasks {task}":                 0,
			"sojourn_running_tasks {attempt}":             0,
			"sojourn_starvation_seconds s":                0,
			"sojourn_share_error_ratio 1 among=jobs":      0,
			"sojourn_jobs_total {job} result=ok":          1,
			"sojourn_jobs_total {job} result=failed":      1,
			"sojourn_task_stops_total {attempt}":          1,
			"sojourn_job_sojourn_seconds s result=ok":     30,
			"sojourn_job_sojourn_seconds s result=failed": 34,
			"sojourn_task_run_seconds s result=ok":        20,
			"sojourn_task_run_seconds s result=ok count":  2,
			"sojourn_task_run_seconds s result=failed":    14,
			"sojourn_task_wait_seconds s":                 40,
			"sojourn_task_wait_seconds s count":           3,
			"sojourn_task_run_estimate_ratio 1":           4,
			"sojourn_task_run_estimate_ratio 1 count":     2,
		})
		if got["sojourn_decision_seconds s count"] == 0 {
			t.Error("no decision was seen")
		}
		if err := metrics.Close(); err != nil {
			t.Error(err)
		}
		if v, ok := collect(t, reader)["sojourn_jobs {job}"]; ok {
			t.Errorf("a gauge of %v after Close", v)
		}
	})
}

// What a pool tells after a restart, of attempts that ignore their contexts, and when its store fails.
func TestTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdk.NewManualReader()
		metrics, err := otel.New(sdk.NewMeterProvider(sdk.WithReader(reader)).Meter("builds"))
		if err != nil {
			t.Fatal(err)
		}
		job := &sojourn.Job{ID: 4, Phases: []sojourn.Phase{{Tasks: 5}, {Tasks: 2}}}
		metrics.Note(live.Note{Kind: live.JobResumed, Job: job, Done: []int{3, 0}, Took: time.Minute})
		for range 2 {
			metrics.Note(live.Note{Kind: live.TaskIgnores, Job: job})
		}
		metrics.Note(live.Note{Kind: live.TaskReturned, Job: job})
		want(t, collect(t, reader), map[string]float64{"sojourn_jobs {job}": 1, "sojourn_queued_tasks {task}": 4, "sojourn_starvation_seconds s": 60,
			"sojourn_ignoring_attempts {attempt}": 1, "sojourn_broken 1": 0})
		other := &sojourn.Job{ID: 5, Phases: []sojourn.Phase{{Tasks: 1}}}
		metrics.Note(live.Note{Kind: live.JobResumed, Job: other, Done: []int{0}})
		metrics.Note(live.Note{Kind: live.JobEnded, Job: other, Err: live.ErrSuspended})
		for name, v := range collect(t, reader) {
			if v != 0 && (strings.HasPrefix(name, "sojourn_jobs_total") || strings.HasPrefix(name, "sojourn_job_sojourn")) {
				t.Errorf("%s is %v after a job that goes on in the next process", name, v)
			}
		}
		metrics.Note(live.Note{Kind: live.PoolBroken, Err: errors.New("why")})
		metrics.Note(live.Note{Kind: live.JobEnded, Job: job, Err: errors.New("why")})
		want(t, collect(t, reader), map[string]float64{"sojourn_jobs {job}": 0, "sojourn_queued_tasks {task}": 0, "sojourn_broken 1": 1})
		if err := metrics.Close(); err != nil {
			t.Error(err)
		}
	})
}
