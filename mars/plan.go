package mars

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
	"github.com/sojourn-sched/sojourn/mars/internal/lp"
)

// These bound a plan in addition to its iterations.
const (
	planGap    = 1e-4
	planLevels = 200
)

// replan makes the plan that is due, at its instant. It plans all work that has not started,
// or the work of the jobs of the batch, on an empty cluster.
func (p *Policy) replan() {
	p.at, p.open = p.due, false
	p.plans++
	started := map[[2]uint32]wide.Uint128{} // p of running tasks, by handle and phase
	for _, a := range p.queue.Ledger.Attempts() {
		id := [2]uint32{a.Job.Handle(), uint32(a.Task.Phase)}
		started[id] = started[id].Add(p.work(a.Job, a.Task))
	}
	var jobs []*ledger.Job[waitingJob]
	for _, j := range p.queue.Ledger.AppendJobs(nil) {
		if j.Left() > j.Running() && !(p.opts.Commit && j.Data.known) {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *ledger.Job[waitingJob]) int { return cmp.Compare(a.Seq(), b.Seq()) })

	b := newFormBuilder(p)
	for _, j := range jobs {
		b.add(j, 0, func(i int, left wide.Uint128) wide.Uint128 {
			return left.Sub(started[[2]uint32{j.Handle(), uint32(i)}])
		})
	}
	s := lp.SolveByPrice(b.form, planGap, p.opts.Iterations, min(max(4*len(jobs), 24), planLevels))
	p.prices = s.Prices
	for i, j := range jobs {
		d := &j.Data
		d.known, d.c = true, p.instant(s.C[i])
		if p.opts.Commit {
			d.batch = p.plans
		}
	}
	// A job that has nothing to start now may have something later. It counts as planned,
	// too.
	for j := range p.queue.Ledger.All() {
		if d := &j.Data; !d.known {
			d.known, d.c = true, p.at
			if p.opts.Commit {
				d.batch = p.plans
			}
		}
		p.queue.Update(j)
	}
}

// fit gives a job that arrives between two plans its C_j under the prices of the latest
// plan. The next plan would put it there if the prices did not change.
func (p *Policy) fit(j *ledger.Job[waitingJob]) {
	if p.plans == 0 {
		p.at = p.queue.Ledger.Now()
	}
	b := newFormBuilder(p)
	b.add(j, p.sinceSeconds(), func(_ int, left wide.Uint128) wide.Uint128 { return left })
	c := b.form.Cheapest(0, p.prices, 1e-10)
	d := &j.Data
	d.known, d.c = true, p.instant(c)
}

// A formBuilder builds the job form of a plan: an item for each phase.
type formBuilder struct {
	*Policy
	form  *lp.JobForm
	items []lp.Item // of a job; kept to be used again
}

func newFormBuilder(p *Policy) *formBuilder { return &formBuilder{Policy: p, form: lp.NewJobForm(nil)} }

// add adds a job that is released the given seconds after the plan's instant. waiting
// returns the work of a phase that counts, given its unfinished work.
func (b *formBuilder) add(j *ledger.Job[waitingJob], release float64, waiting func(phase int, left wide.Uint128) wide.Uint128) {
	d := &j.Data
	chain := int64(0)
	b.items = b.items[:0]
	for i := range d.phases {
		s := &d.phases[i]
		if s.left.IsZero() {
			continue
		}
		chain = max(chain, s.q)
		class := int32(j.Spec().Phases[i].Class)
		b.reach(class)
		if w := waiting(i, s.left); !w.IsZero() {
			b.items = append(b.items, lp.Item{H: lp.Seconds(s.h), P: (float64(float64(w.Hi)*(1<<64)) + float64(w.Lo)) / 1e9, Class: class})
		}
	}
	slices.SortStableFunc(b.items, lp.ByMiddle)
	b.form.Add(float64(j.Weight())/(1<<16), release+lp.Seconds(chain), release, b.items)
}

// reach gives the form all classes up to the given one. A class without slots counts as one
// slot that is still to come.
func (b *formBuilder) reach(class int32) {
	for int(class) >= len(b.form.M) {
		slots := b.queue.Ledger.Capacity(sojourn.Class(len(b.form.M)))
		b.form.M = append(b.form.M, float64(max(slots, 1)))
	}
}
