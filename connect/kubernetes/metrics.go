package kubernetes

import (
	"fmt"
	"net/http"
	"time"
)

// Handler answers /metrics in the text format of Prometheus, /healthz once the process runs, and
// /readyz while this scheduler schedules or waits to be elected.
func (s *Scheduler) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
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
			fmt.Fprintf(w, "# HELP sojourn_%s %s\n# TYPE sojourn_%s %s\nsojourn_%s %g\n", m.name, m.help, m.name, m.kind, m.name, m.value)
		}
	})
	return mux
}
