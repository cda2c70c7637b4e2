// Package otel shows what a pool of package live does to OpenTelemetry. Use it to see whether work piles up, how long it
// waits, and whether somebody is forgotten. The names are those of module connect/prometheus.
//
//	metrics, err := otel.New(provider.Meter("builds"))
//	pool, err := live.New(policy, live.Options{Observer: metrics})
//
// Tier: kit.
//
// [Traced] makes a span of each attempt at a job, linked to that of its Submit.
package otel

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/sojourn-sched/sojourn/live"
)

// Metrics are the metrics of one pool, all with the prefix "sojourn_".
//
//	jobs                      live jobs
//	queued_tasks              tasks that wait, those whose turn has not come included
//	running_tasks             attempts that run
//	ignoring_attempts         attempts that ignore that their contexts have ended
//	broken                    1 if the pool is broken ([live.Pool.Err]), 0 otherwise
//	starvation_seconds        the longest time since when a live job of which nothing runs was submitted or last ran
//	share_error_ratio         how much of the busy slots max-min fair sharing would give to others, among="jobs" or "pools"
//	jobs_total                jobs, by result: ok, failed or refused
//	task_stops_total          attempts whose context the pool ended
//	job_sojourn_seconds       from the submission of a job to its end, by result: ok or failed
//	task_wait_seconds         from the submission of a job to the start of the first attempt at each of its tasks
//	task_run_seconds          attempts, by result: ok or failed
//	task_run_estimate_ratio   the time of attempts that ended well, divided by the submitter's estimate, if there was one
//	decision_seconds          how long the policy takes to say what starts and what stops
//
// [live.Gauges] has the formula of the share error. Jobs that a durable pool goes on with are counted among live jobs from
// [live.New] on. Two pools need meters of different names.
type Metrics struct {
	now      live.Tally
	callback metric.Registration

	jobs, stops metric.Int64Counter

	sojourn, run, wait, estimate, decision metric.Float64Histogram
}

var _ live.Observer = (*Metrics)(nil)

// New returns metrics for one pool. The error is that of the meter.
func New(meter metric.Meter) (*Metrics, error) {
	m := new(Metrics)
	var failed error
	keep := func(err error) { failed = errors.Join(failed, err) }
	counter := func(name, unit, help string) metric.Int64Counter {
		c, err := meter.Int64Counter("sojourn_"+name, metric.WithUnit(unit), metric.WithDescription(help))
		keep(err)
		return c
	}
	histogram := func(name, unit, help string, least, factor float64, n int) metric.Float64Histogram {
		bounds := make([]float64, n)
		for i := range bounds {
			bounds[i], least = least, least*factor
		}
		h, err := meter.Float64Histogram("sojourn_"+name, metric.WithUnit(unit), metric.WithDescription(help), metric.WithExplicitBucketBoundaries(bounds...))
		keep(err)
		return h
	}
	m.jobs = counter("jobs_total", "{job}", "Jobs that have ended or were refused.")
	m.stops = counter("task_stops_total", "{attempt}", "Attempts whose context the pool ended.")
	m.sojourn = histogram("job_sojourn_seconds", "s", "From the submission of a job to its end.", 0.001, 4, 13) // to 4.7 hours
	m.run = histogram("task_run_seconds", "s", "Time of an attempt.", 0.001, 4, 13)
	m.wait = histogram("task_wait_seconds", "s", "From the submission of a job to the start of the first attempt at a task.", 0.001, 4, 13)
	m.estimate = histogram("task_run_estimate_ratio", "1", "Time of an attempt that ended well, divided by its estimate.", 0.0625, 2, 9)
	m.decision = histogram("decision_seconds", "s", "Time that the policy takes to decide.", 1e-7, 4, 12)
	keep(m.watch(meter))
	if failed != nil {
		return nil, failed
	}
	return m, nil
}

// watch registers what is read when somebody collects.
func (m *Metrics) watch(meter metric.Meter) error {
	var failed error
	var all []metric.Observable
	gauge := func(name, unit, help string) metric.Float64ObservableGauge {
		g, err := meter.Float64ObservableGauge("sojourn_"+name, metric.WithUnit(unit), metric.WithDescription(help))
		failed = errors.Join(failed, err)
		all = append(all, g)
		return g
	}
	jobs := gauge("jobs", "{job}", "Live jobs.")
	queued := gauge("queued_tasks", "{task}", "Tasks that wait.")
	running := gauge("running_tasks", "{attempt}", "Attempts that run.")
	ignoring := gauge("ignoring_attempts", "{attempt}", "Attempts that ignore that their contexts have ended.")
	brokenPool := gauge("broken", "1", "1 if the pool is broken.")
	starvation := gauge("starvation_seconds", "s", "Longest time since a live job of which nothing runs was submitted or last ran.")
	share := gauge("share_error_ratio", "1", "Part of the busy slots that max-min fair sharing would give to others.")
	if failed != nil {
		return failed
	}
	among := func(what string) metric.ObserveOption { return metric.WithAttributes(attribute.String("among", what)) }
	amongJobs, amongPools := among("jobs"), among("pools")
	var err error
	m.callback, err = meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		now := m.now.Read()
		o.ObserveFloat64(jobs, float64(now.Jobs))
		o.ObserveFloat64(queued, float64(now.Queued))
		o.ObserveFloat64(running, float64(now.Running))
		o.ObserveFloat64(ignoring, float64(now.Ignoring))
		broken := 0.0
		if now.Broken {
			broken = 1
		}
		o.ObserveFloat64(brokenPool, broken)
		o.ObserveFloat64(starvation, now.Starvation.Seconds())
		o.ObserveFloat64(share, now.JobShareError, amongJobs)
		o.ObserveFloat64(share, now.PoolShareError, amongPools)
		return nil
	}, all...)
	return err
}

// Close ends the gauges, for a pool that is closed. Histograms and counters remain.
func (m *Metrics) Close() error { return m.callback.Unregister() }

var (
	ok      = result("ok")
	failed  = result("failed")
	refused = result("refused")
)

func result(s string) metric.MeasurementOption {
	return metric.WithAttributeSet(attribute.NewSet(attribute.String("result", s)))
}

func resultOf(err error) metric.MeasurementOption {
	if err != nil {
		return failed
	}
	return ok
}

// Note implements [live.Observer].
func (m *Metrics) Note(n live.Note) {
	m.now.Note(n)
	ctx := context.Background()
	switch n.Kind {
	case live.JobRefused:
		m.jobs.Add(ctx, 1, refused)
	case live.JobEnded:
		if errors.Is(n.Err, live.ErrSuspended) {
			return // it goes on in the next process
		}
		m.jobs.Add(ctx, 1, resultOf(n.Err))
		m.sojourn.Record(ctx, n.Age.Seconds(), resultOf(n.Err))
	case live.TaskStarted:
		if n.Attempt == 1 {
			m.wait.Record(ctx, n.Age.Seconds())
		}
	case live.TaskStopped:
		m.stops.Add(ctx, 1)
	case live.TaskEnded:
		m.run.Record(ctx, n.Took.Seconds(), resultOf(n.Err))
		if n.Err == nil && n.Estimate > 0 {
			m.estimate.Record(ctx, n.Took.Seconds()/n.Estimate.Seconds())
		}
	case live.Decided:
		m.decision.Record(ctx, n.Took.Seconds())
	}
}
