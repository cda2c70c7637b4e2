package kubernetes

import (
	"errors"
	"fmt"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// An actuator carries out what a core decides. Its methods return at once.
type actuator interface {
	bind(p *corev1.Pod, node string, attempt uint32)
	evict(p *corev1.Pod, attempt uint32)
	admit(o *batchv1.Job)
	reject(o *batchv1.Job, message string, again bool) // again: it was refused before, for another reason
	accept(o *batchv1.Job)                             // after it was refused
	warn(o runtime.Object, reason, message string)
	tell(p *corev1.Pod, reason, message string)
	unplaceable(p *corev1.Pod, message string)
	unscheduled(p *corev1.Pod, message string) // it waits
}

// What the scheduler knows of the cluster, and what it makes of it, is in layers. Each embeds the one below
// it, and calls no method of one above it:
//
//	known     the policy, and what there is: nodes, Jobs, pods, attempts
//	shaped    what pods request, and the policy that is made of it
//	places    slots, and which pods may go there
//	workload  Jobs and pods, as they come, change and go
//	core      decisions: who starts, gangs, who is told why it waits
//
// known is the lowest layer.
type known struct {
	name     string
	limits   Limits
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
	on    map[sojourn.SlotID]*pod // the picked or running pod of each busy slot
	gangs gangs

	nextNode sojourn.NodeID
}

// A core is all layers, and owns the policy. It is for one goroutine.
type core struct {
	workload
	told   sojourn.Time // when some of the pods that wait were looked at last
	looked sojourn.Time // when backfill did; 0: never
}

// A job is a job of the policy, or one that the policy has refused.
type job struct {
	gang    bool          // its pods start together
	waits   bool          // it is a gang all of whose pods are there
	since   sojourn.Time  // when waits changed, or it has last kept places in vain
	vain    int           // how often it has kept places in vain
	state   gangState     // if it is a gang
	id      sojourn.JobID // 0 if the policy does not have it
	spec    *sojourn.Job
	obj     *batchv1.Job // as it was heard of when it was accepted, or last if it was refused; nil of a pod
	refusal string       // why
	notes   string       // the annotations and completions that spec, or the refusal, is about
	want    *want        // with shapes
	single  bool         // a pod that is a job of its own
	tasks   map[uint32]*task

	// Of a Job without indexes: fresh tasks never had a pod, and spare ones may have none, or one that is on its way out.
	fresh uint32
	spare []uint32
}

// A task has at most one pod that is picked or runs, and any number that wait: a Job makes the next pod
// while the last one still ends.
type task struct {
	id      sojourn.TaskID
	run     *pod
	waiting []*pod
	blocked bool   // in fits.blocked: its pods go on no node with a free slot
	last    uint32 // the greatest number of an attempt that was seen on a pod
}

type state uint8

const (
	unseen  state = iota // its Job is unknown, it has gates, or it is invalid (then it stays)
	waiting              // in waiting of its task
	paused               // the API server has refused its bind a moment ago
	picked               // assigned, and the bind is on its way
	running              // bound
	foreign              // bound, but no attempt of the policy; takes a slot of its node
	ended
)

type pod struct {
	obj       *corev1.Pod // as it was heard of last
	state     state
	task      *task // nil until its job is known
	class     sojourn.Class
	demand    *demand
	want      *want  // with shapes
	notes     string // the annotations that the job, if it is its own, or wrong is about
	told      string // why it goes on no node
	wrong     error  // why it is never placed
	attempt   uint32
	slot      sojourn.SlotID // while picked or running
	node      *node          // while picked, running or foreign
	killing   bool           // its eviction was asked for, and not refused
	evictions int            // how often it was asked for anew
	pause     time.Duration  // before it tried again after the last bind that was refused
	since     sojourn.Time   // when it began to wait
	settled   bool           // the API server has said that it will not be bound by us
	orphan    bool           // in orphans

	listed bool         // in listed of the core
	sized  bool         // likewise
	marked bool         // its condition says that it waits
	due    sojourn.Time // when it may get the next event, unless it says the same again
	said   string       // the gist of the last one
}

func newCore(c Config, selector labels.Selector, act actuator, now func() sojourn.Time) (*core, error) {
	k := &core{}
	k.known = known{
		name: c.Name, limits: c.Limits, slots: c.Slots, selector: selector, act: act,
		nodes: map[string]*node{}, jobs: map[types.UID]*job{}, byID: map[sojourn.JobID]*job{}, pods: map[types.UID]*pod{},
		home: map[sojourn.SlotID]*node{}, on: map[sojourn.SlotID]*pod{}, gangs: gangs{patience: c.GangPatience, limit: c.GangKeep, trying: map[*job]bool{}, picks: map[*job][]*pod{}},
	}
	k.fits, k.words = newFits(c.Slots, k.nodes), max(0, c.Events)
	k.marks = c.Unschedulable
	k.waits = map[string]*histogram{}
	k.orphans, k.declined = map[types.UID][]*pod{}, map[types.UID]bool{}
	if c.Shapes != nil {
		return k, k.withShapes(*c.Shapes, now)
	}
	k.truth = account.New(c.Policy)
	k.features = sojourn.Supports(k.truth)
	var err error
	k.driver, err = driver.New(k.truth, driver.Options{Now: now, Preempt: time.Second})
	return k, err
}

func nodeLabels(n *corev1.Node) labels.Set { return n.Labels }

// must reports an event that fits, unless this package is wrong.
func (c *known) must(ev sojourn.Event) {
	if err := c.driver.Observe(ev); err != nil {
		panic(fmt.Sprintf("kubernetes: %v", err))
	}
}

// stays reports that a victim will not be evicted. A policy that was written before [sojourn.TaskPinned] does not learn
// of it: its victim stays listed, and is not named again.
func (c *known) stays(v sojourn.Preemption) {
	if err := c.driver.Observe(driver.Pinned(v)); err != nil && !errors.Is(err, sojourn.ErrUnknownKind) {
		panic(fmt.Sprintf("kubernetes: %v", err))
	}
}

// settle starts what the policy wants, and returns how long it may wait for the next call.
func (c *core) settle() (time.Duration, error) {
	sleep := c.askAgain()
	if c.shapes != nil {
		if c.outgrown(); c.shapes.err != nil {
			return 0, c.shapes.err
		}
	}
	c.doubtAll()
	sleep = min(sleep, c.keep())
	var r driver.Round
	rounds := func() error {
		r = c.rounds()
		return r.Err
	}
	err := c.gather(rounds)
	if err == nil {
		err = rounds()
	}
	return min(r.Sleep, sleep, c.miss(), c.tell()), err
}

// rounds starts pods until the policy wants no slot any more. The lists of the Round that it returns are done.
func (c *core) rounds() driver.Round {
	for {
		c.unblock()
		r, again := c.driver.Settle(), false
		for _, a := range r.Starts {
			again = !c.start(a) || again
		}
		for _, k := range r.Kills {
			switch p := c.on[k.Slot]; {
			case p == nil || p.killing:
			case c.gangs.holds(c.byID[k.Task.Job]):
				c.stays(k)
				again = true
			default:
				p.killing, p.evictions = true, 0
				c.act.evict(p.obj, p.attempt)
			}
		}
		if !again && c.shapes != nil {
			var wait time.Duration
			again, wait = c.reserve()
			r.Sleep = min(r.Sleep, wait)
		}
		if !again || r.Err != nil {
			return r
		}
	}
}

// start binds a pod as the policy says, and reports whether one of the free slots suits it.
func (c *core) start(a sojourn.Assignment) bool {
	j := c.byID[a.Task.Job]
	t := j.tasks[a.Task.Index]
	p := c.site(a.Slot, t)
	if p == nil {
		c.block(a, t)
		return false
	}
	c.assign(p, a)
	if j.gang {
		c.pick(j, p)
	} else {
		c.send(p)
	}
	return true
}

// assign notes that a pod has a slot.
func (c *core) assign(p *pod, a sojourn.Assignment) {
	c.unwait(p)
	p.task.run = p
	p.state, p.attempt, p.slot, p.node = picked, a.Attempt, a.Slot, c.home[a.Slot]
	c.occupied(p)
}

// send lets the API server know the node of a pod that was picked.
func (c *core) send(p *pod) {
	if j := c.byID[p.task.id.Job]; j != nil {
		c.waited(p, j)
	}
	c.act.bind(p.obj, p.node.name, p.attempt)
}
