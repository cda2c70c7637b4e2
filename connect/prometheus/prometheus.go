// Package prometheus shows what a pool of package live does to Prometheus. Use it to see whether work piles up, how long
// it waits, and whether somebody is forgotten.
//
//	metrics := prometheus.New()
//	pool, err := live.New(policy, live.Options{Observer: metrics})
//	registry.MustRegister(metrics)
//
// Tier: kit.
//
// For several pools in one registry, wrap it with a label for each:
//
//	client.WrapRegistererWith(client.Labels{"pool": "builds"}, registry).MustRegister(metrics)
package prometheus

import (
	"errors"
	"strings"
	"sync"

	client "github.com/prometheus/client_golang/prometheus"

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
//	jobs_late_total           jobs that ended after their deadline
//	task_stops_total          attempts whose context the pool ended
//	job_sojourn_seconds       from the submission of a job to its end, by result: ok or failed
//	task_wait_seconds         from the submission of a job to the start of the first attempt at each of its tasks
//	task_run_seconds          attempts, by result: ok or failed
//	task_run_estimate_ratio   the time of attempts that ended well, divided by the submitter's estimate, if there was one
//	decision_seconds          how long the policy takes to say what starts and what stops
//	pool_running_tasks        running_tasks, by pool of the jobs
//	pool_wait_seconds         task_wait_seconds, by pool of the jobs
//
// The first 100 pools have labels of their own, and the others together are pool="(others)"; names are cut after 100 bytes
// (TestManyPools). dashboard.json is a dashboard of all this for Grafana, and alerts.yaml has rules for Prometheus (TestDashboard).
//
// [live.Gauges] has the formula of the share error. Jobs that a durable pool goes on with are counted among live jobs from
// [live.New] on.
type Metrics struct {
	now live.Tally

	jobs         *client.CounterVec
	stops, late  client.Counter
	sojourn, run *client.HistogramVec

	wait, estimate, decision client.Histogram

	mu       sync.Mutex
	pools    map[string]bool // that have labels of their own
	poolRuns *client.GaugeVec
	poolWait *client.HistogramVec
}

// The pools that have labels of their own, and the bytes of a name that are shown.
const (
	maxPools = 100
	maxName  = 100
)

// label returns the label of a pool.
func (m *Metrics) label(pool string) string {
	pool = strings.ToValidUTF8(pool[:min(len(pool), maxName)], "\uFFFD")
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.pools[pool] {
		if len(m.pools) >= maxPools {
			return "(others)"
		}
		m.pools[pool] = true
	}
	return pool
}

var (
	_ live.Observer    = (*Metrics)(nil)
	_ client.Collector = (*Metrics)(nil)

	jobsDesc       = client.NewDesc("sojourn_jobs", "Live jobs.", nil, nil)
	queuedDesc     = client.NewDesc("sojourn_queued_tasks", "Tasks that wait.", nil, nil)
	runningDesc    = client.NewDesc("sojourn_running_tasks", "Attempts that run.", nil, nil)
	ignoringDesc   = client.NewDesc("sojourn_ignoring_attempts", "Attempts that ignore that their contexts have ended.", nil, nil)
	brokenDesc     = client.NewDesc("sojourn_broken", "1 if the pool is broken.", nil, nil)
	starvationDesc = client.NewDesc("sojourn_starvation_seconds", "Longest time since a live job of which nothing runs was submitted or last ran.", nil, nil)
	shareDesc      = client.NewDesc("sojourn_share_error_ratio", "Part of the busy slots that max-min fair sharing would give to others.", []string{"among"}, nil)
)

// New returns metrics for one pool.
func New() *Metrics {
	seconds := client.ExponentialBuckets(0.001, 4, 13) // to 4.7 hours
	histogram := func(name, help string, buckets []float64) client.HistogramOpts {
		return client.HistogramOpts{Name: "sojourn_" + name, Help: help, Buckets: buckets}
	}
	return &Metrics{
		jobs:     client.NewCounterVec(client.CounterOpts{Name: "sojourn_jobs_total", Help: "Jobs that have ended or were refused."}, []string{"result"}),
		late:     client.NewCounter(client.CounterOpts{Name: "sojourn_jobs_late_total", Help: "Jobs that ended after their deadline."}),
		pools:    map[string]bool{},
		poolRuns: client.NewGaugeVec(client.GaugeOpts{Name: "sojourn_pool_running_tasks", Help: "Attempts that run, by pool of the jobs."}, []string{"pool"}),
		poolWait: client.NewHistogramVec(histogram("pool_wait_seconds", "From the submission of a job to the start of the first attempt at a task, by pool.", seconds), []string{"pool"}),
		stops:    client.NewCounter(client.CounterOpts{Name: "sojourn_task_stops_total", Help: "Attempts whose context the pool ended."}),
		sojourn:  client.NewHistogramVec(histogram("job_sojourn_seconds", "From the submission of a job to its end.", seconds), []string{"result"}),
		run:      client.NewHistogramVec(histogram("task_run_seconds", "Time of an attempt.", seconds), []string{"result"}),
		wait:     client.NewHistogram(histogram("task_wait_seconds", "From the submission of a job to the start of the first attempt at a task.", seconds)),
		estimate: client.NewHistogram(histogram("task_run_estimate_ratio", "Time of an attempt that ended well, divided by its estimate.", client.ExponentialBuckets(0.0625, 2, 9))),
		decision: client.NewHistogram(histogram("decision_seconds", "Time that the policy takes to decide.", client.ExponentialBuckets(1e-7, 4, 12))),
	}
}

func result(err error) string {
	if err != nil {
		return "failed"
	}
	return "ok"
}

// Note implements [live.Observer].
func (m *Metrics) Note(n live.Note) {
	m.now.Note(n)
	switch n.Kind {
	case live.JobRefused:
		m.jobs.WithLabelValues("refused").Inc()
	case live.JobEnded:
		if errors.Is(n.Err, live.ErrSuspended) {
			return // it goes on in the next process
		}
		m.jobs.WithLabelValues(result(n.Err)).Inc()
		m.sojourn.WithLabelValues(result(n.Err)).Observe(n.Age.Seconds())
		if n.Job.Deadline > 0 && n.At > n.Job.Deadline {
			m.late.Inc()
		}
	case live.TaskStarted:
		pool := m.label(n.Job.Pool)
		m.poolRuns.WithLabelValues(pool).Inc()
		if n.Attempt == 1 {
			m.wait.Observe(n.Age.Seconds())
			m.poolWait.WithLabelValues(pool).Observe(n.Age.Seconds())
		}
	case live.TaskStopped:
		m.stops.Inc()
	case live.TaskEnded:
		m.poolRuns.WithLabelValues(m.label(n.Job.Pool)).Dec()
		m.run.WithLabelValues(result(n.Err)).Observe(n.Took.Seconds())
		if n.Err == nil && n.Estimate > 0 {
			m.estimate.Observe(n.Took.Seconds() / n.Estimate.Seconds())
		}
	case live.Decided:
		m.decision.Observe(n.Took.Seconds())
	}
}

// Describe implements [client.Collector].
func (m *Metrics) Describe(to chan<- *client.Desc) {
	for _, d := range []*client.Desc{jobsDesc, queuedDesc, runningDesc, ignoringDesc, brokenDesc, starvationDesc, shareDesc} {
		to <- d
	}
	for _, c := range m.all() {
		c.Describe(to)
	}
}

// Collect implements [client.Collector].
func (m *Metrics) Collect(to chan<- client.Metric) {
	now := m.now.Read()
	gauge := func(d *client.Desc, v float64, labels ...string) {
		to <- client.MustNewConstMetric(d, client.GaugeValue, v, labels...)
	}
	gauge(jobsDesc, float64(now.Jobs))
	gauge(queuedDesc, float64(now.Queued))
	gauge(runningDesc, float64(now.Running))
	gauge(ignoringDesc, float64(now.Ignoring))
	broken := 0.0
	if now.Broken {
		broken = 1
	}
	gauge(brokenDesc, broken)
	gauge(starvationDesc, now.Starvation.Seconds())
	gauge(shareDesc, now.JobShareError, "jobs")
	gauge(shareDesc, now.PoolShareError, "pools")
	for _, c := range m.all() {
		c.Collect(to)
	}
}

func (m *Metrics) all() []client.Collector {
	return []client.Collector{m.jobs, m.late, m.stops, m.sojourn, m.run, m.wait, m.estimate, m.decision, m.poolRuns, m.poolWait}
}
