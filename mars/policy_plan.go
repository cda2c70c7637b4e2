package mars

import (
	"cmp"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/phasequeue"
	"github.com/sojourn-sched/sojourn/internal/wide"
)

// These bound a plan beside its iterations.
const (
	planGap    = 1e-4
	planLevels = 200
)

// plan makes the plan that is due, at the instant at which it is: all work that has
// not started, or that of the jobs of the batch, on an empty cluster.
func (p *Policy) plan() {
	p.at, p.open = p.due, false
	p.plans++
	started := map[[2]uint32]wide.Uint128{} // p of running tasks, by handle and phase
	for _, a := range p.queue.Ledger.Attempts() {
		id := [2]uint32{a.Job.Handle, uint32(a.Task.Phase)}
		started[id] = started[id].Add(p.work(a.Job, a.Task))
	}
	var jobs []*phasequeue.Job[waitingJob]
	for _, j := range p.queue.Ledger.AppendJobs(nil) {
		if j.Left > j.Running && !(p.opts.Commit && j.Data.Value.placed) {
			jobs = append(jobs, j)
		}
	}
	slices.SortFunc(jobs, func(a, b *phasequeue.Job[waitingJob]) int { return cmp.Compare(a.Seq, b.Seq) })

	b := newFormBuilder(p)
	for _, j := range jobs {
		b.add(j, 0, func(i int, left wide.Uint128) wide.Uint128 {
			return left.Sub(started[[2]uint32{j.Handle, uint32(i)}])
		})
	}
	s := solveByPrice(b.form(), planGap, p.opts.Iterations, min(max(4*len(jobs), 24), planLevels))
	p.prices = s.prices
	for i, j := range jobs {
		d := &j.Data.Value
		d.placed, d.c = true, p.instant(s.c[i])
		if p.opts.Commit {
			d.batch = p.plans
		}
	}
	// A job that had nothing to start when it was planned may have again: it counts as
	// planned as well.
	for j := range p.queue.Ledger.All() {
		if d := &j.Data.Value; !d.placed {
			d.placed, d.c = true, p.at
			if p.opts.Commit {
				d.batch = p.plans
			}
		}
		p.queue.Update(j)
	}
}

// place gives a job that arrives between two plans its C_j under the prices of the
// latest one: where the next plan would put it if the prices stayed as they are.
func (p *Policy) place(j *phasequeue.Job[waitingJob]) {
	if p.plans == 0 {
		p.at = p.queue.Ledger.Now()
	}
	b := newFormBuilder(p)
	b.add(j, p.sinceSeconds(), func(_ int, left wide.Uint128) wide.Uint128 { return left })
	jf := b.form()
	curves := make([]*curve, len(jf.m))
	for k := range curves {
		curves[k] = newCurve(jf.m[k], 0)
		curves[k].prepare()
	}
	for i := range p.prices {
		if pr := &p.prices[i]; int(pr.Class) < len(curves) {
			curves[pr.Class] = jf.curveOf(pr)
		}
	}
	c, _ := jf.best(0, jf.c[0], curves, 1e-10)
	d := &j.Data.Value
	d.placed, d.c = true, p.instant(c)
}

// A formBuilder builds the job form of a plan: an item for each phase.
type formBuilder struct {
	*Policy
	jf jobForm
}

func newFormBuilder(p *Policy) *formBuilder {
	return &formBuilder{Policy: p, jf: jobForm{first: []int32{0}}}
}

// add adds a job that is released some seconds after the plan's instant. waiting
// returns the work of a phase that counts, given what is not finished of it.
func (b *formBuilder) add(j *phasequeue.Job[waitingJob], release float64, waiting func(phase int, left wide.Uint128) wide.Uint128) {
	jf, d := &b.jf, &j.Data.Value
	chain := int64(0)
	n := len(jf.items)
	for i := range d.phases {
		s := &d.phases[i]
		if s.left.IsZero() {
			continue
		}
		chain = max(chain, s.q)
		class := int32(j.Spec.Phases[i].Class)
		for int(class) >= len(jf.m) {
			// A class without slots has one that is to come.
			jf.m = append(jf.m, float64(max(b.queue.Ledger.Capacity(sojourn.Class(len(jf.m))), 1)))
			jf.work = append(jf.work, 0)
		}
		if w := waiting(i, s.left); !w.IsZero() {
			it := item{h: seconds(s.h), p: (float64(float64(w.Hi)*(1<<64)) + float64(w.Lo)) / 1e9, class: class}
			jf.items = append(jf.items, it)
			jf.work[class] += it.p
			jf.hmax = max(jf.hmax, it.h)
		}
	}
	slices.SortStableFunc(jf.items[n:], func(a, b item) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.h, a.h))
	})
	jf.w = append(jf.w, float64(j.Weight)/(1<<16))
	jf.c = append(jf.c, release+seconds(chain))
	jf.r = append(jf.r, release)
	jf.first = append(jf.first, int32(len(jf.items)))
}

// form returns the job form.
func (b *formBuilder) form() *jobForm { return &b.jf }
