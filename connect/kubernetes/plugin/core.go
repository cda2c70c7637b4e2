package plugin

import (
	"cmp"
	"container/list"
	"encoding/json"
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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
)

const (
	window    = 16                    // the most pods in flight, and the most tasks of a job that are ready
	flight    = 5 * time.Second       // a pod that kube-scheduler has not tried by then waits anew
	unknown   = 10 * time.Second      // a pod whose Job is not known by then passes
	sayings   = 100                   // the most pods that are called Unschedulable in a tick
	tries     = 100                   // the most shapes that are tried anew in a tick
	tick      = time.Second           // between two looks at what takes too long
	firstLook = 20 * time.Millisecond // after the first miss of a shape, until it is tried anew though nothing is known to have changed
	lastLook  = 10 * time.Second      // the same after many
)

// A core owns the policy. It is for one goroutine. The slots of the policy are tokens: one for each pod that is bound or in
// flight, and some that are free while a pod waits that may fit.
type core struct {
	name     string // of the profile
	limits   kubernetes.Limits
	truth    *account.Account
	driver   *driver.Driver
	features sojourn.Features
	plugin   *Plugin

	ready   bool // all that was there at the start is known
	jobs    map[owner]*job
	byID    map[sojourn.JobID]*job
	pods    map[types.UID]*pod // of Jobs, until they end
	shapes  map[string]*shape  // of pods that wait or are in flight, and those that are full
	full    []*shape
	hopeful int             // pods that wait and may fit
	touched []*job          // to look at in settle
	flying  []*pod          // in flight
	unsaid  []*pod          // that have waited, and of which nothing says that they are Unschedulable; the oldest first
	named   map[string]bool // pools of which sojourn_wait_seconds tells
	called  bool            // kube-scheduler has tried a pod: this replica leads
	looked  time.Time       // when the last tick was
	next    time.Time       // when the next look is due, unless there may be more room than at the version seen
	seen    int
	tries   int // shapes that may still be tried anew in this tick

	free     []sojourn.SlotID // free tokens
	spare    []sojourn.SlotID // numbers of tokens that are gone
	busy     int              // tokens that are not free
	fits     int              // since the last miss: one more pod may be in flight after each
	version  int              // grows whenever there may be more room
	tried    int              // the version at which the pod was tried for which a node is kept
	nextJob  sojourn.JobID
	nextSlot sojourn.SlotID
}

// An owner is what tells Jobs apart. A pod of another namespace that names the UID of a Job is none of its pods.
type owner struct {
	space string
	uid   types.UID
}

// A job is a Job, and a job of the policy from its first pod on. Its tasks stand for any of its pods.
type job struct {
	obj     *batchv1.Job // nil while it is not known
	id      sojourn.JobID
	spec    *sojourn.Job
	done    int       // pods that had succeeded when it arrived
	fresh   uint32    // tasks from here on are held, and never were ready
	idle    []uint32  // other tasks that are held
	pending []uint32  // tasks that are ready
	queue   list.List // of the pods that wait, the oldest first
	blocked bool      // its first pod would not fit
	said    string    // why its pods pass
	touched bool
}

type state uint8

const (
	unseen  state = iota // has gates
	waiting              // in the queue of its job
	picked               // in flight
	placed               // has a node
	passing              // is not ordered
)

type pod struct {
	obj     *corev1.Pod
	job     *job
	shape   *shape
	at      *list.Element // in the queue of its job, while it waits
	state   state
	a       sojourn.Assignment // while picked or placed
	since   time.Time          // when it came, or was picked
	came    time.Time
	version int // when it was picked
	unsaid  bool
}

// A shape is what pods have in common that fit on the same nodes.
type shape struct {
	key     string
	waiting int // pods
	flying  int // pods
	blocked []*job
	full    bool   // none fits
	why     string // what kube-scheduler has said of one that did not fit
	misses  int    // since the last fit, after what might have made room
	looks   int    // since something might have made room
	version int    // when the one was picked that missed last
	missed  time.Time
}

func newCore(policy sojourn.Policy, name string, limits kubernetes.Limits, p *Plugin, now func() sojourn.Time) (*core, error) {
	c := &core{
		name: name, limits: limits, truth: account.New(policy), plugin: p,
		jobs: map[owner]*job{}, byID: map[sojourn.JobID]*job{}, pods: map[types.UID]*pod{}, shapes: map[string]*shape{}, named: map[string]bool{},
	}
	if c.features = sojourn.Supports(c.truth); c.features&sojourn.FeatureHeld == 0 {
		return nil, errors.New("the policy makes promises about slots, which are not known here")
	}
	var err error
	c.driver, err = driver.New(c.truth, driver.Options{Now: now})
	return c, err
}

// must reports an event that fits, unless this package is wrong.
func (c *core) must(ev sojourn.Event) {
	if err := c.driver.Observe(ev); err != nil {
		panic(fmt.Sprintf("plugin: %v", err))
	}
}

// job returns the Job of an owner, which may not be known.
func (c *core) job(o owner) *job {
	j := c.jobs[o]
	if j == nil {
		j = &job{}
		c.jobs[o] = j
	}
	return j
}

// first returns the pod of a job that has waited for longest. One waits.
func (j *job) first() *pod { return j.queue.Front().Value.(*pod) }

// jobSeen hears of a Job, in whatever state.
func (c *core) jobSeen(o *batchv1.Job) {
	if batch.Over(o) {
		c.jobGone(o)
		return
	}
	j := c.job(owner{o.Namespace, o.UID})
	known := j.obj != nil
	j.obj = o
	c.touch(j)
	if known {
		return
	}
	for at := j.queue.Front(); at != nil; { // pods that have a node wait only while their Job is not known
		p := at.Value.(*pod)
		if at = at.Next(); p.obj.Spec.NodeName != "" {
			c.place(p)
		}
	}
}

// jobGone hears that a Job needs no more pods.
func (c *core) jobGone(o *batchv1.Job) {
	of := owner{o.Namespace, o.UID}
	j := c.jobs[of]
	if j == nil {
		return
	}
	delete(c.jobs, of)
	delete(c.byID, j.id)
	j.obj = nil
	if c.live(j) {
		c.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: j.id}})
	}
}

// live reports whether the policy has a job that was not cancelled.
func (c *core) live(j *job) bool {
	l, ok := c.truth.Job(j.id)
	return j.id != 0 && ok && !l.Cancelled
}

// arrive tells the policy of a job, or of one anew whose tasks are all done and which has a pod all the same.
func (c *core) arrive(j *job) error {
	done := int(j.obj.Status.Succeeded)
	if u := j.obj.Status.UncountedTerminatedPods; u != nil {
		done += len(u.Succeeded)
	}
	spec, err := c.limits.Describe(j.obj, max(1, batch.Tasks(j.obj)-done))
	if err != nil {
		return err
	}
	spec.ID, spec.Phases[0].Held = c.nextJob+1, true
	if p := j.first().obj.Spec.Priority; p != nil && c.features&sojourn.FeaturePriority != 0 {
		spec.Priority = *p
	}
	ev := sojourn.Event{Kind: sojourn.JobArrived, Job: spec}
	if !c.ready {
		ev.Kind, ev.Service = sojourn.JobAdopted, max(0, time.Since(j.obj.CreationTimestamp.Time))
	}
	if err := c.driver.Observe(ev); err != nil {
		return err
	}
	c.nextJob++
	delete(c.byID, j.id)
	c.byID[spec.ID] = j
	j.id, j.spec, j.done, j.fresh, j.idle, j.pending = spec.ID, spec, done, 0, nil, nil
	return nil
}

// enrol sees to it that the policy has a job of which a pod waits. If the policy refuses it, its pods pass.
func (c *core) enrol(j *job) bool {
	switch {
	case j.obj == nil:
		return false
	case c.live(j):
		return true
	}
	err := c.arrive(j)
	if err != nil {
		c.passAll(j, kubernetes.Refusal(err))
	}
	return err == nil
}

// passAll lets the pods of a job that wait pass, and says why.
func (c *core) passAll(j *job, why string) {
	if j.said != why {
		j.said = why
		c.plugin.word(j.first().obj, "NotOrdered", "pods of this Job are scheduled as without the policy: "+why)
	}
	for j.queue.Len() > 0 {
		c.pass(j.first())
	}
}

// pass lets a pod that waits go on as without the policy.
func (c *core) pass(p *pod) {
	c.withdraw(p)
	p.state = passing
	c.plugin.start(p.obj, true)
}

// task makes one more task of a job ready, and returns false if there is none. Completions that were added are told to the policy.
func (c *core) task(j *job) (uint32, bool) {
	var i uint32
	if k := len(j.idle); k > 0 {
		i, j.idle = j.idle[k-1], j.idle[:k-1]
	} else {
		if tasks := j.spec.Phases[0].Tasks; int(j.fresh) == tasks {
			spec := *j.spec
			spec.Phases = slices.Clone(spec.Phases)
			spec.Phases[0].Tasks = batch.Tasks(j.obj) - j.done
			if spec.Phases[0].Tasks <= tasks || c.driver.Observe(sojourn.Event{Kind: sojourn.JobRevised, Job: &spec}) != nil {
				return 0, false
			}
			j.spec = &spec
		}
		i = j.fresh
		j.fresh++
	}
	c.must(sojourn.Event{Kind: sojourn.TaskReady, Task: sojourn.TaskID{Job: j.id, Index: i}})
	return i, true
}

// sync makes as many tasks of a job ready as pods of it may start at once.
func (c *core) sync(j *job) {
	if j.queue.Len() > 0 && !c.enrol(j) || !c.live(j) {
		return
	}
	want := min(j.queue.Len(), window)
	if j.blocked {
		want = 0
	}
	for len(j.pending) < want {
		i, ok := c.task(j)
		if !ok {
			return
		}
		j.pending = append(j.pending, i)
	}
	for k := len(j.pending); k > want; k-- {
		i := j.pending[k-1]
		j.pending, j.idle = j.pending[:k-1], append(j.idle, i)
		c.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: sojourn.TaskID{Job: j.id, Index: i}})
	}
}

func (c *core) syncAll() {
	for i := 0; i < len(c.touched); i++ {
		c.touched[i].touched = false
		c.sync(c.touched[i])
	}
	c.touched = c.touched[:0]
}

// restored hears that all is known that was there at the start.
func (c *core) restored() {
	c.syncAll()
	c.ready = true
}

// touch has a job looked at in the next settle.
func (c *core) touch(j *job) {
	if !j.touched {
		j.touched = true
		c.touched = append(c.touched, j)
	}
}

// pod hears of a pod, in whatever state.
func (c *core) pod(o *corev1.Pod) {
	ended := o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed
	if ended && o.Spec.NodeName != "" {
		c.version++
	}
	p := c.pods[o.UID]
	switch {
	case ended || o.DeletionTimestamp != nil: // its Job replaces it
		c.end(o, o.Status.Phase == corev1.PodSucceeded)
		return
	case p == nil && (o.Spec.SchedulerName != c.name || jobOf(o) == nil):
		return
	case p == nil:
		now := time.Now()
		p = &pod{since: now, came: now}
		c.pods[o.UID] = p
	}
	turn := o.Status.NominatedNodeName != "" && p.obj != nil && p.obj.Status.NominatedNodeName == "" // by preemption, or since it is kept
	p.obj = o
	if p.shape != nil && unschedulable(o) != "" {
		p.shape.why = unschedulable(o)
	}
	switch of := jobOf(o); {
	case p.state == waiting && of == nil: // its Job was deleted, and left it
		c.pass(p)
	case p.state == unseen && of != nil && len(o.Spec.SchedulingGates) == 0:
		p.job = c.job(owner{o.Namespace, of.UID})
		c.wait(p)
		p.at = p.job.queue.PushBack(p)
	}
	switch {
	case o.Spec.NodeName != "":
		c.place(p)
	case turn:
		c.plugin.start(o, false)
	}
}

// podGone hears that a pod was deleted.
func (c *core) podGone(o *corev1.Pod) {
	if o.Spec.NodeName != "" {
		c.version++
	}
	c.end(o, false)
}

// grown hears of a node that is new, or another one than before.
func (c *core) grown() {
	c.version++
	for _, s := range c.shapes { //sojourn:unordered
		s.misses = min(s.misses, 1)
	}
}

// wait has a pod wait with all of its shape. Its caller puts it into the queue of its job.
func (c *core) wait(p *pod) {
	key := shapeOf(p.obj)
	if c.shapes[key] == nil {
		c.shapes[key] = &shape{key: key}
	}
	p.state, p.shape = waiting, c.shapes[key]
	p.shape.waiting++
	if !p.shape.full {
		c.hopeful++
	}
	if unschedulable(p.obj) == "" && !p.unsaid {
		p.unsaid = true
		c.unsaid = append(c.unsaid, p)
	}
	c.touch(p.job)
}

// withdraw takes a pod out of the queue of its job.
func (c *core) withdraw(p *pod) {
	p.job.queue.Remove(p.at)
	p.shape.waiting--
	if !p.shape.full {
		c.hopeful--
	}
	c.tidy(p.shape)
	c.touch(p.job)
}

// land notes that a pod is not in flight any more, which was with a shape.
func (c *core) land(p *pod, s *shape) {
	c.flying = slices.DeleteFunc(c.flying, func(q *pod) bool { return q == p })
	s.flying--
	c.tidy(s)
}

// tidy forgets a shape that no pod has, once nothing is to be remembered of it.
func (c *core) tidy(s *shape) {
	if s.waiting+s.flying == 0 && !s.full {
		delete(c.shapes, s.key)
	}
}

// token returns a new token, which the policy is told of.
func (c *core) token() sojourn.SlotID {
	id := c.nextSlot
	if k := len(c.spare); k > 0 {
		id, c.spare = c.spare[k-1], c.spare[:k-1]
	} else {
		c.nextSlot++
	}
	c.must(sojourn.Event{Kind: sojourn.SlotAdded, Slot: sojourn.Slot{ID: id}})
	return id
}

// fund makes so many tokens free.
func (c *core) fund(n int) {
	for len(c.free) < n {
		c.free = append(c.free, c.token())
	}
	for k := len(c.free); k > n; k-- {
		id := c.free[k-1]
		c.free, c.spare = c.free[:k-1], append(c.spare, id)
		c.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: id}})
	}
}

// settle lets pods start whose turn it is, and returns how long to wait for the next call.
func (c *core) settle() time.Duration {
	if !c.ready {
		return tick
	}
	now := time.Now()
	sleep := min(c.expire(now), c.look(now))
	c.syncAll()
	for tokens := min(max(c.fits, 1), window) - len(c.flying); ; {
		if tokens <= 0 || c.hopeful == 0 {
			c.fund(0)
			break
		}
		c.fund(tokens)
		r := c.driver.Settle()
		if r.Err != nil {
			panic(r.Err)
		}
		sleep = min(sleep, r.Sleep)
		started := 0
		for _, a := range r.Starts {
			if c.pick(a, now) {
				started++
			}
		}
		tokens -= started
		if started == len(r.Starts) { // no pod was refused, for which another one may do
			if started > 0 || len(c.flying) > 0 || tokens >= window+c.busy/8 {
				break
			}
			tokens *= 2 // the policy keeps some free, and there may be more room
		}
		c.syncAll()
	}
	if uid, over := c.plugin.kept(now); c.pods[uid] != nil && (over || c.tried != c.version) {
		c.tried = c.version
		c.plugin.start(c.pods[uid].obj, false)
	}
	if len(c.touched) > 0 { // more of their pods may start
		return 0
	}
	return max(0, sleep)
}

// pick lets the first pod of a job start, unless it would not fit.
func (c *core) pick(a sojourn.Assignment, now time.Time) bool {
	j := c.byID[a.Task.Job]
	p := j.first()
	j.pending = slices.DeleteFunc(j.pending, func(i uint32) bool { return i == a.Task.Index })
	c.free = slices.DeleteFunc(c.free, func(id sojourn.SlotID) bool { return id == a.Slot })
	c.busy++
	p.a = a
	if p.shape.full {
		c.give(p, driver.Refused(a))
		if !j.blocked {
			j.blocked = true
			p.shape.blocked = append(p.shape.blocked, j)
		}
		return false
	}
	p.shape.flying++
	c.withdraw(p)
	p.state, p.since, p.version = picked, now, c.version
	c.flying = append(c.flying, p)
	c.plugin.start(p.obj, false)
	return true
}

// give reports the end of an attempt. Its token is free, and its task ready unless it is done.
func (c *core) give(p *pod, ev sojourn.Event) {
	c.must(ev)
	c.free = append(c.free, p.a.Slot)
	c.busy--
	if now, _ := c.truth.Task(p.a.Task); now == account.Pending {
		p.job.pending = append(p.job.pending, p.a.Task.Index)
	}
	c.touch(p.job)
}

// look lets pods try again whose shape may fit now. It returns how long to wait for the next look.
func (c *core) look(now time.Time) time.Duration {
	if c.version == c.seen && now.Before(c.next) {
		return c.next.Sub(now)
	}
	sleep := driver.Never
	var freed []*job
	c.full = slices.DeleteFunc(c.full, func(s *shape) bool {
		if left := c.due(s).Sub(now); left > 0 || c.tries == 0 {
			sleep = min(sleep, max(left, time.Until(c.looked.Add(tick))))
			return false
		}
		c.tries--
		s.full = false
		c.hopeful += s.waiting
		freed = append(freed, s.blocked...)
		s.blocked = nil
		c.tidy(s)
		return true
	})
	c.seen, c.next = c.version, now.Add(sleep)
	slices.SortFunc(freed, func(a, b *job) int { return cmp.Compare(a.id, b.id) })
	for _, j := range freed {
		j.blocked = false
		c.touch(j)
	}
	return sleep
}

// due returns when a shape that is full is to be tried anew.
func (c *core) due(s *shape) time.Time {
	wait := min(firstLook<<min(2*(s.looks-1), 20), lastLook)
	if c.version != s.version {
		wait = min(firstLook<<min(s.misses-1, 20)-firstLook, time.Second)
	}
	return s.missed.Add(wait)
}

// fit hears that a pod has a node.
func (c *core) fit(uid types.UID) {
	c.called = true
	if p := c.pods[uid]; p != nil {
		c.place(p)
	}
}

// place notes that a pod has a node, whoever has given it.
func (c *core) place(p *pod) {
	switch p.state {
	case picked:
		c.land(p, p.shape)
		p.state = placed
		c.plugin.waits.WithLabelValues(c.label(p.job.pool())).Observe(time.Since(p.came).Seconds())
		c.fits++
		if s := p.shape; !s.full {
			s.misses = 0
		}
	case waiting: // somebody else has bound it, or this scheduler before a restart
		j := p.job
		if !c.enrol(j) {
			return
		}
		c.withdraw(p)
		c.sync(j)
		i, ok := c.task(j)
		if p.state = placed; !ok { // there are more pods than completions
			p.state = passing
			return
		}
		age := time.Duration(0)
		if s := p.obj.Status.StartTime; s != nil {
			age = max(0, time.Since(s.Time))
		}
		task := sojourn.TaskID{Job: j.id, Index: i}
		_, last := c.truth.Task(task)
		p.a = sojourn.Assignment{Task: task, Attempt: last + 1, Slot: c.token()}
		c.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: task, Attempt: p.a.Attempt, Slot: sojourn.Slot{ID: p.a.Slot}, Service: age})
		c.busy++
	}
}

// miss hears that a pod fits nowhere, or was not bound after all.
func (c *core) miss(uid types.UID) {
	c.called = true
	p := c.pods[uid]
	switch {
	case p == nil: // it was deleted meanwhile
		c.plugin.over(uid)
	case p.state == picked:
		c.back(p, driver.Refused(p.a))
	case p.state == placed && p.obj.Spec.NodeName == "":
		c.back(p, driver.Failed(p.a, sojourn.CauseSlotLost))
	}
}

// back has a pod wait, before the others of its job, until its shape may fit.
func (c *core) back(p *pod, ev sojourn.Event) {
	flew, old := p.state == picked, p.shape
	c.give(p, ev)
	c.wait(p)
	p.at = p.job.queue.PushFront(p)
	if flew { // last, so that what is known of its shape is kept
		c.land(p, old)
	}
	s := p.shape
	switch {
	case s.full: // another one has missed meanwhile
	case s.misses == 0 || s.version != p.version:
		s.misses++
		s.looks = 1
	default:
		s.looks++
	}
	if !s.full {
		c.full = append(c.full, s)
		c.hopeful -= s.waiting
	}
	s.full, s.version, s.missed, c.fits = true, p.version, time.Now(), 0
	if due := c.due(s); due.Before(c.next) {
		c.next = due
	}
}

// end hears that a pod is over, or will never run.
func (c *core) end(o *corev1.Pod, ok bool) {
	p := c.pods[o.UID]
	delete(c.pods, o.UID)
	c.plugin.over(o.UID)
	switch {
	case p == nil:
	case p.state == waiting:
		c.withdraw(p)
	case p.state == picked:
		c.land(p, p.shape)
		c.give(p, driver.Refused(p.a))
	case p.state == placed && ok:
		c.give(p, driver.Finished(p.a))
	case p.state == placed:
		c.give(p, driver.Failed(p.a, sojourn.CauseTask))
	}
}

// expire sees to what takes too long: pods that kube-scheduler has not tried, and pods without a Job.
func (c *core) expire(now time.Time) time.Duration {
	if left := c.looked.Add(tick).Sub(now); left > 0 {
		return left
	}
	c.looked = now
	for _, p := range slices.Clone(c.flying) {
		if c.called && now.Sub(p.since) > flight {
			c.plugin.stop(p.obj.UID)
			c.back(p, driver.Refused(p.a))
		}
	}
	for of, j := range c.jobs { //sojourn:unordered
		switch {
		case j.obj != nil:
		case j.queue.Len() == 0:
			delete(c.jobs, of)
		case now.Sub(j.first().since) > unknown:
			c.passAll(j, "the Job is not known")
		}
	}
	c.say(now)
	c.account()
	c.tries = tries
	return tick
}

// say has pods that wait since none of their shape fits called Unschedulable, as kube-scheduler calls those that it tries.
func (c *core) say(now time.Time) {
	var list []*corev1.Pod
	why := map[types.UID]string{}
	c.unsaid = slices.DeleteFunc(c.unsaid, func(p *pod) bool {
		if p.state != waiting || unschedulable(p.obj) != "" {
			p.unsaid = false
			return true
		}
		if c.called && p.shape.full && p.shape.why != "" && now.Sub(p.since) > tick && len(list) < sayings {
			list, why[p.obj.UID] = append(list, p.obj), p.shape.why
		}
		return false
	})
	if len(list) > 0 {
		c.plugin.say(list, why)
	}
}

// unschedulable returns what the condition PodScheduled of a pod says if it fits nowhere.
func unschedulable(o *corev1.Pod) string {
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.Message
		}
	}
	return ""
}

// shapeOf describes what decides where a pod fits.
func shapeOf(o *corev1.Pod) string {
	s := &o.Spec
	var of string // where other pods decide, or objects of its own
	special := s.Affinity != nil && (s.Affinity.PodAffinity != nil || s.Affinity.PodAntiAffinity != nil) || len(s.TopologySpreadConstraints)+len(s.ResourceClaims) > 0
	for _, v := range s.Volumes {
		special = special || v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	}
	for _, c := range slices.Concat(s.InitContainers, s.Containers) {
		for _, p := range c.Ports {
			special = special || p.HostPort != 0
		}
	}
	if special {
		of = o.Namespace + "/" + string(jobOf(o).UID)
	}
	text, err := json.Marshal([]any{resource.PodRequests(o, resource.PodResourcesOptions{}), s.NodeSelector, s.Affinity, s.Tolerations, s.Priority, of})
	if err != nil {
		panic(err)
	}
	return string(text)
}
