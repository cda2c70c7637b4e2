package baseline_test

import (
	"math/big"
	"slices"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/internal/gpstest"
)

// An exactFSP is the Fair Sojourn Protocol in one class, one phase a job, with
// rational numbers and linear searches. It shares no code with FSP.
type exactFSP struct {
	v    gpstest.Cluster
	jobs []*exactJob // in the order of arrival

	// dropLate is a mutant that follows a paper literally: a job that ends in the
	// virtual cluster is forgotten, and served only when nothing else is left.
	dropLate bool
}

type exactJob struct {
	*gpstest.Job // in the virtual cluster
	id           sojourn.JobID
	tasks        int
	started      int
}

func (p *exactFSP) Observe(ev sojourn.Event) error {
	p.v.Advance(ev.At)
	switch ev.Kind {
	case sojourn.SlotAdded:
		p.v.Slots++
	case sojourn.JobArrived:
		ph := &ev.Job.Phases[0]
		p.jobs = append(p.jobs, &exactJob{
			Job: p.v.Arrive(int64(ph.Work()), ev.Job.Weight), id: ev.Job.ID, tasks: ph.Tasks,
		})
	}
	return nil
}

// first returns the job to be served next, or nil.
func (p *exactFSP) first() (best *exactJob) {
	for _, j := range p.jobs {
		if j.started < j.tasks && (best == nil || !gpstest.Before(best.Job, j.Job, p.dropLate)) {
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
	d := new(big.Rat).Sub(p.v.Ahead(a.Job), p.v.Ahead(b.Job))
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
		p.t.Fatalf("at %v Assign = %v, %v, want job %v", p.exact.v.Now, a, ok, want)
	}
	if ok {
		got := p.exact.jobs[a.Task.Job-1]
		if got != want && !p.exact.tie(got, want) {
			p.t.Fatalf("at %v Assign = task %v, want one of job %d", p.exact.v.Now, a.Task, want.id)
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
// a driver as simple as possible: it searches lists for the next thing to
// happen.
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
