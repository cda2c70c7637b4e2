package kubernetes

import (
	"strconv"

	"github.com/sojourn-sched/sojourn"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ours reports whether pods of a template are for this scheduler.
func (c *workload) ours(t *corev1.PodTemplateSpec) bool {
	if c.pins {
		return t.Labels[Managed] == c.name
	}
	return t.Spec.SchedulerName == c.name
}

// placeable returns what of a pod's wishes nobody would look at.
func (c *workload) placeable(pod *corev1.PodSpec) error {
	if c.pins {
		return nil // the other scheduler does
	}
	return placeable(pod)
}

// open reports whether nothing but this scheduler keeps a pod waiting.
func (c *workload) open(o *corev1.Pod) bool {
	g := o.Spec.SchedulingGates
	if c.pins {
		return len(g) == 1 && g[0].Name == Gate
	}
	return len(g) == 0
}

// placeOf returns the node that a pod is bound or pinned to, empty if it is neither.
func placeOf(o *corev1.Pod) string {
	if o.Spec.NodeName != "" {
		return o.Spec.NodeName
	}
	if len(o.Spec.SchedulingGates) > 0 {
		return ""
	}
	return o.Annotations[Pinned]
}

// pinned reports whether a pod is pinned to a node, and the other scheduler has not bound it yet.
func (c *places) pinned(p *pod) bool {
	return c.pins && p.state != ended && p.obj.DeletionTimestamp == nil && p.obj.Spec.NodeName == "" && placeOf(p.obj) != ""
}

// unpin evicts the pods that wait for a node that is shut.
func (c *places) unpin(n *node) {
	if !c.pins || !n.shut {
		return
	}
	for i := range n.classes {
		s := &n.classes[i]
		for _, list := range [][]sojourn.SlotID{s.slots, s.retiring} {
			for _, id := range list {
				if p := c.on[id]; p != nil && c.pinned(p) {
					c.unstick(p)
				}
			}
		}
	}
}

// unstick evicts a pod that is pinned to a node that is shut: it cannot be pinned to another one.
func (c *places) unstick(p *pod) {
	if p.node != nil && p.node.shut && !p.killing {
		p.killing = true
		c.act.evict(p.obj, p.attempt)
	}
}

// pin removes the gate of a pod, and pins it to a node.
func (a *api) pin(p *corev1.Pod, node, host string, attempt uint32) {
	if host == "" {
		host = node
	}
	patch := patchOf(map[string]any{
		"metadata": map[string]any{"uid": p.UID, "annotations": map[string]string{Attempt: strconv.FormatUint(uint64(attempt), 10), Pinned: node}},
		"spec": map[string]any{
			"nodeSelector":    map[string]string{corev1.LabelHostname: host},
			"schedulingGates": []map[string]string{{"$patch": "delete", "name": Gate}},
		},
	})
	a.place(p, attempt, func() error {
		_, err := a.client.CoreV1().Pods(p.Namespace).Patch(a.ctx, p.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{})
		return err
	})
}
