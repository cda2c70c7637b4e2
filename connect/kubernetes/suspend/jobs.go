package suspend

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/driver"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// restore hears of the Jobs that are there at the start: first of those that the policy had, or that run.
func (c *core) restore(list []*batchv1.Job) {
	slices.SortFunc(list, byAge)
	for _, known := range []bool{true, false} {
		for _, o := range list {
			if started(o) == known {
				c.job(o)
			}
		}
	}
}

// started reports whether a Job has been admitted, or runs already.
func started(o *batchv1.Job) bool {
	return o.Annotations[kubernetes.Admitted] != "" || o.Status.Active > 0 && !batch.Is(o, kubernetes.Rejected)
}

// job hears of a Job, in whatever state.
func (c *core) job(o *batchv1.Job) {
	j := c.jobs[o.UID]
	if batch.Over(o) || batch.Others(o) {
		c.gone(o.UID)
		return
	}
	if j == nil {
		j = &job{}
		c.jobs[o.UID] = j
	} else if order, err := resourceversion.CompareResourceVersion(o.ResourceVersion, j.obj.ResourceVersion); err == nil && order < 0 {
		return // the answer to a patch was faster
	}
	j.obj = o
	c.need(j, o)
	defer c.weigh(j)
	c.touch(j)
	if before := j.notes; before != notes(o) {
		j.notes = notes(o)
		if j.id == 0 {
			c.ask(j)
		} else {
			c.revise(j)
		}
	}
	if j.id != 0 {
		c.progress(j)
	}
}

// ask asks the policy to accept a Job.
func (c *core) ask(j *job) {
	c.declined = slices.DeleteFunc(c.declined, func(uid types.UID) bool { return uid == j.obj.UID })
	err := c.arrive(j)
	before := j.refusal
	if err == nil {
		j.refusal = ""
		if before != "" || batch.Is(j.obj, kubernetes.Rejected) {
			c.act.condition(j.obj, false, "the job was accepted after all")
		}
		return
	}
	if errors.Is(err, sojourn.ErrRejected) {
		c.declined = append(c.declined, j.obj.UID)
	}
	if j.refusal = kubernetes.Refusal(err); j.refusal != before {
		c.act.warn(j.obj, "AdmissionRejected", j.refusal)
		c.act.condition(j.obj, true, j.refusal)
	}
}

// askAgain asks anew about Jobs that were declined, if there are fewer jobs since.
func (c *core) askAgain() {
	if !c.fewer {
		return
	}
	c.fewer = false
	for _, uid := range slices.Clone(c.declined) {
		if j := c.jobs[uid]; j != nil {
			c.ask(j)
			c.weigh(j)
			c.touch(j)
		}
	}
}

// arrive tells the policy of a job, and of its pods if it has some.
func (c *core) arrive(j *job) error {
	o := j.obj
	if o.Spec.Completions == nil {
		return errors.New("the Job has no spec.completions, so nobody knows how many pods it needs")
	}
	if *o.Spec.Completions == 0 {
		return nil
	}
	w, err := parallelismOf(o)
	if err != nil {
		return err
	}
	n := int(*o.Spec.Completions)
	spec, err := c.limits.Describe(o, n)
	if err != nil {
		return err
	}
	if w < n && spec.Deadline != 0 && c.features&sojourn.FeatureHeld == 0 {
		return fmt.Errorf("no deadline can be promised to a Job with fewer pods at a time (%d) than completions (%d)", w, n)
	}
	spec.ID = c.nextJob + 1
	spec.Phases[0].Held = (w < n || c.room != nil) && c.features&sojourn.FeatureHeld != 0
	ev := sojourn.Event{Kind: sojourn.JobArrived, Job: spec}
	if started(o) {
		ev.Kind, ev.Service = sojourn.JobAdopted, max(0, time.Since(o.CreationTimestamp.Time))
	}
	if err := c.driver.Observe(ev); err != nil {
		return err
	}
	c.nextJob++
	j.id, j.spec, j.n, j.parallelism, j.edge = spec.ID, spec, n, w, uint32(n)
	done, failed := ended(o)
	j.succeeded, j.failed = 0, failed
	if j.admitted = o.Annotations[kubernetes.Admitted]; j.admitted == "" {
		j.admitted = time.Now().UTC().Format(time.RFC3339)
	}
	c.byID[j.id] = j
	if spec.Phases[0].Held {
		j.edge = 0
	}
	j.paused = batch.Suspended(o) && granted(o) > 0
	for j.succeeded < min(n, done) {
		c.succeed(j)
	}
	c.fit(j)
	if !j.paused {
		c.adopt(j)
	}
	return nil
}

// adopt makes grants of the pods that a Job has already.
func (c *core) adopt(j *job) {
	age := time.Duration(0)
	if s := j.obj.Status.StartTime; s != nil {
		age = max(0, time.Since(s.Time))
	}
	for range j.obj.Status.Active {
		task, ok := c.pending(j)
		if !ok {
			return
		}
		slot, extra := c.idle()
		extra = extra && c.room == nil
		g := &grant{a: sojourn.Assignment{Task: task, Attempt: 1, Slot: slot}, job: j, covered: true, since: c.driver.Now() - sojourn.Time(age)}
		c.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: task, Attempt: 1, Slot: sojourn.Slot{ID: slot}, Service: age})
		if extra { // it leaves with the pod
			c.slots--
			c.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: slot}})
		}
		c.give(g)
		j.covered++
	}
}

// idle returns a free slot, or one more than there are.
func (c *core) idle() (id sojourn.SlotID, extra bool) {
	for s := range c.truth.Slots() {
		if c.on[s.ID] == nil {
			return s.ID, false
		}
	}
	return c.addSlot(), true
}

// revise tells the policy of other annotations, or of more completions.
func (c *core) revise(j *job) {
	o := j.obj
	w, err := parallelismOf(o)
	n := j.n
	if o.Spec.Completions != nil {
		n = max(n, int(*o.Spec.Completions))
	}
	var spec *sojourn.Job
	if err == nil {
		spec, err = c.limits.Describe(o, n)
	}
	if err == nil {
		spec.ID, spec.Phases[0].Held = j.id, j.spec.Phases[0].Held
		err = c.driver.Observe(sojourn.Event{Kind: sojourn.JobRevised, Job: spec})
	}
	if err != nil {
		if !errors.Is(err, sojourn.ErrUnknownJob) {
			c.act.warn(o, "NotRevised", "the job goes on as it was: "+kubernetes.Refusal(err))
		}
		return
	}
	if !spec.Phases[0].Held && int(j.edge) == j.n {
		j.edge = uint32(n)
	}
	j.spec, j.n, j.parallelism = spec, n, w
	c.fit(j)
}

// progress tells the policy which pods have ended since it was told last, and whether the user has suspended
// the Job.
func (c *core) progress(j *job) {
	o := j.obj
	done, failed := ended(o)
	for j.succeeded < min(j.n, done) {
		c.succeed(j)
	}
	for ; j.failed < failed; j.failed++ {
		if g := j.oldest(); g != nil {
			c.drop(g, driver.Failed(g.a, sojourn.CauseTask))
		}
	}
	paused := batch.Suspended(o) && granted(o) > 0
	if paused != j.paused {
		j.paused = paused
		for paused && len(j.grants) > 0 {
			c.drop(j.grants[0], driver.Failed(j.grants[0].a, sojourn.CauseSlotLost))
		}
	}
	for j.dying > 0 && int(o.Status.Active) <= j.covered-j.dying {
		i := slices.IndexFunc(j.grants, func(g *grant) bool { return g.dying })
		c.drop(j.grants[i], driver.Failed(j.grants[i].a, sojourn.CausePreempted))
	}
	c.fit(j)
}

// succeed tells the policy that one more task of a job is done: that of its oldest pod.
func (c *core) succeed(j *job) {
	j.succeeded++
	if g := j.oldest(); g != nil {
		c.drop(g, driver.Finished(g.a))
	} else if task, ok := c.pending(j); ok {
		c.must(sojourn.Event{Kind: sojourn.TaskDone, Task: task})
	} else if len(j.grants) > 0 {
		c.drop(j.grants[0], driver.Finished(j.grants[0].a))
	}
	c.fit(j)
}

// pending returns a task that neither runs nor is done, not held if there is one. If it was held, it is no
// longer.
func (c *core) pending(j *job) (sojourn.TaskID, bool) {
	if _, live := c.truth.Job(j.id); !live {
		return sojourn.TaskID{}, false
	}
	for i := range uint32(j.n) {
		if i >= j.edge {
			j.edge = i + 1
		}
		task := sojourn.TaskID{Job: j.id, Index: i}
		switch state, _ := c.truth.Task(task); state {
		case account.Held:
			c.must(sojourn.Event{Kind: sojourn.TaskReady, Task: task})
			j.parked = slices.DeleteFunc(j.parked, func(p uint32) bool { return p == i })
			return task, true
		case account.Pending:
			return task, true
		}
	}
	return sojourn.TaskID{}, false
}

// fit holds tasks and releases them, so that no more may run than the Job allows at a time.
func (c *core) fit(j *job) {
	live, ok := c.truth.Job(j.id)
	if !ok {
		return
	}
	want := min(j.parallelism, live.Left)
	if c.room != nil {
		want = min(want, live.Running+window)
	}
	if j.paused || j.blocked {
		want = live.Running
	}
	open := live.Left - live.Held
	for ; open < want; open++ {
		i := j.edge
		if k := len(j.parked); k > 0 {
			i, j.parked = j.parked[k-1], j.parked[:k-1]
		} else {
			j.edge++
		}
		c.must(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: j.id, Index: i}})
	}
	for i := j.edge; i > 0 && open > want; i-- {
		task := sojourn.TaskID{Job: j.id, Index: i - 1}
		if state, _ := c.truth.Task(task); state == account.Pending {
			c.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: task})
			j.parked = append(j.parked, i-1)
			open--
		}
	}
}

// gone hears that a Job is over, is deleted, or has lost its label.
func (c *core) gone(uid types.UID) {
	j := c.jobs[uid]
	if j == nil {
		return
	}
	delete(c.jobs, uid)
	c.declined = slices.DeleteFunc(c.declined, func(u types.UID) bool { return u == uid })
	if j.id != 0 {
		c.fewer = true
		if _, live := c.truth.Job(j.id); live {
			c.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.id}})
		}
		for len(j.grants) > 0 {
			c.drop(j.grants[0], driver.Failed(j.grants[0].a, sojourn.CauseSlotLost))
		}
		delete(c.byID, j.id)
	}
	c.occupy(j, 0)
	if c.room != nil {
		c.room.stale = true
	}
}

// notes joins what describes a Job and may change.
func notes(o *batchv1.Job) string {
	a, n := o.Annotations, int32(-1)
	if o.Spec.Completions != nil {
		n = *o.Spec.Completions
	}
	w, ok := a[Parallelism]
	if !ok {
		w = fmt.Sprint(*o.Spec.Parallelism)
	}
	return fmt.Sprintf("%q %d", []string{a[kubernetes.Size], a[kubernetes.Weight], a[kubernetes.Deadline], a[kubernetes.Pool], w}, n)
}
