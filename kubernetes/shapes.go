package kubernetes

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/shape"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	podresource "k8s.io/component-helpers/resource"
)

// Shapes say how pods of any shape share nodes by what they request.
type Shapes struct {
	// Policy makes the policy anew when the shapes or the sizes of nodes change; it is then told all
	// that is true. Cost is what a pod of each class takes of the cluster, as package fair wants it. Nil
	// means fair with this Cost, and a pool for each namespace.
	Policy func(cost map[sojourn.Class][]uint32) (sojourn.Policy, error)

	// Patience is how long pods of one shape wait until a node is reserved for one of them. Zero means
	// 1 minute; negative means that no node is ever reserved.
	Patience time.Duration
}

// A want is what pods ask of their nodes: amounts of resources, and a wish. Pods that ask for the same
// share it. A want is a shape of package shape: each wish is a resource, of which nodes that suit have
// plenty and others nothing.
type want struct {
	requests map[corev1.ResourceName]int64 // in thousandths of cpu, otherwise units; nothing is 0
	wish     *wish
	users    int // pods and Jobs
	class    sojourn.Class
	classed  bool // class is valid
}

// plenty is more than all pods of a node take.
const plenty = 1 << 40

// shapes is what a core knows of pods by what they request.
type shapes struct {
	config Shapes
	now    func() sojourn.Time
	wants  map[string]*want
	list   []*want             // in the order in which they came
	of     map[types.UID]*want // by the pods and Jobs that use them

	// What the policy was made with.
	cluster *shape.Cluster
	names   []corev1.ResourceName
	wishes  []*wish
	rounded bool // some wants share a class
	forms   []shape.Resources
	totals  shape.Resources

	byID      map[sojourn.NodeID]*node
	strangers map[types.UID]stranger
	err       error // why there is no policy
}

// A stranger is a pod of another scheduler on one of the nodes.
type stranger struct {
	node *node
	want map[corev1.ResourceName]int64
}

// fairly makes the default policy.
func fairly(cost map[sojourn.Class][]uint32) (sojourn.Policy, error) {
	return fair.New(fair.Options{Cost: cost})
}

// requestsOf returns what a pod takes of a node.
func requestsOf(spec *corev1.PodSpec) map[corev1.ResourceName]int64 {
	filled := spec
	for i, c := range spec.Containers { // requests default to limits, but not yet in a Job's template
		for name, q := range c.Resources.Limits {
			if _, ok := filled.Containers[i].Resources.Requests[name]; !ok {
				if filled == spec {
					filled = spec.DeepCopy()
				}
				if filled.Containers[i].Resources.Requests == nil {
					filled.Containers[i].Resources.Requests = corev1.ResourceList{}
				}
				filled.Containers[i].Resources.Requests[name] = q
			}
		}
	}
	r := map[corev1.ResourceName]int64{corev1.ResourcePods: 1}
	for name, q := range podresource.PodRequests(&corev1.Pod{Spec: *filled}, podresource.PodResourcesOptions{}) {
		if n := amount(name, q); n > 0 {
			r[name] = n
		}
	}
	return r
}

// amount returns a quantity in units, of cpu in thousandths.
func amount(name corev1.ResourceName, q resource.Quantity) int64 {
	if name == corev1.ResourceCPU {
		return max(0, min(q.MilliValue(), math.MaxInt64/4))
	}
	return max(0, min(q.Value(), math.MaxInt64/4))
}

// quantity is the inverse of amount, as text.
func quantity(name corev1.ResourceName, n int64) string {
	switch name {
	case corev1.ResourceCPU:
		return resource.NewMilliQuantity(n, resource.DecimalSI).String()
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return resource.NewQuantity(n, resource.BinarySI).String()
	}
	return resource.NewQuantity(n, resource.DecimalSI).String()
}

func (w *want) String() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(w.requests)) {
		if name != corev1.ResourcePods {
			parts = append(parts, fmt.Sprintf("%s %s", name, quantity(name, w.requests[name])))
		}
	}
	return strings.Join(parts, ", ")
}

// want returns what a pod asks for, with a class, and counts the user.
func (c *core) want(spec *corev1.PodSpec) (*want, error) {
	s := c.shapes
	requests, wish := requestsOf(spec), c.fits.wish(spec)
	key := fmt.Sprintf("%v %s", requests, wish.key) // which sorts
	w := s.wants[key]
	if w == nil {
		w = &want{requests: requests, wish: wish}
		s.wants[key] = w
		s.list = append(s.list, w)
		wish.pods++ // until the want is forgotten
	}
	c.fits.unwish(wish)
	w.users++
	if !w.classed {
		c.classify(w)
	}
	return w, s.err
}

// classify gives a want a class: that of a shape in which it fits and which is not twice as large, if
// there are more wants than classes. Otherwise the shapes are made anew.
func (c *core) classify(w *want) {
	s := c.shapes
	if s.rounded {
		if need, ok := s.vector(w); ok {
			for class, form := range s.forms {
				if closeTo(need, form) {
					w.class, w.classed = sojourn.Class(class), true
					return
				}
			}
		}
	}
	c.reshape()
}

// closeTo reports whether need fits into form, and form is nowhere twice as large or more.
func closeTo(need, form shape.Resources) bool {
	for i := range need {
		if need[i] > form[i] || form[i] > 0 && form[i]/2 >= need[i] {
			return false
		}
	}
	return true
}

// vector returns a want as the policy's shapes have it; false if it asks for what they do not know.
func (s *shapes) vector(w *want) (shape.Resources, bool) {
	v, known := make(shape.Resources, len(s.names)+len(s.wishes)), 0
	for i, name := range s.names {
		if n, ok := w.requests[name]; ok {
			v[i] = n
			known++
		}
	}
	at := slices.Index(s.wishes, w.wish)
	if known < len(w.requests) || at < 0 {
		return nil, false
	}
	v[len(s.names)+at] = 1
	return v, true
}

// roomOf returns what a node has for pods of the policy.
func (c *core) roomOf(n *node) shape.Resources {
	s := c.shapes
	v := make(shape.Resources, len(s.names)+len(s.wishes))
	if n.gone || n.site.obj == nil || !usable(n.site.obj) {
		return v
	}
	for i, name := range s.names {
		if q, ok := n.site.obj.Status.Allocatable[name]; ok {
			v[i] = max(0, amount(name, q)-n.taken[name])
		}
	}
	for i, w := range s.wishes {
		if n.lacks(w) == "" {
			v[len(s.names)+i] = plenty
		}
	}
	return v
}

// total returns what all nodes have.
func (c *core) total(names []corev1.ResourceName) shape.Resources {
	v := make(shape.Resources, len(names))
	for _, n := range c.nodes {
		if n.site.obj == nil || n.gone {
			continue
		}
		for i, name := range names {
			q := n.site.obj.Status.Allocatable[name]
			v[i] = min(v[i]+amount(name, q), math.MaxInt64/4)
		}
	}
	return v
}

// tellSlots reports events of the cluster of shapes.
func (c *core) tellSlots(events []sojourn.Event, err error) {
	if err != nil {
		panic(fmt.Sprintf("kubernetes: %v", err))
	}
	for _, ev := range events {
		c.must(ev)
	}
}

// resized tells the policy what a node has now.
func (c *core) resized(n *node) {
	s := c.shapes
	if s.byID[n.id] == nil {
		s.byID[n.id] = n
		c.tellSlots(s.cluster.AppendNode(nil, c.driver.Now(), n.id, 0, c.roomOf(n)))
		return
	}
	c.tellSlots(s.cluster.AppendResize(nil, c.driver.Now(), n.id, c.roomOf(n)))
}

// forgotten drops a node that is gone, if no pod is there.
func (c *core) forgotten(n *node) {
	s := c.shapes
	if n.gone && n.pods == 0 && len(n.taken) == 0 {
		if s.byID[n.id] != nil {
			c.tellSlots(s.cluster.AppendLoss(nil, c.driver.Now(), n.id))
		}
		delete(s.byID, n.id)
		delete(c.nodes, n.name)
	}
}

// take counts what pods take of a node beside the policy.
func (c *core) take(n *node, r map[corev1.ResourceName]int64, sign int64) {
	if n.taken == nil {
		n.taken = map[corev1.ResourceName]int64{}
	}
	for name, amount := range r {
		if n.taken[name] += sign * amount; n.taken[name] == 0 {
			delete(n.taken, name)
		}
	}
	c.resized(n)
	c.forgotten(n)
}

// stranger hears of a pod of another scheduler.
func (c *core) stranger(o *corev1.Pod) {
	s := c.shapes
	if _, known := s.strangers[o.UID]; known || o.Spec.NodeName == "" {
		return // requests of a bound pod do not change, but for resizes in place, which are not followed
	}
	n := c.nodeOf(o.Spec.NodeName)
	s.strangers[o.UID] = stranger{n, requestsOf(&o.Spec)}
	c.take(n, s.strangers[o.UID].want, 1)
}

func (c *core) strangerGone(uid types.UID) {
	if x, ok := c.shapes.strangers[uid]; ok {
		delete(c.shapes.strangers, uid)
		c.take(x.node, x.want, -1)
	}
}

// started tells the policy which slots have come and gone with an attempt.
func (c *core) started(a sojourn.Assignment) {
	id, _, _ := c.shapes.cluster.Place(a.Slot)
	c.home[a.Slot] = c.shapes.byID[id]
	c.shapes.byID[id].pods++
	c.tellSlots(c.shapes.cluster.AppendStart(nil, c.driver.Now(), a.Slot), nil)
}

// adopted returns a slot of a class for a pod that runs on a node already.
func (c *core) adopted(n *node, class sojourn.Class) sojourn.SlotID {
	if c.shapes.byID[n.id] == nil {
		c.resized(n)
	}
	events, slot, err := c.shapes.cluster.AppendAdopt(nil, c.driver.Now(), n.id, class)
	c.tellSlots(events, err)
	c.home[slot] = n
	n.pods++
	return slot
}

// left tells the policy which slots have come and gone with the end of an attempt.
func (c *core) left(p *pod) {
	delete(c.on, p.slot)
	p.node.pods--
	c.tellSlots(c.shapes.cluster.AppendEnd(nil, c.driver.Now(), p.slot), nil)
	c.forgotten(p.node)
}

// reserve keeps nodes for pods that need much of one. It reports whether to offer the slots again, or how
// long to wait.
func (c *core) reserve() (again bool, sleep time.Duration) {
	now := c.driver.Now()
	events, err := c.shapes.cluster.AppendReserve(nil, now)
	c.tellSlots(events, err)
	sleep = driver.Never
	if at, ok := c.shapes.cluster.NextReserve(); ok {
		sleep = max(0, at.Sub(now))
	}
	return len(events) > 0, sleep
}

// outgrown makes the shapes anew if the nodes have changed so much that the costs are wrong by a quarter.
func (c *core) outgrown() {
	s := c.shapes
	if !c.fits.changed {
		return
	}
	for i, n := range c.total(s.names) {
		if was := s.totals[i]; n > was+was/4 || n < was-was/4 {
			c.reshape()
			return
		}
	}
}

// reshape makes shapes of the wants that are used, and a policy that is told all that is true.
func (c *core) reshape() {
	s := c.shapes
	s.list = slices.DeleteFunc(s.list, func(w *want) bool {
		if w.users == 0 {
			c.fits.unwish(w.wish)
		}
		return w.users == 0
	})
	maps.DeleteFunc(s.wants, func(_ string, w *want) bool { return w.users == 0 })
	names, wishes := map[corev1.ResourceName]bool{}, map[*wish]bool{}
	s.wishes = nil
	for _, w := range s.list {
		for name := range w.requests {
			names[name] = true
		}
		if !wishes[w.wish] {
			wishes[w.wish] = true
			s.wishes = append(s.wishes, w.wish)
		}
	}
	s.names = slices.Sorted(maps.Keys(names))
	vectors := make([]shape.Resources, len(s.list))
	for i, w := range s.list {
		vectors[i], _ = s.vector(w)
	}
	most := max(1, min(256, sojourn.MaxSlots/2/(2*len(c.nodes)+1)))
	forms, classes, err := shape.Quantize(vectors, most)
	if err != nil {
		panic(fmt.Sprintf("kubernetes: %v", err))
	}
	for i, w := range s.list {
		w.class, w.classed = classes[i], true
	}
	s.forms, s.rounded = forms, len(forms) < len(s.list)
	s.totals = c.total(s.names)
	of, total := make([]shape.Resources, len(forms)), slices.Clone(s.totals)
	for i, form := range forms {
		of[i] = form[:len(s.names)]
		for k, n := range of[i] {
			total[k] = max(total[k], n, 1)
		}
	}
	costs, err := shape.Costs(of, total)
	if err != nil {
		panic(fmt.Sprintf("kubernetes: %v", err))
	}
	p, err := s.config.Policy(costs)
	if err == nil {
		err = c.renew(p)
	}
	if err != nil {
		s.err = fmt.Errorf("the policy cannot be made for %d shapes: %w", len(forms), err)
	}
}

// renew puts a new policy in the place of the one that there is, and tells it all that is true.
func (c *core) renew(p sojourn.Policy) error {
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
	cluster, err := shape.New(truth, shape.Options{Shapes: s.forms, Patience: s.config.Patience})
	if err != nil {
		return err
	}
	c.truth, c.driver, c.features, s.cluster = truth, d, features, cluster
	c.home, s.byID = map[sojourn.SlotID]*node{}, map[sojourn.NodeID]*node{}
	for _, n := range slices.SortedFunc(maps.Values(c.nodes), func(a, b *node) int { return int(a.id) - int(b.id) }) {
		n.pods = 0
		c.resized(n)
	}
	if old == nil {
		return nil
	}
	runs := map[sojourn.TaskID]*pod{}
	for _, p := range c.on {
		runs[p.task.id] = p
	}
	on := c.on
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
		spec.Phases[0].Held = true
		c.must(sojourn.Event{Kind: sojourn.JobAdopted, Job: &spec, Service: j.Age})
		for _, a := range attempts[spec.ID] {
			p := runs[a.Task]
			p.class = p.want.class
			c.must(sojourn.Event{Kind: sojourn.TaskReady, Task: a.Task})
			p.slot = c.adopted(p.node, p.class)
			c.must(sojourn.Event{Kind: sojourn.TaskAdopted, Task: a.Task, Attempt: a.Number, Slot: sojourn.Slot{ID: p.slot}, Service: a.Service})
			c.on[p.slot] = p
		}
		if known == nil {
			c.must(sojourn.Event{Kind: sojourn.JobCancelled, Job: &sojourn.Job{ID: spec.ID}})
			continue
		}
		for i := range spec.Phases[0].Tasks {
			id, t := sojourn.TaskID{Job: spec.ID, Index: uint32(i)}, known.tasks[uint32(i)]
			now, last := old.Task(id)
			switch {
			case now == account.Done:
				c.must(sojourn.Event{Kind: sojourn.TaskDone, Task: id})
			case t != nil && now != account.Running:
				t.last = max(t.last, last)
				c.sync(t)
			}
			for k := 0; t != nil && k < len(t.waiting); k++ {
				t.waiting[k].class = t.waiting[k].want.class
			}
		}
	}
	return nil
}

// short returns a resource of which a node has too little for what a pod wants, were it empty, and how
// much is missing.
func (n *node) short(w *want) (name corev1.ResourceName, by int64) {
	for _, r := range slices.Sorted(maps.Keys(w.requests)) {
		q := n.site.obj.Status.Allocatable[r]
		if lack := w.requests[r] - amount(r, q); lack > 0 {
			return r, lack
		}
	}
	return "", 0
}

// withShapes makes a core that gives pods what they request.
func (c *core) withShapes(config Shapes, now func() sojourn.Time) error {
	if config.Policy == nil {
		config.Policy = fairly
	}
	c.shapes = &shapes{config: config, now: now, wants: map[string]*want{}, of: map[types.UID]*want{}, strangers: map[types.UID]stranger{}}
	_, err := c.want(&corev1.PodSpec{}) // so that there is a shape
	return err
}

// classOf returns the class of a pod's slots, and with shapes what a pod wants. The user is the pod, or
// the Job of such pods.
func (c *core) classOf(user types.UID, spec *corev1.PodSpec) (sojourn.Class, *want, error) {
	if c.shapes == nil {
		class, err := class(c.slots, spec)
		return class, nil, err
	}
	w, err := c.want(spec)
	c.unwant(user)
	c.shapes.of[user] = w
	return w.class, w, err
}

// wantOf returns what a user wants, nil without shapes.
func (c *core) wantOf(user types.UID) *want {
	if c.shapes == nil {
		return nil
	}
	return c.shapes.of[user]
}

// unwant forgets a user.
func (c *core) unwant(user types.UID) {
	if c.shapes == nil {
		return
	}
	if w := c.shapes.of[user]; w != nil {
		w.users--
		delete(c.shapes.of, user)
	}
}

// odd reports whether a pod does not ask for what its Job's template does, since something has changed it.
// Such a pod is a job of its own.
func (c *core) odd(owner types.UID, p *pod) bool {
	j := c.jobs[owner]
	return c.shapes != nil && j != nil && j.id != 0 && j.want != p.want
}
