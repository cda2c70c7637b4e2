package kubernetes

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// An actuator carries out what a core decides. Its methods return at once.
type actuator interface {
	bind(p *corev1.Pod, node string, attempt uint32)
	evict(p *corev1.Pod)
	admit(o *batchv1.Job)
	reject(o *batchv1.Job, message string)
	warn(o runtime.Object, reason, message string)
}

// A core is what the scheduler knows of the cluster, and owns the policy. It is for one goroutine.
type core struct {
	name     string
	slots    []corev1.ResourceName
	selector labels.Selector
	truth    *account.Account
	driver   *driver.Driver
	features sojourn.Features
	act      actuator

	// restoring says that what is heard was there before the scheduler started.
	restoring bool

	nodes map[string]*node
	jobs  map[types.UID]*job // by the UID of the Job, or of a pod that is a job of its own
	byID  map[sojourn.JobID]*job
	pods  map[types.UID]*pod
	home  map[sojourn.SlotID]*node
	// orphans are the pods of Jobs that are not known, or that the policy has refused.
	orphans map[types.UID][]*pod
	on      map[sojourn.SlotID]*pod // the picked or running pod of each busy slot
	spare   []sojourn.SlotID

	nextJob  sojourn.JobID
	nextNode sojourn.NodeID
	nextSlot sojourn.SlotID
}

// A job is a job of the policy, or one that the policy has refused.
type job struct {
	id     sojourn.JobID // 0 if the policy does not have it
	spec   *sojourn.Job
	notes  string // the annotations that spec, or the refusal, is about
	single bool   // a pod that is a job of its own
	tasks  map[uint32]*task
}

// A task has at most one pod that is picked or runs, and any number that wait: a Job makes the next pod
// while the last one still ends.
type task struct {
	id      sojourn.TaskID
	run     *pod
	waiting []*pod
	last    uint32 // the greatest number of an attempt that was seen on a pod
}

type state uint8

const (
	unseen  state = iota // waits for its Job, for its gates, or for ever if it is wrong
	waiting              // in waiting of its task
	paused               // the API server has refused its bind a moment ago
	picked               // assigned, and the bind is on its way
	running              // bound
	foreign              // bound, but no attempt of the policy; takes a slot of its node
	ended
)

type pod struct {
	obj     *corev1.Pod // as it was heard of last
	state   state
	task    *task // nil until its job is known
	class   sojourn.Class
	wrong   error // why it is never placed
	attempt uint32
	slot    sojourn.SlotID // while picked or running
	node    *node          // while picked, running or foreign
	killing bool
	settled bool // the API server has said that it will not be bound by us
	orphan  bool // in orphans, or was
}

func newCore(c Config, selector labels.Selector, act actuator, now func() sojourn.Time) (*core, error) {
	truth := account.New(c.Policy)
	d, err := driver.New(truth, driver.Options{Now: now, Preempt: time.Second})
	if err != nil {
		return nil, err
	}
	return &core{
		name: c.Name, slots: c.Slots, selector: selector, truth: truth, driver: d, features: sojourn.Supports(truth), act: act,
		nodes: map[string]*node{}, jobs: map[types.UID]*job{}, byID: map[sojourn.JobID]*job{}, pods: map[types.UID]*pod{},
		home: map[sojourn.SlotID]*node{}, orphans: map[types.UID][]*pod{}, on: map[sojourn.SlotID]*pod{},
	}, nil
}

func nodeLabels(n *corev1.Node) labels.Set { return n.Labels }

// must reports an event that fits, unless this package is wrong.
func (c *core) must(ev sojourn.Event) {
	if err := c.driver.Observe(ev); err != nil {
		panic(fmt.Sprintf("kubernetes: %v", err))
	}
}

// settle starts what the policy wants, and returns how long it may wait for the next call.
func (c *core) settle() (time.Duration, error) {
	r := c.driver.Settle()
	for _, a := range r.Starts {
		t := c.byID[a.Task.Job].tasks[a.Task.Index]
		p := t.waiting[0]
		t.waiting = slices.Delete(t.waiting, 0, 1)
		t.run = p
		p.state, p.attempt, p.slot, p.node = picked, a.Attempt, a.Slot, c.home[a.Slot]
		c.on[a.Slot] = p
		c.act.bind(p.obj, p.node.name, p.attempt)
	}
	for _, k := range r.Kills {
		p := c.on[k.Slot]
		p.killing = true
		c.act.evict(p.obj)
	}
	return r.Sleep, r.Err
}

// job hears of a Job, in whatever state.
func (c *core) job(o *batchv1.Job) {
	j, suspended := c.jobs[o.UID], o.Spec.Suspend != nil && *o.Spec.Suspend
	if o.Spec.Template.Spec.SchedulerName != c.name || !indexed(o) && !suspended {
		return
	}
	if over(o) {
		c.jobGone(o.UID)
		return
	}
	_, admitted := o.Annotations[Admitted]
	switch {
	case j != nil && j.notes == notes(o), j == nil && suspended && admitted:
		return
	case j != nil && j.id != 0:
		c.revise(j, o)
		return
	}
	n, cl, err := c.shape(o)
	if n == 0 && err == nil {
		return
	}
	j = &job{notes: notes(o), tasks: map[uint32]*task{}}
	c.jobs[o.UID] = j
	if err == nil {
		err = c.arrive(j, o, n, cl, c.restoring && !suspended && !refused(o))
	}
	switch {
	case err != nil:
		c.act.reject(o, explain(err))
	case suspended:
		c.act.admit(o)
	}
	if j.id == 0 {
		return
	}
	orphans := c.orphans[o.UID]
	delete(c.orphans, o.UID)
	for _, p := range orphans {
		if p.state == ended {
			continue // and may be gone
		}
		c.pod(p.obj)
	}
}

// shape returns the number of a Job's tasks and the class of their slots. A Job that runs needs no tasks;
// one that asks for admission would wait for ever.
func (c *core) shape(o *batchv1.Job) (n int, cl sojourn.Class, err error) {
	suspended := o.Spec.Suspend != nil && *o.Spec.Suspend
	switch {
	case !indexed(o):
		return 0, 0, errors.New("only an Indexed Job can be admitted: set spec.completionMode, or create the Job without spec.suspend")
	case *o.Spec.Completions == 0 && suspended:
		return 0, 0, errors.New("the Job has no completions, so there is nothing to admit")
	case *o.Spec.Completions == 0:
		return 0, 0, nil
	}
	cl, err = class(c.slots, &o.Spec.Template.Spec)
	if err == nil {
		err = placeable(&o.Spec.Template.Spec)
	}
	return int(*o.Spec.Completions), cl, err
}

// arrive tells the policy of a new job.
func (c *core) arrive(j *job, o metav1.Object, n int, cl sojourn.Class, adopted bool) error {
	spec, err := describe(o, n, cl)
	if err != nil {
		return err
	}
	spec.ID = c.nextJob + 1
	spec.Phases[0].Held = c.features&sojourn.FeatureHeld != 0
	ev := sojourn.Event{Kind: sojourn.JobArrived, Job: spec}
	if adopted {
		ev.Kind, ev.Service = sojourn.JobAdopted, max(0, time.Since(o.GetCreationTimestamp().Time))
	}
	if err := c.driver.Observe(ev); err != nil {
		return err
	}
	c.nextJob++
	j.id, j.spec = spec.ID, spec
	c.byID[j.id] = j
	for i := 0; i < n && !spec.Phases[0].Held; i++ {
		c.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: j.id, Index: uint32(i)}})
	}
	return nil
}

// revise tells the policy of other annotations.
func (c *core) revise(j *job, o *batchv1.Job) {
	j.notes = notes(o)
	spec, err := describe(o, j.spec.Phases[0].Tasks, j.spec.Phases[0].Class)
	if err == nil {
		spec.ID, spec.Phases[0].Held = j.id, j.spec.Phases[0].Held
		err = c.driver.Observe(sojourn.Event{Kind: sojourn.JobRevised, Job: spec})
	}
	switch {
	case err == nil:
		j.spec = spec
	case !errors.Is(err, sojourn.ErrUnknownJob): // which is one whose tasks are all done
		c.act.warn(o, "NotRevised", "the job goes on as it was: "+explain(err))
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
func (c *core) jobGone(uid types.UID) {
	j := c.jobs[uid]
	delete(c.orphans, uid)
	if j == nil {
		return
	}
	delete(c.jobs, uid)
	if j.id != 0 {
		delete(c.byID, j.id)
		if _, live := c.truth.Job(j.id); live {
			c.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.id}})
		}
	}
}
