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
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// Constraints are what a pod of these tests asks of its node: a zone, unless it is empty, and which taints
// it tolerates.
type constraints struct {
	zone     string
	affinity bool // asks by affinity, otherwise by nodeSelector
	bears    map[string]bool
}

var (
	zones      = []string{"", "z1", "z2"}
	taintNames = []string{"gpu", "spot"}
)

func drawDemand(t *rapid.T) constraints {
	d := constraints{zone: rapid.SampledFrom(zones).Draw(t, "zone"), affinity: rapid.Bool().Draw(t, "affinity"), bears: map[string]bool{}}
	for _, name := range taintNames {
		d.bears[name] = rapid.Bool().Draw(t, name)
	}
	return d
}

// set writes a demand into a pod.
func (d constraints) set(spec *corev1.PodSpec) {
	switch {
	case d.zone == "":
	case d.affinity:
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{d.zone}}}}},
		}}}
	default:
		spec.NodeSelector = map[string]string{"zone": d.zone}
	}
	for _, name := range taintNames {
		if d.bears[name] {
			spec.Tolerations = append(spec.Tolerations, corev1.Toleration{Key: name, Operator: corev1.TolerationOpExists})
		}
	}
}

// suits is the oracle of which nodes take a pod.
func (d constraints) suits(n *corev1.Node) bool {
	if d.zone != "" && n.Labels["zone"] != d.zone {
		return false
	}
	for _, t := range n.Spec.Taints {
		if t.Effect != corev1.TaintEffectPreferNoSchedule && !d.bears[t.Key] {
			return false
		}
	}
	return true
}

// drawSite gives a node labels and taints.
func drawSite(t *rapid.T, n *corev1.Node) {
	n.Labels = map[string]string{"zone": rapid.SampledFrom(zones).Draw(t, "zone of the node")}
	n.Spec.Taints = nil
	for _, name := range taintNames {
		if rapid.IntRange(0, 3).Draw(t, "taint") == 0 {
			effect := rapid.SampledFrom([]corev1.TaintEffect{corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute, corev1.TaintEffectPreferNoSchedule}).Draw(t, "effect")
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: name, Effect: effect})
		}
	}
	n.Spec.Unschedulable = rapid.IntRange(0, 9).Draw(t, "cordon") == 0
}

// A spot is where pods wait and run in the oracle: pods in the order of arrival, how many run on each
// node, and what the pods demand.
type spot struct {
	*stage
	demands map[types.UID]constraints
	waits   []types.UID
	where   map[types.UID]string
}

func (s *spot) running(node string) (n int) {
	for _, on := range s.where {
		if on == node {
			n++
		}
	}
	return n
}

// place returns a node that would take a pod now, empty if none would.
func (s *spot) place(uid types.UID) string {
	for name, n := range s.nodes {
		q := n.Status.Allocatable[DefaultSlot]
		if batch.Usable(n) && s.demands[uid].suits(n) && int64(s.running(name)) < q.Value() {
			return name
		}
	}
	return ""
}

// settle lets the core decide, and checks each bind: the pod goes where it may, and no pod that came
// before it would have had a place.
func (s *spot) settle(t *rapid.T, exact bool) {
	s.stage.settle()
	for _, b := range s.order {
		n := s.nodes[b.node]
		q := n.Status.Allocatable[DefaultSlot]
		if !batch.Usable(n) || !s.demands[b.uid].suits(n) || int64(s.running(b.node)) >= q.Value() {
			t.Fatalf("pod %s, which demands %v, is bound to node %s with %v, %v, where %d run", b.uid, s.demands[b.uid], b.node, n.Labels, n.Spec.Taints, s.running(b.node))
		}
		i := slices.Index(s.waits, b.uid)
		for _, before := range s.waits[:i] {
			if name := s.place(before); exact && name != "" {
				t.Fatalf("pod %s is bound before pod %s, which could go on node %s", b.uid, before, name)
			}
		}
		s.waits = slices.Delete(s.waits, i, i+1)
		s.where[b.uid] = b.node
	}
	for _, uid := range s.waits {
		if name := s.place(uid); exact && name != "" {
			t.Fatalf("pod %s waits, and could go on node %s", uid, name)
		}
	}
	s.carryOut()
}

// Pods go only on nodes that they match and tolerate. Under fifo each free slot goes to the first pod that
// may go there, whatever the pods before it demand.
func TestDemandsAreMet(t *testing.T) {
	for _, policy := range []string{"fifo", "default", "fair", "hfsp"} {
		t.Run(policy, rapid.MakeCheck(func(t *rapid.T) {
			w := newStage(t, builtin(t, policy))
			s := &spot{stage: w, demands: map[types.UID]constraints{}, where: map[types.UID]string{}}
			for range rapid.IntRange(1, 40).Draw(t, "steps") {
				w.now = w.now.Add(time.Second)
				switch rapid.IntRange(0, 5).Draw(t, "step") {
				case 0, 1:
					d := drawDemand(t)
					p := w.newPod(func(spec *corev1.PodSpec) { d.set(spec) })
					s.demands[p.UID] = d
					s.waits = append(s.waits, p.UID)
				case 2:
					name := fmt.Sprint("n", rapid.IntRange(0, 3).Draw(t, "node"))
					w.setNode(name, rapid.IntRange(0, 3).Draw(t, "slots"), func(n *corev1.Node) { drawSite(t, n) })
				case 3, 4:
					if ids := slices.Sorted(maps.Keys(s.where)); len(ids) > 0 {
						uid := rapid.SampledFrom(ids).Draw(t, "ends")
						w.end(uid)
						delete(s.where, uid)
					}
				case 5:
					if len(s.waits) > 0 {
						i := rapid.IntRange(0, len(s.waits)-1).Draw(t, "deleted")
						uid := s.waits[i]
						w.remove(uid)
						s.waits = slices.Delete(s.waits, i, i+1)
					}
				}
				s.settle(t, policy == "fifo")
			}
		}))
	}
}

// zone lets a pod ask for a zone.
func zone(name string) func(*corev1.PodSpec) {
	return func(spec *corev1.PodSpec) { spec.NodeSelector = map[string]string{"zone": name} }
}

// A pod that no node would take is told why, when it comes and when the nodes change.
func TestNoNodeSuits(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	move := func(name, zone string) {
		w.setNode(name, 1, func(n *corev1.Node) {
			n.Labels = map[string]string{"zone": zone}
			if name == "n0" {
				n.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
			}
		})
	}
	for _, name := range []string{"n0", "n1", "n2"} {
		move(name, "z1")
	}
	p := w.newPod(zone("z2"))
	want := "0 of 3 nodes are suitable: 2 do not match the pod's nodeSelector or node affinity; 1 has the taint gpu=yes:NoSchedule, which the pod does not tolerate"
	if got := w.unplaced[p.UID]; got != want {
		t.Errorf("told %q\nwant %q", got, want)
	}
	easy := w.newPod(zone("z1"))
	if got := w.unplaced[easy.UID]; got != "" {
		t.Errorf("a pod that suits two nodes is told %q", got)
	}
	for _, name := range []string{"n0", "n1", "n2"} {
		move(name, "z3")
	}
	if w.settle(); !strings.HasPrefix(w.unplaced[easy.UID], "0 of 3 nodes") || len(w.order) != 0 {
		t.Errorf("after all nodes moved, the pod is told %q; %d binds", w.unplaced[easy.UID], len(w.order))
	}
	move("n1", "z2")
	if w.settle(); len(w.order) != 1 || w.order[0].uid != p.UID {
		t.Errorf("after a node moved to the zone of the first pod: binds %v", w.order)
	}
}

// A counter counts the assignments of a policy.
type counter struct {
	sojourn.Policy
	assigned int
}

func (c *counter) Unwrap() sojourn.Policy { return c.Policy }
func (c *counter) Assign(id sojourn.SlotID) (sojourn.Assignment, bool) {
	a, ok := c.Policy.Assign(id)
	if ok {
		c.assigned++
	}
	return a, ok
}

// Pods that go nowhere cost the others little: each of a thousand is tried once, and not again while slots
// of the wrong node are freed and taken.
func TestBlockedPodsAreTriedOnce(t *testing.T) {
	p := &counter{Policy: builtin(t, "fifo")}
	w := newStage(t, p)
	w.setNode("n", 1, nil)
	const n = 1000
	for range n {
		w.newPod(zone("z9"))
	}
	for range 10 {
		pod := w.newPod(nil)
		w.settle()
		w.carryOut()
		if w.pods[pod.UID].Spec.NodeName != "n" {
			t.Fatal("a pod that may go on the free slot waits")
		}
		w.end(pod.UID)
	}
	if p.assigned != n+10 {
		t.Errorf("%d assignments, want %d", p.assigned, n+10)
	}
}

// The blocked tasks of a Job become ready for as many places as come, and no more.
func TestBlockedTasksOfOneJob(t *testing.T) {
	p := &counter{Policy: builtin(t, "fifo")}
	w := newStage(t, p)
	w.setNode("n", 1, nil)
	w.newJob(10, nil, zone("z1"))
	w.settle()
	w.setNode("m", 3, func(n *corev1.Node) { n.Labels = map[string]string{"zone": "z1"} })
	if w.settle(); len(w.order) != 3 || p.assigned != 10+3 {
		t.Errorf("%d pods are bound to a node with 3 slots, after %d assignments; want 13", len(w.order), p.assigned)
	}
}

// A slot that has changed places with another one comes back with the node that the policy knows.
func TestUncordonAfterSwap(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	w.setNode("a", 1, nil)
	w.setNode("b", 1, func(n *corev1.Node) { n.Labels = map[string]string{"zone": "z1"} })
	w.newPod(zone("z1"))
	w.settle()
	w.carryOut()
	if w.order[0].node != "b" {
		t.Fatalf("bound to %s", w.order[0].node)
	}
	for _, cordon := range []bool{true, false} {
		w.setNode("b", 1, func(n *corev1.Node) {
			n.Labels, n.Spec.Unschedulable = map[string]string{"zone": "z1"}, cordon
		})
		w.settle()
	}
}
