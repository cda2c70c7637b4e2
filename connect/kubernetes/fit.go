package kubernetes

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/account"
	"github.com/sojourn-sched/sojourn/driver"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	v1helper "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
)

// A demand is what pods require of their nodes besides room: nodeSelector, required node affinity, and that
// the pods tolerate the taints. Pods with the same demands share it.
type demand struct {
	key         string
	pods        int                           // that are known and have it
	needs       map[corev1.ResourceName]int64 // beside slots: what a node must have at all; nil with shapes
	affinity    nodeaffinity.RequiredNodeAffinity
	tolerations []corev1.Toleration
}

// fits is what a core knows of where pods may go.
type fits struct {
	demands map[string]*demand
	slots   []corev1.ResourceName // nil with shapes
	nodes   map[string]*node      // those that are known, and remember demands

	// blocked are the tasks that the policy would start, in its order, and whose pods may go on no node
	// with a free slot. The policy has them as held. Invariant, after each settle: no free slot of the
	// task's class is on a node that suits a waiting pod of it.
	blocked []*task
	freed   map[*node]bool // nodes that may have become the place of a blocked task
	full    map[place]bool // no free slot is on a node that suits; valid for a moment

	// told is the node that the policy was told of slots that have changed places.
	told map[sojourn.SlotID]sojourn.NodeID

	changed bool   // a node has changed, so that other pods may have no node
	epoch   uint64 // another one, and not 0, when nodes may have room for more pods or fewer
}

// A place is where pods may go that are alike.
type place struct {
	class  sojourn.Class
	demand *demand
	want   *want // with shapes
}

func newFits(slots []corev1.ResourceName, nodes map[string]*node) fits {
	return fits{epoch: 1, slots: slots, nodes: nodes, demands: map[string]*demand{}, freed: map[*node]bool{}, full: map[place]bool{}, told: map[sojourn.SlotID]sojourn.NodeID{}}
}

// demandOf returns what a pod demands, and counts the pod.
func (f *fits) demandOf(pod *corev1.PodSpec) *demand {
	demands := struct {
		Selector    map[string]string             `json:",omitempty"`
		Affinity    *corev1.NodeSelector          `json:",omitempty"`
		Tolerations []corev1.Toleration           `json:",omitempty"`
		Needs       map[corev1.ResourceName]int64 `json:",omitempty"`
	}{Selector: pod.NodeSelector}
	if f.slots != nil {
		demands.Needs = requestsOf(pod)
		delete(demands.Needs, corev1.ResourcePods)
		for _, name := range f.slots {
			delete(demands.Needs, name)
		}
	}
	if a := pod.Affinity; a != nil && a.NodeAffinity != nil {
		demands.Affinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	for _, t := range pod.Tolerations {
		if !ofState(t.Key) {
			demands.Tolerations = append(demands.Tolerations, t)
		}
	}
	key := ""
	if len(demands.Selector) > 0 || demands.Affinity != nil || len(demands.Tolerations) > 0 || len(demands.Needs) > 0 {
		b, err := json.Marshal(demands)
		if err != nil {
			panic(err)
		}
		key = string(b)
	}
	w := f.demands[key]
	if w == nil {
		w = &demand{key: key, needs: demands.Needs, tolerations: demands.Tolerations, affinity: nodeaffinity.GetRequiredNodeAffinity(&corev1.Pod{Spec: *pod})}
		f.demands[key] = w
	}
	w.pods++
	return w
}

// forget forgets a pod.
func (f *fits) forget(w *demand) {
	if w == nil {
		return
	}
	if w.pods--; w.pods == 0 {
		delete(f.demands, w.key)
		for _, n := range f.nodes {
			delete(n.site.lacks, w)
		}
	}
}

// ofState reports whether a taint says that a node is down or cordoned. Such nodes are not used whatever
// a pod tolerates.
func ofState(taint string) bool {
	return taint == corev1.TaintNodeNotReady || taint == corev1.TaintNodeUnreachable || taint == corev1.TaintNodeUnschedulable
}

// A site is what pods can demand of a node, and for each demand why it is not met; empty if it is.
type site struct {
	obj    *corev1.Node // nil if the node is not in the pool
	taints []corev1.Taint
	lacks  map[*demand]string
}

// see notes what a node is now.
func (c *places) see(n *node, o *corev1.Node) {
	old := n.site
	n.site = site{lacks: map[*demand]string{}}
	if o != nil && c.selector.Matches(nodeLabels(o)) {
		n.site.obj = o
		for _, t := range o.Spec.Taints {
			if t.Effect != corev1.TaintEffectPreferNoSchedule && !ofState(t.Key) {
				n.site.taints = append(n.site.taints, t)
			}
		}
	}
	if a, b := old.obj, n.site.obj; a != nil && b != nil && maps.Equal(a.Labels, b.Labels) && slices.Equal(old.taints, n.site.taints) && sameRoom(a, b) {
		n.site.lacks = old.lacks
		return
	}
	c.fits.changed, c.fits.freed[n] = true, true
}

func sameRoom(a, b *corev1.Node) bool {
	return maps.EqualFunc(a.Status.Allocatable, b.Status.Allocatable, func(x, y resource.Quantity) bool { return x.Cmp(y) == 0 })
}

const tooLittle = "has too little "

// lacks returns why pods with a demand may not go on a node, empty if they may.
func (n *node) lacks(w *demand) string {
	if why, ok := n.site.lacks[w]; ok {
		return why
	}
	why := ""
	if n.site.obj == nil {
		why = "is not in the pool of this scheduler"
	} else if t, bad := v1helper.FindMatchingUntoleratedTaint(klog.Background(), n.site.taints, w.tolerations, nil, true); bad {
		why = fmt.Sprintf("has the taint %s, which the pod does not tolerate", t.ToString())
	} else if ok, err := w.affinity.Match(n.site.obj); err != nil {
		why = fmt.Sprintf("cannot be matched: %v", err)
	} else if !ok {
		why = "does not match the pod's nodeSelector or node affinity"
	} else if name, _ := n.short(w.needs); name != "" {
		why = tooLittle + string(name)
	}
	if n.site.lacks == nil {
		n.site.lacks = map[*demand]string{}
	}
	n.site.lacks[w] = why
	return why
}

// site puts a pod, which the policy would start on a slot, on a node that suits it, and returns the pod.
// If the node of the slot does not, the slot changes places with another free one: slots of a class are
// alike to the policy, since no job has inputs. If there is no such slot, site returns nil.
func (c *places) site(slot sojourn.SlotID, t *task) *pod {
	if c.shapes != nil {
		return t.waiting[0] // a demand is a part of the shape
	}
	n := c.home[slot]
	for _, p := range t.waiting {
		if n.lacks(p.demand) == "" {
			return p
		}
	}
	for _, p := range t.waiting {
		if other, ok := c.free(p.place()); ok {
			c.swap(p.class, slot, other)
			return p
		}
	}
	return nil
}

// free returns a free slot on the first of the nodes that suit.
func (c *places) free(at place) (slot sojourn.SlotID, ok bool) {
	if c.fits.full[at] {
		return 0, false
	}
	var first *node
	for _, n := range c.nodes {
		if (first == nil || n.id < first.id) && n.lacks(at.demand) == "" {
			if id, free := c.idle(n, at.class); free {
				first, slot = n, id
			}
		}
	}
	c.fits.full[at] = first == nil
	return slot, first != nil
}

// idle returns a slot of a node on which nothing runs.
func (c *places) idle(n *node, class sojourn.Class) (sojourn.SlotID, bool) {
	list := n.classes[class].slots
	if i := slices.IndexFunc(list, func(id sojourn.SlotID) bool { return c.on[id] == nil }); i >= 0 {
		return list[i], true
	}
	return 0, false
}

// swap lets two slots of a class, which are free or about to start something, change places.
func (c *places) swap(class sojourn.Class, a, b sojourn.SlotID) {
	n, m := c.home[a], c.home[b]
	for _, id := range []sojourn.SlotID{a, b} {
		if _, ok := c.fits.told[id]; !ok {
			c.fits.told[id] = c.home[id].id
		}
	}
	in, im := slices.Index(n.classes[class].slots, a), slices.Index(m.classes[class].slots, b)
	n.classes[class].slots[in], m.classes[class].slots[im] = b, a
	c.home[a], c.home[b] = m, n
}

// toldOf returns the node that the policy was told of a slot.
func (c *places) toldOf(slot sojourn.SlotID, n *node) sojourn.NodeID {
	if id, ok := c.fits.told[slot]; ok {
		return id
	}
	return n.id
}

// block gives back an assignment that no node suits, and holds the task until that changes.
func (c *places) block(a sojourn.Assignment, t *task) {
	c.must(driver.Refused(a))
	c.must(sojourn.Event{Kind: sojourn.TaskHeld, Task: t.id})
	t.blocked = true
	c.fits.blocked = append(c.fits.blocked, t)
}

// unblock makes blocked tasks ready for which a place may have come: of each job no more than there are
// places.
func (c *places) unblock() {
	f := &c.fits
	clear(f.full)
	if len(f.blocked) == 0 {
		clear(f.freed)
		return
	}
	type share struct {
		job sojourn.JobID
		place
	}
	places, used := map[place]int{}, map[share]int{}
	f.blocked = slices.DeleteFunc(f.blocked, func(t *task) bool {
		if now, _ := c.truth.Task(t.id); !t.blocked || now != account.Held || len(t.waiting) == 0 {
			t.blocked = false
			return true
		}
		for _, p := range t.waiting {
			at := p.place()
			n, ok := places[at]
			if !ok {
				n = c.vacant(at)
				places[at] = n
			}
			if s := (share{t.id.Job, at}); used[s] < n {
				used[s]++
				t.blocked = false
				c.sync(t)
				return true
			}
		}
		return false
	})
	clear(f.freed)
}

// vacant returns how many slots are free on the nodes that were freed and suit.
func (c *places) vacant(at place) int {
	sum := 0
	for n := range c.fits.freed {
		if n.lacks(at.demand) != "" {
			continue
		}
		for _, id := range n.classes[at.class].slots {
			if c.on[id] == nil {
				sum++
			}
		}
	}
	return sum
}

func (p *pod) place() place { return place{p.class, p.demand, p.want} }

// doubt tells a pod that waits if no node could ever be its place.
func (c *places) doubt(p *pod) {
	if why := c.hopeless(p.place()); why != "" && why != p.told {
		p.told = why
		c.act.unplaceable(p.obj, why)
	}
}

// doubtAll does so for all pods, after nodes have changed.
func (c *places) doubtAll() {
	if !c.fits.changed || c.restoring {
		return
	}
	c.fits.changed = false
	bad := map[place]bool{}
	for _, uid := range slices.Sorted(maps.Keys(c.pods)) {
		p := c.pods[uid]
		if p.state != waiting {
			continue
		}
		at := p.place()
		is, known := bad[at]
		if !known {
			is = c.hopeless(at) != ""
			bad[at] = is
		}
		if is {
			c.doubt(p)
		}
	}
}

// hopeless says why no node would take a pod, were all of them up and empty; empty if one would, or if
// there are no nodes.
func (c *places) hopeless(at place) string {
	reasons, names, all := map[string]int{}, []string(nil), 0
	lack, short := map[string]int64{}, map[string]string{}
	for _, n := range c.nodes {
		if n.site.obj == nil {
			continue
		}
		why := n.lacks(at.demand)
		if at.want == nil {
			q := n.site.obj.Status.Allocatable[c.slots[at.class]]
			if q.Sign() <= 0 {
				continue
			}
		}
		needs := at.demand.needs
		if at.want != nil {
			needs = at.want.requests
		}
		if name, by := n.short(needs); name != "" && (why == "" || why == tooLittle+string(name)) {
			why = tooLittle + string(name)
			if least, ok := lack[why]; !ok || by < least {
				lack[why], short[why] = by, quantity(name, by)
			}
		}
		if why == "" {
			return ""
		}
		reasons[why]++
		all++
	}
	if all == 0 {
		return ""
	}
	for why := range reasons {
		names = append(names, why)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := reasons[b] - reasons[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	for i, why := range names {
		names[i] = fmt.Sprintf("%d %s", reasons[why], plural(reasons[why], why))
		if by := short[why]; by != "" {
			names[i] += ", short by " + by + " at least"
		}
	}
	return fmt.Sprintf("0 of %d nodes are suitable: %s", all, strings.Join(names, "; "))
}

// plural makes a reason about one node one about n.
func plural(n int, why string) string {
	if n == 1 {
		return why
	}
	for _, verb := range [][2]string{{"has ", "have "}, {"does ", "do "}, {"is ", "are "}} {
		if rest, ok := strings.CutPrefix(why, verb[0]); ok {
			return verb[1] + rest
		}
	}
	return why
}
