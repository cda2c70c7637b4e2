package sim

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/sojourn-sched/sojourn"
)

// Tasks of an open job come while it lives: Times.Added says when. The books have all tasks from the start, and the policy
// hears of those that have come.

// Check returns the first thing that is wrong with the description, or with when tasks come, or nil. The error wraps
// [sojourn.ErrInvalidJob].
func (j *Job) Check() error {
	if err := j.Job.Check(); err != nil || len(j.Times) != len(j.Phases) {
		return err
	}
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", sojourn.ErrInvalidJob, fmt.Sprintf(format, args...))
	}
	later := false
	for p, t := range j.Times {
		if t.Added == nil {
			continue
		}
		later = true
		switch n := len(t.Added); {
		case n != j.Phases[p].Tasks:
			return bad("phase %d: %d instants at which tasks come for %d tasks", p, n, j.Phases[p].Tasks)
		case t.Added[0] != 0:
			return bad("phase %d: the first task comes %v after the job, want 0s", p, t.Added[0])
		case !slices.IsSorted(t.Added):
			return bad("phase %d: a task comes before one of a lower number", p)
		case t.Added[n-1] > never.Sub(j.At):
			return bad("phase %d: the last task comes at an instant that is out of range", p)
		}
		for k := range j.Phases {
			for i := range j.inputs(k) {
				if i == p {
					return bad("phase %d waits for phase %d, whose tasks come later", k, p)
				}
			}
		}
	}
	switch {
	case later && !j.Open:
		return bad("tasks come later, and the job is not Open")
	case j.Open && !later:
		return bad("the job is Open, and nothing says when tasks come")
	}
	return nil
}

// known returns how many tasks of a phase have come by an instant.
func (j *Job) known(p int, at sojourn.Time) int {
	added := j.Times[p].Added
	if added == nil {
		return j.Phases[p].Tasks
	}
	return sort.Search(len(added), func(i int) bool { return added[i] > at.Sub(j.At) })
}

// grow updates what is known of a job, with what the policy is told of it, and returns when more tasks come.
func (j *job) grow(now sojourn.Time) (next sojourn.Time) {
	told := *j.whole
	told.Phases, told.Open = slices.Clone(told.Phases), false
	next = never
	for p := range told.Phases {
		n := j.Job.known(p, now)
		j.phases[p].known = n
		if n < j.phases[p].tasks {
			told.Open = true
			next = min(next, j.At.Add(j.Times[p].Added[n]))
			truncate(&told.Phases[p], n)
		}
	}
	j.told = &told
	return next
}

// truncate leaves a phase its first n tasks.
func truncate(p *sojourn.Phase, n int) {
	p.Tasks = n
	if p.Estimates != nil {
		p.Estimates = p.Estimates[:n:n]
	}
	if p.Bytes != nil {
		p.Bytes = p.Bytes[:n:n]
	}
	if p.Delays != nil {
		p.Delays = p.Delays[:n:n]
	}
	if p.Inputs.Len() > 0 {
		nodes := make([][]sojourn.NodeID, n)
		for i := range nodes {
			nodes[i] = p.Inputs.Of(i)
		}
		p.Inputs = sojourn.MakeInputs(nodes)
	}
}

// expect files a job to which tasks come at an instant.
func (b *books) expect(j *job, at sojourn.Time) {
	j.grows = at
	i, _ := slices.BinarySearchFunc(b.growing, j, func(a, b *job) int { return cmp.Or(cmp.Compare(a.grows, b.grows), a.order-b.order) })
	b.growing = slices.Insert(b.growing, i, j)
}

// growDue adds the tasks that have come by now.
func (b *books) growDue() error {
	for len(b.growing) > 0 && b.growing[0].grows <= b.now {
		j := b.growing[0]
		b.growing = b.growing[1:]
		had := make([]int, len(j.phases))
		for p := range j.phases {
			had[p] = j.phases[p].known
		}
		if b.audit != nil {
			b.audit.advanceTandem(b.now) // what has come may end there now
		}
		next := j.grow(b.now)
		if err := b.tell(sojourn.Event{Kind: sojourn.JobRevised, Job: j.told}); err != nil {
			return err
		}
		if j.told.Open {
			b.expect(j, next)
		}
		for p, n := range had {
			if ph := &j.phases[p]; j.present && ph.known > n {
				ph.pending += ph.known - n
				b.pending(j, p)
				if b.audit != nil {
					b.audit.grown(j, p, n)
				}
			}
		}
	}
	return nil
}
