package baseline_test

import (
	"math/big"
	"slices"

	"github.com/sojourn-sched/sojourn"
)

// An exactFSP is the Fair Sojourn Protocol in one class, one phase a job, with
// rational numbers and linear searches. It shares no code with FSP.
type exactFSP struct {
	now   sojourn.Time
	jobs  []*exactJob // in the order of arrival
	late  int         // jobs that became late so far
	slots int

	// dropLate is a mutant that follows a paper to the letter: a job that ends in the
	// virtual cluster is forgotten, and served only when nothing else is left.
	dropLate bool
}

type exactJob struct {
	id      sojourn.JobID
	v       *big.Rat // virtual work left, in slot-nanoseconds
	weight  *big.Rat
	tasks   int
	started int
	late    int      // 0 or the order of virtual completion, from 1
	ended   *big.Rat // the instant of virtual completion
}

func (p *exactFSP) Observe(ev sojourn.Event) error {
	p.advance(ev.At)
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.slots++
	case sojourn.JobArrived:
		weight := ev.Job.Weight
		if weight == 0 {
			weight = 1
		}
		p.jobs = append(p.jobs, &exactJob{
			id: ev.Job.ID, tasks: ev.Job.Phases[0].Tasks,
			v:      new(big.Rat).SetInt64(int64(ev.Job.Phases[0].Work())),
			weight: new(big.Rat).SetFloat64(weight),
		})
	}
	return nil
}

// rates returns the virtual service rate of each job: its share of the slots.
func (p *exactFSP) rates() []*big.Rat {
	total := new(big.Rat)
	for _, j := range p.jobs {
		if j.late == 0 {
			total.Add(total, j.weight)
		}
	}
	slots := new(big.Rat).SetInt64(int64(p.slots))
	rates := make([]*big.Rat, len(p.jobs))
	for i, j := range p.jobs {
		rates[i] = new(big.Rat)
		if j.late == 0 {
			rates[i].Quo(new(big.Rat).Mul(slots, j.weight), total)
		}
	}
	return rates
}

func (p *exactFSP) advance(t sojourn.Time) {
	left := new(big.Rat).SetInt64(int64(t.Sub(p.now)))
	p.now = t
	for left.Sign() > 0 {
		rates := p.rates()
		step, busy := new(big.Rat).Set(left), false
		for i, j := range p.jobs {
			if j.late == 0 && rates[i].Sign() > 0 {
				busy = true
				if d := new(big.Rat).Quo(j.v, rates[i]); d.Cmp(step) < 0 {
					step = d
				}
			}
		}
		if !busy {
			return
		}
		for i, j := range p.jobs {
			if j.late == 0 {
				j.v.Sub(j.v, new(big.Rat).Mul(rates[i], step))
				if j.v.Sign() == 0 {
					p.late++
					j.late = p.late
					j.ended = new(big.Rat).SetInt64(int64(t))
					j.ended.Sub(j.ended, left).Add(j.ended, step)
				}
			}
		}
		left.Sub(left, step)
	}
}

// before reports whether a is served before b, which arrived after it.
func (p *exactFSP) before(a, b *exactJob) bool {
	switch {
	case a.late > 0 && b.late > 0:
		return a.late < b.late
	case a.late > 0 || b.late > 0:
		return (a.late > 0) != p.dropLate
	}
	// The order of virtual completions is that of v/weight.
	return new(big.Rat).Mul(a.v, b.weight).Cmp(new(big.Rat).Mul(b.v, a.weight)) <= 0
}

// first returns the job to be served next, or nil.
func (p *exactFSP) first() (best *exactJob) {
	for _, j := range p.jobs {
		if j.started < j.tasks && (best == nil || !p.before(best, j)) {
			best = j
		}
	}
	return best
}

func (p *exactFSP) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	j := p.first()
	if j == nil {
		return sojourn.Assignment{}, false
	}
	j.started++
	return sojourn.Assignment{
		Task: sojourn.TaskID{Job: j.id, Index: uint32(j.started - 1)}, Attempt: 1, Slot: id,
	}, true
}

// tie reports whether the virtual ends of a and b are closer than a nanosecond.
func (p *exactFSP) tie(a, b *exactJob) bool {
	end := func(j *exactJob) *big.Rat {
		if j.late > 0 {
			return new(big.Rat).Sub(j.ended, new(big.Rat).SetInt64(int64(p.now)))
		}
		return new(big.Rat).Quo(j.v, j.weight)
	}
	d := new(big.Rat).Sub(end(a), end(b))
	return d.Abs(d).Cmp(big.NewRat(1, 1)) < 0
}

// A judged policy is compared with the oracle decision by decision; the oracle
// follows it.
type judged struct {
	sojourn.Policy
	exact *exactFSP
	t     interface{ Fatalf(string, ...any) }
}

func (p judged) Observe(ev sojourn.Event) error {
	p.exact.Observe(ev)
	return p.Policy.Observe(ev)
}

func (p judged) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := p.Policy.Assign(id)
	want := p.exact.first()
	if ok != (want != nil) {
		p.t.Fatalf("at %v Assign = %v, %v, want job %v", p.exact.now, a, ok, want)
	}
	if ok {
		got := p.exact.jobs[a.Task.Job-1]
		if got != want && !p.exact.tie(got, want) {
			p.t.Fatalf("at %v Assign = task %v, want one of job %d", p.exact.now, a.Task, want.id)
		}
		got.started++
	}
	return a, ok
}

// A testJob is a job of one phase with exact estimates.
type testJob struct {
	at     sojourn.Time
	weight float64
	times  []sojourn.Time // of its tasks
}

// schedule drives a policy through jobs, which are in the order of arrival, on n
// slots, and returns when each job finished and the order of task starts. It is
// the plainest driver there is: it searches lists for the next thing to happen.
func schedule(p sojourn.Policy, n int, jobs []testJob) (finish []sojourn.Time, starts []sojourn.TaskID) {
	must := func(ev sojourn.Event) {
		if err := p.Observe(ev); err != nil {
			panic(err)
		}
	}
	for i := range n {
		must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: sojourn.SlotID(i)}})
	}
	type attempt struct {
		a   sojourn.Assignment
		end sojourn.Time
	}
	var live []attempt
	finish = make([]sojourn.Time, len(jobs))
	busy := make([]bool, n)
	for next := 0; next < len(jobs) || len(live) > 0; {
		now := sojourn.Time(1 << 62)
		for _, l := range live {
			now = min(now, l.end)
		}
		if next < len(jobs) {
			now = min(now, jobs[next].at)
		}
		for _, l := range live {
			if l.end == now {
				must(sojourn.Event{Kind: sojourn.TaskFinished, At: now, Task: l.a.Task, Attempt: l.a.Attempt, Slot: sojourn.Slot{ID: l.a.Slot}})
				busy[l.a.Slot] = false
				finish[l.a.Task.Job-1] = now
			}
		}
		live = slices.DeleteFunc(live, func(l attempt) bool { return l.end == now })
		for ; next < len(jobs) && jobs[next].at == now; next++ {
			j := &sojourn.Job{ID: sojourn.JobID(next + 1), Weight: jobs[next].weight, Phases: []sojourn.Phase{{Tasks: len(jobs[next].times)}}}
			for _, d := range jobs[next].times {
				j.Phases[0].Estimates = append(j.Phases[0].Estimates, d.Sub(0))
			}
			must(sojourn.Event{Kind: sojourn.JobArrived, At: now, Job: j})
		}
		for i := range n {
			if busy[i] {
				continue
			}
			if a, ok := p.Assign(sojourn.SlotID(i)); ok {
				live = append(live, attempt{a, now + jobs[a.Task.Job-1].times[a.Task.Index]})
				starts = append(starts, a.Task)
				busy[i] = true
			}
		}
	}
	return finish, starts
}
