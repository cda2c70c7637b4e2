package suspend

import (
	"fmt"
	"maps"
	"math/bits"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	"github.com/sojourn-sched/sojourn/driver"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
)

const (
	window = 16               // the most slots that are free, and the most tasks of a job that are ready
	keep   = 10 * time.Minute // how long room is kept for a job at most
	apart  = 16               // the most parts of the room that are counted
)

// amounts are of resources: thousandths of a cpu, bytes, pods, and numbers of others.
type amounts map[corev1.ResourceName]int64

// A sum is of amounts of many pods, in 128 bits: whatever they request, it does not run over, and what is taken off is what was added.
type sum struct {
	high int64
	low  uint64
}

// plus returns s and n times an amount.
func (s sum) plus(n, q int64) sum {
	high, low := bits.Mul64(uint64(n), uint64(q))
	if n < 0 {
		high -= uint64(q)
	}
	low, carry := bits.Add64(s.low, low, 0)
	return sum{s.high + int64(high+carry), low}
}

func (s sum) less(t sum) bool { return s.high < t.high || s.high == t.high && s.low < t.low }

type sums map[corev1.ResourceName]sum

func (s sums) add(a amounts, n int64) {
	for name, q := range a { //sojourn:unordered
		s[name] = s[name].plus(n, q)
	}
}

// A room is what the pods of all Jobs may have together: what nodes offer or a quota allows, less what other pods request. A part of it is
// what may be had by those that tolerate some taints only: it is counted as resources of their own, which pods of these need as well.
type room struct {
	quota    bool               // amounts that it does not name are not limited
	nodes    map[string]*place  // that can be used; the quota is one without a name
	pods     map[types.UID]held // that have not ended
	stale    bool               // something of these has changed
	other    bool               // nodes or the quota have
	mixed    bool               // what Jobs request or tolerate has
	taints   []corev1.Taint     // of all nodes
	parts    []uint64           // taints that are tolerated; all are in the first
	space    sums               // the room, and its parts
	used     sums               // what Jobs occupy of it
	granted  sums               // what the policy has given of it
	blocked  []*job             // for whose pods there was no room, those that have waited for longest first
	kept     *job               // for which room is kept: others leave as much as a pod of it requests
	since    sojourn.Time
	patience time.Duration
}

// A place is a node.
type place struct {
	has    amounts
	taints []corev1.Taint // that keep pods away
	bits   uint64         // the same, of the first 64 that there are
}

// A held is what a pod requests.
type held struct {
	on    string // the node
	job   types.UID
	needs amounts
}

func newRoom(quota bool) *room {
	return &room{quota: quota, nodes: map[string]*place{}, pods: map[types.UID]held{}, space: sums{}, used: sums{}, granted: sums{}, patience: time.Minute}
}

// amountsOf reads a list of resources.
func amountsOf(list corev1.ResourceList) amounts {
	a := amounts{}
	for name, q := range list { //sojourn:unordered
		a[name] = batch.Amount(name, q)
	}
	return a
}

// needsOf returns what a pod of a Job requests. Limits without requests become requests when the API server makes the pod.
func needsOf(spec *corev1.PodSpec) amounts {
	spec = spec.DeepCopy()
	ask := func(r *corev1.ResourceRequirements) {
		for name, q := range r.Limits { //sojourn:unordered
			if _, ok := r.Requests[name]; !ok {
				if r.Requests == nil {
					r.Requests = corev1.ResourceList{}
				}
				r.Requests[name] = q
			}
		}
	}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			ask(&list[i].Resources)
		}
	}
	if spec.Resources != nil {
		ask(spec.Resources)
	}
	a := amountsOf(resource.PodRequests(&corev1.Pod{Spec: *spec}, resource.PodResourcesOptions{}))
	a[corev1.ResourcePods] = 1
	return a
}

// node hears of a node, which counts while pods may be placed on it.
func (c *core) node(o *corev1.Node) {
	if c.nodeGone(o); !batch.Usable(o) {
		return
	}
	n := &place{has: amountsOf(o.Status.Allocatable)}
	for _, t := range o.Spec.Taints {
		if t.TimeAdded = nil; t.Effect != corev1.TaintEffectPreferNoSchedule {
			n.taints = append(n.taints, t)
		}
	}
	c.room.nodes[o.Name] = n
}

func (c *core) nodeGone(o *corev1.Node) {
	c.room.stale, c.room.other = true, true
	delete(c.room.nodes, o.Name)
}

// allow hears of the quota. Amounts of requests and of pods count, others do not.
func (c *core) allow(o *corev1.ResourceQuota) {
	a := amounts{}
	for name, hard := range o.Spec.Hard { //sojourn:unordered
		short := corev1.ResourceName(strings.TrimPrefix(strings.TrimPrefix(string(name), "requests."), "count/"))
		q := amountsOf(corev1.ResourceList{short: hard})[short]
		if old, ok := a[short]; !ok || q < old {
			a[short] = q
		}
	}
	c.room.stale, c.room.other, c.room.nodes[""] = true, true, &place{has: a}
}

// quotaGone hears that there is no quota: then there is no room.
func (c *core) quotaGone(*corev1.ResourceQuota) {
	c.room.stale, c.room.other = true, true
	delete(c.room.nodes, "")
}

// pod hears of a pod, of whatever owner.
func (c *core) pod(o *corev1.Pod) {
	if o.Status.Phase == corev1.PodSucceeded || o.Status.Phase == corev1.PodFailed {
		c.podGone(o)
		return
	}
	h := held{on: o.Spec.NodeName, needs: amountsOf(resource.PodRequests(o, resource.PodResourcesOptions{UseStatusResources: true}))}
	h.needs[corev1.ResourcePods] = 1
	if of := batch.Owner(o); of != nil {
		h.job = of.UID
	}
	if old, known := c.room.pods[o.UID]; !known || old.on != h.on || old.job != h.job || !maps.Equal(old.needs, h.needs) {
		c.room.pods[o.UID], c.room.stale = h, true
	}
}

func (c *core) podGone(o *corev1.Pod) {
	delete(c.room.pods, o.UID)
	c.room.stale = true
}

// measure counts anew what there is.
func (c *core) measure() {
	r := c.room
	if !r.stale {
		return
	}
	if r.other || r.mixed {
		c.divide()
	}
	if r.other {
		for _, j := range r.blocked {
			c.tell(j)
		}
	}
	r.stale, r.other, r.mixed, r.space = false, false, false, sums{}
	for i, tolerated := range r.parts {
		space := sums{}
		for _, n := range r.nodes { //sojourn:unordered
			if n.bits&^tolerated == 0 {
				space.add(n.has, 1)
			}
		}
		for _, h := range r.pods { //sojourn:unordered
			n, j := r.nodes[h.on], c.jobs[h.job]
			here := r.quota || n != nil && n.bits&^tolerated == 0
			switch ours := j != nil && j.tolerates&^tolerated == 0; {
			case here && !ours:
				space.add(h.needs, -1)
			case !here && ours && h.on != "": // it counts as used, and takes nothing of these nodes
				space.add(h.needs, 1)
			}
		}
		for name, s := range space { //sojourn:unordered
			r.space[in(name, i)] = s
		}
	}
	if limit := r.nodes[""]; limit != nil {
		maps.DeleteFunc(r.space, func(name corev1.ResourceName, _ sum) bool { _, ok := limit.has[name]; return !ok })
	}
}

// in returns the name of a resource in a part of the room.
func in(name corev1.ResourceName, part int) corev1.ResourceName {
	if part == 0 {
		return name
	}
	return corev1.ResourceName(fmt.Sprint(name, " ", part))
}

// divide finds the parts of the room: the nodes whose taints some jobs tolerate that do not tolerate all.
func (c *core) divide() {
	r, known := c.room, map[corev1.Taint]bool{}
	for _, n := range r.nodes { //sojourn:unordered
		for _, t := range n.taints {
			known[t] = true
		}
	}
	all := slices.SortedFunc(maps.Keys(known), func(a, b corev1.Taint) int { return strings.Compare(a.ToString(), b.ToString()) })
	all = all[:min(len(all), 64)]
	same := slices.Equal(all, r.taints)
	for _, n := range r.nodes { //sojourn:unordered
		n.bits = mask(all, func(t *corev1.Taint) bool { return slices.Contains(n.taints, *t) })
	}
	var parts []uint64
	every := mask(all, func(*corev1.Taint) bool { return true })
	for _, j := range c.jobs { //sojourn:unordered
		if !same || !j.divided {
			j.tolerates = mask(all, func(t *corev1.Taint) bool {
				return v1helper.TolerationsTolerateTaint(klog.Background(), j.tolerations, t, true) || j.asks[corev1.ResourceName(t.Key)] > 0
			})
		}
		if j.tolerates != every {
			parts = append(parts, j.tolerates)
		}
	}
	slices.Sort(parts)
	parts = slices.Compact(parts)
	parts = append([]uint64{^uint64(0)}, parts[:min(len(parts), apart)]...)
	same = same && slices.Equal(parts, r.parts)
	r.taints, r.parts = all, parts
	for _, j := range c.jobs { //sojourn:unordered
		if same && j.divided {
			continue
		}
		j.divided = true
		needs := amounts{}
		for i, tolerated := range r.parts {
			for name, q := range j.asks { //sojourn:unordered
				if j.tolerates&^tolerated == 0 {
					needs[in(name, i)] = q
				}
			}
		}
		r.used.add(j.needs, -int64(j.occupied))
		r.used.add(needs, int64(j.occupied))
		r.granted.add(j.needs, -int64(len(j.grants)))
		r.granted.add(needs, int64(len(j.grants)))
		j.needs = needs
	}
}

// mask returns the numbers of those of all that are in a set, as bits.
func mask(all []corev1.Taint, in func(*corev1.Taint) bool) (bits uint64) {
	for i := range all {
		if in(&all[i]) {
			bits |= 1 << i
		}
	}
	return bits
}

// fits reports whether there is room for one more pod of a job beside those that may run.
func (c *core) fits(j *job) bool {
	if c.room == nil {
		return c.taken < c.most
	}
	return c.room.holds(j.needs, c.room.used, nil)
}

// may reports whether the policy may give a job one more pod, beside those that it has given and what is kept.
func (c *core) may(j *job) bool {
	r := c.room
	var kept amounts
	if r.kept != nil && r.kept != j {
		kept = r.kept.needs
	}
	return r.holds(j.needs, r.granted, kept)
}

// holds reports whether there is room for a pod beside what is used and kept.
func (r *room) holds(needs amounts, used sums, kept amounts) bool {
	if r.quota && r.nodes[""] == nil {
		return false
	}
	for name, q := range needs { //sojourn:unordered
		if space, known := r.space[name]; q > 0 && (known || !r.quota) && space.less(used[name].plus(1, kept[name]).plus(1, q)) {
			return false
		}
	}
	return true
}

// need notes what a pod of a job requests and tolerates.
func (c *core) need(j *job, o *batchv1.Job) {
	if c.room == nil {
		return
	}
	spec := &o.Spec.Template.Spec
	if asks := needsOf(spec); !maps.Equal(j.asks, asks) || !reflect.DeepEqual(j.tolerations, spec.Tolerations) {
		j.asks, j.tolerations, j.told, j.divided = asks, spec.Tolerations, false, false
		c.room.stale, c.room.mixed = true, true
	}
}

// block gives an assignment back for which there is no room, and holds the tasks of its job.
func (c *core) block(a sojourn.Assignment, j *job) {
	c.must(driver.Refused(a))
	if !j.blocked {
		j.blocked, j.since = true, c.driver.Time()
		c.room.blocked = append(c.room.blocked, j)
	}
	c.fit(j)
	if !j.told {
		c.tell(j)
	}
}

// tell notes whether a job is hopeless, and warns of it once.
func (c *core) tell(j *job) {
	why := c.hopeless(j)
	if why != "" && !j.told {
		c.act.warn(j.obj, "FitsNowhere", why)
	}
	j.told = why != ""
}

// hopeless says why no pod of a job could start if it were the only one, empty if it could.
func (c *core) hopeless(j *job) string {
	r, some := c.room, false
	lack := map[corev1.ResourceName]bool{}
	for _, n := range r.nodes { //sojourn:unordered
		if n.bits&^j.tolerates != 0 {
			continue
		}
		fits := true
		for name, q := range j.asks { //sojourn:unordered
			if has, named := n.has[name]; q > has && (named || !r.quota) {
				lack[name], fits = true, false
			}
		}
		if some = true; fits {
			return ""
		}
	}
	switch {
	case some:
		return fmt.Sprintf("a pod requests more than any node has or the quota allows of: %v", slices.Sorted(maps.Keys(lack)))
	case r.quota:
		return "the quota that says how much room there is does not exist"
	}
	return "no node is selected and ready, not cordoned, and without taints that a pod does not tolerate"
}

// unblock has jobs try again whose pods may have room now, and keeps room for the one that has waited for long. It returns how long
// to wait until that.
func (c *core) unblock() time.Duration {
	r, now, sleep := c.room, c.driver.Now(), driver.Never
	r.blocked = slices.DeleteFunc(r.blocked, func(j *job) bool { // gone, paused, or it wants no more pods by now
		live, ok := c.truth.Job(j.id)
		j.blocked = ok && !j.paused && live.Running < min(j.parallelism, live.Left)
		return !j.blocked
	})
	c.measure()
	if k := r.kept; k != nil && (!k.blocked || k.told || now.Sub(r.since) >= keep) {
		r.kept, k.since = nil, now
	}
	for _, j := range r.blocked {
		if left := r.patience - now.Sub(j.since); left <= 0 && r.kept == nil && !j.told {
			r.kept, r.since = j, now
		} else if left > 0 {
			sleep = min(sleep, left)
		}
	}
	if r.kept != nil {
		sleep = min(sleep, keep-now.Sub(r.since))
	}
	r.blocked = slices.DeleteFunc(r.blocked, func(j *job) bool {
		if c.may(j) {
			j.blocked = false
			c.fit(j)
		}
		return !j.blocked
	})
	return sleep
}

// fund has some slots of the policy free, and few.
func (c *core) fund() {
	for c.slots < len(c.on)+window {
		c.addSlot()
	}
	if c.slots <= len(c.on)+2*window {
		return
	}
	var idle []sojourn.SlotID
	for s := range c.truth.Slots() {
		if c.on[s.ID] == nil {
			idle = append(idle, s.ID)
		}
	}
	for _, id := range idle[window:] {
		c.slots--
		c.must(sojourn.Event{Kind: sojourn.SlotRemoved, Slot: sojourn.Slot{ID: id}})
	}
}
