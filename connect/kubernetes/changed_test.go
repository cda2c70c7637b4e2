package kubernetes

import (
	"fmt"
	"testing"

	"github.com/sojourn-sched/sojourn"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// stages are a cluster where pods take slots, and one where they take what they request.
func stages(t *testing.T, policy string) map[string]*stage {
	shapes := Shapes{Policy: func(map[sojourn.Class][]uint32) (sojourn.Policy, error) { return builtin(t, policy), nil }}
	return map[string]*stage{"slots": newStage(t, builtin(t, policy)), "shapes": stageOf(t, Config{Name: "sojourn", Shapes: &shapes})}
}

// one gives a node a zone, 8 processors and room for one pod.
func one(zone string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Labels = map[string]string{"zone": zone}
		n.Status.Allocatable[corev1.ResourceCPU] = resource.MustParse("8")
		n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("1")
	}
}

// asked lets pods request processors where there are shapes, and a slot otherwise.
func asked(kind string) func(*corev1.PodSpec) {
	if kind == "shapes" {
		return asks(1)
	}
	return func(*corev1.PodSpec) {}
}

func cpu(n string) func(*corev1.PodSpec) {
	return func(s *corev1.PodSpec) {
		s.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(n)
	}
}

func gate(s *corev1.PodSpec) {
	s.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/wait"}}
}

func ungate(s *corev1.PodSpec) { s.SchedulingGates = nil }

// change changes a pod.
func (w *stage) change(p *corev1.Pod, changes ...func(*corev1.PodSpec)) {
	for _, change := range changes {
		change(&p.Spec)
	}
	w.core.pod(p.DeepCopy())
}

// What a pod demands may change until it has a node: whoever holds it back by a gate may narrow its nodes, anybody may add tolerations and change
// its size.
func TestDemandsThatChange(t *testing.T) {
	type changes = []func(*corev1.PodSpec)
	tolerate := func(s *corev1.PodSpec) {
		s.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	}
	affinity := func(s *corev1.PodSpec) {
		in := corev1.NodeSelectorRequirement{Key: "zone", Operator: corev1.NodeSelectorOpIn, Values: []string{"b"}}
		s.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in}}}}}}
	}
	for _, tc := range []struct {
		name  string
		first changes
		steps []changes
		taint string // of all nodes
		want  string // the node
	}{
		{"narrowed, then the gate goes", changes{gate}, []changes{{zone("b")}, {ungate}}, "", "b"},
		{"narrowed as the gate goes", changes{gate}, []changes{{zone("b"), ungate}}, "", "b"},
		{"narrowed by affinity", changes{gate}, []changes{{affinity}, {ungate}}, "", "b"},
		{"narrowed twice", changes{gate, affinity}, []changes{{zone("a")}, {ungate}}, "", ""},
		{"tolerates a taint", changes{zone("b")}, []changes{{tolerate}}, "gpu", "b"},
		{"made smaller", changes{zone("b"), cpu("9")}, []changes{{cpu("2")}}, "", "b"},
		{"made too large", changes{gate, cpu("2")}, []changes{{cpu("9")}, {ungate}}, "", ""},
	} {
		for range 4 { // nodes are in a map
			for kind, w := range stages(t, "fifo") {
				for _, z := range []string{"a", "b"} {
					w.setNode(z, 1, func(n *corev1.Node) {
						if one(z)(n); tc.taint != "" {
							n.Spec.Taints = []corev1.Taint{{Key: tc.taint, Effect: corev1.TaintEffectNoSchedule}}
						}
					})
				}
				p := w.newPod(func(s *corev1.PodSpec) {
					asked(kind)(s)
					for _, change := range tc.first {
						change(s)
					}
				})
				for _, step := range tc.steps {
					if w.settle(); len(w.order) > 0 {
						t.Fatalf("%s, %s: %v before the last change", tc.name, kind, w.order)
					}
					w.change(p, step...)
				}
				w.settle()
				got := ""
				for _, b := range w.order {
					got += b.node
				}
				if got != tc.want || len(w.core.byID) != 1 {
					t.Errorf("%s, %s: on node %q, want %q; the policy has %d jobs, want 1", tc.name, kind, got, tc.want, len(w.core.byID))
				}
				// Once it has a node, a change says nothing. In the end nothing is left of it.
				w.carryOut()
				w.change(p, tolerate, cpu("3"))
				w.end(p.UID)
				w.remove(p.UID)
				w.settle()
				if n := len(w.core.byID) + len(w.core.pods) + len(w.core.jobs); n > 0 || kind == "slots" && len(w.core.fits.demands) > 0 {
					t.Errorf("%s, %s: %d pods and jobs and %d demands are left", tc.name, kind, n, len(w.core.fits.demands))
				}
			}
		}
	}
}

// Pods of a Job that are narrowed under a gate go where they say.
func TestGatedPodsOfAJob(t *testing.T) {
	for kind, w := range stages(t, "fifo") {
		pods := w.newJob(2, nil, func(s *corev1.PodSpec) {
			asked(kind)(s)
			gate(s)
		})
		for i, p := range pods {
			w.change(p, zone(string(rune('a'+i))))
		}
		for _, z := range []string{"b", "a"} {
			w.setNode(z, 1, one(z))
		}
		for _, p := range pods {
			w.change(p, ungate)
			w.settle()
			w.carryOut()
		}
		if a, b := pods[0].Spec.NodeName, pods[1].Spec.NodeName; a != "a" || b != "b" {
			t.Errorf("%s: on nodes %q and %q, want a and b", kind, a, b)
		}
	}
}

// A pod that is a job of its own has annotations, which may change while it waits. If they were wrong, it is placed once they are right.
func TestAnnotationsOfAPodChange(t *testing.T) {
	for kind, w := range stages(t, "srpt") {
		pod := func(size string) *corev1.Pod {
			p := w.newPod(func(s *corev1.PodSpec) {
				asked(kind)(s)
				gate(s)
			})
			w.remove(p.UID) // and comes with its annotation
			p.Annotations[Size] = size
			w.change(p)
			w.change(p, ungate)
			return p
		}
		small, large, wrong := pod("20s"), pod("30s"), pod("big")
		small.Annotations[Size] = "40s"
		w.change(small)
		wrong.Annotations[Size] = "10s"
		w.change(wrong)
		w.setNode("a", 1, one("a"))
		for i, want := range []*corev1.Pod{wrong, large, small} {
			w.settle()
			if len(w.order) != 1 || w.order[0].uid != want.UID {
				t.Fatalf("%s: number %d is %v, want %s", kind, i+1, w.order, want.UID)
			}
			w.carryOut()
			w.end(want.UID)
			w.remove(want.UID)
		}
		late := pod("5s")
		delete(w.warned, late.UID)
		late.Annotations[Size] = "none"
		if w.change(late); w.warned[late.UID] == "" {
			t.Errorf("%s: nobody is told that an annotation is wrong", kind)
		}
		if w.settle(); len(w.order) != 1 {
			t.Errorf("%s: the pod does not go on as it was: %v", kind, w.order)
		}
	}
}

// Nodes remember no more demands than there are, however many pods have come and gone.
func TestNodesForgetDemands(t *testing.T) {
	const nodes, pods = 10, 200
	for kind, w := range stages(t, "fifo") {
		for i := range nodes {
			w.setNode(fmt.Sprint("n", i), 1, one("a"))
		}
		for i := range pods {
			p := w.newPod(func(s *corev1.PodSpec) {
				asked(kind)(s)
				cpu(fmt.Sprintf("%dm", 1000+i*100))(s) // too large from some on
				s.NodeSelector = map[string]string{"zone": "b", "pod": fmt.Sprint(i)}
			})
			w.settle()
			w.change(p, zone("c"))
			w.settle()
			w.remove(p.UID)
			w.settle()
		}
		for name, n := range w.core.nodes {
			if got := len(n.site.lacks); got > len(w.core.fits.demands) || kind == "slots" && got > 0 {
				t.Errorf("%s: node %s remembers %d demands, and there are %d", kind, name, got, len(w.core.fits.demands))
			}
		}
	}
}
