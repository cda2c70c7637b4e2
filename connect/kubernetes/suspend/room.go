package suspend

import (
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
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
)

const (
	window = 16               // the most slots that are free, and the most tasks of a job that are ready
	keep   = 10 * time.Minute // how long room is kept for a job at most
)

// amounts are of resources: thousandths of a cpu, bytes, pods, and numbers of others.
type amounts map[corev1.ResourceName]int64

// A room is what the pods of all Jobs may have together: what nodes offer or a quota allows, less what other pods request.
type room struct {
	quota    bool               // amounts that it does not name are not limited
	nodes    map[string]amounts // that can be used; the quota is one without a name
	pods     map[types.UID]held // that have not ended
	stale    bool               // something of these has changed
	other    bool               // nodes or the quota have
	space    amounts            // the room
	used     amounts            // what Jobs occupy of it
	granted  amounts            // what the policy has given of it
	blocked  []*job             // for whose pods there was no room, those that have waited for longest first
	kept     *job               // for which room is kept: others leave as much as a pod of it requests
	since    sojourn.Time
	patience time.Duration
}

// A held is what a pod requests.
type held struct {
	on    string // the node
	job   types.UID
	needs amounts
}

func newRoom(quota bool) *room {
	return &room{quota: quota, nodes: map[string]amounts{}, pods: map[types.UID]held{}, space: amounts{}, used: amounts{}, granted: amounts{}, patience: time.Minute}
}

// amountsOf reads a list of resources.
func amountsOf(list corev1.ResourceList) amounts {
	a := amounts{}
	for name, q := range list { //sojourn:unordered
		if a[name] = q.Value(); name == corev1.ResourceCPU {
			a[name] = q.MilliValue()
		}
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

func (a amounts) add(b amounts, n int64) {
	for name, q := range b { //sojourn:unordered
		a[name] += n * q
	}
}

// node hears of a node, which counts while pods may be placed on it.
func (c *core) node(o *corev1.Node) {
	if c.room.stale, c.room.other = true, true; !batch.Usable(o) {
		delete(c.room.nodes, o.Name)
		return
	}
	c.room.nodes[o.Name] = amountsOf(o.Status.Allocatable)
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
	c.room.stale, c.room.other, c.room.nodes[""] = true, true, a
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
	r.stale, r.space = false, amounts{}
	if r.other {
		r.other = false
		for _, j := range r.blocked {
			j.told = j.told && c.hopeless(j) != ""
		}
	}
	for _, a := range r.nodes { //sojourn:unordered
		r.space.add(a, 1)
	}
	for _, h := range r.pods { //sojourn:unordered
		_, here := r.nodes[h.on]
		here = here || r.quota
		switch ours := c.jobs[h.job] != nil; {
		case here && !ours:
			r.space.add(h.needs, -1)
		case !here && ours && h.on != "": // it counts as used, and takes nothing of these nodes
			r.space.add(h.needs, 1)
		}
	}
	if r.quota {
		maps.DeleteFunc(r.space, func(name corev1.ResourceName, _ int64) bool { _, ok := r.nodes[""][name]; return !ok })
	}
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
func (r *room) holds(needs, used, kept amounts) bool {
	if r.quota && r.nodes[""] == nil {
		return false
	}
	for name, q := range needs { //sojourn:unordered
		if space, known := r.space[name]; q > 0 && (known || !r.quota) && used[name]+kept[name]+q > space {
			return false
		}
	}
	return true
}

// need notes what a pod of a job requests.
func (c *core) need(j *job, o *batchv1.Job) {
	if c.room == nil {
		return
	}
	if needs := needsOf(&o.Spec.Template.Spec); !maps.Equal(j.needs, needs) {
		c.room.used.add(j.needs, -int64(j.occupied))
		c.room.used.add(needs, int64(j.occupied))
		c.room.granted.add(j.needs, -int64(len(j.grants)))
		c.room.granted.add(needs, int64(len(j.grants)))
		j.needs, j.told = needs, false
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
	if j.told {
		return
	}
	if why := c.hopeless(j); why != "" {
		j.told = true
		c.act.warn(j.obj, "FitsNowhere", why)
	}
}

// hopeless says why no pod of a job could start if it were the only one, empty if it could or if nothing is known.
func (c *core) hopeless(j *job) string {
	r := c.room
	lack := map[corev1.ResourceName]bool{}
	for _, a := range r.nodes { //sojourn:unordered
		before := len(lack)
		for name, q := range j.needs { //sojourn:unordered
			if has, known := a[name]; q > has && (known || !r.quota) {
				lack[name] = true
				before = -1
			}
		}
		if before >= 0 {
			return ""
		}
	}
	if len(lack) == 0 {
		return ""
	}
	return fmt.Sprintf("a pod requests more than any node has or the quota allows of: %v", slices.Sorted(maps.Keys(lack)))
}

// unblock has jobs try again whose pods may have room now, and keeps room for the one that has waited for long. It returns how long
// to wait until that.
func (c *core) unblock() time.Duration {
	r, now, sleep := c.room, c.driver.Now(), driver.Never
	c.measure()
	if k := r.kept; k != nil && (!k.blocked || now.Sub(r.since) >= keep) {
		r.kept, k.since = nil, now
	}
	r.blocked = slices.DeleteFunc(r.blocked, func(j *job) bool { return c.jobs[j.obj.UID] != j || j.id == 0 })
	for _, j := range r.blocked {
		if left := r.patience - now.Sub(j.since); r.kept == nil && left <= 0 && !j.told {
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
