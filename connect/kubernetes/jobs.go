package kubernetes

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/driver"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// job hears of a Job, in whatever state.
func (c *workload) job(o *batchv1.Job) {
	j, suspended := c.jobs[o.UID], batch.Suspended(o)
	if o.Spec.Template.Spec.SchedulerName != c.name {
		return
	}
	if batch.Over(o) {
		c.jobGone(o.UID)
		return
	}
	_, admitted := o.Annotations[Admitted]
	switch {
	case j != nil && j.id != 0 && j.notes != notes(o):
		c.revise(j, o)
	case j != nil && j.id != 0, j == nil && suspended && admitted:
	case suspended && !seeksAdmission(o): // or not any longer
		delete(c.jobs, o.UID)
		delete(c.declined, o.UID)
	case j != nil && j.notes == notes(o):
		j.obj = o
	default:
		c.ask(o)
	}
}

// seeksAdmission reports whether a suspended Job is to be resumed when the policy accepts it: see [Admit].
func seeksAdmission(o *batchv1.Job) bool {
	ran := o.Status.StartTime != nil || o.Status.Succeeded > 0 || o.Status.Failed > 0
	return o.Labels[Admit] == "true" && !batch.Others(o) && !ran
}

// ask asks the policy to accept a Job that it does not have.
func (c *workload) ask(o *batchv1.Job) {
	n, cl, err := c.shape(o)
	if n == 0 && err == nil {
		return
	}
	if err == nil && c.mustWait(o) {
		c.jobs[o.UID] = &job{notes: notes(o), obj: o}
		c.declined[o.UID], c.room = true, true
		return
	}
	j, before := &job{notes: notes(o), tasks: map[uint32]*task{}}, c.jobs[o.UID]
	c.jobs[o.UID] = j
	delete(c.declined, o.UID)
	if err == nil {
		err = c.arrive(j, o, n, cl, c.restoring && !batch.Suspended(o) && !batch.Is(o, Rejected))
	}
	if err != nil {
		j.obj, j.refusal = o, explain(err)
		if errors.Is(err, sojourn.ErrRejected) {
			c.declined[o.UID], c.asked = true, c.driver.Now()
		}
		again := before != nil && before.notes == j.notes && before.refusal != ""
		if !again || before.refusal != j.refusal {
			c.act.reject(o, j.refusal, again)
		}
		return
	}
	if c.promises(o) {
		c.latest, c.arrived = j.id, c.driver.Now()
	}
	if batch.Suspended(o) {
		c.act.admit(o)
	}
	if before != nil && before.refusal != "" || batch.Is(o, Rejected) {
		c.act.accept(o)
	}
	c.reunite(o.UID)
}

// podsTime is how long the pods of a Job that was accepted may take before the next Job is looked at.
const podsTime = 10 * time.Second

// promises reports whether the policy would promise a Job that it meets its deadline. It can do so only if
// no task of any such Job is held, and says so by not knowing of tasks that are held at first.
func (c *workload) promises(o *batchv1.Job) bool {
	_, ok := sojourn.As[sojourn.Promiser](c.truth)
	return ok && c.features&sojourn.FeatureHeld == 0 && o.Annotations[Deadline] != ""
}

// mustWait reports whether a Job cannot be judged yet, since a promise depends on pods that are not known:
// those of the Job that was accepted last, or those that run.
func (c *workload) mustWait(o *batchv1.Job) bool {
	if !c.promises(o) {
		return false
	}
	if c.restoring {
		return batch.Suspended(o)
	}
	j, live := c.truth.Job(c.latest)
	return live && j.Held > 0 && c.driver.Now().Sub(c.arrived) < podsTime
}

// reunite hears again of the pods that waited for their Job.
func (c *workload) reunite(uid types.UID) {
	orphans := c.orphans[uid]
	delete(c.orphans, uid)
	for _, p := range orphans {
		if p.orphan = false; p.state != ended { // and may be gone
			c.pod(p.obj)
		}
	}
}

// askAgain asks the policy anew about the Jobs that it has declined, the oldest first, if there may be
// room for them now. It returns how long to wait otherwise: the more Jobs, the longer.
func (c *workload) askAgain() time.Duration {
	if !c.room || len(c.declined) == 0 {
		return driver.Never
	}
	wait := max(time.Second, time.Duration(len(c.declined))*10*time.Millisecond)
	if left := wait - c.driver.Now().Sub(c.asked); left > 0 {
		return left
	}
	c.room = false
	for _, uid := range slices.SortedFunc(maps.Keys(c.declined), func(a, b types.UID) int {
		x, y := c.jobs[a].obj.CreationTimestamp, c.jobs[b].obj.CreationTimestamp
		if d := x.Compare(y.Time); d != 0 {
			return d
		}
		return strings.Compare(string(a), string(b))
	}) {
		c.ask(c.jobs[uid].obj)
	}
	return driver.Never
}

// revise tells the policy of other annotations, or of more completions. If there are fewer, the policy
// keeps the tasks: they had pods.
func (c *workload) revise(j *job, o *batchv1.Job) {
	j.notes = notes(o)
	was := j.spec.Phases[0].Tasks
	n := max(was, batch.Tasks(o))
	err := c.redescribe(j, o, n)
	switch {
	case err == nil:
		j.state = gangState{}
		c.hold(j, was)
		if n > was {
			c.reunite(o.UID)
		}
	case !errors.Is(err, sojourn.ErrUnknownJob): // which is one whose tasks are all done
		c.act.warn(o, "NotRevised", "the job goes on as it was: "+explain(err))
	case n > was:
		c.extend(j, o, was)
	}
}

// redescribe tells the policy of other annotations of a Job, or of a pod that is a job of its own.
func (c *workload) redescribe(j *job, o metav1.Object, n int) error {
	spec, err := c.limits.Describe(o, n)
	if err != nil {
		return err
	}
	spec.ID, spec.Priority = j.id, j.spec.Priority
	spec.Phases[0].Held, spec.Phases[0].Class = j.spec.Phases[0].Held, j.spec.Phases[0].Class
	if err := c.driver.Observe(sojourn.Event{Kind: sojourn.JobRevised, Job: spec}); err != nil {
		return err
	}
	j.spec = spec
	for _, i := range slices.Sorted(maps.Keys(j.tasks)) { // they may say now how long they take
		for _, p := range j.tasks[i].waiting {
			c.awaits(p)
		}
	}
	return nil
}

// extend makes a job anew whose tasks were all done, and which has more of them now.
func (c *workload) extend(j *job, o *batchv1.Job, done int) {
	delete(c.byID, j.id)
	delete(c.jobs, o.UID)
	c.ask(o)
	next := c.jobs[o.UID]
	for i := 0; i < done && next.id != 0; i++ {
		c.must(sojourn.Event{Kind: sojourn.TaskDone, Task: next.task(uint32(i)).id})
	}
	next.fresh = uint32(done)
}

// mostHeld is how many tasks a job may have whose tasks must be held one by one.
const mostHeld = 1 << 14

// shape returns the number of a Job's tasks and the class of their slots. A Job that runs needs no tasks;
// one that asks for admission would wait for ever.
func (c *workload) shape(o *batchv1.Job) (n int, cl sojourn.Class, err error) {
	n = batch.Tasks(o)
	switch {
	case n == 0 && batch.Suspended(o):
		return 0, 0, errors.New("the Job has no completions, so there is nothing to admit")
	case n == 0:
		return 0, 0, nil
	case n > mostHeld && c.features&sojourn.FeatureHeld == 0:
		return 0, 0, fmt.Errorf("the policy is told of each task by itself: want at most %d completions, not %d", mostHeld, n)
	}
	if most := o.Spec.Parallelism; most != nil && int(*most) < n && c.promises(o) {
		return 0, 0, fmt.Errorf("no deadline can be promised to a Job with fewer pods at a time (spec.parallelism %d) than completions (%d)", *most, n)
	}
	cl, _, err = c.classOf(o.UID, &o.Spec.Template.Spec)
	if err == nil {
		err = c.limits.gang(o)
	}
	if err == nil {
		err = placeable(&o.Spec.Template.Spec)
	}
	return n, cl, err
}

// arrive tells the policy of a new job.
func (c *workload) arrive(j *job, o metav1.Object, n int, cl sojourn.Class, adopted bool) error {
	spec, err := c.limits.Describe(o, n)
	if err != nil {
		return err
	}
	spec.ID = c.nextJob + 1
	spec.Phases[0].Class, spec.Phases[0].Held = cl, c.features&sojourn.FeatureHeld != 0
	if p, ok := o.(*corev1.Pod); ok {
		c.rank(spec, p)
	}
	ev := sojourn.Event{Kind: sojourn.JobArrived, Job: spec}
	if adopted {
		ev.Kind, ev.Service = sojourn.JobAdopted, max(0, time.Since(o.GetCreationTimestamp().Time))
	}
	if err := c.driver.Observe(ev); err != nil {
		return err
	}
	c.nextJob++
	j.id, j.spec, j.want = spec.ID, spec, c.wantOf(o.GetUID())
	c.byID[j.id] = j
	c.hold(j, 0)
	if o, ok := o.(*batchv1.Job); ok {
		j.obj = o
		if _, gang := o.Labels[Gang]; gang {
			c.enroll(j)
		}
		c.expected = append(c.expected, expectation{j, c.driver.Now().Add(podless)})
	}
	return nil
}

// rank gives a job the priority of a pod of it, if the policy knows priorities. It reports whether that is another one.
func (c *workload) rank(spec *sojourn.Job, o *corev1.Pod) bool {
	if o.Spec.Priority == nil || *o.Spec.Priority == spec.Priority || c.features&sojourn.FeaturePriority == 0 {
		return false
	}
	spec.Priority = *o.Spec.Priority
	return true
}

// podless is how long a Job that was accepted may have no pods before an event says so.
const podless = 15 * time.Second

// An expectation is a Job that should have pods by then.
type expectation struct {
	job *job
	due sojourn.Time
}

// miss warns of Jobs whose pods have not come. It returns how long to wait before the next call.
func (c *workload) miss() time.Duration {
	for len(c.expected) > 0 {
		e := c.expected[0]
		if left := e.due.Sub(c.driver.Now()); left > 0 {
			return left
		}
		c.expected[0], c.expected = expectation{}, c.expected[1:]
		if c.jobs[e.job.obj.UID] == e.job && len(e.job.tasks) == 0 {
			c.act.warn(e.job.obj, "NoPods", fmt.Sprintf("the policy has accepted the Job, and none of its pods has come in %v", podless))
		}
	}
	return driver.Never
}

// hold holds the tasks of a job from one on, unless they begin so.
func (c *workload) hold(j *job, from int) {
	for i := from; i < j.spec.Phases[0].Tasks && !j.spec.Phases[0].Held; i++ {
		c.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: j.id, Index: uint32(i)}})
	}
}

// explain says why a job was refused, and which deadline would be accepted.
func explain(err error) string {
	var r *sojourn.RejectedError
	if errors.As(err, &r) && r.Offer != 0 {
		who := "the job"
		if r.Misses != r.Job {
			who = "a job that was accepted before"
		}
		return fmt.Sprintf("%s would miss its deadline; a deadline of %s or later would be accepted", who, epoch.Add(time.Duration(r.Offer)+time.Second-1).Format(time.RFC3339))
	}
	var e *sojourn.EventError
	if errors.As(err, &e) {
		return e.Err.Error()
	}
	return err.Error()
}

// jobGone hears that a Job needs no more pods.
func (c *workload) jobGone(uid types.UID) {
	c.unwant(uid)
	j := c.jobs[uid]
	delete(c.orphans, uid)
	delete(c.declined, uid)
	if j == nil {
		return
	}
	delete(c.jobs, uid)
	if j.id != 0 {
		c.room = true
		delete(c.byID, j.id)
		if _, live := c.truth.Job(j.id); live {
			c.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.id}})
		}
	}
}
