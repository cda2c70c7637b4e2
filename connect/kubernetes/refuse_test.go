package kubernetes

import (
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"pgregory.net/rapid"
)

// What nobody would look at is refused with a word, also in what is left of a pod after the informer has dropped the rest.
func TestNothingIsPlacedBlindly(t *testing.T) {
	always := corev1.ContainerRestartPolicyAlways
	port := []corev1.ContainerPort{{ContainerPort: 80, HostPort: 9090}}
	for name, tc := range map[string]struct {
		change func(*corev1.PodSpec)
		want   string
	}{
		"device claim": {func(s *corev1.PodSpec) { s.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu"}} }, "the resource claim gpu"},
		"sidecar": {func(s *corev1.PodSpec) {
			s.InitContainers = []corev1.Container{{Name: "proxy", RestartPolicy: &always, Ports: port}}
		}, "container proxy of the pod has a hostPort"},
		"init container": {func(s *corev1.PodSpec) { s.InitContainers = []corev1.Container{{Name: "init", Ports: port}} }, "container init of the pod has a hostPort"},
		"container":      {func(s *corev1.PodSpec) { s.Containers[0].Ports = port }, "container c of the pod has a hostPort"},
	} {
		for _, shapes := range []bool{false, true} {
			w := newStage(t, builtin(t, "fifo"))
			if shapes {
				w = newShapes(t, 0)
			}
			w.setNode("n", 2, func(n *corev1.Node) {
				n.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
			})
			p := w.newPod(func(s *corev1.PodSpec) {
				tc.change(s)
				p := &corev1.Pod{Spec: *s}
				if _, err := strip(p); err != nil {
					t.Fatal(err)
				}
				*s = p.Spec
			})
			if w.settle(); len(w.order) != 0 || !strings.Contains(w.warned[p.UID], tc.want) {
				t.Errorf("%s, shapes %v: %d pods are bound, told %q, want %q", name, shapes, len(w.order), w.warned[p.UID], tc.want)
			}
			j := &batchv1.Job{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: template(1)}}}
			j.UID = "j"
			j.Spec.Template.Spec.SchedulerName = "sojourn"
			tc.change(&j.Spec.Template.Spec)
			w.core.job(j)
			if got := w.core.jobs["j"].refusal; !strings.Contains(got, tc.want) {
				t.Errorf("%s, shapes %v: the Job is refused with %q, want %q", name, shapes, got, tc.want)
			}
		}
	}
}

// With slots too, no pod goes on a node that does not have what it requests at all. It is told so if no node has.
func TestSlotOfANodeThatIsTooSmall(t *testing.T) {
	w := newStage(t, builtin(t, "fifo"))
	node := func(name string, cpu, gpus int64) {
		w.setNode(name, 2, func(n *corev1.Node) {
			n.Status.Allocatable[corev1.ResourceCPU] = *resource.NewQuantity(cpu, resource.DecimalSI)
			n.Status.Allocatable["example.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
		})
	}
	node("small", 4, 0)
	node("big", 8, 2)
	needs := func(cpu, gpus int64) *corev1.Pod {
		return w.newPod(func(s *corev1.PodSpec) {
			s.Containers[0].Resources.Requests[corev1.ResourceCPU] = *resource.NewQuantity(cpu, resource.DecimalSI)
			s.Containers[0].Resources.Requests["example.com/gpu"] = *resource.NewQuantity(gpus, resource.DecimalSI)
		})
	}
	want := map[types.UID]string{needs(8, 0).UID: "big", needs(99, 0).UID: "", needs(1, 99).UID: "", needs(0, 1).UID: "big", needs(4, 0).UID: "small"}
	w.settle()
	w.carryOut()
	for uid, node := range want {
		if got := w.pods[uid].Spec.NodeName; got != node {
			t.Errorf("pod %s is on node %q, want %q", uid, got, node)
		}
		if told := w.unplaced[uid]; (told != "") != (node == "") {
			t.Errorf("pod %s is told %q", uid, told)
		}
	}
	if got := w.unplaced["u000001"]; got != "0 of 2 nodes are suitable: 2 have too little cpu, short by 91 at least" {
		t.Errorf("told %q", got)
	}
	node("small", 100, 0)
	if w.settle(); len(w.order) != 1 || w.order[0].uid != "u000001" || w.order[0].node != "small" {
		t.Errorf("after the node has grown: binds %v", w.order)
	}
}

// Pods of this scheduler and of others are resized in place. No pod is bound to a node that does not have what it requests
// left, by the most of what each pod has and will have; and what has room does not wait.
func TestResizeInPlace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newShapes(t, -1)
		const room = 8
		w.setNode("n", 0, has(110, room, 100))
		type size struct{ spec, actual int64 }
		on := map[types.UID]size{}
		most := func(s size) int64 { return max(s.spec, s.actual) }
		used := func() (sum int64) {
			for _, s := range on {
				sum += most(s)
			}
			return sum
		}
		foreign := map[types.UID]bool{}
		waits := map[types.UID]int64{}
		tell := func(uid types.UID, s size) {
			on[uid] = s
			p := w.pods[uid]
			asks(s.spec, 1)(&p.Spec)
			p.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "c", AllocatedResources: list(s.actual, 1), Resources: &corev1.ResourceRequirements{Requests: list(s.actual, 1)}, Image: "long"}}
			seen, err := strip(p.DeepCopy())
			if err != nil || seen.(*corev1.Pod).Status.ContainerStatuses[0].Image != "" {
				t.Fatal("strip keeps images", err)
			}
			if foreign[uid] {
				w.core.stranger(seen.(*corev1.Pod))
			} else {
				w.core.pod(seen.(*corev1.Pod))
			}
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			uids := keysOf(mapTrue(on))
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0, 1:
				cpu := rapid.Int64Range(1, 5).Draw(t, "cpu")
				waits[w.newPod(asks(cpu, 1)).UID] = cpu
			case 2: // of another scheduler
				if left := room - used(); left > 0 {
					cpu := rapid.Int64Range(1, left).Draw(t, "foreign")
					p := &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n"}}
					p.UID = types.UID("foreign" + string(rune('a'+len(w.pods))))
					w.pods[p.UID], foreign[p.UID] = p, true
					tell(p.UID, size{cpu, cpu})
				}
			case 3:
				if len(uids) > 0 {
					uid := rapid.SampledFrom(uids).Draw(t, "resized")
					s := on[uid]
					if rapid.Bool().Draw(t, "asked") {
						s.spec = rapid.Int64Range(1, max(1, min(8, room-used()+most(s)))).Draw(t, "to")
					} else {
						s.actual = s.spec // done
					}
					tell(uid, s)
				}
			case 4:
				if len(uids) > 0 {
					uid := rapid.SampledFrom(uids).Draw(t, "ends")
					delete(on, uid)
					if foreign[uid] {
						w.core.strangerGone(uid)
					} else {
						w.end(uid)
					}
				}
			}
			w.settle()
			bound := slices.Clone(w.order)
			w.carryOut()
			for _, b := range bound {
				if left := room - used(); waits[b.uid] > left {
					t.Fatalf("pod %s of %d cpu is bound, and %d are left", b.uid, waits[b.uid], left)
				}
				on[b.uid] = size{waits[b.uid], waits[b.uid]}
				delete(waits, b.uid)
			}
		}
		for _, uid := range keysOf(mapTrue(on)) {
			if foreign[uid] {
				w.core.strangerGone(uid)
			} else {
				w.end(uid)
			}
		}
		if w.settle(); len(w.core.nodes["n"].taken) != 0 {
			t.Fatalf("%v are taken, and all pods that ran are gone", w.core.nodes["n"].taken)
		}
		if len(waits) > 0 && len(w.order) == 0 {
			t.Fatal("nothing runs, and nothing is bound")
		}
	})
}

func mapTrue[V any](m map[types.UID]V) map[types.UID]bool {
	all := map[types.UID]bool{}
	for uid := range m {
		all[uid] = true
	}
	return all
}

// With shapes there are no slots, and what a pod requests is no demand on its node besides: pods of other requests differ in these only.
func TestShapesHaveNoSlots(t *testing.T) {
	c, _, err := Config{Client: &kubernetes.Clientset{}, Shapes: &Shapes{}}.withDefaults()
	if err != nil || len(c.Slots) != 0 {
		t.Fatalf("slots %v, %v", c.Slots, err)
	}
	w := stageOf(t, c)
	w.setNode("n", 0, has(110, 8, 100))
	w.newPod(asks(1, 1))
	w.newPod(asks(2, 1))
	if n := len(w.core.fits.demands); n != 1 {
		t.Errorf("%d demands, want 1", n)
	}
}
