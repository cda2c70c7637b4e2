package kubernetes

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/driver"
	"github.com/sojourn-sched/sojourn/fair"
	"github.com/sojourn-sched/sojourn/shape"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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
	demands []*demand
	rounded bool // some wants share a class
	forms   []shape.Resources
	totals  shape.Resources

	byID      map[sojourn.NodeID]*node
	strangers map[types.UID]stranger
	err       error // why there is no policy
}

// shaped is the layer of what pods request.
type shaped struct {
	known
	fits   fits
	shapes *shapes // nil: pods take slots
}

// A stranger is what a pod takes of a node beside the policy: one of another scheduler all, one of the policy what it has
// grown by.
type stranger struct {
	node *node
	want map[corev1.ResourceName]int64
}

// fairly makes the default policy.
func fairly(cost map[sojourn.Class][]uint32) (sojourn.Policy, error) {
	return fair.New(fair.Options{Cost: cost})
}

// want returns what a pod asks for, with a class, and counts the user.
func (c *shaped) want(spec *corev1.PodSpec) (*want, error) {
	s := c.shapes
	requests, demand := requestsOf(spec), c.fits.demandOf(spec)
	key := fmt.Sprintf("%v %s", requests, demand.key) // which sorts
	w := s.wants[key]
	if w == nil {
		w = &want{requests: requests, demand: demand}
		s.wants[key] = w
		s.list = append(s.list, w)
		demand.pods++ // until the want is forgotten
	}
	c.fits.forget(demand)
	w.users++
	if !w.classed {
		c.classify(w)
	}
	return w, s.err
}

// classify gives a want a class: that of a shape in which it fits and which is not twice as large, if
// there are more wants than classes. Otherwise the shapes are made anew.
func (c *shaped) classify(w *want) {
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
	v, known := make(shape.Resources, len(s.names)+len(s.demands)), 0
	for i, name := range s.names {
		if n, ok := w.requests[name]; ok {
			v[i] = n
			known++
		}
	}
	at := slices.Index(s.demands, w.demand)
	if known < len(w.requests) || at < 0 {
		return nil, false
	}
	v[len(s.names)+at] = 1
	return v, true
}

// roomOf returns what a node has for pods of the policy.
func (c *shaped) roomOf(n *node) shape.Resources {
	s := c.shapes
	v := make(shape.Resources, len(s.names)+len(s.demands))
	if n.gone || n.site.obj == nil || !batch.Usable(n.site.obj) {
		return v
	}
	for i, name := range s.names {
		if q, ok := n.site.obj.Status.Allocatable[name]; ok {
			v[i] = max(0, batch.Amount(name, q)-n.taken[name])
		}
	}
	for i, w := range s.demands {
		if n.lacks(w) == "" {
			v[len(s.names)+i] = plenty
		}
	}
	return v
}

// total returns what all nodes have.
func (c *shaped) total(names []corev1.ResourceName) shape.Resources {
	v := make(shape.Resources, len(names))
	for _, n := range c.nodes {
		if n.site.obj == nil || n.gone {
			continue
		}
		for i, name := range names {
			q := n.site.obj.Status.Allocatable[name]
			v[i] = min(v[i]+batch.Amount(name, q), math.MaxInt64/4)
		}
	}
	return v
}

// tellSlots reports events of the cluster of shapes.
func (c *shaped) tellSlots(events []sojourn.Event, err error) {
	if err != nil {
		panic(fmt.Sprintf("kubernetes: %v", err))
	}
	for _, ev := range events {
		c.must(ev)
	}
}

// resized tells the policy what a node has now.
func (c *shaped) resized(n *node) {
	s := c.shapes
	if s.byID[n.id] == nil {
		s.byID[n.id] = n
		c.tellSlots(s.cluster.AppendNode(nil, c.driver.Now(), n.id, 0, c.roomOf(n)))
		return
	}
	c.tellSlots(s.cluster.AppendResize(nil, c.driver.Now(), n.id, c.roomOf(n)))
}

// forgotten drops a node that is gone, if no pod is there.
func (c *shaped) forgotten(n *node) {
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
func (c *shaped) take(n *node, more map[corev1.ResourceName]int64) {
	if n.taken == nil {
		n.taken = map[corev1.ResourceName]int64{}
	}
	for name, amount := range more {
		if n.taken[name] += amount; n.taken[name] == 0 {
			delete(n.taken, name)
		}
	}
	c.fits.epoch++
	c.resized(n)
	c.forgotten(n)
}

// stranger hears of a pod of another scheduler.
func (c *shaped) stranger(o *corev1.Pod) {
	if o.Spec.NodeName != "" {
		c.count(o.UID, c.nodeOf(o.Spec.NodeName), takes(o))
	}
}

func (c *shaped) strangerGone(uid types.UID) {
	if x, ok := c.shapes.strangers[uid]; ok {
		c.count(uid, x.node, nil)
	}
}

// count notes what a pod takes of a node now beside the policy.
func (c *shaped) count(uid types.UID, n *node, now map[corev1.ResourceName]int64) {
	was, more := c.shapes.strangers[uid].want, maps.Clone(now)
	if maps.Equal(was, now) {
		return
	}
	if c.shapes.strangers[uid] = (stranger{n, now}); len(now) == 0 {
		delete(c.shapes.strangers, uid)
		more = map[corev1.ResourceName]int64{}
	}
	for name, amount := range was {
		more[name] -= amount
	}
	c.take(n, more)
}

// grow notes what a pod of the policy takes beyond its request, since it was resized.
func (c *shaped) grow(p *pod) {
	beyond := map[corev1.ResourceName]int64{}
	for name, n := range takes(p.obj) {
		if more := n - p.want.requests[name]; more > 0 {
			beyond[name] = more
		}
	}
	c.count(p.obj.UID, p.node, beyond)
}

// started tells the policy which slots have come and gone with an attempt.
func (c *shaped) started(a sojourn.Assignment) {
	id, _, _ := c.shapes.cluster.Place(a.Slot)
	c.home[a.Slot] = c.shapes.byID[id]
	c.shapes.byID[id].pods++
	c.tellSlots(c.shapes.cluster.AppendStart(nil, c.driver.Now(), a.Slot), nil)
}

// adopted returns a slot of a class for a pod that runs on a node already.
func (c *shaped) adopted(n *node, class sojourn.Class) sojourn.SlotID {
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
func (c *shaped) left(p *pod) {
	delete(c.on, p.slot)
	p.node.pods--
	c.tellSlots(c.shapes.cluster.AppendEnd(nil, c.driver.Now(), p.slot), nil)
	c.strangerGone(p.obj.UID)
	c.forgotten(p.node)
}

// reserve keeps nodes for pods that need much of one. It reports whether to offer the slots again, or how
// long to wait.
func (c *shaped) reserve() (again bool, sleep time.Duration) {
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
func (c *shaped) outgrown() {
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
func (c *shaped) reshape() {
	s := c.shapes
	s.list = slices.DeleteFunc(s.list, func(w *want) bool {
		if w.users == 0 {
			c.fits.forget(w.demand)
		}
		return w.users == 0
	})
	maps.DeleteFunc(s.wants, func(_ string, w *want) bool { return w.users == 0 })
	names, demands := map[corev1.ResourceName]bool{}, map[*demand]bool{}
	s.demands = nil
	for _, w := range s.list {
		for name := range w.requests {
			names[name] = true
		}
		if !demands[w.demand] {
			demands[w.demand] = true
			s.demands = append(s.demands, w.demand)
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

// withShapes makes a core that gives pods what they request.
func (c *shaped) withShapes(config Shapes, now func() sojourn.Time) error {
	if config.Policy == nil {
		config.Policy = fairly
	}
	c.shapes = &shapes{config: config, now: now, wants: map[string]*want{}, of: map[types.UID]*want{}, strangers: map[types.UID]stranger{}}
	_, err := c.want(&corev1.PodSpec{}) // so that there is a shape
	return err
}
