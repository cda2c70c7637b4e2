package kubernetes

import (
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
)

// Gang is the label of a Job whose pods are bound only when all of them have a place. Its value
// says nothing.
const Gang = prefix + "gang"

// gangs are the jobs whose pods start together.
type gangs struct {
	jobs []*job // that may be live, in the order of arrival

	// trying says that the tasks of the gang are offered. picks are its pods that have a place, and are
	// not bound yet.
	trying map[*job]bool
	picks  map[*job][]*pod
	order  []*job // in which the gangs got their first place

	// kept is the gang that keeps its picks from one instant to the next, until it has all places. There is
	// one at most, so that gangs do not wait for each other.
	kept     *job
	keeping  sojourn.Time  // since when
	patience time.Duration // how long a gang waits before; below 0: for ever
	limit    time.Duration // how long it keeps its picks
}

// A gangState is what is known of a gang from one instant to the next, so that one that waits costs nothing.
type gangState struct {
	known    bool    // the next three are true
	lacking  []*task // that have yet to start
	complete bool    // each of them has a pod that waits
	running  int

	seen  uint64 // of what epoch holds is, if not 0
	holds bool   // the nodes have room for all, were nothing else of the policy there
}

// touch notes that the pods of a task have changed.
func (c *known) touch(t *task) {
	if j := c.byID[t.id.Job]; j != nil {
		j.state.known, j.state.seen = false, 0
	}
}

// holds reports whether the pods of a job that have a place are not bound yet, since others are missing.
func (g *gangs) holds(j *job) bool { return g.trying[j] || j != nil && j == g.kept }

// enroll makes a job a gang.
func (c *workload) enroll(j *job) {
	j.gang = true
	c.gangs.jobs = append(c.gangs.jobs, j)
}

// gated reports whether a task is held since it starts only with others.
func (c *known) gated(t *task) bool {
	j := c.byID[t.id.Job]
	return j != nil && j.gang && !c.gangs.trying[j]
}

// missing returns the tasks of a gang that have yet to start; false if there are none, or one has no pod
// that waits.
func (c *workload) missing(j *job) (list []*task, ok bool) {
	s := &j.state
	if s.known {
		return s.lacking, s.complete
	}
	s.known, s.lacking, s.complete, s.running = true, nil, false, 0
	for i := range j.spec.Phases[0].Tasks {
		t := j.tasks[uint32(i)]
		if t != nil && t.run != nil {
			s.running++
			continue
		}
		if now, _ := c.truth.Task(sojourn.TaskID{Job: j.id, Index: uint32(i)}); now == account.Done {
			continue
		}
		if t == nil || len(t.waiting) == 0 {
			return nil, false
		}
		s.lacking = append(s.lacking, t)
	}
	s.complete = len(s.lacking) > 0
	return s.lacking, s.complete
}

// gather starts the gangs for which there is a place now. All are offered together with everything else, so
// that the policy's order counts. Those that get only a part of what they need give it back, and each is then
// offered alone, the one that got the first place first. A gang for which there are too few free places is not offered.
func (c *core) gather(rounds func() error) error {
	g := &c.gangs
	g.jobs = slices.DeleteFunc(g.jobs, func(j *job) bool { return c.byID[j.id] != j })
	g.order = nil
	tried := 0
	for _, j := range g.jobs {
		if list, ok := c.missing(j); ok && j != g.kept && c.canHold(j) && c.mayFit(list) {
			c.try(j, list)
			tried++
		}
	}
	if tried == 0 {
		return nil
	}
	if err := rounds(); err != nil {
		return err
	}
	again := slices.Clone(g.order)
	for _, j := range g.jobs {
		if g.trying[j] && !slices.Contains(again, j) {
			again = append(again, j)
		}
	}
	for _, j := range again {
		if !c.commit(j) {
			c.giveBack(j)
		}
	}
	for _, j := range again {
		list, ok := c.missing(j)
		if tried == 1 || !ok {
			continue
		}
		c.try(j, list)
		if err := rounds(); err != nil {
			return err
		}
		if !c.commit(j) {
			c.giveBack(j)
		}
	}
	return nil
}

// try offers the tasks of a gang.
func (c *core) try(j *job, list []*task) {
	c.gangs.trying[j] = true
	for _, t := range list {
		c.sync(t)
	}
}

// pick notes that a pod of a gang has a place.
func (c *core) pick(j *job, p *pod) {
	g := &c.gangs
	if len(g.picks[j]) == 0 {
		g.order = append(g.order, j)
	}
	g.picks[j] = append(g.picks[j], p)
}

// commit binds the pods of a gang if all that were missing have a place.
func (c *core) commit(j *job) bool {
	if _, waits := c.missing(j); waits {
		return false
	}
	for _, p := range c.gangs.picks[j] {
		if p.state == picked {
			c.send(p)
		}
	}
	delete(c.gangs.picks, j)
	delete(c.gangs.trying, j)
	j.vain = 0
	return true
}

// giveBack takes the places of a gang away again, and holds its tasks.
func (c *core) giveBack(j *job) {
	g := &c.gangs
	delete(g.trying, j)
	for _, p := range g.picks[j] {
		if p.state == picked { // otherwise it has ended, or somebody else has bound it
			c.putBack(p)
		}
	}
	delete(g.picks, j)
	for _, t := range j.tasks {
		t.blocked = false
	}
	for i := range j.spec.Phases[0].Tasks {
		if t := j.tasks[uint32(i)]; t != nil && t.run == nil {
			c.rest(t)
		}
	}
}

// putBack takes its place from a pod of a gang, which waits again.
func (c *core) putBack(p *pod) {
	c.refuse(p)
	p.state = waiting
	p.task.waiting = slices.Insert(p.task.waiting, 0, p)
	c.touch(p.task)
}

// rest holds a task of a gang that is ready.
func (c *core) rest(t *task) {
	if now, _ := c.truth.Task(t.id); now == account.Pending {
		c.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: t.id})
	}
}
