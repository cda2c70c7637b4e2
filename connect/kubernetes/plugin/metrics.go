package plugin

import (
	"maps"
	"slices"
	"time"

	"k8s.io/component-base/metrics"
)

// maxPools is of how many pools the metrics tell; all others are one, which has no name.
const maxPools = 1000

// A queue is the pods of a pool that wait.
type queue struct {
	pods   int
	oldest time.Time // when the one came that has waited for longest
}

// and returns the pods of both.
func (q queue) and(r queue) queue {
	if q.pods == 0 || r.oldest.Before(q.oldest) {
		q.oldest = r.oldest
	}
	q.pods += r.pods
	return q
}

// A collector tells /metrics of kube-scheduler which pods wait. The loop leaves a new account each second.
type collector struct {
	metrics.BaseStableCollector
	p             *Plugin
	pods, longest *metrics.Desc
}

// newMetrics makes the metrics of a profile.
func (p *Plugin) newMetrics() {
	of := map[string]string{"profile": p.handle.ProfileName()}
	desc := func(name, help string) *metrics.Desc {
		return metrics.NewDesc(name, help, []string{"pool"}, of, metrics.ALPHA, "")
	}
	p.collector = &collector{p: p,
		pods:    desc("sojourn_waiting_pods", "Pods of Jobs that wait for their turn or for room."),
		longest: desc("sojourn_longest_wait_seconds", "How long the pod has waited that has waited for longest."),
	}
	p.waits = metrics.NewHistogramVec(&metrics.HistogramOpts{Name: "sojourn_wait_seconds", ConstLabels: of, StabilityLevel: metrics.ALPHA,
		Help: "How long pods of Jobs had waited when they found a node.", Buckets: []float64{0.01, 0.1, 1, 10, 60, 600, 3600, 6 * 3600}}, []string{"pool"})
}

func (c *collector) DescribeWithStability(ch chan<- *metrics.Desc) {
	ch <- c.pods
	ch <- c.longest
}

func (c *collector) CollectWithStability(ch chan<- metrics.Metric) {
	if all := c.p.queues.Load(); all != nil {
		for pool, q := range *all { //sojourn:unordered
			ch <- metrics.NewLazyConstMetric(c.pods, metrics.GaugeValue, float64(q.pods), pool)
			ch <- metrics.NewLazyConstMetric(c.longest, metrics.GaugeValue, time.Since(q.oldest).Seconds(), pool)
		}
	}
}

// pool returns the pool of a job.
func (j *job) pool() string {
	if j.spec != nil {
		return j.spec.Pool
	}
	return j.first().obj.Namespace
}

// label returns the name under which sojourn_wait_seconds tells of a pool: its own for those that came first.
func (c *core) label(pool string) string {
	if !c.named[pool] && len(c.named) >= maxPools {
		return ""
	}
	c.named[pool] = true
	return pool
}

// account leaves an account of the pods that wait, of the first pools by name if there are many.
func (c *core) account() {
	all := map[string]queue{}
	for _, j := range c.jobs { //sojourn:unordered
		if j.queue.Len() == 0 {
			continue
		}
		q := all[j.pool()]
		for at := j.queue.Front(); at != nil; at = at.Next() {
			q = q.and(queue{1, at.Value.(*pod).came})
		}
		all[j.pool()] = q
	}
	for i, pool := range slices.Sorted(maps.Keys(all)) {
		if i >= maxPools {
			all[""] = all[""].and(all[pool])
			delete(all, pool)
		}
	}
	c.plugin.queues.Store(&all)
}
