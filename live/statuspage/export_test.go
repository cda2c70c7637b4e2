package statuspage

import (
	"context"
	"fmt"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/live"
)

const Chunk = chunk

type (
	Looker   = looker
	Page     = pageModel
	Job      = jobModel
	Tenant   = tenantModel
	Slot     = slotModel
	Interval = quantiles
)

func (r *Recorder) Pool() Looker { return r.pool }

// Left says what a recorder knows of live jobs, "" if there is nothing.
func (r *Recorder) Left() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all.tally != (tally{}) || len(r.slots) != 0 || r.due.Len() != 0 || len(r.jobs.parts) != 0 || len(r.stuck) != 0 || len(r.turns) != 0 {
		return fmt.Sprintf("%+v, %d slots, %d deadlines", *r.all, len(r.slots), r.due.Len())
	}
	return ""
}

// Counts returns how many jobs a tenant has, tasks that wait and run, jobs that are late, of which nothing runs, and that are failing.
func (r *Recorder) Counts(name string, now sojourn.Time) (c [6]int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.advance(now)
	x := r.tenants[name]
	if x == nil {
		return c, nil
	}
	for _, q := range []*queue{&x.waits, &x.doubt} {
		for _, j := range q.jobs {
			if !j.idle() || j.queue != q || j.times[since] < q.jobs[0].times[since] {
				err = fmt.Errorf("what waits: %+v", j)
			}
		}
	}
	if n := x.waits.Len() + x.doubt.Len(); n != x.idle {
		err = fmt.Errorf("%d jobs are in queues, %d wait", n, x.idle)
	}
	return [6]int{x.live, x.waiting, x.running, x.late, x.idle, x.failing}, err
}

// WalkUntil looks at live jobs, and goes after so many. It returns the most that were looked at while the recorder was locked, and how many
// were looked at.
func (r *Recorder) WalkUntil(p *live.Pool, n int) (longest, seen int, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err := newBoard(p, r).snap(ctx)
	if err != nil {
		return 0, 0, err
	}
	err = r.walk(ctx, s, func(*job) bool { return true }, func(listed) {
		if seen++; seen == n {
			cancel()
		}
	})
	return r.longest, seen, err
}

// Narrow is what charts show of a name.
var Narrow = narrow
