package kubernetes

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sojourn-sched/sojourn"
)

// stuck is how long the loop may be at work without a pause until /healthz says that it hangs.
const stuck = time.Minute

// A Pulse tells whether a loop is alive: it works for a while, and then waits. The zero Pulse waits.
type Pulse struct {
	mu    sync.Mutex
	since time.Time // when it began to work; zero while it waits
}

// Work notes that the loop begins to work, and Wait that it waits.
func (p *Pulse) Work() { p.set(time.Now()) }

// Wait notes that the loop waits.
func (p *Pulse) Wait() { p.set(time.Time{}) }

func (p *Pulse) set(t time.Time) {
	p.mu.Lock()
	p.since = t
	p.mu.Unlock()
}

// ServeHTTP answers /healthz: 503 if the loop has been at work for more than a minute (TestLiveness).
func (p *Pulse) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	since := p.since
	p.mu.Unlock()
	if at := time.Since(since); !since.IsZero() && at > stuck {
		http.Error(w, fmt.Sprintf("the loop has been at work for %v", at.Round(time.Second)), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}

// bounds are the buckets of histograms, in seconds.
var bounds = [...]float64{0.01, 0.1, 1, 10, 60, 600, 3600, 6 * 3600}

// A histogram counts durations. It is for one goroutine at a time.
type histogram struct {
	counts [len(bounds) + 1]int64
	sum    float64
}

func (h *histogram) add(d time.Duration) {
	i, _ := slices.BinarySearch(bounds[:], d.Seconds())
	h.counts[i]++
	h.sum += d.Seconds()
}

// write writes a histogram, with labels such as {pool="a"}, or none.
func (h *histogram) write(w io.Writer, name, labels string) {
	sum, more := int64(0), strings.TrimSuffix(labels, "}")
	if more == "" {
		more = "{"
	} else {
		more += ","
	}
	for i, n := range h.counts {
		sum += n
		le := "+Inf"
		if i < len(bounds) {
			le = fmt.Sprintf("%g", bounds[i])
		}
		fmt.Fprintf(w, "sojourn_%s_bucket%sle=%q} %d\n", name, more, le, sum)
	}
	fmt.Fprintf(w, "sojourn_%s_sum%s %g\nsojourn_%s_count%s %d\n", name, labels, h.sum, name, labels, sum)
}

// maxPools is of how many pools the metrics tell; all others are one, which has no name.
const maxPools = 1000

// labelOf returns the labels of a pool.
func labelOf(pool string) string {
	return `{pool="` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(pool) + `"}`
}

// waited notes that a pod that waits gets a place.
func (c *workload) waited(p *pod, j *job) {
	if c.waits[j.spec.Pool] == nil && len(c.waits) >= maxPools {
		c.histogramOf("").add(c.driver.Now().Sub(p.since))
		return
	}
	c.histogramOf(j.spec.Pool).add(c.driver.Now().Sub(p.since))
}

func (c *workload) histogramOf(pool string) *histogram {
	h := c.waits[pool]
	if h == nil {
		h = &histogram{}
		c.waits[pool] = h
	}
	return h
}

// A queueOf is the pods of a pool that wait.
type queueOf struct {
	pods   int
	oldest sojourn.Time
}

// and returns the pods of both.
func (q queueOf) and(r queueOf) queueOf {
	if q.pods == 0 || r.oldest < q.oldest {
		q.oldest = r.oldest
	}
	q.pods += r.pods
	return q
}

// queues returns the pods that wait, by pool, of the first ones by name if there are many.
func (c *workload) queues() map[string]queueOf {
	all := map[string]queueOf{}
	for _, p := range c.pods { // sums and minima only
		if j := c.jobOf(p); p.state == waiting && j != nil {
			all[j.spec.Pool] = all[j.spec.Pool].and(queueOf{1, p.since})
		}
	}
	for i, pool := range slices.Sorted(maps.Keys(all)) {
		if i >= maxPools {
			all[""] = all[""].and(all[pool])
			delete(all, pool)
		}
	}
	return all
}

// writePools writes what the loop knows of the pools.
func (c *workload) writePools(w io.Writer) {
	now, queues := c.driver.Time(), c.queues()
	pools := slices.Sorted(maps.Keys(queues))
	head(w, "waiting_pods", "gauge", "Pods that wait for a place, by pool.")
	for _, pool := range pools {
		fmt.Fprintf(w, "sojourn_waiting_pods%s %d\n", labelOf(pool), queues[pool].pods)
	}
	head(w, "longest_wait_seconds", "gauge", "How long the pod has waited that waits for longest, by pool.")
	for _, pool := range pools {
		fmt.Fprintf(w, "sojourn_longest_wait_seconds%s %g\n", labelOf(pool), now.Sub(queues[pool].oldest).Seconds())
	}
	head(w, "wait_seconds", "histogram", "How long pods have waited for a place, by pool.")
	for _, pool := range slices.Sorted(maps.Keys(c.waits)) {
		c.waits[pool].write(w, "wait_seconds", labelOf(pool))
	}
}

func head(w io.Writer, name, kind, help string) {
	fmt.Fprintf(w, "# HELP sojourn_%s %s\n# TYPE sojourn_%s %s\n", name, help, name, kind)
}

// Handler answers /metrics in the text format of Prometheus, /healthz while the loop does not hang, and
// /readyz while this scheduler schedules or waits to be elected.
func (s *Scheduler) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /healthz", &s.pulse)
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() && (s.config.Lease == nil || !s.ran.Load()) {
			http.Error(w, "not all objects are known yet", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		for _, m := range []struct {
			name, kind, help string
			value            float64
		}{
			{"leading", "gauge", "1 while this scheduler schedules.", map[bool]float64{true: 1}[s.ready.Load()]},
			{"jobs", "gauge", "Live jobs that the policy knows.", float64(s.jobs.Load())},
			{"pods", "gauge", "Pods of this scheduler, those that have ended included.", float64(s.pods.Load())},
			{"nodes", "gauge", "Known nodes.", float64(s.nodes.Load())},
			{"binds_total", "counter", "Pods bound.", float64(s.api.binds.Load())},
			{"binds_refused_total", "counter", "Binds that the API server has refused.", float64(s.api.refused.Load())},
			{"evictions_total", "counter", "Pods evicted because the policy asked for their slots.", float64(s.api.evictions.Load())},
			{"admissions_total", "counter", "Suspended Jobs that were resumed.", float64(s.api.admissions.Load())},
			{"rejections_total", "counter", "Times that a Job was refused.", float64(s.api.rejections.Load())},
			{"warnings_total", "counter", "Warning events.", float64(s.api.warnings.Load())},
			{"explanations_total", "counter", "Events that say why a pod waits.", float64(s.api.words.Load())},
			{"rounds_total", "counter", "Rounds of the loop that owns the policy.", float64(s.rounds.Load())},
			{"busy_seconds_total", "counter", "Time that the loop was not waiting.", time.Duration(s.busy.Load()).Seconds()},
		} {
			head(w, m.name, m.kind, m.help)
			fmt.Fprintf(w, "sojourn_%s %g\n", m.name, m.value)
		}
		head(w, "bind_seconds", "histogram", "How long the API server took to answer a bind.")
		s.api.mu.Lock()
		h := s.api.answers
		s.api.mu.Unlock()
		h.write(w, "bind_seconds", "")
		if s.ready.Load() {
			var b bytes.Buffer // w may be slow
			s.ask(func() { s.core.writePools(&b) })
			b.WriteTo(w)
		}
	})
	return mux
}

// ask has the loop call f, and waits until it has, for a second at most.
func (s *Scheduler) ask(f func()) {
	var mu sync.Mutex
	late, done := false, make(chan struct{})
	s.events.put(func() {
		mu.Lock()
		defer mu.Unlock()
		if !late {
			f()
			close(done)
		}
	})
	select {
	case <-done:
	case <-time.After(time.Second):
		mu.Lock()
		defer mu.Unlock()
		late = true
	}
}
