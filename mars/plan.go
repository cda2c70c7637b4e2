package mars

import (
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/lp"
	"github.com/sojourn-sched/sojourn/internal/wide"
	"github.com/sojourn-sched/sojourn/kit/ledger"
)

// These bound a plan in addition to its iterations.
const (
	planGap    = 1e-4
	planLevels = 200
)

// pause is how long a driver has for other things between two steps of a long plan.
const pause = time.Millisecond / 2

// An arrival is a job in the order of arrival. It names the job as long as that is live.
type arrival struct {
	seq    uint64
	handle uint32
}

// A planning is a plan that is being made: of all work that has not started, or of the work of
// the jobs of the batch, on an empty cluster. Each of its stages walks through the jobs in the
// order of arrival, or solves the program, and is done in as many steps as it takes.
type planning struct {
	at   sojourn.Time // when the plan was due, where its time begins
	next sojourn.Time // when it goes on

	stage  stage
	end    int // jobs of Policy.arrived before it take part
	walked int // how many of them the stage has seen; none while it solves
	kept   int // while filing: how many of these are live, and were moved to the front

	form   formBuilder
	jobs   []arrival  // of the form
	search *lp.Search // nil while gathering
	looks  uint64     // those of the search so far
	filed  int        // jobs of the form before it have their C or have ended
}

// A stage is a part of a plan.
type stage uint8

const (
	gathering stage = iota // the waiting work is put into the form
	solving
	filing // the jobs get their C
)

// plan begins the plan that is due or goes on with the one that is being made, at an event at
// the given instant. It plans all at once if there is no later instant.
func (p *Policy) plan(now sojourn.Time) {
	budget := p.opts.Step
	next := now.Add(pause)
	if next == now {
		budget = math.MaxInt
	}
	for {
		if p.planning == nil {
			p.open = false
			live := p.queue.Ledger.Live()
			p.planning = &planning{
				at: p.due, end: len(p.arrived), jobs: make([]arrival, 0, live),
				form: formBuilder{Policy: p, form: lp.NewJobForm(nil)},
			}
			p.planning.form.form.Grow(live, live)
		}
		if budget = p.step(p.planning, budget); p.planning != nil {
			p.planning.next = next
			return
		}
		// The next plan may have been due since: it is begun at another event.
		if !p.open || p.due > now {
			return
		}
		if next > now {
			p.due = next
			return
		}
	}
}

// step goes on with a plan. It returns what is left of the budget once the plan is made.
func (p *Policy) step(g *planning, budget int) int {
	if g.stage == gathering {
		if budget = p.walk(g, budget, p.gather); budget > 0 {
			g.stage, g.walked = solving, 0
			g.search = p.newSearch(g)
		}
	}
	if g.stage == solving && budget > 0 {
		looks, ended := g.search.Step(budget)
		budget -= looks
		g.looks += uint64(looks)
		if ended {
			g.stage = filing
			p.plans++
			p.at, p.prices = g.at, g.search.Prices
		}
	}
	if g.stage == filing && budget > 0 {
		if budget = p.walk(g, budget, p.file); budget > 0 {
			p.arrived = append(p.arrived[:g.kept], p.arrived[g.end:]...)
			p.planning = nil
		}
	}
	return budget
}

// newSearch returns the search that solves the program of a plan.
func (p *Policy) newSearch(g *planning) *lp.Search {
	return lp.NewSearch(g.form.form, planGap, p.opts.Iterations, min(max(4*len(g.jobs), 24), planLevels))
}

// walk shows the live jobs that take part, and were not seen before, to a stage. It returns what is
// left of the budget, which is more than 0 once all were seen.
func (p *Policy) walk(g *planning, budget int, visit func(*planning, arrival, *ledger.Job[waitingJob]) (looks int)) int {
	for ; g.walked < g.end && budget > 0; g.walked++ {
		a := p.arrived[g.walked]
		if j := p.live(a); j != nil {
			budget -= 2 + 2*j.NumPhases() + visit(g, a, j) // memory is slow
		}
	}
	return max(budget, 0)
}

// live returns a job that has arrived, or nil if it has ended.
func (p *Policy) live(a arrival) *ledger.Job[waitingJob] {
	if j := p.queue.Ledger.ByHandle(a.handle); j != nil && j.Seq() == a.seq {
		return j
	}
	return nil
}

// gather puts the waiting work of a job into the form.
func (p *Policy) gather(g *planning, a arrival, j *ledger.Job[waitingJob]) (looks int) {
	if !j.Cancelled() && j.Left() > j.Running() && !(p.opts.Commit && j.Data.known) {
		g.form.add(j, 0, func(phase int, left wide.Uint128) wide.Uint128 {
			work, n := p.running(j, phase)
			looks += n
			return left.Sub(work)
		})
		g.jobs = append(g.jobs, a)
	}
	return looks
}

// running returns the work of the tasks of a phase that run, and how many looks that took.
func (p *Policy) running(j *ledger.Job[waitingJob], phase int) (work wide.Uint128, looks int) {
	ph, is := &j.Spec().Phases[phase], j.Phase(phase)
	n := is.Running()
	if n == 0 || ph.Estimates == nil {
		return wide.Mul64(uint64(n), uint64(p.time(ph, 0))), 0
	}
	tasks := uint32(0)
	for ; n > 0; tasks++ {
		if !is.IsDone(tasks) && !is.IsPending(tasks) && !j.IsHeld(phase, tasks) {
			work = work.Add(wide.From64(uint64(p.time(ph, tasks))))
			n--
		}
	}
	return work, int(tasks / 8) // they lie side by side
}

// file gives a job its C. A job that had nothing to start may have something later. It
// counts as planned, too.
func (p *Policy) file(g *planning, a arrival, j *ledger.Job[waitingJob]) (looks int) {
	p.arrived[g.kept] = a
	g.kept++
	for g.filed < len(g.jobs) && g.jobs[g.filed].seq < a.seq {
		g.filed++
	}
	d := &j.Data
	switch {
	case g.filed < len(g.jobs) && g.jobs[g.filed].seq == a.seq:
		d.c = p.instant(g.search.C[g.filed])
	case !d.known:
		d.c = p.at
	default:
		return 0
	}
	d.known = true
	if p.opts.Commit {
		d.batch = p.plans
	}
	p.queue.Update(j)
	return 0
}

// fit gives a job that arrives between two plans its C_j under the prices of the latest
// plan. The next plan would put it there if the prices did not change.
func (p *Policy) fit(j *ledger.Job[waitingJob]) {
	if p.plans == 0 {
		p.at = p.queue.Ledger.Now()
	}
	b := formBuilder{Policy: p, form: lp.NewJobForm(nil)}
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
