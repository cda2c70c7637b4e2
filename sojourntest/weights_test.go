package sojourntest

import (
	"cmp"
	"strings"
	"testing"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/kit/queue"
	"pgregory.net/rapid"
)

// A weigher serves the job with the least ticket. It reads the weight of a job when it draws a ticket: when the job comes,
// and when it starts a task.
type weigher struct {
	*queue.Jobs[uint64, [2]uint64]
	ticket func(draw) uint64
	pools  map[string]uint64 // weights
}

// A draw is what a ticket may depend on.
type draw struct {
	kind    sojourn.EventKind // of the event that brings the job, 0 when it starts a task
	weight  uint64
	pool    uint64 // the weight of its pool
	named   bool   // the pool has a name
	class   sojourn.Class
	started uint64
	random  uint64 // below 8
}

func (p *weigher) draw(kind sojourn.EventKind, j *ledger.Job[uint64]) uint64 {
	started := uint64(j.Side(0).Started())
	pool := j.Spec().Pool
	return p.ticket(draw{kind, j.Weight(), max(p.pools[pool], 1), pool != "", j.Side(0).Class(), started, (j.Seq()*2654435761 + started*40503) >> 3 % 8})
}

func newWeigher(ticket func(draw) uint64) func() sojourn.Policy {
	return func() sojourn.Policy {
		return &weigher{ticket: ticket, pools: map[string]uint64{}, Jobs: queue.NewJobs(queue.JobOrder[uint64, [2]uint64]{
			Key:  func(j *ledger.Job[uint64]) [2]uint64 { return [2]uint64{j.Data, j.Seq()} },
			Less: func(a, b [2]uint64) bool { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) < 0 },

			Supports: sojourn.FeaturePools,
		})}
	}
}

func (p *weigher) Observe(ev sojourn.Event) error {
	if err := p.Ledger.Check(&ev); err != nil {
		return err
	}
	if ev.Kind == sojourn.PoolChanged {
		p.pools[ev.Pool.Name] = (&sojourn.Job{Weight: ev.Pool.Weight}).WeightUnits()
	}
	c := p.Apply(&ev)
	if ev.Kind == sojourn.JobArrived || ev.Kind == sojourn.JobAdopted {
		c.Job.Data = p.draw(ev.Kind, c.Job)
	}
	p.File(&ev, c)
	return nil
}

func (p *weigher) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j, a := p.Take(id)
	if j == nil {
		return sojourn.Assignment{}, false
	}
	j.Data += p.draw(0, j)
	p.Update(j)
	return a, true
}

// A policy that reads weights only when a job comes or starts a task, and the wrong way round, passes the law of weights, which
// revises a weight before a decision. The law of greater weights finds it, and says it in some lines.
func TestGreaterWeights(t *testing.T) {
	const unit = 1 << 52
	right := func(d draw) uint64 { return (1 + d.random) * (unit / d.weight) }
	wrong := func(d draw) uint64 { return (1 + d.random) * d.weight }
	for _, tc := range []struct {
		name   string
		ticket func(draw) uint64
		ok     bool
	}{
		{"more weight, smaller tickets", right, true},
		{"weights do not matter", func(d draw) uint64 { return d.random }, true},
		{"weights do not matter at all", func(draw) uint64 { return 0 }, true},
		{"weights above 100 are the same", func(d draw) uint64 { return (1 + d.random) * (unit / min(d.weight, 100<<16)) }, true},
		{"more weight, greater tickets", wrong, false},
		{"only when a job comes", func(d draw) uint64 {
			if d.kind == 0 {
				return 0
			}
			return wrong(d)
		}, false},
		{"only when a task starts", func(d draw) uint64 {
			if d.kind == 0 {
				return wrong(d)
			}
			return 0
		}, false},
		{"only for adopted jobs", func(d draw) uint64 {
			if d.kind == sojourn.JobAdopted {
				return wrong(d)
			}
			return d.random
		}, false},
		{"only on slots of class 7", func(d draw) uint64 {
			if d.class == 7 {
				return wrong(d)
			}
			return right(d)
		}, false},
		{"only in pools that have names", func(d draw) uint64 {
			if d.named {
				return wrong(d)
			}
			return right(d)
		}, false},
		{"of pools, smaller tickets", func(d draw) uint64 { return (1 + d.random) * (unit / d.pool) }, true},
		{"of pools, greater tickets", func(d draw) uint64 { return (1 + d.random) * d.pool }, false},
		{"weights above 2^16 overflow", func(d draw) uint64 { return (1 + d.random) * (unit / uint64(max(uint32(d.weight), 1))) }, false},
	} {
		got := recorded(t, func(tb rapid.TB) { checkRaces(tb, newWeigher(tc.ticket), Options{}) })
		if tc.ok != (got == "") || !tc.ok && (!strings.Contains(got, "law of greater weights: ") || strings.Count(got, "\n") > 20) {
			t.Errorf("%s: sojourntest says\n%s", tc.name, got)
		}
		if got := recorded(t, func(tb rapid.TB) { checkRaces(tb, newWeigher(tc.ticket), Options{IgnoresWeights: true}) }); got != "" {
			t.Errorf("%s: with IgnoresWeights, sojourntest says\n%s", tc.name, got)
		}
	}
}

// A policy that keeps the weight with which a job came passes the other laws: its job would be served with more weight as well.
func TestRevisedWeights(t *testing.T) {
	const unit = 1 << 52
	for name, tc := range map[string]struct {
		first, later uint64 // how far the weight counts in the ticket when a job comes, and when it starts a task
		ok           bool
	}{
		"when a job comes and when it starts a task": {1, 1, true},
		"when it starts a task":                      {0, 1, true},
		"when it comes":                              {1, 0, false},
		"never":                                      {0, 0, true},
	} {
		got := recorded(t, func(tb rapid.TB) {
			checkRaces(tb, newWeigher(func(d draw) uint64 {
				part := tc.later
				if d.kind != 0 {
					part = tc.first
				}
				return (1 + d.random) * (1 + part*(unit/d.weight))
			}), Options{})
		})
		if tc.ok != (got == "") || !tc.ok && !strings.Contains(got, "law of revised weights: ") {
			t.Errorf("the weight counts %s: sojourntest says\n%s", name, got)
		}
	}
}

// So does one that keeps the weight that a pool had when a job of it came.
func TestRevisedWeightsOfPools(t *testing.T) {
	got := recorded(t, func(tb rapid.TB) {
		checkRaces(tb, newWeigher(func(d draw) uint64 {
			if d.kind == 0 {
				return 1 + d.random
			}
			return (1 + d.random) * (1 << 52 / d.pool)
		}), Options{})
	})
	if !strings.Contains(got, "law of revised weights: ") || !strings.Contains(got, "weight of the pool of a job") {
		t.Errorf("sojourntest says\n%s", got)
	}
}
