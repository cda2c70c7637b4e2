package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	podresource "k8s.io/component-helpers/resource"
)

// A want is what pods ask of their nodes: amounts of resources, and a demand. Pods that ask for the same
// share it. A want is a shape of package shape: each demand is a resource, of which nodes that suit have
// plenty and others nothing.
type want struct {
	requests map[corev1.ResourceName]int64 // in thousandths of cpu, otherwise units; nothing is 0
	demand   *demand
	users    int // pods and Jobs
	class    sojourn.Class
	classed  bool // class is valid
}

// requestsOf returns what a pod of a template takes of a node.
func requestsOf(spec *corev1.PodSpec) map[corev1.ResourceName]int64 {
	return takes(&corev1.Pod{Spec: *spec})
}

// takes returns what a pod takes of its node: while it is resized, the most of what it has and what it will have.
func takes(o *corev1.Pod) map[corev1.ResourceName]int64 {
	spec := &o.Spec
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
	for name, q := range podresource.PodRequests(&corev1.Pod{Spec: *filled, Status: o.Status}, podresource.PodResourcesOptions{UseStatusResources: true}) {
		if n := batch.Amount(name, q); n > 0 {
			r[name] = n
		}
	}
	return r
}

// quantity is the inverse of batch.Amount, as text.
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

// short returns a resource of which a node has too little for what a pod needs, were it empty, and how
// much is missing.
func (n *node) short(needs map[corev1.ResourceName]int64) (name corev1.ResourceName, by int64) {
	for _, r := range slices.Sorted(maps.Keys(needs)) {
		q := n.site.obj.Status.Allocatable[r]
		if lack := needs[r] - batch.Amount(r, q); lack > 0 {
			return r, lack
		}
	}
	return "", 0
}

// classOf returns the class of a pod's slots, and with shapes what a pod wants. The user is the pod, or
// the Job of such pods.
func (c *shaped) classOf(user types.UID, spec *corev1.PodSpec) (sojourn.Class, *want, error) {
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
func (c *shaped) wantOf(user types.UID) *want {
	if c.shapes == nil {
		return nil
	}
	return c.shapes.of[user]
}

// unwant forgets a user.
func (c *shaped) unwant(user types.UID) {
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
func (c *shaped) odd(owner types.UID, p *pod) bool {
	j := c.jobs[owner]
	return c.shapes != nil && j != nil && j.id != 0 && j.want != p.want
}
