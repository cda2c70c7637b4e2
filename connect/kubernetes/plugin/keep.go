package plugin

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	fwk "k8s.io/kube-scheduler/framework"
)

// A keep is the node that is kept for one pod: kube-scheduler counts the requests of the pod that is nominated to a node when it
// looks for places of others.
type keep struct {
	patience time.Duration
	started  int // pods that have found a node
	uid      types.UID
	node     string
	until    time.Time
}

// longest is how long a node is kept at most. Then the pod waits as any other, and may have a node again after its patience.
const longest = 10 * time.Minute

// fails are since when a pod has found no node, and how many others had started before.
type fails struct {
	since   time.Time
	started int
}

// reserve notes that a pod fits nowhere, and returns the node that is kept for it, if one is. Its caller holds p.mu.
func (p *Plugin) reserve(o *corev1.Pod, nodes fwk.NodeToStatusReader) (result *fwk.PostFilterResult, kept bool) {
	k, now := &p.keep, time.Now()
	if k.uid == o.UID {
		if now.Before(k.until) {
			return nominate(k.node), true
		}
		p.forget(o.UID)
		p.missed[o.UID] = fails{now, k.started}
		return nominate(""), false
	}
	f, before := p.missed[o.UID]
	switch {
	case !before:
		p.missed[o.UID] = fails{now, k.started}
	case k.patience > 0 && k.uid == "" && now.Sub(f.since) >= k.patience && k.started > f.started:
		if node := p.best(o, nodes); node != "" {
			k.uid, k.node, k.until = o.UID, node, now.Add(longest)
			return nominate(node), true
		}
	}
	return nil, false
}

func nominate(node string) *fwk.PostFilterResult {
	return &fwk.PostFilterResult{NominatingInfo: &fwk.NominatingInfo{NominatedNodeName: node, NominatingMode: fwk.ModeOverride}}
}

// forget ends what is kept for a pod. Its caller holds p.mu.
func (p *Plugin) forget(uid types.UID) {
	delete(p.missed, uid)
	if p.keep.uid == uid {
		p.keep.uid = ""
	}
}

// best returns, of the nodes that could hold a pod if others ended, the one that is short by the least part of itself. Among
// equals it is the first by name. It returns "" if there is none.
func (p *Plugin) best(o *corev1.Pod, nodes fwk.NodeToStatusReader) string {
	list, err := nodes.NodesForStatusCode(p.handle.SnapshotSharedLister().NodeInfos(), fwk.Unschedulable)
	if err != nil {
		return ""
	}
	want, name, least := resource.PodRequests(o, resource.PodResourcesOptions{}), "", math.Inf(1)
	for _, n := range list {
		has, taken, short := n.GetAllocatable(), n.GetRequested(), 0.0
		need := func(want, has, taken int64) {
			if has > 0 {
				short = max(short, float64(want-has+taken)/float64(has))
			}
		}
		need(1, int64(has.GetAllowedPodNumber()), int64(len(n.GetPods())))
		for r, q := range want { //sojourn:unordered
			switch r {
			case corev1.ResourceCPU:
				need(q.MilliValue(), has.GetMilliCPU(), taken.GetMilliCPU())
			case corev1.ResourceMemory:
				need(q.Value(), has.GetMemory(), taken.GetMemory())
			case corev1.ResourceEphemeralStorage:
				need(q.Value(), has.GetEphemeralStorage(), taken.GetEphemeralStorage())
			default:
				need(q.Value(), has.GetScalarResources()[r], taken.GetScalarResources()[r])
			}
		}
		if at := n.Node().Name; short < least || short == least && at < name {
			name, least = at, short
		}
	}
	return name
}
