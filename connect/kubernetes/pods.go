package kubernetes

import (
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// workload is the layer of Jobs and pods.
type workload struct {
	places

	// orphans are the pods of Jobs that are not known, or that the policy has refused.
	orphans map[types.UID][]*pod

	declined map[types.UID]bool // Jobs that the policy may accept once there are more slots or fewer jobs
	asked    sojourn.Time       // when one of them was asked last
	expected []expectation      // the next one that is due is in front
	latest   sojourn.JobID      // the Job that was accepted last
	arrived  sojourn.Time       // when that was
	nextJob  sojourn.JobID

	waits map[string]*histogram // how long pods have waited, by pool

	marks  bool   // pods that wait say so by their condition
	words  int    // the most events a second that say why pods wait
	listed []*pod // pods that wait, and some that did: the next one to look at is in front
	sized  []*pod // likewise: those of which backfill looks whether they are short
}

// pod hears of a pod, in whatever state.
func (c *workload) pod(o *corev1.Pod) {
	p := c.pods[o.UID]
	if p == nil {
		p = &pod{}
		c.pods[o.UID] = p
	}
	going := p.state == running && o.DeletionTimestamp != nil && p.obj.DeletionTimestamp == nil
	p.obj = o
	c.reread(p)
	if p.task == nil && p.wrong == nil {
		c.attach(p)
	}
	if going {
		defer c.leave(p.task, true)
	}
	switch {
	case p.state == ended:
	case o.Status.Phase == corev1.PodSucceeded, o.Status.Phase == corev1.PodFailed:
		c.end(p, o.Status.Phase == corev1.PodSucceeded)
	case o.Spec.NodeName != "":
		c.bound(p)
	case o.DeletionTimestamp != nil && (p.state != picked || p.settled): // otherwise the answer to its bind will tell
		c.end(p, false)
	case p.state == unseen && p.task != nil && p.wrong == nil && len(o.Spec.SchedulingGates) == 0:
		if p.state = waiting; p.since == 0 {
			p.since = c.driver.Now()
			if made := o.CreationTimestamp; c.restoring && !made.IsZero() {
				p.since = min(p.since, Time(made.Time))
			}
		}
		p.task.waiting = append(p.task.waiting, p)
		c.touch(p.task)
		p.task.blocked = false // it may have other demands
		c.sync(p.task)
		c.listen(p)
		c.awaits(p)
		c.doubt(p)
	}
	switch {
	case c.shapes == nil:
	case p.state == running:
		c.grow(p)
	case p.state == foreign:
		c.foreign(p, 1)
	}
}

// reread takes from a pod what it demands and what its annotations say. Both may change: the demands until it has a node, since whoever
// holds it back by a gate may narrow them, and anybody may add tolerations and change the size of its containers.
func (c *workload) reread(p *pod) {
	o, first := p.obj, p.demand == nil
	changed := false
	if before := p.demand; p.state <= paused {
		p.demand = c.fits.demandOf(&o.Spec)
		c.fits.forget(before)
		changed = p.demand != before || p.want != nil && !maps.Equal(p.want.requests, requestsOf(&o.Spec))
	}
	before := p.notes
	p.notes = noted(o)
	j := c.jobs[o.UID]
	single := j != nil && j.single
	switch {
	case first:
		return
	case changed && c.shapes != nil:
		c.detach(p) // its class is another one
	case changed && p.state == waiting:
		p.told, p.task.blocked = "", false
		c.sync(p.task)
		c.doubt(p)
	}
	switch {
	case p.notes == before && !changed:
	case p.task == nil && p.state <= paused:
		p.wrong = nil // maybe
	case p.notes != before && single && p.state != ended:
		if err := c.redescribe(j, o, 1); err != nil && !errors.Is(err, sojourn.ErrUnknownJob) {
			c.act.warn(o, "NotRevised", "the job goes on as it was: "+explain(err))
		}
	}
}

// detach takes a pod without a node from its task.
func (c *workload) detach(p *pod) {
	t := p.task
	if t == nil {
		return
	}
	c.unwait(p)
	p.told, p.state, p.task = "", unseen, nil
	c.sync(t)
	c.leave(t, false)
	if j := c.jobs[p.obj.UID]; j != nil && j.single {
		c.jobGone(p.obj.UID)
	}
}

// podGone hears that a pod was deleted.
func (c *workload) podGone(uid types.UID) {
	if p := c.pods[uid]; p != nil {
		c.end(p, false)
		c.fits.forget(p.demand)
		c.unwant(uid)
		delete(c.pods, uid)
	}
}

// attach finds the task of a pod, if its job is known.
func (c *workload) attach(p *pod) {
	o := p.obj
	over := o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed
	if p.class, p.want, p.wrong = c.classOf(o.UID, &o.Spec); p.wrong == nil {
		p.wrong = placeable(&o.Spec)
	}
	if owner := batch.Owner(o); p.wrong == nil && owner != nil && !c.odd(owner.UID, p) {
		j := c.jobs[owner.UID]
		if p.task, p.wrong = c.taskOf(j, o); p.wrong == nil {
			if p.task == nil && !p.orphan && !over { // its Job is not known as yet, was refused, or has fewer completions
				p.orphan = true
				c.orphans[owner.UID] = append(c.orphans[owner.UID], p)
				c.listen(p)
			}
			if p.task != nil && !over {
				c.raise(j, o)
			}
			return
		}
	}
	p.orphan = false // if it was, its Job has released it
	if p.wrong == nil && !over {
		j := &job{single: true, tasks: map[uint32]*task{}}
		if p.wrong = c.arrive(j, o, 1, p.class, c.restoring && o.Spec.NodeName != ""); p.wrong == nil {
			c.jobs[o.UID] = j
			p.task = j.task(0)
		}
	}
	if p.wrong != nil && !over {
		c.act.warn(o, "NotScheduled", explain(p.wrong))
	}
}

// taskOf returns the task of a pod of a Job: that of its index, or any one without a pod. It returns nil if there is none as
// yet, and an error if there never will be.
func (c *workload) taskOf(j *job, o *corev1.Pod) (*task, error) {
	switch {
	case j == nil || j.id == 0:
		return nil, nil
	case j.obj == nil || j.obj.Namespace != o.Namespace:
		return nil, errors.New("the owner of the pod is no Job of its namespace")
	case indexed(j.obj):
		index, err := indexOf(o)
		if err != nil || int64(index) >= int64(j.spec.Phases[0].Tasks) {
			return nil, err
		}
		return j.task(index), nil
	}
	fresh := int64(j.fresh) < int64(j.spec.Phases[0].Tasks)
	for k := len(j.spare) - 1; k >= 0; k-- {
		t := j.tasks[j.spare[k]]
		if fresh && t.run != nil {
			break
		}
		if j.spare = j.spare[:k]; c.vacant(t) {
			return t, nil
		}
	}
	if fresh {
		j.fresh++
		return j.task(j.fresh - 1), nil
	}
	return nil, nil
}

// leave notes that a task of a Job without indexes may take another pod: before others if it has none, otherwise after them.
func (c *workload) leave(t *task, last bool) {
	if j := c.byID[t.id.Job]; j != nil && j.obj != nil && !indexed(j.obj) && c.vacant(t) {
		if last {
			j.spare = slices.Insert(j.spare, 0, t.id.Index)
		} else {
			j.spare = append(j.spare, t.id.Index)
		}
		c.reunite(j.obj.UID)
	}
}

// vacant reports whether a task is not done, and no pod of it runs on or waits.
func (c *workload) vacant(t *task) bool {
	if len(t.waiting) > 0 || t.run != nil && t.run.obj.DeletionTimestamp == nil {
		return false
	}
	if t.run != nil {
		return true
	}
	now, _ := c.truth.Task(t.id)
	return now == account.Held || now == account.Pending
}

// raise gives a job the priority of one of its pods.
func (c *workload) raise(j *job, o *corev1.Pod) {
	spec := *j.spec
	if c.rank(&spec, o) && c.driver.Observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &spec}) == nil {
		j.spec = &spec
	}
}

func (j *job) task(index uint32) *task {
	t := j.tasks[index]
	if t == nil {
		t = &task{id: sojourn.TaskID{Job: j.id, Index: index}}
		j.tasks[index] = t
	}
	return t
}

// sync holds a task or makes it ready, as it has a pod that waits.
func (c *known) sync(t *task) {
	now, last := c.truth.Task(t.id)
	ev := sojourn.Event{Task: t.id}
	if t.last > last && c.features&sojourn.FeatureAttempts != 0 {
		ev.Attempt = t.last
	}
	switch {
	case now == account.Held && len(t.waiting) > 0 && !t.blocked && !c.gated(t):
		ev.Kind = sojourn.TaskReady
	case now == account.Pending && len(t.waiting) == 0:
		ev.Kind = sojourn.TaskHeld
	default:
		return
	}
	c.must(ev)
}

// unwait takes a pod out of those that wait.
func (c *known) unwait(p *pod) {
	c.touch(p.task)
	if i := slices.Index(p.task.waiting, p); i >= 0 {
		p.task.waiting = slices.Delete(p.task.waiting, i, i+1)
	}
}

// bound hears that a pod has a node.
func (c *workload) bound(p *pod) {
	switch p.state {
	case picked:
		if p.node.name == p.obj.Spec.NodeName {
			p.state = running
			return
		}
		c.refuse(p) // somebody else was faster
	case running, foreign, ended:
		return
	}
	c.adopt(p)
}

// refuse gives back what a pod was assigned.
func (c *workload) refuse(p *pod) {
	c.must(driver.Refused(sojourn.Assignment{Task: p.task.id, Attempt: p.attempt, Slot: p.slot}))
	c.vacate(p)
	p.task.run, p.state, p.killing = nil, paused, false
	c.touch(p.task)
	c.sync(p.task)
}

// adopt takes over a pod that somebody else has bound, or this scheduler before a restart.
func (c *workload) adopt(p *pod) {
	p.node = c.nodeOf(p.obj.Spec.NodeName)
	if p.task != nil {
		c.unwait(p)
		now, last := c.truth.Task(p.task.id)
		if now == account.Held {
			c.must(sojourn.Event{Kind: sojourn.TaskReady, Task: p.task.id})
			now = account.Pending
		}
		if now == account.Pending {
			var age time.Duration
			if s := p.obj.Status.StartTime; s != nil {
				age = max(0, time.Since(s.Time))
			}
			p.slot, p.attempt, p.state = c.takeSlot(p.node, p.class), max(attemptOf(p.obj), last+1), running
			c.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: p.task.id, Attempt: p.attempt, Slot: sojourn.Slot{ID: p.slot}, Service: age})
			c.occupied(p)
			p.task.run = p
			c.resize(p.node, p.class)
			return
		}
	}
	p.state = foreign
	c.foreign(p, 1)
}

// foreign counts the slots that a pod takes beside the policy, or no longer takes.
func (c *workload) foreign(p *pod, sign int) {
	if c.shapes != nil {
		if sign < 0 {
			c.strangerGone(p.obj.UID)
		} else {
			c.count(p.obj.UID, p.node, takes(p.obj))
		}
		return
	}
	for i, n := range requests(c.slots, &p.obj.Spec) {
		p.node.classes[i].foreign += sign * n
		c.resize(p.node, sojourn.Class(i))
	}
	c.forget(p.node)
}

// end hears that a pod is over, or will never run.
func (c *workload) end(p *pod, ok bool) {
	before := p.state
	if before == ended {
		return
	}
	p.state = ended
	switch before {
	case picked, running:
		a := sojourn.Assignment{Task: p.task.id, Attempt: p.attempt, Slot: p.slot}
		ev := driver.Finished(a)
		switch {
		case ok:
		case p.killing:
			ev = driver.Failed(a, sojourn.CausePreempted)
		case before == picked && p.obj.Spec.NodeName == "":
			ev = driver.Refused(a)
		default:
			ev = driver.Failed(a, sojourn.CauseTask)
		}
		c.must(ev)
		p.task.run = nil
		c.vacate(p)
	case foreign:
		c.foreign(p, -1)
	}
	if t := p.task; t != nil {
		c.unwait(p)
		t.last = max(t.last, attemptOf(p.obj))
		if now, _ := c.truth.Task(t.id); ok && (now == account.Held || now == account.Pending) {
			c.must(sojourn.Event{Kind: sojourn.TaskDone, Task: t.id}) // it ended while nobody watched
		}
		c.sync(t)
		c.leave(t, false)
	}
	if j := c.jobs[p.obj.UID]; j != nil && j.single {
		c.jobGone(p.obj.UID)
	}
}

// bindFailed hears that the API server has refused a bind, and returns how long the pod waits before it
// may try again; 0 if it may not. Gone says that the pod is not there: its informer tells, and until then
// its slot stays taken. Seen, unless nil, is the pod as it was read after the refusal.
func (c *workload) bindFailed(uid types.UID, attempt uint32, gone bool, seen *corev1.Pod) time.Duration {
	p := c.pods[uid]
	if p == nil || p.state != picked || p.attempt != attempt {
		return 0 // the informer was faster
	}
	if seen == nil {
		seen = p.obj
	}
	if gone || seen.Spec.NodeName != "" || seen.DeletionTimestamp != nil {
		p.settled = true
		c.pod(seen)
		return 0
	}
	c.refuse(p)
	c.pod(p.obj) // it may be on its way out
	if p.state != paused {
		return 0
	}
	p.pause = min(max(retry, 2*p.pause), maxRetry)
	return p.pause
}

// again lets a pod try again after a refused bind.
func (c *workload) again(uid types.UID) {
	if p := c.pods[uid]; p != nil && p.state == paused {
		p.state = unseen
		c.pod(p.obj)
	}
}

// victim returns the pod of an attempt that is to be evicted; nil if it does not run any more.
func (c *workload) victim(uid types.UID, attempt uint32) *pod {
	if p := c.pods[uid]; p != nil && p.killing && p.attempt == attempt && (p.state == picked || p.state == running) {
		return p
	}
	return nil
}

// maxEvictions bounds how often an eviction is asked for that a disruption budget forbids for now, once a second.
const maxEvictions = 10

// evictAgain asks anew to evict a pod, unless it has ended, or was asked for often enough and another pod may do as well.
func (c *workload) evictAgain(uid types.UID, attempt uint32) {
	p := c.victim(uid, attempt)
	if p == nil {
		return
	}
	if p.evictions++; p.evictions >= maxEvictions {
		c.spared(uid, attempt)
		return
	}
	c.act.evict(p.obj, attempt)
}

// spared hears that a pod may not be evicted: it ends as any other, and the policy may choose another victim.
func (c *workload) spared(uid types.UID, attempt uint32) {
	if p := c.victim(uid, attempt); p != nil {
		p.killing, p.evictions = false, 0
		c.stays(sojourn.Preemption{Task: p.task.id, Attempt: p.attempt, Slot: p.slot})
	}
}
