package fair_test

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/fifo"
	"github.com/sojourn-sched/sojourn/internal/constructors"
	"github.com/sojourn-sched/sojourn/internal/histories"
	"github.com/sojourn-sched/sojourn/research/baseline"
	"github.com/sojourn-sched/sojourn/sojourntest"
)

func newFSP() sojourn.Policy { return constructors.FSP.Must(baseline.FSPOptions{}) }

func newFIFO() sojourn.Policy { return constructors.FIFO.Must(fifo.Options{}) }

// The pools of sojourntest are "", "a" and "b".
func TestConformance(t *testing.T) {
	opts := fair.Options{
		Pools: map[string]fair.Pool{
			"":  {Weight: 2, Min: fair.Slots{0: 1, 7: 1}},
			"a": {Weight: 0.5, Min: fair.Slots{0: 2}, Policy: newFSP},
			"b": {Weight: 3},
		},
		Preemption: fair.Preemption{MinTimeout: 2 * time.Second, FairTimeout: 3 * time.Second, Interval: time.Second, Limit: 2},
		HalfLife:   3 * time.Second,
	}
	changed := fair.Options{
		Pools: map[string]fair.Pool{
			"a": {Weight: 2, Policy: newFSP},
			"b": {Min: fair.Slots{0: 1}},
		},
		IgnoreLocality: true,
		Preemption:     fair.Preemption{FairTimeout: time.Second, Interval: 700 * time.Millisecond, Limit: 1},
	}
	histories.Share(t, 4)
	sojourntest.Run(t, func() sojourn.Policy { return newWith(opts) }, sojourntest.Options{
		Others:  []func() sojourn.Policy{newPolicy, newFSP},
		Changed: []func() sojourn.Policy{func() sojourn.Policy { return newWith(changed) }},
	})
}

// Pools inside pools, with limits. The pools that sojourntest calls "a" and "b" are
// further down.
func TestConformanceWithLimits(t *testing.T) {
	opts := fair.Options{
		Order: fair.Service,
		Delay: 5 * time.Second,
		Pools: map[string]fair.Pool{
			"x":     {MaxJobs: 2, Max: fair.Slots{0: 3, 1: 3, 7: 3}},
			"x/y":   {Weight: 3, MaxJobs: 1, Min: fair.Slots{0: 1}},
			"x/*/*": {Max: fair.Slots{0: 1}},
			"p":     {Max: fair.Slots{0: 2}},
			"p/q":   {Policy: newFIFO},
		},
		Preemption: fair.Preemption{MinTimeout: 2 * time.Second, FairTimeout: 3 * time.Second, Interval: time.Second, ReportOnly: true},
	}
	reweighed := opts
	reweighed.Delay, reweighed.RackDelay = time.Second, new(time.Duration)
	reweighed.Preemption = fair.Preemption{MinTimeout: time.Second, Limit: 1}
	reweighed.Pools = maps.Clone(opts.Pools)
	reweighed.Pools["x/y"] = fair.Pool{MaxJobs: 1}

	running := opts
	running.Order = fair.Running
	limited := running // otherwise
	limited.Pools = map[string]fair.Pool{
		"x":   {Max: fair.Slots{0: 1}},
		"x/y": {MaxJobs: 2, Weight: 0.1},
		"p/q": {Policy: newFIFO, Max: fair.Slots{1: 1}},
	}
	for name, tc := range map[string]struct{ opts, changed fair.Options }{"deficit": {opts, reweighed}, "running": {running, limited}} {
		t.Run(name, func(t *testing.T) {
			with := func(o fair.Options) func() sojourn.Policy {
				pools := map[string]string{"": "x/y", "a": "x/y/z", "b": "p/q"}
				return func() sojourn.Policy { return renamed{newWith(o).(*fair.Policy), pools} }
			}
			histories.Share(t, 8)
			sojourntest.Run(t, with(tc.opts), sojourntest.Options{IdlesOnPurpose: true, Changed: []func() sojourn.Policy{with(tc.changed)}})
		})
	}
}

// The options are drawn anew for each history. The pools of sojourntest are "", "a" and
// "b". Here they lie at any place of a tree.
func TestConformanceOfAllOptions(t *testing.T) {
	type tree struct {
		fair.Options
		at map[string]string
	}
	histories.Options(t, 4, func(t *rapid.T) (o tree) {
		bit := func(name string) bool { return rapid.Bool().Draw(t, name) }
		wait := func(name string) time.Duration {
			return rapid.SampledFrom([]time.Duration{0, 1, time.Second, 7 * time.Second}).Draw(t, name)
		}
		slots := func(name string, least int) fair.Slots {
			s := fair.Slots{}
			for _, c := range []sojourn.Class{0, 1, 7} {
				if bit(name) {
					s[c] = rapid.IntRange(least, 3).Draw(t, name)
				}
			}
			return s
		}
		if o.Order = rapid.SampledFrom([]fair.Order{fair.Running, fair.Service}).Draw(t, "order"); o.Order == fair.Service {
			o.HalfLife, o.Credit = wait("half-life"), wait("credit")
		}
		o.Ties = rapid.SampledFrom([]fair.Ties{fair.LeastService, fair.RoundRobin, fair.LeastWork, fair.Arrival}).Draw(t, "ties")
		if o.IgnoreLocality = bit("ignore locality"); !o.IgnoreLocality {
			if o.Delay = wait("delay"); o.Delay == 0 && o.Order == fair.Service {
				o.Window = wait("window")
			}
		}
		if o.Delay > 0 && bit("rack") {
			o.RackDelay = ptr(wait("rack delay"))
		}
		if bit("preemption") {
			o.Preemption = fair.Preemption{MinTimeout: wait("minimum"), FairTimeout: wait("fair"), Interval: max(wait("interval"), time.Millisecond),
				Limit: rapid.IntRange(0, 2).Draw(t, "limit"), ReportOnly: bit("report only")}
		}
		paths := []string{"x", "x/y", "x/y/z", "x/w", "p", "*", "x/*", ""}
		o.Pools, o.at = map[string]fair.Pool{}, map[string]string{}
		for _, path := range paths {
			if !bit("listed") {
				continue
			}
			pool := fair.Pool{
				Weight: rapid.SampledFrom([]float64{0, 0.5, 3, 1. / 65536, 1<<32 - 1}).Draw(t, "weight"),
				Min:    slots("min", 0), Max: slots("max", 1),
				MaxJobs: rapid.IntRange(0, 3).Draw(t, "jobs"),
			}
			for c, most := range pool.Max {
				if _, ok := pool.Min[c]; ok {
					pool.Min[c] = min(pool.Min[c], most)
				}
			}
			if path == "p" || path == "x/y/z" || path == "x/w" {
				if pool.FIFO = bit("fifo"); !pool.FIFO {
					pool.Policy = newFSP
				}
			}
			o.Pools[path] = pool
		}
		for _, path := range paths {
			if pool, ok := o.Pools[path]; ok && o.Validate() != nil { // not every pool may have a policy
				pool.Policy = nil
				o.Pools[path] = pool
			}
		}
		// A revision that changes the pool has to be refused, so all places differ.
		places := rapid.Permutation([]string{"x", "x/y", "x/y/z", "x/w/v", "p/q", "u", ""}).Draw(t, "places")
		for i, pool := range []string{"", "a", "b"} {
			o.at[pool] = places[i]
		}
		return o
	}, func(t *testing.T, o tree) {
		sojourntest.Run(t, func() sojourn.Policy { return renamed{newWith(o.Options).(*fair.Policy), o.at} }, sojourntest.Options{IdlesOnPurpose: true})
	})
}

func ptr[T any](v T) *T { return &v }

// A renamed policy knows pools by other names than its driver does.
type renamed struct {
	*fair.Policy
	pools map[string]string
}

func (r renamed) job(j *sojourn.Job) *sojourn.Job {
	if j == nil {
		return nil
	}
	c := *j
	if pool, ok := r.pools[j.Pool]; ok {
		c.Pool = pool
	}
	return &c
}

func (r renamed) pool(n *sojourn.Pool) (*sojourn.Pool, bool) {
	if n == nil {
		return nil, false
	}
	c := *n
	name, ok := r.pools[c.Name]
	c.Name = name
	return &c, ok
}

func (r renamed) Observe(ev sojourn.Event) error {
	told := ev
	told.Job = r.job(ev.Job)
	if pool, ok := r.pool(ev.Pool); ok {
		told.Pool = pool
	}
	if err := r.Policy.Observe(told); err != nil {
		return &sojourn.EventError{Event: ev, Err: errors.Unwrap(err)}
	}
	return nil
}

// leaves refuses changes of pools that others are in, whose jobs the model does not count, and maximums of pools with gangs.
type leaves struct {
	renamed
	inPlaces bool
}

func (l leaves) Observe(ev sojourn.Event) error {
	if n, ok := l.pool(ev.Pool); ok && ev.Kind == sojourn.PoolChanged {
		for _, path := range l.pools {
			if strings.HasPrefix(path, n.Name+"/") || l.inPlaces && len(n.Max) > 0 {
				err := l.renamed.Observe(sojourn.Event{Kind: ev.Kind, At: ev.At, Pool: &sojourn.Pool{Name: "*", Weight: n.Weight, Min: n.Min, Max: n.Max, MaxJobs: n.MaxJobs}})
				return &sojourn.EventError{Event: ev, Err: errors.Unwrap(err)}
			}
		}
	}
	return l.renamed.Observe(ev)
}

func (r renamed) Admit(j *sojourn.Job) error { return r.Policy.Admit(r.job(j)) }
