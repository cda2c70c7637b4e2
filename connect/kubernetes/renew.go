package kubernetes

import (
	"maps"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/shape"
)

// renew puts a new policy in the place of the one that there is, and tells it all that is true.
func (c *shaped) renew(p sojourn.Policy) error {
	s, old := c.shapes, c.truth
	truth := account.New(p)
	features := sojourn.Supports(truth)
	if err := sojourn.FeatureHeld.Check(features); err != nil {
		return err
	}
	d, err := driver.New(truth, driver.Options{Now: s.now, Preempt: time.Second, Started: c.started})
	if err != nil {
		return err
	}
	// Not AnyNode, although a demand is a part of a shape, so that nothing would be lost: BenchmarkShapes is no faster with it,
	// since a pod costs far more than the events of its slots. It would also take a look at Place in freeFor, because a class
	// may then have a slot and no room.
	cluster, err := shape.New(truth, shape.Options{Shapes: s.forms, Patience: s.config.Patience})
	if err != nil {
		return err
	}
	c.truth, c.driver, c.features, s.cluster = truth, d, features, cluster
	c.fits.epoch++
	c.home, s.byID = map[sojourn.SlotID]*node{}, map[sojourn.NodeID]*node{}
	for _, n := range slices.SortedFunc(maps.Values(c.nodes), func(a, b *node) int { return int(a.id) - int(b.id) }) {
		n.pods = 0
		c.resized(n)
	}
	if old == nil {
		return nil
	}
	c.retell(old)
	return nil
}

// retell tells the policy of the jobs that an older one had, of what runs, and of what has ended.
func (c *shaped) retell(old *account.Account) {
	runs, on := map[sojourn.TaskID]*pod{}, c.on
	for _, p := range on {
		runs[p.task.id] = p
	}
	c.on = map[sojourn.SlotID]*pod{}
	attempts := map[sojourn.JobID][]account.Attempt{}
	for a := range old.Attempts() {
		attempts[a.Task.Job] = append(attempts[a.Task.Job], a)
	}
	for j := range old.Jobs() {
		spec, known := *j.Spec, c.byID[j.Spec.ID]
		spec.Phases = slices.Clone(spec.Phases)
		if known != nil {
			spec.Phases[0].Class = known.want.class
			known.spec = &spec
		} else {
			spec.Phases[0].Class = on[attempts[spec.ID][0].Slot.ID].want.class // it is cancelled, and something runs
		}
		c.must(sojourn.Event{Kind: sojourn.JobAdopted, Job: &spec, Service: j.Age})
		for _, a := range attempts[spec.ID] {
			c.readopt(runs[a.Task], a)
		}
		if known == nil {
			c.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: spec.ID}})
			continue
		}
		for _, i := range slices.Sorted(maps.Keys(known.tasks)) { // all others are held, and never had a pod
			c.retellTask(old, known, i)
		}
	}
}

// readopt tells the policy of an attempt that runs.
func (c *shaped) readopt(p *pod, a account.Attempt) {
	p.class = p.want.class
	c.must(sojourn.Event{Kind: sojourn.TaskReady, Task: a.Task})
	p.slot = c.adopted(p.node, p.class)
	c.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: a.Task, Attempt: a.Number, Slot: sojourn.Slot{ID: p.slot}, Service: a.Service})
	c.on[p.slot] = p
}

// retellTask tells the policy of a task that does not run.
func (c *shaped) retellTask(old *account.Account, j *job, index uint32) {
	id, t := sojourn.TaskID{Job: j.id, Index: index}, j.tasks[index]
	now, last := old.Task(id)
	switch {
	case now == account.Done:
		c.must(sojourn.Event{Kind: sojourn.TaskDone, Task: id})
	case now != account.Running:
		t.last = max(t.last, last)
		c.sync(t)
	}
	for _, p := range t.waiting {
		p.class = p.want.class
	}
}
