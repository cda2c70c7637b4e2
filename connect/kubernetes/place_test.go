package kubernetes_test

import (
	"context"
	"strings"
	"sync"
	"testing"

	"github.com/sojourn-sched/sojourn/connect/kubernetes"
	"github.com/sojourn-sched/sojourn/connect/kubernetes/internal/kubetest"
	"github.com/sojourn-sched/sojourn/fifo"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clients "k8s.io/client-go/kubernetes"
)

// bare starts servers without controllers.
func bare(t *testing.T) (*kubetest.Cluster, clients.Interface) {
	t.Helper()
	c := kubetest.Start(t)
	return c, c.Client()
}

func createNode(t *testing.T, cl clients.Interface, name string, room map[string]string, change func(*corev1.Node)) {
	t.Helper()
	n := kubetest.Node(name, room)
	if change != nil {
		change(n)
	}
	if _, err := cl.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func createPod(t *testing.T, cl clients.Interface, name string, change func(*corev1.Pod)) {
	t.Helper()
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: job(name, 1, false, nil).Spec.Template.Spec}
	if change != nil {
		change(p)
	}
	if _, err := cl.CoreV1().Pods("default").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// awaitPod watches pods until ok says so of the one of that name, and returns it.
func awaitPod(t *testing.T, cl clients.Interface, name string, ok func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	w, err := cl.CoreV1().Pods("default").Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for ev := range w.ResultChan() {
		if p, is := ev.Object.(*corev1.Pod); is && ok(p) {
			return p
		}
	}
	t.Fatalf("pod %s: not in time", name)
	return nil
}

func isBound(p *corev1.Pod) bool { return p.Spec.NodeName != "" }

// unscheduled returns the message of the condition PodScheduled, if it is False.
func unscheduled(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return ""
}

// On a real API server pods go to nodes that they match and tolerate, past a pod that waits for a node, and
// that one says why until a node of that kind comes.
func TestDemandsOnRealServer(t *testing.T) {
	_, cl := bare(t)
	slots := map[string]string{string(kubernetes.DefaultSlot): "1"}
	gpu := func(n *corev1.Node) {
		n.Spec.Taints = []corev1.Taint{{Key: "gpu", Value: "yes", Effect: corev1.TaintEffectNoSchedule}}
	}
	createNode(t, cl, "gpu", slots, gpu)
	p, err := fifo.New(fifo.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, _ = start(t, cl, p)
	createPod(t, cl, "ssd", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{"disk": "ssd"} })
	want := "0 of 1 nodes are suitable: 1 has the taint gpu=yes:NoSchedule, which the pod does not tolerate"
	awaitPod(t, cl, "ssd", func(p *corev1.Pod) bool { return unscheduled(p) == want })
	createPod(t, cl, "cuda", func(p *corev1.Pod) {
		p.Spec.Tolerations = []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
	})
	if got := awaitPod(t, cl, "cuda", isBound).Spec.NodeName; got != "gpu" {
		t.Errorf("the pod that tolerates the taint is on %s", got)
	}
	createNode(t, cl, "plain", slots, nil)
	createPod(t, cl, "any", nil)
	if got := awaitPod(t, cl, "any", isBound).Spec.NodeName; got != "plain" {
		t.Errorf("the pod that demands nothing is on %s", got)
	}
	awaitPod(t, cl, "ssd", func(p *corev1.Pod) bool { return strings.HasPrefix(unscheduled(p), "0 of 2 nodes") })
	patch := `{"metadata":{"labels":{"disk":"ssd"}},"status":{"capacity":{"` + string(kubernetes.DefaultSlot) + `":"2"}}}`
	for _, sub := range []string{"", "status"} {
		if _, err := cl.CoreV1().Nodes().Patch(t.Context(), "plain", types.MergePatchType, []byte(strings.ReplaceAll(patch, "capacity", "allocatable")), metav1.PatchOptions{}, strings.Fields(sub)...); err != nil {
			t.Fatal(err)
		}
	}
	if got := awaitPod(t, cl, "ssd", isBound).Spec.NodeName; got != "plain" {
		t.Errorf("the pod that demands a disk is on %s", got)
	}
}

// On a real API server pods share nodes by what they request: beside pods of others, with a condition that
// names what is short, on a node that shrinks and one that is deleted, over a restart.
func TestShapesOnRealServer(t *testing.T) {
	_, cl := bare(t)
	run := func() func() {
		s, err := kubernetes.New(kubernetes.Config{Client: cl, Shapes: &kubernetes.Shapes{}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- s.Run(ctx) }()
		stop := sync.OnceFunc(func() {
			cancel()
			if err := <-done; err != context.Canceled {
				t.Errorf("Run = %v", err)
			}
		})
		t.Cleanup(stop)
		return stop
	}
	asks := func(cpu string) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}
		}
	}
	createNode(t, cl, "n", map[string]string{"cpu": "4", "memory": "8Gi", "pods": "10"}, nil)
	createPod(t, cl, "other", func(p *corev1.Pod) {
		asks("1500m")(p)
		p.Spec.SchedulerName, p.Spec.NodeName = "someone", "n"
	})
	stop := run()
	createPod(t, cl, "large", asks("10"))
	want := "0 of 1 nodes are suitable: 1 has too little cpu, short by 6 at least"
	awaitPod(t, cl, "large", func(p *corev1.Pod) bool { return unscheduled(p) == want })
	createPod(t, cl, "a", asks("2"))
	awaitPod(t, cl, "a", isBound)
	createPod(t, cl, "b", asks("1")) // 4 - 1.5 - 2 is too little
	createPod(t, cl, "c", asks("500m"))
	awaitPod(t, cl, "c", isBound)
	remove := func(name string) {
		if err := cl.CoreV1().Pods("default").Delete(t.Context(), name, *metav1.NewDeleteOptions(0)); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	run()
	createPod(t, cl, "d", asks("250m"))
	resize := func(cpu string) {
		patch := `{"status":{"allocatable":{"cpu":"` + cpu + `"}}}`
		if _, err := cl.CoreV1().Nodes().Patch(t.Context(), "n", types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status"); err != nil {
			t.Fatal(err)
		}
	}
	resize("2") // 4 are in use
	remove("other")
	remove("c")
	waits := func(names ...string) {
		t.Helper()
		for _, name := range names {
			p, err := cl.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
			if err != nil || isBound(p) {
				t.Errorf("pod %s is on node %q, %v", name, p.Spec.NodeName, err)
			}
		}
	}
	createNode(t, cl, "m", map[string]string{"cpu": "250m", "memory": "8Gi", "pods": "10"}, nil)
	if got := awaitPod(t, cl, "d", isBound).Spec.NodeName; got != "m" { // after the scheduler has heard of the rest
		t.Errorf("pod d is on %s", got)
	}
	waits("b", "large")
	if err := cl.CoreV1().Nodes().Delete(t.Context(), "n", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	createPod(t, cl, "e", asks("100m"))
	createNode(t, cl, "n", map[string]string{"cpu": "3", "memory": "8Gi", "pods": "10"}, nil)
	if got := awaitPod(t, cl, "b", isBound).Spec.NodeName; got != "n" { // where a still runs
		t.Errorf("pod b is on %s", got)
	}
	waits("e", "large")
	remove("a")
	awaitPod(t, cl, "e", isBound)
}
