package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sojourn-sched/sojourn"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/batch"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

var kinds = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, "example.com/gpu"}

func list(amounts ...int64) corev1.ResourceList {
	l := corev1.ResourceList{}
	for i, n := range amounts {
		if n > 0 {
			l[kinds[i]] = *resource.NewQuantity(n, resource.DecimalSI)
		}
	}
	return l
}

// asks lets a pod request amounts of cpu, memory and GPUs.
func asks(amounts ...int64) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) {
		spec.Containers = []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: list(amounts...)}}}
	}
}

// has gives a node amounts of cpu, memory and GPUs, and room for pods.
func has(pods int64, amounts ...int64) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Allocatable = list(amounts...)
		n.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(pods, resource.DecimalSI)
	}
}

// counting makes the default policy, and counts.
func counting(n *int) func(map[sojourn.Class][]uint32) (sojourn.Policy, error) {
	return func(cost map[sojourn.Class][]uint32) (sojourn.Policy, error) {
		*n++
		return fairly(cost)
	}
}

// runs reports whether the policy has an attempt of a pod.
func (w *stage) runs(uid types.UID) bool {
	p := w.core.pods[uid]
	a, ok := w.core.truth.Attempt(p.slot)
	return ok && a.Task == p.task.id && a.Number == p.attempt
}

func newShapes(t fataler, patience time.Duration) *stage {
	return stageOf(t, Config{Name: "sojourn", Shapes: &Shapes{Patience: patience}})
}

// A bin is the oracle of what is where, by adding up.
type bin struct {
	*stage
	demands map[types.UID]constraints
	where   map[types.UID]string // strangers included
	waits   map[types.UID]bool
}

// left returns what is left of a resource on a node.
func (b *bin) left(node string, name corev1.ResourceName) int64 {
	q := b.nodes[node].Status.Allocatable[name]
	sum := q.MilliValue()
	for uid, on := range b.where {
		if on == node {
			r := b.pods[uid].Spec.Containers[0].Resources.Requests[name]
			sum -= r.MilliValue()
			if name == corev1.ResourcePods {
				sum -= 1000
			}
		}
	}
	return sum
}

// fits returns in which resource a pod does not fit into a node, empty if it does.
func (b *bin) fits(uid types.UID, node string) string {
	n := b.nodes[node]
	if !batch.Usable(n) || !b.demands[uid].suits(n) {
		return "demand"
	}
	for name, r := range b.pods[uid].Spec.Containers[0].Resources.Requests {
		if r.MilliValue() > b.left(node, name) {
			return string(name)
		}
	}
	if b.left(node, corev1.ResourcePods) < 1000 {
		return "pods"
	}
	return ""
}

func (b *bin) settle(t *rapid.T) {
	b.stage.settle()
	for _, x := range b.order {
		if why := b.fits(x.uid, x.node); why != "" || !b.waits[x.uid] {
			t.Fatalf("pod %s with %v is bound to node %s, where it does not fit: %s", x.uid, b.pods[x.uid].Spec.Containers[0].Resources.Requests, x.node, why)
		}
		b.where[x.uid] = x.node
		delete(b.waits, x.uid)
	}
	b.carryOut()
	for uid := range b.waits {
		for name := range b.nodes {
			if b.fits(uid, name) == "" {
				t.Fatalf("pod %s with %v waits, and fits into node %s", uid, b.pods[uid].Spec.Containers[0].Resources.Requests, name)
			}
		}
	}
}

// No node is over-committed in any resource, no pod is where it may not go, and no pod waits that fits
// somewhere: whatever comes, ends, shrinks, or is put there by others.
func TestNothingIsOvercommitted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := &bin{stage: newShapes(t, -1), demands: map[types.UID]constraints{}, where: map[types.UID]string{}, waits: map[types.UID]bool{}}
		draw := func(most int64) int64 { return rapid.Int64Range(0, most).Draw(t, "amount") }
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			b.now = b.now.Add(time.Second)
			node := fmt.Sprint("n", rapid.IntRange(0, 2).Draw(t, "node"))
			switch rapid.IntRange(0, 7).Draw(t, "step") {
			case 0, 1, 2:
				d := drawDemand(t)
				p := b.newPod(func(spec *corev1.PodSpec) {
					asks(draw(4), draw(4), draw(1))(spec)
					d.set(spec)
				})
				b.demands[p.UID], b.waits[p.UID] = d, true
			case 3:
				b.setNode(node, 0, func(n *corev1.Node) {
					has(draw(6), draw(8), draw(8), draw(2))(n)
					drawSite(t, n)
				})
			case 4, 5:
				if ids := slices.Sorted(maps.Keys(b.where)); len(ids) > 0 {
					uid := rapid.SampledFrom(ids).Draw(t, "ends")
					if delete(b.where, uid); strings.HasPrefix(string(uid), "s") {
						b.core.strangerGone(uid)
					} else {
						b.end(uid)
					}
				}
			case 6:
				p := &corev1.Pod{}
				p.UID = types.UID(fmt.Sprint("s", len(b.pods)))
				p.Spec.NodeName = node
				asks(draw(3), draw(3), draw(1))(&p.Spec)
				b.pods[p.UID] = p
				b.where[p.UID] = node
				b.core.stranger(p.DeepCopy())
			case 7:
				if ids := slices.Sorted(maps.Keys(b.waits)); len(ids) > 0 {
					uid := rapid.SampledFrom(ids).Draw(t, "deleted")
					b.remove(uid)
					delete(b.waits, uid)
				}
			}
			b.settle(t)
		}
	})
}

// Pods of the size of a node run although small ones come all the time, and a node that is reserved for them
// is free again afterwards. Without reservation they would wait for ever.
func TestLargePodsDoNotStarve(t *testing.T) {
	for _, patience := range []time.Duration{-1, 20 * time.Second} {
		w := newShapes(t, patience)
		for i := range 3 {
			w.setNode(fmt.Sprint("n", i), 0, has(110, 4, 16))
		}
		var large []types.UID
		ends := map[types.UID]int{} // in seconds
		for s := range 400 {
			w.now = w.now.Add(time.Second)
			for uid, at := range ends {
				if at == s {
					w.end(uid)
				}
			}
			if s < 390 {
				for range 2 {
					w.newPod(asks(1, 1)) // which takes 10 to 14 seconds: the cluster has room for 12
				}
			}
			if s == 50 || s == 60 {
				large = append(large, w.newPod(asks(4, 4)).UID)
			}
			w.settle()
			w.carryOut()
			for _, b := range w.order {
				ends[b.uid] = s + 10 + len(ends)%5
			}
		}
		for _, uid := range large {
			if ran := w.pods[uid].Spec.NodeName != ""; ran != (patience > 0) {
				t.Errorf("patience %v: a pod of the size of a node runs: %v", patience, ran)
			}
		}
	}
}

// A pod that no node could hold is told of which resource how much is missing.
func TestNoNodeIsLargeEnough(t *testing.T) {
	w := newShapes(t, 0)
	w.setNode("a", 0, has(110, 4, 64<<30))
	w.setNode("b", 0, has(110, 8, 32<<30))
	w.setNode("c", 0, func(n *corev1.Node) {
		has(110, 64, 512<<30)(n)
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	})
	p := w.newPod(asks(10, 40<<30))
	w.settle()
	want := "0 of 3 nodes are suitable: 2 have too little cpu, short by 2 at least; 1 has the taint gpu:NoSchedule, which the pod does not tolerate"
	if got := w.unplaced[p.UID]; got != want {
		t.Errorf("told %q\nwant %q", got, want)
	}
	w.setNode("b", 0, has(110, 16, 32<<30))
	w.settle()
	want = "0 of 3 nodes are suitable: 1 has the taint gpu:NoSchedule, which the pod does not tolerate; 1 has too little cpu, short by 6 at least; 1 has too little memory, short by 8Gi at least"
	if got := w.unplaced[p.UID]; got != want {
		t.Errorf("told %q\nwant %q", got, want)
	}
	w.setNode("b", 0, has(110, 16, 48<<30))
	if w.settle(); len(w.order) != 1 || w.order[0].node != "b" {
		t.Errorf("binds %v after a node has grown", w.order)
	}
}

// Two namespaces share the cluster by their dominant shares: the example of the DRF paper.
func TestDominantShares(t *testing.T) {
	for _, nodesFirst := range []bool{true, false} { // otherwise the costs follow the nodes
		w := newShapes(t, 0)
		if nodesFirst {
			w.setNode("n", 0, has(1000, 9, 18<<30))
		}
		for i := range 20 {
			spaces := []string{"a", "b"}
			w.newPodIn(spaces[i%2], [...]func(*corev1.PodSpec){asks(1, 4<<30), asks(3, 1<<30)}[i%2])
		}
		w.settle()
		if !nodesFirst {
			w.setNode("n", 0, has(1000, 9, 18<<30))
			w.settle()
		}
		got := map[string]int{}
		for _, b := range w.order {
			got[w.pods[b.uid].Namespace]++
		}
		if got["a"] != 3 || got["b"] != 2 {
			t.Errorf("nodes first: %v; pods by namespace: %v, want 3 of a and 2 of b", nodesFirst, got)
		}
	}
}

// What a namespace may have follows the cluster while no new shape comes: the pods wait behind a cordon until then. Of
// the 40 that are scarce in the end, a has 20 with 20 pods, and b with 5.
func TestSharesFollowTheNodes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		b      func(*corev1.PodSpec)
		memory int64 // before; then 40
	}{
		{"cpu becomes scarce", asks(4, 1), 8},
		{"memory becomes scarce", asks(1, 4), 10_000},
	} {
		w := newShapes(t, -1)
		w.setNode("n", 0, func(n *corev1.Node) {
			has(1000, 40, tc.memory)(n)
			n.Spec.Unschedulable = true
		})
		for range 30 {
			w.newPodIn("a", asks(1, 1))
			w.newPodIn("b", tc.b)
		}
		if w.settle(); len(w.order) > 0 {
			t.Fatalf("%s: %d pods are bound to a cordoned node", tc.name, len(w.order))
		}
		w.setNode("n", 0, has(1000, 40, 40))
		w.settle()
		got := map[string]int{}
		for _, b := range w.order {
			got[w.pods[b.uid].Namespace]++
		}
		if got["a"] != 20 || got["b"] != 5 {
			t.Errorf("%s: pods by namespace: %v, want 20 of a and 5 of b", tc.name, got)
		}
	}
}

// A policy that has been made anew is told of all jobs, so a cluster that changes by up to a quarter keeps the one that it has.
func TestSmallChangesMakeNoPolicy(t *testing.T) {
	made := 0
	w := stageOf(t, Config{Name: "sojourn", Shapes: &Shapes{Policy: counting(&made)}})
	w.setNode("n", 0, has(1000, 100, 100))
	w.newPod(asks(1, 1))
	w.settle()
	for _, tc := range []struct {
		cpu  int64
		want int // policies
	}{{125, 0}, {75, 0}, {100, 0}, {126, 1}, {158, 1}, {157, 0}, {119, 0}, {118, 1}} {
		before := made
		w.setNode("n", 0, has(1000, tc.cpu, 100))
		if w.settle(); made-before != tc.want {
			t.Errorf("with %d cpus, %d policies are made, want %d", tc.cpu, made-before, tc.want)
		}
	}
}

// More shapes than classes: pods are placed where they fit, and the policy is made anew seldom.
func TestManyShapes(t *testing.T) {
	made := 0
	w := stageOf(t, Config{Name: "sojourn", Shapes: &Shapes{Policy: counting(&made)}})
	for i := range 4 {
		w.setNode(fmt.Sprint("n", i), 0, has(5000, 3000, 1<<40))
	}
	before := made
	total := map[string]int64{}
	for i := range int64(1000) {
		p := w.newPod(asks(1+i%7, 1000+i*379%1000*997))
		w.settle()
		w.carryOut()
		if w.pods[p.UID].Spec.NodeName == "" {
			t.Fatalf("pod %d waits", i)
		}
		total[w.pods[p.UID].Spec.NodeName] += 1 + i%7
		known := w.core.pods[p.UID]
		form := w.core.shapes.forms[known.class]
		for k, name := range w.core.shapes.names {
			if known.want.requests[name] > form[k] {
				t.Fatalf("pod %d, which asks for %v, has the shape %v of %v", i, known.want, form, w.core.shapes.names)
			}
		}
	}
	if n := made - before; n > 300 {
		t.Errorf("1000 shapes made %d policies", n)
	}
	for name, n := range total {
		if n > 3000 {
			t.Errorf("%d cpus are used on %s", n, name)
		}
	}
}

// A new shape makes the policy anew. It knows what runs, what is done, and how long jobs have waited, and no
// pod is bound twice.
func TestReshapeKeepsTheTruth(t *testing.T) {
	w := newShapes(t, 0)
	w.setNode("n", 0, has(110, 4, 64))
	w.newJob(6, nil, asks(1, 1))
	w.settle()
	first := slices.Clone(w.order) // four, on their way
	w.newPod(asks(2, 2))           // a new shape
	if w.settle(); len(first) != 4 || len(w.order) != 0 {
		t.Fatalf("%d and then %d pods are bound to a node of 4 cpus", len(first), len(w.order))
	}
	for _, b := range first[:3] {
		if !w.runs(b.uid) {
			t.Errorf("pod %s runs, and the policy does not know", b.uid)
		}
	}
	w.order = first
	w.carryOut()
	w.end(first[0].uid)
	w.settle()
	w.carryOut()
	w.newPod(asks(3, 3))
	w.end(first[1].uid)
	w.settle()
	w.carryOut()
	w.end(first[2].uid)
	w.end(first[3].uid)
	for range 10 {
		w.settle()
		w.carryOut()
		for _, p := range w.pods {
			if p.Spec.NodeName != "" && p.Status.Phase == "" {
				w.end(p.UID)
			}
		}
	}
	for uid, p := range w.pods {
		if p.Status.Phase != corev1.PodSucceeded {
			t.Errorf("pod %s has not ended: %q on %q", uid, p.Status.Phase, p.Spec.NodeName)
		}
	}
	if n := w.core.truth.Live(); n != 0 {
		t.Errorf("%d jobs are live after all pods have ended", n)
	}
}
